"""What people do in a notebook: gaps in the rows, validation rows of their own, importances, mistyped parameters."""

from __future__ import annotations

import pickle
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from numpy.typing import NDArray
from sklearn.feature_selection import SelectFromModel
from sklearn.metrics import roc_auc_score

import tsenet
from tests.builders import QUICK, one_latent_rows
from tsenet import TSENetClassifier, TSENetRegressor
from tsenet.explain import explain_prediction
from tsenet.explain.affine import column_importances

FAST = {**QUICK, "max_epochs": 8}

Floats = NDArray[np.float64]


@pytest.fixture(scope="module")
def rows() -> Floats:
    """400 rows of two groups of four columns, and two of noise."""
    rng = np.random.default_rng(0)
    groups = one_latent_rows(rng, 400, (4, 4))
    return np.column_stack([groups, rng.normal(size=(400, 2))]).astype(np.float64)


@pytest.fixture(scope="module")
def kinds(rows: Floats) -> NDArray[Any]:
    """Three classes by how many of the second group are on."""
    return np.array(["few", "some", "many"])[np.digitize(rows[:, 4:8].sum(axis=1), [1, 3])]


@pytest.fixture(scope="module")
def fitted(rows: Floats, kinds: NDArray[Any]) -> TSENetClassifier:
    return TSENetClassifier(**FAST).fit(rows, kinds)


# ---- gaps in the rows


def with_gaps(rows: Floats) -> Floats:
    gaps = rows.copy()
    gaps[np.random.default_rng(1).random(rows.shape) < 0.1] = np.nan
    return gaps


def test_missing_values_are_read_as_the_mean(fitted: TSENetClassifier, rows: Floats) -> None:
    gaps = with_gaps(rows)
    filled = np.where(np.isnan(gaps), rows.mean(axis=0), gaps)
    assert np.allclose(fitted.predict_proba(gaps), fitted.predict_proba(filled), atol=1e-5)


def test_missing_values_are_learned_from(rows: Floats, kinds: NDArray[Any]) -> None:
    gaps = with_gaps(rows)
    model = TSENetClassifier(**{**FAST, "max_epochs": 40}).fit(gaps, kinds)
    assert model.score(gaps, kinds) > 0.75
    assert model.score(rows, kinds) > 0.8
    assert np.allclose(model.scaling_.shift, np.nanmean(gaps, axis=0))
    frame = pd.DataFrame(gaps, columns=[f"c{j}" for j in range(10)])
    named = TSENetClassifier(**{**FAST, "max_epochs": 40}).fit(frame.astype("Float64"), kinds)
    assert np.array_equal(named.predict_proba(frame), model.predict_proba(gaps))


def test_missing_categories(rows: Floats, kinds: NDArray[Any], tmp_path: Path) -> None:
    frame = pd.DataFrame(rows[:, :3], columns=list("abc"))
    frame["kind"] = pd.Series(kinds).where(np.arange(400) % 5 > 0).astype("category")
    frame["flag"] = rows[:, 4] > 0
    model = TSENetClassifier(**{**FAST, "max_epochs": 30}).fit(frame, kinds)
    assert model.wiring_.names[0][3:] == ("kind=few", "kind=many", "kind=some", "flag")
    assert model.score(frame, kinds) > 0.8
    unknown = frame.assign(kind=None)
    assert model.predict(unknown).shape == (400,)
    model.save(tmp_path / "m.tsenet")
    again = tsenet.load(tmp_path / "m.tsenet")
    assert np.array_equal(again.predict_proba(frame), model.predict_proba(frame))


# ---- rows to validate on


def test_rows_to_validate_on(rows: Floats, kinds: NDArray[Any]) -> None:
    train, held = slice(0, 300), slice(300, 400)
    model = TSENetClassifier(**FAST, init="random")
    model.fit(rows[train], kinds[train], eval_set=(rows[held], kinds[held]), eval_metric="accuracy")
    scores = model.history_.validation_score
    assert len(scores) == model.history_.n_epochs
    assert model.score(rows[held], kinds[held]) == pytest.approx(max(scores))
    others = np.append(kinds[held], [None])
    more = np.concatenate([rows[held], rows[:1]])  # a row without a label is left out
    again = TSENetClassifier(**FAST, init="random").fit(
        rows[train], kinds[train], eval_set=[(more, others)], eval_metric="accuracy"
    )
    assert again.history_.validation_score == scores


def test_the_tree_start_is_validated_too(rows: Floats, kinds: NDArray[Any]) -> None:
    table = tsenet.Table.of(rows)
    model = TSENetClassifier(**FAST, linear_skip=False)
    model.fit(
        table.take(slice(0, 300)), kinds[:300], eval_set=(table.take(slice(300, 400)), kinds[300:])
    )
    losses = model.history_.validation_loss
    assert len(losses) == FAST["max_epochs"]
    shares = model.predict_proba(rows[300:])
    true = np.searchsorted(model.classes_, kinds[300:])
    assert min(losses) == pytest.approx(-np.log(shares[np.arange(100), true]).mean(), rel=1e-4)


