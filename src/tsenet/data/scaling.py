"""Scaling: the columns of a table brought to the size a network learns well from."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from tsenet.data.table import Table

__all__ = ["Scaling"]

_BLOCK = 1 << 22
Floats = npt.NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Scaling:
    """``(value − shift) · scale``, column by column; learned once, from the training rows.

    Attributes
    ----------
    shift : float64 (V,), or (0,) if zeros must stay zeros
    scale : float64 (V,), or (1,) for one factor for all columns
    counts : bool
        Whether values are counts: then ``(1 + ln value) · scale``, and all rows brought to the same length.
    """

    shift: Floats
    scale: Floats
    counts: bool = False

    @classmethod
    def learn(cls, table: Table) -> Scaling:
        """Dense columns to mean 0 and deviation 1, categories left alone; sparse values to RMS 1.

        The root mean square of a sparse table counts its zeros too: it is what the sum over a unit's links feels.
        Counts, as of words, become tf-idf; other sparse values are multiplied by one factor.
        """
        if table.is_sparse and _are_counts(table.values):
            n_with = np.bincount(table.values.indices, minlength=table.n_columns)
            return cls(np.empty(0), 1.0 + np.log((1.0 + table.n_rows) / (1.0 + n_with)), True)
        if table.is_sparse:
            square = float(np.square(table.values.data, dtype=np.float64).sum())
            mean_square = square / (table.n_rows * table.n_columns)
            return cls(np.empty(0), np.array([mean_square**-0.5 if mean_square > 0 else 1.0]))
        shift = sum(block.sum(axis=0) for block in _blocks(table.values)) / table.n_rows
        square = sum(np.square(block - shift).sum(axis=0) for block in _blocks(table.values))
        deviation = np.sqrt(square / table.n_rows)
        # A column that varies by rounding alone is constant.
        varies = deviation > 1e-12 * np.maximum(1.0, np.abs(shift))
        scale = np.divide(1.0, deviation, out=np.ones_like(deviation), where=varies)
        category = np.array([levels is not None for levels in table.levels])
        return cls(np.where(category, 0.0, shift), np.where(category, 1.0, scale))

    @property
    def centres(self) -> bool:
        """Whether zeros do not stay zeros, so that a sparse table would become dense."""
        return self.shift.size > 0

    def apply(self, table: Table) -> Table:
        """Return the table scaled, as float32; sparse rows become dense ones if this centres."""
        values = table.values
        if table.is_sparse and not self.centres:
            data = self._of_row_entries(values)
            scaled: Any = sp.csr_array((data, values.indices, values.indptr), shape=values.shape)
        else:
            scaled = np.empty(table.shape, np.float32)
            start = 0
            for block in _blocks(values):
                scaled[start : start + len(block)] = self._of_rows(block)
                start += len(block)
        return Table(scaled, table.names, table.levels, table.named)

    def _of_rows(self, block: Floats) -> Floats:
        """Dense rows (n, V), scaled."""
        if not self.counts:
            return np.asarray((block - self.shift if self.centres else block) * self.scale)
        weighted = _damped(block) * self.scale
        return weighted * self._factors(np.square(weighted).sum(axis=1))[:, None]

    def _of_row_entries(self, values: Any) -> npt.NDArray[np.float32]:
        """The entries of sparse rows, scaled."""
        if not self.counts:
            return np.asarray(values.data * self.scale[0], np.float32)
        weighted = _damped(values.data.astype(np.float64)) * self.scale[values.indices]
        row = np.repeat(np.arange(values.shape[0]), np.diff(values.indptr))
        squares = np.bincount(row, np.square(weighted), values.shape[0]).astype(np.float64)
        return np.asarray(weighted * self._factors(squares)[row], np.float32)

    def _factors(self, squares: Floats) -> Floats:
        """What brings rows to length √V, so that their root mean square is 1; empty rows stay empty: (n,)."""
        n_columns = self.scale.size
        return np.sqrt(np.divide(n_columns, squares, out=np.zeros_like(squares), where=squares > 0))

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Scaling):
            return NotImplemented
        return (
            np.array_equal(self.shift, other.shift)
            and np.array_equal(self.scale, other.scale)
            and self.counts == other.counts
        )

    __hash__ = None  # type: ignore[assignment]  # holds arrays; Python spells "unhashable" so


def _are_counts(values: Any) -> bool:
    """Whether sparse rows look like bags of words: whole numbers from 0 on, and rows of different sums.

    Rows that all sum to the same are columns of categories, of which none should weigh more for being rare.
    """
    data = values.data
    if not data.size or data.min() < 0 or not np.array_equal(data, np.floor(data)):
        return False
    sums = np.asarray(values.sum(axis=1)).ravel()
    return bool((sums != sums[0]).any())


def _damped(values: Floats) -> Floats:
    """A word's tenth occurrence says less than its first: 1 + ln, from 1 on."""
    return np.where(values > 1, 1.0 + np.log(np.maximum(values, 1.0)), values)


def _blocks(values: Any) -> Iterator[Floats]:
    """The rows as float64, a block at a time."""
    step = max(1, _BLOCK // values.shape[1])
    for start in range(0, values.shape[0], step):
        block = values[start : start + step]
        yield (block.toarray() if sp.issparse(block) else np.asarray(block)).astype(np.float64)
