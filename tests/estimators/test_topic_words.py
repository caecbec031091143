"""The words that a topic model counts, and what it finds out about texts."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.feature_extraction.text import CountVectorizer

import tsenet
from tests.cli.program import SUBJECTS
from tests.estimators.topics import QUICK
from tsenet import Table, TopicModel
from tsenet.data import count_words
from tsenet.errors import DataError

GERMAN = "das und nicht auch können aus eine werden sich haben"


def test_stop_words_of_the_language_of_the_texts(texts: list[str]) -> None:
    rng = np.random.default_rng(0)
    words = np.array(GERMAN.split())
    german = [f"{text} {' '.join(words[rng.random(10) < 0.7])}" for text in texts]
    with pytest.warns(UserWarning, match="stop_words='german'"):
        model = TopicModel(**QUICK).fit(german)
    assert sorted(model.vocabulary_) == sorted(w for subject in SUBJECTS for w in subject)
    asked = TopicModel(**QUICK, stop_words="german").fit(german)
    assert not {"das", "und"} & set(asked.vocabulary_)
    kept = TopicModel(**QUICK, stop_words=None).fit(german)
    assert {"das", "und"} <= set(kept.vocabulary_)


def test_a_vectorizer(texts: list[str], tmp_path: Path) -> None:
    words = CountVectorizer(ngram_range=(1, 2), min_df=3, max_features=30)
    model = TopicModel(**QUICK, vectorizer=words).fit(texts)
    assert set(model.vocabulary_) == set(clone(words).fit(texts).vocabulary_)
    model.save(tmp_path / "m.tsenet")
    loaded = tsenet.load(tmp_path / "m.tsenet")
    assert loaded.vectorizer.ngram_range == (1, 2)
    np.testing.assert_array_equal(
        loaded.transform(texts).toarray(), model.transform(texts).toarray()
    )


def test_word_counts(fitted: TopicModel, texts: list[str]) -> None:
    table = count_words(texts, fitted.vectorizer_)
    counted = TopicModel(**QUICK).fit(table)
    # a table of counts has no phrases, so that only labels may differ
    assert counted.topics_.drop(columns="label").equals(fitted.topics_.drop(columns="label"))
    assert counted.vectorizer_ is None
    with pytest.raises(DataError, match="got texts, but the model was fitted on a table"):
        counted.transform(texts)
    with pytest.raises(DataError, match="expected documents"):
        TopicModel().fit(Table.of(np.eye(3)))


def test_missing_texts_are_empty_documents(texts: list[str]) -> None:
    with pytest.warns(UserWarning, match=f"2 of {len(texts) + 2} texts are missing"):
        model = TopicModel(**QUICK).fit([*texts, None, float("nan")])
    assert model.n_documents_ == len(texts) + 2
    with pytest.warns(UserWarning, match="1 of 2 texts are missing"):
        assert model.transform([texts[0], None]).shape[0] == 2


def test_addresses_are_words_only_if_asked(four_subjects: list[str], tmp_path: Path) -> None:
    texts = [f"From: joe@mail.org\nDate: today\n\n{text} #fun @joe" for text in four_subjects]
    model = TopicModel().fit(texts)
    assert set(model.vocabulary_) == set(" ".join(four_subjects).split())
    model.save(tmp_path / "m.tsenet")
    loaded = tsenet.load(tmp_path / "m.tsenet")
    np.testing.assert_array_equal(
        loaded.transform(texts).toarray(), model.transform(texts).toarray()
    )
    kept = TopicModel(keep_urls=True).fit(texts)
    assert {"mail", "fun", "joe", "today"} <= set(kept.vocabulary_)
    with pytest.raises(ValueError, match=r"keep_urls.*must be"):
        TopicModel(keep_urls="no").fit(texts)


def test_titles_show_phrases_and_are_those_of_the_file(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    subjects = ["clinical trial dose patients", "goal team league referee"]
    texts = []
    for k in range(200):
        chosen = [word for word in subjects[k % 2].split()[2:] if rng.random() < 0.8]
        first = subjects[k % 2].split()[:2] if rng.random() < 0.9 else []
        texts.append(" ".join([*first, *chosen]))
    model = TopicModel(levels=(2,)).fit(texts)
    labels = model.topics_["label"]
    assert sum("clinical trial" in label for label in labels) == 1
    model.save(tmp_path / "m.tsenet")
    assert tsenet.load(tmp_path / "m.tsenet").topics_["label"].tolist() == labels.tolist()
    merged = tsenet.load(tmp_path / "m.tsenet").merge(model.topics_["id"], texts)
    assert "clinical trial" in merged.topics_["label"][0]
