"""Links by context: singular directions against numpy's, and columns that never meet but meet the same others."""

from __future__ import annotations

import numpy as np
import pytest

import tsenet
from tsenet.data import Blocks
from tsenet.data.binary import BinaryRows
from tsenet.data.scaling import unit_rows
from tsenet.expansion import context
from tsenet.expansion.context import context_vectors, contexts_above

SEED = np.random.SeedSequence(0)


def weighted(rows: np.ndarray) -> np.ndarray:
    """Rows of length 1 of ln(N / n) where a column is on."""
    values = rows * np.log(rows.shape[0] / np.maximum(rows.sum(axis=0), 1))
    length = np.linalg.norm(values, axis=1, keepdims=True)
    return values / np.where(length > 0, length, 1)


@pytest.mark.parametrize("shape", [(80, 30), (30, 80), (1, 5), (40, 1)])
def test_inner_products_are_those_of_the_weighted_columns(shape: tuple[int, int]) -> None:
    rows = np.random.default_rng(1).random(shape) < 0.2
    found = context_vectors(Blocks(BinaryRows.of_dense(rows)), SEED)
    dense = weighted(rows)  # of rank 100 at most: nothing is cut off
    np.testing.assert_allclose(found @ found.T, dense.T @ dense, atol=1e-5)


def test_the_leading_directions_are_kept() -> None:
    rng = np.random.default_rng(2)
    topic = rng.random((400, 4)) < 0.3
    rows = np.repeat(topic, 50, axis=1) & (rng.random((400, 200)) < 0.4)
    found = context_vectors(Blocks(BinaryRows.of_dense(rows)), SEED).astype(float)
    singular = np.linalg.svd(weighted(rows), compute_uv=False)[:100]
    # The topics stand out; where singular values are close to each other, the iteration mixes them.
    np.testing.assert_allclose(np.linalg.norm(found, axis=0)[:4], singular[:4], rtol=1e-4)
    np.testing.assert_allclose(np.linalg.norm(found), np.linalg.norm(singular), rtol=0.02)


def test_rows_beyond_the_most_are_drawn_by_the_seed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(context, "MAX_ROWS", 50)
    rows = BinaryRows.of_dense(np.random.default_rng(3).random((200, 20)) < 0.3)
    first, again, other = (
        context_vectors(Blocks(rows), np.random.SeedSequence(k)) for k in (0, 0, 1)
    )
    assert first.tobytes() == again.tobytes()
    assert not np.allclose(first @ first.T, other @ other.T)


def test_latents_stand_where_their_columns_do() -> None:
    below = np.array([[2.0, 0.0], [0.0, 1.0], [3.0, 3.0], [0.0, 0.0]], np.float32)
    above = contexts_above(below, np.array([0, 0, -1, 1], np.int32), 2)
    np.testing.assert_allclose(above, [[2 / 5**0.5, 1 / 5**0.5], [0, 0]], rtol=1e-6)
    np.testing.assert_allclose(np.linalg.norm(unit_rows(below), axis=1), [1, 1, 1, 0], rtol=1e-6)


@pytest.fixture(scope="module")
def documents() -> np.ndarray:
    """Two topics of 12 words; the last word of the first topic is rare and never meets the first five."""
    rng = np.random.default_rng(4)
    topic = rng.random(3000) < 0.5
    belongs = np.repeat(np.stack([topic, ~topic], axis=1), 12, axis=1)
    rows = belongs & (rng.random((3000, 24)) < 0.3)
    rows[:, 11] &= ~rows[:, :5].any(axis=1) & (rng.random(3000) < 0.15)
    return rows.astype(float)


def test_columns_that_never_meet_are_near_if_they_meet_the_same_others(
    documents: np.ndarray, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(context, "N_DIRECTIONS", 2)  # far fewer than columns, as with words
    groups = np.array([0] * 5 + [2] * 6 + [-1] + [1] * 12)  # of words that a latent holds
    near = context_vectors(Blocks(BinaryRows.of_dense(documents > 0)), SEED)
    above = contexts_above(near, groups.astype(np.int32), 3)
    similar = above @ unit_rows(near[11:12])[0]
    assert similar[0] > 0.9  # its topic, though it never meets these words
    assert similar[1] < 0.5


def test_threads_do_not_matter(documents: np.ndarray) -> None:
    tree = tsenet.learn_tree(documents, max_top=4, random_state=0)
    one, two = (
        tsenet.expand(tree, documents, density=0.6, link_rule="context", random_state=0, n_jobs=k)
        for k in (1, 2)
    )
    assert one == two


def test_sparse_rows_are_wired_by_context_and_dense_ones_by_information(
    documents: np.ndarray,
) -> None:
    from scipy.sparse import csr_array

    y = np.arange(3000) % 2
    options = {"max_epochs": 1, "init": "random", "random_state": 0}
    for X, rule in ((csr_array(documents), "context"), (documents, "balanced")):
        assert tsenet.TSENetClassifier(**options).fit(X, y).wiring_.link_rule == rule
