"""Callbacks: a user's own code at the few moments of a training run that matter."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tsenet.training.engine import Engine
    from tsenet.training.history import History
    from tsenet.training.options import TrainingOptions

__all__ = ["Callback", "Callbacks", "StopTraining"]


class StopTraining(Exception):  # noqa: N818  # not an error but a wish, like StopIteration
    """Raised by a callback to end training after the batch or epoch just done, without an error."""


class Callback:
    """Base with empty hooks; override those you need.

    What a callback remembers is not part of a checkpoint. Other errors than :class:`StopTraining` end training and
    are passed on.
    """

    def on_train_begin(self, engine: Engine, options: TrainingOptions) -> None:
        """Before the first batch; after the checkpoint was read, if there was one."""

    def on_batch_end(self, engine: Engine, epoch: int, batch: int, loss: float) -> None:
        """After each step; ``epoch`` and ``batch`` count from 0."""

    def on_epoch_end(self, engine: Engine, history: History) -> None:
        """After each whole epoch and its validation; ``history`` ends with this epoch."""

    def on_train_end(self, engine: Engine, history: History) -> None:
        """After the last batch, however training ended, with the final weights in place."""


class Callbacks(Callback):
    """Several callbacks as one, called in the order given."""

    def __init__(self, callbacks: Iterable[Callback]) -> None:
        self.callbacks = tuple(callbacks)

    def on_train_begin(self, engine: Engine, options: TrainingOptions) -> None:
        """Pass on to all."""
        for callback in self.callbacks:
            callback.on_train_begin(engine, options)

    def on_batch_end(self, engine: Engine, epoch: int, batch: int, loss: float) -> None:
        """Pass on to all."""
        for callback in self.callbacks:
            callback.on_batch_end(engine, epoch, batch, loss)

    def on_epoch_end(self, engine: Engine, history: History) -> None:
        """Pass on to all."""
        for callback in self.callbacks:
            callback.on_epoch_end(engine, history)

    def on_train_end(self, engine: Engine, history: History) -> None:
        """Pass on to all."""
        for callback in self.callbacks:
            callback.on_train_end(engine, history)
