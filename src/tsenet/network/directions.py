"""Local principal directions: of each latent, the leading ones of the columns it is linked to."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array
from threadpoolctl import threadpool_limits

from tsenet._system.threads import Workers, chunks, chunks_of_equal_work
from tsenet.network.batches import is_bag
from tsenet.network.kernels import block_kernels, direction_kernels
from tsenet.network.kernels import group_kernels as groups
from tsenet.network.links import BlockLinks, Links

__all__ = ["leading_directions"]

Float32 = NDArray[np.float32]

_MORE = 2  # directions sought beyond those asked for: the others then converge sooner
_ROUNDS = 6  # of the iteration
_CHUNK_ROWS = 256
_CHUNK_LINKS = 20_000
_SMALL = 256  # columns of which all directions are computed
# Least variance of a direction, as a share of that of the latent's first. Columns that add up to a constant, as those
# of a category do, or that repeat each other have directions of next to no variance: scaled to deviation 1, a unit
# along one would respond with millions to the first row that breaks the relation.
_LEAST_VARIANCE = 1e-4


def leading_directions(
    blocks: BlockLinks,
    below: Float32 | csr_array,
    from_tree: NDArray[np.bool_],
    seed: int = 0,
    n_jobs: int | None = None,
) -> Float32:
    """Weights of a sparse layer: unit j of a latent has the j-th principal direction of the columns it reads.

    Directions have length 1. Those with next to no variance beside the latent's first are left out. Where
    a latent has more units than directions, the next units have the opposite directions, then random mixtures.

    Parameters
    ----------
    blocks : BlockLinks
        The layer.
    below : ndarray or csr_array, (n, D · k_in)
        Rows of what it reads. They are centred; sparse rows without negative values are scaled to length 1 first.
    from_tree : ndarray of bool, (E,)
        Whether a link is part of the tree, unit by unit: the weights of these have a positive sum (or those of all
        links, if there are none).
    seed : int, default=0
        Of the first guess of the iteration, and of random directions.
    n_jobs : int or None, default=None
        Threads; results do not depend on it.

    Returns
    -------
    ndarray of float32, (E · k_in · k_out,)
    """
    links = blocks.latents.expanded(blocks.k_in, 1)  # from units to latents
    with Workers(n_jobs) as workers:
        if isinstance(below, np.ndarray):
            weight = _of_dense_rows(links, below, blocks.k_out, workers)
        else:
            weight = _of_sparse_rows(links, below, blocks.k_out, seed, workers)
    signs = np.repeat(
        from_tree, blocks.k_in
    )  # by unit; the units of a lower latent lie side by side
    weight = _with_signs(links, weight, signs)
    _fill(links, weight, np.random.default_rng(seed))
    return weight.reshape(-1)


def _with_signs(links: Links, weight: Float32, from_tree: NDArray[np.bool_]) -> Float32:
    """The weights (E, k) times −1 where those of the tree's links have a negative sum."""
    by_unit, own = weight[links.unit_link].astype(np.float64), links.upper_ends()
    sums = np.zeros((2, links.n_units, weight.shape[1]))
    np.add.at(sums[0], own[from_tree], by_unit[from_tree])
    np.add.at(sums[1], own, by_unit)
    total = np.where(np.abs(sums[0]) > 1e-12, sums[0], sums[1])
    sign = np.where(total < 0, -1.0, 1.0)
    return (weight * sign[links.in_unit]).astype(np.float32)


def _fill(links: Links, weight: Float32, generator: np.random.Generator) -> None:
    """Give the units beyond a latent's number of directions weights too: without any they would never learn.

    A rectifier passes one side of a direction only, so the opposite ones come first.
    """
    k = weight.shape[1]
    n_links = np.diff(links.unit_start)
    n_found = np.zeros((links.n_units, k), bool)
    np.logical_or.at(n_found, links.in_unit, weight != 0)
    n_directions = n_found.sum(axis=1)
    for u in np.flatnonzero((n_directions < k) & (n_directions > 0) & (n_links > 0)):
        own = links.unit_link[links.unit_start[u] : links.unit_start[u + 1]]
        n = n_directions[u]
        mixture = generator.standard_normal((n, k))
        mixture /= np.linalg.norm(mixture, axis=0)
        opposite = min(2 * n, k)
        weight[own, n:opposite] = -weight[own, : opposite - n]
        weight[own, opposite:] = weight[own, :n] @ mixture[:, opposite:]


# ---- dense rows: latent by latent


