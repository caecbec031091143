"""Initial weights: drawn by He's rule, or log-odds of the links."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest
import torch
from numpy.typing import NDArray
from scipy.sparse import csr_array

from tests.network.wirings import layer_of, wiring
from tsenet.errors import DataError
from tsenet.expansion.wiring import Wiring
from tsenet.network.initial_weights import set_log_odds
from tsenet.network.inputs import Inputs
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
