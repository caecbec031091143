"""The predictor without torch against the module, however many rows come together."""

from __future__ import annotations

import copy
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
import torch

from tests.network.wirings import wiring
from tsenet.network.inputs import Inputs
from tsenet.network.tsenet import TSENet

D = wiring().layer_sizes[0]


def inputs_of(n_rows: int, form: str) -> Inputs:
    rows = np.random.default_rng(1).poisson(0.3, (n_rows, D)).astype(np.float32)
    rows[::7] = 0  # rows without an entry, the first among them
    return Inputs(rows if form == "dense" else sp.csr_array(rows))


@pytest.mark.parametrize("form", ["dense", "sparse"])
@pytest.mark.parametrize(
    "options",
    [
        {},
        {"skip_units": 0},
        {"units_per_latent": 3},
        {"units_per_latent": 2, "linear_skip": True, "skip_units": 0},
        {"activation": "tanh", "skip_units": 0},
        {"units_per_latent": 2, "skip_input": False},
    ],
)
@pytest.mark.parametrize("n_rows", [0, 1, 64, 600])
def test_answers_are_the_modules(form: str, options: dict[str, Any], n_rows: int) -> None:
    net = TSENet(wiring(), 3, seed=2, **options).eval()
    for name, parameter in net.named_parameters():
        if name == "linear_skip" or name.endswith("bias"):
            torch.nn.init.normal_(parameter, generator=torch.Generator().manual_seed(len(name)))
    inputs = inputs_of(n_rows, form)
    with torch.no_grad():
        levels, features, outputs = net.activations(inputs.batch())

    made = net.predictor()

    np.testing.assert_allclose(made.outputs(inputs), outputs, rtol=1e-5, atol=1e-5)
    expected = torch.cat([*levels, features], dim=1)
    np.testing.assert_allclose(made.hidden(inputs), expected, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("form", ["dense", "sparse"])
def test_answers_do_not_depend_on_the_number_of_threads_or_of_rows(form: str) -> None:
    made = TSENet(wiring(), 3).predictor()
    inputs = inputs_of(1000, form)
    whole = made.outputs(inputs, n_jobs=1)

    assert np.array_equal(whole, made.outputs(inputs, n_jobs=2))
    one = made.outputs(inputs, np.array([777]))
    np.testing.assert_allclose(one, whole[777:778], rtol=1e-5, atol=1e-5)


def test_answers_follow_the_weights() -> None:
    net, inputs = TSENet(wiring(), 3), inputs_of(5, "dense")
    before = net.predictor().outputs(inputs)
    other = copy.deepcopy(net)
    with torch.no_grad():
        for parameter in other.parameters():
            parameter.mul_(2.0)
    assert np.array_equal(net.predictor().outputs(inputs), before)
    assert not np.allclose(other.predictor().outputs(inputs), before)
    doubled = net.double().predictor()
    np.testing.assert_allclose(doubled.outputs(inputs), before, rtol=1e-5, atol=1e-5)
