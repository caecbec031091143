"""Rows in blocks: one block in memory, the shards of a Parquet folder, or the same shards on Dask workers.

Every statistic of the method is a function of one block, and a function that combines two results. :class:`Blocks` runs
them: in place, in a loop over the shards, or on the workers of a cluster. Combined results are whole numbers, so
they do not depend on how the rows are divided.
"""

from __future__ import annotations

import copy
import os
import tempfile
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial, reduce
from itertools import pairwise
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from tsenet.data.binary import BinaryRows, BinaryRule
from tsenet.data.cluster import Cluster
from tsenet.data.shards import Shard, ShardFolder, open_shards, write_batches
from tsenet.data.table import Table
from tsenet.errors import DataError
from tsenet.progress import Progress

__all__ = ["Blocks", "in_blocks", "is_outside_memory", "learn_rule"]

Function = Callable[[Any], Any]


class Blocks:
    """Rows in blocks, and where the work on them runs; accepted in place of a table.

    Parameters
    ----------
    X : table, BinaryRows, path, ShardFolder, or Dask array or dataframe
        A table in memory is one block. A folder made by ``tsenet shard`` or :func:`tsenet.data.write_shards` has a
        block for each shard; workers on other machines must be able to open it. A Dask array (N, V) or dataframe
        of word counts, also in scipy CSR blocks, is written as such a folder first, among the temporary files of this
        machine (set ``TMPDIR`` to a folder that workers on other machines can open); :meth:`close` removes it.
    client : distributed.Client or str or None, default=None
        The cluster to work on, or the address of its scheduler. None works in this process.
    n_workers : int or None, default=None
        Start this many worker processes on this machine, which share its memory; None starts none. For other limits,
        start a ``distributed.LocalCluster`` and give its client.

    Raises
    ------
    DataError
        If the folder is not a finished folder of shards.
    ClusterError
        If the cluster does not answer, or has no workers.

    Examples
    --------
    >>> import tempfile
    >>> import numpy as np
    >>> import scipy.sparse as sp
    >>> import tsenet
    >>> from tsenet.data import write_shards
    >>> from tsenet.data import Blocks
    >>> rng = np.random.default_rng(0)
    >>> topic = np.repeat(rng.random((500, 3)) < 0.4, 4, axis=1)
    >>> X = sp.csr_array(rng.random((500, 12)) < np.where(topic, 0.8, 0.05))
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     _ = write_shards(folder, X, rows_per_shard=100)
    ...     with Blocks(folder) as blocks:
    ...         tree = tsenet.learn_tree(blocks, max_top=3, random_state=0)
    >>> tree.layer_sizes
    (12, 3)
    >>> bool((tree.cpt == tsenet.learn_tree(X, max_top=3, random_state=0).cpt).all())
    True
    """

    def __init__(
        self,
        X: Any,
        *,
        client: Any = None,
        n_workers: int | None = None,
    ) -> None:
        if client is not None and n_workers is not None:
            raise ValueError("give client or n_workers, not both: n_workers starts a new cluster")
        if n_workers is not None and n_workers < 1:
            raise ValueError(f"n_workers must be at least 1, not {n_workers}")

        self.cluster: Cluster | None = None
        self.folder: ShardFolder | None = None
        self._written_rows: tempfile.TemporaryDirectory[str] | None = None
        self._value: Any = None  # rows in memory
        self._source: Any
        self._steps: tuple[Function, ...] = ()

        if not is_outside_memory(X):
            self._value = X
            if isinstance(X, BinaryRows):
                X.validate()
            else:
                self._value = Table.of(X)
            self._source = self._value
            self._sizes = [self._value.n_rows]
            return

        if not is_collection(X):
            self.folder = X if isinstance(X, ShardFolder) else open_shards(X)

        if client is not None or n_workers is not None:
            self.cluster = Cluster(client, n_workers)

        try:
            if is_collection(X):
                self.folder = self._written(X)
            assert self.folder is not None
            self._source = self.folder
            self._sizes = [part.n_rows for part in self.folder.shards]
        except BaseException:
            self.close()
            raise

    # ---- what it is

    @property
    def n_rows(self) -> int:
        """Number of rows N."""
        return sum(self._sizes)

    @property
    def is_sparse(self) -> bool:
        """Whether the rows are sparse, as documents are."""
        return self.folder is not None or bool(self._source.is_sparse)

    @property
    def columns(self) -> Table | ShardFolder:
        """The table or folder, for the ``names`` and number of its columns."""
        columns: Table | ShardFolder = self._source
        return columns

    def __repr__(self) -> str:
        where = "this process" if self.cluster is None else f"{self.cluster.n_slots} workers"
        return f"Blocks({self._source!r}, {where})"

    def close(self) -> None:
        """Stop the workers that were started here, and close a connection that was opened here."""
        if self.cluster is not None:
            self.cluster.close()
        if self._written_rows is not None:
            self._written_rows.cleanup()

    def __enter__(self) -> Blocks:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    # ---- passes over the rows

    def map_lazily(self, step: Function, sizes: Sequence[int] | None = None) -> Blocks:
        """The same rows, each block turned into ``step(block)``: at once in memory, else whenever a block is read.

        ``step`` must be picklable. ``sizes`` are the rows of the new blocks; default: as many as before.
        """
        blocks = copy.copy(self)
        if self.folder is None:
            blocks._value = step(self._value)
        else:
            blocks._steps = (*self._steps, step)
        if sizes is not None:
            blocks._sizes = list(sizes)
        return blocks

    def map(
        self, function: Function, *, stage: str = "", progress: Progress | None = None
    ) -> Iterator[Any]:
        """Yield ``function(block)`` for every block, in order.

        Parameters
        ----------
        function : callable
            Picklable, if there is a cluster.
        stage, progress : optional
            Name of a stage, and where to report it.
        """
        if self.folder is None:
            yield function(self._value)
            return
        each = partial(_of_shard, self.folder, self._steps, function)
        yield from self._results(each, self.folder.shards, stage, progress)

    def _results(
        self, function: Function, items: Sequence[Any], stage: str, progress: Progress | None
    ) -> Iterator[Any]:
        """Yield ``function(item)`` of shards, or of several together, in order."""
        if progress is not None:
            progress.start(stage, len(items))
        map_in_order = map if self.cluster is None else self.cluster.map
        for result in map_in_order(function, items):
            if progress is not None:
                progress.advance()
            yield result
        if progress is not None:
            progress.finish()

    def reduce(
        self,
        function: Function,
        combine: Callable[[Any, Any], Any],
        *,
        stage: str = "",
        progress: Progress | None = None,
    ) -> Any:
        """Combine ``function(block)`` of all blocks.

        ``combine`` must be associative to the bit. It may change its first argument, but not the second.
        """
        if self.cluster is None or self.folder is None:
            return reduce(combine, self.map(function, stage=stage, progress=progress))

        # Results may be large: each task adds up those of several shards.
        shards = self.folder.shards
        n_spans = min(len(shards), self.cluster.n_slots)
        ends = [round(k * len(shards) / n_spans) for k in range(n_spans + 1)]
        spans = [shards[start:stop] for start, stop in pairwise(ends)]
        of_span = partial(_of_span, self.folder, self._steps, function, combine)

        if progress is not None:
            progress.start(stage, len(spans))

        total = self.cluster.reduce(of_span, spans, combine, progress)
        if progress is not None:
            progress.finish()

        return total

    def take(
        self,
        numbers: NDArray[np.int64] | None = None,
        *,
        stage: str = "",
        progress: Progress | None = None,
    ) -> Any:
        """Some rows, ascending (None: all), in memory."""
        if numbers is None:
            return _joined(self.map(_whole, stage=stage, progress=progress))
        if self.folder is None:
            return self._value.take(numbers)

        # The wanted rows of each shard, numbered within it; shards without any are not read.
        starts = np.concatenate([[0], np.cumsum(self._sizes)])
        places = np.searchsorted(numbers, starts)
        requests = []
        for k, shard in enumerate(self.folder.shards):
            wanted = numbers[places[k] : places[k + 1]]
            if wanted.size:
                requests.append((shard, wanted - starts[k]))

        rows_of = partial(_rows_of_shard, self.folder, self._steps)
        return _joined(self._results(rows_of, requests, stage, progress))

    def sample(self, n_rows: int, seed: np.random.SeedSequence, progress: Progress) -> Any:
        """At most ``n_rows`` rows, drawn at random, in memory."""
        numbers = None
        if self.n_rows > n_rows:
            rng = np.random.default_rng(seed)
            numbers = np.sort(rng.choice(self.n_rows, n_rows, replace=False))
        return self.take(numbers, stage="reading rows", progress=progress)

    def threads(self, n_jobs: int | None) -> int | None:
        """Threads of a function of one block: ``n_jobs`` in this process, one on a worker."""
        return n_jobs if self.cluster is None else 1

    # ---- Dask collections

    def _written(self, collection: Any) -> ShardFolder:
        """Write a Dask collection as a folder, which :meth:`close` removes."""
        client = None if self.cluster is None else self.cluster.client
        self._written_rows = tempfile.TemporaryDirectory(prefix="tsenet-")
        path = self._written_rows.name
        if client is not None and not all(client.run(os.path.isdir, path).values()):
            raise DataError(
                f"the workers do not see {path}, where the rows would be written: set the environment variable "
                "TMPDIR to a folder that all machines can open"
            )
        return write_batches(path, ((table, {}) for table in _chunks_of(collection, client)))


