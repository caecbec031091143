"""Local principal directions: of each latent, the leading ones of the columns it is linked to."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array
from threadpoolctl import threadpool_limits

from tsenet._system.threads import chunks
from tsenet.network import kernels
from tsenet.network.batches import is_bag
from tsenet.network.links import Links

__all__ = ["leading_directions"]

Float32 = NDArray[np.float32]

_MORE = 2  # directions sought beyond those asked for: the others then converge sooner
_ROUNDS = 6  # of the iteration
_CHUNK_ROWS = 256
_SMALL = 256  # columns of which all directions are computed
# Least variance of a direction, as a share of that of the latent's first. Columns that add up to a constant, as those
# of a category do, or that repeat each other have directions of next to no variance: scaled to deviation 1, a unit
# along one would respond with millions to the first row that breaks the relation.
_LEAST_VARIANCE = 1e-4


def leading_directions(
    links: Links, below: Float32 | csr_array, from_tree: NDArray[np.bool_], seed: int = 0
) -> Float32:
    """Weights of a sparse layer: unit j of a latent has the j-th principal direction of the columns it reads.

    Directions have length 1. Those with next to no variance beside the latent's first are left out. Where
    a latent has more units than directions, the next units have the opposite directions, then random mixtures.

    Parameters
    ----------
    links : Links
        The layer.
    below : ndarray or csr_array, (n, inputs)
        Rows of what it reads. They are centred; sparse rows without negative values are scaled to length 1 first.
    from_tree : ndarray of bool
        Whether each link of the wiring's layer is part of the tree: the weights of these have a positive sum (or those
        of all links, if there are none).
    seed : int, default=0
        Of the first guess of the iteration, and of random directions.

    Returns
    -------
    ndarray of float32, (E · k,)
    """
    with threadpool_limits(1, "blas"):  # small products
        weight = (
            _of_dense_rows(links, below)
            if isinstance(below, np.ndarray)
            else _of_sparse_rows(links, below, seed)
        )
    weight *= _signs(links, weight, from_tree[links.link])
    _fill(links, weight, np.random.default_rng(seed))
    return weight.reshape(-1)


def _signs(links: Links, weight: Float32, from_tree: NDArray[np.bool_]) -> Float32:
    """−1 where the weights (E, k) of a unit's links in the tree have a negative sum, else 1: (E, k)."""
    sums = np.zeros((2, links.n_latents, weight.shape[1]))
    np.add.at(sums[0], links.latent[from_tree], weight[from_tree])
    np.add.at(sums[1], links.latent, weight)
    total = np.where(np.abs(sums[0]) > 1e-12, sums[0], sums[1])
    return np.where(total < 0, np.float32(-1), np.float32(1))[links.latent]


def _fill(links: Links, weight: Float32, generator: np.random.Generator) -> None:
    """Give the units beyond a latent's number of directions weights too: without any they would never learn.

    A rectifier passes one side of a direction only, so the opposite ones come first.
    """
    k = weight.shape[1]
    start, _, place = links.by_latent
    found = np.zeros((links.n_latents, k), bool)
    np.logical_or.at(found, links.latent, weight != 0)
    n_directions = found.sum(axis=1)
    for u in np.flatnonzero((n_directions < k) & (n_directions > 0)):
        own, n = place[start[u] : start[u + 1]], n_directions[u]
        mixture = generator.standard_normal((n, k))
        mixture /= np.linalg.norm(mixture, axis=0)
        opposite = min(2 * n, k)
        weight[own, n:opposite] = -weight[own, : opposite - n]
        weight[own, opposite:] = weight[own, :n] @ mixture[:, opposite:]


# ---- dense rows: latent by latent


def _of_dense_rows(links: Links, below: Float32) -> Float32:
    weight = np.zeros((links.latent.size, links.k), np.float32)
    centred = np.ascontiguousarray((below - below.mean(axis=0, dtype=np.float64)).T, np.float32)
    start, read, place = links.by_latent
    for u in range(links.n_latents):
        own = slice(start[u], start[u + 1])
        found = _directions_of(centred[read[own]], links.k)
        weight[place[own], : found.shape[1]] = found
    return weight


def _directions_of(columns: Float32, k: int) -> NDArray[np.float64]:
    """Leading directions (m, at most k) of centred columns (m, n), most variance first."""
    m, n = columns.shape
    if m == 0:
        return np.zeros((0, 0))
    if m <= _SMALL:
        variance, vectors = np.linalg.eigh(_gram(columns.T))
    else:
        n_sought = min(k + _MORE, m, n)
        found = np.random.default_rng(0).standard_normal((m, n_sought)).astype(np.float32)
        for _ in range(_ROUNDS):
            found = np.linalg.qr(columns @ (columns.T @ found))[0]
        variance, vectors = np.linalg.eigh(_gram(columns.T @ found))
        vectors = found @ vectors
    return np.asarray(vectors[:, _is_kept(variance)][:, ::-1][:, :k])


