"""Adam (Kingma & Ba 2015), exact, in one pass over the parameters."""

from __future__ import annotations

import numpy as np

from tsenet._system.jit import Array, kernel

BETA1, BETA2, EPSILON = 0.9, 0.999, 1e-8  # the paper's, and torch's defaults


def adam_factors(learning_rate: float, n_steps: int) -> tuple[float, float]:
    """``rate`` and ``correction`` of `adam_step` for step number ``n_steps``, which counts from 1."""
    return learning_rate / (1.0 - BETA1**n_steps), float(np.sqrt(1.0 - BETA2**n_steps))


@kernel
def adam_step(
    parameter: Array, gradient: Array, mean: Array, square: Array, rate: float, correction: float
) -> None:
    """One step on flat arrays, in place.

    ``rate`` is the learning rate divided by 1 − β₁ᵗ, ``correction`` is √(1 − β₂ᵗ).
    """
    number = parameter.dtype.type
    b1, b2, eps = number(BETA1), number(BETA2), number(EPSILON)
    rest1, rest2 = number(1.0 - BETA1), number(1.0 - BETA2)
    step, scale = number(rate), number(1.0 / correction)
    for i in range(parameter.size):
        g = gradient[i]
        mean[i] = b1 * mean[i] + rest1 * g
        square[i] = b2 * square[i] + rest2 * g * g
        parameter[i] -= step * mean[i] / (np.sqrt(square[i]) * scale + eps)
