"""Compiled kernels of the sparse layer; every network runs by these, in training and in prediction.

Activations are (units, B), one row for each unit: the processor then adds eight rows of a batch at a time, whatever the
number of units per latent is. Only sparse rows are summed row by row, some at a time, and turned round after that.
`tsenet.network.links` describes ``start`` and ``latent``; weights are (E, k).
"""

from __future__ import annotations

import math

import numpy as np

from tsenet._system.jit import Array, sum_kernel

#: Numbers of the non-linearities, for kernels.
KINDS = {"relu": 0, "tanh": 1, "sigmoid": 2}
_ROWS = 16  # sparse rows that are transposed together
_N = np.uintp  # indices without a sign: no negative one has to be looked for


@sum_kernel
def rows_forward(
    row_start: Array,
    columns: Array,
    values: Array,
    start: Array,
    latent: Array,
    weight: Array,
    bias: Array,
    out: Array,
) -> None:
    """Fill ``out`` (B, units) with X W + b for B sparse rows."""
    k = weight.shape[1]
    for row in range(row_start.size - 1):
        sums = out[row]
        for i in range(bias.size):
            sums[i] = bias[i]
        for p in range(row_start[row], row_start[row + 1]):
            value, column = values[p], _N(columns[p])
            first_link, last_link = _N(start[column]), _N(start[column + _N(1)])
            if k == 2:  # the default for texts, twice as fast without the inner loop
                for e in range(first_link, last_link):
                    unit = _N(2) * _N(latent[e])
                    sums[unit] += value * weight[e, 0]
                    sums[unit + _N(1)] += value * weight[e, 1]
            else:
                for e in range(first_link, last_link):
                    unit = _N(k) * _N(latent[e])
                    for j in range(k):
                        sums[unit + _N(j)] += value * weight[e, j]


@sum_kernel
def rows_backward(
    row_start: Array,
    columns: Array,
    values: Array,
    start: Array,
    latent: Array,
    weight: Array,
    delta: Array,
    weight_gradient: Array,
    value_gradient: Array,
) -> None:
    """Add the gradient of the weights (E, k), and fill that of the values unless it is empty, from delta (B, units)."""
    k = weight.shape[1]
    for row in range(row_start.size - 1):
        own = delta[row]
        for p in range(row_start[row], row_start[row + 1]):
            value, column = values[p], _N(columns[p])
            first_link, last_link = _N(start[column]), _N(start[column + _N(1)])
            if k == 2:
                for e in range(first_link, last_link):
                    unit = _N(2) * _N(latent[e])
                    weight_gradient[e, 0] += value * own[unit]
                    weight_gradient[e, 1] += value * own[unit + _N(1)]
            else:
                for e in range(first_link, last_link):
                    unit = _N(k) * _N(latent[e])
                    for j in range(k):
                        weight_gradient[e, j] += value * own[unit + _N(j)]
            if value_gradient.size:
                total = weight.dtype.type(0)
                for e in range(first_link, last_link):
                    unit = _N(k) * _N(latent[e])
                    for j in range(k):
                        total += weight[e, j] * own[unit + _N(j)]
                value_gradient[p] = total


@sum_kernel
def units_forward(
    start: Array,
    read: Array,
    place: Array,
    weight: Array,
    bias: Array,
    below: Array,
    out: Array,
) -> None:
    """Fill ``out`` (units, B) with the sums of B rows ``below`` (inputs, B).

    Latent u reads the inputs ``read[start[u]:start[u + 1]]``, by the weights at ``place`` (`Links.by_latent`).
    """
    k, n_rows = weight.shape[1], below.shape[1]
    for u in range(start.size - 1):
        for j in range(k):
            sums, e, stop = out[u * k + j], start[u], start[u + 1]
            for row in range(n_rows):
                sums[row] = bias[u * k + j]
            while e + 4 <= stop:  # each sum is loaded and stored once for four products
                a, b = below[read[e]], below[read[e + 1]]
                c, d = below[read[e + 2]], below[read[e + 3]]
                by_a, by_b = weight[place[e], j], weight[place[e + 1], j]
                by_c, by_d = weight[place[e + 2], j], weight[place[e + 3], j]
                for row in range(n_rows):
                    sums[row] += by_a * a[row] + by_b * b[row] + by_c * c[row] + by_d * d[row]
                e += 4
            while e < stop:
                a, by_a = below[read[e]], weight[place[e], j]
                for row in range(n_rows):
                    sums[row] += by_a * a[row]
                e += 1


