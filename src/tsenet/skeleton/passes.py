"""What learning a tree asks of all rows: passes over them, and some rows in memory.

:class:`RowsInMemory` answers from an array. ``tsenet.scale`` answers from a folder of shards, with the same bits:
counts are whole numbers, and all sums of fractions run over rows that are in memory.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from tsenet._system.checkpoint_file import digest_of
from tsenet._system.threads import Workers
from tsenet.data.binary import BinaryRule
from tsenet.data.rows import BinaryRows
from tsenet.data.table import Table
from tsenet.skeleton.pieces import LengthSums, cut_into_pieces

if TYPE_CHECKING:
    from tsenet.progress import Progress
    from tsenet.skeleton.information import PairCounter, PairInformation

__all__ = ["Passes", "Pieces", "PiecesInMemory", "RowsInMemory"]


class Pieces(ABC):
    """All rows, with long ones cut into pieces: ``n_rows`` pieces of ``n_columns`` variables."""

    n_rows: int
    n_columns: int

    @abstractmethod
    def rows(self) -> BinaryRows:
        """All pieces in memory."""

    @abstractmethod
    def batches(
        self, numbers: Iterable[NDArray[np.int64]]
    ) -> Iterator[tuple[BinaryRows, NDArray[np.int64]]]:
        """For each list of pieces, ascending, yield rows and where among them these pieces are."""


class Passes(ABC):
    """A table as the structure stages see it: binary rows that may be elsewhere.

    Attributes
    ----------
    rule : BinaryRule
        How the table's columns become binary variables.
    is_sparse : bool
        Whether the table is sparse.
    n_rows, n_columns : int
        Rows and binary variables.
    """

    rule: BinaryRule
    is_sparse: bool
    n_rows: int

    @property
    def n_columns(self) -> int:
        """Number of binary variables."""
        return self.rule.n_variables

    @abstractmethod
    def lengths(self) -> LengthSums:
        """How many variables are on in the rows."""

    @abstractmethod
    def counts(self) -> NDArray[np.int64]:
        """In how many rows each variable is on: (V,)."""

    @abstractmethod
    def take(self, numbers: NDArray[np.int64]) -> BinaryRows:
        """Some rows, ascending, in memory."""

    @abstractmethod
    def pieces(self, size: int | None, key: int) -> Pieces:
        """All rows, those with more than ``size`` variables on cut as :mod:`tsenet.skeleton.pieces` describes."""

    @abstractmethod
    def digest(self) -> str:
        """Identify the rows."""

    def prepare(self, structure_samples: int | None, progress: Progress) -> None:
        """Make ready for learning a tree; an error here comes before any work."""
        return

    def information(
        self,
        counter: PairCounter,
        chosen: NDArray[np.int64] | None,
        n_partners: int,
        workers: Workers,
        progress: Progress,
    ) -> PairInformation:
        """Each variable's best partners in the pieces of the ``chosen`` rows (None: all), which ``counter`` holds."""
        from tsenet.skeleton.information import pair_information

        return pair_information(counter, n_partners, workers, progress)

    def paired_layers(self, tree: Any) -> Iterator[Any]:
        """For each level of a tree, from the first up, the counts that its expansion needs."""
        raise NotImplementedError


class RowsInMemory(Passes):
    """Rows of a table in memory."""

    def __init__(self, table: Table) -> None:
        self.rule = BinaryRule.learn(table)
        self.is_sparse = table.is_sparse
        self._rows = self.rule.apply(table)
        self.n_rows = self._rows.n_rows

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

    def digest(self) -> str:
        """Identify the rows."""
        return digest_of(self._rows.indptr, self._rows.indices)


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
