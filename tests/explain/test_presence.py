"""In which rows topics are present, against the definition."""

from __future__ import annotations

from datetime import date, timedelta
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays

from tests.explain.test_topic_words import make_tree
from tsenet.data import BinaryRows
from tsenet.errors import DataError
from tsenet.explain.presence import bins_of, topic_activity, topic_probabilities

#: The words below each latent of the tree of these tests; the last word is in no group.
BELOW = ([0, 1], [2, 3], [4], [0, 1], [2, 3, 4])

rows = arrays.arrays(np.bool_, st.tuples(st.integers(0, 40), st.just(6)))
seeds = st.integers(0, 50)


def present_in(seed: int, X: Any) -> Any:
    """Which topics are present in which rows, and P(on | row)."""
    on = make_tree(seed).posterior(BinaryRows.of_dense(X))
    occurs = np.stack([X[:, words].any(axis=1) for words in BELOW], axis=1)
    return (on >= 0.5) & occurs, np.where(occurs, on, 0.0)


@settings(max_examples=60)
@given(rows, seeds)
def test_a_topic_needs_a_word_below_it(X: Any, seed: int) -> None:
    present, probability = present_in(seed, X)
    found = topic_probabilities(make_tree(seed), BinaryRows.of_dense(X))
    assert found.shape == (len(X), 5)
    np.testing.assert_allclose(found.toarray(), np.where(present, probability, 0.0))
    assert not found.toarray()[~X[:, :5].any(axis=1)].any()  # nothing in an empty row


@settings(max_examples=60)
@given(rows, seeds, st.booleans())
def test_shares_rows_and_bins(X: Any, seed: int, known: bool) -> None:
    tree, binary = make_tree(seed), BinaryRows.of_dense(X)
    present, probability = present_in(seed, X)
    bins = bins_of(["a" if k % 3 else "b" for k in range(len(X))]) if len(X) else None
    before = topic_probabilities(tree, binary) if known else None
    found = topic_activity(tree, binary, before, n_best=3, bins=bins)
    n_rows = max(1, len(X))
    np.testing.assert_allclose(found.size, present.sum(axis=0) / n_rows)
    np.testing.assert_allclose(found.word, X.sum(axis=0) / n_rows)
    for latent, words in enumerate(BELOW):
        level = 0 if latent < 3 else 1
        both = (X[:, words] & present[:, [latent]]).sum(axis=0) / n_rows
        np.testing.assert_allclose(found.both[level, words], both)
        ranked = sorted(np.flatnonzero(present[:, latent]), key=lambda r: -probability[r, latent])
        n_best = min(3, len(ranked))
        told = found.rows[latent]
        assert (told[n_best:] == -1).all()
        best = probability[ranked[:n_best], latent]
        np.testing.assert_allclose(probability[told[:n_best], latent], best)
        np.testing.assert_allclose(found.probability[latent, :n_best], best)
        if bins is not None and found.along is not None:
            for k, name in enumerate(bins.names):
                inside = [r for r in range(len(X)) if ("a" if r % 3 else "b") == name]
                share = present[inside, latent].mean()
                assert found.along[latent, k] == pytest.approx(share)
    assert (found.both[:, 5] == 0).all()


# ---- bins


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
