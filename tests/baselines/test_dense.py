"""Dense classifier and regressor: every check of scikit-learn's, and the behaviour they share with TSE-Net's."""

from __future__ import annotations

import pickle
from typing import Any

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
import torch
from numpy.typing import NDArray
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.model_selection import GridSearchCV
from sklearn.utils.estimator_checks import check_estimator

import tsenet
from tsenet import DataError
from tsenet.baselines import DenseClassifier, DenseRegressor

Floats = NDArray[np.float64]
QUICK: dict[str, Any] = {"random_state": 0, "max_epochs": 15, "hidden": (20, 10), "n_jobs": 1}


@pytest.fixture(scope="module")
def fitted(rows: Floats, kinds: NDArray[Any]) -> DenseClassifier:
    return DenseClassifier(**QUICK).fit(rows, kinds)


# ---- scikit-learn


@pytest.mark.parametrize("kind", [DenseClassifier, DenseRegressor])
def test_every_check_of_sklearn_passes(kind: type) -> None:
    quick = kind(hidden=(40,), learning_rate=1e-2, max_epochs=20)  # the checks fit it 400 times
    results = check_estimator(quick, on_fail=None, on_skip=None)
    assert len(results) > 60
    assert not [r["check_name"] for r in results if r["expected_to_fail"]]
    others = {r["check_name"]: repr(r["exception"]) for r in results if r["status"] != "passed"}
    assert set(others) <= {"check_array_api_input"}, others
    assert all("SCIPY_ARRAY_API" in text for text in others.values())


def test_parameters_are_those_of_the_api() -> None:
    defaults = DenseClassifier().get_params()
    assert defaults["hidden"] == (512,)
    assert set(defaults) - set(DenseRegressor().get_params()) == {"class_weight"}
    ours = tsenet.TSENetClassifier().get_params()
    assert set(defaults) - {"hidden"} < set(ours)
    for name in ("validation_fraction", "patience"):
        assert defaults[name] == ours[name], name
    assert not hasattr(tsenet, "DenseClassifier")


def test_grid_search_chooses_hidden_layers(rows: Floats, kinds: NDArray[Any]) -> None:
    options = {**QUICK, "max_epochs": 40}
    search = GridSearchCV(DenseClassifier(**options), {"hidden": [(1,), (30, 10)]}, cv=2)
    assert search.fit(rows, kinds).best_params_ == {"hidden": (30, 10)}


def test_clone_and_pickle(fitted: DenseClassifier, rows: Floats) -> None:
    copy = clone(fitted)
    assert copy.get_params() == fitted.get_params()
    assert not hasattr(copy, "net_")
    again = pickle.loads(pickle.dumps(fitted))
    assert np.array_equal(again.predict_proba(rows), fitted.predict_proba(rows))
    assert not hasattr(fitted, "save")  # no file form


# ---- what is learned and answered


def test_answers_are_those_of_the_torch_module(fitted: DenseClassifier, rows: Floats) -> None:
    scaled = ((rows - rows.mean(axis=0)) / rows.std(axis=0)).astype(np.float32)
    with torch.no_grad():
        outputs = fitted.net_(torch.from_numpy(scaled)).numpy()
    assert np.allclose(outputs, fitted.decision_function(rows), atol=1e-5)
    assert not fitted.net_.training
    assert np.allclose(fitted.predict_proba(rows).sum(axis=1), 1)
    assert np.array_equal(fitted.predict(rows), fitted.classes_[outputs.argmax(axis=1)])


def test_it_learns(rows: Floats, kinds: NDArray[Any]) -> None:
    for form in (rows, sp.csr_array(rows)):
        model = DenseClassifier(**{**QUICK, "max_epochs": 60}).fit(form, kinds)
        assert model.score(form, kinds) > 0.9
        assert model.history_.train_loss[-1] < 0.5 * model.history_.train_loss[0]


def test_sparse_and_dense_rows_give_the_same(rows: Floats, kinds: NDArray[Any]) -> None:
    """Without centring the two forms of a table are the same numbers, so they train the same network."""
    sparse = DenseClassifier(**QUICK).fit(sp.csr_array(rows), kinds)
    assert np.allclose(
        sparse.decision_function(rows), sparse.decision_function(sp.csr_array(rows)), atol=1e-5
    )
    assert np.allclose(sparse.transform(rows), sparse.transform(sp.csc_array(rows)), atol=1e-5)
    dense = DenseClassifier(**QUICK).fit(rows, kinds)
    assert np.allclose(
        dense.decision_function(rows), dense.decision_function(sp.csr_array(rows)), atol=1e-5
    )


def test_an_answer_hardly_depends_on_the_other_rows(fitted: DenseClassifier, rows: Floats) -> None:
    everything = fitted.predict_proba(rows)
    alone = np.concatenate([fitted.predict_proba(rows[i : i + 1]) for i in range(30)])
    assert np.allclose(alone, everything[:30], rtol=1e-6, atol=0)


def test_two_classes_give_one_output(rows: Floats, kinds: NDArray[Any]) -> None:
    model = DenseClassifier(**QUICK).fit(rows, kinds == "red")
    decision = model.decision_function(rows)
    assert decision.shape == (400,)
    assert np.allclose(model.predict_proba(rows)[:, 1], 1 / (1 + np.exp(-decision)), atol=1e-6)
    assert model.n_parameters_ == (12 + 1) * 20 + (20 + 1) * 10 + 10 + 1


