"""Rows of a table in memory, and their pieces."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import numpy as np
from numpy.typing import NDArray

from tsenet.data.binary import BinaryRule
from tsenet.data.rows import BinaryRows
from tsenet.data.table import Table
from tsenet.skeleton.passes import LengthSums, Passes, Pieces
from tsenet.skeleton.pieces import cut_into_pieces

__all__ = ["PiecesInMemory", "RowsInMemory"]


class RowsInMemory(Passes):
    """Rows of a table in memory."""

    def __init__(self, table: Table) -> None:
        self._rule = BinaryRule.learn(table)
        self._is_sparse = table.is_sparse
        self._rows = self.rule.apply(table)

    @property
    def rule(self) -> BinaryRule:
        """How the table's columns become binary variables."""
        return self._rule

    @property
    def is_sparse(self) -> bool:
        """Whether the table is sparse."""
        return self._is_sparse

    @property
    def n_rows(self) -> int:
        """Number of rows N."""
        return self._rows.n_rows

    def lengths(self) -> LengthSums:
        """How many variables are on in the rows."""
        return LengthSums.of(np.diff(self._rows.indptr))

    def counts(self) -> NDArray[np.int64]:
        """In how many rows each variable is on: (V,)."""
        return self._rows.counts()

    def take(self, numbers: NDArray[np.int64]) -> BinaryRows:
        """Some rows, ascending."""
        return self._rows.take(numbers)

    def pieces(self, size: int | None, key: int) -> Pieces:
        """All rows, long ones cut."""
        return PiecesInMemory(cut_into_pieces(self._rows, size, key))


class PiecesInMemory(Pieces):
    """Pieces in memory."""

    def __init__(self, rows: BinaryRows) -> None:
        self._rows = rows
        self.n_rows, self.n_columns = rows.shape

    def rows(self) -> BinaryRows:
        """All pieces."""
        return self._rows

    def batches(
        self, numbers: Iterable[NDArray[np.int64]]
    ) -> Iterator[tuple[BinaryRows, NDArray[np.int64]]]:
        """All pieces, with the numbers as they are."""
        return ((self._rows, batch) for batch in numbers)
