"""Batches from a folder of shards: each process reads its own part of the folder, a few partitions at a time.

The folder is cut into *streams*, each a run of consecutive partitions, and every batch takes from every stream the
share that the stream has in all rows. A process has some of the streams. Which rows a batch has, and in which order,
depends on seed, epoch and the number of streams alone: any number of processes sees the same batches.

Within a stream the order of the partitions is random. The rows of the next few partitions, the *buffer*, are mixed.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from tsenet._system.checkpoint_file import digest_of
from tsenet.errors import DataError
from tsenet.network.batches import Inputs
from tsenet.training.parallel import ParallelEngine
from tsenet.training.peers import Peers
from tsenet.training.sources import Part

__all__ = ["LabelledRows", "ShardStreams", "cut_into_streams"]


class LabelledRows(NamedTuple):
    """Sparse rows as the network reads them, with their encoded targets."""

    values: sp.csr_array  # float32 (n, D)
    targets: NDArray[Any]  # (n,) or (n, C)

    @classmethod
    def join(cls, parts: list[LabelledRows]) -> LabelledRows:
        """Rows of several one after another."""
        if len(parts) == 1:
            return parts[0]
        values = sp.vstack([part.values for part in parts], format="csr")
        return cls(values, np.concatenate([part.targets for part in parts]))

    def take(self, rows: NDArray[np.int64] | slice) -> LabelledRows:
        """Some of the rows."""
        return LabelledRows(self.values[rows], self.targets[rows])


def cut_into_streams(n_rows: NDArray[np.int64], n_streams: int) -> NDArray[np.int64]:
    """Cut partitions with these numbers of rows (P,) into runs of about equal size.

    Returns
    -------
    int64 (S + 1,)
        Stream s has the partitions ``bounds[s]:bounds[s + 1]``; S is ``n_streams``, or P if that is smaller.
    """
    n_streams = min(n_streams, n_rows.size)
    middle = np.cumsum(n_rows) - n_rows / 2
    stream = np.floor(middle * n_streams / n_rows.sum())
    return np.searchsorted(stream, np.arange(n_streams + 1)).astype(np.int64)


@dataclass(frozen=True, eq=False)
class ShardStreams:
    """The training rows of a folder, as batches that several processes share.

    Attributes
    ----------
    engine : ParallelEngine
        Gets each batch's rows.
    read : callable
        Gives the training rows of a partition.
    n_training : int64 (P,)
        Training rows of every partition of the folder.
    bounds : int64 (S + 1,)
        Partitions of the streams, as :func:`cut_into_streams` gives them.
    peers : Peers
    seed : int
        Of the order of the rows.
    buffer_rows : int
        Partitions are read ahead until a stream has so many rows in memory, at least one.
    data : str
        Says which folder, targets and validation rows these are.
    """

    engine: ParallelEngine
    read: Callable[[int], LabelledRows]
    n_training: NDArray[np.int64]
    bounds: NDArray[np.int64]
    peers: Peers
    seed: int
    buffer_rows: int
    data: str
    of_stream: NDArray[np.int64] = field(init=False)  # (S,), training rows of each stream

    def __post_init__(self) -> None:
        if self.peers.size > self.bounds.size - 1:
            raise DataError(
                f"{self.peers.size} processes need at least as many streams of rows, but there are "
                f"{self.bounds.size - 1}: use fewer processes, more streams, or smaller partitions"
            )
        ends = np.concatenate([[0], np.cumsum(self.n_training)])[self.bounds]
        object.__setattr__(self, "of_stream", np.diff(ends))

    @property
    def n_rows(self) -> int:
        """Rows of an epoch, of all processes."""
        return int(self.of_stream.sum())

    def batches(self, epoch: int, n_batches: int, first: int) -> Iterator[Part]:
        """Hand this process's rows of each batch to the engine, from batch ``first`` on."""
        done = self._done_before(first, n_batches)
        own = self.peers.share_of(done.size)
        streams = [_Stream(self, s, epoch, int(done[s])) for s in own]
        for batch in range(first, n_batches):
            done, before = self._done_before(batch + 1, n_batches), done
            sizes = done - before  # (S,)
            parts = [
                part
                for stream, s in zip(streams, own, strict=True)
                for part in stream.take(int(sizes[s]))
            ]
            rows = LabelledRows.join(parts or [self._no_rows])
            self.engine.take_rows_of(Inputs(rows.values), int(sizes[: own.start].sum()))
            n_own = rows.targets.shape[0]
            yield Part(np.arange(n_own), rows.targets, None, int(sizes.sum()))

    def _done_before(self, batch: int, n_batches: int) -> NDArray[np.int64]:
        """Rows that each stream has given before a batch: (S,). Streams round at different batches."""
        n_streams = self.of_stream.size
        offset = np.arange(n_streams) * n_batches // n_streams
        return (self.of_stream * batch + offset) // n_batches

    @property
    def _no_rows(self) -> LabelledRows:
        return self.read(int(np.argmax(self.n_training > 0))).take(slice(0, 0))

    def digest(self) -> str:
        """Says which data these are."""
        return f"{self.data} {digest_of(self.n_training, self.bounds)} {self.buffer_rows}"


class _Stream:
    """The rows of one stream in one epoch, from some row on."""

    def __init__(self, source: ShardStreams, number: int, epoch: int, skip: int) -> None:
        self._chunks = _chunks(source, number, epoch, skip)
        self._rows: LabelledRows | None = None
        self._at = 0

    def take(self, n_rows: int) -> list[LabelledRows]:
        """The next rows; in parts, where a buffer ends."""
        parts = []
        while n_rows > 0:
            if self._rows is None or self._at == self._rows.targets.shape[0]:
                self._rows, self._at = next(self._chunks), 0
            stop = min(self._at + n_rows, self._rows.targets.shape[0])
            parts.append(self._rows.take(slice(self._at, stop)))
            n_rows -= stop - self._at
            self._at = stop
        return parts


def _chunks(source: ShardStreams, number: int, epoch: int, skip: int) -> Iterator[LabelledRows]:
    """Yield a stream's rows, a mixed buffer at a time; those before row ``skip`` are not read."""
    first, last = source.bounds[number : number + 2].tolist()
    seed = [source.seed, epoch, number]
    order = np.random.default_rng(seed).permutation(np.arange(first, last))
    order = order[source.n_training[order] > 0]
    sizes = source.n_training[order]
    ends = np.cumsum(sizes)
    at = 0
    while at < order.size:
        start = int(ends[at] - sizes[at])
        stop = max(at + 1, int(np.searchsorted(ends, start + source.buffer_rows, side="right")))
        n_rows = int(ends[stop - 1]) - start
        if n_rows > max(0, skip - start):
            rows = LabelledRows.join([source.read(int(p)) for p in order[at:stop]])
            mixed = rows.take(np.random.default_rng([*seed, at]).permutation(n_rows))
            yield mixed.take(slice(max(0, skip - start), None))
        at = stop
