"""Directions of rows: NumPy's singular value decomposition."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp

from tsenet.data.directions import gram, strongest_directions


@pytest.mark.parametrize("form", [np.asarray, sp.csr_array])
def test_they_are_the_right_singular_directions(form: Callable[[Any], Any]) -> None:
    rng = np.random.default_rng(0)
    size = 0.6 ** np.arange(30)
    left = np.linalg.qr(rng.standard_normal((200, 30)))[0]
    right = np.linalg.qr(rng.standard_normal((40, 30)))[0]
    rows = ((left * size) @ right.T).astype(np.float32)
    guess = rng.standard_normal((40, 14)).astype(np.float32)

    squares, directions = strongest_directions(form(rows), guess, 4)
    _, singular, expected = np.linalg.svd(rows.astype(np.float64))
    assert (np.diff(squares) > 0).all()
    np.testing.assert_allclose(squares[::-1][:6], singular[:6] ** 2, rtol=1e-4)
    np.testing.assert_allclose(directions.T @ directions, np.eye(14), atol=1e-5)
    cosine = np.abs((directions[:, ::-1][:, :6] * expected[:6].T).sum(axis=0))
    np.testing.assert_allclose(cosine, 1.0, atol=1e-3)


def test_inner_products_are_of_double_precision() -> None:
    columns = np.array([[1e4, 1.0], [1.0, 1e-4]], np.float32)
    wide = columns.astype(np.float64)
    assert gram(columns).tolist() == (wide.T @ wide).tolist()
