"""The training loop: shuffle, step, validate, keep the best weights."""

from __future__ import annotations

import logging
import math
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from tsenet._system.threads import torch_threads
from tsenet.errors import DivergenceError
from tsenet.network.batches import Inputs
from tsenet.progress import Progress, as_progress
from tsenet.training.engine import Engine
from tsenet.training.history import History

__all__ = ["Batch", "Score", "Source", "TrainingOptions", "Validation", "train"]

logger = logging.getLogger("tsenet.training")

#: ``score(targets, predictions, weights)``, higher is better; predictions are those of ``Loss.predict``.
Score = Callable[[NDArray[Any], NDArray[np.float64], NDArray[Any] | None], float]


class Validation(NamedTuple):
    """Rows that training does not see: ``rows`` (n,) of a table, their targets and weights."""

    inputs: Inputs
    rows: NDArray[np.int64]
    targets: NDArray[Any]
    weights: NDArray[Any] | None = None


class Batch(NamedTuple):
    """What one step trains on: rows of a table, their targets and weights."""

    rows: NDArray[np.int64]  # (B,)
    targets: NDArray[Any]  # (B,) or (B, C)
    weights: NDArray[Any] | None = None  # (B,)
    inputs: Inputs | None = None  # the table, if it is not the one that the engine has


class Source(Protocol):
    """Rows to train on, in memory (:class:`tsenet.training.labelled.Labelled`) or in a folder."""

    @property
    def n_rows(self) -> int:
        """Rows of an epoch."""

    def batches(self, seed: int, epoch: int, n_batches: int) -> Iterator[Batch]:
        """Shuffle the rows and cut them into ``n_batches`` batches whose sizes differ by at most one row."""


@dataclass(frozen=True)
class TrainingOptions:
    """Options of :func:`train`.

    Attributes
    ----------
    learning_rate : float, default=1e-3
        Adam's initial step size.
    batch_size : int, default=256
        Largest number of rows in a batch.
    max_epochs : int, default=100
    early_stopping : bool, default=True
        Stop after ``patience`` epochs without a better validation score.
    patience : int, default=10
    cosine : bool, default=False
        Let the learning rate fall along half a cosine, step by step, to 0 at the end of ``max_epochs``.
    """

    learning_rate: float = 1e-3
    batch_size: int = 256
    max_epochs: int = 100
    early_stopping: bool = True
    patience: int = 10
    cosine: bool = False

    def learning_rate_at(self, epochs_done: float) -> float:
        """Learning rate of a step after this many epochs, whole and in part."""
        if not self.cosine:
            return self.learning_rate
        return self.learning_rate * 0.5 * (1.0 + math.cos(math.pi * epochs_done / self.max_epochs))

    def stop_reason(self, history: History) -> str | None:
        """Why training is over, as ``History.stopped`` says it; None if it is not."""
        validated = len(history.validation_score) > 0
        if self.early_stopping and validated and history.epochs_since_best >= self.patience:
            return "early_stopping"
        return "max_epochs" if history.n_epochs >= self.max_epochs else None


def train(
    engine: Engine,
    source: Source,
    *,
    validation: Validation | None = None,
    score: Score | None = None,
    options: TrainingOptions | None = None,
    progress: Any = None,
    seed: int = 0,
    after_step: Callable[[], None] | None = None,
    after_epoch: Callable[[History], None] | None = None,
) -> History:
    """Train an engine's network; with validation rows it ends with its best weights.

    Parameters
    ----------
    engine : Engine
    source : Source
        Where the batches come from.
    validation : Validation, optional
        Rows to score the network on after each epoch. Without them nothing stops training early.
    score : callable, optional
        ``score(targets, predictions, weights)``, higher is better. Default: minus the validation loss.
    options : TrainingOptions, optional
    progress
        As for :func:`tsenet.learn_tree`.
    seed : int
        Of the order of the rows. Each epoch's order depends on (seed, epoch) alone.
    after_step, after_epoch : callable, optional
        Called after each step, and with the history after each epoch.

    Raises
    ------
    DivergenceError
        If the loss becomes infinite or NaN while there are no best weights to keep.
    """
    options = TrainingOptions() if options is None else options
    n_batches = -(-source.n_rows // options.batch_size)
    history, best = History(), None
    with as_progress(progress) as report:
        report.start("training", options.max_epochs * n_batches)
        while (stopped := options.stop_reason(history)) is None:
            began = time.perf_counter()
            batches = source.batches(seed, history.n_epochs, n_batches)
            try:
                with torch_threads(1):
                    loss, rate = _epoch(
                        engine, batches, n_batches, options, history, report, after_step
                    )
            except DivergenceError as error:
                if best is None:
                    raise
                logger.warning("%s. The best weights so far are kept", error)
                stopped = "diverged"
                break
            validated = None if validation is None else _validate(engine, validation, score)
            history = history.after_epoch(loss, validated, rate, time.perf_counter() - began)
            if history.best_epoch == history.n_epochs - 1:
                best = engine.weights()
            logger.info("%s", history.last_epoch())
            if after_epoch is not None:
                after_epoch(history)
        if best is not None:
            engine.load_weights(best)
        history = replace(history, stopped=stopped)
        report.finish(repr(history))
    return history


def _epoch(
    engine: Engine,
    batches: Iterator[Batch],
    n_batches: int,
    options: TrainingOptions,
    history: History,
    report: Progress,
    after_step: Callable[[], None] | None,
) -> tuple[float, float]:
    """Take a step on each batch; return the mean loss and the last learning rate."""
    epoch, loss_sum, n_rows, rate = history.n_epochs, 0.0, 0, 0.0
    scores = history.validation_score
    score = f", score {scores[-1]:.4g}" if scores else ""
    for number, batch in enumerate(batches):
        if batch.inputs is not None:
            engine.inputs = batch.inputs
        rate = options.learning_rate_at(epoch + number / n_batches)
        step = epoch * n_batches + number
        loss = engine.step(batch.rows, batch.targets, batch.weights, rate, step)
        if not math.isfinite(loss):
            raise DivergenceError(
                f"the loss became {loss} in epoch {epoch + 1}: lower the learning rate "
                f"({rate:g}), or scale the columns of the data to similar sizes"
            )
        if after_step is not None:
            after_step()
        loss_sum += loss * batch.rows.size
        n_rows += batch.rows.size
        report.advance(1, f"epoch {epoch + 1}/{options.max_epochs}, loss {loss:.4g}{score}")
    return loss_sum / n_rows, rate


def _validate(engine: Engine, validation: Validation, score: Score | None) -> tuple[float, float]:
    """Loss and score of the validation rows."""
    inputs, rows, targets, weights = validation
    outputs = engine.outputs(inputs, rows).astype(np.float64)  # (n, C)
    loss, _ = engine.loss.gradient(outputs, targets, weights)
    if score is None:
        return loss, -loss
    return loss, float(score(targets, engine.loss.predict(outputs), weights))
