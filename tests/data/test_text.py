"""Words of documents: scikit-learn's CountVectorizer with our splitting of text, in memory, in parts and in files."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.feature_extraction.text import CountVectorizer, HashingVectorizer, TfidfVectorizer

from tsenet.data import Documents, count_words, vectorize, word_vectorizer, words_of
from tsenet.data.text import TermCounts, vectorizer_fields, vectorizer_of_fields
from tsenet.errors import DataError

DOCUMENTS = [
    "apple pie and apple juice",
    "apple juice",
    "banana pie, and 100 bananas",
    "the banana",
    "1 2 3",
]
EVERY = ("and", "apple", "banana", "bananas", "juice", "pie", "the")


def names(documents: Any, **options: Any) -> tuple[str, ...]:
    return vectorize(documents, word_vectorizer(**options)).names


def test_counts() -> None:
    table = vectorize(DOCUMENTS)
    assert table.names == EVERY
    assert table.is_sparse
    assert table.named
    assert table.values.dtype == np.int32
    assert table.values.toarray()[0].tolist() == [1, 2, 0, 0, 1, 1, 0]
    assert vectorize(Documents(DOCUMENTS)) == table
    assert vectorize(iter(DOCUMENTS)) == table


def test_stop_words() -> None:
    assert names(DOCUMENTS) == EVERY
    assert set(names(DOCUMENTS, stop_words="english")) == {*EVERY} - {"and", "the"}
    mine = names(DOCUMENTS, stop_words=["Apple", "banana-pie"])
    assert set(mine) == {*EVERY} - {"apple", "banana", "pie"}
    assert names(["don't we'll isn't word"], stop_words="english") == ("word",)


def test_which_words_are_kept() -> None:
    documents = ["zebra bear", "zebra bear ant", "ant cow cow cow", "zebra dog dog"]
    assert names(documents, n_words=2) == ("cow", "zebra")
    assert names(documents, n_words=99, min_documents=2) == ("ant", "bear", "zebra")
    assert len(names(documents, n_words=None)) == 5
    documents = ["all most rare", "all most", "all most", "all rare"]
    assert names(documents, max_df=0.75) == ("most", "rare")
    assert names(documents, max_df=0.5) == ("rare",)
    assert names(["New_York 42", "a"], tokenizer="whitespace") == ("42", "a", "new_york")


@pytest.mark.parametrize(
    ("documents", "why"),
    [
        (["1 2", "a b"], "empty vocabulary"),
        ([], "there are no documents"),
        ("one text", "got one string"),
        ([b"apple"], "document 0 is a bytes"),
        (["apple", ["pie"]], "document 1 is a list"),
        (pd.DataFrame({"text": DOCUMENTS}), "got a dataframe: give its column of texts"),
    ],
)
def test_nothing_to_count(documents: Any, why: str) -> None:
    with pytest.raises(DataError, match=why):
        vectorize(documents)


@pytest.mark.parametrize("missing", [None, float("nan"), np.nan, pd.NA, 3.5])
def test_missing_texts_are_empty_and_counted(missing: Any) -> None:
    texts = [DOCUMENTS[0], missing, DOCUMENTS[1], missing]
    with pytest.warns(UserWarning, match="2 of 4 texts are missing"):
        table = vectorize(texts)
    assert table == vectorize([DOCUMENTS[0], "", DOCUMENTS[1], ""])
    with pytest.warns(UserWarning, match="2 of 4 texts are missing"):
        assert count_words(texts, table.names) == table


def test_bad_options() -> None:
    with pytest.raises(DataError, match="no vocabulary for 2 documents"):
        names(["apple", "pear"], min_documents=2)
    with pytest.raises(DataError, match="max_features"):
        names(DOCUMENTS, n_words=0)
    with pytest.raises(DataError, match="max_df"):
        names(DOCUMENTS, max_df=1.5)
    with pytest.raises(DataError, match="tokenizer must be 'unicode' or 'whitespace'"):
        word_vectorizer(tokenizer="spacy")
    with pytest.raises(DataError, match=r"TfidfVectorizer.*give a CountVectorizer"):
        vectorize(DOCUMENTS, TfidfVectorizer())
    with pytest.raises(DataError, match="must be scikit-learn's CountVectorizer or None"):
        vectorize(DOCUMENTS, HashingVectorizer())


def test_other_documents_are_counted_alike() -> None:
    vectorizer = CountVectorizer(ngram_range=(1, 2), token_pattern=r"\w+")
    table = vectorize(DOCUMENTS, vectorizer)
    assert count_words(DOCUMENTS[::-1], vectorizer) == table.take(np.arange(5)[::-1])
    vectorizer = word_vectorizer(ngrams=2)
    table = vectorize(DOCUMENTS, vectorizer)
    assert count_words(DOCUMENTS, table.names) == table


# ---- documents in parts


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"max_features": 3},
        {"ngram_range": (1, 2), "max_df": 0.5},
        {"min_df": 2, "stop_words": ["pie"]},
        {"min_df": 0.3},
        {"analyzer": "char_wb", "max_features": 20},
    ],
)
def test_parts_give_the_vocabulary_of_all(options: dict[str, Any]) -> None:
    rng = np.random.default_rng(0)
    texts = [" ".join(rng.choice(EVERY, rng.integers(0, 9))) for _ in range(60)]
    whole = CountVectorizer(**options).fit(texts)
    parts = [TermCounts.of(CountVectorizer(**options), texts[k : k + 7]) for k in range(0, 60, 7)]
    total = parts[0]
    for part in parts[1:]:
        total = total.add(part)
    assert total.fit(CountVectorizer(**options)).vocabulary_ == whole.vocabulary_


# ---- model files


@pytest.mark.parametrize(
    "vectorizer",
    [
        word_vectorizer(),
        word_vectorizer(ngrams=2, stop_words="english", tokenizer="whitespace"),
        CountVectorizer(analyzer="char_wb", ngram_range=(2, 4)),
        CountVectorizer(token_pattern=r"[a-z]+", lowercase=False, binary=True, max_df=0.9),
        CountVectorizer(stop_words="english", strip_accents="unicode", min_df=np.int64(1)),
        CountVectorizer(vocabulary=["pie", "apple"]),
        CountVectorizer(stop_words=["pie"], max_features=4),
    ],
)
def test_file_form(vectorizer: CountVectorizer) -> None:
    table = vectorize(DOCUMENTS, vectorizer)
    fields = json.loads(json.dumps(vectorizer_fields(vectorizer)))
    again = vectorizer_of_fields(fields, table.names)
    assert count_words(DOCUMENTS, again) == table
    assert vectorizer_fields(again) == fields


class Mine(CountVectorizer):
    pass


@pytest.mark.parametrize(
    ("vectorizer", "named"),
    [
        (CountVectorizer(tokenizer=str.split, token_pattern=None), "tokenizer"),
        (CountVectorizer(preprocessor=str.upper), "preprocessor"),
        (CountVectorizer(analyzer=str.split), "analyzer"),
        (CountVectorizer(strip_accents=str.upper), "strip_accents"),
        (CountVectorizer(ngram_range=(1, 1000)), "ngram_range"),
        (Mine(), "Mine"),
    ],
)
def test_what_a_file_cannot_hold_is_named(vectorizer: CountVectorizer, named: str) -> None:
    vectorize(DOCUMENTS, vectorizer)
    with pytest.raises(DataError, match=f"a model file cannot hold .*{named}"):
        vectorizer_fields(vectorizer)


@pytest.mark.parametrize(
    "change",
    [
        {"tokenizer": "evil_words:split"},
        {"tokenizer": 1},
        {"analyzer": "sentence"},
        {"preprocessor": "evil_words:split"},
        {"ngram_range": [0, 1]},
        {"ngram_range": [2, 1]},
        {"ngram_range": [1, 10**9]},
        {"ngram_range": [1.0, 2.0]},
        {"ngram_range": [True, 2]},
        {"ngram_range": 2},
        {"stop_words": "klingon"},
        {"strip_accents": "all"},
        {"token_pattern": "(" * 2000},
        {"token_pattern": 3},
        {"vocabulary": ["ab"]},
        {"more": 1},
    ],
)
def test_wrong_fields(
    change: dict[str, Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "evil_words.py").write_text("raise SystemExit('imported')\n")
    monkeypatch.syspath_prepend(tmp_path)
    fields = vectorizer_fields(CountVectorizer())
    with pytest.raises(DataError):
        vectorizer_of_fields({**fields, **change}, ["ab"])
    del fields["binary"]
    with pytest.raises(DataError, match="has the fields"):
        vectorizer_of_fields(fields, ["ab"])


@pytest.mark.parametrize("words", [[], ["ab", "ab"], ["ab", 1], ["b\ud800"]])
def test_wrong_words(words: list[Any]) -> None:
    with pytest.raises(DataError, match="vocabulary"):
        vectorizer_of_fields(vectorizer_fields(CountVectorizer()), words)


@given(st.lists(st.text("ab c", max_size=12), min_size=1, max_size=6))
def test_counts_against_the_definition(documents: list[str]) -> None:
    table = count_words(documents, ["ab"])
    assert table.values.toarray()[:, 0].tolist() == [words_of(t).count("ab") for t in documents]
