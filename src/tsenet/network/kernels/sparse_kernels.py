"""Kernels of a sparse layer: sparse weights times sparse rows, and times dense activations (paper §5).

A layer's E links are kept two ways. *By input*: ``in_start`` (D + 1), ``in_unit`` (E,), the links of each lower unit
one after another; the flat weight vector is in this order. *By unit*: ``unit_start`` (U + 1), ``unit_input`` (E,) and
``unit_link`` (E,), where ``unit_link[k]`` is the place of the k-th link in the weight vector.

Dense activations are batch-minor, (units, rows), so that the inner loop runs over rows, which lie side by side.
"""

from __future__ import annotations

import numpy as np

from tsenet._system.jit import Array, Int, kernel, sum_kernel
from tsenet.network.kernels.prefetch_kernels import fetch_ahead

AHEAD = 2  # non-zeros: the links of the next but one are fetched while those of one are added
NEAR = 50_000  # links: so few stay in the cache and need no prefetch


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
    out: Array,
) -> None:
    """Add to ``out`` (B, U), for rows ``first..last`` of a sparse batch, the weighted links of their non-zeros."""
    end = row_start[last] - 1  # the last non-zero
    is_far = weight.size > NEAR
    for row in range(first, last):
        total = out[row]
        for k in range(row_start[row], row_start[row + 1]):
            if is_far:
                soon = columns[k + AHEAD if k + AHEAD <= end else end]
                fetch_ahead(in_unit, in_start[soon], in_start[soon + 1])
                fetch_ahead(weight, in_start[soon], in_start[soon + 1])
            value = values[k]
            for e in range(in_start[columns[k]], in_start[columns[k] + 1]):
                total[in_unit[e]] += value * weight[e]


@kernel
def rows_weight_gradient(
    first: Int,
    last: Int,
    column_start: Array,
    column_rows: Array,
    column_values: Array,
    in_start: Array,
    in_unit: Array,
    delta: Array,
    gradient: Array,
) -> None:
    """Gradient of the links of inputs ``first..last`` from the batch by column: ``delta`` (B, U).

    ``gradient`` has one entry for each of these links. No link has two inputs, so calls for other inputs do not
    interfere.
    """
    offset = np.int64(in_start[first])
    for column in range(first, last):
        start, stop = np.int64(in_start[column]), np.int64(in_start[column + 1])
        unit = in_unit[start:stop]
        own = gradient[start - offset : stop - offset]
        k, end = np.int64(column_start[column]), np.int64(column_start[column + 1])
        if (end - k) % 2 == 0:
            for e in range(own.size):
                own[e] = 0
        else:
            value, row = column_values[k], delta[column_rows[k]]
            for e in range(own.size):
                own[e] = value * row[unit[e]]
            k += 1
        while k < end:  # two rows for one pass over the links
            value, row = column_values[k], delta[column_rows[k]]
            value_2, row_2 = column_values[k + 1], delta[column_rows[k + 1]]
            for e in range(own.size):
                own[e] += value * row[unit[e]] + value_2 * row_2[unit[e]]
            k += 2


@kernel
def rows_value_gradient(
    first: Int,
    last: Int,
    row_start: Array,
    columns: Array,
    in_start: Array,
    in_unit: Array,
    weight: Array,
    delta: Array,
    gradient: Array,
) -> None:
    """Gradient of the batch's own non-zeros, rows ``first..last``: ``gradient`` (nnz,)."""
    for row in range(first, last):
        for k in range(row_start[row], row_start[row + 1]):
            total = gradient[k] * 0
            for e in range(in_start[columns[k]], in_start[columns[k] + 1]):
                total += weight[e] * delta[row, in_unit[e]]
            gradient[k] = total


@kernel
def units_forward(
    first: Int,
    last: Int,
    unit_start: Array,
    unit_input: Array,
    unit_link: Array,
    weight: Array,
    below: Array,
    out: Array,
) -> None:
    """Add to ``out`` (U, B), for units ``first..last``, the weighted activations ``below`` (D, B)."""
    n_rows = below.shape[1]
    for u in range(first, last):
        k = unit_start[u]
        stop = unit_start[u + 1]
        while k + 4 <= stop:  # four links for one pass over the output
            a, b = unit_input[k], unit_input[k + 1]
            c, d = unit_input[k + 2], unit_input[k + 3]
            w_a, w_b = weight[unit_link[k]], weight[unit_link[k + 1]]
            w_c, w_d = weight[unit_link[k + 2]], weight[unit_link[k + 3]]
            for r in range(n_rows):
                out[u, r] += (w_a * below[a, r] + w_b * below[b, r]) + (
                    w_c * below[c, r] + w_d * below[d, r]
                )
            k += 4
        while k < stop:
            a = unit_input[k]
            w_a = weight[unit_link[k]]
            for r in range(n_rows):
                out[u, r] += w_a * below[a, r]
            k += 1


@kernel
def units_input_gradient(
    first: Int,
    last: Int,
    in_start: Array,
    in_unit: Array,
    weight: Array,
    delta: Array,
    gradient: Array,
) -> None:
    """Add to ``gradient`` (D, B), for lower units ``first..last``, what reaches them from ``delta`` (U, B)."""
    n_rows = delta.shape[1]
    for x in range(first, last):
        e = in_start[x]
        stop = in_start[x + 1]
        while e + 4 <= stop:
            a, b, c, d = in_unit[e], in_unit[e + 1], in_unit[e + 2], in_unit[e + 3]
            w_a, w_b, w_c, w_d = weight[e], weight[e + 1], weight[e + 2], weight[e + 3]
            for r in range(n_rows):
                gradient[x, r] += (w_a * delta[a, r] + w_b * delta[b, r]) + (
                    w_c * delta[c, r] + w_d * delta[d, r]
                )
            e += 4
        while e < stop:
            a = in_unit[e]
            w_a = weight[e]
            for r in range(n_rows):
                gradient[x, r] += w_a * delta[a, r]
            e += 1


@sum_kernel
def units_weight_gradient(
    first: Int,
    last: Int,
    in_start: Array,
    in_unit: Array,
    below: Array,
    delta: Array,
    gradient: Array,
) -> None:
    """Gradient of the links of inputs ``first..last``: Σ over rows of below · delta.

    ``below`` (D, B) and ``delta`` (U, B); ``gradient`` has one entry for each of these links.
    """
    n_rows = delta.shape[1]
    offset = np.int64(in_start[first])
    for x in range(first, last):
        e, stop = np.int64(in_start[x]), np.int64(in_start[x + 1])
        while e + 4 <= stop:  # four links for one pass over the input
            a, b, c, d = in_unit[e], in_unit[e + 1], in_unit[e + 2], in_unit[e + 3]
            s_a = s_b = s_c = s_d = delta.dtype.type(0)
            for r in range(n_rows):
                s_a += below[x, r] * delta[a, r]
                s_b += below[x, r] * delta[b, r]
                s_c += below[x, r] * delta[c, r]
                s_d += below[x, r] * delta[d, r]
            gradient[e - offset] = s_a
            gradient[e - offset + 1] = s_b
            gradient[e - offset + 2] = s_c
            gradient[e - offset + 3] = s_d
            e += 4
        while e < stop:
            a = in_unit[e]
            s_a = delta.dtype.type(0)
            for r in range(n_rows):
                s_a += below[x, r] * delta[a, r]
            gradient[e - offset] = s_a
            e += 1
