"""Scores of rows that a model has not seen."""

from __future__ import annotations

import numpy as np
from sklearn.metrics import r2_score

from tsenet.training.scores import r2_of_draws


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
