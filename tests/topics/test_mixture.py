"""Learning a hierarchy of topics: planted ones are recovered, and levels have the sizes asked for."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray
from sklearn.metrics import adjusted_rand_score

from tests.topics.planted import N_THEMES, N_TOPICS, N_WORDS, planted
from tsenet.data.binary import BinaryRows
from tsenet.errors import DataError
from tsenet.topics.hierarchy import TopicHierarchy
from tsenet.topics.mixture import learn_hierarchy, update


def strongest(hierarchy: TopicHierarchy, rows: BinaryRows) -> list[NDArray[np.int64]]:
    """The strongest topic of each document, levels from 1 up."""
    strengths = hierarchy.strengths(rows).toarray()
    return [part.argmax(axis=1) for part in np.hsplit(strengths, np.cumsum(hierarchy.sizes)[:-1])]


def test_a_planted_hierarchy_is_recovered(learned: TopicHierarchy) -> None:
    new, topic = planted(500, seed=1)
    low, top = strongest(learned, new)
    assert adjusted_rand_score(topic, low) > 0.8
    assert adjusted_rand_score(topic // N_TOPICS, top) > 0.9
    main = learned.main_topic[: N_THEMES * N_TOPICS * N_WORDS]
    assert adjusted_rand_score(np.arange(main.size) // N_WORDS, main) > 0.9


def test_the_number_of_themes_is_found(rows: BinaryRows) -> None:
    chosen = learn_hierarchy(rows)
    assert chosen.sizes[-1] == N_THEMES
    assert adjusted_rand_score(planted()[1] // N_TOPICS, strongest(chosen, rows)[-1]) > 0.9


def test_general_words_weigh_little(learned: TopicHierarchy) -> None:
    assert learned.weight[-20:].max() < learned.weight[:-20].mean() / 2


@settings(max_examples=8)
@given(st.lists(st.integers(2, 3), min_size=1, max_size=3), st.integers(0, 3))
def test_levels_have_the_sizes_asked_for(factors: list[int], seed: int) -> None:
    sizes = tuple(np.cumprod(factors).tolist())
    documents, _ = planted(300, seed)
    hierarchy = learn_hierarchy(documents, sizes)
    assert hierarchy.sizes == sizes[::-1]
    children = np.bincount(hierarchy.parent[hierarchy.parent >= 0], minlength=sum(sizes))
    assert (children[sizes[-1] :] >= 2).all()
    again = learn_hierarchy(documents, sizes)
    assert np.array_equal(again.parent, hierarchy.parent)
    assert (again.counts != hierarchy.counts).nnz == 0


def test_new_documents_move_words(learned: TopicHierarchy, rows: BinaryRows) -> None:
    again = update(learned, rows)
    assert again.counts.sum() == pytest.approx(2 * learned.counts.sum(), rel=0.05)
    assert np.array_equal(again.parent, learned.parent)


def test_seed_words_stay_together(rows: BinaryRows) -> None:
    hierarchy = learn_hierarchy(rows, 12, {1: [[0, 15], [25, 99]]})
    assert hierarchy.main_topic[[0, 15, 25, 99]].tolist() == [0, 0, 1, 1]
    with pytest.raises(DataError, match="seed words"):
        learn_hierarchy(rows, 1, {1: [[0, 15], [25, 99]]})


def test_more_topics_than_words_allow(rows: BinaryRows) -> None:
    with pytest.raises(DataError, match="ask for fewer"):
        learn_hierarchy(rows, 500)


@pytest.mark.parametrize("n_rows", [2, 10, 80])
def test_few_documents_and_documents_without_ties(n_rows: int) -> None:
    few = planted(n_rows)[0]
    assert learn_hierarchy(few).strengths(few).shape[0] == n_rows
    nothing = BinaryRows.of_dense(np.zeros((n_rows, 5), bool))
    assert learn_hierarchy(nothing).strengths(nothing).nnz == 0
