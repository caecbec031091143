"""Kernels of the forward pass without dropout, for validation and prediction.

Activations are kept by row, (rows, units). Every sum is taken term by term in the order of the inputs, so a row's
answer has the same bits whatever other rows come with it, on any number of threads, and whichever kernel is faster for
so many rows. BLAS does not promise that, hence no product is left to it. Terms that are 0 may be left out: adding them
changes nothing. Levels and features have the network's precision; outputs are summed in float64.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from tsenet._system.jit import Array, Int, kernel
from tsenet.network.kernels.activation_kernels import RELU, TANH
from tsenet.network.kernels.sparse_kernels import rows_forward

BLOCK_UNITS = 64  # units of a level whose weights stay in the processor's first cache
FEW_ROWS = 4  # up to so many rows go through the links one by one


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
    while k + 8 <= stop:  # eight rows of the weight for one pass over the output
        w_0, w_1, w_2, w_3 = (
            weight[units[k]],
            weight[units[k + 1]],
            weight[units[k + 2]],
            weight[units[k + 3]],
        )
        w_4, w_5, w_6, w_7 = (
            weight[units[k + 4]],
            weight[units[k + 5]],
            weight[units[k + 6]],
            weight[units[k + 7]],
        )
        v_0, v_1, v_2, v_3 = values[k], values[k + 1], values[k + 2], values[k + 3]
        v_4, v_5, v_6, v_7 = values[k + 4], values[k + 5], values[k + 6], values[k + 7]
        for s in range(out.size):
            total = out[s] + number(v_0) * number(w_0[s])
            total += number(v_1) * number(w_1[s])
            total += number(v_2) * number(w_2[s])
            total += number(v_3) * number(w_3[s])
            total += number(v_4) * number(w_4[s])
            total += number(v_5) * number(w_5[s])
            total += number(v_6) * number(w_6[s])
            out[s] = total + number(v_7) * number(w_7[s])
        k += 8
    while k < stop:
        w_0, v_0 = weight[units[k]], values[k]
        for s in range(out.size):
            out[s] += number(v_0) * number(w_0[s])
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
    group_start, group_stop = readers.first_feature, readers.first_feature + readers.bias.size
    for r in range(features.shape[0]):
        start, stop = row_start[r], row_start[r + 1]
        if readers.bias.size > 0:
            own = features[r][group_start:group_stop]
            add_weighted_rows(start, stop, columns, values, readers.weight, own)
        if readers.linear_skip.shape[0] > 0:
            add_weighted_rows(start, stop, columns, values, readers.linear_skip, outputs[r])


@kernel
def read_level(level: Array, readers: ReaderArrays, features: Array, outputs: Array) -> None:
    """Fill the group that reads ``level`` (B, D) in ``features`` (B, F); add the linear skip to ``outputs`` (B, C).

    The level is read in blocks of units, each by all rows before the next: its weights are fetched once for all rows.
    """
    start_features(readers, features)
    group_start, group_stop = readers.first_feature, readers.first_feature + readers.bias.size
    n_units = level.shape[1]
    block = BLOCK_UNITS if level.shape[0] > 1 else max(n_units, 1)
    units, listed = np.empty(block, np.uint32), np.empty(block, level.dtype)
    for first in range(0, n_units, block):
        last = min(first + block, n_units)
        for r in range(level.shape[0]):
            n = list_non_zeros(level[r], first, last, units, listed)
            if readers.bias.size > 0:
                own = features[r][group_start:group_stop]
                add_weighted_rows(np.int64(0), n, units, listed, readers.weight, own)
            if readers.linear_skip.shape[0] > 0:
                add_weighted_rows(np.int64(0), n, units, listed, readers.linear_skip, outputs[r])


@kernel
def level_of_sparse_rows(
    kind: Int, row_start: Array, columns: Array, values: Array, layer: LevelArrays, out: Array
) -> None:
    """Activations ``out`` (B, U) of level 1 over B sparse rows."""
    for r in range(out.shape[0]):
        for u in range(out.shape[1]):
            out[r, u] = 0
    links = (layer.in_start, layer.in_unit, layer.weight)
    rows_forward(np.int64(0), out.shape[0], row_start, columns, values, *links, out)
    for r in range(out.shape[0]):
        for u in range(out.shape[1]):
            out[r, u] += layer.bias[u]
        apply_activation(kind, out[r])


@kernel
def level_of_level(kind: Int, below: Array, layer: LevelArrays, out: Array) -> None:
    """Activations ``out`` (B, U) of a level over the one below, (B, D)."""
    for r in range(out.shape[0]):
        for u in range(out.shape[1]):
            out[r, u] = layer.bias[u]
    if out.shape[0] <= FEW_ROWS:
        add_links_by_input(below, layer, out)
    else:
        add_links_by_unit(below, layer, out)
    for r in range(out.shape[0]):
        apply_activation(kind, out[r])


@kernel
def add_links_by_input(below: Array, layer: LevelArrays, out: Array) -> None:
    """Add to ``out`` (B, U) the weighted links of ``below`` (B, D), row by row; inputs that are 0 cost nothing."""
    units = np.empty(below.shape[1], np.uint32)
    listed = np.empty(below.shape[1], below.dtype)
    for r in range(out.shape[0]):
        total = out[r]
        n = list_non_zeros(below[r], np.int64(0), below.shape[1], units, listed)
        for k in range(n):
            unit, value = units[k], listed[k]
            for e in range(layer.in_start[unit], layer.in_start[unit + 1]):
                total[layer.in_unit[e]] += value * layer.weight[e]


@kernel
def add_links_by_unit(below: Array, layer: LevelArrays, out: Array) -> None:
    """As `add_links_by_input`, but all rows at once, which then lie side by side."""
    n_rows = out.shape[0]
    inputs = np.empty((below.shape[1], n_rows), below.dtype)
    for r in range(n_rows):
        for d in range(below.shape[1]):
            inputs[d, r] = below[r, d]
    total = np.empty(n_rows, out.dtype)
    weight, unit_link, unit_input = layer.weight, layer.unit_link, layer.unit_input
    for u in range(out.shape[1]):
        for r in range(n_rows):
            total[r] = out[r, u]
        k, stop = layer.unit_start[u], layer.unit_start[u + 1]
        while k + 4 <= stop:  # four links for one pass over the rows
            x_0, x_1 = inputs[unit_input[k]], inputs[unit_input[k + 1]]
            x_2, x_3 = inputs[unit_input[k + 2]], inputs[unit_input[k + 3]]
            w_0, w_1 = weight[unit_link[k]], weight[unit_link[k + 1]]
            w_2, w_3 = weight[unit_link[k + 2]], weight[unit_link[k + 3]]
            for r in range(n_rows):
                total[r] = (((total[r] + w_0 * x_0[r]) + w_1 * x_1[r]) + w_2 * x_2[r]) + w_3 * x_3[
                    r
                ]
            k += 4
        while k < stop:
            x_0, w_0 = inputs[unit_input[k]], weight[unit_link[k]]
            for r in range(n_rows):
                total[r] += w_0 * x_0[r]
            k += 1
        for r in range(n_rows):
            out[r, u] = total[r]


@kernel
def finish_outputs(kind: Int, features: Array, weight: Array, outputs: Array) -> None:
    """Apply the non-linearity to ``features`` (B, F) in place, and add them times ``weight`` (F, C) to ``outputs``."""
    units = np.empty(features.shape[1], np.uint32)
    listed = np.empty(features.shape[1], features.dtype)
    for r in range(features.shape[0]):
        apply_activation(kind, features[r])
        n = list_non_zeros(features[r], np.int64(0), features.shape[1], units, listed)
        add_weighted_rows(np.int64(0), n, units, listed, weight, outputs[r])


# ---- one call for each level: calling a kernel costs microseconds, which a single row would notice


@kernel
def run_sparse_rows(
    kind: Int,
    row_start: Array,
    columns: Array,
    values: Array,
    readers: ReaderArrays,
    layer: LevelArrays,
    features: Array,
    outputs: Array,
    level: Array,
) -> None:
    """Run B sparse input rows into everything that reads them: features, outputs and level 1, ``level`` (B, U)."""
    read_sparse_rows(row_start, columns, values, readers, features, outputs)
    level_of_sparse_rows(kind, row_start, columns, values, layer, level)


@kernel
def run_level(
    kind: Int,
    below: Array,
    readers: ReaderArrays,
    layer: LevelArrays,
    features: Array,
    outputs: Array,
    level: Array,
) -> None:
    """Run a level, ``below`` (B, D), into all that reads it: features, outputs and the next, ``level`` (B, U)."""
    read_level(below, readers, features, outputs)
    level_of_level(kind, below, layer, level)


@kernel
def run_top(
    kind: Int, top: Array, readers: ReaderArrays, weight: Array, features: Array, outputs: Array
) -> None:
    """Run the top level (B, D) into its features, and all features into the outputs by ``weight`` (F, C)."""
    read_level(top, readers, features, outputs)
    finish_outputs(kind, features, weight, outputs)
