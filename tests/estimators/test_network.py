"""Networks as scikit-learn and people use them: pipelines, any form of rows, any order, step by step, odd data."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest
import scipy.sparse as sp
from numpy.typing import NDArray
from sklearn.exceptions import NotFittedError
from sklearn.feature_extraction.text import TfidfTransformer
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline

import tsenet
from tests.builders import FAST
from tsenet import DataError, TSENetClassifier, TSENetRegressor

Floats = NDArray[np.float64]


# ---- scikit-learn


def test_in_a_pipeline_after_tfidf(rows: Floats, kinds: NDArray[Any]) -> None:
    pipeline = make_pipeline(TfidfTransformer(), TSENetClassifier(**{**FAST, "max_epochs": 60}))
    counts = sp.csr_array(rows)
    assert pipeline.fit(counts, kinds).score(counts, kinds) > 0.8
    assert pipeline[:-1].transform(counts).format == "csr"


def test_in_a_grid_search_with_one_wiring(
    rows: Floats, kinds: NDArray[Any], classifier: TSENetClassifier
) -> None:
    search = GridSearchCV(
        TSENetClassifier(**FAST, wiring=classifier.wiring_, init="random"),
        {"learning_rate": [1e-6, 1e-2]},
        cv=2,
    ).fit(rows, kinds)
    assert search.best_params_ == {"learning_rate": 1e-2}
    assert search.best_estimator_.wiring_ == classifier.wiring_
    assert search.best_estimator_.tree_ is None


# ---- the same result whatever the form


def test_same_seed_same_bytes_for_any_number_of_threads(
    rows: Floats, kinds: NDArray[Any], classifier: TSENetClassifier, tmp_path: Path
) -> None:
    classifier.save(tmp_path / "m.tsenet")
    for number in (1, 2):
        model = TSENetClassifier(**FAST, n_jobs=number).fit(rows, kinds)
        model.set_params(n_jobs=None).save(tmp_path / "other.tsenet")
        assert (tmp_path / "other.tsenet").read_bytes() == (tmp_path / "m.tsenet").read_bytes()


def test_the_order_of_the_rows_does_not_matter(
    rows: Floats, kinds: NDArray[Any], classifier: TSENetClassifier
) -> None:
    order = np.random.default_rng(5).permutation(600)
    again = TSENetClassifier(**FAST).fit(rows[order], kinds[order])
    assert np.array_equal(again.predict_proba(rows), classifier.predict_proba(rows))


def test_frames_and_arrays_give_the_same(
    rows: Floats, kinds: NDArray[Any], classifier: TSENetClassifier
) -> None:
    names = [f"word{j}" for j in range(12)]
    expected = classifier.predict_proba(rows)
    for frame in (
        pl.DataFrame(rows, schema=names),
        pd.DataFrame(rows.astype(np.int8), columns=names),
    ):
        model = TSENetClassifier(**FAST).fit(frame, pd.Series(kinds))
        assert np.array_equal(model.predict_proba(frame), expected)
        assert model.feature_names_in_.tolist() == names
    assert np.array_equal(
        TSENetClassifier(**FAST).fit(rows.tolist(), kinds.tolist()).predict_proba(rows), expected
    )


def test_a_table_brings_its_names(rows: Floats, kinds: NDArray[Any]) -> None:
    names = [f"w{j}" for j in range(12)]
    model = TSENetClassifier(**FAST).fit(tsenet.Table.of(rows, names), kinds)
    assert model.feature_names_in_.tolist() == names
    expected = model.predict_proba(tsenet.Table.of(rows, names))
    assert np.array_equal(model.predict_proba(pd.DataFrame(rows, columns=names)), expected)
    with pytest.raises(DataError, match="feature"):
        model.predict(tsenet.Table.of(rows, names[::-1]))
    assert not hasattr(model.fit(tsenet.Table.of(rows), kinds), "feature_names_in_")


def test_categories_are_inputs(rows: Floats, kinds: NDArray[Any]) -> None:
    frame = pd.DataFrame(rows[:, :6], columns=list("abcdef"))
    frame["colour"] = kinds
    model = TSENetClassifier(**{**FAST, "max_epochs": 60}).fit(frame, kinds)
    assert model.wiring_.names[0][-3:] == ("colour=blue", "colour=green", "colour=red")
    assert model.score(frame, kinds) == 1.0
    unseen = frame.assign(colour="purple")
    assert model.predict(unseen).shape == (600,)
    # a wiring knows the levels, also where a fold lacks one
    part = frame[frame.colour != "red"]
    again = TSENetClassifier(**FAST, wiring=model.wiring_).fit(part, kinds[frame.colour != "red"])
    assert again.predict(frame).shape == (600,)


# ---- wiring, partial fit


def test_partial_fit_learns(rows: Floats, kinds: NDArray[Any]) -> None:
    model = TSENetClassifier(**FAST, batch_size=50, learning_rate=1e-2)
    with pytest.raises(ValueError, match="classes must be passed on the first call"):
        model.partial_fit(rows, kinds)
    seen = kinds[:100] != "red"
    model.partial_fit(rows[:100][seen], kinds[:100][seen], classes=["red", "green", "blue"])
    assert model.classes_.tolist() == ["blue", "green", "red"]
    for _ in range(15):
        model.partial_fit(rows[100:], kinds[100:])
    assert model.score(rows[100:], kinds[100:]) > 0.8
    with pytest.raises(ValueError, match="not the same"):
        model.partial_fit(rows, kinds, classes=["red", "green"])
    with pytest.raises(ValueError, match="balanced"):
        TSENetClassifier(class_weight="balanced").partial_fit(rows, kinds, classes=[0, 1])


def test_partial_fit_is_reproducible_and_continues_adam(rows: Floats, tmp_path: Path) -> None:
    sums = rows.sum(axis=1)
    first, second = (TSENetRegressor(**FAST, batch_size=50) for _ in range(2))
    for model in (first, second):
        for _ in range(3):
            model.partial_fit(rows, sums)
    assert np.array_equal(first.predict(rows), second.predict(rows))
    second.save(tmp_path / "m.tsenet")
    forgetful = tsenet.load(tmp_path / "m.tsenet")  # a file does not hold Adam's state
    assert not np.array_equal(
        first.partial_fit(rows, sums).predict(rows), forgetful.partial_fit(rows, sums).predict(rows)
    )


# ---- options


def test_a_linear_skip_is_kept_if_it_clearly_helps() -> None:
    """A linear target wants them; where nothing can be learned it is a tie, which the smaller network wins."""
    rng = np.random.default_rng(0)
    rows = rng.normal(size=(700, 10))
    linear = rows @ rng.normal(size=10) > 0
    noise = rng.integers(0, 2, 700)
    quick = {**FAST, "max_epochs": 40}
    for target, wanted in ((linear, True), (noise, False)):
        chosen = TSENetClassifier(**quick).fit(rows, target)
        alone = TSENetClassifier(**quick, linear_skip=wanted).fit(rows, target)
        assert (chosen.net_.linear_skip is not None) == wanted
        assert chosen.n_parameters_ == alone.n_parameters_


def test_progress_reports_every_stage(rows: Floats, kinds: NDArray[Any]) -> None:
    stages: list[str] = []

    def note(stage: str, done: int, total: int | None) -> None:
        if stage not in stages:
            stages.append(stage)

    TSENetClassifier(**{**FAST, "max_epochs": 1}, progress=note).fit(rows, kinds)
    assert stages[-3:] == ["links", "linear teacher", "training"]
    assert "islands" in stages


# ---- odd data


def test_all_zero_rows_and_one_feature(rows: Floats, kinds: NDArray[Any]) -> None:
    empty = rows.copy()
    empty[:50] = 0
    for form in (empty, sp.csr_array(empty)):
        assert TSENetClassifier(**FAST).fit(form, kinds).predict(form).shape == (600,)
    one = TSENetClassifier(**{**FAST, "max_epochs": 60}).fit(rows[:, :1], rows[:, 0])
    assert one.score(rows[:, :1], rows[:, 0]) == 1.0


def test_clear_errors(classifier: TSENetClassifier, rows: Floats, kinds: NDArray[Any]) -> None:
    with pytest.raises(ValueError, match="features"):
        classifier.predict(rows[:, :5])
    with pytest.raises(DataError, match="X has 600 rows, but y has 599"):
        TSENetClassifier().fit(rows, kinds[:-1])
    with pytest.raises(DataError, match="must hold 0, 1 or NaN"):
        TSENetClassifier().fit(rows, np.full((600, 2), 3))
    with pytest.raises(DataError, match="but sample_weight has 1:"):
        TSENetClassifier().fit(rows, kinds, sample_weight=[1.0])
    days = np.full(len(kinds), np.datetime64("2026-01-01"))
    with pytest.raises(DataError, match="not of dates"):
        TSENetClassifier().fit(rows, kinds, sample_weight=days)
    with pytest.raises(DataError, match="numbers"):
        TSENetRegressor().fit(rows, kinds)
    with pytest.raises(DataError, match="infinite"):
        TSENetRegressor().fit(rows, np.where(kinds == "red", np.inf, 1.0))
    with pytest.raises(NotFittedError):
        TSENetClassifier().predict_proba(rows)
    with pytest.raises(NotFittedError):
        TSENetClassifier().to_parts()


def test_a_loaded_model_can_go_on(rows: Floats, kinds: NDArray[Any], tmp_path: Path) -> None:
    model = TSENetClassifier(**FAST).fit(rows, kinds)
    model.save(tmp_path / "m.tsenet")
    again = tsenet.load(tmp_path / "m.tsenet")
    for each in (model, again):
        each.partial_fit(rows, kinds)
    assert np.array_equal(again.predict_proba(rows), model.predict_proba(rows))


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
