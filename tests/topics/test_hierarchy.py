"""Hierarchies of topics: presence, merging, and the latent tree of one."""

from __future__ import annotations

import numpy as np
import pytest

from tsenet import Table
from tsenet.data.binary import BinaryRows, BinaryRule
from tsenet.topics.hierarchy import TopicHierarchy
from tsenet.topics.presence import PRESENT


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
