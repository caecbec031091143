"""Rows in blocks: one block in memory, the partitions of a Parquet folder, or the same partitions on Dask workers.

Every statistic of the method is a function of one block, and a function that combines two results. :class:`Blocks` runs
them: in place, in a loop over the partitions, or on the workers of a cluster. Combined results are whole numbers, so
they do not depend on how the rows are divided.
"""

from __future__ import annotations

import copy
import logging
import os
import re
import tempfile
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from functools import partial, reduce
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from tsenet.data.binary import BinaryRows, BinaryRule
from tsenet.data.cluster import Cluster
from tsenet.data.shards import Partition, ShardFolder, open_shards, write_batches
from tsenet.data.table import Table
from tsenet.errors import DataError, TooLargeError
from tsenet.progress import Progress

__all__ = ["Blocks", "in_blocks", "is_outside_memory", "learn_rule"]

logger = logging.getLogger("tsenet")

Function = Callable[[Any], Any]

# A Dask worker that has loaded the library and read its first partition (0.40 GB with 30 MB of rows). This and the
# following are compared with measurements in docs/results/speed.md.
PROCESS = 350 << 20
# Dask moves results to the disk from 60 % of a worker's memory on and restarts the worker at 95 %: tasks stay below.
SHARE = 0.55
# Counts of a task: two results, their sum, an earlier sum, and the result in work.
COPIES = 5
# Bytes per entry of a block while it is read, cut and transposed.
PER_ENTRY = 40
# Bytes of posteriors while a block is completed.
POSTERIORS = 80 << 20
# Bytes of this process per entry of the structure sample, per row of it, and per variable.
SAMPLE_PER_ENTRY, SAMPLE_PER_ROW, PER_VARIABLE = 60, 60, 5000
# Bytes per row of the folder: a random order of all pieces, a few per row.
PER_ROW_OF_ALL = 24
# Bytes per entry of a structure sample in a worker: the rows, the columns, and one of them as it arrives.
SENT_PER_ENTRY = 24
# Bytes of results that are counted at a time if the rows are in memory.
ROOM_IN_MEMORY = 64 << 20


