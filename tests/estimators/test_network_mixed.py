"""One model of a text and of the columns beside it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from numpy.typing import NDArray
from scipy.special import expit
from sklearn.base import clone
from sklearn.model_selection import cross_val_score

import tsenet
from tsenet import TopicModel, TSENetClassifier, TSENetRegressor
from tsenet.errors import DataError
from tsenet.explain import describe_units, explain_prediction

SUBJECTS = ["goal referee striker keeper", "senate ballot voter mayor", "orbit comet galaxy moon"]
QUICK: dict[str, Any] = {"random_state": 0, "max_epochs": 8}


def rows(seed: int = 0, n: int = 400) -> tuple[pd.DataFrame, NDArray[np.str_]]:
    """Texts of three subjects with a price and a colour; the class depends on all of them."""
    rng = np.random.default_rng(seed)
    subject = rng.integers(3, size=n)
    frame = pd.DataFrame(
        {
            "price": rng.uniform(0, 10, n).round(2),
            "body": [" ".join([*rng.choice(SUBJECTS[k].split(), 3), "the"]) for k in subject],
            "colour": rng.choice(["red", "blue", "green"], n),
        }
    )
    score = (subject == 0) * 2.0 + (frame["price"] > 5) * 2.0 + (frame["colour"] == "red") * 2.0
    return frame, np.where(score > 3, "yes", "no")


FRAME, CLASSES = rows()
NEW, EXPECTED = rows(1, 200)


@pytest.fixture(scope="module")
def model() -> TSENetClassifier:
    return TSENetClassifier(text="body", **QUICK).fit(FRAME, CLASSES)


def test_text_and_columns_are_better_than_either(model: TSENetClassifier) -> None:
    text = TSENetClassifier(**QUICK).fit(FRAME["body"], CLASSES)
    columns = TSENetClassifier(**QUICK).fit(FRAME.drop(columns="body"), CLASSES)
    both = model.score(NEW, EXPECTED)
    assert both > 0.95
    assert both > text.score(NEW["body"], EXPECTED) + 0.1
    assert both > columns.score(NEW.drop(columns="body"), EXPECTED) + 0.05


def test_the_tree_has_groups_of_columns_beside_those_of_the_words(model: TSENetClassifier) -> None:
    tree = model.tree_
    assert tree is not None
    assert {"price", "colour"} & set(model.wiring_.names[1])
    word = {name: k for k, name in enumerate(tree.names[: tree.n_observed])}
    for group, members in zip(tree.names[tree.layer(1)], tree.groups(1), strict=True):
        of_columns = {
            tree.names[k].split(" ")[0].split("=")[0] in ("price", "colour") for k in members
        }
        assert len(of_columns) == 1, group  # no group is of both
    assert tree.parent[word["goal"]] >= 0
    np.testing.assert_allclose(tree.cpt.sum(axis=2), 1.0)
    assert model.n_features_in_ == len(model.feature_names_in_) == tree.n_observed


@pytest.mark.parametrize("skeleton", ["topics", "given"])
def test_topics_stand_beside_columns_too(skeleton: str, tmp_path: Path) -> None:
    given: Any = skeleton
    if skeleton == "given":
        given = TopicModel(seed_words={"Football": ["goal", "referee"]}).fit(FRAME["body"])
    model = TSENetClassifier(text="body", skeleton=given, **QUICK).fit(FRAME, CLASSES)
    assert model.score(NEW, EXPECTED) > 0.9
    assert {"price", "colour"} & set(model.wiring_.names[1])
    if skeleton == "given":
        assert "Football" in model.wiring_.names[1]
        assert "the" not in model.feature_names_in_
        model.save(tmp_path / "m.tsenet")
        again = clone(tsenet.load(tmp_path / "m.tsenet")).set_params(max_epochs=8)
        assert again.fit(FRAME, CLASSES).learned_wiring_ == model.learned_wiring_


def test_a_loaded_model_reads_the_same_frames(model: TSENetClassifier, tmp_path: Path) -> None:
    model.save(tmp_path / "m.tsenet")
    loaded = tsenet.load(tmp_path / "m.tsenet")
    np.testing.assert_allclose(loaded.predict_proba(NEW), model.predict_proba(NEW), atol=1e-6)
    assert loaded.text == "body"
    shuffled = NEW[["colour", "price", "body"]]
    np.testing.assert_array_equal(loaded.predict(shuffled), model.predict(NEW))
    assert clone(loaded).fit(FRAME, CLASSES).learned_wiring_ == model.learned_wiring_


def test_forged_files_are_refused(model: TSENetClassifier) -> None:
    meta, arrays = model.to_parts()
    for change in (
        {"mixed": {**meta["mixed"], "text": 3}},
        {"mixed": {**meta["mixed"], "thresholds": []}},
        {"mixed": {**meta["mixed"], "rule": {**meta["mixed"]["rule"], "names_in": ["a", "b"]}}},
    ):
        with pytest.raises((ValueError, DataError)):
            TSENetClassifier.from_parts({**meta, **change}, arrays)


def test_reasons_are_words_topics_and_columns(model: TSENetClassifier) -> None:
    for why in (explain_prediction(model, NEW.iloc[[3]]), explain_prediction(model, NEW.iloc[3])):
        total = why.start + sum(reason.contribution for reason in why.reasons)
        assert total == pytest.approx(why.output, abs=1e-9)
        chance = model.predict_proba(NEW.iloc[[3]]).max()
        assert expit(why.output) == pytest.approx(chance, abs=1e-5)
        names = [part.name for part in why.features]
        assert f"colour={NEW['colour'][3]}" in names
        (price,) = [name for name in names if "price" in name]
        limits = [float(part) for part in price.replace("≤", "<").split("<") if "price" not in part]
        low, high = (limits if len(limits) == 2 else [-np.inf, *limits, np.inf])[:2]
        if price.startswith("price"):
            low, high = -np.inf, limits[0]
        assert low < NEW["price"][3] <= high
    assert len([name for name in names if "price" in name]) == 1


def test_units_reports_and_suggestions_take_frames(model: TSENetClassifier, tmp_path: Path) -> None:
    assert len(describe_units(model, NEW).units) == model.transform(NEW).shape[1]
    model.report(tmp_path / "page.html", NEW, EXPECTED)
    page = (tmp_path / "page.html").read_text("utf-8")
    assert any(text in page for text in NEW["body"])
    assert model.suggest(NEW, n=3).shape == (3,)


def test_other_ways_to_fit() -> None:
    few = np.where(np.arange(len(CLASSES)) < 100, CLASSES, None)
    assert TSENetClassifier(text="body", **QUICK).fit(FRAME, few).score(NEW, EXPECTED) > 0.85
    amount = FRAME["price"] + 3.0 * FRAME["body"].str.contains("goal")
    regressor = TSENetRegressor(text="body", random_state=0).fit(FRAME, amount)
    assert regressor.score(FRAME, amount) > 0.8
    scores = cross_val_score(TSENetClassifier(text="body", **QUICK), FRAME, CLASSES, cv=2)
    assert scores.min() > 0.85
    plain = TSENetClassifier(text="body", weighting="counts", **QUICK).fit(FRAME, CLASSES)
    assert plain.score(NEW, EXPECTED) > 0.85


class TestErrors:
    def test_texts_without_columns(self, model: TSENetClassifier) -> None:
        with pytest.raises(DataError, match="must be a data frame with that column"):
            TSENetClassifier(text="body").fit(FRAME["body"].tolist(), CLASSES)
        with pytest.raises(DataError, match="data frame"):
            model.predict(NEW["body"].tolist())

    def test_a_column_is_missing(self, model: TSENetClassifier) -> None:
        with pytest.raises(DataError, match="lack the column 'colour'"):
            model.predict(NEW.drop(columns="colour"))
        with pytest.raises(DataError, match="there is no column 'body'"):
            model.predict(NEW.drop(columns="body"))
        with pytest.raises(DataError, match="there is no column 'text'"):
            TSENetClassifier(text="text").fit(FRAME, CLASSES)

    def test_values_that_are_no_texts(self) -> None:
        with pytest.raises(
            DataError, match="row 0 of the column 'price' holds a float, not a text"
        ):
            TSENetClassifier(text="price").fit(FRAME, CLASSES)

    def test_onnx(self, model: TSENetClassifier, tmp_path: Path) -> None:
        pytest.importorskip("onnx")
        with pytest.raises(DataError, match="a text with columns beside it"):
            model.to_onnx(tmp_path / "m.onnx")

    def test_a_folder(self, tmp_path: Path) -> None:
        with pytest.raises(DataError, match="text= names a column of a data frame"):
            TSENetClassifier(text="body").fit(tmp_path, CLASSES)
