"""Estimators fitted on texts: they count the words themselves, and carry how they do it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest

import tsenet
from tsenet.data import Documents, WordCounter, vectorize
from tsenet.errors import DataError, ModelFileError
from tsenet.explain import explain_prediction

SPORT = [
    "team",
    "goal",
    "match",
    "player",
    "season",
    "coach",
    "league",
    "score",
    "striker",
    "keeper",
]
MARKET = [
    "oil",
    "prices",
    "market",
    "shares",
    "bank",
    "profit",
    "trade",
    "dollar",
    "crude",
    "barrel",
]


def _texts() -> tuple[list[str], np.ndarray[Any, Any]]:
    rng = np.random.default_rng(0)
    labels = np.array(["sport", "market"] * 60)
    pools = {"sport": SPORT, "market": MARKET}
    return [" ".join(rng.choice(pools[label], 6)) for label in labels], labels


TEXTS, LABELS = _texts()


def shout(text: str) -> list[str]:
    return text.upper().split()


@pytest.fixture(scope="module")
def model() -> tsenet.TSENetClassifier:
    return tsenet.TSENetClassifier(random_state=0, max_epochs=5).fit(TEXTS, LABELS)


def test_texts_in_answers_out(model: tsenet.TSENetClassifier) -> None:
    new = ["crude oil prices rose, says the bank", "the striker and the keeper of the team"]
    assert model.predict(new).tolist() == ["market", "sport"]
    assert model.predict_proba(new).shape == (2, 2)
    assert model.score(TEXTS, LABELS) > 0.9
    assert model.transform(new).shape[0] == 2
    table = vectorize(TEXTS)
    assert model.feature_names_in_.tolist() == list(table.names)
    np.testing.assert_array_equal(model.predict_proba(TEXTS), model.predict_proba(table))


@pytest.mark.parametrize(
    "make", [tuple, np.array, pd.Series, pl.Series, Documents, lambda x: np.array(x, object)]
)
def test_any_column_of_texts(model: tsenet.TSENetClassifier, make: Any) -> None:
    np.testing.assert_array_equal(model.predict(make(TEXTS)), model.predict(TEXTS))


def test_the_file_holds_how_to_count(model: tsenet.TSENetClassifier, tmp_path: Path) -> None:
    model.save(tmp_path / "m.tsenet")
    loaded = tsenet.load(tmp_path / "m.tsenet")
    assert loaded.word_counter_ == model.word_counter_
    np.testing.assert_array_equal(loaded.predict_proba(TEXTS), model.predict_proba(TEXTS))


def test_one_text_is_not_a_list_of_them(model: tsenet.TSENetClassifier) -> None:
    with pytest.raises(DataError, match="got one string"):
        model.predict("crude oil")
    with pytest.raises(DataError, match="document 1 is a NoneType"):
        model.predict(["crude oil", None])


def test_a_prediction_of_a_text_is_explained(model: tsenet.TSENetClassifier) -> None:
    from tsenet.explain import explain_prediction

    found = explain_prediction(model, "crude oil")
    assert {part.name for part in found.features} >= {"crude", "oil"}


def test_another_way_to_count(tmp_path: Path) -> None:
    counter, table = WordCounter.learn(TEXTS, tokenizer=shout, lowercase=False, n_words=15)
    model = tsenet.TSENetClassifier(random_state=0, max_epochs=2).fit(table, LABELS)
    with pytest.raises(DataError, match="was fitted on a table: count their words first"):
        model.predict(TEXTS)
    model.word_counter_ = counter
    answers = model.predict_proba(TEXTS)
    path = tmp_path / "m.tsenet"
    model.save(path)
    loaded = tsenet.load(path)
    with pytest.raises(DataError, match=r"split by .*:shout.*tsenet\.load\(path, tokenizer=func"):
        loaded.predict(TEXTS)
    loaded = tsenet.load(path, tokenizer=shout)
    np.testing.assert_array_equal(loaded.predict_proba(TEXTS), answers)
    model.word_counter_ = WordCounter(("other",))
    with pytest.raises(DataError, match="are not the columns"):
        model.save(path)
    model.word_counter_ = None
    model.save(path)
    with pytest.raises(DataError, match="was not fitted on text"):
        tsenet.load(path, tokenizer=shout)
    model.fit(TEXTS, LABELS).fit(table, LABELS)
    assert model.word_counter_ is None


@pytest.mark.parametrize(
    "fields", [{}, {"tokenizer": "unicode", "lowercase": True, "ngrams": 0}, "unicode", 3]
)
def test_wrong_fields_of_a_file(
    model: tsenet.TSENetClassifier, tmp_path: Path, fields: Any
) -> None:
    from tsenet.store.container import save_parts

    meta, arrays = model.to_parts()
    save_parts(tmp_path / "m.tsenet", "TSENetClassifier", {**meta, "words": fields}, arrays)
    with pytest.raises(ModelFileError):
        tsenet.load(tmp_path / "m.tsenet")


def test_files_without_the_field_are_of_tables(
    model: tsenet.TSENetClassifier, tmp_path: Path
) -> None:
    from tsenet.store.container import save_parts

    meta, arrays = model.to_parts()
    del meta["words"]
    save_parts(tmp_path / "m.tsenet", "TSENetClassifier", meta, arrays)
    assert tsenet.load(tmp_path / "m.tsenet").word_counter_ is None


def test_reports_and_explanations_take_texts_as_predict_does(tmp_path: Path) -> None:
    texts = ["good film fun", "bad film dull", "good fun plot", "bad dull plot"] * 20
    y = ["pos", "neg"] * 40
    model = tsenet.TSENetClassifier(max_epochs=2, random_state=0).fit(texts, y)
    model.report(tmp_path / "report.html", texts, y)
    assert "good film fun" in (tmp_path / "report.html").read_text("utf-8")
    assert str(explain_prediction(model, texts[:1])) == str(explain_prediction(model, texts[0]))
    with pytest.raises(DataError, match="document 0 is a NoneType"):
        tsenet.TSENetClassifier().fit([None, *texts[1:]], y)


def test_a_row_of_a_frame_with_categories_is_explained() -> None:
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"size": rng.normal(size=60), "colour": ["red", "blue", "green"] * 20})
    model = tsenet.TSENetClassifier(max_epochs=2, random_state=0).fit(frame, frame.colour == "red")
    one = explain_prediction(model, frame.iloc[0])
    assert str(one) == str(explain_prediction(model, frame.iloc[[0]]))


def test_a_missing_folder_is_named(tmp_path: Path) -> None:
    model = tsenet.TSENetClassifier(max_epochs=1).fit(np.eye(8).repeat(4, 0), np.arange(32) % 2)
    with pytest.raises(FileNotFoundError, match=r"there is no folder .*nowhere to write m\.tsenet"):
        model.save(tmp_path / "nowhere" / "m.tsenet")
