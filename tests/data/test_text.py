from __future__ import annotations

import functools
import json
import logging
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

import tsenet.data
from tsenet.data import Documents, WordCounter, count_words, vectorize, words_of
from tsenet.errors import DataError

DOCUMENTS = [
    "apple pie and apple juice",
    "apple juice",
    "banana pie, and 100 bananas",
    "the banana",
    "1 2 3",
]


def test_counts() -> None:
    table = vectorize(DOCUMENTS)
    table.validate()
    assert table.names == ("apple", "banana", "juice", "pie")
    assert table.is_sparse
    assert table.named
    assert table.values.dtype == np.int32
    np.testing.assert_array_equal(
        table.values.toarray(),
        [[2, 0, 1, 1], [1, 0, 1, 0], [0, 1, 0, 1], [0, 1, 0, 0], [0, 0, 0, 0]],
    )
    assert vectorize(Documents(DOCUMENTS)) == table
    assert vectorize(iter(DOCUMENTS)) == table


def test_rows_without_words_are_logged(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO, logger="tsenet")
    vectorize(DOCUMENTS)
    assert "1 document without any of these words" in caplog.text


def test_stop_words() -> None:
    every = {"apple", "pie", "and", "juice", "banana", "bananas", "the"}
    assert set(vectorize(DOCUMENTS, min_documents=1, stop_words=None).names) == every
    assert set(vectorize(DOCUMENTS, min_documents=1).names) == every - {"and", "the"}
    mine = vectorize(DOCUMENTS, min_documents=1, stop_words=["Apple", "banana-pie"])
    assert set(mine.names) == every - {"apple", "banana", "pie"}
    assert vectorize(["don't we'll isn't word"], min_documents=1).names == ("word",)
    cased = vectorize(["Apple apple"], min_documents=1, lowercase=False, stop_words={"Apple"})
    assert cased.names == ("apple",)


def test_most_frequent_words_with_ties_in_alphabetical_order() -> None:
    documents = ["zebra bear", "zebra bear ant", "ant cow cow cow", "zebra dog dog"]
    assert vectorize(documents, n_words=1, min_documents=1).names == ("zebra",)
    assert vectorize(documents, n_words=2, min_documents=1).names == ("ant", "zebra")
    assert vectorize(documents, n_words=3, min_documents=1).names == ("ant", "bear", "zebra")
    assert vectorize(documents, n_words=99, min_documents=2).names == ("ant", "bear", "zebra")
    assert len(vectorize(documents, n_words=None, min_documents=1).names) == 5
    reversed_rows = vectorize(documents[::-1], n_words=2, min_documents=1)
    assert reversed_rows.names == ("ant", "zebra")


def test_words_of_highest_mean_tfidf() -> None:
    documents = ["all rare rare rare", "all some", "all some", "all"]
    every = vectorize(documents, min_documents=1, stop_words=None)
    assert every.names == ("all", "rare", "some")
    # mean tf-idf: all 4/4 ln 1 = 0, rare 3/4 ln 4 = 1.04, some 2/4 ln 2 = 0.35
    for n_words, kept in ((1, ("rare",)), (2, ("rare", "some")), (9, ("all", "rare", "some"))):
        table = vectorize(
            documents, n_words=n_words, min_documents=1, stop_words=None, select="tfidf"
        )
        assert table.names == kept
    by_frequency = vectorize(documents, n_words=2, min_documents=1, stop_words=None)
    assert by_frequency.names == ("all", "some")


@given(
    st.lists(
        st.lists(st.sampled_from(["ab", "cd", "ef", "gh", "ij"]), max_size=8).map(" ".join),
        min_size=2,
    ).filter(any)
)
def test_mean_tfidf_against_the_definition(documents: list[str]) -> None:
    table = vectorize(documents, min_documents=1, stop_words=None)
    dense = table.values.toarray()
    score = (dense * np.log(len(documents) / (dense > 0).sum(axis=0))).mean(axis=0)
    best = vectorize(documents, n_words=2, min_documents=1, stop_words=None, select="tfidf")
    chosen = np.array([table.names.index(name) for name in best.names])
    rest = np.setdiff1d(np.arange(table.n_columns), chosen)
    assert chosen.size == min(2, table.n_columns)
    assert rest.size == 0 or score[chosen].min() >= score[rest].max() - 1e-12


