"""Which of two models is better on held-out rows, and whether by more than chance."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import brentq
from scipy.special import logit

from tsenet.training.linear_fit import blend_weights
from tsenet.training.losses import BinaryLoss, Loss, MulticlassLoss, RegressionLoss

__all__ = ["as_sure_as", "calibrated_score", "losses_by_part", "standard_error"]

_PARTS = 10
_LARGEST_FACTOR = 5.0


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


def calibrated_score(
    loss: Loss,
) -> Callable[[NDArray[Any], NDArray[np.float64], NDArray[Any] | None], float] | None:
    """Score of predictions: minus the loss that is left when the outputs are multiplied by the best factor.

    A network grows too sure of itself long before it errs more often. The blend mends that by a factor, so it must not
    end the training. None for squared error, whose loss is the score.
    """
    if isinstance(loss, RegressionLoss):
        return None

    def score(
        targets: NDArray[Any], predictions: NDArray[np.float64], weights: NDArray[Any] | None
    ) -> float:
        sure = np.clip(predictions, 1e-300, 1.0 - 1e-16)
        if isinstance(loss, MulticlassLoss):
            outputs = np.log(sure)
        else:
            outputs = logit(sure[:, 1:] if isinstance(loss, BinaryLoss) else sure)
        (factor,) = blend_weights([outputs], targets, weights, loss)
        return -loss.gradient(factor * outputs, targets, weights)[0]

    return score


def as_sure_as(wanted: NDArray[np.float64], outputs: NDArray[np.float64], loss: Loss) -> float:
    """Factor for outputs (n, C) with which their largest probabilities have the mean of those of others (n, C)."""
    mean = loss.predict(wanted).max(axis=1).mean()

    def excess(logarithm: float) -> float:
        return float(loss.predict(np.exp(logarithm) * outputs).max(axis=1).mean() - mean)

    low, high = -np.log(_LARGEST_FACTOR), np.log(_LARGEST_FACTOR)
    if excess(low) >= 0 or excess(high) <= 0:  # outputs that say nothing, or next to it
        return 1.0
    return float(np.exp(brentq(excess, low, high, xtol=1e-6)))
