"""A small table, networks over it, and what autograd says of them: the other side of the fused engine's tests."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch
from numpy.typing import NDArray
from scipy.sparse import csr_array

from tests.network.wirings import random_rows, random_wiring
from tsenet.network.batches import Batch, Inputs, SparseBatch
from tsenet.network.tsenet import TSENet
from tsenet.training.fused import FusedEngine
from tsenet.training.losses import Loss, MulticlassLoss

Array = NDArray[Any]
N_ROWS, N_INPUTS = 300, 45
SEED = 7
RNG = np.random.default_rng(0)
VALUES = random_rows(RNG, N_ROWS, N_INPUTS, 0.25).astype(np.float32)
CLASSES = RNG.integers(4, size=N_ROWS)
NUMBERS = RNG.normal(size=(N_ROWS, 4))
LABELS = np.where(RNG.random((N_ROWS, 4)) < 0.3, np.nan, RNG.integers(2, size=(N_ROWS, 4)))
LABELS[5] = np.nan  # a row nobody knows anything about
WEIGHTS = RNG.gamma(1.0, size=N_ROWS)
WEIGHTS[:3] = 0
MULTICLASS = MulticlassLoss(4)


def inputs(is_sparse: bool) -> Inputs:
    return Inputs(csr_array(VALUES) if is_sparse else VALUES)


def network(n_outputs: int = 4, density: float = 0.1, **options: Any) -> TSENet:
    wiring = random_wiring(np.random.default_rng(3), (N_INPUTS, 20, 10), density)
    given = {"skip_units": 6, "feature_units": 7, "seed": 1, **options}
    net = TSENet(wiring, n_outputs, **given)
    for name, parameter in net.named_parameters():
        if name.endswith("bias"):
            torch.nn.init.normal_(parameter, generator=torch.Generator().manual_seed(5))
    return net


def typed(batch: Batch, dtype: torch.dtype) -> Batch:
    if isinstance(batch, SparseBatch):
        return batch._replace(values=batch.values.to(dtype))
    return batch.to(dtype)


def autograd_loss(
    net: TSENet, data: Inputs, loss: Loss, rows: Array, targets: Array, weights: Any, step: int
) -> torch.Tensor:
    net.train()
    net.begin_step(SEED, step)
    weight = None if weights is None else torch.from_numpy(weights)
    outputs = net(typed(data.batch(rows), net.top.weight.dtype))
    return loss(outputs, torch.from_numpy(targets), weight)


def assert_same_gradients(
    net: TSENet, data: Inputs, loss: Loss, rows: Array, targets: Array, weights: Any = None
) -> None:
    near = 1e-10 if net.top.weight.dtype == torch.float64 else 1e-6
    engine = FusedEngine(net, data, loss, seed=SEED, n_jobs=2)

    found, gradients = engine.compute_gradients(rows, targets, weights, step=3)
    expected = autograd_loss(net, data, loss, rows, targets, weights, step=3)
    expected.backward()

    assert found == pytest.approx(expected.item(), rel=10 * near)
    for name, parameter in net.named_parameters():
        assert parameter.grad is not None
        scale = max(1.0, float(parameter.grad.abs().max()))
        error = np.abs(gradients[name] - parameter.grad.numpy()).max()
        assert error < near * scale, name


def run(engine: FusedEngine, steps: range) -> list[float]:
    losses = []
    for step in steps:
        rows = np.random.default_rng(step).permutation(N_ROWS)[:200]
        losses.append(engine.step(rows, CLASSES[rows], None, 0.01, step))
    return losses
