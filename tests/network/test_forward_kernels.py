"""Kernels of the forward pass against NumPy; prefetching changes nothing."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy.special import expit

from tests.network.wirings import layer_of, random_mask
from tsenet.network.kernels import forward_kernels as kernels
from tsenet.network.kernels.activation_kernels import RELU, SIGMOID, TANH
from tsenet.network.kernels.prefetch_kernels import fetch_ahead
from tsenet.network.links import Links

NUMPY = {RELU: lambda z: np.where(z <= 0, 0, z), TANH: np.tanh, SIGMOID: expit}
DTYPES = [np.float32, np.float64]


def near(dtype: Any) -> dict[str, float]:
    return {"rtol": 1e-12, "atol": 1e-12} if dtype == np.float64 else {"rtol": 1e-4, "atol": 1e-4}


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("kind", NUMPY)
@pytest.mark.parametrize("n_units", [1, 7, 40])
def test_activation(n_units: int, kind: int, dtype: Any) -> None:
    z = np.random.default_rng(n_units).normal(size=n_units).astype(dtype)
    z[::5] = 0
    expected = NUMPY[kind](z.astype(np.float64))

    kernels.apply_activation(kind, z)

    np.testing.assert_allclose(z, expected, rtol=1e-6)


@pytest.mark.parametrize("kind", NUMPY)
def test_a_unit_that_is_not_a_number_stays_so_and_is_listed(kind: int) -> None:
    z, units, values = np.array([-1.0, np.nan, 1.0]), np.zeros(3, np.uint32), np.zeros(3)

    kernels.apply_activation(kind, z)
    n = kernels.list_non_zeros(z, 0, 3, units, values)

    assert 1 in units[:n]
    assert np.isnan(values[:n]).sum() == 1


@pytest.mark.parametrize(("first", "last"), [(0, 40), (3, 20), (5, 5)])
def test_list_has_the_units_that_are_not_zero(first: int, last: int) -> None:
    z = np.random.default_rng(0).normal(size=40)
    z[::3] = 0
    units, values = np.full(40, 99, np.uint32), np.full(40, np.nan)

    n = kernels.list_non_zeros(z, first, last, units, values)

    np.testing.assert_array_equal(units[:n], first + np.flatnonzero(z[first:last]))
    np.testing.assert_array_equal(values[:n], z[units[:n]])


@pytest.mark.parametrize("n", [0, 1, 7, 8, 9, 20])
@pytest.mark.parametrize("dtype", DTYPES)
def test_weighted_rows_are_added_in_order(dtype: Any, n: int) -> None:
    """To the last bit, as one term after another."""
    rng = np.random.default_rng(n)
    units, values = rng.integers(0, 30, n + 2).astype(np.uint32), rng.normal(size=n + 2)
    weight, out = rng.normal(size=(30, 11)).astype(dtype), rng.normal(size=11).astype(dtype)
    values = values.astype(dtype)
    expected = out.copy()
    for k in range(1, n + 1):
        expected += values[k] * weight[units[k]]

    kernels.add_weighted_rows(1, n + 1, units, values, weight, out)

    np.testing.assert_array_equal(out, expected)


def test_outputs_are_summed_in_float64() -> None:
    """A large entry and its opposite leave exactly what came between; float32 would lose it."""
    units, values = np.array([9, 0, 1, 2, 9], np.uint32), np.array([7, 1, 1, 1, 7], np.float32)
    weight = np.array([[1e9, 2], [0.5, 3], [-1e9, 4]], np.float32)
    out = np.array([10.0, 20.0])

    kernels.add_weighted_rows(1, 4, units, values, weight, out)

    np.testing.assert_array_equal(out, [10.5, 29.0])


# ---- a level, and what reads it


class Case:
    """A sparse layer, a feature group and a linear skip over the same B rows, which are half zeros."""

    def __init__(self, n_rows: int, dtype: Any, n_inputs: int = 150, n_units: int = 21) -> None:
        rng = np.random.default_rng(n_rows)
        self.mask = random_mask(rng, n_units, n_inputs, 0.3)
        links = Links.of(layer_of(self.mask))
        self.rows = rng.normal(size=(n_rows, n_inputs)).astype(dtype)
        self.rows[rng.random(self.rows.shape) < 0.5] = 0
        self.dense = np.where(self.mask.T, rng.normal(size=(n_inputs, n_units)), 0).astype(dtype)
        arrays = (
            links.in_start,
            links.in_unit,
            links.unit_start,
            links.unit_input,
            links.unit_link,
        )
        self.bias = rng.normal(size=n_units).astype(dtype)
        self.layer = kernels.LevelArrays(*arrays, self.dense[self.mask.T], self.bias)
        self.readers = kernels.ReaderArrays(
            rng.normal(size=(n_inputs, 6)).astype(dtype),
            rng.normal(size=6).astype(dtype),
            rng.normal(size=(n_inputs, 4)).astype(dtype),
            2,
        )

    def sparse(self) -> tuple[Any, Any, Any]:
        row_start = np.concatenate([[0], np.cumsum((self.rows != 0).sum(axis=1))])
        return row_start, np.nonzero(self.rows)[1].astype(np.uint32), self.rows[self.rows != 0]


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("n_rows", [1, kernels.FEW_ROWS, kernels.FEW_ROWS + 1, 64])
@pytest.mark.parametrize("kind", NUMPY)
def test_levels(kind: int, n_rows: int, dtype: Any) -> None:
    case = Case(n_rows, dtype)
    expected = NUMPY[kind](case.rows @ case.dense + case.bias)
    over_rows, over_level = np.full((2, n_rows, case.bias.size), np.nan, dtype)

    kernels.level_of_sparse_rows(kind, *case.sparse(), case.layer, over_rows)
    kernels.level_of_level(kind, case.rows, case.layer, over_level)

    np.testing.assert_allclose(over_rows, expected, **near(dtype))
    np.testing.assert_allclose(over_level, expected, **near(dtype))


@pytest.mark.parametrize("dtype", DTYPES)
def test_both_ways_through_the_links_give_the_same_bits(dtype: Any) -> None:
    case = Case(30, dtype)
    by_input, by_unit = np.tile(case.bias, (2, 30, 1))

    kernels.add_links_by_input(case.rows, case.layer, by_input)
    kernels.add_links_by_unit(case.rows, case.layer, by_unit)

    np.testing.assert_array_equal(by_input, by_unit)
    np.testing.assert_allclose(by_unit, case.rows @ case.dense + case.bias, **near(dtype))


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("n_rows", [1, 20])
@pytest.mark.parametrize("form", ["dense", "sparse"])
def test_what_reads_a_level(form: str, n_rows: int, dtype: Any) -> None:
    case = Case(n_rows, dtype)
    features, outputs = np.full((n_rows, 9), 7, dtype), np.full((n_rows, 4), 5.0)

    if form == "dense":
        kernels.read_level(case.rows, case.readers, features, outputs)
    else:
        kernels.read_sparse_rows(*case.sparse(), case.readers, features, outputs)

    expected = np.full((n_rows, 9), 7.0)
    expected[:, 2:8] = case.rows @ case.readers.weight + case.readers.bias
    np.testing.assert_allclose(features, expected, **near(dtype))
    np.testing.assert_allclose(outputs, 5 + case.rows @ case.readers.linear_skip, **near(dtype))


@pytest.mark.parametrize("kind", NUMPY)
def test_finished_outputs(kind: int) -> None:
    rng = np.random.default_rng(0)
    features, weight = rng.normal(size=(5, 12)), rng.normal(size=(12, 3))
    outputs = rng.normal(size=(5, 3))
    active = NUMPY[kind](features)
    expected = outputs + active @ weight

    kernels.finish_outputs(kind, features, weight, outputs)

    np.testing.assert_allclose(features, active, rtol=1e-12)
    np.testing.assert_allclose(outputs, expected, rtol=1e-12)


@pytest.mark.parametrize(("first", "last"), [(0, 100), (3, 90), (99, 100), (5, 5), (100, 100)])
@pytest.mark.parametrize("dtype", [np.uint32, np.float32, np.float64])
def test_fetching_ahead_changes_nothing(dtype: Any, first: int, last: int) -> None:
    array = np.arange(100).astype(dtype)

    fetch_ahead(array, np.uint32(first), np.uint32(last))

    np.testing.assert_array_equal(array, np.arange(100))
