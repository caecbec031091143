"""Words, shares and information of topics: of a hierarchy against its documents, of a tree against enumeration."""

from __future__ import annotations

import itertools
import math

import numpy as np
import numpy.typing as npt
import pytest
from scipy.special import xlogy

from tests.topics.planted import N_THEMES, N_TOPICS, N_WORDS, planted
from tests.topics.trees import WORDS, make_tree
from tsenet.data import BinaryRule, Table
from tsenet.data.binary import BinaryRows
from tsenet.explain import coherence
from tsenet.skeleton.tree import LatentTree
from tsenet.topics.describe import (
    TopicDescription,
    describe_hierarchy,
    topic_tree,
)
from tsenet.topics.hierarchy import TopicHierarchy
from tsenet.topics.mixture import learn_hierarchy
from tsenet.topics.presence import PRESENT
from tsenet.topics.topic import every_topic


def describe(hierarchy: TopicHierarchy, rows: BinaryRows) -> TopicDescription:
    words = [f"w{k}" for k in range(rows.n_columns)]
    ids = [f"t{k}" for k in range(sum(hierarchy.sizes))]
    return describe_hierarchy(hierarchy, rows, words, ids)


def test_words_describe_topics_and_are_not_repeated_below() -> None:
    rows, _ = planted(longest=6.0)
    assert np.median(np.diff(rows.indptr)) > 15
    learned = learn_hierarchy(rows, (N_THEMES, N_THEMES * N_TOPICS))
    described = describe(learned, rows)
    n_topical = N_THEMES * N_TOPICS * N_WORDS
    low, top = np.split(described.words[:, :10], [learned.sizes[0]])
    assert (top < rows.n_columns - 20).all()  # no general word
    for topic, row in enumerate(low):
        words = row[row >= 0]
        assert not set(words) & set(described.words[learned.parent[topic], :10])
        best = words[:5]
        assert np.bincount(best[best < n_topical] // N_WORDS).max() >= 0.7 * best.size
    dense = rows.to_dense()
    present = learned.strengths(rows).toarray()[:, 0] >= PRESENT
    shares = [dense[~present, low[0, 0]].mean(), dense[present, low[0, 0]].mean()]
    assert described.word_shares[0, 0] == pytest.approx(shares)
    assert described.share[0] == present.mean()


def test_short_documents_repeat_the_words_of_the_topic_above(
    learned: TopicHierarchy, rows: BinaryRows
) -> None:
    assert np.median(np.diff(rows.indptr)) < 15
    described = describe(learned, rows)
    low = range(learned.sizes[0])
    words = [
        set(described.words[k, :10]) & set(described.words[learned.parent[k], :10]) for k in low
    ]
    assert all(words)


def test_one_definition_of_information_coherence_and_ties(
    learned: TopicHierarchy, rows: BinaryRows
) -> None:
    described = describe(learned, rows)
    dense = rows.to_dense()
    present = learned.strengths(rows).toarray() >= PRESENT
    for k in (0, 5, sum(learned.sizes) - 1):
        every = [
            information(np.histogram2d(dense[:, w], present[:, k], bins=2)[0] / rows.n_rows)
            for w in range(rows.n_columns)
        ]
        assert described.information[k] == pytest.approx(sum(every))
        word = described.words_of(k)[0]
        assert word.information == pytest.approx(every[described.words[k, 0]])
        names = [found.word for found in described.words_of(k, 10)]
        counts = Table.of(rows.to_csr(), names=list(described.vocabulary))
        assert described.coherence[k] == pytest.approx(coherence([names], counts).score)

    word = int(np.flatnonzero(learned.main_topic == 0)[0])
    on, off = (dense[side, word].sum() + 0.5 for side in (present[:, 0], ~present[:, 0]))
    n_on, n_off = (side.sum() + 1.0 for side in (present[:, 0], ~present[:, 0]))
    expected = math.log(on / (n_on - on)) - math.log(off / (n_off - off))
    assert described.tie[word] == pytest.approx(expected)
    assert (described.tie[rows.n_columns :][learned.parent < 0] == 0).all()


@pytest.mark.parametrize("sizes", [1, (1,), (1, 4)])
def test_one_topic_has_words_too(rows: BinaryRows, sizes: int | tuple[int, ...]) -> None:
    hierarchy = learn_hierarchy(rows, sizes)
    assert hierarchy.sizes[-1] == 1
    assert (describe(hierarchy, rows).words[:, :5] >= 0).all(axis=1).all()


# ---- of a tree, against enumeration of the whole joint distribution


def joint(tree: LatentTree) -> npt.NDArray[np.float64]:
    """P of every state of all nodes, one axis per node."""
    table = np.zeros((2,) * tree.n_nodes)
    for state in itertools.product((0, 1), repeat=tree.n_nodes):
        table[state] = math.prod(
            tree.cpt[v, state[tree.parent[v]] if tree.parent[v] >= 0 else 0, state[v]]
            for v in range(tree.n_nodes)
        )
    return table


def pair(table: npt.NDArray[np.float64], v: int, w: int) -> npt.NDArray[np.float64]:
    """P(v, w), shape (2, 2), for v < w."""
    return table.sum(axis=tuple(axis for axis in range(table.ndim) if axis not in (v, w)))


def information(cells: npt.NDArray[np.float64]) -> float:
    outer = cells.sum(1, keepdims=True) * cells.sum(0, keepdims=True)
    return float((xlogy(cells, cells) - xlogy(cells, outer)).sum())


@pytest.mark.parametrize("seed", range(5))
def test_words_sizes_and_strengths_by_enumeration(seed: int) -> None:
    tree = make_tree(seed)
    table = joint(tree)
    subtree = {6: [0, 1], 7: [2, 3], 8: [4], 9: [0, 1], 10: [2, 3, 4]}
    found = {topic.name: topic for topic in every_topic(topic_tree(tree, min_share=0))}
    assert sorted(found) == sorted(tree.names[6:])
    for z, below in subtree.items():
        topic = found[tree.names[z]]
        on = table.sum(axis=tuple(axis for axis in range(table.ndim) if axis != z))[1]
        assert topic.size == pytest.approx(on, abs=1e-12)
        assert topic.level == tree.level[z]
        expected = []
        for w in below:
            cells = pair(table, w, z)
            inside, outside = cells[1, 1] / cells[:, 1].sum(), cells[1, 0] / cells[:, 0].sum()
            if inside > outside:
                weight = information(cells) * cells[1, 1] / cells[1].sum()
                expected.append((weight, information(cells), inside, outside, WORDS[w]))
        expected.sort(reverse=True)
        assert [word.word for word in topic.words] == [word for *_, word in expected]
        for word, (weight, strength, inside, outside, _) in zip(topic.words, expected, strict=True):
            assert word.weight == pytest.approx(weight, abs=1e-12)
            assert word.information == pytest.approx(strength, abs=1e-12)
            assert word.inside == pytest.approx(inside, abs=1e-12)
            assert word.outside == pytest.approx(outside, abs=1e-12)


def test_figures_from_data_are_shares_of_documents() -> None:
    tree = make_tree(1)
    X = (np.random.default_rng(0).random((57, 6)) < 0.4).astype(float)
    topics = list(every_topic(topic_tree(tree, Table.of(X, names=WORDS), min_share=0)))
    posterior = tree.posterior(Table.of(X, names=WORDS))
    below = {"Z1.0": [0, 1], "Z1.1": [2, 3], "Z1.2": [4], "Z2.0": [0, 1], "Z2.1": [2, 3, 4]}
    for topic in topics:
        on = posterior[:, tree.latent_names.index(topic.name)] >= 0.5
        present = on & X[:, below[topic.name]].any(axis=1)
        assert topic.size == present.mean()
        for word in topic.words:
            column = X[:, WORDS.index(word.word)]
            assert word.inside == pytest.approx(column[present].mean() if present.any() else 0)
            assert word.outside == pytest.approx(column[~present].mean())
    # which words describe a topic does not depend on the documents
    by_model = every_topic(topic_tree(tree, min_share=0))
    names = {topic.name: [word.word for word in topic.words] for topic in by_model}
    assert {topic.name: [word.word for word in topic.words] for topic in topics} == names


def test_titles() -> None:
    tree = make_tree(3, positive=True)
    for topic in every_topic(topic_tree(tree)):
        words = {word.word for word in topic.words}
        assert set(topic.title.split(", ")) <= words
        assert len(topic.title.split(", ")) == min(3, len(words))


def test_a_tree_without_latents() -> None:
    rule = BinaryRule.learn(Table.of(np.eye(2), names=["a", "b"]))
    tree = LatentTree(
        np.array([-1, -1]), np.array([0, 0]), np.full((2, 2, 2), 0.5), ("a", "b"), rule
    )
    assert topic_tree(tree) == []
    assert topic_tree(tree, np.eye(2)) == []
