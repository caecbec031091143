"""Titles of topics against greedy loops over documents, and phrases against loops over texts."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st

from tsenet.topics.titles import are_of_one_stem, count_phrases, titles

WORDS = ("ball", "balls", "goal", "team", "league", "vote")


def greedy(documents: Any, present: Any, shown: list[int]) -> list[str]:
    """Three words, one after the other, by counting documents that have the word but none chosen before."""
    inside = [row for row, on in zip(documents, present, strict=True) if on]
    outside = [row for row, on in zip(documents, present, strict=True) if not on]
    chosen: list[int] = []
    while len(chosen) < 3:
        best, most = None, -np.inf
        for word in shown:
            if any(are_of_one_stem(WORDS[word], WORDS[other]) for other in chosen):
                continue
            added = sum(bool(row[word]) and not any(row[k] for k in chosen) for row in inside)
            elsewhere = sum(bool(row[word]) for row in outside) / max(1, len(outside))
            gain = added / max(1, len(inside)) - 3.0 * elsewhere
            if gain > most + 1e-12:
                best, most = word, gain
        if best is None:
            break
        chosen.append(best)
    return [WORDS[word] for word in chosen]


@settings(max_examples=80)
@given(seed=st.integers(0, 10_000), n_rows=st.integers(1, 40), n_shown=st.integers(1, 6))
def test_titles_are_those_of_a_greedy_loop(seed: int, n_rows: int, n_shown: int) -> None:
    rng = np.random.default_rng(seed)
    documents = rng.random((n_rows, len(WORDS))) < rng.random(len(WORDS))
    present = rng.random(n_rows) < 0.6
    shown = rng.permutation(len(WORDS))[:n_shown]
    word_shares = np.zeros((1, n_shown, 2))
    for side, rows in enumerate((documents[~present], documents[present])):
        word_shares[0, :, side] = rows[:, shown].sum(axis=0) / max(1, len(rows))
    (found,) = titles(
        WORDS,
        shown[None],
        word_shares,
        n_shown,
        documents=sp.csc_array(documents.astype(float)),
        strengths=sp.csr_array(present[:, None].astype(float)),
    )
    assert found.split(", ") == greedy(documents, present, shown.tolist())


def test_a_word_that_is_common_elsewhere_names_nothing() -> None:
    shares = np.array([[[0.5, 0.9], [0.0, 0.4], [0.0, 0.3], [0.2, 0.5]]])
    (found,) = titles(WORDS[2:], np.arange(4)[None], shares, 4)
    assert found == "team, league, vote"


@pytest.mark.parametrize(
    ("first", "second", "alike"),
    [
        ("ischemia", "ischemic", True),
        ("pregnancy", "pregnancies", True),
        ("election", "elected", True),
        ("car", "cars", True),
        ("car", "carbon", False),
        ("international", "internet", False),
        ("trial", "trials", True),
        ("maternal", "pregnancy", False),
        ("", "ab", True),
    ],
)
def test_stems(first: str, second: str, alike: bool) -> None:
    assert are_of_one_stem(first, second) is alike
    assert are_of_one_stem(second, first) is alike


@settings(max_examples=60)
@given(st.lists(st.lists(st.sampled_from("abcdx"), max_size=30), max_size=12))
def test_phrases_are_those_of_a_loop(texts: list[list[str]]) -> None:
    column = {word: k for k, word in enumerate("abcd")}
    follows: dict[tuple[int, int], int] = {}
    for words in texts:
        for first, second in pairwise(words):
            if first in column and second in column and first != second:
                pair = column[first], column[second]
                follows[pair] = follows.get(pair, 0) + 1
    count = {k: sum(words.count(word) for words in texts) for word, k in column.items()}
    expected = {
        (a, b): n
        for (a, b), n in follows.items()
        if n >= 5 and n >= 0.25 * np.sqrt(count[a] * count[b]) and n >= 4 * follows.get((b, a), 0)
    }
    assert count_phrases(texts, column) == expected


def test_a_title_shows_the_phrase_of_a_word() -> None:
    vocabulary = ("trial", "clinical", "drug", "trials", "dose")
    phrases = {(1, 0): 50, (2, 0): 5, (0, 4): 90, (2, 3): 500}
    words = np.array([[0, 2, 1, 3, -1]])  # "dose" does not describe the topic
    shares = np.array([[[0.0, 0.6], [0.0, 0.5], [0.0, 0.4], [0.0, 0.3], [0, 0]]])
    (found,) = titles(vocabulary, words, shares, 4, phrases=phrases)
    assert found == "clinical trial, drug"  # no second form of trial, no word twice
