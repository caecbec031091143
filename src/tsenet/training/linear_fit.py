"""Linear models of any loss, fitted to the end: what the few labels of a start can pay for."""

from __future__ import annotations

from typing import Any, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize
from scipy.sparse import csr_array

from tsenet.training.losses import Loss

__all__ = ["Linear", "blend_weights", "fit_linear"]

Rows: TypeAlias = NDArray[np.floating[Any]] | csr_array
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
) -> Linear:
    """Minimise n · loss + penalty/2 · |weight|² by L-BFGS.

    Parameters
    ----------
    rows : (n, D), dense or CSR
    targets, weights
        As the loss takes them.
    penalty : float
        The biases are free.
    start : Linear, optional
        Where to begin; a fit with another penalty or on other rows is near.
    max_steps : int
    tolerance : float
        Relative decrease at which to stop. Tighter ones took twice as long and changed no accuracy by more than 0.1.
    """
    n_rows, n_inputs = rows.shape
    shape = (n_inputs, loss.n_outputs)
    cut = n_inputs * loss.n_outputs
    decay = penalty / n_rows

    def value(parameters: NDArray[np.float64]) -> tuple[float, NDArray[np.float64]]:
        weight, bias = parameters[:cut].reshape(shape), parameters[cut:]
        outputs = Linear(weight, bias)(rows)
        mean, slope = loss.gradient(outputs, targets, weights)
        down = rows.T @ slope.astype(rows.dtype)  # (D, C)
        gradient = np.concatenate([(down + decay * weight).ravel(), slope.sum(axis=0)])
        return mean + 0.5 * decay * float(np.vdot(weight, weight)), gradient

    first = np.zeros(cut + loss.n_outputs)
    if start is not None:
        first = np.concatenate([start.weight.ravel(), start.bias])
    found = minimize(
        value,
        first,
        jac=True,
        method="L-BFGS-B",
        options={"maxiter": max_steps, "ftol": tolerance},
    )
    return Linear(found.x[:cut].reshape(shape), found.x[cut:])


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
