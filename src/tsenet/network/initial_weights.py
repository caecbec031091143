"""Initial weights of a network: random, log-odds of latents, or principal directions. No other module sets them."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np
import torch
from numpy.typing import NDArray
from scipy.sparse import csr_array

from tsenet._system.threads import blas_threads, chunks
from tsenet.data.directions import gram, strongest_directions
from tsenet.data.scaling import unit_rows
from tsenet.errors import DataError
from tsenet.network import kernels
from tsenet.network.inputs import Inputs, is_bag, kernel_rows
from tsenet.network.predictor import activated
from tsenet.network.sparse_linear import SparseLinear
from tsenet.network.topology import Links

if TYPE_CHECKING:
    from tsenet.network.tsenet import DenseGroup, TSENet

Float32 = NDArray[np.float32]

_ROWS = 1024  # at a time
_SAMPLE = 16_384  # rows that give a unit's mean and deviation
_FEW = 8_192  # sparse rows that give principal directions
_FEW_DENSE = 2_048  # dense ones
_LEAST = 0.3  # deviation that is scaled up to 1, as a share of the largest of the latent's units
_MOST = 15  # times the median size of a level's weights, the largest weight of dense rows

_MORE = 2  # directions sought beyond those asked for: the others then converge sooner
_ROUNDS = 6  # of the iteration
_CHUNK_ROWS = 256
_SMALL = 256  # columns of which all directions are computed
# Least variance of a direction, as a share of that of the latent's first. Columns that add up to a constant, as those
# of a category do, or that repeat each other have directions of next to no variance: scaled to deviation 1, a unit
# along one would respond with millions to the first row that breaks the relation.
_LEAST_VARIANCE = 1e-4


def draw_weights(net: TSENet, seed: int) -> None:
    """Draw all weights of a network uniformly by He's rule; biases are 0, and the linear skip stays.

    A unit of a sparse layer counts its own links.
    """
    generator = torch.Generator().manual_seed(seed)
    for layer in net.layers:
        links = layer.links
        n_links = np.bincount(links.latent, minlength=links.n_latents)
        fan_in = torch.from_numpy(np.maximum(n_links, 1)).to(layer.weight.dtype)
        bound = math.sqrt(6.0) / fan_in.sqrt()  # (latents,)
        latent_of_weight = np.repeat(links.latent, links.k).astype(np.int64)
        _draw(layer, bound[latent_of_weight], generator)

    for group in (*net.skips.values(), net.top, net.output):
        fan_in = max(1, group.weight.shape[0])
        _draw(group, math.sqrt(6.0 / fan_in), generator)


@torch.no_grad()
def _draw(
    layer: SparseLinear | DenseGroup, bound: torch.Tensor | float, generator: torch.Generator
) -> None:
    """Draw weights between −bound and bound; biases are 0."""
    weight = layer.weight
    drawn = torch.rand(weight.shape, generator=generator, dtype=weight.dtype) * 2 - 1
    weight.copy_(drawn * bound)
    layer.bias.zero_()


# ---- log-odds


def set_log_odds(net: TSENet, inputs: Inputs) -> None:
    """Start each unit as the probability of its latent given what it reads, p(h|x) (paper §5): its links get log-odds.

    The weight of a link is its ``log_odds`` in the wiring, then units get mean 0 and deviation 1 before their
    non-linearity. The other weights stay.

    Parameters
    ----------
    net : TSENet
        With one unit for each latent; several would all be the same.
    inputs : Inputs
        Rows (N, D), labelled or not, from which means and deviations are computed; at most 16,384 are used.

    Raises
    ------
    DataError
        If the wiring has no log-odds.
    """
    if not net.wiring.has_log_odds:
        raise DataError(
            'init="log-odds" needs a wiring with log-odds: make it with tsenet.expand(..., log_odds=True), or take '
            'that of a network that was fitted with init="log-odds"'
        )

    sample = inputs.evenly_spaced(_SAMPLE)
    for k, (layer, links) in enumerate(zip(net.layers, net.wiring.layers, strict=True), start=1):
        assert links.log_odds is not None
        weight = links.log_odds[layer.links.link_of_weight()]
        with torch.no_grad():
            layer.weight.copy_(torch.from_numpy(weight))
        _standardise(net, inputs, sample, k)


# ---- principal directions


def set_principal_directions(net: TSENet, inputs: Inputs, seed: int = 0) -> None:
    """Give the units of each latent the leading principal directions of what it reads.

    Units get mean 0 and deviation 1 before their non-linearity; the other weights stay.

    Directions are those of the centred rows; rows of sparse non-negative values are scaled to length 1 first. The sign
    is such that the weights of the latent's children in the tree have a positive sum. Levels above the first follow the
    activations of the level below.

    Parameters
    ----------
    net : TSENet
    inputs : Inputs
        Rows (N, D), labelled or not. Directions need at most 8,192 sparse or 2,048 dense ones, means 16,384.
    seed : int, default=0
        Of the first guess of the iteration.
    """
    sample = inputs.evenly_spaced(_SAMPLE)
    few = inputs.evenly_spaced(_FEW_DENSE)
    for k, (layer, links) in enumerate(zip(net.layers, net.wiring.layers, strict=True), start=1):
        # Rows of what the level reads.
        if k > 1:
            sums = net.predictor().level_sums(inputs.values[few], k - 1)
            below = activated(sums, net.options.activation)
        elif inputs.is_sparse:
            below = inputs.values[inputs.evenly_spaced(_FEW)]
        else:
            below = inputs.values[few]

        weight = leading_directions(layer.links, below, links.from_tree, seed)
        with torch.no_grad():
            layer.weight.copy_(torch.from_numpy(weight))
        _standardise(net, inputs, sample, k)


def _standardise(net: TSENet, inputs: Inputs, sample: NDArray[np.int64], k: int) -> None:
    """Give the units of level k mean 0 and deviation 1 before their non-linearity; constant ones get weights 0.

    A unit that varies far less than another one of its latent is scaled up little more than that one, and a unit of
    dense rows never so far that a weight stands out: rounding must not become a signal, nor a rare category's weight
    a thousand.
    """
    layer = list(net.layers)[k - 1]
    weight = layer.weight.detach().numpy()
    bias = layer.bias.detach().numpy()
    unit = layer.links.unit_of_weight()
    bias[:] = 0
    mean, deviation = _moments(net, inputs, sample, k)  # (U,) each

    largest_of_latent = deviation.reshape(-1, net.units_per_latent).max(axis=1)
    least = _LEAST * np.repeat(largest_of_latent, net.units_per_latent)
    scale = np.zeros_like(deviation)
    np.divide(1.0, np.maximum(deviation, least), out=scale, where=deviation > 1e-9)

    if not inputs.is_sparse:
        size = np.abs(weight)
        largest = np.zeros(scale.size)
        np.maximum.at(largest, unit, size)
        bound = _MOST * np.median(scale[unit] * size)
        scale = np.where(scale * largest > bound, bound / np.maximum(largest, 1e-300), scale)

    weight *= scale[unit].astype(weight.dtype)
    bias[:] = -mean * scale


def _moments(
    net: TSENet, inputs: Inputs, sample: NDArray[np.int64], k: int
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Mean and deviation of the sums that go into the non-linearity of level k: (units,) each."""
    total: NDArray[np.float64] | float = 0.0
    square: NDArray[np.float64] | float = 0.0
    predictor = net.predictor()
    for start in range(0, sample.size, _ROWS):
        rows = inputs.values[sample[start : start + _ROWS]]
        z = predictor.level_sums(rows, k).astype(np.float64)  # (B, U)
        total = total + z.sum(axis=0)
        square = square + np.square(z).sum(axis=0)

    mean = np.asarray(total / sample.size)
    return mean, np.sqrt(np.maximum(square / sample.size - mean**2, 0.0))


