"""Callbacks: a user's own code at the few moments of a training run that matter."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tsenet.training.engine import Engine
    from tsenet.training.history import History
    from tsenet.training.options import TrainingOptions

__all__ = ["Callback", "StopTraining"]


class StopTraining(Exception):  # noqa: N818  # not an error: a wish, like StopIteration
    """Raised by a callback to end training after the batch or epoch just done, without an error."""


class Callback:
    """Base with empty hooks; override those you need.

    Several callbacks are called in the order given. What they remember is not part of a checkpoint.
    """

    def on_train_begin(self, engine: Engine, options: TrainingOptions) -> None:
        """Before the first batch; after the checkpoint was read, if there was one."""

    def on_batch_end(self, engine: Engine, epoch: int, batch: int, loss: float) -> None:
        """After each step; ``epoch`` and ``batch`` count from 0."""

    def on_epoch_end(self, engine: Engine, history: History) -> None:
        """After each whole epoch and its validation; ``history`` ends with this epoch."""

    def on_train_end(self, engine: Engine, history: History) -> None:
        """After the last batch, however training ended, with the final weights in place."""
