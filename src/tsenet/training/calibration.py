"""Outputs of models on held-out rows: how to blend them, how sure they should be, and whether one is better."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import brentq, minimize
from scipy.special import logit

from tsenet.training.losses import BinaryLoss, Loss, MulticlassLoss, RegressionLoss

__all__ = [
    "blend_weights",
    "calibrated_score",
    "losses_by_part",
    "match_confidence",
    "standard_error",
]

_N_PARTS = 10
_LARGEST_FACTOR = 5.0
_BLEND_PENALTY = 1e-3  # keeps the weights of a blend finite where its parts never err


def blend_weights(
    parts: list[NDArray[np.float64]],
    targets: NDArray[Any],
    weights: NDArray[np.float64] | None,
    loss: Loss,
) -> NDArray[np.float64]:
    """Non-negative weights for outputs (n, C) of several models such that their sum has the smallest loss: (parts,)."""
    size = np.array([max(float(part.std()), 1e-12) for part in parts])
    unit = np.stack(parts) / size[:, None, None]  # (parts, n, C)

    def value(amount: NDArray[np.float64]) -> tuple[float, NDArray[np.float64]]:
        mean, slope = loss.gradient(np.tensordot(amount, unit, axes=1), targets, weights)
        gradient = np.tensordot(unit, slope, axes=2) + 2 * _BLEND_PENALTY * amount
        return mean + _BLEND_PENALTY * float(amount @ amount), gradient

    found = minimize(
        value,
        np.full(len(parts), 0.5),
        jac=True,
        method="L-BFGS-B",
        bounds=[(0, None)] * len(parts),
    )
    return np.asarray(found.x / size)


def losses_by_part(
    loss: Loss,
    outputs: NDArray[np.float64],
    targets: NDArray[Any],
    weights: NDArray[np.float64] | None = None,
) -> NDArray[np.float64]:
    """Mean losses of outputs (n, C) over every tenth row: (10,), or one for each row if there are fewer."""
    parts = [slice(start, None, _N_PARTS) for start in range(min(_N_PARTS, len(outputs)))]
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
    """A score for validation: minus the loss that is left when the outputs are multiplied by the best factor.

    A network grows overconfident long before it errs more often. The recipe rescales it in the end, so this must not
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


def match_confidence(
    wanted: NDArray[np.float64], outputs: NDArray[np.float64], loss: Loss
) -> float:
    """Factor for outputs (n, C) that gives their largest probabilities the mean of those of ``wanted`` (n, C)."""
    mean = loss.predict(wanted).max(axis=1).mean()

    def excess(logarithm: float) -> float:
        return float(loss.predict(np.exp(logarithm) * outputs).max(axis=1).mean() - mean)

    low, high = -np.log(_LARGEST_FACTOR), np.log(_LARGEST_FACTOR)
    if excess(low) >= 0 or excess(high) <= 0:  # outputs that are nearly constant
        return 1.0
    return float(np.exp(brentq(excess, low, high, xtol=1e-6)))
