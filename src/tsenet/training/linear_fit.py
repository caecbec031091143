"""Linear models of any loss, fitted to the end: what the few labels of a start can pay for."""

from __future__ import annotations

from typing import Any, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize
from scipy.sparse import csr_array

from tsenet.training.losses import Loss, RegressionLoss

__all__ = ["Linear", "blend_weights", "fit_linear"]

Rows: TypeAlias = NDArray[np.floating[Any]] | csr_array
_MEMORY = (
    5  # steps that L-BFGS remembers; with 10 it took as many, each of which cost twice as much
)
_BLEND_PENALTY = 1e-3  # keeps the weights of a blend finite where its parts never err


class Linear(NamedTuple):
    """Outputs (n, C) of rows (n, D): ``rows @ weight + bias``."""

    weight: NDArray[np.float64]  # (D, C)
    bias: NDArray[np.float64]  # (C,)

    def __call__(self, rows: Rows) -> NDArray[np.float64]:
        """Outputs of some rows."""
        return np.asarray(rows @ self.weight.astype(rows.dtype), np.float64) + self.bias

    def scaled(self, factor: float) -> Linear:
        """All outputs times a factor."""
        return Linear(self.weight * factor, self.bias * factor)


def fit_linear(
    rows: Rows,
    targets: NDArray[Any],
    weights: NDArray[np.float64] | None,
    loss: Loss,
    penalty: float,
    start: Linear | None = None,
    max_steps: int = 100,
    tolerance: float = 1e-5,
    free_bias: bool = True,
) -> Linear:
    """Minimise n · loss + penalty/2 · |weight|² by L-BFGS; squared error on dense rows in closed form.

    Parameters
    ----------
    rows : (n, D), dense or CSR
    targets, weights
        As the loss takes them.
    penalty : float
        Of the weights; biases have none.
    start : Linear, optional
        Where to begin; a fit with another penalty or on other rows is near.
    max_steps : int
    tolerance : float
        Relative decrease at which to stop. Tighter ones took twice as long and changed no accuracy by more than 0.1.
    free_bias : bool
        Whether there are biases; else they are 0.
    """
    if isinstance(loss, RegressionLoss) and isinstance(rows, np.ndarray):
        return _ridge(rows, targets.reshape(len(targets), -1), weights, penalty)
    n_rows, n_inputs = rows.shape
    shape = (n_inputs, loss.n_outputs)
    cut = n_inputs * loss.n_outputs
    decay = penalty / n_rows

    def value(parameters: NDArray[np.float64]) -> tuple[float, NDArray[np.float64]]:
        weight, bias = parameters[:cut].reshape(shape), parameters[cut:]
        outputs = Linear(weight, bias)(rows)
        mean, slope = loss.gradient(outputs, targets, weights)
        down = rows.T @ slope.astype(rows.dtype)  # (D, C)
        of_bias = slope.sum(axis=0) * free_bias
        gradient = np.concatenate([(down + decay * weight).ravel(), of_bias])
        return mean + 0.5 * decay * float(np.vdot(weight, weight)), gradient

    first = np.zeros(cut + loss.n_outputs)
    if start is not None:
        first = np.concatenate([start.weight.ravel(), start.bias])
    found = minimize(
        value,
        first,
        jac=True,
        method="L-BFGS-B",
        options={"maxiter": max_steps, "ftol": tolerance, "maxcor": _MEMORY},
    )
    return Linear(found.x[:cut].reshape(shape), found.x[cut:])


def _ridge(
    rows: NDArray[np.floating[Any]],
    targets: NDArray[np.float64],
    weights: NDArray[np.float64] | None,
    penalty: float,
) -> Linear:
    """The same minimum for squared error on dense rows, exactly; unknown targets (NaN) are left out.

    L-BFGS would need thousands of steps where columns are almost the same, as in spectra.
    """
    from sklearn.linear_model import Ridge

    weight = np.zeros((rows.shape[1], targets.shape[1]))
    bias = np.zeros(targets.shape[1])
    for c in range(targets.shape[1]):
        known = ~np.isnan(targets[:, c])
        if known.sum() < 2:
            continue
        of_row = None if weights is None else weights[known] * (known.sum() / weights[known].sum())
        # the loss is a mean over all known entries, so a column's errors count by 1 / n_outputs
        model = Ridge(alpha=0.5 * penalty * targets.shape[1])
        model.fit(rows[known].astype(np.float64), targets[known, c], sample_weight=of_row)
        weight[:, c], bias[c] = model.coef_, model.intercept_
    return Linear(weight, bias)


def blend_weights(
    parts: list[NDArray[np.float64]],
    targets: NDArray[Any],
    weights: NDArray[np.float64] | None,
    loss: Loss,
) -> NDArray[np.float64]:
    """Weights from 0 on for outputs (n, C) each, such that their sum has the smallest loss: (parts,)."""
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
