"""Scores against scikit-learn; unknown labels are left out."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray
from sklearn.metrics import accuracy_score, roc_auc_score

from reproduce.scoring import kept, metric_of, pack, score_on, unpack, without
from tests.reproduce.tiny import tiny_labels, tiny_task, tiny_text
from tsenet.datasets import Part
from tsenet.errors import DataError


class Guesser:
    """Answers at random, but always the same to the same rows."""

    def __init__(self, n_outputs: int) -> None:
        self.n_outputs = n_outputs

    def predict_proba(self, X: Any) -> NDArray[np.float64]:
        mixed = np.random.default_rng(0).normal(size=(X.shape[1], self.n_outputs))
        chance = 1 / (1 + np.exp(-np.asarray(X @ mixed)))
        return np.asarray(chance / chance.sum(axis=1, keepdims=True))

    def predict(self, X: Any) -> NDArray[np.int64]:
        return np.asarray(self.predict_proba(X).argmax(axis=1))


def test_accuracy_is_scikit_learns() -> None:
    data = tiny_text()
    model = Guesser(3)
    score = score_on(model, data.test, data)
    assert metric_of(data) == "accuracy"
    assert score.value == pytest.approx(accuracy_score(data.test.y, model.predict(data.test.X)))
    stored = kept(score)
    assert np.mean(unpack(stored["right"], stored["n_rows"])) == pytest.approx(score.value)


def test_areas_are_scikit_learns_over_known_labels() -> None:
    data = tiny_labels()
    model = Guesser(7)
    chance = model.predict_proba(data.test.X)
    score = score_on(model, data.test, data)
    for label in range(7):
        known = ~np.isnan(data.test.y[:, label])
        wanted = roc_auc_score(data.test.y[known, label], chance[known, label])
        assert score.areas[label] == pytest.approx(wanted)
    assert score.value == pytest.approx(np.mean(score.areas))
    assert kept(score) == {"areas": list(score.areas)}


def test_a_task_of_tox21_is_scored_by_its_area() -> None:
    data = tiny_task("tox21/NR-AR")
    model = Guesser(2)
    wanted = roc_auc_score(data.test.y, model.predict_proba(data.test.X)[:, 1])
    score = score_on(model, data.test, data)
    assert score.value == pytest.approx(wanted)
    assert len(score.areas) == 1


def test_a_label_of_one_kind_has_no_area() -> None:
    data = tiny_labels(n_labels=2)
    y = data.test.y.copy()
    y[:, 0] = np.where(np.isnan(y[:, 0]), np.nan, 0.0)
    score = score_on(Guesser(2), Part(data.test.X, y), data)
    assert score.areas[0] is None
    assert score.value == score.areas[1]
    with pytest.raises(DataError, match="no area"):
        score_on(Guesser(2), Part(data.test.X, np.zeros_like(y)), data)


def test_the_score_without_duplicates() -> None:
    data = tiny_text()
    model = Guesser(3)
    mask = data.card.in_training
    right = model.predict(data.test.X) == data.test.y
    assert without(model, data.test, data, mask) == pytest.approx(right[~mask].mean())
    assert without(model, data.test, data, np.zeros_like(mask)) is None
    assert without(model, data.test, data, np.ones_like(mask)) is None


@given(st.lists(st.booleans(), max_size=70))
def test_bits_survive(bits: list[bool]) -> None:
    assert unpack(pack(np.array(bits, bool)), len(bits)).tolist() == bits
