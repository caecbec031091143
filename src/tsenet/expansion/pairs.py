"""Two neighbouring layers of completed data: the information between their units (paper §4)."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray
from scipy.special import entr

from tsenet._system.threads import Workers, chunks
from tsenet.data.rows import BinaryRows
from tsenet.expansion import _cmi_kernels
from tsenet.expansion._cmi_kernels import TwoLayers
from tsenet.skeleton.kernels.pair_kernels import Csr

UNITS_PER_CHUNK = 16
UNITS_PER_BLOCK = 128  # scores of so many upper units with all lower ones are in memory at a time


class LayerPair:
    """Completed data of an upper and a lower layer, and the tree between them.

    Parameters
    ----------
    upper, lower : BinaryRows
        N rows of U and of D units.
    parent : int32 (D,)
        The tree parent of each lower unit among the upper ones, −1 if it has none.
    """

    def __init__(self, upper: BinaryRows, lower: BinaryRows, parent: NDArray[np.int32]) -> None:
        self.upper = upper
        self.lower = lower
        self.parent = parent
        self.n_rows = upper.n_rows
        self.n_upper, self.n_lower = upper.n_columns, lower.n_columns
        self.by_unit = upper.transpose()
        self.upper_on = np.diff(self.by_unit.indptr)
        self.lower_on = lower.counts()
        self.with_parent = self._with_parent()
        n = np.arange(self.n_rows + 1, dtype=np.float64)
        self.xlogx = n * np.log(np.maximum(n, 1.0))

    def _with_parent(self) -> NDArray[np.bool_]:
        """For each entry of the lower rows, whether its parent is on in that row: (nnz,)."""
        answer = np.empty(self.lower.nnz, np.bool_)
        for start, stop in chunks(self.n_rows, 8192):
            part = slice(self.lower.indptr[start], self.lower.indptr[stop])
            dense = self.upper.take(slice(start, stop)).to_dense()
            row = np.repeat(np.arange(stop - start), np.diff(self.lower.indptr[start : stop + 1]))
            above = self.parent[self.lower.indices[part]]
            answer[part] = dense[row, above] & (above >= 0)
        return answer

    def scores(self, workers: Workers) -> Iterator[tuple[int, NDArray[np.float64]]]:
        """Yield blocks (first unit, N·I(unit; x | parent of x) as (B, D)); −1 where x is the unit's own child."""
        lower_parent = np.bincount(
            self.lower.indices, weights=self.with_parent, minlength=self.n_lower
        ).astype(np.int64)
        data = TwoLayers(
            Csr(self.upper.indptr, self.upper.indices),
            Csr(self.by_unit.indptr, self.by_unit.indices),
            Csr(self.lower.indptr, self.lower.indices),
            self.with_parent,
            self.parent,
            self.upper_on,
            self.lower_on,
            lower_parent,
            self.xlogx,
        )

        for first, last in chunks(self.n_upper, UNITS_PER_BLOCK):
            score = np.empty((last - first, self.n_lower))

            def serve(
                part: tuple[int, int], first: int = first, score: NDArray[np.float64] = score
            ) -> None:
                start, stop = part
                _cmi_kernels.score_units(first + start, first + stop, data, score[start:stop])

            for _ in workers.map(serve, chunks(last - first, UNITS_PER_CHUNK)):
                pass
            yield first, score

    def upper_entropy(self) -> NDArray[np.float64]:
        """Entropy of each upper unit in nats: (U,)."""
        share = self.upper_on / self.n_rows
        return np.asarray(entr(share) + entr(1.0 - share))

    def log_odds(
        self, indptr: NDArray[np.int64], indices: NDArray[np.int32], workers: Workers
    ) -> NDArray[np.float64]:
        """Log odds ratio of the two ends of each link, half a row added to each cell: (E,)."""
        joint = np.empty(indices.size, np.int64)
        columns = Csr(self.by_unit.indptr, self.by_unit.indices)
        lower = Csr(self.lower.indptr, self.lower.indices)
        links = Csr(indptr, indices)

        def serve(part: tuple[int, int]) -> None:
            _cmi_kernels.count_links(*part, columns, lower, links, self.n_lower, joint)

        for _ in workers.map(serve, chunks(self.n_upper, UNITS_PER_CHUNK)):
            pass
        above = np.repeat(self.upper_on, np.diff(indptr))
        below = self.lower_on[indices]
        cells = (joint, self.n_rows - above - below + joint, above - joint, below - joint)
        both, neither, only_above, only_below = (np.log(cell + 0.5) for cell in cells)
        return np.asarray(both + neither - only_above - only_below)
