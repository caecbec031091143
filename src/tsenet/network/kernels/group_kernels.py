"""Kernels of dense groups over sparse rows, of biases and transposes, and the layout of a sparse batch by column."""

from __future__ import annotations

from tsenet._system.jit import Array, Int, kernel, sum_kernel
from tsenet.network.kernels.lane_kernels import SQUARE, transpose_tile


@kernel
def group_forward(
    first: Int,
    last: Int,
    row_start: Array,
    columns: Array,
    values: Array,
    weight: Array,
    out: Array,
) -> None:
    """Rows ``first..last`` of a sparse batch times a dense ``weight`` (D, S), added to ``out`` (last − first, S)."""
    for row in range(first, last):
        total = out[row - first]
        k = row_start[row]
        stop = row_start[row + 1]
        while k + 4 <= stop:  # four non-zeros for one pass over the output
            a, b = weight[columns[k]], weight[columns[k + 1]]
            c, d = weight[columns[k + 2]], weight[columns[k + 3]]
            v_a, v_b, v_c, v_d = values[k], values[k + 1], values[k + 2], values[k + 3]
            for s in range(total.size):
                total[s] += (v_a * a[s] + v_b * b[s]) + (v_c * c[s] + v_d * d[s])
            k += 4
        while k < stop:
            a = weight[columns[k]]
            v_a = values[k]
            for s in range(total.size):
                total[s] += v_a * a[s]
            k += 1


@kernel
def group_weight_gradient(
    first: Int,
    last: Int,
    column_start: Array,
    column_rows: Array,
    column_values: Array,
    delta: Array,
    gradient: Array,
) -> None:
    """Gradient (last − first, S) of rows ``first..last`` of a dense weight from the batch by column.

    ``delta`` (B, S) is the gradient by the products.
    """
    for column in range(first, last):
        own = gradient[column - first]
        for s in range(own.size):
            own[s] = 0
        for k in range(column_start[column], column_start[column + 1]):
            value = column_values[k]
            row = delta[column_rows[k]]
            for s in range(own.size):
                own[s] += value * row[s]


@kernel
def transpose_batch(
    row_start: Array,
    columns: Array,
    values: Array,
    column_start: Array,
    column_rows: Array,
    column_values: Array,
) -> None:
    """Lay out a sparse batch by column with a counting sort; ``column_start`` (D + 1,) must hold zeros."""
    n_columns = column_start.size - 1
    for k in range(columns.size):
        column_start[columns[k] + 1] += 1
    for column in range(n_columns):
        column_start[column + 1] += column_start[column]
    for row in range(row_start.size - 1):
        for k in range(row_start[row], row_start[row + 1]):
            place = column_start[columns[k]]
            column_rows[place] = row
            column_values[place] = values[k]
            column_start[columns[k]] = place + 1
    for column in range(n_columns, 0, -1):  # each start has moved to its column's end: shift back
        column_start[column] = column_start[column - 1]
    column_start[0] = 0


@kernel
def transpose_add_bias(source: Array, bias: Array, out: Array) -> None:
    """Transpose ``source`` (B, U) into ``out`` (U, B) and add a bias (U,)."""
    n_rows, n_units = source.shape
    row_end, unit_end = n_rows - n_rows % SQUARE, n_units - n_units % SQUARE
    for u in range(0, unit_end, SQUARE):
        for r in range(0, row_end, SQUARE):
            transpose_tile(source, r * n_units + u, bias, u, out, u * n_rows + r)
    for u in range(n_units):
        for r in range(row_end if u < unit_end else 0, n_rows):
            out[u, r] = source[r, u] + bias[u]


@kernel
def transpose_into(source: Array, first: Int, out: Array) -> None:
    """Transpose ``source`` (U, b) into rows ``first..`` of ``out`` (B, U)."""
    n_units, n_rows = source.shape
    row_end, unit_end = n_rows - n_rows % SQUARE, n_units - n_units % SQUARE
    width = out.shape[1]
    for r in range(0, row_end, SQUARE):
        for u in range(0, unit_end, SQUARE):
            transpose_tile(source, u * n_rows + r, None, 0, out, (first + r) * width + u)
    for u in range(n_units):
        for r in range(row_end if u < unit_end else 0, n_rows):
            out[first + r, u] = source[u, r]


@sum_kernel
def add_row_sums(delta: Array, total: Array) -> None:
    """Add to ``total`` (U,) the sums of ``delta`` (U, B) over the rows."""
    for u in range(delta.shape[0]):
        part = total[u] * 0
        for r in range(delta.shape[1]):
            part += delta[u, r]
        total[u] += part
