"""Targets and weights of the rows: what they mean, and what is refused."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from sklearn.datasets import load_iris

from tests.builders import FAST
from tsenet import DataError, TSENetClassifier, TSENetRegressor

Floats = NDArray[np.float64]


def test_whole_weights_are_repetitions(rows: Floats, kinds: NDArray[Any]) -> None:
    weights = np.arange(600) % 3
    weighted = TSENetClassifier(**FAST).fit(rows, kinds, sample_weight=weights)
    repeated = TSENetClassifier(**FAST).fit(np.repeat(rows, weights, 0), np.repeat(kinds, weights))
    assert np.array_equal(weighted.predict_proba(rows), repeated.predict_proba(rows))


def test_other_weights_count_in_the_loss(rows: Floats) -> None:
    noise = np.random.default_rng(2).integers(2, size=600)
    towards_one = np.where(noise == 1, 2.5, 0.1)
    model = TSENetClassifier(**FAST).fit(rows, noise, sample_weight=towards_one)
    assert model.predict(rows).mean() > 0.9


def test_targets_and_weights_of_another_length_are_refused_in_our_words() -> None:
    X, y = load_iris(return_X_y=True)
    for make in (TSENetClassifier, TSENetRegressor):
        model = make(random_state=0, max_epochs=1)
        with pytest.raises(DataError, match="X has 150 rows, but y has 149"):
            model.fit(X, y[1:])
        with pytest.raises(DataError, match="X has 150 rows, but sample_weight has 149"):
            model.fit(X, y, sample_weight=np.ones(149))
        for wrong in (np.ones((150, 1)), ["a"] * 150, -np.ones(150), np.zeros(150)):
            with pytest.raises(DataError, match="sample_weight"):
                model.fit(X, y, sample_weight=wrong)
        model.fit(X, y)
        with pytest.raises(DataError, match="X has 150 rows, but y has 149"):
            model.score(X, y[1:])
        with pytest.raises(DataError, match="sample_weight has 3"):
            model.score(X, y, sample_weight=[1, 1, 1])
