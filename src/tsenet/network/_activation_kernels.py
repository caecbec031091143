"""Kernels for non-linearities with counter-based dropout, batch-minor (units, rows).

Whether a unit is dropped in a row depends on (key, unit, row) alone: 64 random bits serve four neighbouring rows, 16
bits each. No mask is stored; the backward pass asks again.
"""

from __future__ import annotations

import numpy as np

from tsenet.jit import Array, Int, kernel

RELU, TANH, SIGMOID = 0, 1, 2


@kernel
def random_word(key: Int, unit: Int, group: Int) -> Int:
    """64 random bits for four neighbouring rows of a unit: splitmix64's finaliser on a counter."""
    z = (
        np.uint64(key)
        + np.uint64(unit) * np.uint64(0x9E3779B97F4A7C15)
        + np.uint64(group) * np.uint64(0xD1B54A32D192ED03)
    )
    z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return z ^ (z >> np.uint64(31))


@kernel
def dropout_factors(key: Int, first_row: Int, threshold: Int, factors: Array) -> None:
    """Fill ``factors`` (U, B) with 0 for dropped entries and 1 / P(kept) for the others.

    Row r of the array is row ``first_row + r`` of the batch; ``threshold`` / 65536 is the rate.
    """
    kept = 65536.0 / (65536 - threshold)
    for u in range(factors.shape[0]):
        for r in range(factors.shape[1]):
            row = first_row + r
            lane = random_word(key, u, row >> 2) >> np.uint64(16 * (row & 3))
            factors[u, r] = 0.0 if (lane & np.uint64(65535)) < np.uint64(threshold) else kept


@kernel
def activate(kind: Int, key: Int, first_row: Int, threshold: Int, z: Array) -> None:
    """Non-linearity and dropout in place on ``z`` (U, B)."""
    n_rows = z.shape[1]
    kept = z.dtype.type(65536.0 / (65536 - threshold))
    zero = z.dtype.type(0)
    one = z.dtype.type(1)
    for u in range(z.shape[0]):
        if kind == RELU:
            for r in range(n_rows):
                z[u, r] = max(z[u, r], zero)
        elif kind == TANH:
            for r in range(n_rows):
                z[u, r] = np.tanh(z[u, r])
        else:
            for r in range(n_rows):
                z[u, r] = one / (one + np.exp(-z[u, r]))
        if threshold > 0:
            for r in range(n_rows):  # asked anew for every row: so it runs eight rows at a time
                row = first_row + r
                lane = random_word(key, u, row >> 2) >> np.uint64(16 * (row & 3))
                drop = (lane & np.uint64(65535)) < np.uint64(threshold)
                z[u, r] = zero if drop else z[u, r] * kept


@kernel
def activation_gradient(
    kind: Int, key: Int, first_row: Int, threshold: Int, active: Array, delta: Array
) -> None:
    """Turn ``delta`` (U, B), the gradient of the activations, into that of what went into them, in place.

    ``active`` (U, B) is what :func:`activate` left.
    """
    n_rows = active.shape[1]
    kept = active.dtype.type(65536.0 / (65536 - threshold))
    zero = active.dtype.type(0)
    one = active.dtype.type(1)
    for u in range(active.shape[0]):
        if kind == RELU:  # on and kept, or nothing: the activation itself tells
            for r in range(n_rows):
                delta[u, r] = delta[u, r] * kept if active[u, r] > zero else zero
            continue
        for r in range(n_rows):
            row = first_row + r
            lane = random_word(key, u, row >> 2) >> np.uint64(16 * (row & 3))
            if (lane & np.uint64(65535)) < np.uint64(threshold):
                delta[u, r] = zero
                continue
            value = active[u, r] / kept
            slope = one - value * value if kind == TANH else value * (one - value)
            delta[u, r] = delta[u, r] * kept * slope
