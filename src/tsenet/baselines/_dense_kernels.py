"""Gradient and Adam step of a dense layer over sparse rows, in one pass over its weights."""

from __future__ import annotations

import numpy as np

from tsenet._system.jit import Array, kernel
from tsenet.training.kernels.adam_kernels import adam_step


@kernel
def step_columns(
    first: int,
    last: int,
    column_start: Array,
    rows: Array,
    values: Array,
    delta: Array,
    mask: Array,
    weight: Array,
    mean: Array,
    square: Array,
    rate: float,
    correction: float,
) -> None:
    """Adam step on rows first..last−1 of a weight (D, S) whose gradient is Xᵀ·delta.

    X (B, D) is given by column; delta is (B, S). ``mask`` (D, S), or (0, 0) for none, is 0 where there is no weight.
    The other arguments are those of ``adam_step``.
    """
    n_units = weight.shape[1]
    gradient = np.empty(n_units, weight.dtype)
    for column in range(first, last):
        for unit in range(n_units):
            gradient[unit] = 0
        for k in range(column_start[column], column_start[column + 1]):
            row, value = rows[k], values[k]
            for unit in range(n_units):
                gradient[unit] += value * delta[row, unit]
        if mask.shape[0]:
            for unit in range(n_units):
                gradient[unit] *= mask[column, unit]
        adam_step(weight[column], gradient, mean[column], square[column], rate, correction)
