"""`Peers`: the processes that train one network together, as `torchrun` starts them."""

from __future__ import annotations

import logging
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import timedelta
from typing import Any, TypeVar

import torch
import torch.distributed as dist
from numpy.typing import NDArray

from tsenet.errors import ProcessLostError, TSENetError

__all__ = ["Peers", "join_peers"]

Value = TypeVar("Value")

logger = logging.getLogger("tsenet.training")

# The others wait while the first process learns the structure. A process that dies closes its connections, which the
# others notice at once, so the limit is only for one that hangs.
_LONGEST_WAIT = timedelta(days=2)


@dataclass(frozen=True)
class Peers:
    """The processes of one training run and the place of this one among them.

    Each method is called by all of them, in the same order. One process alone needs no connections.

    Attributes
    ----------
    rank : int
        Number of this process; 0 writes files.
    size : int
        Number of processes.
    """

    rank: int = 0
    size: int = 1

    @property
    def is_first(self) -> bool:
        """Whether this process writes files."""
        return self.rank == 0

    def add_up(self, values: NDArray[Any]) -> None:
        """Replace an array by the sum of those of all processes, in place; all get the same bytes."""
        self.add_up_tensor(torch.from_numpy(values))

    def add_up_tensor(self, values: torch.Tensor) -> None:
        """The same for a tensor on any device."""
        if self.size > 1:
            with _lost_connections():
                dist.all_reduce(values)

    def gather(self, value: Value) -> list[Value]:
        """What each process has, in the order of their ranks."""
        if self.size == 1:
            return [value]
        found: list[Any] = [None] * self.size
        with _lost_connections():
            dist.all_gather_object(found, value)
        return found

    def from_first(self, make: Callable[[], Value]) -> Value:
        """Let process 0 make a value and give it to all; an error of tsenet there is raised by all."""
        if self.size == 1:
            return make()
        box: list[Any] = [None, None]
        if self.is_first:
            try:
                box[0] = make()
            except (TSENetError, OSError, ValueError) as error:
                box[1] = error
        with _lost_connections():
            dist.broadcast_object_list(box, src=0)
        if box[1] is not None:
            raise box[1]
        made: Value = box[0]
        return made

    def together(self, do: Callable[[], Value]) -> Value:
        """Let each process do its part; an error of tsenet in one of them is raised by all.

        Without it the others would wait for the one that failed, and end with an error about a lost connection.
        """
        error: Exception | None = None
        try:
            value = do()
        except (TSENetError, OSError, ValueError) as raised:
            error = raised
        found = next((each for each in self.gather(error) if each is not None), None)
        if found is not None:
            raise found
        return value

    def share_of(self, n_parts: int) -> range:
        """Which of ``n_parts`` ordered parts are this process's: consecutive ones."""
        return range(n_parts * self.rank // self.size, n_parts * (self.rank + 1) // self.size)


@contextmanager
def _lost_connections() -> Iterator[None]:
    """Say what it means when a connection breaks: torch's message names sockets."""
    try:
        yield
    except RuntimeError as error:
        raise ProcessLostError(
            f"another process of this training has ended: see its error. ({error})"
        ) from error


@contextmanager
def join_peers(device: str = "cpu") -> Iterator[Peers]:
    """Connect the processes that ``torchrun`` started; a process that it did not start is alone.

    Parameters
    ----------
    device : str, default="cpu"
        Where gradients are: ``"cpu"`` sends them by gloo, ``"cuda"`` by nccl.

    Yields
    ------
    Peers
    """
    if dist.is_initialized():  # by the user's own program, which also ends it
        yield Peers(dist.get_rank(), dist.get_world_size())
        return
    if int(os.environ.get("WORLD_SIZE", "1")) == 1:
        yield Peers()
        return
    backend = "gloo" if device == "cpu" else "cpu:gloo,cuda:nccl"
    dist.init_process_group(backend, timeout=_LONGEST_WAIT)
    peers = Peers(dist.get_rank(), dist.get_world_size())
    logger.info("process %d of %d, %s", peers.rank, peers.size, backend)
    try:
        yield peers
    finally:
        dist.destroy_process_group()
