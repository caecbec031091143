"""Classifier and regressor: every check of scikit-learn's, and what its users do with them."""

from __future__ import annotations

import pickle
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest
import scipy.sparse as sp
from numpy.typing import NDArray
from sklearn.datasets import load_iris
from sklearn.exceptions import NotFittedError
from sklearn.feature_extraction.text import TfidfTransformer
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline

import tsenet
from tests.builders import QUICK, one_latent_rows
from tsenet import DataError, TSENetClassifier, TSENetRegressor
from tsenet.data.table import Table

FAST = {**QUICK, "max_epochs": 15}

Floats = NDArray[np.float64]


@pytest.fixture(scope="module")
def rows() -> Floats:
    """600 rows of three groups of four columns."""
    return one_latent_rows(np.random.default_rng(0), 600, (4, 4, 4)).astype(np.float64)


@pytest.fixture(scope="module")
def kinds(rows: Floats) -> NDArray[Any]:
    """Which group of a row has most on: three classes."""
    return np.array(["red", "green", "blue"])[rows.reshape(600, 3, 4).sum(axis=2).argmax(axis=1)]


@pytest.fixture(scope="module")
def labels(rows: Floats) -> Floats:
    """Whether each group is on: three labels, a fifth of them unknown."""
    truth = (rows.reshape(600, 3, 4).sum(axis=2) > 1).astype(np.float64)
    truth[np.random.default_rng(1).random(truth.shape) < 0.2] = np.nan
    return truth


@pytest.fixture(scope="module")
def fitted(rows: Floats, kinds: NDArray[Any]) -> TSENetClassifier:
    return TSENetClassifier(**FAST).fit(rows, kinds)


# ---- scikit-learn


def test_in_a_pipeline_after_tfidf(rows: Floats, kinds: NDArray[Any]) -> None:
    pipeline = make_pipeline(TfidfTransformer(), TSENetClassifier(**{**FAST, "max_epochs": 60}))
    counts = sp.csr_array(rows)
    assert pipeline.fit(counts, kinds).score(counts, kinds) > 0.8
    assert pipeline[:-1].transform(counts).format == "csr"


def test_in_a_grid_search_with_one_wiring(
    rows: Floats, kinds: NDArray[Any], fitted: TSENetClassifier
) -> None:
    search = GridSearchCV(
        TSENetClassifier(**FAST, wiring=fitted.wiring_, init="random"),
        {"learning_rate": [1e-6, 1e-2]},
        cv=2,
    ).fit(rows, kinds)
    assert search.best_params_ == {"learning_rate": 1e-2}
    assert search.best_estimator_.wiring_ == fitted.wiring_
    assert search.best_estimator_.tree_ is None


def test_pickle_keeps_the_answers(fitted: TSENetClassifier, rows: Floats) -> None:
    again = pickle.loads(pickle.dumps(fitted))
    assert np.array_equal(again.predict_proba(rows), fitted.predict_proba(rows))


# ---- what is learned and answered


def test_answers_agree_with_each_other(fitted: TSENetClassifier, rows: Floats) -> None:
    shares = fitted.predict_proba(rows)
    scores = fitted.decision_function(rows)
    assert shares.shape == scores.shape == (600, 3)
    assert np.allclose(shares.sum(axis=1), 1)
    assert np.allclose(np.diff(np.log(shares), axis=1), np.diff(scores, axis=1), atol=1e-5)
    assert np.array_equal(fitted.predict(rows), fitted.classes_[shares.argmax(axis=1)])


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


def test_regression_with_one_and_several_targets(rows: Floats) -> None:
    sums = rows.reshape(600, 3, 4).sum(axis=2)
    options = {**FAST, "max_epochs": 80}
    one = TSENetRegressor(**options).fit(rows, 1000 + sums[:, 0])
    assert one.predict(rows).shape == (600,)
    assert one.score(rows, 1000 + sums[:, 0]) > 0.8
    unknown = sums.copy()
    unknown[::3, 1] = np.nan
    several = TSENetRegressor(**options).fit(rows, unknown)
    assert several.predict(rows).shape == (600, 3)
    assert several.score(rows, sums) > 0.7
    known = ~np.isnan(unknown)
    assert several.score(rows, unknown) == pytest.approx(
        np.mean(
            [
                1
                - np.square(several.predict(rows) - sums)[k, j].sum() / (k.sum() * sums[k, j].var())
                for j, k in enumerate(known.T)
            ]
        )
    )