@sum_kernel
def units_backward(
    start: Array,
    read: Array,
    place: Array,
    weight: Array,
    below: Array,
    delta: Array,
    weight_gradient: Array,
    below_gradient: Array,
) -> None:
    """Fill the gradient of the weights (E, k), and add that of ``below`` unless it is empty, from delta (units, B)."""
    k, n_rows = weight.shape[1], below.shape[1]
    zero = weight.dtype.type(0)
    for u in range(start.size - 1):
        for j in range(k):
            own, e, stop = delta[u * k + j], start[u], start[u + 1]
            while e + 4 <= stop:
                a, b = below[read[e]], below[read[e + 1]]
                c, d = below[read[e + 2]], below[read[e + 3]]
                to_a, to_b, to_c, to_d = zero, zero, zero, zero
                for row in range(n_rows):
                    to_a += own[row] * a[row]
                    to_b += own[row] * b[row]
                    to_c += own[row] * c[row]
                    to_d += own[row] * d[row]
                weight_gradient[place[e], j], weight_gradient[place[e + 1], j] = to_a, to_b
                weight_gradient[place[e + 2], j], weight_gradient[place[e + 3], j] = to_c, to_d
                e += 4
            while e < stop:
                a, to_a = below[read[e]], zero
                for row in range(n_rows):
                    to_a += own[row] * a[row]
                weight_gradient[place[e], j] = to_a
                e += 1
        if below_gradient.size:
            for e in range(start[u], start[u + 1]):
                moved = below_gradient[read[e]]
                for j in range(k):
                    own, factor = delta[u * k + j], weight[place[e], j]
                    for row in range(n_rows):
                        moved[row] += factor * own[row]


@sum_kernel
def activate(kind: int, drawn: Array, below: int, scale: float, z: Array) -> None:
    """The non-linearity of z (n, m) in place, then dropout: what drew a number under ``below`` is 0, the others grow.

    ``drawn`` (n, m) is uint8; with a size of 0 there is no dropout.
    """
    factor = z.dtype.type(scale)
    for i in range(z.shape[0]):
        own = z[i]
        if kind == 0:
            for j in range(own.size):
                own[j] = 0 if own[j] <= 0 else own[j]  # NaN stays NaN
        elif kind == 1:
            for j in range(own.size):
                own[j] = math.tanh(own[j])
        else:
            for j in range(own.size):
                own[j] = 0.5 * math.tanh(0.5 * own[j]) + 0.5
        if drawn.size:
            for j in range(own.size):
                own[j] = own[j] * factor if drawn[i, j] >= below else 0


@sum_kernel
def activate_backward(
    kind: int, drawn: Array, below: int, scale: float, active: Array, gradient: Array, delta: Array
) -> None:
    """Fill ``delta`` (n, m) with the gradient by what `activate` was given, from that by what it made, ``active``."""
    factor = active.dtype.type(scale)
    for i in range(active.shape[0]):
        own, above, found = active[i], gradient[i], delta[i]
        if kind == 0:
            for j in range(own.size):
                found[j] = above[j] * factor if own[j] > 0 else 0
        else:
            for j in range(own.size):
                value = own[j] / factor
                slope = 1 - value * value if kind == 1 else value * (1 - value)
                kept = not drawn.size or drawn[i, j] >= below
                found[j] = above[j] * factor * slope if kept else 0


@sum_kernel
def rows_layer(
    row_start: Array,
    columns: Array,
    values: Array,
    start: Array,
    latent: Array,
    weight: Array,
    bias: Array,
    out: Array,
) -> None:
    """As `rows_forward`, but ``out`` is (units, B)."""
    n_units, n_rows = out.shape
    tile = np.empty((_ROWS, n_units), out.dtype)
    for first in range(0, n_rows, _ROWS):
        n = min(_ROWS, n_rows - first)
        own = row_start[first : first + n + 1]
        rows_forward(own, columns, values, start, latent, weight, bias, tile)
        for unit in range(n_units):
            for row in range(n):
                out[unit, first + row] = tile[row, unit]


@sum_kernel
def rows_layer_backward(
    row_start: Array,
    columns: Array,
    values: Array,
    start: Array,
    latent: Array,
    weight: Array,
    delta: Array,
    weight_gradient: Array,
    value_gradient: Array,
) -> None:
    """As `rows_backward`, but ``delta`` is (units, B)."""
    n_units, n_rows = delta.shape
    tile = np.empty((_ROWS, n_units), delta.dtype)
    for first in range(0, n_rows, _ROWS):
        n = min(_ROWS, n_rows - first)
        for unit in range(n_units):
            for row in range(n):
                tile[row, unit] = delta[unit, first + row]
        own = row_start[first : first + n + 1]
        rows_backward(
            own, columns, values, start, latent, weight, tile, weight_gradient, value_gradient
        )


@sum_kernel
def gather_rows(
    rows: Array, row_start: Array, columns: Array, values: Array, new_start: Array
) -> tuple[Array, Array]:
    """Columns and values of some rows of a CSR matrix; ``new_start`` (B + 1,) is filled."""
    new_start[0] = 0
    for n in range(rows.size):
        new_start[n + 1] = new_start[n] + row_start[rows[n] + 1] - row_start[rows[n]]
    found = np.empty(new_start[-1], np.int32)
    numbers = np.empty(new_start[-1], values.dtype)
    for n in range(rows.size):
        first = row_start[rows[n]] - new_start[n]
        for p in range(new_start[n], new_start[n + 1]):
            found[p], numbers[p] = columns[first + p], values[first + p]
    return found, numbers
