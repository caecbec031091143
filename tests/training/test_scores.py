"""Scores of rows that a model has not seen."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import binomtest
from sklearn.metrics import r2_score

from tsenet.training.scores import r2_of_draws, wilson_interval


def test_r2_of_many_draws_equals_that_of_each() -> None:
    rng = np.random.default_rng(0)
    true = rng.normal(3.0, 2.0, size=(12, 2))
    true[rng.random(true.shape) < 0.3] = np.nan
    true[:, 1] = np.where(np.isnan(true[:, 1]), np.nan, np.round(true[:, 1] / 4))  # often constant
    found = rng.normal(3.0, 2.0, size=(12, 2))
    draws = rng.integers(12, size=(300, 12))
    draws[0] = np.flatnonzero(np.isnan(true[:, 0]))[0]  # one row, without a first value

    expected = []
    for draw in draws:
        of_column = []
        for c in range(2):
            known = ~np.isnan(true[draw, c])
            if known.sum() >= 2:
                of_column.append(r2_score(true[draw, c][known], found[draw, c][known]))
        expected.append(np.mean(of_column) if of_column else np.nan)

    np.testing.assert_allclose(r2_of_draws(true, found, draws), expected, rtol=1e-8, atol=1e-8)


@given(n=st.integers(1, 10_000), data=st.data())
def test_the_interval_is_wilsons(n: int, data: st.DataObject) -> None:
    right = data.draw(st.integers(0, n))
    expected = binomtest(right, n).proportion_ci(0.95, "wilson")
    # 1.96 stands for 1.95996…
    assert wilson_interval(right / n, n) == pytest.approx((expected.low, expected.high), abs=2e-5)


@pytest.mark.parametrize(("n", "share"), [(20, 0.9), (50, 0.8), (200, 0.97)])
def test_the_interval_covers_the_truth_as_often_as_it_says(n: int, share: float) -> None:
    """Exactly, by the binomial distribution; Wilson's interval is right on average over shares, within some %."""
    covered = sum(
        math.comb(n, k) * share**k * (1 - share) ** (n - k)
        for k in range(n + 1)
        if wilson_interval(k / n, n)[0] <= share <= wilson_interval(k / n, n)[1]
    )
    assert 0.92 < covered < 0.99
