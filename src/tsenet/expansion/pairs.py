"""Two neighbouring layers of completed data: the information between their units (paper §4)."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import entr

from tsenet._system.threads import Workers, chunks
from tsenet.data.rows import BinaryRows
from tsenet.expansion import _cmi_kernels
from tsenet.expansion._cmi_kernels import Margins, TwoLayers, UnitCounts
from tsenet.skeleton.kernels.pair_kernels import Csr

__all__ = [
    "UNITS_PER_BLOCK",
    "LayerPair",
    "PairedLayers",
    "Scores",
    "UnitCounts",
    "empty_counts",
    "score_counts",
]

UNITS_PER_CHUNK = 16
UNITS_PER_BLOCK = 128  # scores of so many upper units with all lower ones are in memory at a time


class PairedLayers(ABC):
    """An upper and a lower layer of completed data, and the tree between them.

    Attributes
    ----------
    n_rows, n_upper, n_lower : int
        Rows N and units U and D of the layers.
    parent : int32 (D,)
        The tree parent of each lower unit among the upper ones, −1 if it has none.
    upper_on, lower_on : int64 (U,) and (D,)
        In how many rows each unit is on.
    parent_on : int64 (D,)
        In how many rows each lower unit and its parent are on.
    """

    n_rows: int
    parent: NDArray[np.int32]
    upper_on: NDArray[np.int64]
    lower_on: NDArray[np.int64]
    parent_on: NDArray[np.int64]

    @property
    def n_upper(self) -> int:
        """Number of upper units U."""
        return int(self.upper_on.size)

    @property
    def n_lower(self) -> int:
        """Number of lower units D."""
        return int(self.lower_on.size)

    @abstractmethod
    def scores(self, workers: Workers) -> Iterator[Scores]:
        """Yield blocks of upper units, from the first on."""

    @abstractmethod
    def joint(self, links: NDArray[np.int64], workers: Workers) -> NDArray[np.int64]:
        """Rows in which both ends of each link (E, 2) are on; links are (upper, lower), the upper ones ascending."""

    def margins(self) -> Margins:
        """What the kernel needs beside the joint counts."""
        n = np.arange(self.n_rows + 1, dtype=np.float64)
        xlogx = n * np.log(np.maximum(n, 1.0))
        return Margins(self.parent, self.upper_on, self.lower_on, self.parent_on, xlogx)

    def upper_entropy(self) -> NDArray[np.float64]:
        """Entropy of each upper unit in nats: (U,)."""
        share = self.upper_on / self.n_rows
        return np.asarray(entr(share) + entr(1.0 - share))

    def log_odds(self, links: NDArray[np.int64], joint: NDArray[np.int64]) -> NDArray[np.float64]:
        """Log odds ratio of the two ends of each link, half a row added to each cell: (E,)."""
        above, below = self.upper_on[links[:, 0]], self.lower_on[links[:, 1]]
        cells = (joint, self.n_rows - above - below + joint, above - joint, below - joint)
        both, neither, only_above, only_below = (np.log(cell + 0.5) for cell in cells)
        return np.asarray(both + neither - only_above - only_below)


class Scores(NamedTuple):
    """Upper units ``first..first + B`` with every lower unit x.

    ``score`` is N·I(unit; x | parent of x) (B, D), −1 where x is the unit's own child; ``both`` are the rows in which
    the two are on.
    """

    first: int
    score: NDArray[np.float64]
    both: NDArray[np.int32]


def empty_counts(n_units: int, n_lower: int, n_upper: int) -> UnitCounts:
    """Counts of some upper units before the first row."""
    shapes = ((n_units, n_lower), (n_units, n_lower), (n_units, n_upper))
    return UnitCounts(*(np.zeros(shape, np.int32) for shape in shapes))


def score_counts(
    first: int,
    counts: UnitCounts,
    margins: Margins,
    score: NDArray[np.float64],
    workers: Workers,
) -> None:
    """Fill ``score`` (B, D) with the information of the units from ``first`` on, from their counts."""

    def serve(part: tuple[int, int]) -> None:
        own = UnitCounts(*(array[slice(*part)] for array in counts))
        _cmi_kernels.score_units(first + part[0], own, margins, score[slice(*part)])

    for _ in workers.map(serve, chunks(score.shape[0], UNITS_PER_CHUNK)):
        pass


class LayerPair(PairedLayers):
    """Completed data of an upper and a lower layer in memory.

    Parameters
    ----------
    upper, lower : BinaryRows
        N rows of U and of D units.
    parent : int32 (D,)
        The tree parent of each lower unit among the upper ones, −1 if it has none.
    """

    def __init__(self, upper: BinaryRows, lower: BinaryRows, parent: NDArray[np.int32]) -> None:
        self.parent = parent
        self.lower = lower
        self.n_rows = upper.n_rows
        by_unit = upper.transpose()
        self.upper_on = np.diff(by_unit.indptr)
        self.lower_on = lower.counts()
        with_parent = parents_on(upper, lower, parent)
        self.parent_on = np.bincount(
            lower.indices, weights=with_parent, minlength=lower.n_columns
        ).astype(np.int64)
        self.data = TwoLayers(
            Csr(upper.indptr, upper.indices),
            Csr(by_unit.indptr, by_unit.indices),
            Csr(lower.indptr, lower.indices),
            with_parent,
        )

    def scores(self, workers: Workers) -> Iterator[Scores]:
        """Yield blocks of upper units, from the first on."""
        margins = self.margins()
        for first, last in chunks(self.n_upper, UNITS_PER_BLOCK):
            score = np.empty((last - first, self.n_lower))
            counts = empty_counts(last - first, self.n_lower, self.n_upper)

            self.count(first, counts, workers)
            score_counts(first, counts, margins, score, workers)
            yield Scores(first, score, counts.both)

    def count(self, first: int, counts: UnitCounts, workers: Workers) -> None:
        """Add the rows of these layers to the counts of the units from ``first`` on."""

        def serve(part: tuple[int, int]) -> None:
            own = UnitCounts(*(array[slice(*part)] for array in counts))
            _cmi_kernels.count_units(first + part[0], self.data, own)

        for _ in workers.map(serve, chunks(counts.both.shape[0], UNITS_PER_CHUNK)):
            pass

    def joint(self, links: NDArray[np.int64], workers: Workers) -> NDArray[np.int64]:
        """Rows in which both ends of each link (E, 2) are on."""
        joint = np.empty(links.shape[0], np.int64)
        ends = np.searchsorted(links[:, 0], np.arange(self.n_upper + 1)).astype(np.int64)
        grouped = Csr(ends, links[:, 1].astype(np.int32))

        def serve(part: tuple[int, int]) -> None:
            data = self.data
            _cmi_kernels.count_links(
                *part, data.upper_columns, data.lower, grouped, self.n_lower, joint
            )

        for _ in workers.map(serve, chunks(self.n_upper, UNITS_PER_CHUNK)):
            pass
        return joint


def parents_on(
    upper: BinaryRows, lower: BinaryRows, parent: NDArray[np.int32]
) -> NDArray[np.bool_]:
    """For each entry of the lower rows, whether its parent is on in that row: (nnz,)."""
    answer = np.empty(lower.nnz, np.bool_)
    for start, stop in chunks(lower.n_rows, 8192):
        part = slice(lower.indptr[start], lower.indptr[stop])
        dense = upper.take(slice(start, stop)).to_dense()
        row = np.repeat(np.arange(stop - start), np.diff(lower.indptr[start : stop + 1]))
        above = parent[lower.indices[part]]
        answer[part] = dense[row, above] & (above >= 0)
    return answer
