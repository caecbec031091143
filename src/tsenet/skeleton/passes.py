"""What learning a tree asks of all rows: passes over them, and some rows in memory.

:class:`~tsenet.skeleton.rows_in_memory.RowsInMemory` answers from an array. ``tsenet.scale`` answers from a folder of
shards, with the same bits: counts are whole numbers, and all sums of fractions run over rows that are in memory.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from tsenet._system.threads import Workers
from tsenet.data.binary import BinaryRule
from tsenet.data.rows import BinaryRows

if TYPE_CHECKING:
    from tsenet.progress import Progress
    from tsenet.skeleton.information import PairCounter, PairInformation
    from tsenet.skeleton.tree import LatentTree

__all__ = ["LengthSums", "Passes", "Pieces", "RowsOutsideMemory"]


class LengthSums(NamedTuple):
    """Rows, variables that are on in them, and the sum of the squares of how many are on in each row."""

    n_rows: int
    total: int
    squares: int

    @classmethod
    def of(cls, lengths: NDArray[np.int64]) -> LengthSums:
        """Sum the lengths of rows (N,)."""
        return cls(lengths.size, int(lengths.sum()), int(lengths @ lengths))

    def __add__(self, other: Any) -> LengthSums:
        """The sums over the rows of both."""
        return LengthSums(*(a + b for a, b in zip(self, other, strict=True)))


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
    """A table as the structure stages see it: binary rows that may be elsewhere."""

    @property
    @abstractmethod
    def rule(self) -> BinaryRule:
        """How the table's columns become binary variables."""

    @property
    @abstractmethod
    def is_sparse(self) -> bool:
        """Whether the table is sparse."""

    @property
    @abstractmethod
    def n_rows(self) -> int:
        """Number of rows N."""

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

    def prepare(self, structure_samples: int | None, progress: Progress) -> None:
        """Make ready for learning a tree; an error here comes before any work."""
        return

    def information(
        self,
        counter: PairCounter,
        chosen: NDArray[np.int64] | None,
        cut: tuple[int | None, int],
        n_partners: int,
        workers: Workers,
        progress: Progress,
    ) -> PairInformation:
        """Each variable's best partners in the pieces of the ``chosen`` rows (None: all), which ``counter`` holds.

        ``cut`` is the size of pieces and the seed of cutting, as for :meth:`pieces`.
        """
        from tsenet.skeleton.information import pair_information

        return pair_information(counter, n_partners, workers, progress)


class RowsOutsideMemory(Passes):
    """Rows that a fitted tree is asked about, and expanded by, in passes too."""

    @abstractmethod
    def paired_layers(self, tree: LatentTree, progress: Progress) -> Iterator[Any]:
        """For each level of a tree, from the first up, the counts that its expansion needs."""

    @abstractmethod
    def log_likelihood(self, tree: LatentTree) -> NDArray[np.float64]:
        """Exact ln P(x) of every row: (N,)."""

    @abstractmethod
    def posteriors(self, tree: LatentTree) -> Iterator[NDArray[np.float64]]:
        """P(z=1|x) of every latent in every row, as blocks of rows."""
