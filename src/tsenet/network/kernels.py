"""Compiled kernels of the sparse layer; every network runs by these, in training and in prediction.

Activations are (units, B), one row for each unit: the processor then adds eight rows of a batch at a time, whatever the
number of units per latent is. Only sparse rows are summed row by row, some at a time, and transposed after that.
Sparse rows are (start, columns, values), their links ``Links.by_input``; weights are (E, k). Written out, the two units
that a latent of sparse rows has by default take three quarters of the time of a loop over them.
"""

from __future__ import annotations

import numpy as np

from tsenet._system.jit import Array, sum_kernel

Arrays = tuple[Array, ...]

_ROWS = 16  # sparse rows that are transposed together
_N = np.uintp  # indices without a sign: no negative one has to be looked for


@sum_kernel
def rows_forward(rows: Arrays, links: Arrays, weight: Array, bias: Array, out: Array) -> None:
    """Fill ``out`` (units, B) with the sums of B sparse rows."""
    row_start, columns, values = rows
    start, latent = links
    k, n_units, n_rows = weight.shape[1], out.shape[0], out.shape[1]
    tile = np.empty((_ROWS, n_units), out.dtype)
    for first in range(0, n_rows, _ROWS):
        n = min(_ROWS, n_rows - first)
        for row in range(n):
            sums = tile[row]
            for i in range(n_units):
                sums[i] = bias[i]
            for p in range(row_start[first + row], row_start[first + row + 1]):
                value, column = values[p], _N(columns[p])
                for e in range(_N(start[column]), _N(start[column + _N(1)])):
                    unit = _N(k) * _N(latent[e])
                    if k == 2:
                        sums[unit] += value * weight[e, 0]
                        sums[unit + _N(1)] += value * weight[e, 1]
                        continue

                    for j in range(k):
                        sums[unit + _N(j)] += value * weight[e, j]

        for i in range(_N(n_units)):
            for row in range(_N(n)):
                out[i, _N(first) + row] = tile[row, i]


@sum_kernel
def two_levels_forward(
    rows: Arrays, lower: Arrays, upper: Arrays, units: tuple[int, ...], out: Array
) -> None:
    """Fill ``out`` (B, units above) with the activations of the second of two rectified levels, for B sparse rows.

    A row changes few units of the first level; all others are what their bias makes them. So the sums of the second
    begin with what they are for a row without entries, and the differences of the units that changed are added.

    ``lower`` is (start, latent, weight, bias) of the first level, ``upper`` that of the second, where the last is its
    sums for such an empty row. ``units`` has k entries of any value: the compiler then knows the number of units of a
    latent.
    """
    row_start, columns, values = rows
    start, latent, weight, bias = lower
    upper_start, upper_latent, upper_weight, at_rest = upper
    k = _N(len(units))
    n_latents = bias.size // len(units)
    zero = bias.dtype.type(0)

    sums = bias.copy()  # of the first level; between rows they are the biases again
    last_row = np.full(n_latents, -1, np.int64)  # that changed each latent
    changed = np.empty(n_latents + 1, np.int64)  # latents of this row

    for row in range(out.shape[0]):
        n_changed = _N(0)
        for p in range(row_start[row], row_start[row + 1]):
            value, column = values[p], _N(columns[p])
            for e in range(_N(start[column]), _N(start[column + _N(1)])):
                reader = _N(latent[e])
                changed[n_changed] = reader  # stays only if it is new: without a branch to guess
                n_changed += _N(last_row[reader] != row)
                last_row[reader] = row
                for j in range(len(units)):
                    sums[k * reader + _N(j)] += value * weight[e, j]

        own = out[row]
        for i in range(own.size):
            own[i] = at_rest[i]

        for c in range(n_changed):
            first = k * _N(changed[c])
            for i in range(len(units)):
                unit = first + _N(i)
                sums[unit] = max(sums[unit], zero) - max(bias[unit], zero)

            begin = _N(upper_start[first])
            n_links = _N(upper_start[first + _N(1)]) - begin  # of each unit of the latent
            for e in range(begin, begin + n_links):
                above = k * _N(upper_latent[e])
                for j in range(len(units)):
                    total = own[above + _N(j)]  # in a register: stored and loaded once
                    for i in range(len(units)):
                        total += sums[first + _N(i)] * upper_weight[e + _N(i) * n_links, j]
                    own[above + _N(j)] = total

            for i in range(len(units)):
                sums[first + _N(i)] = bias[first + _N(i)]

        for i in range(own.size):
            own[i] = zero if own[i] <= zero else own[i]  # NaN stays NaN


