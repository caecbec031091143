"""Chow–Liu tree over a layer's latents (paper §3.1; Chow & Liu 1968)."""

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
