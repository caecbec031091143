"""Losses by parts of the rows, and their error."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy.stats import sem
from sklearn.metrics import log_loss

from tests.training.examples import labelled
from tsenet.network.inputs import Inputs
from tsenet.training.examples import Examples
from tsenet.training.linear_teacher import calibrated_score, losses_by_part, standard_error
from tsenet.training.losses import BinaryLoss, Loss, MulticlassLoss, MultilabelLoss, RegressionLoss


def held(targets: np.ndarray, weights: Any = None) -> Examples:
    return labelled(Inputs(np.zeros((len(targets), 1), np.float32)), targets, weights)


@pytest.mark.parametrize("n_rows", [37, 4])
@pytest.mark.parametrize("weighted", [False, True])
def test_losses_by_part_are_scikit_learns(n_rows: int, weighted: bool) -> None:
    rng = np.random.default_rng(0)
    outputs, targets = rng.normal(size=(n_rows, 3)), rng.integers(3, size=n_rows)
    weights = rng.random(n_rows) if weighted else None
    shares = np.exp(outputs) / np.exp(outputs).sum(axis=1, keepdims=True)
    expected = [
        log_loss(
            targets[k::10],
            shares[k::10],
            labels=[0, 1, 2],
            sample_weight=None if weights is None else weights[k::10],
        )
        for k in range(min(10, n_rows))
    ]
    found = losses_by_part(MulticlassLoss(3), held(targets, weights), outputs)
    assert found == pytest.approx(np.array(expected))


def test_the_standard_error_is_scipys() -> None:
    values = np.random.default_rng(0).normal(size=10)
    assert standard_error(values) == pytest.approx(sem(values))
    assert standard_error(values[:1]) == 0.0


@pytest.mark.parametrize(
    ("loss", "targets"),
    [
        (MulticlassLoss(3), np.arange(200) % 3),
        (BinaryLoss(), np.arange(200) % 2.0),
        (MultilabelLoss(2), (np.arange(400) % 3 == 0).astype(float).reshape(200, 2)),
    ],
)
def test_a_calibrated_score_does_not_depend_on_how_sure_outputs_are(
    loss: Loss, targets: np.ndarray
) -> None:
    """Outputs times any factor have the same score, and the best factor's loss is its value."""
    rng = np.random.default_rng(0)
    true = np.eye(3)[targets] if loss.n_outputs == 3 else 2.0 * targets.reshape(200, -1) - 1.0
    outputs = true + rng.normal(size=(200, loss.n_outputs))
    score = calibrated_score(loss)
    assert score is not None
    values = [score(held(targets), f * outputs) for f in (0.5, 1.0, 5.0)]
    assert values == pytest.approx([values[0]] * 3, rel=1e-3)
    tried = [-loss.gradient(f * outputs, targets)[0] for f in np.linspace(0.1, 5, 200)]
    assert values[0] == pytest.approx(max(tried), abs=5e-3)
    assert np.isfinite(score(held(targets), 1e6 * outputs))


def test_squared_error_is_its_own_score() -> None:
    assert calibrated_score(RegressionLoss()) is None
