"""Two neighbouring layers of completed data: the information between their units (paper §4)."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator
from functools import cached_property
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import entr

from tsenet._system.threads import Workers, chunks
from tsenet.data.rows import BinaryRows
from tsenet.expansion._cmi_kernels import UnitCounts, count_units
from tsenet.skeleton.kernels.pair_kernels import Csr

__all__ = [
    "UNITS_PER_BLOCK",
    "LayerPair",
    "PairedLayers",
    "Scores",
    "UnitCounts",
    "empty_counts",
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

    def score(self, first: int, counts: UnitCounts, workers: Workers) -> NDArray[np.float64]:
        """N·I(h; x | parent of x) in nats of upper units h from ``first`` on with every lower unit x: (B, D).

        −1 marks a unit's own children. A lower unit without a parent has plain mutual information.
        """
        parts = chunks(counts.both.shape[0], UNITS_PER_CHUNK)
        tasks = ((first + a, UnitCounts(*(array[a:b] for array in counts))) for a, b in parts)
        return np.concatenate(list(workers.map(lambda task: self._information(*task), tasks)))

    def _information(self, first: int, counts: UnitCounts) -> NDArray[np.float64]:
        f = self._xlogx.take
        units = np.arange(first, first + counts.both.shape[0])[:, None]
        has_parent = self.parent >= 0
        # Rows with the named variables on: h, x and the parent z of x; then those among them without z.
        n_hxz, n_xz, n_x = counts.with_both.astype(np.int64), self.parent_on, self.lower_on
        n_hz = np.where(has_parent, counts.with_upper[:, self.parent], 0).astype(np.int64)
        n_z = np.where(has_parent, self.upper_on[self.parent], 0)
        n_hx0, n_h0 = counts.both - n_hxz, self.upper_on[units] - n_hz
        n_x0, n_0 = n_x - n_xz, self.n_rows - n_z
        with_z = (f(n_hxz) + f(n_z - n_hz - n_xz + n_hxz)) + (f(n_hz - n_hxz) + f(n_xz - n_hxz))
        without_z = (f(n_hx0) + f(n_0 - n_h0 - n_x0 + n_hx0)) + (f(n_h0 - n_hx0) + f(n_x0 - n_hx0))
        given_z = f(n_z) - (f(n_hz) + f(n_z - n_hz)) - (f(n_xz) + f(n_z - n_xz))
        given_not = f(n_0) - (f(n_h0) + f(n_0 - n_h0)) - (f(n_x0) + f(n_0 - n_x0))
        score = np.maximum(0.0, (with_z + given_z) + (without_z + given_not))
        return np.where(self.parent == units, -1.0, score)

    @cached_property
    def _xlogx(self) -> NDArray[np.float64]:
        """n·ln n of every number of rows: (N + 1,)."""
        n = np.arange(self.n_rows + 1, dtype=np.float64)
        return np.asarray(n * np.log(np.maximum(n, 1.0)))

    def upper_entropy(self) -> NDArray[np.float64]:
        """Entropy of each upper unit in nats: (U,)."""
        share = self.upper_on / self.n_rows
        return np.asarray(entr(share) + entr(1.0 - share))


class Scores(NamedTuple):
    """Upper units ``first..first + B`` with every lower unit x.

    ``score`` is N·I(unit; x | parent of x) (B, D), −1 where x is the unit's own child.
    """

    first: int
    score: NDArray[np.float64]


def empty_counts(n_units: int, n_lower: int, n_upper: int) -> UnitCounts:
    """Counts of some upper units before the first row."""
    shapes = ((n_units, n_lower), (n_units, n_lower), (n_units, n_upper))
    return UnitCounts(*(np.zeros(shape, np.int32) for shape in shapes))


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
        self._data = (
            Csr(upper.indptr, upper.indices),
            Csr(by_unit.indptr, by_unit.indices),
            Csr(lower.indptr, lower.indices),
            with_parent,
        )

    def scores(self, workers: Workers) -> Iterator[Scores]:
        """Yield blocks of upper units, from the first on."""
        for first, counts in self._blocks(workers):
            yield Scores(first, self.score(first, counts, workers))

    def _blocks(self, workers: Workers) -> Iterator[tuple[int, UnitCounts]]:
        """Blocks of upper units: the first one, and the counts."""
        for first, last in chunks(self.n_upper, UNITS_PER_BLOCK):
            counts = empty_counts(last - first, self.n_lower, self.n_upper)
            self.count(first, counts, workers)
            yield first, counts

    def count(self, first: int, counts: UnitCounts, workers: Workers) -> None:
        """Add the rows of these layers to the counts of the units from ``first`` on."""

        def serve(part: tuple[int, int]) -> None:
            own = UnitCounts(*(array[slice(*part)] for array in counts))
            count_units(first + part[0], *self._data, own)

        for _ in workers.map(serve, chunks(counts.both.shape[0], UNITS_PER_CHUNK)):
            pass


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
