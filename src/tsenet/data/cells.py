"""Vectors of rows as binary variables: near which of a few hundred centres each of them is.

Documents of few words share hardly any. What an encoder knows of them reaches the learner of topics as hidden words: a
document has the cells that its vector is nearest to, beside its own words.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from tsenet.data.binary import BinaryRows
from tsenet.data.ranks import top_of_rows
from tsenet.data.scaling import unit_rows
from tsenet.data.table import equal_fields
from tsenet.errors import DataError, count_of

_MOST_CELLS = 300
_ROWS_OF_A_CELL = 20
_NEAREST = 4  # cells of a row, at most a quarter of all: more would hardly tell rows apart
_LEARNED_ROWS_OF_A_CELL = 50  # of which centres are learned; more cost time and hardly move them
_MOST_PASSES = 10
# Of the vectors that centres are learned from, this share is not far from all of them. A twentieth of others of their
# kind is, as centres are fitted to them.
_NEAR = 0.99
_BLOCK_ROWS = 4096

Floats = npt.NDArray[np.float32]


@dataclass(frozen=True, eq=False)
class Cells:
    """Centres of vectors; each row is in the cells of the nearest ones.

    Attributes
    ----------
    centres : float32 (C, d)
    radius : float
        Vectors are of another kind if their squared distance from the nearest centre is larger.

    Examples
    --------
    >>> import numpy as np
    >>> from tsenet.data import BinaryRows
    >>> from tsenet.data.cells import Cells
    >>> cells = Cells(np.array([[1, 0], [0, 1]], np.float32), radius=0.5)
    >>> rows = BinaryRows.of_dense([[1, 0, 0], [0, 1, 1]])
    >>> cells.beside(rows, np.array([[0, 2], [0, 0]], np.float32)).to_dense().astype(int).tolist()
    [[1, 0, 0, 0, 1], [0, 1, 1, 0, 0]]
    >>> cells.distances(np.array([[0, 2], [-3, 0]], np.float32)).tolist()
    [0.0, 2.0]
    """

    centres: Floats
    radius: float

    __eq__ = equal_fields
    __hash__ = None  # type: ignore[assignment]  # holds an array, so it is not hashable

    @property
    def n_cells(self) -> int:
        """Number of cells C."""
        return len(self.centres)

    @classmethod
    def learn(cls, vectors: Floats) -> Self:
        """Find the centres by k-means of vectors of length 1. Nothing is random: the seed is fixed.

        Parameters
        ----------
        vectors : float32 (N, d)
        """
        import warnings

        from sklearn.cluster import KMeans
        from sklearn.exceptions import ConvergenceWarning
        from threadpoolctl import threadpool_limits

        n_cells = int(np.clip(len(vectors) // _ROWS_OF_A_CELL, 1, _MOST_CELLS))
        step = max(1, len(vectors) // (n_cells * _LEARNED_ROWS_OF_A_CELL))
        sample = unit_rows(vectors[::step])
        means = KMeans(n_cells, init="random", n_init=1, max_iter=_MOST_PASSES, random_state=0)
        # sums must not depend on threads
        with threadpool_limits(1), warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)  # of fewer different vectors
            means.fit(sample)
        centres = np.unique(means.cluster_centers_, axis=0).astype(np.float32)
        distances = cls(centres, 0.0).distances(sample)
        has_vector = ~np.isnan(distances)
        radius = np.quantile(distances[has_vector], _NEAR) if has_vector.any() else 0.0
        return cls(centres, float(radius))

    def beside(self, rows: BinaryRows, vectors: Floats | None) -> BinaryRows:
        """Rows with the cells of their vectors as further columns; a vector of zeros is in none.

        Parameters
        ----------
        rows : BinaryRows
            N rows of V variables.
        vectors : float32 (N, d) or None
            None: no row is in a cell.

        Returns
        -------
        BinaryRows
            N rows of V + C variables.
        """
        if vectors is None:
            return BinaryRows(rows.indptr, rows.indices, rows.n_columns + self.n_cells)
        blocks = [self._one_hot(block) for block in _blocks(vectors)]
        cells = sp.vstack(blocks) if blocks else sp.csr_array((0, self.n_cells), dtype=np.uint8)
        return BinaryRows.of_csr(sp.hstack([rows.to_csr(), cells], format="csr"))

    def distances(self, vectors: Floats) -> Floats:
        """Squared distance of each vector, made as long as 1, from the nearest centre; NaN for zeros: (N,).

        Parameters
        ----------
        vectors : float32 (N, d)
        """
        near = [self._nearness(block).max(axis=1) for block in _blocks(vectors)]
        distances = np.maximum(1.0 - 2.0 * np.concatenate([np.empty(0, np.float32), *near]), 0.0)
        return np.where(vectors.any(axis=1), distances, np.float32(np.nan))

    def _nearness(self, vectors: Floats) -> Floats:
        """How near each vector is to each centre: x · c − |c|²/2, as |x − c|² = |x|² − 2 (x · c − |c|²/2): (N, C)."""
        if vectors.shape[1] != self.centres.shape[1]:
            raise DataError(
                f"embeddings of {count_of(vectors.shape[1], 'number')} a row were given, but the model was learned "
                f"with {self.centres.shape[1]:,}: take the same encoder"
            )
        near: Floats = unit_rows(vectors) @ self.centres.T - (self.centres**2).sum(axis=1) / 2
        return near

    def _one_hot(self, vectors: Floats) -> Any:
        """The cells of each vector: csr_array (N, C)."""
        n_nearest = int(np.clip(self.n_cells // 4, 1, _NEAREST))
        nearest = top_of_rows(self._nearness(vectors), n_nearest)  # (N, K)

        has_vector = np.flatnonzero(vectors.any(axis=1))
        row = np.repeat(has_vector, n_nearest)
        column = nearest[has_vector].ravel()
        ones = np.ones(column.size, np.uint8)
        return sp.csr_array((ones, (row, column)), shape=(len(vectors), self.n_cells))


def _blocks(vectors: Floats) -> Iterator[Floats]:
    """Parts of vectors, so that their distances to all centres fit into memory."""
    for start in range(0, len(vectors), _BLOCK_ROWS):
        yield vectors[start : start + _BLOCK_ROWS]
