"""How to train: the options of a run, and what follows from them and the history at any moment of it.

Neither the learning rate nor early stopping keeps a state of its own, so a resumed run needs none to go on as if it
had never stopped.
"""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass
from typing import Any, Literal, get_args

import numpy as np

from tsenet.training.history import History

__all__ = ["Schedule", "TrainingOptions", "learning_rate_at", "stop_reason"]

Schedule = Literal["constant", "cosine", "plateau"]


@dataclass(frozen=True)
class TrainingOptions:
    """Options of :func:`tsenet.training.loop.train`.

    Attributes
    ----------
    learning_rate : float
        Of the first step.
    batch_size : int
        Largest number of rows in a batch. An epoch's batches differ by at most one row.
    max_epochs : int
    early_stopping : bool
        Stop after ``patience`` epochs without a better validation score.
    patience : int
    min_delta : float
        A score must beat the best by more than this to count as better.
    restore_best : bool
        Leave the weights of the best validation score in the network, not the last ones.
    keep_start : bool
        Score the network before the first epoch too: an epoch has to beat that.
    schedule : {"constant", "cosine", "plateau"}
        How the learning rate falls: not at all; along half a cosine, step by step, to 0 at the end of ``max_epochs``;
        or by ``plateau_factor`` whenever ``plateau_patience`` epochs brought no better validation score (training
        loss, if there are no validation rows).
    plateau_factor : float
    plateau_patience : int
    """

    learning_rate: float = 1e-3
    batch_size: int = 256
    max_epochs: int = 100
    early_stopping: bool = True
    patience: int = 10
    min_delta: float = 0.0
    restore_best: bool = True
    keep_start: bool = False
    schedule: Schedule = "constant"
    plateau_factor: float = 0.5
    plateau_patience: int = 3

    def __post_init__(self) -> None:
        if not (math.isfinite(self.learning_rate) and self.learning_rate > 0):
            raise ValueError(f"learning_rate must be above 0, not {self.learning_rate}")
        for name in ("batch_size", "max_epochs", "patience", "plateau_patience"):
            if getattr(self, name) < 1:
                raise ValueError(f"{name} must be at least 1, not {getattr(self, name)}")
        if not self.min_delta >= 0:
            raise ValueError(f"min_delta must not be negative, not {self.min_delta}")
        if not 0 < self.plateau_factor < 1:
            raise ValueError(
                f"plateau_factor must lie between 0 and 1, not at {self.plateau_factor}"
            )
        if self.schedule not in get_args(Schedule):
            raise ValueError(
                f"schedule must be one of {', '.join(map(repr, get_args(Schedule)))}, "
                f"not {self.schedule!r}"
            )

    def to_dict(self) -> dict[str, Any]:
        """Return JSON-able fields, also if a search over NumPy arrays chose them."""
        return {
            name: value.item() if isinstance(value, np.generic) else value
            for name, value in asdict(self).items()
        }


def learning_rate_at(options: TrainingOptions, history: History, part_of_epoch: float) -> float:
    """Learning rate of a step, from the epochs so far and the share of the present one that is over."""
    rate = options.learning_rate
    if options.schedule == "cosine":
        done = (history.n_epochs + part_of_epoch) / options.max_epochs
        return rate * 0.5 * (1.0 + math.cos(math.pi * done))
    if options.schedule == "plateau":
        watched = history.validation_score or [-loss for loss in history.train_loss]
        best, waited = -math.inf, 0
        for value in watched:
            if value > best + options.min_delta:
                best, waited = value, 0
            else:
                waited += 1
            if waited == options.plateau_patience:
                rate, waited = rate * options.plateau_factor, 0
    return rate


def stop_reason(options: TrainingOptions, history: History) -> str | None:
    """Why training is over, as ``History.stopped`` says it; None if it is not."""
    validated = len(history.validation_score) > 0
    if options.early_stopping and validated and history.epochs_since_best >= options.patience:
        return "early_stopping"
    return "max_epochs" if history.n_epochs >= options.max_epochs else None