def leading_directions(
    links: Links, below: Float32 | csr_array, from_tree: NDArray[np.bool_], seed: int = 0
) -> Float32:
    """Weights of a sparse layer: unit j of a latent has the j-th principal direction of the columns it reads.

    Directions have length 1. Those with next to no variance relative to the latent's first are left out. Where
    a latent has more units than directions, the next units have the opposite directions, then random mixtures.

    Parameters
    ----------
    links : Links
        The layer.
    below : ndarray or csr_array, (n, inputs)
        Rows of what it reads. They are centred; sparse rows without negative values are scaled to length 1 first.
    from_tree : ndarray of bool
        Whether each link of the wiring's layer is part of the tree: the weights of these have a positive sum (or those
        of all links, if the latent has none).
    seed : int, default=0
        Of the first guess of the iteration, and of random directions.

    Returns
    -------
    ndarray of float32, (E · k,)
    """
    with blas_threads(1):  # small products
        if isinstance(below, np.ndarray):
            weight = _of_dense_rows(links, below)
        else:
            weight = _of_sparse_rows(links, below, seed)

    weight *= _signs(links, weight, from_tree[links.link])
    _fill(links, weight, np.random.default_rng(seed))
    return weight.reshape(-1)


def _signs(links: Links, weight: Float32, from_tree: NDArray[np.bool_]) -> Float32:
    """−1 where the weights (E, k) of a unit's links in the tree have a negative sum, else 1: (E, k)."""
    of_tree = np.zeros((links.n_latents, weight.shape[1]))
    np.add.at(of_tree, links.latent[from_tree], weight[from_tree])
    of_all = np.zeros_like(of_tree)
    np.add.at(of_all, links.latent, weight)

    total = np.where(np.abs(of_tree) > 1e-12, of_tree, of_all)
    sign = np.where(total < 0, np.float32(-1), np.float32(1))
    return sign[links.latent]


