"""`TrainingPass` against torch's autograd: outputs, gradients, dropout, skip groups that are off."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch
from scipy.sparse import csr_array

from tests.network.wirings import random_rows, random_wiring
from tsenet.network.sparse_linear import batch_of, step_generator
from tsenet.network.training_pass import TrainingPass
from tsenet.network.tsenet import TSENet

SIZES = (12, 7, 4)
SLOPE = np.random.default_rng(2).normal(size=(19, 3))


def network(**options: Any) -> TSENet:
    sizes: dict[str, Any] = {"skip_units": 3, "feature_units": 5, "units_per_latent": 2}
    wiring = random_wiring(np.random.default_rng(0), SIZES, 0.5)
    net = TSENet(wiring, 3, **{**sizes, **options}).double()
    if net.linear_skip is not None:
        torch.nn.init.normal_(net.linear_skip, generator=torch.Generator().manual_seed(0))
    return net.train()


def rows(is_sparse: bool) -> Any:
    values = random_rows(np.random.default_rng(1), 19, SIZES[0])
    return csr_array(values) if is_sparse else values


@pytest.mark.parametrize("is_sparse", [False, True])
@pytest.mark.parametrize(
    "options",
    [
        {"dropout": 0.0},
        {"dropout": 0.5},
        {"dropout": 0.5, "skip_units": 0},
        {"dropout": 0.5, "linear_skip": True},
        {"dropout": 0.5, "activation": "tanh"},
        {"dropout": 0.0, "activation": "sigmoid"},
        {"dropout": 0.5, "activation": "sigmoid", "linear_skip": True},
        {"dropout": 0.5, "skip_dropout": 0.5},
        {"dropout": 0.5, "skip_input": False},
    ],
)
def test_outputs_and_gradients_equal_those_of_autograd(
    options: dict[str, Any], is_sparse: bool
) -> None:
    x = rows(is_sparse)
    seen = set()
    for step in range(6):
        net, mine = network(**options), TrainingPass(network(**options))
        net.begin_step(5, step)
        expected = net(batch_of(x))
        found = mine.forward(x, step_generator(5, step))
        np.testing.assert_allclose(found, expected.detach().numpy(), rtol=1e-10, atol=1e-12)

        expected.backward(torch.from_numpy(SLOPE))
        mine.backward(SLOPE)
        for name, parameter in net.named_parameters():
            if parameter.grad is None:
                assert mine.skips_are_off
                assert name.startswith("skips.")
            else:
                gradient = mine.parameters.gradient[name]
                np.testing.assert_allclose(gradient, parameter.grad, rtol=1e-9, atol=1e-11)
        seen.add(mine.skips_are_off)
    assert seen == ({True, False} if "skip_dropout" in options else {False})


def test_batches_of_several_sizes_take_turns() -> None:
    """Memory that steps share holds nothing of another step."""
    x = rows(False)
    together, alone = network(dropout=0.0), network(dropout=0.0)
    mine = TrainingPass(together)
    for n_rows in (19, 7, 19, 8, 7):
        found = mine.forward(x[:n_rows], None)
        mine.backward(SLOPE[:n_rows])
        other = TrainingPass(alone)
        np.testing.assert_array_equal(found, other.forward(x[:n_rows], None))
        other.backward(SLOPE[:n_rows])
        np.testing.assert_array_equal(mine.parameters.gradients, other.parameters.gradients)


def test_the_parameters_of_the_network_are_the_flat_ones() -> None:
    net = network()
    before = {name: parameter.detach().clone() for name, parameter in net.named_parameters()}
    flat = TrainingPass(net).parameters
    for name, parameter in net.named_parameters():
        torch.testing.assert_close(parameter.detach(), before[name], rtol=0, atol=0)
    flat.weights += 1.0
    for name, parameter in net.named_parameters():
        torch.testing.assert_close(parameter.detach(), before[name] + 1.0)
    assert flat.n_without_skips < flat.weights.size
