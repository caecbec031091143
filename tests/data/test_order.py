"""The order of rows by their content."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp

from tsenet.data.order import canonical_order, duplicate_groups


@pytest.mark.parametrize("form", [np.asarray, sp.csr_array])
def test_shuffled_rows_get_the_same_order(form: type) -> None:
    rng = np.random.default_rng(0)
    rows = rng.integers(3, size=(300, 5)).astype(np.float64)  # with many equal rows
    target = rng.normal(size=300)
    shuffle = rng.permutation(300)
    first = canonical_order(form(rows), target)
    second = shuffle[canonical_order(form(rows[shuffle]), target[shuffle])]
    assert sorted(first.tolist()) == list(range(300))
    assert np.array_equal(rows[first], rows[second])
    assert np.array_equal(target[first], target[second])


def test_type_of_the_numbers_does_not_matter() -> None:
    rows = np.random.default_rng(0).integers(-5, 5, size=(100, 4))
    expected = canonical_order(rows)
    for other in (rows.astype(np.float32), rows.astype(np.int8), np.asfortranarray(rows)):
        assert np.array_equal(canonical_order(other), expected)
    assert np.array_equal(canonical_order(np.where(rows == 0, -0.0, rows)), expected)


def test_every_part_counts() -> None:
    rows, target = np.zeros((50, 2)), np.arange(50.0)
    assert np.array_equal(canonical_order(rows), np.arange(50))  # equal rows stay where they are
    target[3] = np.nan
    order = canonical_order(rows, target)
    assert not np.array_equal(order, np.arange(50))
    assert sorted(order.tolist()) == list(range(50))


@pytest.mark.parametrize("form", [np.asarray, sp.csr_array])
def test_duplicate_rows_are_in_one_group(form: Any) -> None:
    rows = np.random.default_rng(0).integers(0, 9, (30, 5))
    which = np.r_[np.arange(30), [3, 3, 17]]
    groups = duplicate_groups(form(rows[which]))
    assert groups[3] == groups[30] == groups[31]
    assert groups[17] == groups[32]
    assert np.unique(groups).size == np.unique(rows, axis=0).shape[0]


def test_every_row_is_its_own_group_if_most_rows_are_duplicates() -> None:
    rows = np.repeat(np.arange(4), 5)[:, None]
    assert np.array_equal(duplicate_groups(rows), np.arange(20))
