"""Mutual information of binary variables, and the tree that has most of it (paper §3.1; Chow & Liu 1968)."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array
from scipy.sparse.csgraph import breadth_first_order, minimum_spanning_tree
from scipy.special import xlogy

from tsenet.errors import DataError

# This is the only step that needs all pairs of latents; a top layer is meant to be small.
MAX_LATENTS = 10_000


def binary_information(
    both: NDArray[np.float64], first: NDArray[np.float64], second: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Mutual information in nats of binary pairs, from P(both on), P(first on) and P(second on); they broadcast."""
    total = np.zeros(np.broadcast_shapes(both.shape, first.shape, second.shape))
    cells = (both, first - both, second - both, 1.0 - first - second + both)
    for cell in cells:
        total += xlogy(np.maximum(cell, 0.0), np.maximum(cell, 0.0))  # rounding may leave −1e−17
    for margin in (first, second):
        total -= xlogy(margin, margin) + xlogy(1.0 - margin, 1.0 - margin)
    return np.maximum(total, 0.0)


def counted_information(
    n_both: NDArray[np.int64],
    n_first: NDArray[np.int64],
    n_second: NDArray[np.int64],
    n_rows: NDArray[np.int64],
    n_log_n: NDArray[np.float64],
) -> NDArray[np.float64]:
    """N · mutual information in nats of binary pairs, from the rows in which both, the first and the second are on.

    Parameters
    ----------
    n_both, n_first, n_second, n_rows : int64, of one shape
        ``n_rows`` is N, which may differ from pair to pair.
    n_log_n : float64, (at least N + 1,)
        Of :func:`n_log_n`: a look-up is several times faster than a logarithm.

    Returns
    -------
    float64
        Rounding may leave it slightly below 0.
    """
    f = n_log_n.take
    n_neither = n_rows - n_first - n_second + n_both
    # N·I = Σ_cells n ln n − Σ_margins n ln n + N ln N. Cells are added crosswise, so that swapping the states of a
    # variable changes no bit of the sum.
    cells = (f(n_both) + f(n_neither)) + (f(n_first - n_both) + f(n_second - n_both))
    first = f(n_first) + f(n_rows - n_first)
    second = f(n_second) + f(n_rows - n_second)
    return np.asarray(cells + (f(n_rows) - first - second))


def n_log_n(n_rows: int) -> NDArray[np.float64]:
    """n·ln n of every number of rows up to ``n_rows``: (N + 1,)."""
    n = np.arange(n_rows + 1, dtype=np.float64)
    return np.asarray(n * np.log(np.maximum(n, 1.0)))


def chow_liu_parents(information: NDArray[np.float64]) -> NDArray[np.int32]:
    """Maximum spanning tree of an (L, L) matrix of mutual information, as parents; −1 is the root.

    The root is the latent with the largest sum of information with the others. Links without information are left out,
    so that there may be several trees.
    """
    n = information.shape[0]
    if n > MAX_LATENTS:
        raise DataError(
            f"the top layer has {n} latents, more than {MAX_LATENTS}: their Chow-Liu tree would need "
            f"{n}×{n} numbers; the data show too little structure, or max_top is too large"
        )

    # scipy finds a minimum spanning tree and ignores zeros: turn information into strictly positive costs.
    cost = information.max() - information + 1.0
    np.fill_diagonal(cost, 0.0)
    tree = minimum_spanning_tree(csr_array(cost))
    root = int(np.argmax(information.sum(axis=1) - np.diagonal(information)))
    _, parents = breadth_first_order(tree, root, directed=False)
    parents[root] = -1
    tied = information[np.arange(n), parents] > 0.0
    return np.where(tied, parents, -1).astype(np.int32)