def test_hidden_units_and_their_names(fitted: TSENetClassifier, rows: Floats) -> None:
    hidden = fitted.transform(rows)
    names = fitted.get_feature_names_out().tolist()
    assert hidden.shape == (600, len(names))
    assert len(set(names)) == len(names)
    assert fitted.tree_ is not None
    k = fitted.net_.units_per_latent
    n_latents = k * fitted.tree_.n_latents
    assert names[:n_latents:k] == [f"{name}/1" for name in fitted.tree_.latent_names]
    assert names[k - 1] == f"{fitted.tree_.latent_names[0]}/{k}"
    assert names[n_latents] == "skip0.0"
    assert names[-1] == "top.7"
    weight, bias = fitted.net_.output.weight.detach().numpy(), fitted.net_.output.bias.detach()
    outputs = hidden[:, n_latents:] @ weight + bias.numpy()
    scaled = fitted.scaling_.apply(Table.of(rows)).values
    if fitted.net_.linear_skip is not None:
        outputs += scaled @ fitted.net_.linear_skip.detach().numpy()
    assert np.allclose(outputs, fitted.decision_function(rows), atol=1e-4)


# ---- the same result whatever the form


def test_same_seed_same_bytes_for_any_number_of_threads(
    rows: Floats, kinds: NDArray[Any], fitted: TSENetClassifier, tmp_path: Path
) -> None:
    fitted.save(tmp_path / "m.tsenet")
    for number in (1, 2):
        model = TSENetClassifier(**FAST, n_jobs=number).fit(rows, kinds)
        model.set_params(n_jobs=None).save(tmp_path / "other.tsenet")
        assert (tmp_path / "other.tsenet").read_bytes() == (tmp_path / "m.tsenet").read_bytes()


def test_the_order_of_the_rows_does_not_matter(
    rows: Floats, kinds: NDArray[Any], fitted: TSENetClassifier
) -> None:
    order = np.random.default_rng(5).permutation(600)
    again = TSENetClassifier(**FAST).fit(rows[order], kinds[order])
    assert np.array_equal(again.predict_proba(rows), fitted.predict_proba(rows))


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


def test_frames_and_arrays_give_the_same(
    rows: Floats, kinds: NDArray[Any], fitted: TSENetClassifier
) -> None:
    names = [f"word{j}" for j in range(12)]
    expected = fitted.predict_proba(rows)
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


def test_a_wiring_that_does_not_fit_is_refused(rows: Floats, kinds: NDArray[Any]) -> None:
    tree = tsenet.learn_tree(rows[:, :8], random_state=0)
    wiring = tsenet.expand(tree, rows[:, :8])
    with pytest.raises(DataError, match="8 inputs, but the table gives 12"):
        TSENetClassifier(wiring=wiring).fit(rows, kinds)
    frame = pd.DataFrame(rows[:, :8], columns=list("abcdefgh"))
    named = tsenet.expand(tsenet.learn_tree(frame, random_state=0), frame)
    with pytest.raises(DataError, match="column 'h'"):
        TSENetClassifier(wiring=named).fit(frame[list("hgfedcba")], kinds)
    TSENetClassifier(**FAST, wiring=named).fit(frame, kinds)
    TSENetClassifier(**FAST, wiring=wiring).fit(frame, kinds)  # learned without names


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


def test_tree_options(rows: Floats, kinds: NDArray[Any]) -> None:
    quick = {**FAST, "max_epochs": 1}
    refined = TSENetClassifier(**quick).fit(rows, kinds).tree_
    plain = TSENetClassifier(**quick, tree_options={"refine_steps": 0}).fit(rows, kinds).tree_
    assert np.array_equal(plain.parent, refined.parent)
    assert not np.array_equal(plain.cpt, refined.cpt)
    with pytest.raises(ValueError, match="'island'; it may have max_island"):
        TSENetClassifier(tree_options={"island": 2}).fit(rows, kinds)


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


def test_one_class_is_refused(rows: Floats) -> None:
    with pytest.raises(DataError, match="only one class: 'a'"):
        TSENetClassifier().fit(rows, ["a"] * 600)


