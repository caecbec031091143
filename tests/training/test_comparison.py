"""Losses by parts of the rows, and their error."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import sem
from sklearn.metrics import log_loss

from tsenet.training.comparison import losses_by_part, standard_error
from tsenet.training.losses import MulticlassLoss


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
    found = losses_by_part(MulticlassLoss(3), outputs, targets, weights)
    assert found == pytest.approx(np.array(expected))


def test_the_standard_error_is_scipys() -> None:
    values = np.random.default_rng(0).normal(size=10)
    assert standard_error(values) == pytest.approx(sem(values))
    assert standard_error(values[:1]) == 0.0
