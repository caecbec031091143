from __future__ import annotations

import logging
import subprocess
import sys

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import tsenet.data
from tsenet.data import Documents, vectorize, words_of
from tsenet.errors import DataError


@pytest.mark.parametrize(
    ("document", "words"),
    [
        ("The cat; the CAT!", ["the", "cat", "the", "cat"]),
        ("I x 7 42 1,000 3.14 2024", []),
        ("mp3 3d b2b 12ab", ["mp3", "3d", "b2b", "12ab"]),
        ("snake_case __init__", ["snake", "case", "init"]),
        ("don't we'll", ["don", "we", "ll"]),
        ("Ünïcödé naïve Straße", ["ünïcödé", "naïve", "straße"]),
        ("Москва 東京 عربي", ["москва", "東京", "عربي"]),
        ("café cafe\u0301 ﬁsh", ["café", "café", "fish"]),
        ("٣٤٥ ²²", []),
        ("", []),
    ],
)
def test_words(document: str, words: list[str]) -> None:
    assert words_of(document) == words


def test_case_can_be_kept() -> None:
    assert words_of("The CAT", lowercase=False) == ["The", "CAT"]


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
    with pytest.raises(DataError, match="n_words must be at least 1"):
        vectorize(DOCUMENTS, n_words=0)
    with pytest.raises(DataError, match="select must be"):
        vectorize(DOCUMENTS, select="best")  # type: ignore[arg-type]  # the point of the test
    with pytest.raises(DataError, match="got 'french'"):
        vectorize(DOCUMENTS, stop_words="french")


def test_data_offers_its_names_and_loads_little() -> None:
    for name in tsenet.data.__all__:
        assert getattr(tsenet.data, name) is not None
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        tsenet.data.nothing  # noqa: B018  (asking for it is the test)
    heavy = "{'torch', 'numba', 'sklearn', 'pandas', 'polars', 'pyarrow', 'rich', 'matplotlib'}"
    code = f"import sys, tsenet.data; raise SystemExit(str({heavy} & set(sys.modules) or ''))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.stderr.strip() == ""
