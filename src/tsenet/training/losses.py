"""Losses and their derivatives, in closed form.

All of them are one mean, Σ w·l / Σ w over the known targets of some rows. Weights w are (n,), one for each row, or
(n, C), one for each target. An unknown target has weight 0: it is left out of the mean and its output receives no
gradient. The loss of rows without any known target is 0.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit, softmax

Floats = NDArray[np.floating[Any]]


@dataclass(frozen=True)
class Loss(ABC):
    """What turns the C outputs of a network into a number to minimise, and into predictions."""

    n_outputs: int = 1  # that the network needs
    #: Whether a target is one of several classes.
    has_classes: ClassVar[bool] = False

    @abstractmethod
    def gradient(
        self, outputs: Floats, targets: NDArray[Any], weights: NDArray[Any] | None = None
    ) -> tuple[float, Floats]:
        """Mean loss of outputs (n, C), and its derivative by them in their own type.

        ``targets`` has one entry per row, (n,), or one per output, (n, C).
        """

    @abstractmethod
    def predict(self, outputs: Floats) -> NDArray[np.float64]:
        """Probabilities, or values for regression, from outputs (n, C)."""

    def soft_targets(self, outputs: Floats) -> NDArray[np.float64]:
        """What outputs (n, C) say, as targets of another network: probabilities or values."""
        return self.predict(outputs)


class _EntryLoss(Loss):
    """Losses that look at each output alone. Targets (n, C), or (n,) for one output; NaN is unknown."""

    def gradient(
        self, outputs: Floats, targets: NDArray[Any], weights: NDArray[Any] | None = None
    ) -> tuple[float, Floats]:
        """Mean loss and its derivative."""
        column = targets[:, None] if targets.ndim == 1 else targets
        if column.shape != outputs.shape:  # never broadcast, which would hide a mistake
            raise ValueError(f"targets of shape {targets.shape} do not fit outputs {outputs.shape}")

        known = ~np.isnan(column)
        if weights is None and known.all():  # the usual case, in half of the time
            losses, slope = self._entries(outputs, column)
            n_targets = max(column.size, 1)
            mean = float(losses.sum()) / n_targets
            return mean, np.asarray(slope / n_targets, outputs.dtype)

        weight = known if weights is None else known * weights.reshape(len(weights), -1)
        total = float(weight.sum()) or 1.0
        losses, slope = self._entries(outputs, np.where(known, column, 0.0))
        mean = float((weight * losses).sum()) / total
        return mean, np.asarray(weight * slope / total, outputs.dtype)

    @abstractmethod
    def _entries(self, outputs: Floats, targets: Floats) -> tuple[Floats, Floats]:
        """Loss of every output and its derivative, (n, C) each."""


class MultilabelLoss(_EntryLoss):
    """C labels that may hold together, one log-odds z each: ln(1 + exp z) − y·z. Targets are 0 to 1 or NaN."""

    def _entries(self, outputs: Floats, targets: Floats) -> tuple[Floats, Floats]:
        return np.logaddexp(0.0, outputs) - targets * outputs, expit(outputs) - targets

    def predict(self, outputs: Floats) -> NDArray[np.float64]:
        """P(label) of every label: (n, C)."""
        return np.asarray(expit(outputs.astype(np.float64)))


class BinaryLoss(MultilabelLoss):
    """Two classes, one output: the log-odds of class 1. Targets (n,) are 0 to 1, or NaN."""

    has_classes = True

    def predict(self, outputs: Floats) -> NDArray[np.float64]:
        """P(class 0) and P(class 1): (n, 2)."""
        z = outputs.astype(np.float64)
        return np.concatenate([expit(-z), expit(z)], axis=1)

    def soft_targets(self, outputs: Floats) -> NDArray[np.float64]:
        """P(class 1): (n,)."""
        return self.predict(outputs)[:, 1]


class RegressionLoss(_EntryLoss):
    """Squared error of C values."""

    def _entries(self, outputs: Floats, targets: Floats) -> tuple[Floats, Floats]:
        difference = outputs - targets
        return np.square(difference), 2.0 * difference

    def predict(self, outputs: Floats) -> NDArray[np.float64]:
        """The outputs themselves: (n, C)."""
        return outputs.astype(np.float64)


class MulticlassLoss(Loss):
    """C classes that exclude each other: −ln softmax(z) of the true one.

    Targets (n,) are class numbers; a negative number or NaN is unknown. Targets (n, C) are probabilities of the
    classes, as a teacher gives them: the loss is then the cross-entropy.
    """

    has_classes = True

    def gradient(
        self, outputs: Floats, targets: NDArray[Any], weights: NDArray[Any] | None = None
    ) -> tuple[float, Floats]:
        """Mean loss and its derivative."""
        # Everything is (C, n): sums over few classes are several times as fast down the columns.
        if targets.ndim == 1:  # all zeros where the class is unknown
            numbers = np.arange(self.n_outputs)[:, None]
            share = np.asarray(targets == numbers, outputs.dtype)
        else:
            share = np.ascontiguousarray(targets.T)

        if weights is not None:
            share = share * weights
        of_row = share.sum(axis=0)  # (n,)
        total = float(of_row.sum()) or 1.0

        z = np.ascontiguousarray(outputs.T)
        z = z - z.max(axis=0)  # ≤ 0: no overflow
        odds = np.exp(z)
        sums = odds.sum(axis=0)

        # Σ_c share_c · (ln Σ exp z − z_c), whose derivative is softmax(z) · Σ share − share
        mean = (np.vdot(of_row, np.log(sums)) - np.vdot(share, z)) / total
        slope = (odds * (of_row / sums) - share) / total
        return float(mean), np.asarray(slope.T, outputs.dtype, order="C")

    def predict(self, outputs: Floats) -> NDArray[np.float64]:
        """P(class) of every class: (n, C)."""
        return np.asarray(softmax(outputs.astype(np.float64), axis=1))
