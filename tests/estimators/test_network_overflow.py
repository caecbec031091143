"""Finite numbers in, finite answers out, or a DataError: whatever the unit of a column or a target."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp

from tests.store.models import SMALL, models, rows
from tsenet import TSENetClassifier, TSENetRegressor

X = rows(80) + 0.1 * np.random.default_rng(1).random((80, 8))
CLASSES = (X[:, 0] > 0.5).astype(int)
VALUES = X[:, 0] + X[:, 4]


@pytest.fixture(autouse=True)
def overflow_is_an_error() -> Iterator[None]:
    with warnings.catch_warnings():
        warnings.simplefilter("error", RuntimeWarning)
        yield


@pytest.mark.parametrize("factor", [1e160, 1e-160, 8e307])
def test_the_unit_of_a_column_does_not_matter(factor: float) -> None:
    changed = X.copy()
    changed[:, 0] *= factor
    fitted = TSENetClassifier(**SMALL).fit(changed, CLASSES)
    assert fitted.score(changed, CLASSES) == 1.0
    assert np.isfinite(fitted.predict_proba(changed)).all()


@pytest.mark.parametrize("factor", [1e160, 1e-160, 8e307])
def test_the_unit_of_sparse_rows_does_not_matter(factor: float) -> None:
    sparse = sp.csr_array(np.where(X > 0.5, X, 0.0) * factor)
    assert TSENetClassifier(**SMALL).fit(sparse, CLASSES).score(sparse, CLASSES) == 1.0


@pytest.mark.parametrize("factor", [1e160, 1e-160, 8e307])
def test_the_unit_of_a_target_does_not_matter(factor: float) -> None:
    plain = TSENetRegressor(**SMALL).fit(X, VALUES)
    changed = TSENetRegressor(**SMALL).fit(X, VALUES * factor)
    assert changed.score(X, VALUES * factor) == pytest.approx(plain.score(X, VALUES), abs=1e-3)
    assert changed.predict(X) / factor == pytest.approx(plain.predict(X), abs=1e-3)


def test_columns_from_one_end_of_the_floats_to_the_other() -> None:
    changed, values = X.copy(), VALUES.copy()
    changed[:2, 1] = values[:2] = 1.7e308, -1.7e308
    assert TSENetClassifier(**SMALL).fit(changed, CLASSES).score(changed, CLASSES) == 1.0
    assert np.isfinite(TSENetRegressor(**SMALL).fit(X, values).predict(X)).all()


@pytest.mark.parametrize("method", ["predict", "transform"])
def test_values_too_far_away_are_limited(method: str) -> None:
    model: Any = models()["regressor"]
    far = np.full((3, 8), 1.0)
    far[1, 2] = 1e300
    with pytest.warns(UserWarning, match="values of 'x2'"):
        assert np.isfinite(getattr(model, method)(far)).all()


def test_counts_are_damped_so_that_any_number_has_an_answer() -> None:
    far = sp.csr_array([[1.0] * 7 + [1e300]])
    assert np.isfinite(models()["labels"].predict_proba(far)).all()
