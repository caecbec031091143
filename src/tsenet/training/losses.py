"""Losses on torch tensors.

All of them are one mean, Σ w·l / Σ w over the known labels of a batch, where w is the row's weight times that of the
label's class. A label nobody knows has weight 0: it is left out of the mean and its output receives no gradient. A
batch without any known label has loss 0.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import torch
from numpy.typing import ArrayLike, NDArray
from scipy.special import expit, softmax
from torch import Tensor
from torch.nn import functional

from tsenet._system.threads import torch_threads

__all__ = [
    "BinaryLoss",
    "Loss",
    "MulticlassLoss",
    "MultilabelLoss",
    "RegressionLoss",
    "without_class_weights",
]

Floats = NDArray[np.floating[Any]]


class Loss(ABC):
    """What turns the C outputs of a network into a number to make small, and into predictions.

    ``targets`` has one entry per row, (B,), or one per output, (B, C); ``weights`` (B,) or None for all alike.
    """

    n_outputs: int  # that the network needs

    @abstractmethod
    def __call__(self, outputs: Tensor, targets: Tensor, weights: Tensor | None = None) -> Tensor:
        """Mean loss of outputs (B, C): a scalar that autograd can follow."""

    @abstractmethod
    def predict(self, outputs: Floats) -> NDArray[np.float64]:
        """Probabilities, or values for regression, from outputs (n, C)."""

    def gradient(
        self, outputs: Floats, targets: NDArray[Any], weights: NDArray[Any] | None = None
    ) -> tuple[float, Floats]:
        """Mean loss, and its derivative by the outputs (B, C) in their own type; all are arrays."""
        z = torch.as_tensor(outputs).requires_grad_()
        weight = None if weights is None else torch.as_tensor(weights)
        with torch_threads(1):
            loss = self(z, torch.as_tensor(targets), weight)
            (slope,) = torch.autograd.grad(loss, z)
        return loss.item(), slope.numpy()


class _EntryLoss(Loss):
    """Losses that look at each output alone. Targets (B, C), or (B,) for one output; NaN is unknown."""

    def __call__(self, outputs: Tensor, targets: Tensor, weights: Tensor | None = None) -> Tensor:
        """Mean loss of outputs (B, C): a scalar that autograd can follow."""
        targets = _one_per_output(targets.to(outputs.dtype), outputs)  # (B, C)
        known = ~torch.isnan(targets)
        targets = torch.where(known, targets, 0.0)
        weight = known.to(outputs.dtype)  # (B, C)
        if (of_class := self._class_weights()) is not None:
            negative, positive = outputs.new_tensor(of_class).T  # (C,) each
            weight = weight * torch.where(targets > 0.5, positive, negative)
        if weights is not None:
            weight = weight * weights.to(outputs.dtype)[:, None]
        return _mean(self._entries(outputs, targets), weight)

    def _class_weights(self) -> tuple[Any, ...] | None:
        """Weights of each output's negative and positive labels, (C, 2), or None for all alike."""
        return None

    @abstractmethod
    def _entries(self, outputs: Tensor, targets: Tensor) -> Tensor:
        """Loss of every output: (B, C)."""


class _LogisticLoss(_EntryLoss):
    """l = ln(1 + exp z) − y·z: minus the log-likelihood of label y where P(1) = 1 / (1 + exp −z)."""

    def _entries(self, outputs: Tensor, targets: Tensor) -> Tensor:
        return functional.binary_cross_entropy_with_logits(outputs, targets, reduction="none")


@dataclass(frozen=True)
class BinaryLoss(_LogisticLoss):
    """Two classes, one output: the log-odds of class 1. Targets (B,) are 0, 1 or NaN, unknown.

    ``class_weights`` (2,): weights of class 0 and class 1.
    """

    class_weights: Any = None
    n_outputs: int = field(default=1, init=False)

    def __post_init__(self) -> None:
        _freeze_class_weights(self, (2,))

    def _class_weights(self) -> tuple[Any, ...] | None:
        return None if self.class_weights is None else (self.class_weights,)

    def predict(self, outputs: Floats) -> NDArray[np.float64]:
        """P(class 0) and P(class 1): (n, 2)."""
        z = outputs.astype(np.float64)
        return np.concatenate([expit(-z), expit(z)], axis=1)


@dataclass(frozen=True)
class MultilabelLoss(_LogisticLoss):
    """C labels that may hold together, one log-odds each. Targets (B, C) are 0, 1 or NaN, unknown.

    ``class_weights`` (C, 2): weights of each label's absence and presence.
    """

    n_outputs: int
    class_weights: Any = None

    def __post_init__(self) -> None:
        _freeze_class_weights(self, (self.n_outputs, 2))

    def _class_weights(self) -> tuple[Any, ...] | None:
        weights: tuple[Any, ...] | None = self.class_weights
        return weights

    def predict(self, outputs: Floats) -> NDArray[np.float64]:
        """P(label) of every label: (n, C)."""
        probability: NDArray[np.float64] = expit(outputs.astype(np.float64))
        return probability


