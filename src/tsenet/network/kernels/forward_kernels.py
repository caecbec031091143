"""Kernels that only the forward pass without dropout needs; it shares the others with training.

Activations are kept by unit, (units, rows). Every sum is taken term by term in the order of what is read, by the same
instructions whether a row is alone or among others: its answer has the same bits. BLAS does not promise that, hence no
product is left to it.
"""

from __future__ import annotations

import numpy as np

from tsenet._system.jit import Array, Int, kernel
from tsenet.network.kernels.activation_kernels import RELU, TANH


@kernel
def apply_activation(kind: Int, z: Array) -> None:
    """Apply the non-linearity in place to ``z`` (U, B); NaN stays NaN."""
    zero, one = z.dtype.type(0), z.dtype.type(1)
    for u in range(z.shape[0]):
        if kind == RELU:
            for r in range(z.shape[1]):
                z[u, r] = zero if z[u, r] <= zero else z[u, r]
        elif kind == TANH:
            for r in range(z.shape[1]):
                z[u, r] = np.tanh(z[u, r])
        else:
            for r in range(z.shape[1]):
                z[u, r] = one / (one + np.exp(-z[u, r]))


@kernel
def add_linear_rows(
    row_start: Array, columns: Array, values: Array, weight: Array, outputs: Array
) -> None:
    """Add B sparse rows times ``weight`` (D, C) to ``outputs`` (B, C), in its precision."""
    number = outputs.dtype.type
    for r in range(outputs.shape[0]):
        total = outputs[r]
        for k in range(row_start[r], row_start[r + 1]):
            own, value = weight[columns[k]], number(values[k])
            for c in range(total.size):
                total[c] += value * number(own[c])
