"""The levels above the lowest: topics of related documents share a parent, others have none."""

from __future__ import annotations

import numpy as np
import pytest

from benchmarks.topics import subjects
from tests.topics.planted import N_THEMES, N_TOPICS, planted
from tsenet.data.binary import BinaryRows
from tsenet.topics.hierarchy import TopicHierarchy
from tsenet.topics.mixture import learn_hierarchy
from tsenet.topics.presence import PRESENT
from tsenet.topics.settings import SETTINGS


@pytest.fixture(scope="module")
def mixed() -> tuple[BinaryRows, np.ndarray]:
    """Documents of four themes with three topics each, and of three subjects that have nothing to do with them."""
    themes, topic = planted(1500)
    others, subject = subjects(400, 3)
    others = others[:, :-100]  # no general words of their own: they would be akin
    width = themes.n_columns + others.shape[1]
    dense = np.zeros((1900, width), bool)
    dense[:1500, : themes.n_columns] = themes.to_dense()
    dense[1500:, themes.n_columns :] = others.toarray()
    return BinaryRows.of_dense(dense), np.concatenate([topic, N_THEMES * N_TOPICS + subject])


@pytest.fixture(scope="module")
def found(mixed: tuple[BinaryRows, np.ndarray]) -> TopicHierarchy:
    return learn_hierarchy(mixed[0])


def test_only_topics_of_a_theme_have_a_parent(
    found: TopicHierarchy, mixed: tuple[BinaryRows, np.ndarray]
) -> None:
    rows, topic = mixed
    low = found.levels[0]
    main = found.strengths(rows)[:, low].toarray().argmax(axis=1)
    planted_of = np.array([np.bincount(topic[main == k]).argmax() for k in range(low.stop)])
    alone = planted_of >= N_THEMES * N_TOPICS
    assert alone.sum() == 3
    assert (found.parent[low][alone] == -1).all()
    theme = planted_of // N_TOPICS
    for parent in set(found.parent[low][~alone].tolist()) - {-1}:
        assert np.unique(theme[found.parent[low] == parent]).size == 1
    assert (found.parent[low] >= 0).sum() >= 10  # of twelve


def test_kinship_is_that_of_topics_with_a_parent(found: TopicHierarchy) -> None:
    has_parent = found.parent >= 0
    assert (found.kinship[has_parent] > SETTINGS.kinship).all()
    assert (found.kinship[~has_parent] == 0).all()


def test_a_document_of_a_topic_on_its_own_has_none_of_the_level_above(
    found: TopicHierarchy, mixed: tuple[BinaryRows, np.ndarray]
) -> None:
    present = found.strengths(mixed[0]).toarray()[1500:] >= PRESENT
    assert present[:, found.levels[0]].any(axis=1).mean() > 0.98
    assert present[:, found.levels[1]].any(axis=1).mean() < 0.05


def test_the_latent_tree_keeps_topics_on_their_own(
    found: TopicHierarchy, mixed: tuple[BinaryRows, np.ndarray]
) -> None:
    from tsenet import Table
    from tsenet.data.binary import BinaryRule

    names = [f"w{k}" for k in range(mixed[0].n_columns)]
    rule = BinaryRule.learn(Table.of(mixed[0].to_csr(), names=names))
    tree = found.latent_tree(mixed[0], rule)
    present = found.strengths(mixed[0]).toarray() >= PRESENT
    assert tree.marginals()[tree.n_observed :] == pytest.approx(present.mean(axis=0), abs=0.01)
