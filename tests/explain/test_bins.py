"""Bins of dates, numbers and labels, and the shares of topics in them."""

from __future__ import annotations

from datetime import date, timedelta
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp

from tsenet.errors import DataError
from tsenet.explain.bins import bins_of, shares_of_bins


def test_shares_are_those_of_the_rows_of_each_bin() -> None:
    rng = np.random.default_rng(0)
    strength = np.where(rng.random((50, 4)) < 0.5, rng.random((50, 4)), 0.0)
    names = [None if k % 7 == 0 else "ab"[k % 2] for k in range(50)]
    bins = bins_of(names)
    found = shares_of_bins(sp.csr_array(strength), bins)
    assert found.shape == (4, 2)
    for k, name in enumerate(bins.names):
        rows = [row for row, value in enumerate(names) if value == name]
        assert found[:, k] == pytest.approx((strength[rows] >= 0.5).mean(axis=0))


def binned(values: list[Any]) -> list[str | None]:
    """Each value's bin by name."""
    bins = bins_of(values)
    return [None if k < 0 else bins.names[k] for k in bins.of_row.tolist()]


class TestDates:
    def test_days_with_the_empty_ones_between(self) -> None:
        bins = bins_of(["2024-03-01", "2024-03-04", "", "2024-03-01T12:30:00"])
        assert bins.kind == "dates"
        assert bins.names == ("2024-03-01", "2024-03-02", "2024-03-03", "2024-03-04")
        assert bins.of_row.tolist() == [0, 3, -1, 0]
        assert bins.counts == (2, 0, 0, 1)

    def test_months_where_days_are_too_many(self) -> None:
        first = date(2023, 11, 5)
        values = [first + timedelta(days=k) for k in range(0, 100, 10)]
        bins = bins_of(values)
        assert bins.names == ("2023-11", "2023-12", "2024-01", "2024-02")
        assert binned(values)[0] == "2023-11"

    def test_years_where_months_are_too_many(self) -> None:
        assert binned(["2001-05", "2010-01", None]) == ["2001", "2010", None]
        assert len(bins_of(["2001-05", "2010-01"]).names) == 10

    def test_several_years_where_years_are_too_many(self) -> None:
        bins = bins_of(["1800-03-01", "1999", "1801"])
        assert (bins.names[:2], bins.names[-1]) == (("1800", "1805"), "1995")
        assert bins.of_row.tolist() == [0, 39, 0]

    @pytest.mark.parametrize("value", ["2021-13", "2021-02-31", "12-2021", "0042", "9000", "2021x"])
    def test_what_is_no_date(self, value: str) -> None:
        assert bins_of([value, "2021-01-01"]).kind == "labels"


class TestNumbers:
    def test_many_are_cut_into_ranges_of_equal_size(self) -> None:
        values = np.random.default_rng(0).permutation(np.arange(1000) / 7)
        bins = bins_of(values.tolist())
        assert bins.kind == "numbers"
        assert bins.counts == (100,) * 10
        order = np.argsort(values)
        assert (np.diff(bins.of_row[order]) >= 0).all()

    @pytest.mark.parametrize("n_classes", [4, 25])
    def test_whole_numbers_of_few_values_are_classes(self, n_classes: int) -> None:
        values = np.arange(1000) % n_classes
        for column in (values, values.astype(float), values.astype(str)):
            bins = bins_of(column.tolist())
            assert bins.kind == "labels"
            assert bins.names == tuple(str(k) for k in range(n_classes))

    def test_no_range_begins_below_the_least_value(self) -> None:
        names = bins_of(list(range(1000))).names
        assert names[0].startswith("0 –")


class TestLabels:
    def test_in_alphabetical_order(self) -> None:
        bins = bins_of(["b", "a", None, " b "])
        assert (bins.kind, bins.names, bins.counts) == ("labels", ("a", "b"), (1, 2))
        assert bins.of_row.tolist() == [1, 0, -1, 1]

    def test_the_rarest_become_one(self) -> None:
        values = [f"label {k:02d}" for k in range(60) for _ in range(60 - k)]
        bins = bins_of(values)
        assert len(bins.names) == 40
        assert bins.names[-1] == "21 others"
        assert bins.counts[-1] == sum(60 - k for k in range(39, 60))

    def test_nothing_at_all_is_refused(self) -> None:
        with pytest.raises(DataError, match="no values"):
            bins_of([None, "", float("nan"), "  "])
