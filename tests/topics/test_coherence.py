"""NPMI and the coherence of topics: the definition, pair by pair."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest

from tsenet.data.binary import BinaryRows
from tsenet.topics.coherence import npmi, topic_coherence


def by_hand(first: np.ndarray, second: np.ndarray) -> float:
    """NPMI of two words, from the documents that have each, (N,)."""
    joint = float((first & second).mean())
    if joint in (0.0, 1.0):
        return joint - 1.0
    return float(np.log(joint / (first.mean() * second.mean())) / -np.log(joint))


@pytest.fixture
def occurs() -> np.ndarray:
    """Words of all shares: two in all documents, two always together, two never, one in none: (N, V)."""
    rng = np.random.default_rng(0)
    words = rng.random((40, 12)) < rng.uniform(0.05, 0.9, 12)
    words[:, :2] = True
    words[:, 3] = words[:, 2]
    words[:, 5] = ~words[:, 4]
    words[:, 6] = False
    return words


def test_npmi_is_the_definition(occurs: np.ndarray) -> None:
    share = occurs.mean(axis=0)
    joint = occurs.T.astype(float) @ occurs / len(occurs)
    found = npmi(joint, np.outer(share, share))
    expected = [[by_hand(a, b) for a in occurs.T] for b in occurs.T]
    np.testing.assert_allclose(found, expected, atol=1e-12)
    assert (found[0, 1], found[4, 5], found[6, 7]) == (0.0, -1.0, -1.0)
    assert found[2, 3] == pytest.approx(1.0, abs=1e-12)
    assert (np.abs(found) <= 1.0).all()


def test_what_others_add_brings_pairs_that_never_meet_above_minus_1() -> None:
    joint, by_chance = np.array([0.0, 0.2]), np.array([0.01, 0.1])
    expected = np.log((joint + 1e-10) / by_chance) / -np.log(joint + 1e-10)
    np.testing.assert_allclose(npmi(joint, by_chance, added=1e-10), expected)
    assert expected[0] > -1.0


def test_coherence_is_the_mean_over_pairs_of_words_that_occur(occurs: np.ndarray) -> None:
    words = np.array([[2, 4, 7, 8], [4, 5, -1, -1], [6, 9, 10, -1], [6, 7, -1, -1]])
    found = topic_coherence(words, BinaryRows.of_dense(occurs))
    for topic, score in zip(words, found, strict=True):
        pairs = combinations([word for word in topic if word not in (-1, 6)], 2)
        scores = [by_hand(occurs[:, a], occurs[:, b]) for a, b in pairs]
        assert score == pytest.approx(np.mean(scores) if scores else np.nan, nan_ok=True)
    assert np.isnan(found[3])
