"""The topology of a network against the network itself."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch

from tests.network.wirings import random_wiring
from tsenet import TSENet
from tsenet.network.topology import NetworkOptions, Topology

WIRING = random_wiring(np.random.default_rng(0), (12, 7, 5, 3), 0.5)
OPTIONS = [
    NetworkOptions(skip_units=0, feature_units=4),
    NetworkOptions(skip_units=3, feature_units=2, linear_skip=True),
    NetworkOptions(skip_units=2, feature_units=1, units_per_latent=3, linear_skip=True),
    NetworkOptions(skip_units=2, feature_units=3, units_per_latent=2, skip_input=False),
]


@pytest.mark.parametrize("options", OPTIONS)
def test_shapes_are_those_of_the_parameters(options: NetworkOptions) -> None:
    net = TSENet.of(WIRING, 4, options)
    shapes = {name: tuple(array.shape) for name, array in net.state_dict().items()}
    assert Topology(WIRING, 4, options).shapes() == shapes
    assert net.topology.layer_sizes[:-2] == list(net.layer_sizes)
    assert len(net.topology.hidden_names()) == sum(net.topology.hidden_sizes)
    assert len(set(net.topology.hidden_names())) == sum(net.topology.hidden_sizes)


@pytest.mark.parametrize("options", OPTIONS)
def test_the_ends_of_the_weights_are_the_network(options: NetworkOptions) -> None:
    """A pass along the ends of single weights gives the outputs of the module."""
    net = TSENet.of(WIRING, 4, options, seed=1).double().eval()
    with torch.no_grad():
        for parameter in net.parameters():
            parameter.normal_()
    arrays = {name: array.numpy() for name, array in net.state_dict().items()}
    topology = net.topology
    rows = np.random.default_rng(1).normal(size=(5, 12))
    layers: list[Any] = [rows]
    for layer in range(1, topology.n_layers + 1):
        sums = np.zeros((5, topology.layer_sizes[layer]))
        for block in topology.blocks_into(layer):
            reads, feeds = block.ends()
            for weight, below, above in zip(
                arrays[block.weight].ravel(), reads, feeds, strict=True
            ):
                sums[:, above] += weight * layers[block.below][:, below]
            if block.bias is not None:
                sums[:, block.units] += arrays[block.bias]
        layers.append(sums if layer == topology.n_layers else np.maximum(sums, 0))
    assert np.allclose(layers[-1], net(torch.from_numpy(rows)).detach().numpy())


def test_without_a_skip_from_the_input_all_is_learned_through_latents() -> None:
    topology = Topology(WIRING, 4, NetworkOptions(skip_units=2, skip_input=False))
    assert [block.below for block in topology.blocks_into(topology.n_levels + 1)] == [1, 2, 3]
    assert [block.name for block in topology.blocks if block.below == 0] == ["layers.0"]
    assert "skip0.0" not in topology.hidden_names()
    assert "skip1.0" in topology.hidden_names()


def test_a_network_needs_an_output() -> None:
    with pytest.raises(ValueError, match="n_outputs=0"):
        Topology(WIRING, 0, NetworkOptions())
