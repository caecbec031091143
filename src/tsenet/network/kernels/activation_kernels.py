"""Kernels for non-linearities with counter-based dropout, batch-minor (units, rows).

Whether a unit is dropped in a row depends on (key, unit, row) alone. A row draws 64 random bits, its *salt*; the salt's
halves, mixed with the unit's number in 32-bit arithmetic, give the unit's bits, of which 16 decide. Processors mix
eight 32-bit numbers at a time. No mask is stored; the backward pass computes it again.
"""

from __future__ import annotations

import numpy as np

from tsenet._system.jit import Array, Int, kernel

RELU, TANH, SIGMOID = 0, 1, 2
KIND_OF_ACTIVATION = {"relu": RELU, "tanh": TANH, "sigmoid": SIGMOID}


@kernel
def random_word(key: Int, counter: Int) -> Int:
    """64 random bits: output number ``counter`` of splitmix64 seeded with ``key``."""
    z = np.uint64(key) + np.uint64(counter) * np.uint64(0x9E3779B97F4A7C15)
    z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return z ^ (z >> np.uint64(31))


@kernel
def row_salts(key: Int, first_row: Int, low: Array, high: Array) -> None:
    """Fill ``low`` and ``high`` (B,) uint32 with the halves of the salts of rows ``first_row..``."""
    for r in range(low.size):
        word = random_word(key, first_row + r)
        low[r] = np.uint32(word)
        high[r] = np.uint32(word >> np.uint64(32))


@kernel
def draw(unit: Int, low: Int, high: Int) -> Int:
    """16 random bits of a unit in the row with this salt: a 32-bit finaliser, salted at its start and half-way.

    numba widens products of 32-bit numbers to 64 bits: each is cut back at once.
    """
    x = np.uint32(np.uint32(np.uint32(unit) * np.uint32(0x9E3779B9)) + low)
    x = np.uint32((x ^ (x >> np.uint32(16))) * np.uint32(0x7FEB352D)) ^ high
    x = np.uint32((x ^ (x >> np.uint32(15))) * np.uint32(0x846CA68B))
    return np.uint32(x >> np.uint32(16))


@kernel
def dropout_factors(key: Int, first_row: Int, threshold: Int, factors: Array) -> None:
    """Fill ``factors`` (U, B) with 0 for dropped entries and 1 / P(kept) for the others.

    Row r of the array is row ``first_row + r`` of the batch; ``threshold`` / 65536 is the rate.
    """
    kept = 65536.0 / (65536 - threshold)
    low = np.empty(factors.shape[1], np.uint32)
    high = np.empty(factors.shape[1], np.uint32)
    row_salts(key, first_row, low, high)
    for u in range(factors.shape[0]):
        for r in range(factors.shape[1]):
            drop = draw(u, low[r], high[r]) < np.uint32(threshold)
            factors[u, r] = 0.0 if drop else kept


@kernel
def activate(kind: Int, key: Int, first_row: Int, threshold: Int, z: Array) -> None:
    """Non-linearity and dropout in place on ``z`` (U, B)."""
    n_rows = z.shape[1]
    kept = z.dtype.type(65536.0 / (65536 - threshold))
    zero = z.dtype.type(0)
    one = z.dtype.type(1)
    low = np.empty(n_rows, np.uint32)
    high = np.empty(n_rows, np.uint32)
    row_salts(key, first_row, low, high)
    limit = np.uint32(threshold)
    for u in range(z.shape[0]):
        if kind == RELU:  # a choice between two computed values, no branch: eight rows at a time
            for r in range(n_rows):
                value = z[u, r] * kept
                off = (draw(u, low[r], high[r]) < limit) | (value <= zero)
                z[u, r] = zero if off else value
            continue
        for r in range(n_rows):
            z[u, r] = np.tanh(z[u, r]) if kind == TANH else one / (one + np.exp(-z[u, r]))
        for r in range(n_rows):
            value = z[u, r] * kept
            z[u, r] = zero if draw(u, low[r], high[r]) < limit else value


@kernel
def activation_gradient(
    kind: Int, key: Int, first_row: Int, threshold: Int, active: Array, delta: Array
) -> None:
    """Turn ``delta`` (U, B), the gradient by the activations, into that by the sums behind them, in place.

    ``active`` (U, B) is the result of `activate`.
    """
    n_rows = active.shape[1]
    kept = active.dtype.type(65536.0 / (65536 - threshold))
    zero = active.dtype.type(0)
    one = active.dtype.type(1)
    low = np.empty(n_rows, np.uint32)
    high = np.empty(n_rows, np.uint32)
    if kind != RELU:
        row_salts(key, first_row, low, high)
    for u in range(active.shape[0]):
        if kind == RELU:  # a unit that is off or dropped has activation 0
            for r in range(n_rows):
                delta[u, r] = delta[u, r] * kept if active[u, r] > zero else zero
            continue
        for r in range(n_rows):
            if draw(u, low[r], high[r]) < np.uint32(threshold):
                delta[u, r] = zero
                continue
            value = active[u, r] / kept
            slope = one - value * value if kind == TANH else value * (one - value)
            delta[u, r] = delta[u, r] * kept * slope
