"""Kernels of the forward pass without dropout, for validation and prediction.

Activations are kept by row, (rows, units). Every sum of a row is taken in an order that depends on this row and on the
network only: neither the other rows of a chunk nor the number of threads changes an answer by a single bit. That is why
no product here is left to BLAS. Levels and features have the network's precision; outputs are summed in float64.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from tsenet._system.jit import Array, Int, kernel
from tsenet.network.kernels.activation_kernels import RELU, TANH
from tsenet.network.kernels.sparse_kernels import rows_forward, units_forward

BLOCK_UNITS = 64  # units of a level whose weights stay in the processor's first cache


class LevelArrays(NamedTuple):
    """A sparse layer: the arrays of ``Links``, weights (E,) and biases (U,)."""

    in_start: Array
    in_unit: Array
    unit_start: Array
    unit_input: Array
    unit_link: Array
    weight: Array
    bias: Array


class ReaderArrays(NamedTuple):
    """What reads a level of D units besides the next level.

    A feature group, ``weight`` (D, S) and ``bias`` (S,), where S may be 0; and a linear skip to the C outputs,
    ``linear_skip`` (D, C), or (0, C) if there is none. The group's place in the feature layer is ``first_feature``.
    """

    weight: Array
    bias: Array
    linear_skip: Array
    first_feature: Int


@kernel
def apply_activation(kind: Int, z: Array) -> None:
    """Apply the non-linearity in place to ``z`` (U,); NaN stays NaN."""
    zero, one = z.dtype.type(0), z.dtype.type(1)
    if kind == RELU:
        for u in range(z.size):
            z[u] = zero if z[u] <= zero else z[u]
    elif kind == TANH:
        for u in range(z.size):
            z[u] = np.tanh(z[u])
    else:
        for u in range(z.size):
            z[u] = one / (one + np.exp(-z[u]))


@kernel
def add_weighted_rows(
    start: Int, stop: Int, units: Array, values: Array, weight: Array, out: Array
) -> None:
    """Add Σₖ ``values[k]`` · ``weight[units[k]]``, k in ``start:stop``, to ``out`` (S,), in its precision."""
    number = out.dtype.type
    k = start
    while k + 4 <= stop:  # four rows of the weight for one pass over the output
        a, b = weight[units[k]], weight[units[k + 1]]
        c, d = weight[units[k + 2]], weight[units[k + 3]]
        v_a, v_b = number(values[k]), number(values[k + 1])
        v_c, v_d = number(values[k + 2]), number(values[k + 3])
        for s in range(out.size):
            out[s] += (v_a * number(a[s]) + v_b * number(b[s])) + (
                v_c * number(c[s]) + v_d * number(d[s])
            )
        k += 4
    while k < stop:
        a, v_a = weight[units[k]], number(values[k])
        for s in range(out.size):
            out[s] += v_a * number(a[s])
        k += 1


@kernel
def list_non_zeros(values: Array, first: Int, last: Int, units: Array, listed: Array) -> Int:
    """List the units ``first..last`` whose entry in ``values`` (U,) is not 0, and these entries; count them."""
    n = 0
    for u in range(first, last):
        units[n] = u  # written always, kept if not zero: cheaper than a branch
        listed[n] = values[u]
        n += int(values[u] != 0)
    return n


@kernel
def start_features(readers: ReaderArrays, features: Array) -> None:
    """Set a group's features to its biases in all rows of ``features`` (B, F)."""
    for r in range(features.shape[0]):
        for s in range(readers.bias.size):
            features[r, readers.first_feature + s] = readers.bias[s]


@kernel
def read_sparse_rows(
    row_start: Array,
    columns: Array,
    values: Array,
    readers: ReaderArrays,
    features: Array,
    outputs: Array,
) -> None:
    """Fill the group that reads B sparse rows in ``features`` (B, F); add the linear skip to ``outputs`` (B, C)."""
    start_features(readers, features)
    group = slice(readers.first_feature, readers.first_feature + readers.bias.size)
    for r in range(features.shape[0]):
        start, stop = row_start[r], row_start[r + 1]
        if readers.bias.size > 0:
            add_weighted_rows(start, stop, columns, values, readers.weight, features[r, group])
        if readers.linear_skip.shape[0] > 0:
            add_weighted_rows(start, stop, columns, values, readers.linear_skip, outputs[r])


@kernel
def read_level(level: Array, readers: ReaderArrays, features: Array, outputs: Array) -> None:
    """Fill the group that reads ``level`` (B, D) in ``features`` (B, F); add the linear skip to ``outputs`` (B, C).

    The level is read in blocks of units, each by all rows before the next: its weights are fetched once for all rows.
    """
    start_features(readers, features)
    group = slice(readers.first_feature, readers.first_feature + readers.bias.size)
    units = np.empty(BLOCK_UNITS, np.uint32)
    listed = np.empty(BLOCK_UNITS, level.dtype)
    for first in range(0, level.shape[1], BLOCK_UNITS):
        last = min(first + BLOCK_UNITS, level.shape[1])
        for r in range(level.shape[0]):
            n = list_non_zeros(level[r], first, last, units, listed)
            if readers.bias.size > 0:
                add_weighted_rows(0, n, units, listed, readers.weight, features[r, group])
            if readers.linear_skip.shape[0] > 0:
                add_weighted_rows(0, n, units, listed, readers.linear_skip, outputs[r])


@kernel
def level_of_sparse_rows(
    kind: Int, row_start: Array, columns: Array, values: Array, layer: LevelArrays, out: Array
) -> None:
    """Activations ``out`` (B, U) of level 1 over B sparse rows."""
    for r in range(out.shape[0]):
        for u in range(out.shape[1]):
            out[r, u] = 0
    links = (layer.in_start, layer.in_unit, layer.weight)
    rows_forward(0, out.shape[0], row_start, columns, values, *links, out)
    for r in range(out.shape[0]):
        for u in range(out.shape[1]):
            out[r, u] += layer.bias[u]
        apply_activation(kind, out[r])


@kernel
def level_of_level(kind: Int, below: Array, layer: LevelArrays, out: Array) -> None:
    """Activations ``out`` (B, U) of a level over the one below, (B, D)."""
    n_rows = below.shape[0]
    by_unit = np.empty(
        (below.shape[1], n_rows), below.dtype
    )  # rows side by side, as links are read
    for d in range(below.shape[1]):
        for r in range(n_rows):
            by_unit[d, r] = below[r, d]
    sums = np.empty((out.shape[1], n_rows), out.dtype)
    for u in range(out.shape[1]):
        for r in range(n_rows):
            sums[u, r] = layer.bias[u]
    links = (layer.unit_start, layer.unit_input, layer.unit_link)
    units_forward(0, out.shape[1], *links, layer.weight, by_unit, sums)
    for r in range(n_rows):
        for u in range(out.shape[1]):
            out[r, u] = sums[u, r]
        apply_activation(kind, out[r])


@kernel
def finish_outputs(kind: Int, features: Array, weight: Array, outputs: Array) -> None:
    """Apply the non-linearity to ``features`` (B, F) in place, and add them times ``weight`` (F, C) to ``outputs``."""
    units = np.empty(features.shape[1], np.uint32)
    listed = np.empty(features.shape[1], features.dtype)
    for r in range(features.shape[0]):
        apply_activation(kind, features[r])
        n = list_non_zeros(features[r], 0, features.shape[1], units, listed)
        add_weighted_rows(0, n, units, listed, weight, outputs[r])