def _is_kept(variance: NDArray[np.float64]) -> NDArray[np.bool_]:
    """Whether directions of some variances (…, k), ascending, vary enough beside the last."""
    most: NDArray[np.float64] = variance[..., -1:]
    return np.asarray((variance >= _LEAST_VARIANCE * most) & (most > 0))


def _gram(columns: NDArray[Any]) -> NDArray[np.float64]:
    wide = columns.astype(np.float64)
    return np.asarray(wide.T @ wide)


# ---- sparse rows: all latents at once, by the kernels of a training step


def _of_sparse_rows(links: Links, below: csr_array, seed: int) -> Float32:
    """Subspace iteration: W ← the part of Xᵀ(X W) at the links, its columns made orthonormal within each latent."""
    rows, mean = _unit_rows(below)
    start, _, place = links.by_latent
    shape = (links.n_latents, place.size)
    by_latent = csr_array((np.ones(place.size), place, start), shape=shape)

    def inner_products(left: Float32, right: Float32) -> NDArray[np.float64]:
        """Of the columns (E, K) of both, latent by latent: (latents, K, K)."""
        outer = left.astype(np.float64)[:, :, None] * right[:, None, :]
        sums = by_latent @ outer.reshape(place.size, -1)
        return np.asarray(sums).reshape(links.n_latents, left.shape[1], right.shape[1])

    def rotated(weight: Float32, rotation: NDArray[np.float64]) -> Float32:
        """The columns (E, K) times the matrix of their latent."""
        return np.asarray(np.einsum("ej,ejk->ek", weight, rotation[links.latent]), np.float32)

    def orthonormal(weight: Float32) -> Float32:
        size, vectors = np.linalg.eigh(inner_products(weight, weight))
        size = np.where(size > 1e-10 * size[:, -1:], size, np.inf)
        return rotated(weight, vectors / np.sqrt(size)[:, None, :])

    generator = np.random.default_rng(seed)
    drawn = generator.standard_normal((place.size, links.k + _MORE), np.float32)
    weight = orthonormal(drawn)
    for _ in range(_ROUNDS):
        weight = orthonormal(_product(links, rows, mean, weight))
    spread = inner_products(weight, _product(links, rows, mean, weight))
    variance, vectors = np.linalg.eigh((spread + spread.transpose(0, 2, 1)) / 2)
    vectors *= _is_kept(variance)[:, None, :]
    return rotated(weight, vectors[:, :, ::-1][:, :, : links.k])


def _unit_rows(below: csr_array) -> tuple[csr_array, Float32]:
    """Sparse rows, scaled to length 1 if they have no negative values, and their mean."""
    rows = csr_array(below, dtype=np.float32)
    if is_bag(rows):
        length = np.sqrt(np.asarray(rows.multiply(rows).sum(axis=1)).ravel())
        scale = np.divide(1.0, length, out=np.zeros_like(length), where=length > 0)
        data = rows.data * np.repeat(scale, np.diff(rows.indptr))
        rows = csr_array((data.astype(np.float32), rows.indices, rows.indptr), shape=rows.shape)
    return rows, np.asarray(rows.mean(axis=0), np.float32).ravel()


def _product(links: Links, rows: csr_array, mean: Float32, weight: Float32) -> Float32:
    """The part of XᵀX W at the links, X centred: (E, K)."""
    k = weight.shape[1]
    linked = links.start, links.latent, weight
    columns = np.arange(mean.size, dtype=np.int32)
    bias = np.empty((1, links.n_latents * k), np.float32)
    whole = np.array([0, mean.size])
    kernels.rows_forward(whole, columns, -mean, *linked, np.zeros_like(bias[0]), bias)
    total, nothing = np.zeros_like(weight), np.empty(0, np.float32)
    indices, row_start = rows.indices.astype(np.int32), rows.indptr.astype(np.int64)
    for first, last in chunks(rows.shape[0], _CHUNK_ROWS):
        out = np.empty((last - first, bias.size), np.float32)
        own = row_start[first : last + 1], indices, rows.data
        kernels.rows_forward(*own, *linked, bias[0], out)
        kernels.rows_backward(*own, *linked, out, total, nothing)
    return total