def _of_dense_rows(links: Links, below: Float32, k: int, workers: Workers) -> Float32:
    weight = np.zeros((links.n_links, k), np.float32)
    centred = np.ascontiguousarray((below - below.mean(axis=0, dtype=np.float64)).T, np.float32)

    def fill(part: tuple[int, int]) -> None:
        for u in range(*part):
            own = slice(int(links.unit_start[u]), int(links.unit_start[u + 1]))
            found = _directions_of(centred[links.unit_input[own]], k)
            weight[links.unit_link[own], : found.shape[1]] = found

    work = np.diff(links.unit_start) + 1
    parts = chunks_of_equal_work(work, max(1, int(work.sum()) // 64))
    with threadpool_limits(1, "blas"):  # the workers use the cores
        for _ in workers.map(fill, parts):
            pass
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


def _of_sparse_rows(links: Links, below: csr_array, k: int, seed: int, workers: Workers) -> Float32:
    """Subspace iteration: W ← the part of Xᵀ(X W) at the links, its columns made orthonormal within each latent."""
    rows = _SparseRows(below)
    n_sought = k + _MORE
    generator = np.random.default_rng(seed)
    weight = generator.standard_normal((links.n_links, n_sought), np.float32)
    by_unit = links.unit_start, links.unit_link
    direction_kernels.orthonormalise(*by_unit, weight)
    for _ in range(_ROUNDS):
        weight = rows.product(links, weight, workers)
        direction_kernels.orthonormalise(*by_unit, weight)
    spread = np.empty((links.n_units, n_sought, n_sought))
    direction_kernels.inner_products(*by_unit, weight, rows.product(links, weight, workers), spread)
    variance, vectors = np.linalg.eigh((spread + spread.transpose(0, 2, 1)) / 2)
    vectors *= _is_kept(variance)[:, None, :]
    found = np.empty((links.n_links, k), np.float32)
    rotation = np.ascontiguousarray(vectors[:, :, ::-1][:, :, :k])
    direction_kernels.rotate(*by_unit, rotation, weight, found)
    return found


class _SparseRows:
    """Sparse rows, of length 1 if they have no negative values, in chunks by row and by column."""

    def __init__(self, below: csr_array) -> None:
        values = csr_array(below, dtype=np.float32)
        if is_bag(values):
            length = np.sqrt(np.asarray(values.multiply(values).sum(axis=1)).ravel())
            scale = np.divide(1.0, length, out=np.zeros_like(length), where=length > 0)
            data = values.data * np.repeat(scale, np.diff(values.indptr))
            values = csr_array(
                (data.astype(np.float32), values.indices, values.indptr), shape=values.shape
            )
        self.mean = np.asarray(values.mean(axis=0), np.float32).ravel()
        self.n_rows, self.n_columns = values.shape
        self.row_start = values.indptr.astype(np.int64)
        self.columns = values.indices.astype(np.uint32)
        self.values = values.data
        self.parts = [self._by_column(*part) for part in chunks(self.n_rows, _CHUNK_ROWS)]

    def _by_column(
        self, first: int, last: int
    ) -> tuple[int, int, tuple[NDArray[Any], NDArray[Any], NDArray[Any]]]:
        start, stop = self.row_start[first], self.row_start[last]
        columns, values = self.columns[start:stop], self.values[start:stop]
        column_start = np.zeros(self.n_columns + 1, np.uint32)
        column_rows, column_values = np.empty(columns.size, np.uint32), np.empty_like(values)
        own = self.row_start[first : last + 1] - start
        groups.transpose_batch(own, columns, values, column_start, column_rows, column_values)
        return first, last, (column_start, column_rows, column_values)

    def product(self, links: Links, weight: Float32, workers: Workers) -> Float32:
        """The part of XᵀX W at the links, X centred: (E, K)."""
        k = weight.shape[1]
        faces, flat = (0,) * k, weight.reshape(-1)
        bias = np.empty((1, links.n_units * k), np.float32)
        every = np.arange(self.n_columns, dtype=np.uint32)
        block_kernels.rows_forward(
            0,
            1,
            np.array([0, self.n_columns]),
            every,
            -self.mean,
            links.in_start,
            links.in_unit,
            flat,
            faces,
            np.zeros_like(bias[0]),
            bias,
        )
        total = np.zeros_like(flat)
        parts = chunks_of_equal_work(np.diff(links.in_start).astype(np.int64) + 1, _CHUNK_LINKS)
        for first, last, by_column in self.parts:
            out = np.empty((last - first, links.n_units * k), np.float32)
            self._forward(first, last, links, flat, faces, bias[0], out, workers)

            def add(part: tuple[int, int], by_column: Any = by_column, out: Float32 = out) -> None:
                own = slice(int(links.in_start[part[0]]) * k, int(links.in_start[part[1]]) * k)
                gradient = np.empty(own.stop - own.start, np.float32)
                start, rows, values = by_column
                block_kernels.rows_weight_gradient(
                    part[0],
                    part[1],
                    start,
                    rows,
                    values,
                    links.in_start,
                    links.in_unit,
                    faces,
                    out,
                    gradient,
                )
                total[own] += gradient

            for _ in workers.map(add, parts):
                pass
        return total.reshape(weight.shape)

    def _forward(
        self,
        first: int,
        last: int,
        links: Links,
        flat: Float32,
        faces: tuple[int, ...],
        bias: Float32,
        out: Float32,
        workers: Workers,
    ) -> None:
        """Fill ``out`` with X W and the bias."""
        row_start = self.row_start[first : last + 1]

        def add(part: tuple[int, int]) -> None:
            block_kernels.rows_forward(
                *part,
                row_start,
                self.columns,
                self.values,
                links.in_start,
                links.in_unit,
                flat,
                faces,
                bias,
                out,
            )

        for _ in workers.map(add, chunks(last - first, 64)):
            pass