def test_rare_class_is_kept_for_training(rows: Floats, kinds: NDArray[Any]) -> None:
    rare = kinds.astype(object)
    rare[7] = "once"
    model = TSENetClassifier(**FAST).fit(rows, rare)
    assert "once" in model.classes_
    assert model.predict_proba(rows).shape == (600, 4)


def test_all_zero_rows_and_one_feature(rows: Floats, kinds: NDArray[Any]) -> None:
    empty = rows.copy()
    empty[:50] = 0
    for form in (empty, sp.csr_array(empty)):
        assert TSENetClassifier(**FAST).fit(form, kinds).predict(form).shape == (600,)
    one = TSENetClassifier(**{**FAST, "max_epochs": 60}).fit(rows[:, :1], rows[:, 0])
    assert one.score(rows[:, :1], rows[:, 0]) == 1.0


def test_constant_columns_only(kinds: NDArray[Any]) -> None:
    for form in (np.ones((600, 3)), sp.csr_array((600, 3))):
        model = TSENetClassifier(**FAST).fit(form, kinds)
        assert model.wiring_.layer_sizes == (3, 1)
        most = pd.Series(kinds).value_counts().index[0]
        assert set(model.predict(form)) == {most}


def test_clear_errors(fitted: TSENetClassifier, rows: Floats, kinds: NDArray[Any]) -> None:
    with pytest.raises(ValueError, match="features"):
        fitted.predict(rows[:, :5])
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


# ---- files


@pytest.mark.parametrize("form", ["classes", "labels", "sparse", "wiring", "numbers"])
def test_files_hold_everything(
    form: str, rows: Floats, kinds: NDArray[Any], labels: Floats, tmp_path: Path
) -> None:
    options: dict[str, Any] = {**FAST, "max_epochs": 2}
    X: Any = pd.DataFrame(rows, columns=[f"w{j}" for j in range(12)])
    y: Any = kinds
    kind: Any = TSENetClassifier
    if form == "classes":
        options["class_weight"] = {"red": 2.0, "blue": 0.5, "green": 1}
    elif form == "labels":
        y, options["class_weight"] = labels, [{0: 1.0, 1: 2.0}] * 3
    elif form == "sparse":
        X, y = sp.csr_array(rows), kinds.astype(object)
    elif form == "wiring":
        kind, y = TSENetRegressor, rows[:, :3] * 1.5
        options["wiring"] = tsenet.expand(tsenet.learn_tree(rows, random_state=0), rows)
    else:
        kind, y = TSENetRegressor, rows.sum(axis=1)
    model = kind(**options).fit(X, y)
    path = tmp_path / "model.tsenet"
    model.save(path)
    again = tsenet.load(path)
    assert type(again) is kind
    assert again.get_params() == model.get_params()
    for method in ("predict", "predict_proba", "decision_function", "transform"):
        if hasattr(model, method):
            mine, other = getattr(model, method)(X), getattr(again, method)(X)
            assert mine.dtype == other.dtype
            assert np.array_equal(mine, other)
    public = [name for name in vars(model) if name.endswith("_") and not name.startswith("_")]
    assert {"tree_", "wiring_", "net_", "history_", "n_features_in_"} < set(public)
    assert again.n_parameters_ == model.n_parameters_
    for name in public:
        mine, other = getattr(model, name), getattr(again, name)
        if name in ("net_", "targets_"):
            assert repr(mine) == repr(other)
        elif isinstance(mine, np.ndarray):
            assert mine.dtype == other.dtype
            assert np.array_equal(mine, other)
        else:
            assert mine == other, name
    again.save(tmp_path / "again.tsenet")
    assert (tmp_path / "again.tsenet").read_bytes() == path.read_bytes()


def test_a_loaded_model_can_go_on(rows: Floats, kinds: NDArray[Any], tmp_path: Path) -> None:
    model = TSENetClassifier(**FAST).fit(rows, kinds)
    model.save(tmp_path / "m.tsenet")
    again = tsenet.load(tmp_path / "m.tsenet")
    for each in (model, again):
        each.partial_fit(rows, kinds)
    assert np.array_equal(again.predict_proba(rows), model.predict_proba(rows))


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
