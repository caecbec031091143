"""Classes, labels and their weights: what a classifier answers."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from tests.builders import FAST
from tsenet import DataError, TSENetClassifier

Floats = NDArray[np.float64]


def test_answers_agree_with_each_other(classifier: TSENetClassifier, rows: Floats) -> None:
    shares = classifier.predict_proba(rows)
    scores = classifier.decision_function(rows)
    assert shares.shape == scores.shape == (600, 3)
    assert np.allclose(shares.sum(axis=1), 1)
    assert np.allclose(np.diff(np.log(shares), axis=1), np.diff(scores, axis=1), atol=1e-5)
    assert np.array_equal(classifier.predict(rows), classifier.classes_[shares.argmax(axis=1)])


def test_two_classes_give_one_decision(rows: Floats, kinds: NDArray[Any]) -> None:
    model = TSENetClassifier(**FAST).fit(rows, kinds == "red")
    assert model.classes_.tolist() == [False, True]
    decision = model.decision_function(rows)
    assert decision.shape == (600,)
    assert np.allclose(model.predict_proba(rows)[:, 1], 1 / (1 + np.exp(-decision)), atol=1e-6)
    assert np.array_equal(model.predict(rows), decision > 0)


def test_labels_with_unknown_ones(rows: Floats, labels: Floats) -> None:
    model = TSENetClassifier(**{**FAST, "max_epochs": 60}).fit(rows, labels)
    shares = model.predict_proba(rows)
    assert shares.shape == (600, 3)
    assert np.array_equal(model.predict(rows), (shares > 0.5).astype(int))
    known = ~np.isnan(labels)
    assert (model.predict(rows) == labels)[known].mean() > 0.85
    right = ((model.predict(rows) == labels) | ~known).all(axis=1)
    assert model.score(rows, labels) == pytest.approx(right[known.any(axis=1)].mean())


def test_class_weight(rows: Floats, labels: Floats) -> None:
    noise = np.random.default_rng(2).integers(2, size=600)
    model = TSENetClassifier(**FAST, class_weight={0: 25, 1: 1}).fit(rows, noise)
    assert model.predict(rows).mean() < 0.1
    for weights in ({0: 25, 1: 1}, [{0: 25, 1: 1}] * 3):
        several = TSENetClassifier(**FAST, class_weight=weights).fit(rows, labels)
        plain = TSENetClassifier(**FAST).fit(rows, labels)
        assert several.predict(rows).mean() < plain.predict(rows).mean()
    rare = np.where(np.isnan(labels), np.nan, labels * (np.arange(600) % 4 == 0)[:, None])
    balanced = TSENetClassifier(**FAST, class_weight="balanced").fit(rows, rare)
    assert (
        balanced.predict(rows).mean()
        > TSENetClassifier(**FAST).fit(rows, rare).predict(rows).mean()
    )


def test_one_class_is_refused(rows: Floats) -> None:
    with pytest.raises(DataError, match="only one class: 'a'"):
        TSENetClassifier().fit(rows, ["a"] * 600)


def test_rare_class_is_kept_for_training(rows: Floats, kinds: NDArray[Any]) -> None:
    rare = kinds.astype(object)
    rare[7] = "once"
    model = TSENetClassifier(**FAST).fit(rows, rare)
    assert "once" in model.classes_
    assert model.predict_proba(rows).shape == (600, 4)