def is_collection(X: Any) -> bool:
    """Whether ``X`` is a Dask array, dataframe or other collection."""
    return hasattr(X, "__dask_graph__")


def _chunks_of(collection: Any, client: Any) -> Iterator[Table]:
    """Compute a Dask array (N, V) or dataframe, some rows at a time; ``client`` None: where Dask does by default.

    Blocks of an array may be numbers or scipy CSR matrices.

    Raises
    ------
    DataError
        If it is another kind of collection.
    """
    import dask

    is_frame = hasattr(collection, "columns") and hasattr(collection, "to_delayed")
    if not is_frame and getattr(collection, "ndim", 0) != 2:
        kind = type(collection).__name__
        raise DataError(f"expected a two-dimensional Dask array or a Dask dataframe, not a {kind}")

    for chunks in collection.to_delayed():
        # Some rows: one chunk of a dataframe; chunks of an array side by side.
        delayed = [chunks] if is_frame else list(chunks)
        parts = client.gather(client.compute(delayed)) if client else dask.compute(*delayed)
        block = parts[0] if is_frame else sp.hstack([*map(sp.csr_array, parts)], format="csr")
        if block.shape[0] > 0:
            yield Table.of(block)


@contextmanager
def in_blocks(X: Any, client: Any = None) -> Iterator[Blocks]:
    """Rows in blocks; what is opened here is closed in the end.

    Raises
    ------
    ValueError
        If ``X`` is in blocks already and a client is given too.
    """
    if isinstance(X, Blocks):
        if client is not None:
            raise ValueError("these blocks have their own client")
        yield X
        return

    with Blocks(X, client=client) as blocks:
        yield blocks


