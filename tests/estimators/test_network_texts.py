"""Estimators fitted on texts: they count the words themselves, and carry how they do it."""

from __future__ import annotations

import pickle
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest
from sklearn.base import clone
from sklearn.feature_extraction.text import CountVectorizer, HashingVectorizer, TfidfVectorizer
from sklearn.model_selection import GridSearchCV

import tsenet
from tsenet.data import count_words, vectorize, word_vectorizer
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
    "make", [tuple, np.array, pd.Series, pl.Series, lambda x: np.array(x, object)]
)
def test_any_column_of_texts(model: tsenet.TSENetClassifier, make: Any) -> None:
    np.testing.assert_array_equal(model.predict(make(TEXTS)), model.predict(TEXTS))


@pytest.mark.parametrize(
    "vectorizer",
    [
        CountVectorizer(ngram_range=(1, 2)),
        CountVectorizer(analyzer="char_wb", ngram_range=(2, 3), max_features=100),
        CountVectorizer(token_pattern=r"[a-z]+", stop_words=["oil"]),
        word_vectorizer(ngrams=2, n_words=50),
    ],
)
def test_a_vectorizer_of_the_user(vectorizer: CountVectorizer, tmp_path: Path) -> None:
    model = tsenet.TSENetClassifier(vectorizer=vectorizer, random_state=0, max_epochs=2)
    model.fit(TEXTS, LABELS)
    assert not hasattr(vectorizer, "vocabulary_")  # parameters stay as they are
    expected = clone(vectorizer).fit(TEXTS)
    assert model.feature_names_in_.tolist() == expected.get_feature_names_out().tolist()
    answers = model.predict_proba(TEXTS)
    np.testing.assert_array_equal(answers, model.predict_proba(count_words(TEXTS, expected)))
    path = tmp_path / "m.tsenet"
    model.save(path)
    again = tsenet.load(path)
    np.testing.assert_allclose(again.predict_proba(TEXTS), answers, atol=1e-5)
    options = ("analyzer", "ngram_range", "token_pattern", "tokenizer", "stop_words")
    for name in options:
        assert getattr(again.vectorizer, name) == getattr(vectorizer, name)
    assert "vectorizer=CountVectorizer" in repr(model)
    copied = pickle.loads(pickle.dumps(model))
    np.testing.assert_array_equal(copied.predict_proba(TEXTS), answers)
    assert clone(model).vectorizer.get_params() == vectorizer.get_params()


def test_a_search_over_the_vectorizer() -> None:
    model = tsenet.TSENetClassifier(vectorizer=CountVectorizer(), random_state=0, max_epochs=1)
    for grid in (
        {"vectorizer__ngram_range": [(1, 1), (1, 2)]},
        {"vectorizer": [None, CountVectorizer(analyzer="char_wb", ngram_range=(2, 3))]},
    ):
        search = GridSearchCV(model, grid, cv=2, error_score="raise").fit(TEXTS, LABELS)
        assert search.predict(["crude oil prices", "a striker of the team"]).shape == (2,)


def test_functions_of_the_user_cannot_be_saved(tmp_path: Path) -> None:
    vectorizer = CountVectorizer(tokenizer=lambda text: text.split("|"), token_pattern=None)
    model = tsenet.TSENetClassifier(vectorizer=vectorizer, random_state=0, max_epochs=1)
    model.fit([text.replace(" ", "|") for text in TEXTS], LABELS)
    assert model.predict(["crude|oil", "goal"]).shape == (2,)
    with pytest.raises(DataError, match="tokenizer"):
        model.save(tmp_path / "m.tsenet")
    assert not (tmp_path / "m.tsenet").exists()


@pytest.mark.parametrize("vectorizer", [TfidfVectorizer(), HashingVectorizer(), "words"])
def test_other_vectorizers_are_refused(vectorizer: Any) -> None:
    with pytest.raises(DataError, match="CountVectorizer"):
        tsenet.TSENetClassifier(vectorizer=vectorizer).fit(TEXTS, LABELS)


@pytest.mark.parametrize("missing", [None, pd.NA])
def test_missing_texts_are_empty(model: tsenet.TSENetClassifier, missing: Any) -> None:
    texts = [*TEXTS[:-1], missing]
    with pytest.warns(UserWarning, match="1 of 120 texts are missing"):
        fitted = tsenet.TSENetClassifier(random_state=0, max_epochs=1).fit(texts, LABELS)
    with pytest.warns(UserWarning, match="1 of 2 texts are missing"):
        answers = model.predict_proba([missing, "crude oil"])
    np.testing.assert_array_equal(answers, model.predict_proba(["", "crude oil"]))
    with pytest.warns(UserWarning, match="2 of 2 texts are missing"):
        fitted.predict([missing, missing])


def test_no_texts_and_generators(model: tsenet.TSENetClassifier, tmp_path: Path) -> None:
    model.save(tmp_path / "m.tsenet")
    for one in (model, tsenet.load(tmp_path / "m.tsenet")):
        for empty in ([], (), np.array([], object), iter([])):
            with pytest.raises(DataError, match="there are no documents"):
                one.predict(empty)
        assert one.predict(text for text in TEXTS).tolist() == one.predict(TEXTS).tolist()
    with pytest.raises(DataError, match="there are no rows and no texts"):
        tsenet.TSENetClassifier().fit([], [])
    fitted = tsenet.TSENetClassifier(random_state=0, max_epochs=5).fit(iter(TEXTS), LABELS)
    assert fitted.predict(TEXTS).tolist() == model.predict(TEXTS).tolist()
    topics = tsenet.TopicModel(random_state=0).fit(text for text in TEXTS)
    assert len(topics.topics_) == len(tsenet.TopicModel(random_state=0).fit(TEXTS).topics_)
    with pytest.raises(DataError, match="there is none"):
        tsenet.TopicModel().fit([])
    with pytest.raises(DataError, match="there are no documents"):
        topics.transform([])


@pytest.mark.parametrize("fields", [{}, {"ngram_range": [1, 10**9]}, "unicode", 3])
def test_wrong_fields_of_a_file(
    model: tsenet.TSENetClassifier, tmp_path: Path, fields: Any
) -> None:
    from tsenet.store import save_parts

    meta, arrays = model.to_parts()
    if isinstance(fields, dict) and fields:
        fields = {**meta["words"], **fields}
    save_parts(tmp_path / "m.tsenet", "TSENetClassifier", {**meta, "words": fields}, arrays)
    with pytest.raises(ModelFileError):
        tsenet.load(tmp_path / "m.tsenet")


def test_reports_and_explanations_take_texts_as_predict_does(tmp_path: Path) -> None:
    texts = ["good film fun", "bad film dull", "good fun plot", "bad dull plot"] * 20
    y = ["pos", "neg"] * 40
    model = tsenet.TSENetClassifier(max_epochs=2, random_state=0).fit(texts, y)
    model.report(tmp_path / "report.html", texts, y)
    assert "good film fun" in (tmp_path / "report.html").read_text("utf-8")
    assert str(explain_prediction(model, texts[:1])) == str(explain_prediction(model, texts[0]))
