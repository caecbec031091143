"""How to train: the options of a run, and when they end it.

Early stopping keeps no state of its own: it reads the history, so a resumed run goes on as if it had never stopped.
"""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from tsenet.training.history import History

__all__ = ["TrainingOptions", "learning_rate_at", "stop_reason"]


@dataclass(frozen=True)
class TrainingOptions:
    """Options of :func:`tsenet.training.loop.train`.

    Attributes
    ----------
    learning_rate : float, default=1e-3
        Adam's step size, at first.
    batch_size : int, default=256
        Largest number of rows in a batch. An epoch's batches differ by at most one row.
    max_epochs : int, default=100
    early_stopping : bool, default=True
        Stop after ``patience`` epochs without a better validation score.
    patience : int, default=10
    keep_start : bool, default=False
        Score the network before the first epoch too: an epoch has to beat that.
    cosine : bool, default=False
        Let the learning rate fall along half a cosine, step by step, to 0 at the end of ``max_epochs``.
    stop_after : int or None, default=None
        End after so many epochs, with the learning rate on its way for ``max_epochs``.
    """

    learning_rate: float = 1e-3
    batch_size: int = 256
    max_epochs: int = 100
    early_stopping: bool = True
    patience: int = 10
    keep_start: bool = False
    cosine: bool = False
    stop_after: int | None = None

    def __post_init__(self) -> None:
        if not (math.isfinite(self.learning_rate) and self.learning_rate > 0):
            raise ValueError(f"learning_rate must be above 0, not {self.learning_rate}")
        for name in ("batch_size", "max_epochs", "patience", "stop_after"):
            value = getattr(self, name)
            if value is not None and value < 1:
                raise ValueError(f"{name} must be at least 1, not {getattr(self, name)}")

    def to_dict(self) -> dict[str, Any]:
        """Return JSON-able fields, also if a search over NumPy arrays chose them."""
        return {
            name: value.item() if isinstance(value, np.generic) else value
            for name, value in asdict(self).items()
        }


def learning_rate_at(options: TrainingOptions, epochs_done: float) -> float:
    """Learning rate of a step after so many epochs, whole and in part."""
    if not options.cosine:
        return options.learning_rate
    return (
        options.learning_rate * 0.5 * (1.0 + math.cos(math.pi * epochs_done / options.max_epochs))
    )


def stop_reason(options: TrainingOptions, history: History) -> str | None:
    """Why training is over, as ``History.stopped`` says it; None if it is not."""
    validated = len(history.validation_score) > 0
    if options.early_stopping and validated and history.epochs_since_best >= options.patience:
        return "early_stopping"
    longest = options.max_epochs if options.stop_after is None else options.stop_after
    return "max_epochs" if history.n_epochs >= min(longest, options.max_epochs) else None
