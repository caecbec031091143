"""Initial weights: drawn by He's rule, or from the tree; the numbers of a seed do not change between versions."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
import torch
from numpy.typing import NDArray
from scipy.sparse import csr_array

from tests.network.wirings import layer_of, mask_of, random_rows, random_wiring, wiring
from tsenet.expansion.wiring import Wiring
from tsenet.network.batches import Inputs
from tsenet.network.initial_weights import Init, follow_model, set_initial_weights
from tsenet.network.tsenet import TSENet


def one_layer(mask: NDArray[np.bool_], log_odds: NDArray[Any] | None = None) -> Wiring:
    n_units, n_inputs = mask.shape
    names = tuple(tuple(f"{k}.{j}" for j in range(n)) for k, n in enumerate((n_inputs, n_units)))
    return Wiring((layer_of(mask, log_odds),), names, "random")


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


def test_without_init_all_weights_are_zero_until_they_are_set() -> None:
    net = TSENet(wiring(), 3, init=None)
    assert all((parameter == 0).all() for parameter in net.parameters())

    set_initial_weights(net, "fan-in", seed=9)

    expected = TSENet(wiring(), 3, init="fan-in", seed=9).state_dict()
    assert all(torch.equal(expected[name], p) for name, p in net.state_dict().items())


def test_tree_follows_the_log_odds_and_leaves_the_dense_groups() -> None:
    drawn, of_tree = (TSENet(wiring(), 3, seed=9, init=init) for init in ("fan-in", "tree"))

    for layer, links in zip(of_tree.layers, wiring().layers, strict=True):
        mask = mask_of(links)
        odds = np.zeros(mask.shape)
        odds[mask] = links.log_odds
        length = np.maximum(np.sqrt((odds**2).sum(axis=1, keepdims=True)), 1e-12)
        expected = odds / length * math.sqrt(2)
        np.testing.assert_allclose(layer.dense_weight().detach(), expected, atol=1e-6)
        assert (layer.bias == 0).all()
        assert layer.weight.requires_grad
        assert layer.weight.grad_fn is None
    for group in ("skips.0.weight", "top.weight", "output.weight"):
        assert torch.equal(drawn.state_dict()[group], of_tree.state_dict()[group])


def test_a_unit_without_log_odds_stays_at_zero() -> None:
    odds = np.array([0.0, 0.0, 0.0, 1.0, 2.0, 2.0])
    (layer,) = TSENet(one_layer(np.ones((2, 3), bool), odds), 2, init="tree").layers

    expected = torch.tensor([[0.0, 0.0, 0.0], [1.0, 2.0, 2.0]]) * math.sqrt(2) / 3
    torch.testing.assert_close(layer.dense_weight(), expected)


@pytest.mark.parametrize("is_sparse", [False, True])
def test_with_rows_the_tree_gives_each_unit_mean_0_and_deviation_1(is_sparse: bool) -> None:
    rng = np.random.default_rng(0)
    values = random_rows(rng, 500, 40).astype(np.float32)
    inputs = Inputs(csr_array(values) if is_sparse else values)
    net = TSENet(random_wiring(rng, (40, 14, 6), 0.3), 3, init=None).eval()

    set_initial_weights(net, "tree", 0, inputs)

    pairs = zip(net.layers, net.wiring.layers, strict=True)
    for level, (layer, links) in enumerate(pairs, start=1):
        sums = net.predictor().sums(inputs.values, level)
        varies = np.abs(layer.dense_weight().detach().numpy()).sum(axis=1) > 0
        assert varies.sum() > 3
        np.testing.assert_allclose(sums.mean(axis=0), 0, atol=1e-4)
        np.testing.assert_allclose(sums[:, varies].std(axis=0), 1, atol=1e-3)
        weight = layer.dense_weight().detach().numpy()[mask_of(links)]
        kept = np.maximum(links.log_odds, 0) if is_sparse else links.log_odds
        unit = np.repeat(np.arange(links.n_upper), np.diff(links.indptr))
        on = varies[unit] & (kept != 0)
        assert (np.sign(weight[on]) == np.sign(kept[on])).all()
    once = {name: p.clone() for name, p in net.state_dict().items()}
    follow_model(net, inputs)  # starts anew: no trace of the first call is left
    assert all(torch.equal(once[name], p) for name, p in net.state_dict().items())


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
RECORDED: dict[str, dict[str, tuple[float, float, float, float]]] = {
    "fan-in": {
        **GROUPS,
        **{
            "layers.0.weight": (2.4441665, 24.357257, -0.42983437, 0.063155018),
            "layers.1.weight": (-2.8401176, 9.6498967, -0.41988948, -0.096567959),
        },
    },
    "tree": {
        **GROUPS,
        **{
            "layers.0.weight": (3.5928674, 28.0, 0.48463213, -0.10040887),
            "layers.1.weight": (7.1260896, 12.0, 0.36925471, 1.0560486),
        },
    },
}


def measured(parameter: torch.Tensor) -> tuple[float, float, float, float]:
    flat = parameter.detach().numpy().astype(np.float64).ravel()
    return float(flat.sum()), float((flat**2).sum()), float(flat[0]), float(flat[-1])


@pytest.mark.parametrize("init", ["fan-in", "tree"])
def test_a_seed_gives_the_recorded_numbers(init: Init) -> None:
    """A model that is trained again from its seed must start where it started."""
    made = random_wiring(np.random.default_rng(5), (40, 14, 6), 0.3)
    net = TSENet(made, 3, skip_units=5, feature_units=8, init=init, seed=11)

    assert {name for name, _ in net.named_parameters()} == RECORDED[init].keys()
    for name, parameter in net.named_parameters():
        assert measured(parameter) == pytest.approx(RECORDED[init][name], rel=1e-6, abs=1e-6), name
