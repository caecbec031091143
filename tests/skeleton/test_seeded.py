"""Groups that the user begins, and the largest group."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp

import tsenet
from tsenet.data import Table
from tsenet.skeleton.tree import LatentTree
from tsenet.skeleton.update import update_tree

NAMES = [f"w{k}" for k in range(12)]


@pytest.fixture(scope="module")
def rows() -> Table:
    """Three groups of four words, two of them loosely tied."""
    rng = np.random.default_rng(0)
    topic = rng.random((800, 3)) < 0.3
    topic[:, 1] |= topic[:, 0] & (rng.random(800) < 0.5)
    X = rng.random((800, 12)) < np.where(np.repeat(topic, 4, axis=1), 0.7, 0.05)
    return Table.of(sp.csr_array(X.astype(float)), NAMES)


def learn(rows: Table, **options: object) -> LatentTree:
    return tsenet.learn_tree(rows, random_state=0, n_jobs=1, refine_steps=5, **options)  # type: ignore[arg-type]  # options of a test


def group_of(tree: LatentTree, word: str) -> set[str]:
    parent = tree.parent[NAMES.index(word)]
    return {name for name, above in zip(NAMES, tree.parent, strict=False) if above == parent}


def test_seeds_stay_together_and_take_their_partners(rows: Table) -> None:
    free = learn(rows)
    assert not {"w0", "w4"} <= group_of(free, "w0")
    tree = learn(rows, seed_groups=[["w0", "w4"]])
    assert {"w0", "w4"} <= group_of(tree, "w0")
    assert len(group_of(tree, "w0")) > 2
    assert group_of(tree, "w8") == {"w8", "w9", "w10", "w11"}


def test_no_seeds_no_change(rows: Table) -> None:
    assert learn(rows) == learn(rows, seed_groups=())


@pytest.mark.parametrize(
    ("groups", "message"),
    [
        ([["w0", "nope"]], "'nope', which is no variable"),
        ([["w0", "w1"], ["w1", "w2"]], "'w1' twice"),
        ([["w0"]], "2 to max_island=15"),
        (["w0"], "not the string"),
    ],
)
def test_seeds_that_cannot_be(rows: Table, groups: object, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        learn(rows, seed_groups=groups)


def test_max_island_is_the_most_words_in_a_group() -> None:
    """One topic of 30 words, and many loose ones that would all be attached to it."""
    rng = np.random.default_rng(1)
    topic = rng.random((600, 1)) < 0.3
    X = rng.random((600, 40)) < np.where(topic, [0.5] * 30 + [0.12] * 10, [0.05] * 40)
    for limit in (5, 8):
        tree = tsenet.learn_tree(
            sp.csr_array(X.astype(float)), max_island=limit, random_state=0, refine_steps=0
        )
        assert max(len(group) for group in tree.groups(1)) <= limit


def test_new_rows_count_like_old_ones(rows: Table) -> None:
    tree = learn(rows, leftovers="leave")
    same, n_seen = update_tree(tree, rows, n_seen=10**9)
    assert n_seen == 10**9 + 800
    assert same.cpt == pytest.approx(tree.cpt, abs=1e-4)  # much was seen: little changes
    assert np.array_equal(same.parent, tree.parent)
    # Nothing was seen: the probabilities become those of the new rows.
    new, _ = update_tree(tree, rows.take(np.arange(400)), n_seen=0)
    share = rows.take(np.arange(400)).values.mean(axis=0)
    assert new.marginals()[:12] == pytest.approx(np.asarray(share), abs=0.01)
