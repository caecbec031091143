from __future__ import annotations

import numpy as np
import numpy.typing as npt
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from tsenet.data import BinaryRule, Table, binary
from tsenet.data.binary import column_thresholds


@pytest.mark.parametrize(
    ("column", "threshold", "presence"),
    [
        ([0, 0, 0, 0], 0, True),  # constant zero: absent
        ([7, 7, 7, 7], 7, False),  # constant: never on
        ([-1, -1, -1, -1], -1, False),
        ([0, 1, 1, 1], 0, True),  # two values: the larger is on, however common
        ([2, 5, 5, 5], 2, False),
        ([-1, 1, 1, -1], -1, False),
        ([-1, 0, 0, 0], -1, False),
        ([0, 0, 0, 2, 9], 0, True),  # counts, mostly zero
        ([0, 0, 1, 2, 3, 4], 0, True),  # zero is the most common, though not half
        ([0, 0, 1, 1, 2], 1, False),  # zero is as common as another: median
        ([0.0, 0.2, 0.5, 0.7, 1.0], 0.5, False),  # scaled to 0..1: median
        ([0, 1, 1, 2, 3, 4], 1.5, False),  # zero is not the most common: median
        ([3, 3, 3, 4, 9], 3, False),  # the mode holds more than half
        ([1, 2, 9, 9, 9], 2, False),  # the mode is the maximum
        ([-2, -1, 0, 0, 0, 0, 5], 0, False),  # zero is the mode, but there are negatives
        ([1, 2, 3, 4], 2.5, False),  # median
        ([1.5, 2.5, 3.5], 2.5, False),
        ([1, 2, 9, 9], 5.5, False),
        ([1, 2, 3, 9, 9, 9], 6, False),
        ([1, 2, 8, 9, 9, 9, 9], 8, False),  # mode 4 of 7 is the maximum
        ([1, 2, 8, 8, 9, 9, 9, 9], 8.5, False),
        ([0, 1, 2, 5, 5, 5, 5, 5], 2, False),
    ],
)
def test_the_rules(column: list[float], threshold: float, presence: bool) -> None:
    values = np.array(column, dtype=float).reshape(-1, 1)
    found, present = column_thresholds(values)
    assert (found[0], present[0]) == (threshold, presence)


@pytest.mark.parametrize("dtype", [np.float32, np.int8, np.uint8, np.int64, np.uint64, np.bool_])
def test_type_of_the_values_does_not_matter(dtype: type) -> None:
    values = np.random.default_rng(0).integers(0, 5, (40, 30)) // [[1] * 10 + [2] * 10 + [4] * 10]
    values = values.astype(dtype)
    found, present = column_thresholds(values)
    expected, expected_present = column_thresholds(values.astype(np.float64))
    np.testing.assert_array_equal(found, expected)
    np.testing.assert_array_equal(present, expected_present)


def test_a_few_zeros_among_many_values_do_not_mean_absent() -> None:
    column = np.concatenate([np.zeros(5), np.linspace(0.1, 1, 95)])
    found, present = column_thresholds(np.c_[column, np.r_[np.zeros(5), column[5:-5], np.zeros(5)]])
    assert found[0] == np.median(column)
    assert present.tolist() == [False, True]


def test_negative_zero_is_zero() -> None:
    found, present = column_thresholds(np.array([[-0.0, -0.0], [1.0, 1.0], [1.0, 2.0]]))
    assert present[0]
    assert not np.signbit(found[0])
    assert found[1] == 1


def test_huge_values_do_not_overflow() -> None:
    values = np.array([[1e308], [1.1e308], [1.5e308], [1.7e308]])
    found, _ = column_thresholds(values)
    assert found[0] == pytest.approx(1.3e308)
    values = np.array([[2**62], [2**62 + 2**40], [2**62 + 2**41], [2**62 + 2**42]])
    found, _ = column_thresholds(values)
    assert found[0] == 2.0**62 + 1.5 * 2**40


@given(
    hnp.arrays(
        np.float64,
        st.tuples(st.integers(2, 12), st.integers(1, 4)),
        elements=st.one_of(st.integers(-3, 3), st.floats(-1e6, 1e6)),
    )
)
def test_a_column_that_varies_is_on_in_some_rows_and_off_in_others(
    values: npt.NDArray[np.float64],
) -> None:
    found, present = column_thresholds(values)
    on = (values > found).mean(axis=0)
    varies = values.min(axis=0) < values.max(axis=0)
    assert np.all((on[varies] > 0) & (on[varies] < 1))
    assert np.all(on[~varies] == 0)
    assert np.all(found[present] == 0)
    assert np.all(values[:, present] >= 0)


def rule(cuts: npt.NDArray[np.float64]) -> BinaryRule:
    names = tuple(f"x{j}" for j in range(cuts.size))
    return BinaryRule(names, cuts, np.zeros(cuts.size, bool), (None,) * cuts.size, named=False)


def test_blocks_do_not_change_the_answer(monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(3)
    values = np.round(rng.normal(size=(30, 9)), 1)
    sparse = Table.of(sp.csr_array(np.where(rng.random((30, 9)) < 0.5, values, 0)))
    cuts, present = column_thresholds(values)
    dense_rows = rule(cuts).apply(Table.of(values))
    sparse_rows = [rule(c).apply(sparse) for c in (cuts, np.abs(cuts), np.zeros(9))]
    monkeypatch.setattr(binary, "_BLOCK", 31)
    again, present_again = column_thresholds(np.asfortranarray(values))
    np.testing.assert_array_equal(cuts, again)
    np.testing.assert_array_equal(present, present_again)
    assert rule(cuts).apply(Table.of(values)) == dense_rows
    for rows, cut in zip(sparse_rows, (cuts, np.abs(cuts), np.zeros(9)), strict=True):
        assert rule(cut).apply(sparse) == rows


@given(
    hnp.arrays(np.int64, st.tuples(st.integers(1, 9), st.just(4)), elements=st.integers(-2, 3)),
    hnp.arrays(np.float64, 4, elements=st.sampled_from([-1.5, -1.0, 0.0, 0.5, 1.0])),
)
def test_sparse_and_dense_agree(
    values: npt.NDArray[np.int64], cuts: npt.NDArray[np.float64]
) -> None:
    above = rule(cuts).apply(Table.of(sp.csr_array(values)))
    above.validate()
    assert above == rule(cuts).apply(Table.of(values))
    np.testing.assert_array_equal(above.to_dense(), values > cuts)


def test_presence_of_a_sparse_matrix_shares_its_indices() -> None:
    table = Table.of(sp.csr_array(np.array([[0, 2], [1, 1]])))
    rows = rule(np.zeros(2)).apply(table)
    assert np.shares_memory(rows.indices, table.values.indices)
