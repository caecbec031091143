"""Rows and classes that the tests of the rivals share."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from tests.builders import one_latent_rows

Floats = NDArray[np.float64]


@pytest.fixture(scope="session")
def rows() -> Floats:
    """400 rows of three groups of four columns."""
    return one_latent_rows(np.random.default_rng(0), 400, (4, 4, 4)).astype(np.float64)


@pytest.fixture(scope="session")
def classes(rows: Floats) -> NDArray[Any]:
    """Which group of a row has most on: three classes."""
    return np.array(["red", "green", "blue"])[rows.reshape(400, 3, 4).sum(axis=2).argmax(axis=1)]
