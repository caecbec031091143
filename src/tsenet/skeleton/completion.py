"""The model of one layer: latents over the variables below, and the data completed by it (paper §3.2).

A latent's posterior given its own group is the same for every row in which no member is on, so completing the data
costs the rows' non-zeros, not N · L.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array
from scipy.special import expit

from tsenet.data.binary import BinaryRows


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

    Attributes
    ----------
    logodds : csr_array (N, L)
        Log-odds of the latents with a member on in a row, in ascending order.
    base : float64 (L,)
        Log-odds of every other latent.
    """

    logodds: csr_array
    base: NDArray[np.float64]

    @property
    def n_rows(self) -> int:
        """Number of rows N."""
        return int(self.logodds.shape[0])

    def hard(self) -> BinaryRows:
        """The more probable state of every latent in every row."""
        base_is_on = self.base > 0.0
        on = self.logodds.copy()
        on.data = (on.data > 0.0).astype(np.int8) - base_is_on.astype(np.int8)[on.indices]

        # Latents that are on where all of their group is off: a column of ones, from which the entries above subtract.
        inverted = np.flatnonzero(base_is_on)
        if inverted.size:
            starts = np.arange(0, (self.n_rows + 1) * inverted.size, inverted.size)
            columns = np.tile(inverted, self.n_rows)
            ones = np.ones(columns.size, np.int8)
            on = on + csr_array((ones, columns, starts), shape=on.shape)
        return BinaryRows.of_csr(on)

    def moments(self) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Mean over rows of P(Y=1|d) · P(Y'=1|d) and of P(Y=1|d): (L, L) and (L,)."""
        # P = base + change, where change is sparse:
        # Σ P·P' = N · base·base' + Σ change · base' + base · Σ change' + Σ change·change'
        base = expit(self.base)  # (L,)
        change = self.logodds.copy()  # (N, L)
        change.data = expit(change.data) - base[change.indices]
        total = np.asarray(change.sum(axis=0)).ravel()
        cross = np.outer(total, base)
        squares: NDArray[np.float64] = (change.T @ change).toarray()
        both = self.n_rows * np.outer(base, base) + cross + cross.T + squares
        return both / self.n_rows, base + total / self.n_rows


def complete(rows: BinaryRows, layer: Layer) -> SoftRows:
    """Soft completion of the data by one layer, O(nnz)."""
    placed = np.flatnonzero(layer.latent_of >= 0)
    weights = csr_array(
        (layer.weights()[placed], (placed, layer.latent_of[placed])),
        shape=(rows.n_columns, layer.n_latents),
    )
    base = layer.base()
    logodds = rows.to_csr() @ weights  # (N, L)
    logodds.sort_indices()
    logodds.data += base[logodds.indices]
    return SoftRows(logodds, base)
