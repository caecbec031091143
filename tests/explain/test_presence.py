"""In which rows topics are present, against the definition."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays

from tests.explain.test_topic_words import make_tree
from tsenet.data import BinaryRows
from tsenet.explain import presence
from tsenet.explain.bins import bins_of
from tsenet.explain.presence import topic_activity, topic_probabilities

#: The words below each latent of the tree of these tests; the last word is in no group.
BELOW = ([0, 1], [2, 3], [4], [0, 1], [2, 3, 4])

rows = arrays.arrays(np.bool_, st.tuples(st.integers(0, 40), st.just(6)))
seeds = st.integers(0, 50)


def present_in(seed: int, X: Any) -> Any:
    """Which topics are present in which rows, and P(on | row)."""
    on = make_tree(seed).posterior(BinaryRows.of_dense(X))
    occurs = np.stack([X[:, words].any(axis=1) for words in BELOW], axis=1)
    return (on >= 0.5) & occurs, np.where(occurs, on, 0.0)


@settings(max_examples=60, deadline=None)
@given(rows, seeds)
def test_a_topic_needs_a_word_below_it(X: Any, seed: int) -> None:
    _, probability = present_in(seed, X)
    found = topic_probabilities(make_tree(seed), BinaryRows.of_dense(X), least=0.0)
    assert found.shape == (len(X), 5)
    np.testing.assert_allclose(found.toarray(), probability)
    assert not found.toarray()[~X[:, :5].any(axis=1)].any()  # nothing in an empty row


@settings(max_examples=60, deadline=None)
@given(rows, seeds, st.sampled_from([1, 8, 1 << 20]), st.booleans())
def test_shares_rows_and_bins(X: Any, seed: int, block: int, known: bool) -> None:
    tree, binary = make_tree(seed), BinaryRows.of_dense(X)
    present, probability = present_in(seed, X)
    bins = bins_of(["a" if k % 3 else "b" for k in range(len(X))]) if len(X) else None
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(presence, "_BLOCK", block)
        before = topic_probabilities(tree, binary) if known else None
        found = topic_activity(tree, binary, before, n_best=3, bins=bins)
    n_rows = max(1, len(X))
    np.testing.assert_allclose(found.presence.size, present.sum(axis=0) / n_rows)
    np.testing.assert_allclose(found.presence.word, X.sum(axis=0) / n_rows)
    for latent, words in enumerate(BELOW):
        level = 0 if latent < 3 else 1
        both = (X[:, words] & present[:, [latent]]).sum(axis=0) / n_rows
        np.testing.assert_allclose(found.presence.both[level, words], both)
        ranked = sorted(np.flatnonzero(present[:, latent]), key=lambda r: -probability[r, latent])
        n_best = min(3, len(ranked))
        told = found.rows[latent]
        assert (told[n_best:] == -1).all()
        best = probability[ranked[:n_best], latent]
        np.testing.assert_allclose(probability[told[:n_best], latent], best)
        np.testing.assert_allclose(found.probability[latent, :n_best], best)
        if bins is not None and found.along is not None:
            for k, name in enumerate(bins.names):
                inside = [r for r in range(len(X)) if ("a" if r % 3 else "b") == name]
                share = present[inside, latent].mean()
                assert found.along[latent, k] == pytest.approx(share)
    assert (found.presence.both[:, 5] == 0).all()
