"""`Inputs`, the rows of a table as a network reads them, and batches of them, dense or sparse."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from tsenet.data.binary import BinaryRule
from tsenet.data.table import Table

if TYPE_CHECKING:
    import torch


class SparseBatch(NamedTuple):
    """B sparse rows: row i has ``values[k]`` at ``columns[k]``, k in ``row_start[i]:row_start[i + 1]``."""

    row_start: torch.Tensor  # int64 (B + 1,)
    columns: torch.Tensor  # int64 (nnz,)
    values: torch.Tensor  # float (nnz,)
    n_columns: int

    @property
    def n_rows(self) -> int:
        """Number of rows B."""
        return int(self.row_start.numel()) - 1

    @property
    def device(self) -> torch.device:
        """Where the values live."""
        return self.values.device

    def to(self, device: Any) -> SparseBatch:
        """Return the batch on another device."""
        start, columns, values = (part.to(device) for part in self[:3])
        return SparseBatch(start, columns, values, self.n_columns)

    def row_numbers(self) -> torch.Tensor:
        """Row of each value: (nnz,)."""
        import torch

        rows = torch.arange(self.n_rows, device=self.device)
        return torch.repeat_interleave(rows, self.row_start.diff(), output_size=self.values.numel())


Batch: TypeAlias = "torch.Tensor | SparseBatch"


@dataclass(frozen=True)
class Inputs:
    """All rows of a table as a network reads them: the original values in float32; categories one-hot.

    ``values`` is an (N, D) array or CSR matrix with int32 or int64 indices; D is the wiring's number of inputs.
    """

    values: NDArray[np.float32] | csr_array

    @classmethod
    def of(cls, table: Table, rule: BinaryRule) -> Inputs:
        """Make inputs of a table with the rule's columns: one input for each of the rule's variables."""
        rule.check_columns(table)
        values = table.values
        if rule.levels.count(None) == len(rule.levels):
            read = values if values.dtype == np.float32 else values.astype(np.float32)
        else:
            # one-hot columns are right already
            read = rule.apply(table).to_dense().astype(np.float32)
            numeric = np.array([rule.levels[source] is None for source in rule.sources])
            read[:, numeric] = values[:, rule.sources[numeric]]
        if isinstance(read, np.ndarray) and np.isnan(read).any():
            read = np.where(
                np.isnan(read), np.float32(0), read
            )  # a missing value is read as the mean
        return cls(read)

    def __len__(self) -> int:
        return int(self.values.shape[0])

    @property
    def n_columns(self) -> int:
        """Number of inputs D."""
        return int(self.values.shape[1])

    @property
    def is_sparse(self) -> bool:
        """Whether batches are sparse."""
        return not isinstance(self.values, np.ndarray)

    def batch(
        self, rows: NDArray[np.int64] | None = None, dropout: float = 0.0, key: int = 0
    ) -> Batch:
        """Return some rows, in the order asked for, or all; with dropout a share of the values is 0.

        The others are enlarged, so that sums stay as large on average. The ``key`` chooses the values.
        """
        import torch

        chosen = self.values if rows is None else _rows_of(self.values, rows)
        if dropout > 0:
            values = chosen if isinstance(chosen, np.ndarray) else chosen.data
            chance = np.random.default_rng(key).random(values.shape, np.float32)
            factor = values.dtype.type(1.0 / (1.0 - dropout))
            dropped = np.where(chance < dropout, values.dtype.type(0), values * factor)
            chosen = (
                dropped
                if isinstance(chosen, np.ndarray)
                else csr_array((dropped, chosen.indices, chosen.indptr), shape=chosen.shape)
            )
        if isinstance(chosen, np.ndarray):
            return torch.from_numpy(chosen)
        return SparseBatch(
            torch.from_numpy(chosen.indptr.astype(np.int64)),
            torch.from_numpy(chosen.indices.astype(np.int64)),
            torch.from_numpy(chosen.data),
            self.n_columns,
        )


def _rows_of(
    values: NDArray[np.float32] | csr_array, rows: NDArray[np.int64]
) -> NDArray[np.float32] | csr_array:
    """``values[rows]``; of a CSR matrix without scipy's checks, which take longer than the copies of a batch."""
    if isinstance(values, np.ndarray):
        return values[rows]
    start = values.indptr[rows].astype(np.int64)
    size = values.indptr[rows + 1] - start
    indptr = np.concatenate([[0], np.cumsum(size)])
    place = np.arange(indptr[-1]) + np.repeat(start - indptr[:-1], size)
    parts = values.data[place], values.indices[place], indptr
    return csr_array(parts, shape=(rows.size, values.shape[1]))


def is_bag(values: NDArray[np.float32] | csr_array) -> bool:
    """Whether rows are sparse and have no negative value, as bags of words are."""
    return not isinstance(values, np.ndarray) and bool((values.data >= 0).all())
