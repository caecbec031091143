"""Two neighbouring layers of a tree, known by counts over partitions."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
from numpy.typing import NDArray

from tsenet._system.threads import Workers, chunks
from tsenet.expansion.pairs import UNITS_PER_BLOCK, PairedLayers, Scores, UnitCounts
from tsenet.scale.tasks import TreeCounts, UnitTile

__all__ = ["CountedLayers"]


class CountedLayers(PairedLayers):
    """An upper and a lower layer; the counts of upper units come tile by tile, once.

    Parameters
    ----------
    level : int
        The upper layer.
    counted : _Counted
        Gives the counts of the tiles.
    parent : int32 (D,)
        The tree parent of each lower unit.
    n_rows : int
        Rows N.
    """

    def __init__(
        self, level: int, counted: _Counted, parent: NDArray[np.int32], n_rows: int
    ) -> None:
        margins = counted.margins
        self.n_rows = n_rows
        self.parent = parent
        self.upper_on = margins[level].on
        self.lower_on = margins[level - 1].on
        self.parent_on = margins[level - 1].parent_on
        self._level = level
        self._counted = counted

    @classmethod
    def of_jobs(
        cls,
        jobs: Sequence[Sequence[UnitTile]],
        counted: Iterator[TreeCounts],
        parents: Sequence[NDArray[np.int32]],
        n_rows: int,
    ) -> Iterator[CountedLayers]:
        """One for each level, from the first up; each is to be used before the next is taken."""
        source = _Counted(jobs, counted)
        for level, parent in enumerate(parents, start=1):
            yield cls(level, source, parent, n_rows)

    def scores(self, workers: Workers) -> Iterator[Scores]:
        """Yield blocks of upper units, from the first on."""
        waiting: UnitCounts | None = None
        first = 0
        for a, b in chunks(self.n_upper, UNITS_PER_BLOCK):
            # Tiles end anywhere; the choice of links goes by blocks of a fixed size.
            while waiting is None or first + waiting.both.shape[0] < b:
                _, more = self._counted.next_tile(self._level)
                waiting = more if waiting is None else _stacked(waiting, more)
            counts = UnitCounts(*(array[a - first : b - first] for array in waiting))
            yield Scores(a, self.score(a, counts, workers))
            waiting = UnitCounts(*(array[b - first :] for array in waiting))
            first = b


class _Counted:
    """The counts of all tiles, in order; one job is in memory at a time."""

    def __init__(self, jobs: Sequence[Sequence[UnitTile]], counted: Iterator[TreeCounts]) -> None:
        self._jobs = iter(jobs)
        self._counted = counted
        self._waiting: list[tuple[UnitTile, UnitCounts]] = []
        self._take_job()

    def _take_job(self) -> None:
        job, counts = next(self._jobs), next(self._counted)
        self.margins = counts.margins
        tiles = [
            UnitCounts(*(np.require(array, requirements=["C", "W"]) for array in found))
            for found in counts.tiles
        ]
        self._waiting = list(zip(job, tiles, strict=True))

    def next_tile(self, level: int) -> tuple[UnitTile, UnitCounts]:
        """The next tile of this level; those of lower levels that nobody asked for are skipped."""
        while True:
            if not self._waiting:
                self._take_job()
            tile, counts = self._waiting.pop(0)
            if tile.level == level:
                return tile, counts


def _stacked(a: UnitCounts, b: UnitCounts) -> UnitCounts:
    return UnitCounts(*(np.concatenate(parts) for parts in zip(a, b, strict=True)))
