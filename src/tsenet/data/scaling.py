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


@dataclass(frozen=True, eq=False)
class Scaling:
    """``(value − shift) · scale``, column by column; learned once, from the training rows.

    Attributes
    ----------
    shift : float64 (V,), or (0,) if zeros must stay zeros
    scale : float64 (V,), or (1,) for one factor for all columns
    """

    shift: npt.NDArray[np.float64]
    scale: npt.NDArray[np.float64]

    @classmethod
    def learn(cls, table: Table) -> Scaling:
        """Dense columns to mean 0 and deviation 1, categories left alone; sparse values by one factor to RMS 1.

        The root mean square of a sparse table counts its zeros too: it is what the sum over a unit's links feels.
        """
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
            data = (values.data * self.scale[0]).astype(np.float32)
            scaled: Any = sp.csr_array((data, values.indices, values.indptr), shape=values.shape)
        else:
            scaled = np.empty(table.shape, np.float32)
            shift = self.shift if self.centres else 0.0
            start = 0
            for block in _blocks(values):
                scaled[start : start + len(block)] = (block - shift) * self.scale
                start += len(block)
        return Table(scaled, table.names, table.levels, table.named)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Scaling):
            return NotImplemented
        return np.array_equal(self.shift, other.shift) and np.array_equal(self.scale, other.scale)

    __hash__ = None  # type: ignore[assignment]  # holds arrays; Python spells "unhashable" so


def _blocks(values: Any) -> Iterator[npt.NDArray[np.float64]]:
    """The rows as float64, a block at a time."""
    step = max(1, _BLOCK // values.shape[1])
    for start in range(0, values.shape[0], step):
        block = values[start : start + step]
        yield (block.toarray() if sp.issparse(block) else np.asarray(block)).astype(np.float64)
