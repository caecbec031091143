"""Words that describe topics."""

from __future__ import annotations

import numpy as np
import pytest

from tests.topics.planted import N_THEMES, N_TOPICS, N_WORDS
from tsenet.data.binary import BinaryRows
from tsenet.skeleton.tree import PRESENT
from tsenet.topics.describe import describe
from tsenet.topics.hierarchy import TopicHierarchy
from tsenet.topics.mixture import learn_hierarchy


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


@pytest.mark.parametrize("sizes", [1, (1,), (1, 4)])
def test_one_topic_has_words_too(rows: BinaryRows, sizes: int | tuple[int, ...]) -> None:
    hierarchy = learn_hierarchy(rows, sizes)
    assert hierarchy.sizes[-1] == 1
    assert (describe(hierarchy, rows, n_words=5).words >= 0).all(axis=1).all()
