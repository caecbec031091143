"""Pruning a fitted TSE-Net to a number of parameters."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from sklearn.datasets import load_digits

import tsenet
from tsenet import TSENetClassifier

X, Y = load_digits(return_X_y=True)


@pytest.fixture(scope="module")
def model() -> TSENetClassifier:
    made = TSENetClassifier(random_state=0, max_epochs=15, skip_units=10, feature_units=10)
    return made.fit(X[:1200], Y[:1200]).prune(1500, X[:1200], Y[:1200])


def non_zero(model: TSENetClassifier) -> int:
    return sum(
        p.numel() if name.endswith("bias") else int((p != 0).sum())
        for name, p in model.net_.named_parameters()
    )


def test_as_many_are_left_as_asked_for_and_they_know_their_trade(model: TSENetClassifier) -> None:
    assert model.n_parameters_ == 1500
    assert non_zero(model) <= 1500  # a weight may be trained to exactly 0
    assert non_zero(model) > 1480
    assert model.score(X[1200:], Y[1200:]) > 0.85


def test_removed_weights_stay_removed(model: TSENetClassifier) -> None:
    before = {name: (p == 0).numpy() for name, p in model.net_.named_parameters()}
    model.partial_fit(X[:300], Y[:300])
    for name, p in model.net_.named_parameters():
        if not name.endswith("bias"):
            assert (p[before[name]] == 0).all()


def test_a_file_keeps_it(model: TSENetClassifier, tmp_path: Path) -> None:
    model.save(tmp_path / "pruned.tsenet")
    again = tsenet.load(tmp_path / "pruned.tsenet")

    assert abs(again.n_parameters_ - model.n_parameters_) < 20
    assert np.array_equal(again.decision_function(X), model.decision_function(X))


def test_the_strongest_are_kept() -> None:
    """Without training the outputs change least among ways to remove as many of the input's direct weights."""
    fitted = TSENetClassifier(random_state=0, skip_units=0, max_epochs=3).fit(X[:300], Y[:300])
    before = fitted.decision_function(X)
    n_half = fitted.n_parameters_ // 2
    fitted.prune(n_half, X[:300])

    assert np.corrcoef(fitted.decision_function(X).ravel(), before.ravel())[0, 1] > 0.95


def test_impossible_numbers_are_refused() -> None:
    fitted = TSENetClassifier(random_state=0, max_epochs=1, skip_units=0).fit(X[:200], Y[:200])
    for wrong in (3, 10**9):
        with pytest.raises(ValueError, match="n_parameters must lie between"):
            fitted.prune(wrong, X)
