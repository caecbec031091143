"""Copies of documents are found, and count a few times, however many there are."""

from __future__ import annotations

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.topics.planted import planted
from tsenet.data.binary import BinaryRows
from tsenet.topics.copies import counted, sources
from tsenet.topics.mixture import learn_hierarchy
from tsenet.topics.settings import SETTINGS


def documents(n: int, seed: int = 0) -> np.ndarray:
    """Documents of 20 of 400 words, which have little in common."""
    rng = np.random.default_rng(seed)
    dense = np.zeros((n, 400), bool)
    for row in dense:
        row[rng.choice(400, 20, replace=False)] = True
    return dense


def test_copies_and_near_copies_have_the_first_as_their_source() -> None:
    dense = documents(60)
    dense[50] = dense[40] = dense[7]
    dense[30] = dense[7]
    dense[30, np.flatnonzero(dense[7])[:2]] = False  # 18 of 20 words
    expected = np.arange(60)
    expected[[30, 40, 50]] = 7
    assert sources(BinaryRows.of_dense(dense)).tolist() == expected.tolist()


@given(st.integers(0, 10_000), st.integers(0, 12))
@settings(max_examples=30, deadline=None)
def test_only_documents_that_share_most_words_are_copies(seed: int, n_changed: int) -> None:
    rng = np.random.default_rng(seed)
    dense = documents(30, seed)
    for row in range(15, 30):
        dense[row] = dense[row - 15]
        dense[row, rng.choice(400, n_changed, replace=False)] ^= True
    source = sources(BinaryRows.of_dense(dense))
    for row, first in enumerate(source.tolist()):
        shared = (dense[row] & dense[first]).sum()
        assert row == first or shared >= 0.6 * (dense[row] | dense[first]).sum()
    if n_changed == 0:
        assert source[15:].tolist() == list(range(15))


def test_short_documents_are_no_copies() -> None:
    dense = np.zeros((50, 30), bool)
    dense[:, : SETTINGS.words - 1] = True
    assert sources(BinaryRows.of_dense(dense)).tolist() == list(range(50))
    empty = BinaryRows.of_dense(np.zeros((3, 5), bool))
    assert counted(empty).all()


def test_the_first_copies_count() -> None:
    dense = documents(20)
    dense[5:] = dense[0]
    expected = [True] * 5 + [True] * (SETTINGS.copies - 1) + [False] * (16 - SETTINGS.copies)
    assert counted(BinaryRows.of_dense(dense)).tolist() == expected


def test_topics_do_not_depend_on_how_many_copies_there_are() -> None:
    rows = planted(300, seed=0)[0].to_dense()
    reply = np.zeros((1, rows.shape[1] + 12), bool)
    reply[0, -12:] = True
    others = np.hstack([rows, np.zeros((300, 12), bool)])
    few, many = (
        learn_hierarchy(BinaryRows.of_dense(np.vstack([others, np.repeat(reply, n, axis=0)])))
        for n in (SETTINGS.copies, 90)
    )
    assert (few.counts != many.counts).nnz == 0
    assert few.sizes == many.sizes
    of_reply = many.counts[-12:, many.levels[0]].toarray()
    assert (np.count_nonzero(of_reply, axis=1) == 1).all()
    assert np.unique(many.main_topic[-12:]).size == 1
    assert many.main_topic[-1] not in many.main_topic[:-12]
