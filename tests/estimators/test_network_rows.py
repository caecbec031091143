"""Rows as people have them: with gaps, and with others to validate on."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from numpy.typing import NDArray
from sklearn.metrics import roc_auc_score

import tsenet
from tests.builders import QUICK
from tsenet import TSENetClassifier, TSENetRegressor

FAST = {**QUICK, "max_epochs": 8}

Floats = NDArray[np.float64]


# ---- gaps in the rows


def with_gaps(noisy_rows: Floats) -> Floats:
    gaps = noisy_rows.copy()
    gaps[np.random.default_rng(1).random(noisy_rows.shape) < 0.1] = np.nan
    return gaps


def test_missing_values_are_read_as_the_mean(
    noisy_classifier: TSENetClassifier, noisy_rows: Floats
) -> None:
    gaps = with_gaps(noisy_rows)
    filled = np.where(np.isnan(gaps), noisy_rows.mean(axis=0), gaps)
    assert np.allclose(
        noisy_classifier.predict_proba(gaps), noisy_classifier.predict_proba(filled), atol=1e-5
    )


def test_missing_values_are_learned_from(noisy_rows: Floats, noisy_kinds: NDArray[Any]) -> None:
    gaps = with_gaps(noisy_rows)
    model = TSENetClassifier(**{**FAST, "max_epochs": 40}).fit(gaps, noisy_kinds)
    assert model.score(gaps, noisy_kinds) > 0.75
    assert model.score(noisy_rows, noisy_kinds) > 0.8
    assert np.allclose(model.scaling_.shift, np.nanmean(gaps, axis=0))
    frame = pd.DataFrame(gaps, columns=[f"c{j}" for j in range(10)])
    named = TSENetClassifier(**{**FAST, "max_epochs": 40}).fit(frame.astype("Float64"), noisy_kinds)
    assert np.array_equal(named.predict_proba(frame), model.predict_proba(gaps))


def test_missing_categories(noisy_rows: Floats, noisy_kinds: NDArray[Any], tmp_path: Path) -> None:
    frame = pd.DataFrame(noisy_rows[:, :3], columns=list("abc"))
    frame["kind"] = pd.Series(noisy_kinds).where(np.arange(400) % 5 > 0).astype("category")
    frame["flag"] = noisy_rows[:, 4] > 0
    model = TSENetClassifier(**{**FAST, "max_epochs": 30}).fit(frame, noisy_kinds)
    assert model.wiring_.names[0][3:] == ("kind=few", "kind=many", "kind=some", "flag")
    assert model.score(frame, noisy_kinds) > 0.8
    unknown = frame.assign(kind=None)
    assert model.predict(unknown).shape == (400,)
    model.save(tmp_path / "m.tsenet")
    again = tsenet.load(tmp_path / "m.tsenet")
    assert np.array_equal(again.predict_proba(frame), model.predict_proba(frame))


# ---- rows to validate on


def test_rows_to_validate_on(noisy_rows: Floats, noisy_kinds: NDArray[Any]) -> None:
    train, held = slice(0, 300), slice(300, 400)
    model = TSENetClassifier(**FAST, init="random")
    model.fit(
        noisy_rows[train],
        noisy_kinds[train],
        eval_set=(noisy_rows[held], noisy_kinds[held]),
        eval_metric="accuracy",
    )
    scores = model.history_.validation_score
    assert len(scores) == model.history_.n_epochs
    assert model.score(noisy_rows[held], noisy_kinds[held]) == pytest.approx(max(scores))
    others = np.append(noisy_kinds[held], [None])
    more = np.concatenate([noisy_rows[held], noisy_rows[:1]])  # a row without a label is left out
    again = TSENetClassifier(**FAST, init="random").fit(
        noisy_rows[train], noisy_kinds[train], eval_set=[(more, others)], eval_metric="accuracy"
    )
    assert again.history_.validation_score == scores


def test_the_tree_start_is_validated_too(noisy_rows: Floats, noisy_kinds: NDArray[Any]) -> None:
    table = tsenet.Table.of(noisy_rows)
    model = TSENetClassifier(**FAST, linear_skip=False)
    model.fit(
        table.take(slice(0, 300)),
        noisy_kinds[:300],
        eval_set=(table.take(slice(300, 400)), noisy_kinds[300:]),
    )
    losses = model.history_.validation_loss
    assert len(losses) == FAST["max_epochs"]
    shares = model.predict_proba(noisy_rows[300:])
    true = np.searchsorted(model.classes_, noisy_kinds[300:])
    assert min(losses) == pytest.approx(-np.log(shares[np.arange(100), true]).mean(), rel=1e-4)


@pytest.mark.parametrize("metric", ["auc", "accuracy", "own"])
def test_metrics_of_two_classes(metric: str, noisy_rows: Floats, noisy_kinds: NDArray[Any]) -> None:
    many = noisy_kinds == "many"

    def own(true: NDArray[Any], shares: Floats) -> float:
        return -float(np.abs(true - shares[:, 1]).mean())

    model = TSENetClassifier(**FAST, init="random").fit(
        noisy_rows[:300],
        many[:300],
        eval_set=(noisy_rows[300:], many[300:]),
        eval_metric=own if metric == "own" else metric,
    )
    share = model.predict_proba(noisy_rows[300:])[:, 1]
    expected = {
        "auc": roc_auc_score(many[300:], share),
        "accuracy": np.mean((share > 0.5) == many[300:]),
        "own": -np.abs(many[300:] - share).mean(),
    }[metric]
    assert model.history_.best_score == pytest.approx(expected, rel=1e-5)


@pytest.mark.parametrize("metric", ["r2", "mae", "rmse"])
def test_metrics_of_values(metric: str, noisy_rows: Floats) -> None:
    values = 100 + 5 * noisy_rows[:, :4].sum(axis=1)
    model = TSENetRegressor(**FAST, init="random").fit(
        noisy_rows[:300],
        values[:300],
        eval_set=(noisy_rows[300:], values[300:]),
        eval_metric=metric,
    )
    error = model.predict(noisy_rows[300:]) - values[300:]
    expected = {
        "r2": model.score(noisy_rows[300:], values[300:]),
        "mae": -np.abs(error).mean(),
        "rmse": -np.sqrt(np.square(error).mean()),
    }[metric]
    assert model.history_.best_score == pytest.approx(expected, rel=1e-4)


def test_wrong_validation_is_refused(noisy_rows: Floats, noisy_kinds: NDArray[Any]) -> None:
    model = TSENetClassifier(**FAST)
    for wrong, says in (
        ({"eval_set": noisy_rows}, r"tuple \(X, y\)"),
        ({"eval_set": (noisy_rows[:, 1:], noisy_kinds)}, "features"),
        ({"eval_set": (noisy_rows, ["other"] * 400)}, "not there before"),
        ({"eval_metric": "r2"}, "eval_metric must be one of 'loss', 'accuracy', 'auc'"),
    ):
        with pytest.raises(ValueError, match=says):
            model.fit(noisy_rows, noisy_kinds, **wrong)
