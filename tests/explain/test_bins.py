"""Columns cut into bins."""

from __future__ import annotations

from datetime import date, timedelta
from typing import Any

import numpy as np
import pytest

from tsenet.errors import DataError
from tsenet.explain.bins import bins_of


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

    def test_numbers_that_can_be_years(self) -> None:
        bins = bins_of([1987, 1990.0, float("nan"), np.int64(1988)])
        assert bins.kind == "dates"
        assert bins.names == ("1987", "1988", "1989", "1990")

    def test_a_mixture_of_precisions_goes_by_the_coarsest(self) -> None:
        assert binned(["2001", "2001-05-03"]) == ["2001", "2001"]

    def test_a_day_that_does_not_exist_counts_for_its_month(self) -> None:
        assert binned(["2021-02-31", "2021-03-01"]) == ["2021-02", "2021-03"]

    @pytest.mark.parametrize("value", ["2021-13", "12-2021", "0042", "9000", "2021x"])
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
