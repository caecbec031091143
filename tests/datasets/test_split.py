"""Held-out rows are exactly as many as asked for, spread over the classes; duplicates are found."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tsenet.datasets.split import hold_out, occurs_in, text_keys


@given(
    st.lists(st.integers(0, 4), min_size=1, max_size=200),
    st.floats(0, 1),
    st.integers(0, 10),
)
def test_every_class_gets_its_share(classes: list[int], share: float, seed: int) -> None:
    y = np.array(classes)
    n_held = round(share * len(y))
    held = hold_out(y, n_held, seed)
    assert held.sum() == n_held
    for number in np.unique(y):
        expected = n_held * np.mean(y == number)
        assert abs(held[y == number].sum() - expected) < 1 + 1e-9


def test_paper_sizes_come_out_even() -> None:
    """10,010 of 560,000 rows of 14 classes: 715 of each, as the paper has."""
    y = np.repeat(np.arange(14), 40_000)
    assert set(np.bincount(y[hold_out(y, 10_010)])) == {715}


def test_draw_depends_on_the_seed_alone() -> None:
    y = np.arange(100) % 3
    assert np.array_equal(hold_out(y, 10), hold_out(y.copy(), 10))
    assert not np.array_equal(hold_out(y, 10), hold_out(y, 10, seed=1))


def test_labels_are_drawn_alike() -> None:
    labels = np.full((50, 3), np.nan)
    assert hold_out(labels, 7).sum() == 7


def test_duplicates() -> None:
    training = text_keys(["The cat, sat.", "a dog", "", "éa café"])
    test = text_keys(["the CAT\nsat", "a cat", "", "!!", "éa café"])
    assert occurs_in(test, training).tolist() == [True, False, False, False, True]
    assert occurs_in([], training).tolist() == []


def test_half_a_surrogate_pair_is_a_text() -> None:
    assert len(text_keys(["word \ud800 word"])) == 1


@pytest.mark.parametrize("n_held", [0, 5])
def test_none_and_all(n_held: int) -> None:
    assert hold_out(np.zeros(5, np.int64), n_held).sum() == n_held


def test_published_split_does_not_change() -> None:
    """The results pages depend on which rows are drawn."""
    held = hold_out(np.arange(100) % 3, 8)
    assert np.flatnonzero(held).tolist() == [30, 34, 38, 43, 59, 66, 84, 95]
