"""Kernels of a sparse layer whose latents have several units: each link is a block of weights.

As `sparse_kernels`, with the links between latents and the place of each block in the flat weight vector
(`tsenet.network.links.BlockLinks`). The number of units of a latent is the length of the tuple ``faces``.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from tsenet._system.jit import Array, Int, kernel
from tsenet.network.kernels.lane_kernels import (
    add_scaled,
    add_two_scaled,
    sum_blocks_down,
    sum_blocks_up,
    tile_gradient,
)
from tsenet.network.kernels.prefetch_kernels import fetch_ahead
from tsenet.network.kernels.sparse_kernels import AHEAD, NEAR

Faces = Any  # tuple of so many zeros as a latent has units

GROUP = 64  # units whose activations, in 64 rows, fill half of a processor's first cache
_ONE = (0,)


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
    base: Array,
    out: Array,
) -> None:
    """Fill ``out`` (B, U·k), for rows ``first..last`` of a sparse batch, with the weighted links of their non-zeros.

    To each row ``base`` (U·k,) is added, as a bias is.
    """
    k = len(faces)
    end = row_start[last] - 1
    is_far = weight.size > NEAR
    for row in range(first, last):
        total = out[row]
        for u in range(total.size):
            total[u] = base[u]
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
    weight: Array,
    bias: Array,
    faces_in: Faces,
    faces_out: Faces,
    lanes: Faces,
    vectors: Faces,
    below: Array,
    out: Array,
) -> None:
    """Fill ``out`` (U·k_out, B) with the weighted activations ``below`` (D·k_in, B) and the bias.

    ``weight`` holds the blocks of `pack_blocks`. B is a multiple of ``len(lanes)``; rows are summed by so many times
    ``len(vectors)``, as long as there are enough.
    """
    k_in, k_out, n_rows = len(faces_in), len(faces_out), below.shape[1]
    size, many = k_in * k_out, len(lanes) * len(vectors)
    some = GROUP // k_in + 1
    for u in range(unit_start.size - 1):
        for j in range(u * k_out, (u + 1) * k_out):
            for r in range(n_rows):
                out[j, r] = bias[j]
        start = unit_start[u]
        while start < unit_start[u + 1]:  # what some links read stays in the first cache
            stop = min(start + some, unit_start[u + 1])
            place = start * size
            row = 0
            while row + many <= n_rows:
                sum_blocks_up(
                    out, u, below, row, unit_input, start, stop, weight, place, size, k_out,
                    faces_out, faces_in, lanes, vectors,
                )  # fmt: skip
                row += many
            while row < n_rows:
                sum_blocks_up(
                    out, u, below, row, unit_input, start, stop, weight, place, size, k_out,
                    faces_out, faces_in, lanes, _ONE,
                )  # fmt: skip
                row += len(lanes)
            start = stop


@kernel
def units_input_gradient(
    in_start: Array,
    in_unit: Array,
    weight: Array,
    faces_in: Faces,
    faces_out: Faces,
    lanes: Faces,
    vectors: Faces,
    adds: Int,
    delta: Array,
    gradient: Array,
) -> None:
    """Fill ``gradient`` (D·k_in, B) with what ``delta`` (U·k_out, B) asks of the lower units, or add to it.

    Rows are taken as in `units_forward`.
    """
    k_in, k_out, n_rows = len(faces_in), len(faces_out), delta.shape[1]
    many = len(lanes) * len(vectors)
    some = GROUP // k_out + 1
    for d in range(in_start.size - 1):
        first, last = np.int64(in_start[d]), np.int64(in_start[d + 1])
        start, step = first, (last - first) * k_out
        if not adds:
            for i in range(d * k_in, (d + 1) * k_in):
                for r in range(n_rows):
                    gradient[i, r] = 0
        while start < last:
            stop = min(start + some, last)
            place = first * k_in * k_out + (start - first) * k_out
            row = 0
            while row + many <= n_rows:
                sum_blocks_down(
                    gradient, d, delta, row, in_unit, start, stop, weight, place, k_out, step,
                    faces_in, faces_out, lanes, vectors,
                )  # fmt: skip
                row += many
            while row < n_rows:
                sum_blocks_down(
                    gradient, d, delta, row, in_unit, start, stop, weight, place, k_out, step,
                    faces_in, faces_out, lanes, _ONE,
                )  # fmt: skip
                row += len(lanes)
            start = stop


@kernel
def units_weight_gradient(
    unit_start: Array,
    lower: Array,
    place: Array,
    faces_out: Faces,
    tall: Faces,
    wide: Faces,
    below: Array,
    delta: Array,
    gradient: Array,
) -> None:
    """Gradient of the weights from some lower units, Σ over rows of below · delta.

    ``below`` (chunks, lower units, rows) and ``delta`` (chunks, U·k_out, rows). Latent u reads the lower units
    ``lower[unit_start[u]:unit_start[u + 1]]``; the ``k_out`` weights of each go to ``gradient`` from its ``place`` on.
    Sums of ``len(tall)`` lower units and ``len(wide)`` upper ones are taken together.
    """
    k_out = len(faces_out)
    for u in range(unit_start.size - 1):
        first, last = unit_start[u], unit_start[u + 1]
        unit = u * k_out
        while first < last:
            if last - unit_start[u] < len(tall):  # too few for a tile
                for face in range(k_out):
                    tile_gradient(
                        below, lower, delta, unit, gradient, place, first, face, _ONE, _ONE
                    )
                first += 1
                continue
            first = min(first, last - len(tall))  # the last tile may overlap the one before
            face = 0
            while face + len(wide) <= k_out:
                tile_gradient(below, lower, delta, unit, gradient, place, first, face, tall, wide)
                face += len(wide)
            while face < k_out:
                tile_gradient(below, lower, delta, unit, gradient, place, first, face, tall, _ONE)
                face += 1
            first += len(tall)
