"""One value, and several, some of them unknown."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray

from tests.builders import FAST
from tsenet import TSENetRegressor

Floats = NDArray[np.float64]


def test_regression_with_one_and_several_targets(rows: Floats) -> None:
    sums = rows.reshape(600, 3, 4).sum(axis=2)
    options = {**FAST, "max_epochs": 80}
    one = TSENetRegressor(**options).fit(rows, 1000 + sums[:, 0])
    assert one.predict(rows).shape == (600,)
    assert one.score(rows, 1000 + sums[:, 0]) > 0.8
    unknown = sums.copy()
    unknown[::3, 1] = np.nan
    several = TSENetRegressor(**options).fit(rows, unknown)
    assert several.predict(rows).shape == (600, 3)
    assert several.score(rows, sums) > 0.7
    known = ~np.isnan(unknown)
    assert several.score(rows, unknown) == pytest.approx(
        np.mean(
            [
                1
                - np.square(several.predict(rows) - sums)[k, j].sum() / (k.sum() * sums[k, j].var())
                for j, k in enumerate(known.T)
            ]
        )
    )
