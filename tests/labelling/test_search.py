"""Searches: the right texts, and never longer than two seconds."""

from __future__ import annotations

import re

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tsenet.errors import DataError
from tsenet.labelling.search import find

TEXTS = ["The Moon rose", "moonlight, and rose", "a rose is a rose", "Straße", "rose -moon"]


def found(query: str, texts: list[str] = TEXTS) -> list[int]:
    hits = find(query, texts, [text.casefold() for text in texts])
    return np.flatnonzero(hits).tolist()


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
