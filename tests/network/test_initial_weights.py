"""Initial weights: drawn by He's rule, log-odds of the links, or principal directions."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest
import torch
from numpy.typing import NDArray
from scipy.sparse import csr_array

from tests.network.wirings import layer_of, random_wiring, wiring
from tsenet.errors import DataError
from tsenet.expansion.wiring import Wiring, WiringLayer
from tsenet.network.initial_weights import (
    leading_directions,
    set_log_odds,
    set_principal_directions,
)
from tsenet.network.inputs import Inputs
from tsenet.network.topology import Links
from tsenet.network.tsenet import TSENet


def one_layer(mask: NDArray[np.bool_]) -> Wiring:
    n_units, n_inputs = mask.shape
    names = tuple(tuple(f"{k}.{j}" for j in range(n)) for k, n in enumerate((n_inputs, n_units)))
    return Wiring((layer_of(mask),), names, "random")


def test_links_are_drawn_uniformly_to_each_units_own_fan_in() -> None:
    """He's rule: U(−b, b) with b² = 6 / fan-in, hence variance 2 / fan-in."""
    fan_in = np.repeat([1, 4, 400, 1600], [400, 200, 4, 4])
    (layer,) = TSENet(one_layer(np.arange(1600) < fan_in[:, None]), 2).layers

    units = layer.links.unit_of_weight()
    scaled = layer.weight.detach().numpy() * np.sqrt(fan_in[units] / 6)
    assert (layer.bias == 0).all()
    for size in np.unique(fan_in):
        part = scaled[fan_in[units] == size]
        assert 0.98 < np.abs(part).max() <= 1
        assert abs(part.mean()) < 4 * math.sqrt(1 / 3 / part.size)
        assert part.var() == pytest.approx(1 / 3, abs=4 * math.sqrt(4 / 45 / part.size))


def test_weights_depend_on_the_seed_alone() -> None:
    torch.manual_seed(0)
    first = TSENet(wiring(), 3, seed=9).state_dict()
    torch.manual_seed(1)
    again, other = TSENet(wiring(), 3, seed=9).state_dict(), TSENet(wiring(), 3, seed=10)

    assert all(torch.equal(first[name], again[name]) for name in first)
    assert not any(torch.equal(first[n], p) for n, p in other.named_parameters() if "weight" in n)


def informed_wiring(seed: int = 0) -> Wiring:
    """Random links with random log-odds."""
    rng = np.random.default_rng(seed)
    plain = wiring(0.3)
    layers = (replace(layer, log_odds=rng.normal(size=layer.n_edges)) for layer in plain.layers)
    return Wiring(tuple(layers), plain.names, "informative")


@pytest.mark.parametrize("sparse", [True, False])
def test_log_odds_start_units_with_mean_0_and_deviation_1(sparse: bool) -> None:
    start = informed_wiring()
    table = np.random.default_rng(1).poisson(0.7, (500, start.layer_sizes[0])).astype(np.float32)
    net = TSENet(start, 3, skip_units=4, seed=0)
    drawn = {name: value.clone() for name, value in net.state_dict().items()}
    set_log_odds(net, Inputs(csr_array(table) if sparse else table))

    below = table.astype(np.float64)
    for layer, links in zip(net.layers, start.layers, strict=True):
        assert links.log_odds is not None
        shape = (links.n_upper, links.n_lower)
        odds = csr_array((links.log_odds, links.indices, links.indptr), shape=shape).toarray()
        z = below @ odds.T
        scale = np.divide(1, z.std(axis=0), out=np.zeros(shape[0]), where=z.std(axis=0) > 0)
        np.testing.assert_allclose(
            layer.dense_weight().detach().numpy(), odds * scale[:, None], rtol=1e-3, atol=1e-4
        )
        z = (z - z.mean(axis=0)) * scale
        below = np.maximum(z, 0)
    others = [name for name in drawn if not name.startswith("layers")]
    assert all(torch.equal(drawn[name], net.state_dict()[name]) for name in others)


def test_log_odds_need_a_wiring_that_has_them() -> None:
    inputs = Inputs(np.zeros((5, wiring().layer_sizes[0]), np.float32))
    with pytest.raises(DataError, match="log_odds=True"):
        set_log_odds(TSENet(wiring(), 2), inputs)


# ---- local principal directions against the eigenvectors of each latent's own covariance matrix


N_INPUTS = 36


def tagged(wiring: Wiring) -> Wiring:
    """The wiring with the first two links of each unit called the tree's, where they can be."""
    layers = []
    for layer in wiring.layers:
        taken: set[int] = set()
        marked = np.zeros(layer.n_edges, bool)
        for start in layer.indptr[:-1].tolist():
            for e in range(start, min(start + 2, layer.n_edges)):
                if int(layer.indices[e]) not in taken:
                    taken.add(int(layer.indices[e]))
                    marked[e] = True
        layers.append(WiringLayer(layer.indptr, layer.indices, marked, layer.n_lower))
    return Wiring(tuple(layers), wiring.names, "random")


