"""Rows held out to tell when to stop."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tsenet.training.labelled import split_rows


def test_every_row_is_on_one_side() -> None:
    kept, out = split_rows(200, 0.1, 0)
    assert out.size == 20
    assert np.array_equal(np.sort(np.concatenate([kept, out])), np.arange(200))
    again = split_rows(200, 0.1, 0)[1]
    assert np.array_equal(out, again)
    assert not np.array_equal(out, split_rows(200, 0.1, 1)[1])


def test_each_class_has_its_share() -> None:
    classes = np.repeat([0, 1, 2], [500, 400, 100])
    for seed in range(20):
        _, out = split_rows(1000, 0.1, seed, classes)
        assert np.abs(np.bincount(classes[out]) - [50, 40, 10]).max() <= 1


@pytest.mark.parametrize("fraction", [0.6, 0.9])  # of 0.9, both rows of the last class are drawn
@pytest.mark.parametrize("n_pairs", [15, 16])
def test_training_keeps_a_row_of_every_class(n_pairs: int, fraction: float) -> None:
    classes = np.arange(40) // 2 * (np.arange(40) < 2 * n_pairs)  # pairs, and one large class
    for seed in range(50):
        kept, out = split_rows(40, fraction, seed, classes)
        assert set(classes[kept]) == set(classes)
        assert np.array_equal(np.sort(np.concatenate([kept, out])), np.arange(40))


def test_few_rows_are_not_split() -> None:
    kept, out = split_rows(19, 0.5, 0)
    assert (kept.size, out.size) == (19, 0)
    assert split_rows(20, 0.01, 0)[1].size == 1
    assert split_rows(20, 0.999, 0)[0].size == 1


@settings(deadline=None)
@given(
    copies=st.lists(st.integers(1, 4), min_size=25, max_size=60),
    n_classes=st.integers(1, 4),
    seed=st.integers(0, 99),
)
def test_duplicates_of_a_row_stay_together(copies: list[int], n_classes: int, seed: int) -> None:
    """Of any class, even of several; training keeps all classes, and no row is lost."""
    rng = np.random.default_rng(seed)
    groups = rng.permutation(np.repeat(np.arange(len(copies)), copies))
    classes = rng.integers(0, n_classes, groups.size)
    kept, out = split_rows(groups.size, 0.2, seed, classes, groups)
    assert sorted([*kept, *out]) == list(range(groups.size))
    assert not set(groups[kept]) & set(groups[out])
    assert set(classes[kept]) == set(classes)


def test_rows_without_copies_are_split_as_if_groups_were_unknown() -> None:
    classes = np.arange(100) % 3
    groups = np.random.default_rng(0).permutation(100)
    for one, other in zip(
        split_rows(100, 0.1, 0, classes), split_rows(100, 0.1, 0, classes, groups), strict=True
    ):
        assert np.array_equal(one, other)


def test_a_class_that_only_a_duplicate_has_is_given_back_alone() -> None:
    """Rows 0 and 1 are duplicates of the classes 0 and 1: they are never held out, the others are as before."""
    groups = np.concatenate([[0], np.arange(40)])
    classes = np.zeros(41, np.int64)
    classes[1] = 1
    given_back = 0
    for seed in range(30):
        kept, out = split_rows(41, 0.25, seed, classes, groups)
        without = split_rows(41, 0.25, seed, np.zeros(41, np.int64), groups)[1]
        assert {0, 1} <= set(kept)
        assert set(out) == set(without) - {0, 1}
        given_back += 0 in without
    assert given_back


def test_the_fewest_rows_that_are_split() -> None:
    """Twenty rows are split, nineteen are not; of duplicates the groups count."""
    groups = np.concatenate([np.arange(19), [18] * 6])
    assert split_rows(25, 0.2, 0, None, groups)[1].size == 0
    groups = np.concatenate([np.arange(20), [19] * 5])
    assert split_rows(25, 0.2, 0, None, groups)[1].size > 0