def is_outside_memory(X: Any) -> bool:
    """Whether ``X`` is a folder (a path, or open) or a Dask collection.

    Examples
    --------
    >>> from pathlib import Path
    >>> from tsenet.data.blocks import is_outside_memory
    >>> is_outside_memory(Path("shards")), is_outside_memory([[0, 1]]), is_outside_memory("one text")
    (True, False, False)
    """
    if isinstance(X, str):
        return os.path.isdir(X)
    if isinstance(X, Blocks):
        return X.folder is not None
    return isinstance(X, os.PathLike | ShardFolder) or is_collection(X)


def folder_of(blocks: Blocks) -> ShardFolder:
    """The folder that holds rows outside memory."""
    assert blocks.folder is not None
    return blocks.folder


def tables_of(X: Any, words: Sequence[str]) -> Iterator[Table]:
    """Rows outside memory, a shard at a time, with the columns ``words`` of a model, matched by name."""
    with in_blocks(X) as blocks:
        for _, table in folder_of(blocks).tables(words):
            yield table


def learn_rule(blocks: Blocks) -> BinaryRule:
    """How the columns become binary variables; the words of a folder are on where they occur."""
    columns = blocks.columns
    if isinstance(columns, Table):
        return BinaryRule.learn(columns)
    return BinaryRule.learn(columns.table(sp.csr_array(columns.shape, dtype=np.int32)))


# ---- functions of one block


def _of_shard(
    folder: ShardFolder, steps: Sequence[Function], function: Function, shard: Shard
) -> Any:
    """Read a shard, apply the steps, then the function."""
    value: Any = folder.read(shard)
    for step in steps:
        value = step(value)
    return function(value)


def _of_span(
    folder: ShardFolder,
    steps: Sequence[Function],
    function: Function,
    combine: Callable[[Any, Any], Any],
    span: Sequence[Shard],
) -> Any:
    """The combined results of some shards."""
    return reduce(combine, (_of_shard(folder, steps, function, part) for part in span))


def _whole(block: Any) -> Any:
    return block


def _rows_of_shard(
    folder: ShardFolder,
    steps: Sequence[Function],
    request: tuple[Shard, NDArray[np.int64]],
) -> Any:
    """Some rows of a shard."""
    shard, numbers = request
    return _of_shard(folder, steps, _whole, shard).take(numbers)


def _joined(parts: Iterable[Any]) -> Any:
    """Consecutive rows as one block."""
    blocks = list(parts)
    if len(blocks) == 1:
        return blocks[0]
    if not isinstance(blocks[0], Table):
        return BinaryRows.concatenate(blocks)

    first: Table = blocks[0]
    values = [block.values for block in blocks]
    stacked = sp.vstack(values, format="csr") if first.is_sparse else np.concatenate(values)
    return Table(stacked, first.names, first.levels, first.named)
