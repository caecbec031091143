"""Ranks within groups, and the first few of rows: sorted by hand."""

from __future__ import annotations

import numpy as np
import pytest

from tsenet.data.ranks import ranks_in_groups, top_of_rows


@pytest.mark.parametrize("has_ties", [False, True])
def test_ranks_are_places_in_the_sorted_group(has_ties: bool) -> None:
    rng = np.random.default_rng(0)
    group, strength = rng.integers(0, 6, 80), rng.integers(-3, 4, 80) / 2
    tie = rng.permutation(80) if has_ties else np.arange(80)
    found = ranks_in_groups(group, strength, tie if has_ties else None)
    for k in range(6):
        own = np.flatnonzero(group == k).tolist()
        own.sort(key=lambda entry: (-strength[entry], tie[entry]))
        assert found[own].tolist() == list(range(len(own)))


def test_no_entries_have_no_ranks() -> None:
    assert ranks_in_groups(np.zeros(0, np.int64), np.zeros(0)).shape == (0,)


@pytest.mark.parametrize("n", [0, 1, 4, 9, 12])
def test_the_first_few_of_rows_are_those_of_a_sort(n: int) -> None:
    values = np.random.default_rng(1).permuted(np.tile(np.arange(9.0), (7, 1)), axis=1)
    found = top_of_rows(values, n)
    assert found.tolist() == np.argsort(-values, axis=1)[:, :n].tolist()


@pytest.mark.parametrize("n", [1, 3, 8])
def test_equal_values_are_in_order(n: int) -> None:
    """Also where only some of them are among the first few."""
    values = np.random.default_rng(2).integers(0, 3, (200, 8)).astype(float)
    values[values == 0] = -np.inf
    by_sort = np.argsort(-values, axis=1, kind="stable")[:, :n]
    assert top_of_rows(values, n).tolist() == by_sort.tolist()
