"""Networks without what no output reads: the same answers, fewer parts."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import torch

from tests.network.wirings import random_wiring
from tsenet.network.compact import UnitGraph, drop_unused, n_used_parameters
from tsenet.network.topology import NetworkOptions
from tsenet.network.tsenet import TSENet

OPTIONS = NetworkOptions(skip_units=6, feature_units=5, linear_skip=True)


def sparse_net(share_kept: float, seed: int = 0, **changes: Any) -> TSENet:
    """A network in float64 of whose weights only a random share is not 0."""
    rng = np.random.default_rng(seed)
    options = replace(OPTIONS, **changes)
    net = TSENet.of(random_wiring(rng, (20, 9, 4), 0.4), 3, options).double().eval()
    with torch.no_grad():
        for name, parameter in net.named_parameters():
            drawn = torch.from_numpy(rng.normal(size=parameter.shape))
            if not name.endswith("bias"):
                drawn *= torch.from_numpy(rng.random(parameter.shape) < share_kept)
            parameter.copy_(drawn)
    return net


ROWS = torch.from_numpy(np.random.default_rng(7).normal(size=(30, 20)))


@pytest.mark.parametrize("k", [1, 3])
@pytest.mark.parametrize("activation", ["relu", "sigmoid"])
@pytest.mark.parametrize("skip_units", [0, 6])
@pytest.mark.parametrize("share_kept", [0.02, 0.1, 0.3, 1.0])
def test_answers_stay_and_what_is_left_is_used(
    share_kept: float, skip_units: int, activation: str, k: int
) -> None:
    net = sparse_net(share_kept, skip_units=skip_units, units_per_latent=k, activation=activation)

    small = drop_unused(net)

    torch.testing.assert_close(small(ROWS), net(ROWS))
    assert (
        n_used_parameters(small.predictor())
        == n_used_parameters(net.predictor())
        <= net.n_parameters
    )
    assert small.n_parameters <= net.n_parameters
    rebuilt = TSENet.of(small.wiring, 3, small.options).double()
    rebuilt.load_state_dict(small.state_dict())
    again = drop_unused(small)
    assert again.n_parameters == small.n_parameters


def test_without_any_path_the_linear_model_is_left() -> None:
    net = sparse_net(1.0)
    with torch.no_grad():
        net.output.weight.zero_()

    small = drop_unused(net)

    assert small.layer_sizes == (20, 1, 1)
    assert n_used_parameters(small.predictor()) == 20 * 3 + 3
    torch.testing.assert_close(small(ROWS), net(ROWS))


@pytest.mark.parametrize("seed", range(5))
def test_used_weights_are_those_the_outputs_depend_on(seed: int) -> None:
    """By brute force: a weight is used if some output changes with it, in a network of positive numbers."""
    net = sparse_net(0.08, seed, units_per_latent=2)
    with torch.no_grad():
        for parameter in net.parameters():
            parameter.abs_()
    net(ROWS.abs()).sum().backward()
    graph = UnitGraph(net.predictor())
    used = graph.used(graph.weight != 0)
    parameters = dict(net.named_parameters())
    assert {part.block.weight for part in graph.parts} == {n for n in parameters if "bias" not in n}
    for block, own, *_ in graph.parts:
        name = block.weight
        gradient, mask = parameters[name].grad, used.weights[own]
        assert gradient is not None
        moves = ((gradient != 0) & (parameters[name] != 0)).numpy().ravel()
        assert not (mask & ~moves).any()  # all that is used has an effect
        if name == "layers.0.weight":  # what reads the input is never constant
            assert np.array_equal(mask, moves)
    assert not used.constant[graph.layers[0]].any()
    assert used.constant.any()
