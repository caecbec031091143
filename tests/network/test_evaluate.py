"""Outputs and hidden activations of a trained network."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
import torch

import tsenet
from tests.builders import one_latent_rows
from tsenet.network.batches import Inputs
from tsenet.network.evaluate import hidden_activations, network_outputs
from tsenet.network.tsenet import TSENet


@pytest.fixture(scope="module")
def wiring() -> tsenet.Wiring:
    rows = one_latent_rows(np.random.default_rng(0), 400, (4,) * 9)
    tree = tsenet.learn_tree(rows, max_top=3, random_state=0)
    return tsenet.expand(tree, rows, density=0.15)


@pytest.mark.parametrize("form", ["dense", "sparse"])
@pytest.mark.parametrize("options", [{}, {"skip_units": 0}, {"norm": "batch"}])
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


def test_same_bytes_for_any_number_of_threads(wiring: tsenet.Wiring) -> None:
    inputs = Inputs(np.random.default_rng(1).normal(size=(500, 36)).astype(np.float32))
    net = TSENet(wiring, 3, seed=2).eval()
    one, two = (network_outputs(net, inputs, n_jobs) for n_jobs in (1, 2))
    assert np.array_equal(one, two)
