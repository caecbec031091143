"""learn_tree on documents: pieces of long ones, words in no group, and a hierarchy over short ones."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp
from numpy.typing import NDArray
from scipy.stats import spearmanr

from tests.skeleton.learning import groups, learn
from tsenet.data.binary import BinaryRows
from tsenet.skeleton.islands import discovery_gain
from tsenet.skeleton.pieces import RowSums, cut_into_pieces
from tsenet.skeleton.tree import LatentTree

N_TOPICS, TOPIC_WORDS = 20, 8


def documents(seed: int, lengths: NDArray[np.int64]) -> sp.csr_array:
    """Counts of documents with one topic each: two thirds of the words are the topic's, the others any."""
    rng = np.random.default_rng(seed)
    n_words = N_TOPICS * TOPIC_WORDS
    topic = rng.integers(0, N_TOPICS, lengths.size)
    counts = np.zeros((lengths.size, n_words))
    for row, length in enumerate(lengths.tolist()):
        own = rng.integers(0, TOPIC_WORDS, length) + topic[row] * TOPIC_WORDS
        other = rng.integers(0, n_words, length)
        np.add.at(counts[row], np.where(rng.random(length) < 0.67, own, other), 1.0)
    return sp.csr_array(counts)


def uneven_documents(seed: int = 0, n_rows: int = 1200) -> sp.csr_array:
    lengths = np.random.default_rng(seed).lognormal(2.5, 1.2, n_rows)
    return documents(seed, np.clip(lengths, 2, 600).astype(np.int64))


def follows_length(tree: LatentTree, X: sp.csr_array) -> float:
    """Mean Spearman correlation of the level-1 posteriors with the number of words present."""
    length = np.diff(X.indptr)
    posterior = tree.posterior(X)[:, : tree.layer_sizes[1]]
    return float(np.mean([spearmanr(column, length).statistic for column in posterior.T]))


# ---- pieces


def test_pieces_divide_every_long_row() -> None:
    rng = np.random.default_rng(0)
    rows = BinaryRows.of_dense(rng.random((50, 200)) < rng.random((50, 1)))

    pieces = cut_into_pieces(rows, 30, key=5)

    pieces.validate()
    lengths = np.diff(rows.indptr)
    n_pieces = np.maximum(1, -(-lengths // 30))
    assert pieces.n_rows == n_pieces.sum()
    start = 0
    for row, n in enumerate(n_pieces.tolist()):
        parts = [pieces.indices[slice(*pieces.indptr[p : p + 2])] for p in range(start, start + n)]
        sizes = [part.size for part in parts]
        assert max(sizes) <= 30
        assert max(sizes) - min(sizes) <= 1
        own = rows.indices[slice(*rows.indptr[row : row + 2])]
        np.testing.assert_array_equal(np.sort(np.concatenate(parts)), own)
        start += n


def test_pieces_depend_on_the_content_of_a_row_and_on_the_key() -> None:
    on = np.random.default_rng(1).random((20, 100)) < 0.5
    order = np.random.default_rng(2).permutation(20)

    def pieces(dense: NDArray[np.bool_], key: int) -> set[tuple[int, ...]]:
        cut = cut_into_pieces(BinaryRows.of_dense(dense), 10, key)
        return {tuple(np.flatnonzero(piece).tolist()) for piece in cut.to_dense()}

    assert pieces(on, 7) == pieces(on[order], 7)
    assert pieces(on, 7) != pieces(on, 8)
    assert pieces(on, 7) != {tuple(range(k, k + 10)) for k in range(0, 100, 10)}


def test_short_rows_are_not_copied() -> None:
    rows = BinaryRows.of_dense(np.ones((4, 30), bool))

    assert cut_into_pieces(rows, 30, 1) is rows
    assert cut_into_pieces(rows, None, 1) is rows


def test_only_uneven_rows_are_cut_automatically() -> None:
    even = documents(0, np.full(50, 40))

    assert RowSums.of(BinaryRows.of_csr(even)).piece_size(50) is None
    assert RowSums.of(BinaryRows.of_csr(uneven_documents())).piece_size(1200) == 30


def test_a_variable_that_is_always_on_stays_constant() -> None:
    on = np.random.default_rng(0).random((30, 80)) < 0.6
    on[:, 4] = True

    cut = cut_into_pieces(BinaryRows.of_dense(on), 20, 1)

    assert cut.n_rows > 30
    assert cut.counts()[4] == 0
    assert cut.nnz == on.sum() - 30


def test_latents_are_not_about_the_length_of_documents() -> None:
    X = uneven_documents()

    whole, tree = learn(X), learn(X, piece_size="auto")

    assert follows_length(whole, X) > 0.3  # or this corpus would show nothing
    assert follows_length(tree, X) < 0.75 * follows_length(whole, X)
    topics = np.arange(N_TOPICS * TOPIC_WORDS) // TOPIC_WORDS
    for group in tree.groups(1):
        assert np.bincount(topics[group]).max() >= 0.75 * group.size


def test_threads_and_row_order_do_not_matter() -> None:
    X = uneven_documents(1, 600)
    shuffled = X[np.random.default_rng(0).permutation(X.shape[0])]

    one = learn(X, n_jobs=1, refine_steps=5, piece_size=20)

    assert learn(X, n_jobs=3, refine_steps=5, piece_size=20) == one
    first, second = (learn(rows, refine_steps=0, piece_size=20) for rows in (X, shuffled))
    assert groups(first) == groups(second)
    # Rounding may make the other of two top latents the root; all tables below are the same.
    below = slice(0, first.layer(first.n_levels).start)
    np.testing.assert_allclose(first.cpt[below], second.cpt[below], rtol=1e-8)


def test_discovery_gain_lies_between_one_test_and_all_pairs() -> None:
    from scipy.stats import chi2

    none, all_of_them = np.full(100, 0.2), np.full(100, 60.0)  # N·MI of no and of clear ties

    assert discovery_gain(none, 99) == pytest.approx(chi2.isf(0.05 / 9900, 1) / 2)
    assert discovery_gain(all_of_them, 99) == pytest.approx(chi2.isf(0.05 / 99, 1) / 2)
