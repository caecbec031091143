"""Data completion: turn a layer's latents into observed variables for the next layer (paper §3.2).

A latent's posterior given its own group is the same for every row in which no member is on, so completing the data
costs the rows' non-zeros, not N · L.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array
from scipy.special import expit

from tsenet._system.threads import Workers, chunks
from tsenet.data.rows import BinaryRows
from tsenet.skeleton.kernels import completion_kernels
from tsenet.skeleton.kernels.pair_kernels import Csr

ROWS_PER_CHUNK = 8192


@dataclass(frozen=True)
class Layer:
    """A two-layer model: latents Y over the variables below, each variable under one latent (paper Figure 3c).

    Attributes
    ----------
    latent_of : int32 (V,)
        The latent above each variable, −1 for a variable in no group.
    prior : float64 (L,)
        P(Y=1).
    table : float64 (V, 2)
        P(x=1|Y=0) and P(x=1|Y=1).
    """

    latent_of: NDArray[np.int32]
    prior: NDArray[np.float64]
    table: NDArray[np.float64]

    @property
    def n_latents(self) -> int:
        """Number of latents L."""
        return int(self.prior.size)

    def weights(self) -> NDArray[np.float64]:
        """Change of a latent's log-odds when a variable is on instead of off: (V,)."""
        logit = np.log(self.table) - np.log1p(-self.table)
        return np.asarray(logit[:, 1] - logit[:, 0])

    def off_evidence(self) -> NDArray[np.float64]:
        """Contribution of a variable that is off to its latent's log-odds: (V,)."""
        off = np.log1p(-self.table)
        return np.asarray(off[:, 1] - off[:, 0])

    def base(self) -> NDArray[np.float64]:
        """Log-odds of each latent when all of its group is off: (L,)."""
        placed = self.latent_of >= 0
        all_off = np.bincount(
            self.latent_of[placed], weights=self.off_evidence()[placed], minlength=self.n_latents
        )
        return np.asarray(np.log(self.prior) - np.log1p(-self.prior) + all_off)


@dataclass(frozen=True)
class SoftRows:
    """Posteriors P(Y=1 | own group) of N rows × L latents, sparse around ``base``.

    Row i holds ``logodds[t]`` for latent ``latent[t]``, t in ``indptr[i]:indptr[i+1]``; every other latent has
    ``base``, also as log-odds.
    """

    indptr: NDArray[np.int64]
    latent: NDArray[np.int32]
    logodds: NDArray[np.float64]
    base: NDArray[np.float64]

    @property
    def n_rows(self) -> int:
        """Number of rows N."""
        return int(self.indptr.size) - 1

    def hard(self) -> BinaryRows:
        """The more probable state of every latent in every row."""
        flipped = np.flatnonzero(self.base > 0.0).astype(
            np.int32
        )  # on where all of their group is off
        indptr = np.empty(self.n_rows + 1, np.int64)
        nothing = np.empty(0, np.int32)
        completion_kernels.harden_rows(
            self.indptr, self.latent, self.logodds, flipped, indptr, nothing
        )
        indices = np.empty(indptr[-1], np.int32)
        completion_kernels.harden_rows(
            self.indptr, self.latent, self.logodds, flipped, indptr, indices
        )
        return BinaryRows(indptr, indices, self.base.size)

    def _changes(self) -> csr_array:
        """Posteriors less the base posterior: sparse (N, L)."""
        change = expit(self.logodds) - expit(self.base)[self.latent]
        return csr_array((change, self.latent, self.indptr), shape=(self.n_rows, self.base.size))

    def second_moments(self) -> NDArray[np.float64]:
        """Σ over rows of P(Y=1|d) · P(Y'=1|d): (L, L), from the entries that differ from base."""
        change = self._changes()
        base = expit(self.base)
        cross = np.outer(np.asarray(change.sum(axis=0)).ravel(), base)
        both: NDArray[np.float64] = (change.T @ change).toarray()
        return self.n_rows * np.outer(base, base) + cross + cross.T + both

    def means(self) -> NDArray[np.float64]:
        """Mean posterior of each latent: (L,)."""
        change = np.asarray(self._changes().sum(axis=0)).ravel()
        return np.asarray(expit(self.base) + change / self.n_rows)


def complete(rows: BinaryRows, layer: Layer, workers: Workers) -> SoftRows:
    """Soft completion of the data by one layer, O(nnz)."""
    base = layer.base()
    weight = layer.weights()
    latent = np.empty(rows.nnz, np.int32)
    logodds = np.empty(rows.nnz)
    size = np.empty(rows.n_rows, np.int64)
    by_row = Csr(rows.indptr, rows.indices)

    def serve(part: tuple[int, int]) -> None:
        completion_kernels.complete_rows(
            *part, by_row, layer.latent_of, weight, base, latent, logodds, size
        )

    for _ in workers.map(serve, chunks(rows.n_rows, ROWS_PER_CHUNK)):
        pass
    # A row with several members of one group fills fewer places than it has entries: close the gaps.
    indptr = np.concatenate([[0], np.cumsum(size)])
    closed_latent, closed_logodds = np.empty(indptr[-1], np.int32), np.empty(indptr[-1])
    completion_kernels.close_gaps(
        rows.indptr, indptr, latent, logodds, closed_latent, closed_logodds
    )
    return SoftRows(indptr, closed_latent, closed_logodds, base)
