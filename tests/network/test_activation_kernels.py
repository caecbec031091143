"""Non-linearities and their slopes, with and without dropout, against NumPy and autograd."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from numpy.typing import NDArray
from scipy.special import expit

from tsenet.network.kernels.activation_kernels import (
    RELU,
    SIGMOID,
    TANH,
    activate,
    activation_gradient,
    dropout_factors,
)

Array = NDArray[Any]
KINDS = {"relu": RELU, "tanh": TANH, "sigmoid": SIGMOID}
PLAIN = {"relu": lambda z: np.where(z > 0, z, 0), "tanh": np.tanh, "sigmoid": expit}
NEAR = {np.float32: 3e-6, np.float64: 1e-13}
KEY, FIRST_ROW = 1234567890123456789, 64
THRESHOLDS = [0, 1, 13107, 32768, 65535]


def factors_of(shape: tuple[int, ...], threshold: int, dtype: Any) -> Array:
    factors = np.full(shape, np.nan, dtype)
    dropout_factors(KEY, FIRST_ROW, threshold, factors)
    return factors


def some_z(dtype: Any) -> Array:
    """Inputs (U, B) with 0, −0, tiny, saturating and overflowing entries."""
    z = np.random.default_rng(0).normal(size=(5, 70)) * 3
    z[0, :9] = [0, -0.0, 1e-30, -1e-30, 30, -30, 800, -800, 1]
    z[:, 9] = 0
    return z.astype(dtype)


@pytest.mark.parametrize("dtype", NEAR)
@pytest.mark.parametrize("threshold", THRESHOLDS)
@pytest.mark.parametrize("name", KINDS)
def test_activate_is_the_function_times_the_mask(name: str, threshold: int, dtype: Any) -> None:
    z = some_z(dtype)
    active = z.copy()

    activate(KINDS[name], KEY, FIRST_ROW, threshold, active)

    expected = PLAIN[name](z.astype(np.float64)) * factors_of(z.shape, threshold, np.float64)
    np.testing.assert_allclose(active, expected, rtol=NEAR[dtype], atol=NEAR[dtype])


@pytest.mark.parametrize("dtype", NEAR)
@pytest.mark.parametrize("threshold", [0, 13107, 32768, 60000])
@pytest.mark.parametrize("name", KINDS)
def test_gradient_equals_autograds(name: str, threshold: int, dtype: Any) -> None:
    z = some_z(dtype)
    delta = np.random.default_rng(1).normal(size=z.shape).astype(dtype)
    leaf = torch.from_numpy(z).double().requires_grad_()
    factors = torch.from_numpy(factors_of(z.shape, threshold, np.float64))
    (getattr(torch, name)(leaf) * factors).backward(torch.from_numpy(delta).double())

    activate(KINDS[name], KEY, FIRST_ROW, threshold, z)
    activation_gradient(KINDS[name], KEY, FIRST_ROW, threshold, z, delta)

    kept = 65536 / (65536 - threshold)
    assert leaf.grad is not None
    np.testing.assert_allclose(delta, leaf.grad, rtol=NEAR[dtype], atol=2 * kept * NEAR[dtype])


@pytest.mark.parametrize(
    ("name", "value", "slope"), [("relu", 0, 0), ("tanh", 0, 1), ("sigmoid", 0.5, 0.25)]
)
@pytest.mark.parametrize("zero", [0.0, -0.0])
@pytest.mark.parametrize("dtype", NEAR)
def test_at_zero(dtype: Any, zero: float, name: str, value: float, slope: float) -> None:
    z, delta = np.full((1, 1), zero, dtype), np.ones((1, 1), dtype)

    activate(KINDS[name], 0, 0, 0, z)
    activation_gradient(KINDS[name], 0, 0, 0, z, delta)

    assert z.item() == value
    assert delta.item() == slope


@pytest.mark.parametrize("name", KINDS)
def test_nan_is_not_hidden(name: str) -> None:
    """A network that has diverged must not look as if units were merely off."""
    z = np.array([[np.nan, 1.0]])

    activate(KINDS[name], 0, 0, 0, z)

    assert np.isnan(z[0, 0])
    assert np.isfinite(z[0, 1])


@settings(max_examples=60, deadline=None)
@given(
    z=hnp.arrays(
        np.float64,
        hnp.array_shapes(min_dims=2, max_dims=2, min_side=1, max_side=9),
        elements=st.floats(-1e6, 1e6),
    ),
    name=st.sampled_from(sorted(KINDS)),
    threshold=st.integers(0, 65535),
    key=st.integers(0, 2**62 - 1),
    first_row=st.integers(0, 10**6),
)
def test_gradient_is_zero_exactly_where_activation_was_dropped(
    z: Array, name: str, threshold: int, key: int, first_row: int
) -> None:
    factors = np.empty(z.shape)
    dropout_factors(key, first_row, threshold, factors)
    active, delta = z.copy(), np.ones(z.shape)
    activate(KINDS[name], key, first_row, threshold, active)
    activation_gradient(KINDS[name], key, first_row, threshold, active, delta)

    kept = 65536 / (65536 - threshold)
    assert (active[factors == 0] == 0).all()
    assert (delta[factors == 0] == 0).all()
    np.testing.assert_allclose(active, PLAIN[name](z) * factors, rtol=1e-12, atol=1e-300)
    if name == "relu":
        np.testing.assert_array_equal(delta != 0, (z > 0) & (factors > 0))
    else:
        assert (np.abs(delta) <= kept * (1 + 1e-12)).all()
