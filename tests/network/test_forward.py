"""The forward pass of validation and prediction: against torch, and the same bits in every batch."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
import torch

import tsenet
from tests.builders import one_latent_rows
from tests.network.wirings import random_rows, random_wiring
from tsenet.network.batches import Inputs
from tsenet.network.forward import (
    ForwardPass,
    hidden_activations,
    levels_of,
    network_outputs,
    pass_of,
)
from tsenet.network.tsenet import TSENet
from tsenet.training.fused import FusedEngine
from tsenet.training.losses import MulticlassLoss


@pytest.fixture(scope="module")
def wiring() -> tsenet.Wiring:
    rows = one_latent_rows(np.random.default_rng(0), 400, (4,) * 9)
    tree = tsenet.learn_tree(rows, max_top=3, random_state=0)
    return tsenet.expand(tree, rows, density=0.15)


@pytest.mark.parametrize("form", ["dense", "sparse"])
@pytest.mark.parametrize(
    "options",
    [
        {},
        {"skip_units": 0},
        {"norm": "batch"},
        {"units_per_latent": 2},
        {"units_per_latent": 3, "norm": "batch"},
        {"units_per_latent": 8, "linear_skip": True, "skip_units": 0},
    ],
)
@pytest.mark.parametrize("n_rows", [1, 64, 1030])
def test_answers_are_the_modules(
    wiring: tsenet.Wiring, form: str, options: dict[str, Any], n_rows: int
) -> None:
    rows = np.random.default_rng(1).poisson(0.3, (n_rows, 36)).astype(np.float32)
    inputs = Inputs(rows if form == "dense" else sp.csr_array(rows))
    net = TSENet(wiring, 3, seed=2, **options).eval()
    with torch.no_grad():
        hidden = net.hidden(torch.from_numpy(rows))
        expected = net(torch.from_numpy(rows)).numpy()
    outputs = network_outputs(net, inputs)
    assert outputs.dtype == np.float64
    assert np.allclose(outputs, expected, atol=1e-4)
    found = hidden_activations(net, inputs)
    assert found.dtype == np.float32
    assert np.allclose(found, torch.cat(list(hidden.values()), dim=1).numpy(), atol=1e-4)


def trained(
    wiring: tsenet.Wiring,
    activation: Any = "relu",
    linear_skip: bool = True,
    skip_units: int = 5,
    units_per_latent: int = 1,
) -> TSENet:
    """A network none of whose parameters is 0."""
    net = TSENet(
        wiring,
        3,
        seed=2,
        linear_skip=linear_skip,
        activation=activation,
        skip_units=skip_units,
        units_per_latent=units_per_latent,
    ).eval()
    generator = torch.Generator().manual_seed(3)
    for name, parameter in net.named_parameters():
        if "bias" in name or "linear_skip" in name:
            torch.nn.init.normal_(parameter, generator=generator)
    return net


@pytest.mark.parametrize("form", ["dense", "sparse"])
@pytest.mark.parametrize("activation", ["relu", "tanh", "sigmoid"])
@pytest.mark.parametrize("linear_skip", [False, True])
@pytest.mark.parametrize("skip_units", [0, 5])
def test_a_row_has_the_same_bits_alone_and_in_any_batch(
    wiring: tsenet.Wiring, skip_units: int, linear_skip: bool, activation: str, form: str
) -> None:
    rows = np.random.default_rng(1).poisson(0.3, (300, 36)).astype(np.float32)
    net = trained(wiring, activation, linear_skip, skip_units)

    def inputs(chosen: slice) -> Inputs:
        return Inputs(rows[chosen] if form == "dense" else sp.csr_array(rows[chosen]))

    outputs, hidden = (
        network_outputs(net, inputs(slice(None))),
        hidden_activations(net, inputs(slice(None))),
    )
    assert np.unique(outputs, axis=0).shape[0] > 200
    for start, stop in [
        (0, 1),
        (7, 8),
        (7, 9),
        (5, 9),
        (5, 10),
        (0, 63),
        (3, 67),
        (3, 68),
        (10, 299),
    ]:
        part = inputs(slice(start, stop))
        assert network_outputs(net, part).tobytes() == outputs[start:stop].tobytes()
        assert hidden_activations(net, part).tobytes() == hidden[start:stop].tobytes()


@pytest.mark.parametrize("units_per_latent", [1, 2, 8])
@pytest.mark.parametrize("form", ["dense", "sparse"])
def test_a_wide_network_has_the_same_bits_too(form: str, units_per_latent: int) -> None:
    """Levels of several blocks of units, and links that are far apart in memory."""
    rng = np.random.default_rng(0)
    sizes = (900, 300 // units_per_latent, 130)
    net = trained(random_wiring(rng, sizes, 0.3), units_per_latent=units_per_latent)
    values = random_rows(rng, 70, 900).astype(np.float32)
    inputs = Inputs(values if form == "dense" else sp.csr_array(values))

    together = network_outputs(net, inputs)

    alone = [network_outputs(net, Inputs(inputs.values[k : k + 1]))[0] for k in range(70)]
    assert together.tobytes() == np.array(alone).tobytes()


def test_same_bytes_for_any_number_of_threads(wiring: tsenet.Wiring) -> None:
    inputs = Inputs(np.random.default_rng(1).normal(size=(500, 36)).astype(np.float32))
    net = trained(wiring)
    one, two, three = (network_outputs(net, inputs, n_jobs).tobytes() for n_jobs in (1, 2, 3))
    assert one == two == three


@pytest.mark.parametrize("form", ["dense", "sparse"])
def test_validation_and_prediction_are_one_pass(wiring: tsenet.Wiring, form: str) -> None:
    rows = np.random.default_rng(1).poisson(0.3, (200, 36)).astype(np.float32)
    inputs = Inputs(rows if form == "dense" else sp.csr_array(rows))
    net = trained(wiring)
    chosen = np.random.default_rng(2).permutation(200)[:90]

    by_engine = FusedEngine(net, inputs, MulticlassLoss(3)).outputs(inputs, chosen)

    assert by_engine.dtype == np.float64
    assert by_engine.tobytes() == network_outputs(net, inputs)[chosen].tobytes()
    n_latents = sum(wiring.layer_sizes[1:])
    levels = levels_of(net, inputs, chosen)
    assert levels.tobytes() == hidden_activations(net, inputs)[chosen, :n_latents].tobytes()


def test_rows_that_cannot_be_written_are_read(wiring: tsenet.Wiring) -> None:
    rows = np.random.default_rng(1).poisson(0.3, (100, 36)).astype(np.float32)
    net = trained(wiring)
    expected = network_outputs(net, Inputs(rows.copy()))
    rows.setflags(write=False)

    np.testing.assert_array_equal(network_outputs(net, Inputs(rows)), expected)


def test_it_follows_the_weights(wiring: tsenet.Wiring) -> None:
    """The pass is prepared once, and again after torch or a training step has changed a weight."""
    inputs = Inputs(np.random.default_rng(1).poisson(0.3, (100, 36)).astype(np.float32))
    net = trained(wiring)
    before, prepared = network_outputs(net, inputs), pass_of(net)
    assert pass_of(net) is prepared
    with torch.no_grad():
        net.output.bias += 1.0
    assert np.allclose(network_outputs(net, inputs), before + 1.0, atol=1e-5)
    engine = FusedEngine(net, inputs, MulticlassLoss(3))
    weights = engine.weights()
    changed = network_outputs(net, inputs)
    engine.step(np.arange(100), np.zeros(100, np.int64), None, 0.1, 0)
    assert not np.allclose(network_outputs(net, inputs), changed)
    engine.load_weights(weights)
    assert np.array_equal(network_outputs(net, inputs), changed)


@pytest.mark.parametrize("form", ["dense", "sparse"])
@pytest.mark.parametrize("units_per_latent", [1, 2])
def test_zeros_are_left_out_and_bits_stay_alike(
    wiring: tsenet.Wiring, units_per_latent: int, form: str
) -> None:
    """After pruning a row still has the same bits alone and among others."""
    rows = np.random.default_rng(1).poisson(0.3, (100, 36)).astype(np.float32)
    inputs = Inputs(rows if form == "dense" else sp.csr_array(rows))
    net = trained(wiring, units_per_latent=units_per_latent)
    with torch.no_grad():
        for name, parameter in net.named_parameters():
            if "bias" not in name:
                parameter.mul_(torch.rand(parameter.shape) < 0.2)
        expected = net(torch.from_numpy(rows)).numpy()
    outputs = network_outputs(net, inputs)
    assert np.allclose(outputs, expected, atol=1e-4)
    for k in (0, 7, 99):
        alone = network_outputs(net, Inputs(inputs.values[k : k + 1]))
        assert alone.tobytes() == outputs[k : k + 1].tobytes()


def test_no_rows_have_no_answers(wiring: tsenet.Wiring) -> None:
    none = Inputs(np.empty((0, 36), np.float32))
    assert network_outputs(trained(wiring), none).shape == (0, 3)


def test_batch_normalisation_is_left_to_torch(wiring: tsenet.Wiring) -> None:
    with pytest.raises(ValueError, match="batch normalisation"):
        ForwardPass(TSENet(wiring, 3, norm="batch"))


@pytest.mark.parametrize("form", ["dense", "sparse"])
def test_units_that_no_output_reads_are_not_computed(wiring: tsenet.Wiring, form: str) -> None:
    rows = np.random.default_rng(1).poisson(0.3, (100, 36)).astype(np.float32)
    inputs = Inputs(rows if form == "dense" else sp.csr_array(rows))
    net = trained(wiring)
    with torch.no_grad():
        net.output.weight.zero_()
        expected = net(torch.from_numpy(rows)).numpy()

    assert np.allclose(network_outputs(net, inputs), expected, atol=1e-5)
    assert pass_of(net).sizes[1:] == (1,) * len(wiring.layers)
    assert hidden_activations(net, inputs).shape[1] > sum(wiring.layer_sizes[1:])
