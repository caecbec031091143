"""Kernels between sparse rows and level 1: sums are made by row, (rows, units), activations are kept by unit.

Each strip of units is transposed and activated while it lies in the processor's first cache.
"""

from __future__ import annotations

import numpy as np

from tsenet._system.jit import Array, Int, kernel
from tsenet.network.kernels.activation_kernels import RELU, activate_unit, row_salts, unit_gradient
from tsenet.network.kernels.lane_kernels import SQUARE, transpose_tile


@kernel
def activate_rows(
    kind: Int, key: Int, first_row: Int, threshold: Int, source: Array, out: Array
) -> None:
    """Transpose the sums ``source`` (B, U) into ``out`` (U, B); there as `activate`."""
    n_rows, n_units = source.shape
    row_end = n_rows - n_rows % SQUARE
    low, high = np.empty(n_rows, np.uint32), np.empty(n_rows, np.uint32)
    row_salts(key, first_row, low, high)
    u = 0
    while u < n_units:
        stop = min(u + SQUARE, n_units)
        full = stop - u == SQUARE
        if full:
            for r in range(0, row_end, SQUARE):
                transpose_tile(source, r * n_units + u, None, 0, out, u * n_rows + r)
        for v in range(u, stop):
            for r in range(row_end if full else 0, n_rows):
                out[v, r] = source[r, v]
            activate_unit(kind, v, threshold, low, high, out[v])
        u = stop


@kernel
def row_gradient(
    kind: Int,
    key: Int,
    first_row: Int,
    threshold: Int,
    active: Array,
    delta: Array,
    out: Array,
) -> None:
    """As `activation_gradient` on ``delta`` (U, B), which is then also written by row, to ``out`` (B, U)."""
    n_units, n_rows = delta.shape
    row_end = n_rows - n_rows % SQUARE
    low, high = np.empty(n_rows, np.uint32), np.empty(n_rows, np.uint32)
    if kind != RELU:
        row_salts(key, first_row, low, high)
    u = 0
    while u < n_units:
        stop = min(u + SQUARE, n_units)
        full = stop - u == SQUARE
        for v in range(u, stop):
            unit_gradient(kind, v, threshold, low, high, active[v], delta[v])
        if full:
            for r in range(0, row_end, SQUARE):
                transpose_tile(delta, u * n_rows + r, None, 0, out, r * n_units + u)
        for v in range(u, stop):
            for r in range(row_end if full else 0, n_rows):
                out[r, v] = delta[v, r]
        u = stop
