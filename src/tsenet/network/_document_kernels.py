"""Kernel for a few rows at a time: one call runs each row through the whole network.

A row's activations are listed: only units that are on (ReLU leaves about half of them so) are followed. Nothing is laid
out anew, so a single row costs its own links, and it has the same answer in any company. Layers come as tuples of
arrays, from the input up.
"""

from __future__ import annotations

import numpy as np

from tsenet._system.jit import Array, Int, kernel
from tsenet.network._activation_kernels import RELU, TANH
from tsenet.network._group_kernels import group_forward
from tsenet.network._sparse_kernels import rows_forward


@kernel
def list_active(kind: Int, z: Array, units: Array, values: Array) -> Int:
    """Apply the non-linearity to ``z`` (U,), list the units that are then not 0 and their values, count them."""
    zero, one = z.dtype.type(0), z.dtype.type(1)
    n = 0
    for u in range(z.size):
        value = z[u]
        if kind == RELU:
            value = zero if value <= zero else value  # NaN stays in sight
        elif kind == TANH:
            value = np.tanh(value)
        else:
            value = one / (one + np.exp(-value))
        z[u] = value
        units[n] = u  # without a jump: what is off is overwritten by the next
        values[n] = value
        n += int(value != zero)
    return n


@kernel
def add_outputs(
    start: Int, stop: Int, units: Array, values: Array, weight: Array, out: Array
) -> None:
    """Add to ``out`` (C,) float64 entries ``start..stop`` of a list times a dense ``weight`` (D, C)."""
    for k in range(start, stop):
        value, row = np.float64(values[k]), weight[units[k]]
        for c in range(out.size):
            out[c] += value * np.float64(row[c])


@kernel
def document_outputs(
    row_start: Array,
    columns: Array,
    values: Array,
    in_start: tuple[Array, ...],
    in_unit: tuple[Array, ...],
    weight: tuple[Array, ...],
    bias: tuple[Array, ...],
    group_weight: tuple[Array, ...],
    group_bias: tuple[Array, ...],
    output_weight: Array,
    output_bias: Array,
    linear_skip: tuple[Array, ...],
    kind: Int,
    out: Array,
) -> None:
    """Raw outputs of the rows of a sparse batch, into ``out`` (B, C) float64, in which they are summed.

    ``in_start``, ``in_unit``, ``weight``, ``bias`` have one entry for each of the L sparse layers; ``group_weight``
    (D, S) and ``group_bias`` one for each feature group: those of the layers below the top, if there are skips, then
    the top's; ``linear_skip`` one for the input and each layer, (D, C), or with no rows if there is no such path.
    """
    n_levels, n_groups = len(weight), len(group_weight)
    features = np.empty(output_weight.shape[0], output_weight.dtype)
    longest = features.size
    for level in range(n_levels):
        longest = max(longest, bias[level].size)
    units, active = np.empty(longest, np.uint32), np.empty(longest, features.dtype)
    listed = np.zeros(2, np.int64)  # the list as a batch of one row
    for row in range(row_start.size - 1):
        start, below, below_values = row_start[row : row + 2], columns, values
        place = 0
        total = out[row]
        for c in range(total.size):
            total[c] = output_bias[c]
        for level in range(n_levels + 1):  # the input, then each layer
            if n_groups > 1 or level == n_levels:
                g = level if n_groups > 1 else 0
                size = group_bias[g].size
                group = features[place : place + size]
                for s in range(size):
                    group[s] = group_bias[g][s]
                group_forward(
                    0, 1, start, below, below_values, group_weight[g], group.reshape(1, size)
                )
                place += size
            if linear_skip[level].shape[0] > 0:
                add_outputs(start[0], start[1], below, below_values, linear_skip[level], total)
            if level < n_levels:
                z = bias[level].copy()
                links = in_start[level], in_unit[level], weight[level]
                rows_forward(0, 1, start, below, below_values, *links, z.reshape(1, z.size))
                listed[1] = list_active(kind, z, units, active)
                start, below, below_values = listed, units, active
        listed[1] = list_active(kind, features, units, active)
        add_outputs(listed[0], listed[1], units, active, output_weight, total)
