"""The directions along which rows vary most, by subspace iteration (Halko, Martinsson and Tropp 2011)."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import lu

Floats = NDArray[np.float64]


def strongest_directions(
    rows: Any, guess: NDArray[np.float32], n_rounds: int
) -> tuple[Floats, Floats]:
    """The strongest right singular directions of rows, about.

    Parameters
    ----------
    rows : float32 array or csr_array (N, D)
        Rows, centred if it is to be their variance.
    guess : float32 (D, K)
        Random columns. Some more than the directions that are needed make these more exact.
    n_rounds : int
        Products with the rows.

    Returns
    -------
    float64 (K,), float64 (D, K)
        Squares of the singular values, ascending, and the directions: orthonormal columns.
    """
    basis: NDArray[Any] = guess
    for k in range(1, n_rounds + 1):
        basis = rows.T @ (rows @ basis)
        if k < n_rounds:  # keeps the columns apart, in a tenth of the time of orthonormal ones
            basis = lu(basis, permute_l=True, overwrite_a=True, check_finite=False)[0]
    basis = np.linalg.qr(basis)[0]

    # The directions within the space that the basis spans.
    squares, rotation = np.linalg.eigh(gram(rows @ basis))
    return squares, basis @ rotation


def gram(columns: NDArray[Any]) -> Floats:
    """Inner products of columns, (K, K) from (N, K), in double precision."""
    wide = columns.astype(np.float64)
    return np.asarray(wide.T @ wide)