class Blocks:
    """Rows in blocks, and where the work on them runs; accepted in place of a table.

    Parameters
    ----------
    X : table, BinaryRows, path, ShardFolder, or Dask array or dataframe
        A table in memory is one block. A folder made by ``tsenet shard`` or :func:`tsenet.data.write_shards` has a
        block for each partition; workers on other machines must be able to open it. A Dask array (N, V) or dataframe
        of word counts, also in scipy CSR blocks, is written as such a folder first.
    client : distributed.Client or str or None, default=None
        The cluster to work on, or the address of its scheduler. None works in this process.
    n_workers : int or None, default=None
        Start this many worker processes on this machine; None starts none.
    memory_limit : int, str or None, default=None
        Memory to plan with, of this process and of each worker that ``n_workers`` starts: bytes, or ``"2GB"``. None:
        60 % of the machine, shared among the workers. Work that does not fit is refused before it begins.
    scratch : path or None, default=None
        Folder for the rows of a Dask collection, which workers must be able to open; it is kept. None: a temporary
        one on this machine, removed by :meth:`close`. An error if ``X`` is something else.

    Raises
    ------
    DataError
        If the folder is not a finished folder of shards.
    TooLargeError
        If a partition does not fit into the memory of a task.
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
    ...     _ = write_shards(folder, X, rows_per_group=100)
    ...     with Blocks(folder, memory_limit="1GB") as blocks:
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
        memory_limit: int | str | None = None,
        scratch: str | os.PathLike[str] | None = None,
    ) -> None:
        if client is not None and n_workers is not None:
            raise ValueError("give client or n_workers, not both: n_workers starts a new cluster")
        if n_workers is not None and n_workers < 1:
            raise ValueError(f"n_workers must be at least 1, not {n_workers}")
        if scratch is not None and not is_collection(X):
            raise ValueError("scratch is for the rows of a Dask collection: leave it out")
        self.cluster: Cluster | None = None
        self.folder: ShardFolder | None = None
        self._scratch: tempfile.TemporaryDirectory[str] | None = None
        self._value: Any = None
        self._source: Any
        self._steps: tuple[Function, ...] = ()
        if not is_outside_memory(X):
            self._value = X
            if isinstance(X, BinaryRows):
                X.validate()
            else:
                self._value = Table.of(X)
            self._source, self._sizes = self._value, [self._value.n_rows]
            return
        if memory_limit is None:
            memory_limit = int(0.6 * _memory_here() / (1 + (n_workers or 0)))
        self._memory = _bytes_of(memory_limit)
        if not is_collection(X):
            self.folder = X if isinstance(X, ShardFolder) else open_shards(X)
        if client is not None or n_workers is not None:
            self.cluster = Cluster(client, n_workers, self._memory)
        try:
            if is_collection(X):
                self.folder = self._written(X, scratch)
            assert self.folder is not None
            self._source = self.folder
            self._sizes = [part.n_rows for part in self.folder.partitions]
            self._check_block()
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
        if self._scratch is not None:
            self._scratch.cleanup()

    def __enter__(self) -> Blocks:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    # ---- passes over the rows

    def then(self, step: Function, sizes: Sequence[int] | None = None) -> Blocks:
        """The same rows, each block turned into ``step(block)``: at once in memory, else whenever a block is read.

        ``step`` must be picklable. ``sizes`` are the rows of the new blocks; default: as many as before.
        """
        new = copy.copy(self)
        if self.folder is None:
            new._value = step(self._value)
        else:
            new._steps = (*self._steps, step)
        if sizes is not None:
            new._sizes = list(sizes)
        return new

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
        each = partial(_of_partition, self.folder, self._steps, function)
        yield from self._results(each, self.folder.partitions, stage, progress)

    def _results(
        self, function: Function, items: Sequence[Any], stage: str, progress: Progress | None
    ) -> Iterator[Any]:
        """Yield ``function(item)`` of partitions, or of several together, in order."""
        report = Progress() if progress is None else progress
        report.start(stage, len(items))
        map_in_order = map if self.cluster is None else self.cluster.map
        for result in map_in_order(function, items):
            report.advance()
            yield result
        report.finish()

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
        parts = self.folder.partitions
        # Results may be large: few are added on workers.
        n_spans = min(len(parts), self.cluster.n_slots)
        ends = [round(k * len(parts) / n_spans) for k in range(n_spans + 1)]
        spans = [parts[a:b] for a, b in pairwise(ends)]
        report = Progress() if progress is None else progress
        report.start(stage, len(spans))
        of_span = partial(_of_span, self.folder, self._steps, function, combine)
        total = self.cluster.reduce(of_span, spans, combine, report)
        report.finish()
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
        starts = np.concatenate([[0], np.cumsum(self._sizes)])
        ends = np.searchsorted(numbers, starts)
        parts = zip(self.folder.partitions, starts, pairwise(ends), strict=False)
        chosen = [(part, numbers[a:b] - start) for part, start, (a, b) in parts if a < b]
        rows_of = partial(_rows_of_partition, self.folder, self._steps)
        return _joined(self._results(rows_of, chosen, stage, progress))

    def sample(self, n_rows: int, seed: np.random.SeedSequence, progress: Progress) -> Any:
        """At most ``n_rows`` rows, drawn at random, in memory."""
        chosen = None
        if self.n_rows > n_rows:
            drawn = np.random.default_rng(seed).choice(self.n_rows, n_rows, replace=False)
            chosen = np.sort(drawn)
        return self.take(chosen, stage="reading rows", progress=progress)

    def threads(self, n_jobs: int | None) -> int | None:
        """Threads of a function of one block: ``n_jobs`` in this process, one on a worker."""
        return n_jobs if self.cluster is None else 1

    # ---- what fits into memory

    @property
    def _room(self) -> int:
        """Bytes that a task may use for its block and its results."""
        memory = self._memory if self.cluster is None else min(self.cluster.memory, self._memory)
        return int(memory * SHARE) - PROCESS

    @property
    def _block_bytes(self) -> int:
        """Bytes for the largest partition of a folder."""
        assert self.folder is not None
        per_row = self.folder.nnz / self.folder.n_rows
        most = max(part.n_rows for part in self.folder.partitions)
        return int(most * (per_row * PER_ENTRY + 64))

    def _check_block(self) -> None:
        if self._room <= self._block_bytes:
            rows = max(self._sizes)
            need = int((self._block_bytes + PROCESS) / SHARE) + (64 << 20)
            raise TooLargeError(
                f"a partition of {rows:,} rows needs {_shown_bytes(self._block_bytes)} to be worked on, but a task "
                f"has {_shown_bytes(max(0, self._room))}: give {_shown_bytes(need)} to each worker thread and as "
                "memory_limit, or write shards with fewer rows per partition"
            )

    def groups(self, n_bytes: Sequence[int], what: str) -> list[tuple[int, int]]:
        """Groups of consecutive results, of ``n_bytes`` each, that a task can count together: ``(start, stop)``.

        Raises
        ------
        TooLargeError
            If ``what``, the largest result, does not fit by itself.
        """
        room = ROOM_IN_MEMORY
        if self.folder is not None:
            room = (self._room - self._block_bytes - POSTERIORS) // COPIES
            if max(n_bytes, default=0) > room:
                raise TooLargeError(
                    f"{what} need {_shown_bytes(max(n_bytes))}, but a task has {_shown_bytes(max(0, room))} for "
                    "its results: give workers more memory"
                )
        groups: list[tuple[int, int]] = []
        start = used = 0
        for k, need in enumerate(n_bytes):
            if used and used + need > room:
                groups.append((start, k))
                start, used = k, 0
            used += need
        return [*groups, (start, len(n_bytes))]

    def structure_rows(self, asked: int | None) -> int | None:
        """How many rows to learn groups from: those asked for; else all (None), or as many as this process can hold.

        Raises
        ------
        TooLargeError
            If those asked for do not fit, or not even 1,000 would.
        """
        if self.folder is None:
            return asked
        n_rows = self.n_rows
        per_row = SAMPLE_PER_ENTRY * self.folder.nnz / n_rows + SAMPLE_PER_ROW
        fixed = PROCESS + PER_VARIABLE * self.folder.n_columns + PER_ROW_OF_ALL * n_rows
        wanted = n_rows if asked is None else min(asked, n_rows)
        if fixed + per_row * wanted <= self._memory:
            return asked
        fits = int((self._memory - fixed) / per_row) // 1000 * 1000
        if fits >= 1000 and asked is None:
            logger.info("the groups are learned from %d rows, as many as fit into memory", fits)
            return fits
        advice = f"structure_samples={fits} would" if fits >= 1000 else "not even 1,000 would"
        need = _shown_bytes(fixed + per_row * wanted)
        raise TooLargeError(
            f"learning the groups from {wanted:,} rows needs about {need} in this process, which may use "
            f"{_shown_bytes(self._memory)}: {advice} fit, or give memory_limit={need!r}"
        )

    def sends(self, rows: BinaryRows, n_partners: int) -> bool:
        """Whether workers have the memory to find the partners of all variables in these rows."""
        if self.cluster is None:
            return False
        results = 12 * n_partners * -(-rows.n_columns // self.cluster.n_slots)
        need = SENT_PER_ENTRY * rows.nnz + 24 * (rows.n_rows + rows.n_columns) + results
        return need < self._room

    # ---- Dask collections

    def _written(self, collection: Any, scratch: str | os.PathLike[str] | None) -> ShardFolder:
        """Write a Dask collection as a folder: in ``scratch``, or in one that :meth:`close` removes."""
        client = None if self.cluster is None else self.cluster.client
        if scratch is None:
            self._scratch = tempfile.TemporaryDirectory(prefix="tsenet-")
            scratch = self._scratch.name
            if client is not None and not all(client.run(os.path.isdir, scratch).values()):
                raise DataError(
                    f"the workers do not see {scratch}, where the rows would be written: give a folder that all "
                    "machines can open as Blocks(…, scratch=…)"
                )
        return write_batches(scratch, ((table, {}) for table in _chunks_of(collection, client)))


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
        parts = [chunks] if is_frame else list(chunks)
        read = client.gather(client.compute(parts)) if client else dask.compute(*parts)
        block = read[0] if is_frame else sp.hstack([*map(sp.csr_array, read)], format="csr")
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


def learn_rule(blocks: Blocks) -> BinaryRule:
    """How the columns become binary variables; the words of a folder are on where they occur."""
    columns = blocks.columns
    if isinstance(columns, Table):
        return BinaryRule.learn(columns)
    return BinaryRule.learn(columns.table(sp.csr_array(columns.shape, dtype=np.int32)))


# ---- functions of one block


def _of_partition(
    folder: ShardFolder, steps: Sequence[Function], function: Function, partition: Partition
) -> Any:
    """Read a partition, apply the steps, then the function."""
    value: Any = folder.read(partition)
    for step in steps:
        value = step(value)
    return function(value)


def _of_span(
    folder: ShardFolder,
    steps: Sequence[Function],
    function: Function,
    combine: Callable[[Any, Any], Any],
    span: Sequence[Partition],
) -> Any:
    """The combined results of some partitions."""
    return reduce(combine, (_of_partition(folder, steps, function, part) for part in span))


def _whole(block: Any) -> Any:
    return block


def _rows_of_partition(
    folder: ShardFolder,
    steps: Sequence[Function],
    chosen: tuple[Partition, NDArray[np.int64]],
) -> Any:
    """Some rows of a partition."""
    partition, numbers = chosen
    return _of_partition(folder, steps, _whole, partition).take(numbers)


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


# ---- amounts of memory


def _bytes_of(memory: int | str) -> int:
    """Read an amount of memory such as ``"2GB"``; numbers are bytes."""
    match = re.fullmatch(r"\s*(\d+(?:\.\d+)?)\s*([KMGT]?)B?\s*", str(memory), re.IGNORECASE)
    if match is None:
        raise ValueError(f"an amount of memory must be written as '2GB', not {memory!r}")
    return int(float(match[1]) * 1000 ** " KMGT".index(match[2].upper() or " "))


def _shown_bytes(n_bytes: float) -> str:
    """Write an amount of memory with three digits."""
    value = float(n_bytes)
    for unit in ("B", "kB", "MB", "GB"):
        if value < 999.5:
            return f"{value:.3g}{unit}"
        value /= 1000
    return f"{value:.3g}TB"


def _memory_here() -> int:
    """Bytes of memory of this machine, or of the container that the process runs in."""
    try:
        total = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    except (AttributeError, ValueError):  # Windows does not say
        total = 16 << 30
    with suppress(OSError, ValueError):
        total = min(total, int(Path("/sys/fs/cgroup/memory.max").read_text()))
    return total
