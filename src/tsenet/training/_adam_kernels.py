"""Adam (Kingma & Ba 2015), exact, in one pass over the parameters."""

from __future__ import annotations

import numpy as np

from tsenet._system.jit import Array, kernel


@kernel
def adam_step(
    parameter: Array,
    gradient: Array,
    mean: Array,
    square: Array,
    rate: float,
    correction: float,
    beta1: float,
    beta2: float,
    epsilon: float,
    weight_decay: float,
) -> None:
    """One step on flat arrays, in place.

    ``rate`` is the learning rate divided by 1 − β₁ᵗ, ``correction`` is √(1 − β₂ᵗ).
    """
    b1, b2 = parameter.dtype.type(beta1), parameter.dtype.type(beta2)
    rest1, rest2 = parameter.dtype.type(1.0 - beta1), parameter.dtype.type(1.0 - beta2)
    step, scale = parameter.dtype.type(rate), parameter.dtype.type(1.0 / correction)
    eps, decay = parameter.dtype.type(epsilon), parameter.dtype.type(weight_decay)
    for i in range(parameter.size):
        g = gradient[i] + decay * parameter[i]
        mean[i] = b1 * mean[i] + rest1 * g
        square[i] = b2 * square[i] + rest2 * g * g
        parameter[i] -= step * mean[i] / (np.sqrt(square[i]) * scale + eps)
