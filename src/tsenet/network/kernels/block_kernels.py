"""Kernels of a sparse layer whose latents have several units: each link is a block of weights.

As `sparse_kernels`, with the links between latents and the place of each block in the flat weight vector
(`tsenet.network.links.BlockLinks`). The number of units of a latent is the length of the tuple ``faces``.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from tsenet._system.jit import Array, Int, kernel
from tsenet.network.kernels.lane_kernels import (
    LANES,
    add_scaled,
    add_two_scaled,
    block_gradient,
    sum_blocks_down,
    sum_blocks_up,
)
from tsenet.network.kernels.prefetch_kernels import fetch_ahead
from tsenet.network.kernels.sparse_kernels import AHEAD, NEAR

Faces = Any  # tuple of so many zeros as a latent has units

GROUP = 64  # units whose activations, in 64 rows, fill half of a processor's first cache
_ROWS = (0,) * LANES
_ROW = (0,)


@kernel
def rows_forward(
    first: Int,
    last: Int,
    row_start: Array,
    columns: Array,
    values: Array,
    in_start: Array,
    in_unit: Array,
    weight: Array,
    faces: Faces,
    out: Array,
) -> None:
    """Add to ``out`` (B, U·k), for rows ``first..last`` of a sparse batch, the weighted links of their non-zeros."""
    k = len(faces)
    end = row_start[last] - 1
    is_far = weight.size > NEAR
    for row in range(first, last):
        total = out[row]
        for n in range(row_start[row], row_start[row + 1]):
            if is_far:
                soon = columns[n + AHEAD if n + AHEAD <= end else end]
                fetch_ahead(in_unit, in_start[soon], in_start[soon + 1])
                fetch_ahead(weight, np.int64(in_start[soon]) * k, np.int64(in_start[soon + 1]) * k)
            value = values[n]
            column = columns[n]
            for e in range(np.int64(in_start[column]), np.int64(in_start[column + 1])):
                add_scaled(total, np.int64(in_unit[e]) * k, value, weight, e * k, faces)


@kernel
def rows_weight_gradient(
    first: Int,
    last: Int,
    column_start: Array,
    column_rows: Array,
    column_values: Array,
    in_start: Array,
    in_unit: Array,
    faces: Faces,
    delta: Array,
    gradient: Array,
) -> None:
    """Gradient of the weights of inputs ``first..last`` from the batch by column: ``delta`` (B, U·k).

    ``gradient`` has a place for each of these weights alone.
    """
    k = len(faces)
    offset = np.int64(in_start[first])
    for column in range(first, last):
        start, stop = np.int64(in_start[column]), np.int64(in_start[column + 1])
        for place in range((start - offset) * k, (stop - offset) * k):
            gradient[place] = 0
        n, end = np.int64(column_start[column]), np.int64(column_start[column + 1])
        while n + 1 < end:  # two rows at a time: one pass over the links for both
            value, row = column_values[n], delta[column_rows[n]]
            value_2, row_2 = column_values[n + 1], delta[column_rows[n + 1]]
            for e in range(start, stop):
                there = np.int64(in_unit[e]) * k
                add_two_scaled(gradient, (e - offset) * k, value, row, value_2, row_2, there, faces)
            n += 2
        if n < end:
            value, row = column_values[n], delta[column_rows[n]]
            for e in range(start, stop):
                there = np.int64(in_unit[e]) * k
                add_scaled(gradient, (e - offset) * k, value, row, there, faces)


@kernel
def pack_blocks(
    first: Int,
    last: Int,
    unit_weight: Array,
    unit_step: Array,
    faces_in: Faces,
    faces_out: Faces,
    weight: Array,
    packed: Array,
) -> None:
    """Copy the blocks of links ``first..last``, in the order by unit, one after another: block m is (k_in, k_out).

    The forward pass reads them from end to end; in the weight vector the rows of a block lie far apart.
    """
    k_in, k_out = len(faces_in), len(faces_out)
    for m in range(first, last):
        here, there = m * k_in * k_out, unit_weight[m]
        for _ in range(k_in):
            for j in range(k_out):
                packed[here + j] = weight[there + j]
            here += k_out
            there += unit_step[m]


@kernel
def units_forward(
    unit_start: Array,
    unit_input: Array,
    unit_weight: Array,
    unit_step: Array,
    weight: Array,
    faces_in: Faces,
    faces_out: Faces,
    rows_at_once: Int,
    below: Array,
    out: Array,
) -> None:
    """Add to ``out`` (U·k_out, B) the weighted activations ``below`` (D·k_in, B)."""
    n_rows = below.shape[1]
    some = GROUP // len(faces_in) + 1
    for u in range(unit_start.size - 1):
        start = unit_start[u]
        while start < unit_start[u + 1]:  # what some links read stays in the first cache
            stop = min(start + some, unit_start[u + 1])
            row = 0
            while row + rows_at_once <= n_rows:
                sum_blocks_up(
                    out,
                    u,
                    below,
                    row,
                    unit_input,
                    unit_weight,
                    unit_step,
                    start,
                    stop,
                    weight,
                    faces_out,
                    faces_in,
                    _ROWS,
                )
                row += rows_at_once
            while row < n_rows:
                sum_blocks_up(
                    out,
                    u,
                    below,
                    row,
                    unit_input,
                    unit_weight,
                    unit_step,
                    start,
                    stop,
                    weight,
                    faces_out,
                    faces_in,
                    _ROW,
                )
                row += 1
            start = stop


@kernel
def units_input_gradient(
    in_start: Array,
    in_unit: Array,
    in_weight: Array,
    in_step: Array,
    weight: Array,
    faces_in: Faces,
    faces_out: Faces,
    rows_at_once: Int,
    delta: Array,
    gradient: Array,
) -> None:
    """Add to ``gradient`` (D·k_in, B) what ``delta`` (U·k_out, B) asks of the lower units."""
    n_rows = delta.shape[1]
    some = GROUP // len(faces_out) + 1
    for d in range(in_start.size - 1):
        start, last = np.int64(in_start[d]), np.int64(in_start[d + 1])
        while start < last:
            stop = min(start + some, last)
            row = 0
            while row + rows_at_once <= n_rows:
                sum_blocks_down(
                    gradient,
                    d,
                    delta,
                    row,
                    in_unit,
                    in_weight,
                    in_step,
                    start,
                    stop,
                    weight,
                    faces_in,
                    faces_out,
                    _ROWS,
                )
                row += rows_at_once
            while row < n_rows:
                sum_blocks_down(
                    gradient,
                    d,
                    delta,
                    row,
                    in_unit,
                    in_weight,
                    in_step,
                    start,
                    stop,
                    weight,
                    faces_in,
                    faces_out,
                    _ROW,
                )
                row += 1
            start = stop


@kernel
def units_weight_gradient(
    order: Array,
    first_weight: Int,
    link_input: Array,
    in_unit: Array,
    in_weight: Array,
    in_step: Array,
    faces_in: Faces,
    faces_out: Faces,
    below: Array,
    delta: Array,
    gradient: Array,
) -> None:
    """Gradient of the weights of some links, ``order``: Σ over rows of below · delta.

    ``below`` (D·k_in, B) and ``delta`` (U·k_out, B); ``gradient`` holds the weights from ``first_weight`` on.
    """
    for k in range(order.size):
        e = order[k]
        place = in_weight[e] - first_weight
        block_gradient(
            below,
            link_input[e],
            delta,
            in_unit[e],
            gradient,
            place,
            in_step[e],
            faces_in,
            faces_out,
        )