@pytest.mark.parametrize(
    ("documents", "why"),
    [
        (["1 2", "a b"], "none holds a word of two or more letters"),
        (["the and", "of the"], "of 3 distinct words none is in at least 2 documents"),
        (["apple", "pear"], r"\(min_documents\)"),
        ([], "there are no documents"),
        ("one text", "got one string"),
        (["apple", None], "document 1 is a NoneType"),
        ([b"apple"], "document 0 is a bytes"),
    ],
)
def test_nothing_to_count(documents: list[str], why: str) -> None:
    with pytest.raises(DataError, match=why):
        vectorize(documents)


def test_bad_options() -> None:
    with pytest.raises(DataError, match="n_words must be a whole number"):
        vectorize(["a cat", "a cat"], n_words="many")  # type: ignore[arg-type]  # on purpose
    with pytest.raises(DataError, match="n_words must be a whole number from 1 on"):
        vectorize(DOCUMENTS, n_words=0)
    with pytest.raises(DataError, match="select must be"):
        vectorize(DOCUMENTS, select="best")  # type: ignore[arg-type]  # the point of the test
    for share in (0, 1.5, -1):
        with pytest.raises(DataError, match="max_df must be a share"):
            vectorize(DOCUMENTS, max_df=share)
    for ngrams in (0, 1.5, True, "2"):
        with pytest.raises(DataError, match="ngrams must be a whole number"):
            vectorize(DOCUMENTS, ngrams=ngrams)  # type: ignore[arg-type]  # the point of the test
    with pytest.raises(DataError, match="tokenizer must be a function or one of 'unicode', 'white"):
        vectorize(DOCUMENTS, tokenizer="spacy")
    with pytest.raises(DataError, match="lowercase must be True or False"):
        vectorize(DOCUMENTS, lowercase="no")  # type: ignore[arg-type]  # the point of the test
    with pytest.raises(DataError, match="got a dataframe: give its column of texts"):
        vectorize(pd.DataFrame({"text": DOCUMENTS}))


def test_words_in_too_many_documents() -> None:
    documents = ["all most rare", "all most", "all most", "all rare"]
    assert vectorize(documents, max_df=0.75, stop_words=None).names == ("most", "rare")
    assert vectorize(documents, max_df=0.5, stop_words=None).names == ("rare",)
    with pytest.raises(DataError, match=r"in at most 10% of them \(max_df\)"):
        vectorize(documents, max_df=0.1, stop_words=None)


def test_ngrams() -> None:
    documents = ["the state of the art", "state of the union", "art of the state"]
    table = vectorize(documents, ngrams=3, min_documents=1)
    # n-grams may hold a stop word, but not begin or end with one
    assert table.names == ("art", "state", "union")
    table = vectorize(documents, ngrams=4, min_documents=1)
    four = ("art of the state", "state of the art", "state of the union")
    assert table.names == ("art", four[0], "state", *four[1:], "union")
    counter, learned = WordCounter.learn(documents, ngrams=2, stop_words=None)
    assert "of the" in counter.words
    assert counter.count(documents) == learned
    assert count_words(documents, counter.words) == learned
    assert repr(counter) == f"WordCounter({len(counter.words)} words, unicode, n-grams up to 2)"


def commas(text: str) -> list[str]:
    return text.split(",")


def test_a_tokenizer_of_the_user() -> None:
    counter, table = WordCounter.learn(["Hot Dog, ,cat", "hot dog,fish"], tokenizer=commas)
    assert table.names == ("hot dog",)
    assert counter.split("Hot Dog,CAT") == ["hot dog", "cat"]
    assert counter.count(["hot dog,hot dog"]).values.toarray().tolist() == [[2]]
    stopped = vectorize(["a b,c", "a b,c"], tokenizer=commas, stop_words=["a b"])
    assert stopped.names == ("c",)
    spaced = WordCounter(("new_york", "42"), "whitespace")
    assert spaced.split("New_York 42") == ["new_york", "42"]