def test_labels_with_unknown_ones(rows: Floats, labels: Floats) -> None:
    model = DenseClassifier(**{**QUICK, "max_epochs": 60}).fit(rows, labels)
    known = ~np.isnan(labels)
    assert (model.predict(rows) == labels)[known].mean() > 0.9
    right = ((model.predict(rows) == labels) | ~known).all(axis=1)
    assert model.score(rows, labels) == pytest.approx(right[known.any(axis=1)].mean())


def test_a_label_nobody_knows_teaches_nothing(rows: Floats, labels: Floats) -> None:
    unknown = labels.copy()
    unknown[:, 1] = np.nan
    short, long = (
        DenseClassifier(**{**QUICK, "max_epochs": n}, early_stopping=False).fit(rows, unknown)
        for n in (1, 4)
    )
    before, after = (model.net_.layers[-1].weight.detach().numpy() for model in (short, long))
    assert np.array_equal(before[:, 1], after[:, 1])
    assert (before[:, [0, 2]] != after[:, [0, 2]]).mean() > 0.8


def test_regression(rows: Floats) -> None:
    sums = rows.reshape(400, 3, 4).sum(axis=2)
    options = {**QUICK, "max_epochs": 80, "dropout": 0.1}
    one = DenseRegressor(**options).fit(rows, 1000 + sums[:, 0])
    assert one.predict(rows).shape == (400,)
    assert one.score(rows, 1000 + sums[:, 0]) > 0.9
    unknown = sums.copy()
    unknown[::3, 1] = np.nan
    assert DenseRegressor(**options).fit(rows, unknown).score(rows, sums) > 0.8


def test_hidden_units_and_their_names(fitted: DenseClassifier, rows: Floats) -> None:
    hidden, names = fitted.transform(rows), fitted.get_feature_names_out().tolist()
    assert hidden.shape == (400, 30)
    assert (names[0], names[20], names[-1]) == ("hidden1.0", "hidden2.0", "hidden2.9")
    assert len(set(names)) == 30
    output = fitted.net_.layers[-1]
    outputs = hidden[:, 20:] @ output.weight.detach().numpy() + output.bias.detach().numpy()
    assert np.allclose(outputs, fitted.decision_function(rows), atol=1e-5)
    assert fitted.n_parameters_ == 12 * 20 + 20 + 20 * 10 + 10 + 10 * 3 + 3


def test_same_seed_same_bytes(rows: Floats, kinds: NDArray[Any], fitted: DenseClassifier) -> None:
    order = np.random.default_rng(5).permutation(400)
    again = DenseClassifier(**QUICK).fit(rows[order], kinds[order])
    assert np.array_equal(again.predict_proba(rows), fitted.predict_proba(rows))
    other = DenseClassifier(**{**QUICK, "random_state": 1}).fit(rows, kinds)
    assert not np.array_equal(other.predict_proba(rows), fitted.predict_proba(rows))


def test_weights_of_rows_and_classes(rows: Floats, kinds: NDArray[Any]) -> None:
    weights = np.arange(400) % 3
    weighted = DenseClassifier(**QUICK).fit(rows, kinds, sample_weight=weights)
    repeated = DenseClassifier(**QUICK).fit(np.repeat(rows, weights, 0), np.repeat(kinds, weights))
    assert np.array_equal(weighted.predict_proba(rows), repeated.predict_proba(rows))
    noise = np.random.default_rng(2).integers(2, size=400)
    model = DenseClassifier(**QUICK, class_weight={0: 25, 1: 1}).fit(rows, noise)
    assert model.predict(rows).mean() < 0.1


def test_dataframes_with_categories(rows: Floats) -> None:
    frame = pd.DataFrame({"a": rows[:, 0], "colour": np.where(rows[:, 1] > 0, "red", "blue")})
    model = DenseClassifier(**{**QUICK, "max_epochs": 60}).fit(frame, rows[:, 1])
    assert model.score(frame, rows[:, 1]) == 1.0
    assert model.net_.layers[0].weight.shape == (3, 20)
    with pytest.raises(ValueError, match="feature names"):
        model.predict(frame[["colour", "a"]])


def test_negative_sparse_values_are_welcome(rows: Floats, kinds: NDArray[Any]) -> None:
    negative = sp.csr_array(-rows)  # TSE-Net reads sparse rows as present or absent, this does not
    assert (
        DenseClassifier(**{**QUICK, "max_epochs": 60}).fit(negative, kinds).score(negative, kinds)
        > 0.9
    )


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        ({"hidden": ()}, "hidden layer"),
        ({"dropout": 1.0}, "dropout"),
        ({"learning_rate": 0.0}, "learning_rate"),
    ],
)
def test_wrong_options_are_refused(
    wrong: Any, said: str, rows: Floats, kinds: NDArray[Any]
) -> None:
    with pytest.raises(ValueError, match=said):
        DenseClassifier(**{**QUICK, **wrong}).fit(rows, kinds)


def test_clear_errors(rows: Floats, kinds: NDArray[Any]) -> None:
    with pytest.raises(NotFittedError):
        DenseClassifier().predict(rows)
    with pytest.raises(DataError, match="needs at least two classes"):
        DenseClassifier().fit(rows, np.zeros(400))
    with pytest.raises(ValueError, match="features"):
        DenseClassifier(**QUICK).fit(rows, kinds).predict(rows[:, :5])
