"""`Inputs`: the rows of a table as a network reads them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from tsenet.data.binary import BinaryRule
from tsenet.data.table import Table

if TYPE_CHECKING:
    from tsenet.network.sparse_linear import Batch


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
        if rule.has_categories:  # one column of 0 and 1 for each level; numbers keep their values
            read = rule.apply(table).to_dense().astype(np.float32)
            is_number = np.array([rule.levels[source] is None for source in rule.sources])
            read[:, is_number] = values[:, rule.sources[is_number]]
        else:
            read = values if values.dtype == np.float32 else values.astype(np.float32)

        # A missing value is read as the mean.
        if isinstance(read, np.ndarray) and np.isnan(read).any():
            read = np.where(np.isnan(read), np.float32(0), read)
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

    def evenly_spaced(self, at_most: int) -> NDArray[np.int64]:
        """Numbers of at most so many rows, spread evenly over all."""
        n_rows = len(self)
        return np.unique(np.linspace(0, n_rows - 1, min(n_rows, at_most)).astype(np.int64))

    def take(
        self, rows: NDArray[np.int64] | None = None, dropout: float = 0.0, key: int = 0
    ) -> Any:
        """Return some rows, in the order asked for, or all, dense or CSR; with dropout a share of the values is 0.

        The others are enlarged, so that sums stay as large on average. The ``key`` chooses the values.
        """
        from tsenet.network.sparse_linear import DropoutMask

        chosen: Any = self.values if rows is None else self.values[rows]
        if not dropout:
            return chosen

        values = chosen.data if self.is_sparse else chosen
        drawn = DropoutMask(dropout, np.random.Generator(np.random.SFC64(key)))
        values = values * drawn.factors(values.shape)
        if not self.is_sparse:
            return values
        return csr_array((values, chosen.indices, chosen.indptr), shape=chosen.shape)

    def batch(self, rows: NDArray[np.int64] | None = None) -> Batch:
        """Return some rows, in the order asked for, or all, for torch."""
        from tsenet.network.sparse_linear import batch_of

        return batch_of(self.take(rows))


def is_bag(values: NDArray[np.float32] | csr_array) -> bool:
    """Whether rows are sparse and have no negative value, as bags of words are."""
    return not isinstance(values, np.ndarray) and bool((values.data >= 0).all())


def kernel_rows(rows: csr_array) -> tuple[NDArray[np.int64], NDArray[np.int32], NDArray[Any]]:
    """Sparse rows in the types that the kernels are compiled for: where each begins, columns and values."""
    return (
        rows.indptr.astype(np.int64, copy=False),
        rows.indices.astype(np.int32, copy=False),
        rows.data,
    )
