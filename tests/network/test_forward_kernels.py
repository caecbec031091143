"""Kernels of the forward pass against NumPy; prefetching changes nothing."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
from scipy.special import expit

from tsenet.network.kernels import forward_kernels as kernels
from tsenet.network.kernels.activation_kernels import RELU, SIGMOID, TANH
from tsenet.network.kernels.prefetch_kernels import fetch_ahead

NUMPY = {RELU: lambda z: np.where(z <= 0, 0, z), TANH: np.tanh, SIGMOID: expit}


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("kind", NUMPY)
def test_activation(kind: int, dtype: Any) -> None:
    z = np.random.default_rng(0).normal(size=(7, 5)).astype(dtype)
    z[::3, 1] = 0
    z[2, 2] = np.nan
    expected = NUMPY[kind](z.astype(np.float64))

    kernels.apply_activation(kind, z)

    np.testing.assert_allclose(z, expected, rtol=1e-6)


def test_linear_rows_are_summed_in_float64() -> None:
    """A large entry and its opposite leave exactly what came between; float32 would lose it."""
    rows = sp.csr_array(np.array([[0, 0, 0], [1, 1, 1], [0, 2, 0]], np.float32))
    weight = np.array([[1e9, 2], [0.5, 3], [-1e9, 4]], np.float32)
    outputs = np.array([[1.0, 2.0], [10.0, 20.0], [0.0, 0.0]])

    batch = rows.indptr.astype(np.int64), rows.indices.astype(np.uint32), rows.data
    kernels.add_linear_rows(*batch, weight, outputs)

    np.testing.assert_array_equal(outputs, [[1, 2], [10.5, 29], [1, 6]])


@pytest.mark.parametrize(("first", "last"), [(0, 100), (3, 90), (99, 100), (5, 5), (100, 100)])
@pytest.mark.parametrize("dtype", [np.uint32, np.float32, np.float64])
def test_fetching_ahead_changes_nothing(dtype: Any, first: int, last: int) -> None:
    array = np.arange(100).astype(dtype)

    fetch_ahead(array, np.uint32(first), np.uint32(last))

    np.testing.assert_array_equal(array, np.arange(100))
