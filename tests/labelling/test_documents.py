"""Documents are the distinct texts of rows; searches find the right ones, and never take longer than two seconds."""

from __future__ import annotations

import re

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tsenet.errors import DataError
from tsenet.labelling.documents import Documents

TEXTS = ["The Moon rose", "moonlight, and rose", "a rose is a rose", "Straße", "rose -moon"]


def found(query: str, texts: list[str] = TEXTS) -> list[int]:
    documents = Documents(texts, texts, np.arange(len(texts)), [""] * len(texts))
    return np.flatnonzero(documents.find(query)).tolist()


def test_documents_are_the_distinct_texts_in_a_lasting_random_order() -> None:
    rows = ["a", "", "b ", "a", " ", "b", "e\u0301", "\u00e9"]
    documents = Documents.of(rows, ["", "x", "", "first", "", "second", "", ""])
    assert documents.texts == ["a", "b ", "e\u0301"]
    assert documents.document.tolist() == [0, -1, 1, 0, -1, 1, 2, 2]
    assert documents.given == ["first", "second", ""]
    some = Documents.of([f"text {i}" for i in range(50)])
    more = Documents.of([f"text {i}" for i in reversed(range(80))])
    first = [some.texts[i] for i in some.order]
    both = [more.texts[i] for i in more.order if more.texts[i] in first]
    assert first == both
    assert first != some.texts


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ("", [0, 1, 2, 3, 4]),
        ("moon rose", [0, 1, 4]),
        ("ROSE -moon", [2]),
        ('"moon rose"', [0]),
        ('"rose is', [2]),
        ("STRASSE", [3]),
        ("-", [4]),
        ("/^(the|a) /", [0, 2]),
        (r"/\broseS?$/", [0, 1, 2]),
        ("//", []),
    ],
)
def test_finds(query: str, expected: list[int]) -> None:
    assert found(query) == expected


@given(st.text(max_size=30), st.lists(st.text(max_size=10), max_size=5))
def test_any_query_is_answered_or_refused(query: str, texts: list[str]) -> None:
    try:
        hits = found(query, texts)
    except DataError:
        return
    assert all(0 <= i < len(texts) for i in hits)


@given(st.lists(st.sampled_from(["ab", "b", "ca", "-a", "-bc"]), max_size=3), st.data())
def test_words_are_as_a_plain_loop_finds_them(words: list[str], data: st.DataObject) -> None:
    texts = data.draw(st.lists(st.text("abc ", max_size=8), max_size=6))
    expected = [
        i
        for i, text in enumerate(texts)
        if all((word.lstrip("-") in text) != word.startswith("-") for word in words)
    ]
    assert found(" ".join(words), texts) == expected


def test_an_expression_of_exponential_time_is_stopped() -> None:
    with pytest.raises(DataError, match="takes more than 2 s"):
        found("/(a|aa)+$/", ["a" * 60 + "b"] * 1000)


@pytest.mark.parametrize("query", ["/(/", "/a{2,1}/", "x" * 201])
def test_what_is_no_search_is_refused(query: str) -> None:
    with pytest.raises(DataError, match=re.escape("no regular expression") + "|at most 200"):
        found(query)
