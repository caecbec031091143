"""Hierarchies of topics: planted ones are recovered, levels have the sizes asked for, and edges are positive."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray
from sklearn.metrics import adjusted_rand_score

from tsenet import Table
from tsenet.data.binary import BinaryRows, BinaryRule
from tsenet.errors import DataError
from tsenet.skeleton.hierarchy import TopicHierarchy, describe, learn_hierarchy
from tsenet.skeleton.tree import PRESENT

N_THEMES, N_TOPICS, N_WORDS = 4, 3, 10  # topics of each theme, and words of each


def planted(n_rows: int = 1500, seed: int = 0) -> tuple[BinaryRows, NDArray[np.int64]]:
    """Documents of any length about one topic each, with words of its theme and general ones; their topics."""
    rng = np.random.default_rng(seed)
    topic = rng.integers(0, N_THEMES * N_TOPICS, n_rows)
    n_topical = N_THEMES * N_TOPICS * N_WORDS
    rate = np.zeros((n_rows, n_topical + N_THEMES * 5 + 20))
    length = rng.uniform(0.3, 2.0, n_rows)[:, None]
    words = np.arange(rate.shape[1])
    rate[(words // N_WORDS == topic[:, None]) & (words < n_topical)] = 0.3
    theme = (words - n_topical) // 5
    rate[(words >= n_topical) & (theme == topic[:, None] // N_TOPICS)] = 0.4
    rate[:, -20:] = 0.15
    rate += 0.005
    return BinaryRows.of_dense(rng.random(rate.shape) < rate * length), topic


@pytest.fixture(scope="module")
def rows() -> BinaryRows:
    return planted()[0]


@pytest.fixture(scope="module")
def learned(rows: BinaryRows) -> TopicHierarchy:
    return learn_hierarchy(rows, (N_THEMES, N_THEMES * N_TOPICS))


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


def test_a_topic_is_present_where_one_below_it_is(
    learned: TopicHierarchy, rows: BinaryRows
) -> None:
    present = learned.strengths(rows).toarray() >= PRESENT
    low = present[:, learned.levels[0]]
    assert not (low & ~present[:, learned.parent[learned.levels[0]]]).any()
    assert present.any(axis=1).mean() > 0.98


def test_the_latent_tree_has_the_rates_of_the_documents(
    learned: TopicHierarchy, rows: BinaryRows
) -> None:
    names = [f"w{k}" for k in range(rows.n_columns)]
    rule = BinaryRule.learn(Table.of(rows.to_csr(), names=names))
    tree = learned.latent_tree(rows, rule)
    assert tree.layer_sizes[1:] == learned.sizes
    present = learned.strengths(rows).toarray() >= PRESENT
    assert tree.marginals()[tree.n_observed :] == pytest.approx(present.mean(axis=0), abs=0.01)
    latents = slice(tree.n_observed, tree.layer(tree.n_levels).start)
    assert (tree.cpt[latents, 1, 1] > tree.cpt[latents, 0, 1]).all()  # no negative tie
    word = int(np.flatnonzero(learned.main_topic == 0)[0])
    with_topic = rows.to_dense()[present[:, 0], word].mean()
    assert tree.cpt[word, 1, 1] == pytest.approx(with_topic, abs=0.02)


def test_words_describe_topics_and_are_not_repeated_below(
    learned: TopicHierarchy, rows: BinaryRows
) -> None:
    described = describe(learned, rows, n_words=10)
    n_topical = N_THEMES * N_TOPICS * N_WORDS
    low, top = np.split(described.words, [learned.sizes[0]])
    assert (top < rows.n_columns - 20).all()  # no general word
    for topic, row in enumerate(low):
        words = row[row >= 0]
        assert not set(words) & set(described.words[learned.parent[topic]])
        assert np.bincount(words[words < n_topical] // N_WORDS).max() >= 0.7 * words.size
    dense = rows.to_dense()
    present = learned.strengths(rows).toarray()[:, 0] >= PRESENT
    shares = [dense[~present, low[0, 0]].mean(), dense[present, low[0, 0]].mean()]
    assert described.word_shares[0, 0] == pytest.approx(shares)
    assert described.share[0] == present.mean()


def test_topics_merge(learned: TopicHierarchy, rows: BinaryRows) -> None:
    before = learned.strengths(rows, least=0).toarray()
    merged, column = learned.merged([0, 5])
    assert merged.sizes[0] == learned.sizes[0] - 1
    assert column[5] == -1
    kept = np.flatnonzero(column >= 0)
    assert sorted(column[kept]) == list(range(sum(merged.sizes)))
    after = merged.strengths(rows, least=0).toarray()
    others = np.setdiff1d(np.flatnonzero(column[: learned.sizes[0]] >= 0), [0])
    clear = (before[:, others].argmax(axis=1) == 1) & (before[:, others].max(axis=1) > 0.7)
    assert (after[clear][:, column[others]].argmax(axis=1) == 1).mean() > 0.9
    top, _ = learned.merged(list(range(learned.sizes[0], sum(learned.sizes))))
    assert top.sizes == (learned.sizes[0], 1)


def test_new_documents_move_words(learned: TopicHierarchy, rows: BinaryRows) -> None:
    again = learned.updated(rows)
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


@pytest.mark.parametrize("sizes", [1, (1,), (1, 4)])
def test_one_topic_has_words_too(rows: BinaryRows, sizes: int | tuple[int, ...]) -> None:
    hierarchy = learn_hierarchy(rows, sizes)
    assert hierarchy.sizes[-1] == 1
    assert (describe(hierarchy, rows, n_words=5).words >= 0).all(axis=1).all()
