"""FusedEngine's gradients against autograd's, its steps against torch's Adam."""

from __future__ import annotations

import copy
from typing import Any

import numpy as np
import pytest
import torch
from scipy.sparse import csr_array

from tests.network.wirings import random_rows, random_wiring
from tests.training.fused_examples import (
    CLASSES,
    LABELS,
    MULTICLASS,
    N_INPUTS,
    N_ROWS,
    NUMBERS,
    SEED,
    WEIGHTS,
    Array,
    assert_same_gradients,
    autograd_loss,
    inputs,
    network,
    run,
)
from tsenet.network.batches import Inputs
from tsenet.network.gradients import blocks_of
from tsenet.network.passes import TrainingPasses
from tsenet.network.tsenet import TSENet
from tsenet.training.engine import AutogradEngine
from tsenet.training.fused import FusedEngine
from tsenet.training.losses import BinaryLoss, Loss, MulticlassLoss, MultilabelLoss, RegressionLoss

# ---- gradients


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
@pytest.mark.parametrize("is_sparse", [False, True])
@pytest.mark.parametrize("skip_units", [0, 6])
@pytest.mark.parametrize("density", [0.1, 0.5])
@pytest.mark.parametrize("activation", ["relu", "tanh", "sigmoid"])
def test_gradients_equal_autograds(
    activation: str, density: float, skip_units: int, is_sparse: bool, dtype: torch.dtype
) -> None:
    net = network(density=density, skip_units=skip_units, activation=activation).to(dtype)
    rows = np.random.default_rng(1).permutation(N_ROWS)[:150]

    assert_same_gradients(net, inputs(is_sparse), MULTICLASS, rows, CLASSES[rows])


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
@pytest.mark.parametrize("is_sparse", [False, True])
@pytest.mark.parametrize("density", [0.1, 0.5])
@pytest.mark.parametrize("units_per_latent", [2, 3, 8])
def test_gradients_of_blocks_equal_autograds(
    units_per_latent: int, density: float, is_sparse: bool, dtype: torch.dtype
) -> None:
    net = network(
        density=density, units_per_latent=units_per_latent, activation="tanh", linear_skip=True
    ).to(dtype)
    rows = np.random.default_rng(1).permutation(N_ROWS)[:150]

    assert_same_gradients(net, inputs(is_sparse), MULTICLASS, rows, CLASSES[rows])


@pytest.mark.parametrize("n_rows", [1, 15, 64, 81])
@pytest.mark.parametrize("is_sparse", [False, True])
def test_gradients_of_blocks_without_skips(is_sparse: bool, n_rows: int) -> None:
    wiring = random_wiring(np.random.default_rng(4), (N_INPUTS, 20, 12, 6), 0.25)
    net = TSENet(wiring, 4, skip_units=0, feature_units=5, units_per_latent=4).double()
    rows = np.arange(n_rows)

    assert_same_gradients(net, inputs(is_sparse), MULTICLASS, rows, CLASSES[rows])


@pytest.mark.parametrize("n_rows", [1, 2, 63, 64, 65, 128, 200])
@pytest.mark.parametrize("is_sparse", [False, True])
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_gradients_at_the_border_of_a_chunk(dtype: Any, is_sparse: bool, n_rows: int) -> None:
    """Row 0 is empty, and some row comes twice."""
    rows = np.append(np.arange(n_rows - 1), 1)

    assert_same_gradients(
        network().to(dtype), inputs(is_sparse), MULTICLASS, rows, CLASSES[rows], WEIGHTS[rows]
    )


@pytest.mark.parametrize("sizes", [(N_INPUTS, 9), (N_INPUTS, 20, 12, 6, 3)])
@pytest.mark.parametrize("skip_units", [0, 6])
@pytest.mark.parametrize("is_sparse", [False, True])
def test_gradients_for_other_depths(is_sparse: bool, skip_units: int, sizes: Any) -> None:
    wiring = random_wiring(np.random.default_rng(4), sizes, 0.15)
    net = TSENet(wiring, 4, skip_units=skip_units, feature_units=5, activation="tanh").double()
    rows = np.arange(100)

    assert_same_gradients(net, inputs(is_sparse), MULTICLASS, rows, CLASSES[rows])


@pytest.mark.parametrize("weights", [None, WEIGHTS])
@pytest.mark.parametrize("is_sparse", [False, True])
@pytest.mark.parametrize(
    ("loss", "targets"),
    [
        (MultilabelLoss(4), LABELS),
        (MultilabelLoss(4, [(1.0, 3.0), (2.0, 1.0), (1.0, 1.0), (0.5, 9.0)]), LABELS),
        (RegressionLoss(4), NUMBERS),
        (RegressionLoss(4), np.where(np.isnan(LABELS), np.nan, NUMBERS)),
        (RegressionLoss(1), NUMBERS[:, 0]),
        (BinaryLoss(), LABELS[:, 0]),
        (BinaryLoss((1.0, 4.0)), np.nan_to_num(LABELS[:, 0])),
        (MulticlassLoss(4, (1.0, 2.0, 3.0, 4.0)), np.where(CLASSES == 1, -1, CLASSES)),
    ],
    ids=lambda value: type(value).__name__,
)
def test_gradients_of_every_loss(
    loss: Loss, targets: Array, is_sparse: bool, weights: Array | None
) -> None:
    net = network(loss.n_outputs).double()
    rows = np.arange(90)
    weight = None if weights is None else weights[rows]

    assert_same_gradients(net, inputs(is_sparse), loss, rows, targets[rows], weight)


