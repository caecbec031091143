"""Kernel for a few rows at a time: one call runs a row through the whole network.

Units that are off (ReLU leaves about half of them so) are not followed, and nothing is laid out anew, so a single row
costs its own links. Layers come as tuples of arrays, from the input up.
"""

from __future__ import annotations

import numpy as np

from tsenet.jit import Array, Int, kernel
from tsenet.network._activation_kernels import RELU, TANH


@kernel
def _bend(kind: Int, z: Array) -> None:
    """Non-linearity in place on ``z`` (U,)."""
    for u in range(z.size):
        if kind == RELU:
            z[u] = max(z[u], z.dtype.type(0))
        elif kind == TANH:
            z[u] = np.tanh(z[u])
        else:
            z[u] = z.dtype.type(1) / (z.dtype.type(1) + np.exp(-z[u]))


@kernel
def _spread(value: float, start: Int, stop: Int, unit: Array, weight: Array, z: Array) -> None:
    """Add ``value`` times the links ``start..stop`` to the units they lead to."""
    for e in range(start, stop):
        z[unit[e]] += value * weight[e]


@kernel
def _add_scaled(value: float, weight: Array, out: Array) -> None:
    """Add ``value`` times one row of a dense group's weight to the group."""
    for s in range(out.size):
        out[s] += value * weight[s]


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
    direct: tuple[Array, ...],
    kind: Int,
    out: Array,
) -> None:
    """Raw outputs of the rows of a sparse batch, into ``out`` (B, C).

    ``in_start``, ``in_unit``, ``weight``, ``bias`` have one entry for each of the L sparse layers; ``group_weight``
    (D, S) and ``group_bias`` one for each feature group: those of the layers below the top, if there are skips, then
    the top's. ``direct`` has the weight (D, C) from the input and from each layer to the outputs; (D, 0) if none.
    """
    n_levels = len(weight)
    n_groups = len(group_weight)
    feature = np.empty(output_weight.shape[0], out.dtype)
    for row in range(row_start.size - 1):
        place = 0
        reached = out[row, : direct[0].shape[1]]
        for c in range(output_bias.size):
            out[row, c] = output_bias[c]
        z = bias[0].copy()
        for k in range(row_start[row], row_start[row + 1]):
            c = columns[k]
            _spread(values[k], in_start[0][c], in_start[0][c + 1], in_unit[0], weight[0], z)
            _add_scaled(values[k], direct[0][c], reached)
        if n_groups > 1:
            group = feature[: group_bias[0].size]
            for s in range(group.size):
                group[s] = group_bias[0][s]
            for k in range(row_start[row], row_start[row + 1]):
                _add_scaled(values[k], group_weight[0][columns[k]], group)
            place = group.size
        for level in range(1, n_levels + 1):
            _bend(kind, z)
            above = bias[level if level < n_levels else 0].copy()
            g = level if n_groups > 1 else 0
            reads = n_groups > 1 or level == n_levels
            group = feature[place : place + (group_bias[g].size if reads else 0)]
            for s in range(group.size):
                group[s] = group_bias[g][s]
            place += group.size
            for u in range(z.size):
                if z[u] != 0:
                    if level < n_levels:
                        _spread(
                            z[u],
                            in_start[level][u],
                            in_start[level][u + 1],
                            in_unit[level],
                            weight[level],
                            above,
                        )
                    if reads:
                        _add_scaled(z[u], group_weight[g][u], group)
                    _add_scaled(z[u], direct[level][u], reached)
            z = above
        _bend(kind, feature)
        for f in range(feature.size):
            if feature[f] != 0:
                _add_scaled(feature[f], output_weight[f], out[row])