@dataclass(frozen=True)
class RegressionLoss(_EntryLoss):
    """Squared error of C values. Targets (B, C), or (B,) for one value; NaN is unknown."""

    n_outputs: int = 1

    def _entries(self, outputs: Tensor, targets: Tensor) -> Tensor:
        return (outputs - targets).square()

    def predict(self, outputs: Floats) -> NDArray[np.float64]:
        """The outputs themselves: (n, C)."""
        return outputs.astype(np.float64)


@dataclass(frozen=True)
class MulticlassLoss(Loss):
    """C classes that exclude each other: −ln softmax(z) of the true one.

    Targets (B,) are class numbers; a negative number or NaN is unknown. Targets (B, C) are probabilities of the
    classes, as a teacher gives them: the loss is then the cross-entropy. ``class_weights``: (C,).
    """

    n_outputs: int
    class_weights: Any = None

    def __post_init__(self) -> None:
        _freeze_class_weights(self, (self.n_outputs,))

    def __call__(self, outputs: Tensor, targets: Tensor, weights: Tensor | None = None) -> Tensor:
        """Mean loss of outputs (B, C): a scalar that autograd can follow."""
        if targets.ndim == 2:
            share = targets.to(outputs.dtype)  # (B, C)
            if weights is None and self.class_weights is None:
                return functional.cross_entropy(outputs, share)
            if self.class_weights is not None:
                share = share * outputs.new_tensor(self.class_weights)
            if weights is not None:
                share = share * weights.to(outputs.dtype)[:, None]
            return -(share * functional.log_softmax(outputs, dim=1)).sum() / share.sum()
        known = targets >= 0
        if weights is None and self.class_weights is None and known.all():
            return functional.cross_entropy(outputs, targets.long())
        true = torch.where(known, targets, 0).long()  # (B,)
        weight = known.to(outputs.dtype)  # (B,)
        if self.class_weights is not None:
            weight = weight * outputs.new_tensor(self.class_weights)[true]
        if weights is not None:
            weight = weight * weights.to(outputs.dtype)
        return _mean(functional.cross_entropy(outputs, true, reduction="none"), weight)

    def gradient(
        self, outputs: Floats, targets: NDArray[Any], weights: NDArray[Any] | None = None
    ) -> tuple[float, Floats]:
        """Mean loss and its derivative in closed form: linear models ask for it hundreds of times."""
        share: NDArray[Any] = targets
        if targets.ndim == 1:  # all zeros where the class is unknown
            share = np.asarray(targets[:, None] == np.arange(self.n_outputs), np.float64)
        if self.class_weights is not None:
            share = share * np.array(self.class_weights)
        if weights is not None:
            share = share * weights[:, None]
        of_row = share.sum(axis=1, keepdims=True)
        total = float(of_row.sum()) or 1.0
        below = outputs - outputs.max(axis=1, keepdims=True)  # ≤ 0: no overflow
        odds = np.exp(below)
        sums = odds.sum(axis=1, keepdims=True)
        mean = (np.vdot(of_row, np.log(sums)) - np.vdot(share, below)) / total
        slope = odds * (of_row / sums) - share
        return float(mean), np.asarray(slope / total, outputs.dtype)

    def predict(self, outputs: Floats) -> NDArray[np.float64]:
        """P(class) of every class: (n, C)."""
        probability: NDArray[np.float64] = softmax(outputs.astype(np.float64), axis=1)
        return probability


def without_class_weights(loss: Loss) -> Loss:
    """The same loss with all classes alike."""
    if isinstance(loss, BinaryLoss | MulticlassLoss | MultilabelLoss):
        return replace(loss, class_weights=None)
    return loss


def _one_per_output(targets: Any, outputs: Any) -> Any:
    """Targets as (B, C), arrays or tensors; never broadcast, which would hide a mistake."""
    column = targets[:, None] if targets.ndim == 1 else targets  # (B,) → (B, 1)
    if column.shape != outputs.shape:
        raise ValueError(
            f"targets of shape {tuple(targets.shape)} do not fit outputs {tuple(outputs.shape)}"
        )
    return column


def _mean(losses: Tensor, weight: Tensor) -> Tensor:
    """Σ w·l / Σ w, or 0 if all weights are."""
    total = weight.sum()
    return (weight * losses).sum() / torch.where(total == 0, 1.0, total)


def _freeze_class_weights(loss: Any, shape: tuple[int, ...]) -> None:
    """Turn ``loss.class_weights`` into tuples, so that losses can be compared and hashed."""
    given: ArrayLike | None = loss.class_weights
    if given is None:
        return
    array = np.asarray(given, np.float64)
    if array.shape != shape or not np.isfinite(array).all() or (array < 0).any():
        raise ValueError(
            f"class_weights must be finite numbers from 0 on, of shape {shape}: {given!r}"
        )
    frozen = array.tolist()
    nested = array.ndim == 2
    object.__setattr__(loss, "class_weights", tuple(map(tuple, frozen) if nested else frozen))
