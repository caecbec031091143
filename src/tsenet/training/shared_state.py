"""State that several processes share: one checkpoint file, and the same weights in each of them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from numpy.typing import NDArray

from tsenet._system.checkpoint_file import digest_of
from tsenet.training.callbacks import Callback
from tsenet.training.checkpoint import Checkpoint, Position
from tsenet.training.engine import Engine
from tsenet.training.history import History
from tsenet.training.peers import Peers

__all__ = ["SameWeights", "SharedCheckpoint"]


@dataclass(frozen=True)
class SharedCheckpoint(Checkpoint):
    """A checkpoint that the first process writes and reads, for all.

    Attributes
    ----------
    peers : Peers
    """

    peers: Peers = field(default_factory=Peers)

    def save(
        self, run: dict[str, Any], position: Position, state: Mapping[str, NDArray[Any]]
    ) -> None:
        """Let the first process write; see :meth:`Checkpoint.save`."""
        if self.peers.is_first:
            super().save(run, position, state)

    def load(self, run: dict[str, Any]) -> tuple[Position, dict[str, NDArray[Any]]] | None:
        """Let the first process read, and send it to all; see :meth:`Checkpoint.load`."""
        load = super().load
        return self.peers.from_first(lambda: load(run))


class SameWeights(Callback):
    """Compares the weights of all processes after each epoch: they never differ, or something is wrong.

    Raises
    ------
    RuntimeError
    """

    def __init__(self, peers: Peers) -> None:
        self.peers = peers

    def on_epoch_end(self, engine: Engine, history: History) -> None:
        """Compare digests."""
        if self.peers.size == 1:
            return
        weights = engine.weights()
        digests = self.peers.gather(digest_of(*(weights[name] for name in sorted(weights))))
        if len(set(digests)) > 1:
            raise RuntimeError(
                f"the weights of the {self.peers.size} processes differ after epoch "
                f"{history.n_epochs}. All must have the same kind of processor and the same "
                "versions of tsenet, numba and torch"
            )