@pytest.mark.parametrize("found", [0, None, "a word", [1, 2], [b"word"]])
def test_a_tokenizer_that_returns_something_else(found: Any) -> None:
    with pytest.raises(DataError, match="should return the words of a text, as a list of strings"):
        vectorize(["a text", "a text"], tokenizer=lambda text: found)


def test_file_form() -> None:
    counter = WordCounter(("ab", "b c"), "whitespace", lowercase=False, ngrams=2)
    assert WordCounter.from_dict(json.loads(json.dumps(counter.to_dict()))) == counter
    mine = WordCounter(("ab",), commas)
    fields = mine.to_dict()
    assert fields["tokenizer"] == f"{__name__}:commas"
    loaded = WordCounter.from_dict(fields)
    assert loaded.tokenizer == fields["tokenizer"]
    assert loaded.to_dict() == fields
    with pytest.raises(DataError, match=r"split by .*:commas.* holds no code: pass the function"):
        loaded.count(["ab"])
    assert loaded.with_tokenizer(commas) == mine


def test_a_tokenizer_without_a_name_to_import_is_said() -> None:
    with pytest.warns(UserWarning, match="<lambda> cannot be imported by this name: whoever loads"):
        WordCounter(("ab",), lambda text: text.split()).to_dict()
    with pytest.warns(UserWarning, match="functools:partial cannot be imported"):
        WordCounter(("ab",), functools.partial(commas)).to_dict()


def test_a_name_in_a_file_is_never_imported(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "evil_words.py").write_text("raise SystemExit('imported')\n")
    monkeypatch.syspath_prepend(tmp_path)
    fields = {**WordCounter(("ab",)).to_dict(), "tokenizer": "evil_words:split"}
    counter = WordCounter.from_dict(fields)
    with pytest.raises(DataError, match="evil_words:split"):
        counter.split("ab")
    counter.to_dict()
    assert "evil_words" not in sys.modules


@pytest.mark.parametrize(
    "change",
    [
        {"words": []},
        {"words": ["ab", "ab"]},
        {"words": ["ab", 1]},
        {"words": "ab"},
        {"words": None},
        {"tokenizer": "unknown"},
        {"tokenizer": None},
        {"lowercase": 1},
        {"ngrams": 0},
        {"ngrams": 2.0},
        {"more": 1},
    ],
)
def test_wrong_fields(change: dict[str, Any]) -> None:
    with pytest.raises(DataError):
        WordCounter.from_dict({**WordCounter(("ab",)).to_dict(), **change})
    fields = WordCounter(("ab",)).to_dict()
    del fields["words"]
    with pytest.raises(DataError, match="has the fields"):
        WordCounter.from_dict(fields)


@given(st.lists(st.text("ab c", max_size=12), min_size=1, max_size=6), st.integers(1, 3))
def test_counts_against_the_definition(documents: list[str], ngrams: int) -> None:
    counter = WordCounter(("aa", "ab", "ab ab", "ba aa ab"), ngrams=ngrams)
    expected = [[counter.split(text).count(word) for word in counter.words] for text in documents]
    table = counter.count(documents)
    table.validate()
    assert table.values.toarray().tolist() == expected
    assert count_words(documents, ["ab"]).values.toarray()[:, 0].tolist() == [
        words_of(text).count("ab") for text in documents
    ]


def test_data_offers_its_names_and_loads_little() -> None:
    for name in tsenet.data.__all__:
        assert getattr(tsenet.data, name) is not None
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        tsenet.data.nothing  # noqa: B018  (asking for it is the test)
    heavy = "{'torch', 'numba', 'sklearn', 'pandas', 'polars', 'pyarrow', 'rich', 'matplotlib'}"
    code = f"import sys, tsenet.data; raise SystemExit(str({heavy} & set(sys.modules) or ''))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.stderr.strip() == ""