@sum_kernel
def rows_backward(rows: Arrays, links: Arrays, delta: Array, gradient: Array) -> None:
    """Add the gradient of the weights (E, k), from delta (units, B)."""
    row_start, columns, values = rows
    start, latent = links
    k, n_units, n_rows = gradient.shape[1], delta.shape[0], delta.shape[1]
    tile = np.empty((_ROWS, n_units), delta.dtype)
    for first in range(0, n_rows, _ROWS):
        n = min(_ROWS, n_rows - first)
        for i in range(_N(n_units)):
            for row in range(_N(n)):
                tile[row, i] = delta[i, _N(first) + row]

        for row in range(n):
            own = tile[row]
            for p in range(row_start[first + row], row_start[first + row + 1]):
                value, column = values[p], _N(columns[p])
                for e in range(_N(start[column]), _N(start[column + _N(1)])):
                    unit = _N(k) * _N(latent[e])
                    if k == 2:
                        gradient[e, 0] += value * own[unit]
                        gradient[e, 1] += value * own[unit + _N(1)]
                        continue

                    for j in range(k):
                        gradient[e, j] += value * own[unit + _N(j)]


@sum_kernel
def units_forward(links: Arrays, weight: Array, bias: Array, below: Array, out: Array) -> None:
    """Fill ``out`` (units, B) with the sums of B rows ``below`` (inputs, B).

    Latent u reads the inputs ``read[start[u]:start[u + 1]]``, by the weights at ``place`` (`Links.by_latent`).
    """
    start, read, place = links
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
    links: Arrays, weight: Array, below: Array, delta: Array, gradient: Array, below_gradient: Array
) -> None:
    """Fill the gradient of the weights (E, k), and add that of ``below`` unless it is empty, from delta (units, B)."""
    start, read, place = links
    k, n_rows = weight.shape[1], below.shape[1]
    zero = weight.dtype.type(0)
    for u in range(start.size - 1):
        for j in range(k):
            own = delta[u * k + j]
            for e in range(start[u], start[u + 1]):
                own_input, total = below[read[e]], zero
                for row in range(n_rows):
                    total += own[row] * own_input[row]
                gradient[place[e], j] = total
        if below_gradient.size:
            for e in range(start[u], start[u + 1]):
                moved = below_gradient[read[e]]
                for j in range(k):
                    own, factor = delta[u * k + j], weight[place[e], j]
                    for row in range(n_rows):
                        moved[row] += factor * own[row]


@sum_kernel
def activate(drawn: Array, below: int, scale: float, z: Array) -> None:
    """Rectify z (n, m) in place, then dropout: what drew a number under ``below`` is 0, the others grow.

    ``drawn`` (n, m) is uint8; with a size of 0 there is no dropout.
    """
    factor = z.dtype.type(scale)
    for i in range(z.shape[0]):
        own = z[i]
        for j in range(own.size):
            own[j] = 0 if own[j] <= 0 else own[j]  # NaN stays NaN
        if drawn.size:
            for j in range(own.size):
                own[j] = own[j] * factor if drawn[i, j] >= below else 0


@sum_kernel
def activate_backward(scale: float, active: Array, gradient: Array, delta: Array) -> None:
    """Fill ``delta`` (n, m) with the gradient by what `activate` was given, from that by what it made, ``active``."""
    factor = active.dtype.type(scale)
    for i in range(active.shape[0]):
        own, above, found = active[i], gradient[i], delta[i]
        for j in range(own.size):
            found[j] = above[j] * factor if own[j] > 0 else 0


@sum_kernel
def adam_step(
    gradient: Array, rate: float, growth: float, mean: Array, square: Array, weight: Array
) -> None:
    """Take Adam's step (Kingma & Ba 2015, algorithm 1), in place: all arrays are (P,).

    ``rate`` and ``growth`` hold the corrections for means that started at 0: the rate over 1 - 0.9^t, and
    1 / sqrt(1 - 0.999^t) of step t.
    """
    size = weight.dtype.type
    new, new_square = size(0.1), size(0.001)  # shares of this step in the means
    own_rate, own_growth, least = size(rate), size(growth), size(1e-8)
    for i in range(weight.size):
        slope = gradient[i]
        mean[i] += new * (slope - mean[i])
        square[i] += new_square * (slope * slope - square[i])
        weight[i] -= own_rate * mean[i] / (np.sqrt(square[i]) * own_growth + least)