def _fill(links: Links, weight: Float32, generator: np.random.Generator) -> None:
    """Give the units beyond a latent's number of directions weights too: without any they would never learn.

    A rectifier passes one side of a direction only, so the opposite ones come first.
    """
    k = weight.shape[1]
    start, _, place = links.by_latent
    has_weights = np.zeros((links.n_latents, k), bool)
    np.logical_or.at(has_weights, links.latent, weight != 0)
    n_directions = has_weights.sum(axis=1)

    for u in np.flatnonzero((n_directions < k) & (n_directions > 0)):
        of_latent = place[start[u] : start[u + 1]]
        n = n_directions[u]
        mixture = generator.standard_normal((n, k))
        mixture /= np.linalg.norm(mixture, axis=0)

        opposite = min(2 * n, k)
        weight[of_latent, n:opposite] = -weight[of_latent, : opposite - n]
        weight[of_latent, opposite:] = weight[of_latent, :n] @ mixture[:, opposite:]


# ---- dense rows: latent by latent


def _of_dense_rows(links: Links, below: Float32) -> Float32:
    """Directions of the columns (n, inputs) that each latent reads: (E, k)."""
    centred = below - below.mean(axis=0, dtype=np.float64)
    columns = np.ascontiguousarray(centred.T, np.float32)  # (inputs, n)

    weight = np.zeros((links.latent.size, links.k), np.float32)
    start, read, place = links.by_latent
    for u in range(links.n_latents):
        of_latent = slice(start[u], start[u + 1])
        directions = _directions_of(columns[read[of_latent]], links.k)
        weight[place[of_latent], : directions.shape[1]] = directions
    return weight


def _directions_of(columns: Float32, k: int) -> NDArray[np.float64]:
    """Leading directions (m, at most k) of centred columns (m, n), most variance first."""
    m, n = columns.shape
    if m == 0:
        return np.zeros((0, 0))

    if m <= _SMALL:
        variance, vectors = np.linalg.eigh(gram(columns.T))
    else:
        n_sought = min(k + _MORE, m, n)
        guess = np.random.default_rng(0).standard_normal((m, n_sought)).astype(np.float32)
        variance, vectors = strongest_directions(columns.T, guess, _ROUNDS)

    kept = vectors[:, _is_kept(variance)]
    return np.asarray(kept[:, ::-1][:, :k])


def _is_kept(variance: NDArray[np.float64]) -> NDArray[np.bool_]:
    """Whether directions of some variances (…, k), ascending, vary enough relative to the last."""
    most: NDArray[np.float64] = variance[..., -1:]
    return np.asarray((variance >= _LEAST_VARIANCE * most) & (most > 0))


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
        """The columns (E, K) made orthonormal within each latent; those of no length become 0."""
        size, vectors = np.linalg.eigh(inner_products(weight, weight))
        size = np.where(size > 1e-10 * size[:, -1:], size, np.inf)
        return rotated(weight, vectors / np.sqrt(size)[:, None, :])

    generator = np.random.default_rng(seed)
    drawn = generator.standard_normal((place.size, links.k + _MORE), np.float32)
    weight = orthonormal(drawn)
    for _ in range(_ROUNDS):
        weight = orthonormal(_product(links, rows, mean, weight))

    # The directions of most variance within the space that the columns span.
    spread = inner_products(weight, _product(links, rows, mean, weight))
    variance, vectors = np.linalg.eigh((spread + spread.transpose(0, 2, 1)) / 2)
    vectors *= _is_kept(variance)[:, None, :]
    strongest_first = vectors[:, :, ::-1][:, :, : links.k]
    return rotated(weight, strongest_first)


def _unit_rows(below: csr_array) -> tuple[csr_array, Float32]:
    """Sparse rows, scaled to length 1 if they have no negative values, and their mean."""
    rows = csr_array(below, dtype=np.float32)
    if is_bag(rows):
        rows = unit_rows(rows)
    return rows, np.asarray(rows.mean(axis=0), np.float32).ravel()


def _product(links: Links, rows: csr_array, mean: Float32, weight: Float32) -> Float32:
    """The part of XᵀX W at the links, X centred: (E, K)."""
    k = weight.shape[1]

    # X is centred by a bias: what the row −mean makes of the weights.
    minus_mean = (np.array([0, mean.size]), np.arange(mean.size, dtype=np.int32), -mean)
    zeros = np.zeros(links.n_latents * k, np.float32)
    bias = np.zeros((zeros.size, 1), np.float32)
    kernels.rows_forward(minus_mean, links.by_input, weight, zeros, bias)

    total = np.zeros_like(weight)
    row_start, indices, values = kernel_rows(rows)
    for first, last in chunks(rows.shape[0], _CHUNK_ROWS):
        of_chunk = (row_start[first : last + 1], indices, values)
        out = np.empty((bias.size, last - first), np.float32)
        kernels.rows_forward(of_chunk, links.by_input, weight, bias[:, 0], out)
        kernels.rows_backward(of_chunk, links.by_input, out, total)
    return total
