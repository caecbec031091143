"""Kernels for dense groups over sparse rows, for biases, and for laying out a sparse batch by column."""

from __future__ import annotations

from tsenet.jit import Array, Int, kernel, sum_kernel


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
    n_units = weight.shape[1]
    for row in range(first, last):
        for k in range(row_start[row], row_start[row + 1]):
            value = values[k]
            column = columns[k]
            for s in range(n_units):
                out[row - first, s] += value * weight[column, s]


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
    """Gradient of rows ``first..last`` of a dense weight (D, S) from the batch by column; ``delta`` (B, S)."""
    n_units = delta.shape[1]
    for column in range(first, last):
        for s in range(n_units):
            gradient[column, s] = 0
        for k in range(column_start[column], column_start[column + 1]):
            value = column_values[k]
            row = column_rows[k]
            for s in range(n_units):
                gradient[column, s] += value * delta[row, s]


@kernel
def transpose_batch(
    row_start: Array,
    columns: Array,
    values: Array,
    column_start: Array,
    column_rows: Array,
    column_values: Array,
) -> None:
    """Lay out a sparse batch by column, by a counting sort; ``column_start`` (D + 1,) comes in as zeros."""
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
def fill_rows(values: Array, out: Array) -> None:
    """Set every column of ``out`` (U, B) to ``values`` (U,)."""
    for u in range(out.shape[0]):
        for r in range(out.shape[1]):
            out[u, r] = values[u]


@kernel
def turn(source: Array, bias: Array, out: Array) -> None:
    """Transpose ``source`` (B, U) into ``out`` (U, B) and add a bias (U,)."""
    n_rows, n_units = source.shape
    for start in range(0, n_units, 16):  # tiles, so that neither side leaves the cache
        for r in range(n_rows):
            for u in range(start, min(start + 16, n_units)):
                out[u, r] = source[r, u] + bias[u]


@kernel
def turn_back(source: Array, first: Int, out: Array) -> None:
    """Transpose ``source`` (U, b) into rows ``first..`` of ``out`` (B, U)."""
    n_units, n_rows = source.shape
    for start in range(0, n_units, 16):
        for r in range(n_rows):
            for u in range(start, min(start + 16, n_units)):
                out[first + r, u] = source[u, r]


@sum_kernel
def add_row_sums(delta: Array, total: Array) -> None:
    """Add to ``total`` (U,) the sums of ``delta`` (U, B) over the rows."""
    for u in range(delta.shape[0]):
        part = total[u] * 0
        for r in range(delta.shape[1]):
            part += delta[u, r]
        total[u] += part