@pytest.mark.parametrize("is_sparse", [False, True])
@pytest.mark.parametrize("density", [0.19, 0.25])
def test_gradients_of_layers_that_are_cut_into_blocks(density: float, is_sparse: bool) -> None:
    """So large that links and skip weights are shared between several tasks."""
    rng = np.random.default_rng(8)
    wiring = random_wiring(rng, (3000, 200, 5), density)
    net = TSENet(wiring, 4, skip_units=100, feature_units=5, activation="tanh").double()
    values = random_rows(rng, 70, 3000, 0.02)
    names = [block.name for block in blocks_of(TrainingPasses(net), is_sparse=True)]
    for name in ("layers.0.weight", "skips.0.weight"):
        assert names.count(name) > 1

    data = Inputs(csr_array(values) if is_sparse else values)
    assert_same_gradients(net, data, MULTICLASS, np.arange(70), CLASSES[:70])


def test_a_label_nobody_knows_has_no_say() -> None:
    net, rows = network().double(), np.arange(80)
    engine = FusedEngine(net, inputs(True), MultilabelLoss(4), seed=SEED)

    loss, gradients = engine.compute_gradients(rows, np.full((80, 4), np.nan), None, 1)

    assert loss == 0
    assert all((gradient == 0).all() for gradient in gradients.values())


# ---- steps


@pytest.mark.parametrize("units_per_latent", [1, 2])
@pytest.mark.parametrize("is_sparse", [False, True])
def test_twenty_steps_equal_torchs_adam(is_sparse: bool, units_per_latent: int) -> None:
    net = network(units_per_latent=units_per_latent).double()
    other = copy.deepcopy(net)
    data = inputs(is_sparse)
    engine = FusedEngine(net, data, MULTICLASS, seed=SEED, n_jobs=2)
    optimiser = torch.optim.Adam(other.parameters())

    for step in range(20):
        rows = np.random.default_rng(step).permutation(N_ROWS)[: 100 if step % 3 else 70]
        rate = 0.01 / (1 + step)
        found = engine.step(rows, CLASSES[rows], WEIGHTS[rows], rate, step)
        optimiser.param_groups[0]["lr"] = rate
        optimiser.zero_grad()
        expected = autograd_loss(other, data, MULTICLASS, rows, CLASSES[rows], WEIGHTS[rows], step)
        expected.backward()
        optimiser.step()
        assert found == pytest.approx(expected.item(), rel=1e-9)

    for (name, mine), theirs in zip(net.named_parameters(), other.parameters(), strict=True):
        torch.testing.assert_close(mine, theirs, rtol=1e-9, atol=1e-9, msg=lambda m, n=name: n + m)


def test_training_makes_the_loss_smaller() -> None:
    engine = FusedEngine(network(dropout=0.0), inputs(True), MULTICLASS)
    losses = run(engine, range(60))

    assert np.mean(losses[-5:]) < 0.75 * np.mean(losses[:5])


@pytest.mark.parametrize("is_sparse", [False, True])
def test_both_engines_drop_the_same_inputs(is_sparse: bool) -> None:
    """Two steps with input dropout give the same weights, and others than without."""
    weights = {}
    for name, rate in (("fused", 0.3), ("autograd", 0.3), ("none", 0.0)):
        net = network(density=0.5, skip_units=4, activation="relu")
        kind: Any = AutogradEngine if name == "autograd" else FusedEngine
        engine = kind(net, inputs(is_sparse), MULTICLASS, seed=SEED, input_dropout=rate)
        for step in range(2):
            engine.step(np.arange(60), CLASSES[:60], None, 1e-2, step)
        weights[name] = net.top.weight.detach().numpy().copy()
    assert np.allclose(weights["fused"], weights["autograd"], atol=1e-4)
    assert not np.allclose(weights["fused"], weights["none"], atol=1e-3)


@pytest.mark.parametrize("is_sparse", [False, True])
def test_dropped_inputs_keep_their_mean_and_the_table_stays(is_sparse: bool) -> None:
    table = inputs(is_sparse)
    before = table.values.copy()
    batches = [table.batch(np.arange(40), 0.25, key) for key in range(200)]
    each = np.stack(
        [b.numpy() if isinstance(b, torch.Tensor) else b.values.numpy() for b in batches]
    )
    plain: Any = table.batch(np.arange(40))
    expected = plain.numpy() if isinstance(plain, torch.Tensor) else plain.values.numpy()
    assert np.mean(each[:, expected != 0] == 0) == pytest.approx(0.25, abs=0.01)
    assert np.abs(each.mean(axis=0) - expected).mean() < 0.1 * np.abs(expected).mean()
    assert (table.values != before).sum() == 0
