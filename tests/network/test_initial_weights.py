"""Initial weights: drawn by He's rule; the numbers of a seed do not change between versions."""

from __future__ import annotations

import math

import numpy as np
import pytest
import torch
from numpy.typing import NDArray

from tests.network.wirings import layer_of, random_wiring, wiring
from tsenet.expansion.wiring import Wiring
from tsenet.network.initial_weights import draw_weights
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


def test_without_a_seed_all_weights_are_zero_until_they_are_set() -> None:
    net = TSENet(wiring(), 3, seed=None)
    assert all((parameter == 0).all() for parameter in net.parameters())

    draw_weights(net, seed=9)

    expected = TSENet(wiring(), 3, seed=9).state_dict()
    assert all(torch.equal(expected[name], p) for name, p in net.state_dict().items())


# Sum, sum of squares, first and last entry of each parameter, from before weights had a module of their own.
GROUPS = {
    "layers.0.bias": (0.0, 0.0, 0.0, 0.0),
    "layers.1.bias": (0.0, 0.0, 0.0, 0.0),
    "skips.0.weight": (0.20407739, 9.0983862, -0.044134315, 0.196999),
    "skips.0.bias": (0.0, 0.0, 0.0, 0.0),
    "skips.1.weight": (-6.8585496, 10.253741, -0.65207511, -0.25494409),
    "skips.1.bias": (0.0, 0.0, 0.0, 0.0),
    "top.weight": (-1.6957211, 15.898357, -0.1714226, 0.14892781),
    "top.bias": (0.0, 0.0, 0.0, 0.0),
    "output.weight": (-0.41609129, 6.0474917, 0.00032788474, 0.57283908),
    "output.bias": (0.0, 0.0, 0.0, 0.0),
}
RECORDED: dict[str, tuple[float, float, float, float]] = {
    **GROUPS,
    "layers.0.weight": (2.4441665, 24.357257, -0.42983437, 0.063155018),
    "layers.1.weight": (-2.8401176, 9.6498967, -0.41988948, -0.096567959),
}


def measured(parameter: torch.Tensor) -> tuple[float, float, float, float]:
    flat = parameter.detach().numpy().astype(np.float64).ravel()
    return float(flat.sum()), float((flat**2).sum()), float(flat[0]), float(flat[-1])


def test_a_seed_gives_the_recorded_numbers() -> None:
    """A model that is trained again from its seed must start where it started."""
    made = random_wiring(np.random.default_rng(5), (40, 14, 6), 0.3)
    net = TSENet(made, 3, skip_units=5, feature_units=8, seed=11)

    assert {name for name, _ in net.named_parameters()} == RECORDED.keys()
    for name, parameter in net.named_parameters():
        assert measured(parameter) == pytest.approx(RECORDED[name], rel=1e-6, abs=1e-6), name
