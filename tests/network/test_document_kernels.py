"""The parts of the kernel that runs rows one by one, against NumPy; prefetching changes nothing."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy.special import expit

from tsenet.network.kernels.activation_kernels import RELU, SIGMOID, TANH
from tsenet.network.kernels.forward_kernels import add_outputs, list_active
from tsenet.network.kernels.prefetch_kernels import fetch_ahead

PLAIN = {RELU: lambda z: np.where(z <= 0, 0, z), TANH: np.tanh, SIGMOID: expit}


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("kind", PLAIN)
@pytest.mark.parametrize("n_units", [1, 7, 40])
def test_list_has_the_units_that_are_not_zero(n_units: int, kind: int, dtype: Any) -> None:
    z = np.random.default_rng(n_units).normal(size=n_units).astype(dtype)
    z[::5] = 0
    expected = PLAIN[kind](z.astype(np.float64))
    units, values = np.full(n_units, 99, np.uint32), np.full(n_units, np.nan, dtype)

    n = list_active(kind, z, units, values)

    np.testing.assert_array_equal(units[:n], np.flatnonzero(expected))
    np.testing.assert_allclose(values[:n], expected[expected != 0], rtol=1e-6)
    np.testing.assert_allclose(z, expected, rtol=1e-6)  # in place too


@pytest.mark.parametrize("kind", PLAIN)
def test_a_unit_that_is_not_a_number_is_listed(kind: int) -> None:
    z, units, values = np.array([-1.0, np.nan, 1.0]), np.zeros(3, np.uint32), np.zeros(3)

    n = list_active(kind, z, units, values)

    assert 1 in units[:n]
    assert np.isnan(values[:n]).sum() == 1


def test_outputs_are_summed_in_float64() -> None:
    """A large entry and its opposite leave exactly what came between; float32 would lose it."""
    units, values = np.array([9, 0, 1, 2, 9], np.uint32), np.array([7, 1, 1, 1, 7], np.float32)
    weight = np.array([[1e9, 2], [0.5, 3], [-1e9, 4]], np.float32)
    out = np.array([10.0, 20.0])

    add_outputs(1, 4, units, values, weight, out)

    np.testing.assert_array_equal(out, [10.5, 29.0])


@pytest.mark.parametrize(("first", "last"), [(0, 100), (3, 90), (99, 100), (5, 5), (100, 100)])
@pytest.mark.parametrize("dtype", [np.uint32, np.float32, np.float64])
def test_fetching_ahead_changes_nothing(dtype: Any, first: int, last: int) -> None:
    array = np.arange(100).astype(dtype)

    fetch_ahead(array, np.uint32(first), np.uint32(last))

    np.testing.assert_array_equal(array, np.arange(100))
