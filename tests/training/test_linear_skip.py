"""The linear skip, from the input to the outputs: kernels against autograd, and what it stands for."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from tests.training.fused_examples import (
    CLASSES,
    MULTICLASS,
    N_INPUTS,
    assert_same_gradients,
    inputs,
    network,
    typed,
)
from tsenet.network.forward import network_outputs
from tsenet.network.tsenet import TSENet


def with_linear_skip(dtype: torch.dtype = torch.float64, skip_units: int = 6) -> TSENet:
    net = network(linear_skip=True, skip_units=skip_units).to(dtype)
    generator = torch.Generator().manual_seed(9)
    assert net.linear_skip is not None
    torch.nn.init.normal_(net.linear_skip, generator=generator)
    return net


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
@pytest.mark.parametrize("is_sparse", [False, True])
@pytest.mark.parametrize("skip_units", [0, 6])
def test_gradients_equal_autograds(skip_units: int, is_sparse: bool, dtype: torch.dtype) -> None:
    rows = np.random.default_rng(1).permutation(300)[:150]

    assert_same_gradients(
        with_linear_skip(dtype, skip_units), inputs(is_sparse), MULTICLASS, rows, CLASSES[rows]
    )


@pytest.mark.parametrize("n_rows", [1, 100, 300])
@pytest.mark.parametrize("is_sparse", [False, True])
def test_outputs_equal_the_modules(is_sparse: bool, n_rows: int) -> None:
    net, data = with_linear_skip().eval(), inputs(is_sparse)
    with torch.no_grad():
        expected = net(typed(data.batch(np.arange(n_rows)), torch.float64)).numpy()

    assert np.allclose(network_outputs(net, data, 1)[:n_rows], expected, atol=1e-12)


def test_it_starts_at_nothing_and_is_counted() -> None:
    plain, linear_skip = network(), network(linear_skip=True)
    batch = inputs(False).batch(np.arange(20))

    assert torch.equal(plain.eval()(batch), linear_skip.eval()(batch))
    assert linear_skip.n_parameters - plain.n_parameters == 4 * N_INPUTS
    assert plain.linear_skip is None
    summary = linear_skip.summary()
    assert summary.n_parameters == linear_skip.n_parameters
    assert sum(row.parameters for row in summary.layers) == linear_skip.n_parameters
    assert [row.name for row in summary.layers][-2:] == ["output", "linear skip"]


def test_alone_it_is_a_linear_model() -> None:
    net = network(linear_skip=True).eval()
    weight = torch.randn(N_INPUTS, 4, generator=torch.Generator().manual_seed(2))
    with torch.no_grad():
        net.output.weight.zero_()
        assert net.linear_skip is not None
        net.linear_skip.copy_(weight)
    batch = inputs(False).batch(np.arange(20))

    assert torch.allclose(net(batch), batch @ weight + net.output.bias, atol=1e-5)
