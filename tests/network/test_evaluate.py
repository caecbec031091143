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
from tsenet.network.passes import DOCUMENT_ROWS
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


@pytest.mark.parametrize("form", ["dense", "sparse"])
@pytest.mark.parametrize("linear_skip", [False, True])
def test_few_rows_have_the_same_outputs_alone_and_in_company(
    wiring: tsenet.Wiring, linear_skip: bool, form: str
) -> None:
    """Bit for bit while rows go one by one, nearly so beyond."""
    rows = np.random.default_rng(1).poisson(0.3, (DOCUMENT_ROWS + 1, 36)).astype(np.float32)
    net = TSENet(wiring, 3, seed=2, linear_skip=linear_skip).eval()
    for path in net.linear_skips:
        torch.nn.init.normal_(path, generator=torch.Generator().manual_seed(3))

    def outputs(chosen: slice) -> Any:
        return network_outputs(
            net, Inputs(rows[chosen] if form == "dense" else sp.csr_array(rows[chosen]))
        )

    few, all_rows = outputs(slice(DOCUMENT_ROWS)), outputs(slice(None))
    alone = [outputs(slice(k, k + 1))[0] for k in range(DOCUMENT_ROWS)]
    np.testing.assert_array_equal(few, alone)
    np.testing.assert_allclose(few, all_rows[:-1], rtol=1e-5, atol=1e-5)


def test_same_bytes_for_any_number_of_threads(wiring: tsenet.Wiring) -> None:
    inputs = Inputs(np.random.default_rng(1).normal(size=(500, 36)).astype(np.float32))
    net = TSENet(wiring, 3, seed=2).eval()
    one, two = (network_outputs(net, inputs, n_jobs) for n_jobs in (1, 2))
    assert np.array_equal(one, two)
