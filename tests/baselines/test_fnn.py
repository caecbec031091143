"""The dense network that TSE-Net is compared with."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp
import torch

from tsenet.baselines.fnn import FNN
from tsenet.network.batches import Inputs
from tsenet.training.engine import AutogradEngine
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
    net.begin_step(3, 7)
    first = net(x)
    assert not torch.equal(net(x), first)
    net.begin_step(3, 7)
    assert torch.equal(net(x), first)
    net.eval()
    assert torch.equal(net(x), net(x))


def test_it_can_be_trained() -> None:
    rng = np.random.default_rng(0)
    rows = rng.normal(size=(64, 5)).astype(np.float32)
    targets = (rows[:, 0] > 0).astype(np.int64)
    engine = AutogradEngine(FNN(5, 2, hidden=(16,), dropout=0.0), Inputs(rows), MulticlassLoss(2))
    numbers = np.arange(64)
    losses = [engine.step(numbers, targets, None, 0.02, step) for step in range(60)]
    assert losses[-1] < 0.2 < losses[0]


def test_wrong_options_are_refused() -> None:
    with pytest.raises(ValueError, match="hidden layer"):
        FNN(3, 2, hidden=())
    with pytest.raises(ValueError, match="dropout"):
        FNN(3, 2, dropout=1.0)
