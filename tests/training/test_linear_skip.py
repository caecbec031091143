"""The linear skip, from the input to the outputs: what it stands for."""

from __future__ import annotations

import torch

from tests.training.examples import small_net, table

N_INPUTS = 8


def test_it_starts_at_nothing_and_is_counted() -> None:
    plain, linear_skip = small_net(N_INPUTS, 4), small_net(N_INPUTS, 4, linear_skip=True)
    batch = table(20)[0].batch()

    assert torch.equal(plain.eval()(batch), linear_skip.eval()(batch))
    assert linear_skip.n_parameters - plain.n_parameters == 4 * N_INPUTS
    assert plain.linear_skip is None
    summary = linear_skip.summary()
    assert summary["parameters"].sum() == linear_skip.n_parameters
    assert summary.index.tolist()[-2:] == ["output", "linear skip"]


def test_alone_it_is_a_linear_model() -> None:
    net = small_net(N_INPUTS, 4, linear_skip=True).eval()
    weight = torch.randn(N_INPUTS, 4, generator=torch.Generator().manual_seed(2))
    with torch.no_grad():
        net.output.weight.zero_()
        assert net.linear_skip is not None
        net.linear_skip.copy_(weight)
    batch = table(20)[0].batch()

    assert torch.allclose(net(batch), batch @ weight + net.output.bias, atol=1e-5)
