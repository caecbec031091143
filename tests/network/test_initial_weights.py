"""Initial weights: drawn by He's rule; the numbers of a seed do not change between versions."""

from __future__ import annotations

import math

import numpy as np
import pytest
import torch
from numpy.typing import NDArray

from tests.network.wirings import layer_of, wiring
from tsenet.expansion.wiring import Wiring
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


# Sum, sum of squares, first and last entry of each parameter, from before weights had a module of their own.
