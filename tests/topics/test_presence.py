"""In which rows topics are present, against the definition."""

from __future__ import annotations

from typing import Any

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays

from tests.topics.trees import make_tree
from tsenet.data import BinaryRows
from tsenet.topics.describe import describe_tree
from tsenet.topics.presence import shares, strongest_rows, tree_strengths

#: The words below each latent of the tree of these tests; the last word is in no group.
BELOW = ([0, 1], [2, 3], [4], [0, 1], [2, 3, 4])

rows = arrays.arrays(np.bool_, st.tuples(st.integers(0, 40), st.just(6)))
seeds = st.integers(0, 50)


def present_in(seed: int, X: Any) -> Any:
    """Which topics are present in which rows, and P(on | row)."""
    on = make_tree(seed).posterior(BinaryRows.of_dense(X))
    occurs = np.stack([X[:, words].any(axis=1) for words in BELOW], axis=1)
    return (on >= 0.5) & occurs, np.where(occurs, on, 0.0)


@settings(max_examples=60)
@given(rows, seeds)
def test_a_topic_needs_a_word_below_it(X: Any, seed: int) -> None:
    present, probability = present_in(seed, X)
    found = tree_strengths(make_tree(seed), BinaryRows.of_dense(X))
    assert found.shape == (len(X), 5)
    np.testing.assert_allclose(found.toarray(), np.where(present, probability, 0.0))
    assert not found.toarray()[~X[:, :5].any(axis=1)].any()  # nothing in an empty row


@settings(max_examples=60)
@given(rows, seeds, st.booleans())
def test_shares_of_topics_and_of_words_in_them(X: Any, seed: int, known: bool) -> None:
    tree, binary = make_tree(seed), BinaryRows.of_dense(X)
    present, _ = present_in(seed, X)
    strengths = tree_strengths(tree, binary)
    found = describe_tree(tree, binary, strengths=strengths if known else None, min_share=0)
    n_rows = max(1, len(X))
    np.testing.assert_allclose(found.share, present.sum(axis=0) / n_rows)
    np.testing.assert_allclose(shares(strengths), found.share)
    np.testing.assert_allclose(found.word_share, X.sum(axis=0) / n_rows)
    for topic, on in enumerate(present.T):
        for word, told in zip(found.words[topic], found.word_shares[topic], strict=True):
            if word < 0:
                assert not told.any()
                continue
            assert word in BELOW[topic]
            expected = [X[side, word].mean() if side.any() else 0.0 for side in (~on, on)]
            np.testing.assert_allclose(told, expected)


@settings(max_examples=60)
@given(rows, seeds)
def test_strongest_rows(X: Any, seed: int) -> None:
    present, probability = present_in(seed, X)
    found, strength = strongest_rows(tree_strengths(make_tree(seed), BinaryRows.of_dense(X)), 3)
    for latent in range(len(BELOW)):
        ranked = sorted(np.flatnonzero(present[:, latent]), key=lambda r: -probability[r, latent])
        n_best = min(3, len(ranked))
        told = found[latent]
        assert (told[n_best:] == -1).all()
        best = probability[ranked[:n_best], latent]
        np.testing.assert_allclose(probability[told[:n_best], latent], best)
        np.testing.assert_allclose(strength[latent, :n_best], best)