WIRING = tagged(random_wiring(np.random.default_rng(0), (N_INPUTS, 8, 4), 0.5))


def rows_of_few_causes(n_columns: int, n_rows: int = 400) -> NDArray[np.float32]:
    """Non-negative rows with four strong common causes, of which many entries are 0."""
    rng = np.random.default_rng(1)
    causes = rng.gamma(0.5, size=(n_rows, 4)) * [8.0, 5.0, 3.0, 2.0]
    values = causes @ rng.random((4, n_columns)) ** 4 + 0.1 * rng.random((n_rows, n_columns))
    return np.where(values > 1.0, values, 0.0).astype(np.float32)


@pytest.mark.parametrize(("k_in", "k_out"), [(1, 1), (1, 3), (2, 2)])
@pytest.mark.parametrize("is_sparse", [False, True])
def test_units_have_the_leading_eigenvectors(is_sparse: bool, k_in: int, k_out: int) -> None:
    layer = WIRING.layers[0]
    links = Links.of(layer, k_in, k_out)
    rows = rows_of_few_causes(N_INPUTS * k_in)
    given = csr_array(rows) if is_sparse else rows
    if is_sparse:
        rows = rows / np.maximum(np.linalg.norm(rows, axis=1, keepdims=True), 1e-9)

    weight = leading_directions(links, given, layer.from_tree)

    dense = links.matrix(weight).toarray().T
    for u in range(8):
        own = slice(layer.indptr[u], layer.indptr[u + 1])
        columns = (layer.indices[own, None] * k_in + np.arange(k_in)).ravel()
        values, vectors = np.linalg.eigh(np.cov(rows[:, columns].T))
        found = dense[u * k_out : (u + 1) * k_out][:, columns]
        np.testing.assert_allclose(found @ found.T, np.eye(k_out), atol=1e-4)
        for j in range(k_out):
            variance = (rows[:, columns] @ found[j]).var(ddof=1)
            assert variance == pytest.approx(values[-1 - j], rel=0.03)
            if values[-1 - j] > 1.5 * values[-2 - j]:
                assert abs(found[j] @ vectors[:, -1 - j]) > 0.98
            tree = np.repeat(layer.from_tree[own], k_in)
            assert found[j][tree].sum() >= -1e-6


def test_a_latent_of_dense_rows_with_few_links_has_opposite_then_random_units() -> None:
    layer = WiringLayer([0, 2, 2], [1, 2], [True, True], 4)
    links = Links.of(layer, 1, 7)
    rows = rows_of_few_causes(4)

    found = leading_directions(links, rows, layer.from_tree).reshape(2, 7)

    np.testing.assert_array_equal(found[:, 2:4], -found[:, :2])
    np.testing.assert_allclose(np.linalg.norm(found, axis=0), 1, rtol=1e-5)
    assert np.unique(found.round(6), axis=1).shape[1] == 7


@pytest.mark.parametrize("is_sparse", [False, True])
def test_columns_that_repeat_each_other_have_one_direction(is_sparse: bool) -> None:
    """The difference of two twins has no variance but that of rounding: no unit reads it."""
    layer = WiringLayer([0, 2, 2], [1, 2], [True, True], 4)
    links = Links.of(layer, 1, 4)
    rows = np.abs(rows_of_few_causes(4))
    rows[:, 2] = rows[:, 1] * np.float32(1 + 1e-5)

    found = leading_directions(
        links, csr_array(rows) if is_sparse else rows, layer.from_tree
    ).reshape(2, 4)

    np.testing.assert_allclose(np.abs(found), np.sqrt(0.5), atol=1e-3)
    np.testing.assert_array_equal(np.sign(found[0]), np.sign(found[1]))


@pytest.mark.parametrize("is_sparse", [False, True])
@pytest.mark.parametrize("units_per_latent", [1, 2])
def test_units_begin_with_mean_0_and_deviation_1(units_per_latent: int, is_sparse: bool) -> None:
    rows = rows_of_few_causes(N_INPUTS)
    inputs = Inputs(csr_array(rows) if is_sparse else rows)
    net = TSENet(WIRING, 3, units_per_latent=units_per_latent)

    set_principal_directions(net, inputs)

    below = torch.from_numpy(rows)
    for layer in net.eval().layers:
        z = below @ layer.dense_weight().detach().t() + layer.bias.detach()
        torch.testing.assert_close(z.mean(dim=0), torch.zeros(z.shape[1]), atol=1e-3, rtol=0)
        torch.testing.assert_close(z.std(dim=0), torch.ones(z.shape[1]), atol=1e-2, rtol=0)
        below = torch.relu(z)
    assert np.isfinite(net.predictor().outputs(inputs)).all()
