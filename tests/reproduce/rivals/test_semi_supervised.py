"""Rivals that learn from rows without labels, and wrappers for counts and for several labels."""

from __future__ import annotations

import numpy as np
import scipy.sparse as sp
from sklearn.ensemble import RandomForestClassifier
from sklearn.feature_extraction.text import TfidfTransformer
from sklearn.linear_model import LogisticRegression

from reproduce.rivals import (
    ByLabel,
    OfTfidf,
    PrunedLogisticRegression,
    SelfTraining,
    StartAlone,
    TunedLogisticRegression,
    by_label,
    n_parameters,
)
from tests.reproduce.tiny import tiny_labels, tiny_text


def test_tfidf_is_that_of_scikit_learn() -> None:
    data = tiny_text()
    few, every, y = data.train.X[:60], data.train.X, data.train.y[:60]
    model = OfTfidf(LogisticRegression()).fit(few, y, idf_from=every)
    weights = TfidfTransformer(sublinear_tf=True).fit(every)
    wanted = LogisticRegression().fit(weights.transform(few), y)
    assert np.allclose(
        model.predict_proba(data.test.X), wanted.predict_proba(weights.transform(data.test.X))
    )
    assert n_parameters(model) == wanted.coef_.size + wanted.intercept_.size


def test_rows_without_labels_help_self_training_and_the_start() -> None:
    data = tiny_text(n_train=600)
    y = np.full(600, -1)
    first = [np.flatnonzero(data.train.y == k)[:3] for k in range(3)]
    rows = np.concatenate(first)
    y[rows] = data.train.y[rows]
    few, known = data.train.X[rows], data.train.y[rows]
    plain = TunedLogisticRegression(random_state=0).fit(few, known)
    score = (plain.predict(data.test.X) == data.test.y).mean()
    taught = SelfTraining(random_state=0).fit(few, known, unlabelled=data.train.X)
    assert (taught.predict(data.test.X) == data.test.y).mean() >= score
    start = StartAlone().fit(data.train.X, y)
    assert (start.predict(data.test.X) == data.test.y).mean() >= score
    assert start.n_parameters_ == 3 * (24 + 1)
    assert np.allclose(start.predict_proba(data.test.X).sum(axis=1), 1.0)


def test_self_training_without_other_rows_is_logistic_regression() -> None:
    data = tiny_text()
    model = SelfTraining(random_state=0).fit(data.train.X, data.train.y)
    plain = TunedLogisticRegression(random_state=0).fit(data.train.X, data.train.y)
    assert np.array_equal(model.predict(data.test.X), plain.predict(data.test.X))


def test_pruned_logistic_regression_keeps_the_columns_with_the_largest_weights() -> None:
    rng = np.random.default_rng(0)
    X = sp.csr_array(rng.normal(size=(300, 10)))
    y = (X.toarray()[:, [2, 7]].sum(axis=1) > 0).astype(int)
    model = PrunedLogisticRegression(3, random_state=0).fit(X, y)
    assert model.columns_.tolist() == [2, 7]
    assert n_parameters(model) == 3
    assert (model.predict(X) == y).mean() > 0.95


def test_several_labels_are_fitted_one_by_one_on_the_rows_that_have_them() -> None:
    data = tiny_labels()
    y = data.train.y
    model = by_label(LogisticRegression(), y).fit(data.train.X, y)
    assert isinstance(model, ByLabel)
    chances = model.predict_proba(data.test.X)
    assert chances.shape == (120, 7)
    known = ~np.isnan(y[:, 3])
    alone = LogisticRegression().fit(data.train.X[known], y[known, 3].astype(int))
    assert np.array_equal(chances[:, 3], alone.predict_proba(data.test.X)[:, 1])
    lone = np.where(np.isnan(y), np.nan, 0.0)  # of each label only one kind is known
    sure = ByLabel(RandomForestClassifier(2)).fit(data.train.X, lone)
    assert not sure.predict_proba(data.test.X).any()
    assert not sure.predict(data.test.X).any()
    one = y[known, 3].astype(int)
    assert by_label(LogisticRegression(), one).__class__ is LogisticRegression
