"""Splitting a topic in two, on documents whose subjects are known."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp

from tests.topics.planted import N_THEMES, N_TOPICS, N_WORDS, planted
from tsenet.data.binary import BinaryRows
from tsenet.errors import DataError
from tsenet.topics.hierarchy import TopicHierarchy
from tsenet.topics.presence import PRESENT
from tsenet.topics.split import split


def themes_of(hierarchy: TopicHierarchy, topics: np.ndarray) -> list[int]:
    """The planted topic of most of the occurrences of each topic."""
    n_topical = N_THEMES * N_TOPICS * N_WORDS
    counts = hierarchy.counts[:, topics].toarray()[:n_topical]
    by_topic = counts.reshape(-1, N_WORDS, counts.shape[1]).sum(axis=1)
    return list(by_topic.argmax(axis=0))


def test_a_merged_topic_splits_into_what_it_was(learned: TopicHierarchy, rows: BinaryRows) -> None:
    siblings = np.flatnonzero(learned.parent == learned.parent[0])[:2]
    before = themes_of(learned, siblings)
    assert len(set(before)) == 2
    merged, moved = learned.merged(siblings.tolist())
    found, old = split(merged, int(moved[siblings[0]]), rows)
    assert found.sizes == learned.sizes
    halves = np.flatnonzero(old == moved[siblings[0]])
    assert sorted(themes_of(found, halves)) == sorted(before)
    assert (found.parent[halves] == found.parent[halves[0]]).all()
    # nothing is lost, and all other topics are as they were
    np.testing.assert_allclose(found.counts.sum(axis=1), merged.counts.sum(axis=1))
    assert found.usual.sum() == pytest.approx(merged.usual.sum())
    others = np.setdiff1d(np.arange(old.size), halves)
    np.testing.assert_array_equal(
        found.counts[:, others].toarray(), merged.counts[:, old[others]].toarray()
    )
    has_parent = found.parent[others] >= 0
    np.testing.assert_array_equal(
        old[found.parent[others][has_parent]], merged.parent[old[others]][has_parent]
    )


def test_a_topic_above_others_divides_them(learned: TopicHierarchy, rows: BinaryRows) -> None:
    top = learned.levels[1].start
    wide, moved = learned.merged([top, top + 1])
    children = np.flatnonzero(wide.parent == moved[top])
    found, old = split(wide, int(moved[top]), rows)
    halves = np.flatnonzero(old == moved[top])
    assert found.sizes == (learned.sizes[0], learned.sizes[1])
    assert np.isin(found.parent[children], halves).all()
    assert len(set(found.parent[children].tolist())) == 2
    # the two themes come apart again
    was = learned.parent[children]
    agree = np.mean((found.parent[children] == found.parent[children[0]]) == (was == was[0]))
    assert agree == 1.0


def test_a_topic_of_one_subject_is_not_split(learned: TopicHierarchy) -> None:
    rows, topic = planted(300, seed=3)
    one = rows.take(np.flatnonzero(topic == topic[0])[:4])
    present = learned.strengths(one)[:, : learned.sizes[0]].toarray() >= PRESENT
    with pytest.raises(DataError, match="no two subjects to split it into"):
        split(learned, int(present.sum(axis=0).argmax()), one)


def test_one_topic_below_cannot_be_divided(learned: TopicHierarchy, rows: BinaryRows) -> None:
    top = learned.levels[1].start
    children = np.flatnonzero(learned.parent == top)
    single, moved = learned.merged(children.tolist())
    with pytest.raises(DataError, match="split that one"):
        split(single, int(moved[top]), rows)
    assert sp.issparse(single.counts)
