"""Linear controls, features from rows without labels, and the count of what each model has learned."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, TransformerMixin, clone
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import StratifiedKFold, cross_val_score
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC
from sklearn.utils.estimator_checks import check_estimator

from reproduce.rivals import (
    TunedLogisticRegression,
    TwoStage,
    linear,
    logistic_regression,
    n_parameters,
    ppmi_logistic_regression,
    scaled_logistic_regression,
    svd_logistic_regression,
)
from tsenet import TSENetClassifier

Floats = NDArray[np.float64]


@pytest.fixture(scope="module")
def topics() -> tuple[sp.csr_array, NDArray[np.int64]]:
    """1,200 short documents of 3 topics over 90 words, tf weights: few words each, so few labels say little."""
    rng = np.random.default_rng(0)
    topic = rng.integers(3, size=1200)
    chance = np.full((3, 90), 0.01)
    for k in range(3):
        chance[k, 30 * k : 30 * k + 30] = 0.1
    words = (rng.random((1200, 90)) < chance[topic]) * rng.uniform(0.5, 2, (1200, 90))
    return sp.csr_array(words), topic


# ---- logistic regression


def test_c_is_the_best_in_cross_validation(topics: tuple[sp.csr_array, NDArray[np.int64]]) -> None:
    X, y = topics[0][:150], topics[1][:150]
    model = logistic_regression(random_state=3).fit(X, y)
    folds = StratifiedKFold(5, shuffle=True, random_state=3)
    scores = [
        cross_val_score(LogisticRegression(C=c, max_iter=1000), X, y, cv=folds).mean()
        for c in (0.01, 0.1, 1.0, 10.0, 100.0)
    ]
    assert len(set(scores)) > 1
    assert linear.STRENGTHS[int(np.argmax(scores))] == model.model_.C
    expected = LogisticRegression(C=model.model_.C, max_iter=1000).fit(X, y)
    assert np.allclose(model.predict_proba(X), expected.predict_proba(X))
    assert np.allclose(model.decision_function(X), expected.decision_function(X))
    assert np.array_equal(model.predict(X), expected.predict(X))
    assert model.classes_.tolist() == [0, 1, 2]


def test_few_rows_take_c_1_and_few_folds(topics: tuple[sp.csr_array, NDArray[np.int64]]) -> None:
    X, y = topics
    rows = np.concatenate([np.flatnonzero(y == k)[: 40 if k else 2] for k in range(3)])
    assert logistic_regression(0).fit(X[rows], y[rows]).model_.C == 1.0
    three = np.concatenate([np.flatnonzero(y == k)[: 40 if k else 3] for k in range(3)])
    split = TunedLogisticRegression(random_state=0)._split(np.bincount(y[three]))
    assert split.n_splits == 3
    logistic_regression(0).fit(X[three], y[three])


def test_many_rows_are_split_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(linear, "MANY_ROWS", 100)
    counts = np.array([60, 60])
    split = TunedLogisticRegression(random_state=0)._split(counts)
    ((inside, out),) = split.split(np.zeros(120), np.repeat([0, 1], counts))
    assert (inside.size, out.size) == (108, 12)


def test_every_check_of_sklearn_passes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(linear, "STRENGTHS", (0.1, 1.0))  # the checks fit it hundreds of times
    monkeypatch.setattr(linear, "FOLDS", 2)
    results = check_estimator(TunedLogisticRegression(random_state=0), on_fail=None, on_skip=None)
    others = {r["check_name"]: repr(r["exception"]) for r in results if r["status"] != "passed"}
    assert set(others) <= {"check_array_api_input"}, others


# ---- two stages


class Recorder(TransformerMixin, BaseEstimator):
    """Centres the columns, and remembers how many rows it was fitted on."""

    def fit(self, X: Any, y: Any = None) -> Recorder:
        assert y is None
        self.n_features_in_ = X.shape[1]
        self.n_rows_, self.mean_ = X.shape[0], X.mean(axis=0)
        return self

    def transform(self, X: Any) -> Any:
        return X - self.mean_


def test_the_transformer_sees_all_rows_and_the_classifier_the_labelled(rows: Floats) -> None:
    y = rows[:50, 0]
    given = TwoStage(Recorder(), LogisticRegression())
    model = given.fit(rows[:50], y, unlabelled=rows)
    assert model.transformer_.n_rows_ == 400
    expected = LogisticRegression().fit(rows[:50] - rows.mean(axis=0), y)
    centred = rows - rows.mean(axis=0)
    assert np.allclose(model.classifier_.coef_, expected.coef_)
    assert np.allclose(model.transform(rows), centred)
    assert np.allclose(model.predict_proba(rows), expected.predict_proba(centred))
    assert np.allclose(model.decision_function(rows), expected.decision_function(centred))
    assert np.array_equal(model.predict(rows), expected.predict(centred))
    assert model.score(rows, rows[:, 0]) == expected.score(centred, rows[:, 0])
    assert (model.n_features_in_, model.classes_.tolist()) == (12, [0, 1])
    assert not hasattr(given.transformer, "n_rows_")  # what was given is left as it is
    assert clone(given).fit(rows[:50], y).transformer_.n_rows_ == 50
    with pytest.raises(NotFittedError):
        clone(given).predict(rows)


@pytest.mark.parametrize("make", [svd_logistic_regression, ppmi_logistic_regression])
def test_rows_without_labels_help(
    make: Any, topics: tuple[sp.csr_array, NDArray[np.int64]]
) -> None:
    X, y = topics
    few = np.concatenate([np.flatnonzero(y == k)[:2] for k in range(3)])
    test = np.setdiff1d(np.arange(1200), few)
    alone = logistic_regression(0).fit(X[few], y[few]).score(X[test], y[test])
    model = make(3, random_state=0).fit(X[few], y[few], unlabelled=X)
    assert model.score(X[test], y[test]) > max(0.9, alone + 0.1)
    again = make(3, random_state=0).fit(X[few], y[few], unlabelled=X)
    assert np.array_equal(model.predict_proba(X), again.predict_proba(X))


def test_features_have_length_1(topics: tuple[sp.csr_array, NDArray[np.int64]]) -> None:
    X, y = topics
    for make in (svd_logistic_regression, ppmi_logistic_regression):
        length = np.linalg.norm(make(4, random_state=0).fit(X, y).transform(X), axis=1)
        assert np.allclose(length[np.diff(X.indptr) > 0], 1)  # an empty document has no direction


def test_columns_are_scaled_by_all_rows(rows: Floats) -> None:
    table = rows * np.arange(1, 13) + 5.0  # columns on scales of their own
    y = (rows[:80, 0] > 0) ^ (
        np.random.default_rng(0).random(80) < 0.2
    )  # little to learn: C is small
    model = scaled_logistic_regression(random_state=0)
    model.fit(table[:80], y, unlabelled=table)
    seen = StandardScaler().fit(table).transform(table)
    assert np.allclose(model.transform(table), seen)
    folds = StratifiedKFold(5, shuffle=True, random_state=0)
    values = (1e-4, 1e-3, 0.01, 0.1, 1.0, 10.0, 100.0)
    scores = [
        cross_val_score(LogisticRegression(C=c, max_iter=1000), seen[:80], y, cv=folds).mean()
        for c in values
    ]
    assert values[int(np.argmax(scores))] == model.classifier_.model_.C
    assert min(linear.STRENGTHS) > model.classifier_.model_.C
    assert n_parameters(model) == 12 + 1


# ---- how many numbers


def test_numbers_learned(topics: tuple[sp.csr_array, NDArray[np.int64]]) -> None:
    X, y = topics
    quick: dict[str, Any] = {"random_state": 0, "max_epochs": 1}
    logistic = 3 * 90 + 3
    assert n_parameters(logistic_regression(0).fit(X, y)) == logistic
    assert n_parameters(LogisticRegression().fit(X, y > 0)) == 90 + 1
    assert n_parameters(svd_logistic_regression(7).fit(X, y)) == 7 * 90 + 3 * 7 + 3
    assert n_parameters(ppmi_logistic_regression(7).fit(X, y)) == 7 * 90 + 3 * 7 + 3
    net = TSENetClassifier(**quick, max_top=5, skip_units=3, feature_units=3).fit(X, y)
    assert n_parameters(net) == sum(p.numel() for p in net.net_.parameters())
    stumps = HistGradientBoostingClassifier(max_iter=4, max_leaf_nodes=2)
    # four rounds of a tree for each class: a split and two leaves
    assert n_parameters(stumps.fit(X.toarray(), y)) == 4 * 3 * 3
    with pytest.raises(TypeError, match="SVC"):
        n_parameters(SVC().fit(X, y))
    with pytest.raises(NotFittedError):
        n_parameters(LogisticRegression())
