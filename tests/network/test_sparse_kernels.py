"""Every kernel of sparse layers and dense groups against dense NumPy with a mask."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from tests.network.wirings import Mask, layer_of, random_mask
from tsenet.network.kernels import group_kernels as groups
from tsenet.network.kernels import sparse_kernels as sparse
from tsenet.network.links import Links

Array = NDArray[Any]


@dataclass
class Case:
    """A layer (U, D) and a sparse batch of B rows over the same D inputs, both from their definition."""

    mask: Mask  # (U, D)
    row_start: Array  # (B + 1,)
    columns: Array  # (nnz,)
    dtype: Any
    seed: int = 0

    def __post_init__(self) -> None:
        self.rng = np.random.default_rng(self.seed)
        self.n_units, self.n_inputs = self.mask.shape
        self.n_rows = self.row_start.size - 1
        self.links = Links.of(layer_of(self.mask))
        self.values = self.draw(self.columns.size)
        self.row_of = np.repeat(np.arange(self.n_rows), np.diff(self.row_start))
        self.dense_rows = np.zeros((self.n_rows, self.n_inputs))  # repeated columns add up
        np.add.at(self.dense_rows, (self.row_of, self.columns), self.values)
        self.dense_weight = np.where(self.mask.T, self.draw(self.n_inputs, self.n_units), 0)  # D, U
        self.weight = self.dense_weight[self.mask.T].astype(self.dtype)

    def draw(self, *shape: int) -> Array:
        return self.rng.normal(size=shape).astype(self.dtype)

    def by_column(self) -> tuple[Array, Array, Array]:
        order = np.argsort(self.columns, kind="stable")
        counts = np.bincount(self.columns, minlength=self.n_inputs)
        start = np.concatenate([[0], np.cumsum(counts)])
        return start, self.row_of[order], self.values[order]

    def close(self, found: Array, expected: Array) -> None:
        assert found.dtype == self.dtype
        scale = 1e-12 if self.dtype == np.float64 else 1e-5
        np.testing.assert_allclose(found, expected, rtol=scale, atol=50 * scale)


def in_parts(n_items: int, call: Callable[[int, int], None]) -> None:
    """Two calls that share the work, as two threads would."""
    call(0, n_items // 3)
    call(n_items // 3, n_items)


# ---- one check for each kernel; the arrays to fill come in with something in them


def check_rows_forward(case: Case) -> None:
    before = case.draw(case.n_rows, case.n_units)
    out = before.copy()
    batch = (case.row_start, case.columns, case.values)
    links = (case.links.in_start, case.links.in_unit, case.weight)
    in_parts(case.n_rows, lambda a, b: sparse.rows_forward(a, b, *batch, *links, out))
    case.close(out, before + case.dense_rows @ case.dense_weight)


def check_rows_weight_gradient(case: Case) -> None:
    delta = case.draw(case.n_rows, case.n_units)
    gradient = case.draw(case.links.n_links)
    start = case.links.in_start
    in_parts(
        case.n_inputs,
        lambda a, b: sparse.rows_weight_gradient(
            a, b, *case.by_column(), start, case.links.in_unit, delta, gradient[start[a] : start[b]]
        ),
    )
    case.close(gradient, (case.dense_rows.T @ delta)[case.mask.T])


def check_rows_value_gradient(case: Case) -> None:
    delta = case.draw(case.n_rows, case.n_units)
    gradient = case.draw(case.columns.size)
    links = (case.links.in_start, case.links.in_unit, case.weight)
    in_parts(
        case.n_rows,
        lambda a, b: sparse.rows_value_gradient(
            a, b, case.row_start, case.columns, *links, delta, gradient
        ),
    )
    case.close(gradient, (delta @ case.dense_weight.T)[case.row_of, case.columns])


def check_units_forward(case: Case) -> None:
    below, before = case.draw(case.n_inputs, case.n_rows), case.draw(case.n_units, case.n_rows)
    out = before.copy()
    links = (case.links.unit_start, case.links.unit_input, case.links.unit_link)
    in_parts(
        case.n_units,
        lambda a, b: sparse.units_forward(a, b, *links, case.weight, below, out),
    )
    case.close(out, before + case.dense_weight.T @ below)


def check_units_input_gradient(case: Case) -> None:
    delta, before = case.draw(case.n_units, case.n_rows), case.draw(case.n_inputs, case.n_rows)
    gradient = before.copy()
    links = (case.links.in_start, case.links.in_unit, case.weight)
    in_parts(
        case.n_inputs,
        lambda a, b: sparse.units_input_gradient(a, b, *links, delta, gradient),
    )
    case.close(gradient, before + case.dense_weight @ delta)


def check_units_weight_gradient(case: Case) -> None:
    below, delta = case.draw(case.n_inputs, case.n_rows), case.draw(case.n_units, case.n_rows)
    gradient = case.draw(case.links.n_links)
    start = case.links.in_start
    in_parts(
        case.n_inputs,
        lambda a, b: sparse.units_weight_gradient(
            a, b, start, case.links.in_unit, below, delta, gradient[start[a] : start[b]]
        ),
    )
    case.close(gradient, (below @ delta.T)[case.mask.T])


def check_group_forward(case: Case) -> None:
    """Its output begins with row ``first``, unlike that of ``rows_forward``."""
    weight, before = case.draw(case.n_inputs, case.n_units), case.draw(case.n_rows, case.n_units)
    out = before.copy()
    batch = (case.row_start, case.columns, case.values)
    in_parts(case.n_rows, lambda a, b: groups.group_forward(a, b, *batch, weight, out[a:b]))
    case.close(out, before + case.dense_rows @ weight)


def check_group_weight_gradient(case: Case) -> None:
    delta, gradient = case.draw(case.n_rows, case.n_units), case.draw(case.n_inputs, case.n_units)
    in_parts(
        case.n_inputs,
        lambda a, b: groups.group_weight_gradient(a, b, *case.by_column(), delta, gradient[a:b]),
    )
    case.close(gradient, case.dense_rows.T @ delta)


def check_transpose_batch(case: Case) -> None:
    start = np.zeros(case.n_inputs + 1, np.int64)
    rows, values = np.full(case.columns.size, -1), case.draw(case.columns.size)
    groups.transpose_batch(case.row_start, case.columns, case.values, start, rows, values)
    for found, expected in zip((start, rows, values), case.by_column(), strict=True):
        np.testing.assert_array_equal(found, expected)


def check_transpose_add_bias(case: Case) -> None:
    source, bias = case.draw(case.n_rows, case.n_units), case.draw(case.n_units)
    out = case.draw(case.n_units, case.n_rows)
    groups.transpose_add_bias(source, bias, out)
    np.testing.assert_array_equal(out, (source + bias).T)


def check_transpose_into(case: Case) -> None:
    first = 3
    source, before = case.draw(case.n_units, case.n_rows), case.draw(case.n_rows + 8, case.n_units)
    out = before.copy()
    groups.transpose_into(source, first, out)
    inside = slice(first, first + case.n_rows)
    np.testing.assert_array_equal(out[inside], source.T)
    out[inside] = before[inside]
    np.testing.assert_array_equal(out, before)  # no other row was touched


def check_add_row_sums(case: Case) -> None:
    delta, before = case.draw(case.n_units, case.n_rows), case.draw(case.n_units)
    total = before.copy()
    groups.add_row_sums(delta, total)
    case.close(total, before + delta.sum(axis=1))


CHECKS = {name.removeprefix("check_"): f for name, f in globals().items() if name[:6] == "check_"}
DTYPES = [np.float32, np.float64]


def test_every_kernel_has_a_check() -> None:
    kernels = {
        name
        for module in (sparse, groups)
        for name, value in vars(module).items()
        if hasattr(value, "py_func") and value.__module__ == module.__name__
    }

    assert set(CHECKS) == kernels


# ---- cases


def batch(*rows: list[int]) -> tuple[Array, Array]:
    """Row starts and columns of rows given by their columns."""
    columns = [column for row in rows for column in row]
    return np.cumsum([0, *map(len, rows)]), np.array(columns, np.int64)


RNG = np.random.default_rng(11)
FULL = np.ones((5, 7), bool)
HALF = random_mask(RNG, 9, 7, 0.5)
ORDINARY = batch([0, 3, 6], [1], [2, 3, 4, 5])
CASES: dict[str, tuple[Mask, tuple[Array, Array]]] = {
    "ordinary": (HALF, ORDINARY),
    "all links": (FULL, ORDINARY),
    "no links": (~FULL, ORDINARY),
    "empty units": (HALF & (np.arange(9)[:, None] % 3 != 0), ORDINARY),
    "inputs without links": (HALF & (np.arange(7) % 2 != 0), ORDINARY),
    "empty rows": (HALF, batch([], [0, 3], [], [], [6], [])),
    "no non-zeros": (HALF, batch([], [])),
    "repeated columns": (HALF, batch([2, 2, 2], [5, 0, 5], [2])),
    "columns out of order": (HALF, batch([6, 3, 0], [4, 1])),
    "one row": (HALF, batch([0, 1, 6])),
    "one unit": (HALF[:1], ORDINARY),
    "one input": (HALF[:, :1], batch([0], [], [0, 0])),
    "one link": (np.ones((1, 1), bool), batch([0])),
    "many units": (random_mask(RNG, 70, 40, 0.2), batch(*([k, 39 - k] for k in range(33)))),
}


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize("kernel", CHECKS)
def test_kernel_equals_masked_dense(kernel: str, case: str, dtype: Any) -> None:
    mask, (row_start, columns) = CASES[case]
    CHECKS[kernel](Case(mask, row_start, columns, dtype))


@st.composite
def any_case(draw: st.DrawFn) -> tuple[Mask, Array, Array, int]:
    n_inputs, n_units = draw(st.integers(1, 20)), draw(st.integers(1, 40))
    seed = draw(st.integers(0, 2**32 - 1))
    rng = np.random.default_rng(seed)
    mask = random_mask(rng, n_units, n_inputs, draw(st.sampled_from([0.0, 0.05, 0.3, 1.0])))
    lengths = draw(st.lists(st.integers(0, 9), min_size=1, max_size=12))
    row_start = np.concatenate([[0], np.cumsum(lengths)])
    return mask, row_start, rng.integers(n_inputs, size=row_start[-1]), seed


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("kernel", CHECKS)
@settings(max_examples=40, deadline=None)
@given(case=any_case())
def test_kernel_equals_masked_dense_for_any_shape(
    kernel: str, dtype: Any, case: tuple[Mask, Array, Array, int]
) -> None:
    mask, row_start, columns, seed = case
    CHECKS[kernel](Case(mask, row_start, columns, dtype, seed))


@settings(max_examples=60, deadline=None)
@given(case=any_case())
def test_links_index_the_mask_both_ways(case: tuple[Mask, Array, Array, int]) -> None:
    mask = case[0]  # (U, D)
    links = Links.of(layer_of(mask))
    number = np.full(mask.T.shape, -1)  # (D, U): place of each link in the weight vector
    number[mask.T] = np.arange(mask.sum())

    inputs, units = np.nonzero(mask.T)
    np.testing.assert_array_equal(links.input_of_link(), inputs)
    np.testing.assert_array_equal(links.in_unit, units)
    np.testing.assert_array_equal(np.diff(links.in_start), mask.sum(axis=0))
    np.testing.assert_array_equal(np.diff(links.unit_start), mask.sum(axis=1))
    np.testing.assert_array_equal(links.unit_input, np.nonzero(mask)[1])
    np.testing.assert_array_equal(links.unit_link, number.T[mask])
    assert (links.n_units, links.n_inputs) == mask.shape
    assert links.n_links == mask.sum()
    assert links.density == pytest.approx(mask.mean())
