"""How large the tasks may be: computed before any work, from the memory of the workers and of this process."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from tsenet._system.threads import chunks_of_equal_work
from tsenet.data.limits import shown_bytes
from tsenet.data.shards import Partition, ShardFolder
from tsenet.errors import TooLargeError
from tsenet.scale.executor import Executor
from tsenet.scale.tasks import UnitTile
from tsenet.skeleton.information import PairCounter

__all__ = ["Plan"]

# A Dask worker that has loaded the library and read its first partition (0.40 GB with 30 MB of rows). This and the
# following are compared with measurements in docs/results/scale.md.
PROCESS = 350 << 20
# Dask moves results to the disk from 60 % of a worker's memory on and restarts the worker at 95 %: tasks stay below.
SHARE = 0.55
# Counts of a task: two parts, their sum, an earlier sum, and the part in work.
COPIES = 5
# Counts in this process when workers send them: as they arrive, as arrays that may be written, and the tile in use.
COPIES_HERE = 3
# Bytes per variable that is on in a partition while it is read, cut and transposed.
PER_ENTRY = 40
# Bytes per entry of a structure sample that is sent to a worker: the rows, the columns, and one of them as it arrives.
SAMPLE_PER_ENTRY = 24
# Bytes of this process per variable that is on in the structure sample, per row of it, and per variable.
DRIVER_PER_ENTRY, DRIVER_PER_ROW, DRIVER_PER_VARIABLE = 60, 60, 5000
# Bytes per row of the folder: a random order of all pieces, of which there are a few per row.
DRIVER_PER_ROW_OF_ALL = 24


@dataclass(frozen=True)
class Plan:
    """Sizes of tasks for a folder and an executor.

    Attributes
    ----------
    folder : ShardFolder
    n_slots : int
        Tasks at the same time.
    task_memory : int
        Bytes that one task may use.
    driver_memory : int
        Bytes that this process may use.
    distributed : bool
        Whether tasks run in other processes.
    """

    folder: ShardFolder
    n_slots: int
    task_memory: int
    driver_memory: int
    distributed: bool

    @classmethod
    def of(cls, folder: ShardFolder, executor: Executor, driver_memory: int) -> Plan:
        """Make the plan, and refuse what cannot fit.

        Raises
        ------
        TooLargeError
            If a partition does not fit a task; says how to make smaller ones.
        """
        plan = cls(
            folder, executor.n_slots, executor.memory, driver_memory, executor.is_distributed
        )
        if plan.room <= plan.partition_memory:
            need = int((plan.partition_memory + PROCESS) / SHARE) + (64 << 20)
            rows = max(part.n_rows for part in folder.partitions)
            raise TooLargeError(
                f"a partition of {rows:,} rows needs {shown_bytes(plan.partition_memory)} to be worked on, "
                f"but a task has {shown_bytes(max(0, plan.room))} of its {shown_bytes(plan.task_memory)}: give "
                f"{shown_bytes(need)} per worker thread, or write shards with fewer rows per partition"
            )
        return plan

    @property
    def room(self) -> int:
        """Bytes that a task may use for data."""
        return int(self.task_memory * SHARE) - PROCESS

    @property
    def partition_memory(self) -> int:
        """Bytes for the largest partition."""
        folder = self.folder
        rows = max(part.n_rows for part in folder.partitions)
        per_row = folder.nnz / folder.n_rows
        item = PER_ENTRY if folder.is_sparse else PER_ENTRY + 8
        return int(rows * (per_row * item + 64))

    def spans(self, n_spans: int | None = None) -> list[tuple[Partition, ...]]:
        """Groups of consecutive partitions: one task each."""
        parts = self.folder.partitions
        if not self.distributed:
            return [(part,) for part in parts]
        n_spans = min(len(parts), n_spans or 4 * self.n_slots)
        ends = [round(k * len(parts) / n_spans) for k in range(n_spans + 1)]
        return [tuple(parts[a:b]) for a, b in pairwise(ends)]

    def column_tiles(self) -> list[tuple[int, int]]:
        """Dense columns of which all values are in one task's memory: ``(start, stop)`` each."""
        folder = self.folder
        column = folder.n_rows * 8 * 3  # the values, their transpose, a sorted copy
        size = (self.room - self.partition_memory) // column
        if size < 1:
            raise TooLargeError(
                f"the values of one column need {shown_bytes(column)}, but a task has "
                f"{shown_bytes(self.room - self.partition_memory)}: give it more memory"
            )
        least = -(-folder.n_columns // self.n_slots)
        return _tiles(folder.n_columns, min(int(size), least))

    def pair_tiles(self, n_variables: int) -> list[tuple[int, int]]:
        """Variables whose counts with all others fit into a task: ``(first, last)`` each."""
        row = 4 * n_variables * COPIES
        size = (self.room - self.partition_memory) // row
        if size < 1:
            raise TooLargeError(
                f"the counts of one variable with {n_variables:,} others need {shown_bytes(row)}, but a task "
                f"has {shown_bytes(self.room - self.partition_memory)}: give workers more memory"
            )
        return _tiles(n_variables, int(size))

    def sends_sample(self, counter: PairCounter, n_partners: int) -> bool:
        """Whether a structure sample fits into a task. Else its pairs are counted partition by partition."""
        n_rows, n_variables = counter.rows.shape
        found = 12 * n_partners * -(-n_variables // self.n_slots)
        need = SAMPLE_PER_ENTRY * counter.rows.nnz + 24 * (n_rows + n_variables) + found
        return need + counter.bits.nbytes < self.room

    def equal_tiles(self, work: NDArray[np.int64]) -> list[tuple[int, int]]:
        """Variables in tiles of about equal work, a few for each worker: ``(first, last)`` each."""
        per_tile = int((work + 1).sum()) // (4 * self.n_slots) + 1
        return chunks_of_equal_work(work + 1, per_tile)

    def unit_tiles(self, sizes: Sequence[int]) -> list[list[UnitTile]]:
        """Jobs of the expansion: upper units whose counts fit into a task together."""
        posteriors = 80 << 20
        room = (self.room - self.partition_memory - posteriors) // COPIES
        if self.distributed:
            room = min(room, (int(self.driver_memory * SHARE) - PROCESS) // COPIES_HERE)
        jobs: list[list[UnitTile]] = [[]]
        left = room
        for level in range(1, len(sizes)):
            unit = 4 * (2 * sizes[level - 1] + sizes[level])
            if unit > room:
                raise TooLargeError(
                    f"the counts of one unit of level {level} need {shown_bytes(unit)}, but a task has "
                    f"{shown_bytes(max(0, room))}: give workers more memory"
                )
            first = 0
            while first < sizes[level]:
                n_units = min(sizes[level] - first, left // unit)
                if n_units == 0:
                    jobs.append([])
                    left = room
                    continue
                jobs[-1].append(UnitTile(level, first, first + n_units))
                first += n_units
                left -= n_units * unit
        return jobs

    def driver_need(self, n_sampled: int) -> int:
        """Bytes of this process for learning a tree from so many rows."""
        entries = self.folder.nnz * n_sampled / self.folder.n_rows
        return int(
            PROCESS
            + DRIVER_PER_ENTRY * entries
            + DRIVER_PER_ROW * n_sampled
            + DRIVER_PER_VARIABLE * self.folder.n_columns
            + DRIVER_PER_ROW_OF_ALL * self.folder.n_rows
        )

    def structure_rows(self) -> int:
        """As many rows as this process can learn the groups from: all, or a multiple of 1,000.

        Raises
        ------
        TooLargeError
            If not even 1,000 rows fit.
        """
        if self.driver_need(self.folder.n_rows) <= self.driver_memory:
            return self.folder.n_rows
        fits = self._rows_that_fit()
        return fits if fits >= 1000 else self.check_driver(None)

    def _rows_that_fit(self) -> int:
        fixed, per_row = self.driver_need(0), self.driver_need(1000) - self.driver_need(0)
        fits = int((self.driver_memory - fixed) * 1000 / max(1, per_row))
        return fits - fits % 1000 if fits >= 1000 else fits

    def check_driver(self, structure_samples: int | None) -> int:
        """Rows of the structure sample, after the check that they fit into this process.

        Raises
        ------
        TooLargeError
            If they do not; says how many would.
        """
        n_rows = self.folder.n_rows
        n_sampled = n_rows if structure_samples is None else min(structure_samples, n_rows)
        if self.driver_need(n_sampled) <= self.driver_memory:
            return n_sampled
        fits = self._rows_that_fit()
        advice = (
            f"structure_samples={fits} would fit, or memory_limit="
            if fits >= 1000
            else "not even 1,000 rows would: give memory_limit="
        )
        raise TooLargeError(
            f"learning the groups from {n_sampled:,} rows needs about "
            f"{shown_bytes(self.driver_need(n_sampled))} in this process, which may use "
            f"{shown_bytes(self.driver_memory)}: {advice}{shown_bytes(self.driver_need(n_sampled))!r}"
        )

    def describe(self, structure_samples: int | None = None) -> str:
        """The plan of learning a tree, as text: tasks, bytes and memory of each phase."""
        folder = self.folder
        n_sampled = self.check_driver(structure_samples)
        spans = len(self.spans())
        stored = 4 * folder.nnz * (2 if folder.has_counts else 1)
        if not folder.is_sparse:
            stored = 4 * folder.nnz
        lines = [
            f"{folder.n_rows:,} rows × {folder.n_columns:,} columns, {folder.nnz:,} entries in "
            f"{len(folder.partitions):,} partitions; {self.n_slots} "
            f"task{'s' if self.n_slots > 1 else ''} at a time, {shown_bytes(self.task_memory)} each; "
            f"this process {shown_bytes(self.driver_memory)}"
        ]
        phases: list[tuple[str, int, int, int]] = [
            ("counts and lengths", spans, stored, self.partition_memory)
        ]
        if not folder.is_sparse:
            tiles = self.column_tiles()
            widest = max(b - a for a, b in tiles) * folder.n_rows * 24
            phases.insert(0, ("thresholds", len(tiles), stored * len(tiles), widest))
        if self.distributed:
            tiles = self.pair_tiles(folder.n_columns)
            widest = max(b - a for a, b in tiles) * folder.n_columns * 4 * COPIES
            pair_spans = len(self.spans(2 * self.n_slots))
            phases.append(
                (
                    "pairs",
                    len(tiles) * pair_spans,
                    stored * len(tiles),
                    widest + self.partition_memory,
                )
            )
        phases.append(("structure sample", spans, stored, self.partition_memory))
        phases.append(("rows of stepwise EM", spans, stored, self.partition_memory))
        for name, tasks, read, memory in phases:
            lines.append(
                f"  {name}: {tasks:,} tasks, {shown_bytes(read)} read, {shown_bytes(memory)} per task"
            )
        drawn = ", as many as fit" if n_sampled == self.structure_rows() < folder.n_rows else ""
        lines.append(
            f"  groups of {n_sampled:,} rows{drawn}: in this process, about "
            f"{shown_bytes(self.driver_need(n_sampled))}"
        )
        return "\n".join(lines)

    def __str__(self) -> str:
        return self.describe()


def _tiles(n_items: int, size: int) -> list[tuple[int, int]]:
    """Cut a range into pieces of about equal size, none above ``size``."""
    n_tiles = -(-n_items // size)
    ends = [round(k * n_items / n_tiles) for k in range(n_tiles + 1)]
    return list(pairwise(ends))