@pytest.mark.parametrize("metric", ["auc", "accuracy", "own"])
def test_metrics_of_two_classes(metric: str, rows: Floats, kinds: NDArray[Any]) -> None:
    many = kinds == "many"

    def own(true: NDArray[Any], shares: Floats) -> float:
        return -float(np.abs(true - shares[:, 1]).mean())

    model = TSENetClassifier(**FAST, init="random").fit(
        rows[:300],
        many[:300],
        eval_set=(rows[300:], many[300:]),
        eval_metric=own if metric == "own" else metric,
    )
    share = model.predict_proba(rows[300:])[:, 1]
    expected = {
        "auc": roc_auc_score(many[300:], share),
        "accuracy": np.mean((share > 0.5) == many[300:]),
        "own": -np.abs(many[300:] - share).mean(),
    }[metric]
    assert model.history_.best_score == pytest.approx(expected, rel=1e-5)


@pytest.mark.parametrize("metric", ["r2", "mae", "rmse"])
def test_metrics_of_values(metric: str, rows: Floats) -> None:
    values = 100 + 5 * rows[:, :4].sum(axis=1)
    model = TSENetRegressor(**FAST, init="random").fit(
        rows[:300], values[:300], eval_set=(rows[300:], values[300:]), eval_metric=metric
    )
    error = model.predict(rows[300:]) - values[300:]
    expected = {
        "r2": model.score(rows[300:], values[300:]),
        "mae": -np.abs(error).mean(),
        "rmse": -np.sqrt(np.square(error).mean()),
    }[metric]
    assert model.history_.best_score == pytest.approx(expected, rel=1e-4)


def test_wrong_validation_is_refused(rows: Floats, kinds: NDArray[Any]) -> None:
    model = TSENetClassifier(**FAST)
    for wrong, says in (
        ({"eval_set": rows}, r"tuple \(X, y\)"),
        ({"eval_set": (rows[:, 1:], kinds)}, "features"),
        ({"eval_set": (rows, ["other"] * 400)}, "not there before"),
        ({"eval_metric": "r2"}, "eval_metric must be one of 'loss', 'accuracy', 'auc'"),
    ):
        with pytest.raises(ValueError, match=says):
            model.fit(rows, kinds, **wrong)


# ---- importances


def test_importances_find_the_columns_that_matter(
    fitted: TSENetClassifier, rows: Floats, kinds: NDArray[Any], tmp_path: Path
) -> None:
    shares = fitted.feature_importances_
    assert shares.shape == (10,)
    assert shares.sum() == pytest.approx(1)
    assert shares[4:8].min() > 2 * max(shares[:4].max(), shares[8:].max())
    fitted.save(tmp_path / "m.tsenet")
    assert np.array_equal(tsenet.load(tmp_path / "m.tsenet").feature_importances_, shares)
    again = pickle.loads(pickle.dumps(fitted))
    assert np.array_equal(again.feature_importances_, shares)
    assert again._importance_rows is None  # no training rows in a pickle
    chosen = SelectFromModel(fitted, prefit=True, max_features=4).get_support()
    assert np.flatnonzero(chosen).tolist() == [4, 5, 6, 7]


def test_importances_of_categories_and_sparse_rows(rows: Floats, kinds: NDArray[Any]) -> None:
    frame = pd.DataFrame({"noise": rows[:, 8], "kind": kinds})
    shares = TSENetClassifier(**FAST).fit(frame, kinds).feature_importances_
    assert shares.shape == (2,)
    assert shares[1] > 0.8
    counts = sp.csr_array(rows[:, :8])
    sparse = TSENetRegressor(**FAST).fit(counts, rows[:, :4].sum(axis=1))
    assert sparse.feature_importances_[:4].sum() > 0.8


def test_importances_are_mean_contributions(fitted: TSENetClassifier, rows: Floats) -> None:
    few = rows[:30]
    (inputs,) = fitted.network_inputs(few)
    found = column_importances(fitted.net_.predictor(), inputs, fitted.binary_rule_)
    expected = np.zeros(10)
    for row in few:
        added = np.zeros((3, 10))  # what each class has more than the first
        for k, name in enumerate(fitted.classes_[1:], start=1):
            why = explain_prediction(fitted, row, target=name, against=fitted.classes_[0])
            for part in why.features:
                added[k, int(part.name.removeprefix("x"))] = part.contribution
        expected += np.abs(added - added.mean(axis=0)).sum(axis=0)
    assert np.allclose(found, expected / expected.sum(), atol=1e-9)


# ---- one row, and parameters


@pytest.mark.parametrize(
    "wrong",
    [
        {"max_epochs": "10"},
        {"max_epochs": 0},
        {"batch_size": 2.5},
        {"density": "high"},
        {"dropout": 1.0},
        {"learning_rate": float("nan")},
        {"link_rule": "topk"},
        {"n_jobs": 0},
        {"device": 0},
    ],
)
def test_wrong_parameters_are_named(
    wrong: dict[str, Any], rows: Floats, kinds: NDArray[Any]
) -> None:
    (name,) = wrong
    with pytest.raises(ValueError, match=f"'{name}' parameter of TSENetClassifier"):
        TSENetClassifier(**wrong).fit(rows, kinds)
    with pytest.raises(ValueError, match=f"'{name}' parameter of TSENetClassifier"):
        TSENetClassifier(**wrong).partial_fit(rows, kinds, classes=np.unique(kinds))
