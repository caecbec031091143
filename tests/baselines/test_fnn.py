"""The dense network that TSE-Net is compared with."""

from __future__ import annotations

import copy

import numpy as np
import pytest
import scipy.sparse as sp
import torch

from tsenet.baselines.fnn import FNN
from tsenet.network.batches import Inputs
from tsenet.training.engine import Engine
from tsenet.training.losses import MulticlassLoss


def test_outputs_are_those_of_plain_linear_layers() -> None:
    net = FNN(4, 3, hidden=(8, 5), seed=1).eval()
    x = torch.randn(6, 4, generator=torch.Generator().manual_seed(0))
    first, second, last = net.layers
    h = torch.relu(x @ first.weight + first.bias)
    h = torch.relu(h @ second.weight + second.bias)
    assert torch.allclose(net(x), h @ last.weight + last.bias)
    assert net.n_parameters == 4 * 8 + 8 + 8 * 5 + 5 + 5 * 3 + 3


def test_sparse_input_gives_the_same() -> None:
    rows = sp.random_array((9, 20), density=0.3, format="csr", dtype=np.float32)
    net = FNN(20, 2, hidden=(6,)).eval()
    numbers = np.arange(9)
    sparse, dense = Inputs(rows).batch(numbers), Inputs(rows.toarray()).batch(numbers)
    assert torch.allclose(net(sparse), net(dense), atol=1e-6)


def test_dropout_depends_on_the_step_alone() -> None:
    net = FNN(10, 2, hidden=(300,), dropout=0.25).train()
    x = torch.ones(5, 10)
    outputs = []
    for step in (7, 8, 7):
        net.begin_step(3, step)
        outputs.append(net(x))
    assert torch.equal(outputs[0], outputs[2])
    assert not torch.equal(outputs[0], outputs[1])
    net.eval()
    assert not torch.equal(net(x), outputs[0])
    net.begin_step(3, 9)
    first, last = net.layers
    hidden = torch.relu(x @ first.weight + first.bias)
    assert torch.equal(net(x), hidden @ last.weight + last.bias)


@pytest.mark.parametrize("rate", [0.1, 0.5, 0.9])
def test_dropout_keeps_its_share_and_the_mean(rate: float) -> None:
    net = FNN(2, 2, hidden=(8,), dropout=rate).train()
    net.begin_step(1, 2)
    like = torch.empty(400, 500)
    factors = net.dropout_factors(0, like)
    assert factors is not None
    assert factors.unique().tolist() == pytest.approx([0.0, 1 / (1 - rate)], rel=1e-3)
    assert float((factors == 0).float().mean()) == pytest.approx(rate, abs=0.005)
    assert float(factors.mean()) == pytest.approx(1.0, abs=0.02)
    other = net.dropout_factors(1, like)  # another layer, another mask
    assert other is not None
    assert not torch.equal(factors, other)
    net.set_dropout(0.0)
    assert net.dropout_factors(0, like) is None


def test_removed_weights_are_zero_and_get_no_gradient() -> None:
    rng = np.random.default_rng(0)
    net = FNN(20, 3, hidden=(7, 5), dropout=0.0, seed=2)
    masks = [torch.from_numpy(rng.random(layer.weight.shape) < 0.4) for layer in net.layers]
    net.keep(masks)
    n_biases = 7 + 5 + 3
    assert net.n_parameters == n_biases + sum(int(mask.sum()) for mask in masks)
    rows = sp.random_array((9, 20), density=0.5, format="csr", dtype=np.float32, rng=rng)
    for values in (rows, rows.toarray()):
        net.zero_grad()
        net(Inputs(values).batch(np.arange(9))).square().sum().backward()
        for layer, mask in zip(net.layers, masks, strict=True):
            assert layer.weight.grad is not None
            assert not layer.weight[~mask].any()
            assert not layer.weight.grad[~mask].any()
            assert layer.weight.grad[mask].any()
    again = copy.deepcopy(net)
    assert again.n_parameters == net.n_parameters
    with torch.no_grad():
        batch = Inputs(rows).batch(np.arange(9))
        assert torch.equal(net(batch), again(batch))
    assert set(net.state_dict()) == {
        f"layers.{k}.{n}" for k in range(3) for n in ("weight", "bias")
    }


def test_it_can_be_trained() -> None:
    rng = np.random.default_rng(0)
    rows = rng.normal(size=(64, 5)).astype(np.float32)
    targets = (rows[:, 0] > 0).astype(np.int64)
    engine = Engine(FNN(5, 2, hidden=(16,), dropout=0.0), Inputs(rows), MulticlassLoss(2))
    numbers = np.arange(64)
    losses = [engine.step(numbers, targets, None, 0.02, step) for step in range(60)]
    assert losses[-1] < 0.2 < losses[0]


def test_wrong_options_are_refused() -> None:
    for hidden in ((), (5, 0)):
        with pytest.raises(ValueError, match="hidden layer"):
            FNN(3, 2, hidden=hidden)
    with pytest.raises(ValueError, match="dropout"):
        FNN(3, 2, dropout=1.0)
