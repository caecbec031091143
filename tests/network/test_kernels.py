"""The kernels of sparse layers against dense products in NumPy."""

from __future__ import annotations

from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.sparse import csr_array

from tests.network.wirings import layer_of, random_mask
from tsenet.network import kernels
from tsenet.network.topology import Links

Floats = NDArray[np.float64]


class Layer(NamedTuple):
    """Links of a layer with random weights, and the same weights as a matrix (units, inputs)."""

    links: Links
    weight: Floats  # (E, k)
    dense: Floats  # (units, inputs)
    bias: Floats  # (units,)

    def of_weights(self, dense: Floats) -> Floats:
        """The entries of a matrix (units, inputs) that belong to weights: (E, k)."""
        links = self.links
        entries = dense[links.unit_of_weight(), links.input_of_weight()]
        return entries.reshape(self.weight.shape)


# a latent of one or several units; sizes beyond a tile of 16 rows and a sum of four; nothing at all
@pytest.fixture(params=[(7, 5, 1, 0.5), (40, 9, 3, 0.7), (6, 4, 2, 0.0), (9, 3, 2, 1.0)])
def layer(request: pytest.FixtureRequest) -> Layer:
    n_inputs, n_latents, k, density = request.param
    rng = np.random.default_rng(0)
    links = Links.of(layer_of(random_mask(rng, n_latents, n_inputs, density)), k=k)
    weight = rng.normal(size=(links.n_weights // k, k))
    dense = np.zeros((links.n_units, n_inputs))
    dense[links.unit_of_weight(), links.input_of_weight()] = weight.ravel()
    return Layer(links, weight, dense, rng.normal(size=links.n_units))


@pytest.fixture(params=[0, 1, 35])
def rows(request: pytest.FixtureRequest, layer: Layer) -> Floats:
    """Rows (B, inputs) with many zeros."""
    rng = np.random.default_rng(1)
    shape = (request.param, layer.links.n_inputs)
    return rng.normal(size=shape) * (rng.random(shape) < 0.4)


def sparse(rows: Floats) -> tuple[NDArray[Any], ...]:
    matrix = csr_array(rows)
    return matrix.indptr.astype(np.int64), matrix.indices, matrix.data


def test_sums_of_sparse_rows(layer: Layer, rows: Floats) -> None:
    out = np.full((layer.links.n_units, len(rows)), np.nan)
    kernels.rows_forward(sparse(rows), layer.links.by_input, layer.weight, layer.bias, out)
    np.testing.assert_allclose(out, layer.dense @ rows.T + layer.bias[:, None], atol=1e-12)


@pytest.mark.parametrize("k", [1, 2, 3])
def test_activations_of_the_second_of_two_levels(k: int) -> None:
    rng = np.random.default_rng(3)
    sizes = (30, 11, 4)
    masks = [random_mask(rng, up, low, 0.3) for low, up in pairwise(sizes)]
    lower, upper = (
        Links.of(layer_of(mask), k_in, k) for mask, k_in in zip(masks, (1, k), strict=True)
    )
    weights = [rng.normal(size=(links.n_weights // k, k)) for links in (lower, upper)]
    biases = [rng.normal(size=links.n_units) for links in (lower, upper)]
    rows = rng.normal(size=(35, sizes[0])) * (rng.random((35, sizes[0])) < 0.2)
    rows[::5] = 0
    first, second = (
        links.matrix(weight) for links, weight in zip((lower, upper), weights, strict=True)
    )
    active = np.maximum(rows @ first + biases[0], 0)
    at_rest = np.maximum(biases[0], 0) @ second + biases[1]

    out = np.full((len(rows), upper.n_units), np.nan)
    parts = (*lower.by_input, weights[0], biases[0]), (*upper.by_input, weights[1], at_rest)
    kernels.two_levels_forward(sparse(rows), *parts, (0,) * k, out)

    np.testing.assert_allclose(out, np.maximum(active @ second + biases[1], 0), atol=1e-12)


def test_sums_of_units_below(layer: Layer, rows: Floats) -> None:
    out = np.full((layer.links.n_units, len(rows)), np.nan)
    below = np.ascontiguousarray(rows.T)
    kernels.units_forward(layer.links.by_latent, layer.weight, layer.bias, below, out)
    np.testing.assert_allclose(out, layer.dense @ below + layer.bias[:, None], atol=1e-12)


def test_gradients_by_sparse_rows_are_added(layer: Layer, rows: Floats) -> None:
    delta = np.random.default_rng(2).normal(size=(layer.links.n_units, len(rows)))
    gradient = np.ones_like(layer.weight)
    kernels.rows_backward(sparse(rows), layer.links.by_input, delta, gradient)
    np.testing.assert_allclose(gradient, 1.0 + layer.of_weights(delta @ rows), atol=1e-12)


def test_gradients_by_units_below(layer: Layer, rows: Floats) -> None:
    delta = np.random.default_rng(2).normal(size=(layer.links.n_units, len(rows)))
    below = np.ascontiguousarray(rows.T)
    gradient, moved = np.full_like(layer.weight, np.nan), np.ones_like(below)
    kernels.units_backward(
        layer.links.by_latent, layer.weight, below, delta, gradient, below_gradient=moved
    )
    np.testing.assert_allclose(gradient, layer.of_weights(delta @ rows), atol=1e-12)
    np.testing.assert_allclose(moved, 1.0 + layer.dense.T @ delta, atol=1e-12)


@pytest.mark.parametrize("dropped", [False, True])
def test_rectified_and_dropped(dropped: bool) -> None:
    rng = np.random.default_rng(0)
    z, above = rng.normal(size=(2, 5, 30))
    numbers = rng.integers(256, size=z.shape, dtype=np.uint8)
    kept = (numbers >= 64) if dropped else np.ones(z.shape, bool)
    scale = 256 / 192 if dropped else 1.0
    active, delta = z.copy(), np.full_like(z, np.nan)
    kernels.activate(numbers if dropped else numbers[:0], 64, scale, active)
    np.testing.assert_allclose(active, np.maximum(z, 0.0) * kept * scale)
    kernels.activate_backward(scale, active, above, delta)
    np.testing.assert_allclose(delta, above * scale * (kept & (z > 0)))


def test_a_missing_number_stays_missing() -> None:
    z = np.array([[np.nan, -1.0, 2.0]])
    kernels.activate(np.zeros((0, 3), np.uint8), 0, 1.0, z)
    np.testing.assert_array_equal(z, [[np.nan, 0.0, 2.0]])
