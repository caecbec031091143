"""Which of two models is better on held-out rows, and whether by more than chance."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from tsenet.training.losses import Loss

__all__ = ["losses_by_part", "standard_error"]

_PARTS = 10


def losses_by_part(
    loss: Loss,
    outputs: NDArray[np.float64],
    targets: NDArray[Any],
    weights: NDArray[np.float64] | None = None,
) -> NDArray[np.float64]:
    """Mean losses of outputs (n, C) over every tenth row: (10,), or one for each row if there are fewer."""
    parts = [slice(start, None, _PARTS) for start in range(min(_PARTS, len(outputs)))]
    return np.array(
        [
            loss.gradient(outputs[p], targets[p], None if weights is None else weights[p])[0]
            for p in parts
        ]
    )


def standard_error(values: NDArray[np.float64]) -> float:
    """Standard error of the mean; 0 of a single value."""
    return float(values.std() / np.sqrt(max(values.size - 1, 1)))
