"""The training loop: shuffle, step, validate, keep the best, and be able to stop and go on anywhere."""

from __future__ import annotations

import logging
import math
import os
from collections.abc import Callable, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, replace
from functools import cached_property, partial
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from tsenet.errors import DivergenceError, ModelFileError
from tsenet.network.batches import Inputs
from tsenet.progress import Progress, as_progress
from tsenet.training.callbacks import Callback, Callbacks, StopTraining
from tsenet.training.checkpoint import Checkpoint, Position
from tsenet.training.clock import Clock
from tsenet.training.engine import Engine
from tsenet.training.history import History
from tsenet.training.interrupt import CtrlC
from tsenet.training.losses import Loss
from tsenet.training.options import TrainingOptions, learning_rate_at, stop_reason
from tsenet.training.sources import RowsInMemory, Source

__all__ = ["Score", "TrainingOptions", "Validation", "train", "train_on"]

logger = logging.getLogger("tsenet.training")

#: ``score(targets, predictions, weights)``, higher is better; predictions are those of ``Loss.predict``.
Score = Callable[[NDArray[Any], NDArray[np.float64], NDArray[Any] | None], float]


class Validation(NamedTuple):
    """Rows that training does not see: ``rows`` (n,) of a table, their targets and weights."""

    inputs: Inputs
    rows: NDArray[np.int64]
    targets: NDArray[Any]
    weights: NDArray[Any] | None = None


def train(
    engine: Engine,
    rows: NDArray[np.int64] | int,
    targets: NDArray[Any],
    weights: NDArray[Any] | None = None,
    *,
    validation: Validation | None = None,
    score: Score | None = None,
    options: TrainingOptions | None = None,
    callbacks: Sequence[Callback] = (),
    progress: Any = None,
    seed: int = 0,
    checkpoint: Checkpoint | str | os.PathLike[str] | None = None,
) -> History:
    """Train an engine's network; with validation rows it ends with its best weights.

    Parameters
    ----------
    engine : Engine
    rows : int64 (N,) or int
        Rows of the engine's table to train on; a number N stands for the first N.
    targets : (N,) or (N, C)
        What the loss compares outputs with; entry i belongs to ``rows[i]``.
    weights : (N,), optional
        Weights of the rows.
    validation : Validation, optional
        Rows to score the network on after each epoch. Without them nothing stops training early.
    score : callable, optional
        ``score(targets, predictions, weights)``, higher is better. Default: minus the validation loss.
    options : TrainingOptions, optional
    callbacks : sequence of Callback
    progress
        As for :func:`tsenet.learn_tree`.
    seed : int
        Of the order of the rows. Each epoch's order depends on (seed, epoch) alone.
    checkpoint : Checkpoint or path, optional
        Where to write the state of the run. If the file exists, training goes on from it and ends with the same bytes
        as if it had never stopped.

    Returns
    -------
    History
        Ctrl-C ends training at the border of a batch, keeps the best weights so far and gives a history with
        ``stopped="interrupted"``; its checkpoint can be resumed.

    Raises
    ------
    DivergenceError
        If the loss becomes infinite or NaN while there are no best weights to keep.
    ModelFileError
        If the checkpoint is damaged, or another run's.
    """
    rows = np.arange(rows, dtype=np.int64) if isinstance(rows, int | np.integer) else rows
    _check_lengths(rows, targets, weights)
    held_out = () if validation is None else validation[1:]
    return train_on(
        engine,
        RowsInMemory(engine.inputs, rows, targets, weights, seed, held_out),
        None if validation is None else partial(validate, engine, validation, score),
        options=options,
        callbacks=callbacks,
        progress=progress,
        seed=seed,
        checkpoint=checkpoint,
    )


def validate(engine: Engine, validation: Validation, score: Score | None) -> tuple[float, float]:
    """Loss and score of the validation rows."""
    inputs, rows, targets, weights = validation
    outputs = engine.outputs(inputs, rows).astype(np.float64)  # (n, C)
    return score_outputs(engine.loss, outputs, targets, weights, score)


def score_outputs(
    loss_of: Loss,
    outputs: NDArray[np.float64],
    targets: NDArray[Any],
    weights: NDArray[Any] | None,
    score: Score | None,
) -> tuple[float, float]:
    """Loss and score of raw outputs (n, C)."""
    loss, _ = loss_of.gradient(outputs, targets, weights)
    if score is None:
        return loss, -loss
    return loss, float(score(targets, loss_of.predict(outputs), weights))


def train_on(
    engine: Engine,
    source: Source,
    validate: Callable[[], tuple[float, float]] | None = None,
    *,
    options: TrainingOptions | None = None,
    callbacks: Sequence[Callback] = (),
    progress: Any = None,
    seed: int = 0,
    checkpoint: Checkpoint | str | os.PathLike[str] | None = None,
    keep_on_interrupt: bool = True,
) -> History:
    """Train an engine's network on the batches of a source, wherever its rows are.

    Parameters
    ----------
    engine : Engine
    source : Source
        Yields the batches of each epoch.
    validate : callable, optional
        Gives the validation rows' loss and score, higher is better, after each epoch.
    options, callbacks, progress, seed, checkpoint
        As for :func:`train`.
    keep_on_interrupt : bool
        Whether Ctrl-C ends training at the border of a batch and keeps the best weights so far. Processes that train
        together hear it at different batches, so there it is passed on at once.

    Returns
    -------
    History
        As of :func:`train`.
    """
    options = TrainingOptions() if options is None else options
    if isinstance(checkpoint, str | os.PathLike):
        checkpoint = Checkpoint(checkpoint)
    hooks = Callbacks(callbacks)
    run = _Run(engine, source, validate, options, hooks, seed, checkpoint)
    ctrl_c = CtrlC()
    with ctrl_c if keep_on_interrupt else nullcontext(), as_progress(progress) as report:
        at = run.resume()
        try:
            stopped = run.loop(at, ctrl_c, report)
        except StopTraining:
            stopped = "callback"
            run.save(at)
        except KeyboardInterrupt:  # not ours: a second Ctrl-C, or a callback's
            if not keep_on_interrupt:
                raise
            stopped = "interrupted"
        except DivergenceError as error:
            if at.best is None:
                raise
            stopped = "diverged"
            logger.warning("%s. The best weights so far are kept", error)
        if at.best is not None:
            engine.load_weights(at.best)
        history = replace(at.history, stopped=stopped)
        hooks.on_train_end(engine, history)
        report.finish(repr(history))
    return history


@dataclass(frozen=True, eq=False)
class _Run:
    """What stays the same from the first batch to the last."""

    engine: Engine
    source: Source
    score: Callable[[], tuple[float, float]] | None
    options: TrainingOptions
    hooks: Callbacks
    seed: int
    checkpoint: Checkpoint | None

    def loop(self, at: Position, ctrl_c: CtrlC, report: Progress) -> str:
        """Train from a position on, moving it along; return why training is over."""
        engine, options, n_rows = self.engine, self.options, self.source.n_rows
        n_batches = -(-n_rows // options.batch_size)
        clock = Clock(at, n_batches, options.max_epochs)
        report.start("training", options.max_epochs * n_batches)
        report.advance(at.history.n_epochs * n_batches + at.batch)
        self.hooks.on_train_begin(engine, options)
        at_the_start = at.history.n_epochs == 0 and at.batch == 0
        validated = self.validate() if options.keep_start and at_the_start else None
        if validated is not None:
            at.history = replace(at.history, start_score=validated[1])
            at.best = engine.weights()

        while (stopped := stop_reason(options, at.history)) is None:
            epoch = at.history.n_epochs
            for part in self.source.batches(epoch, n_batches, at.batch):
                if ctrl_c.pressed:
                    self.save(at)
                    return "interrupted"
                rate = learning_rate_at(options, epoch + at.batch / n_batches)
                step = epoch * n_batches + at.batch
                loss = engine.step(part.rows, part.targets, part.weights, rate, step)
                if not math.isfinite(loss):
                    raise DivergenceError(
                        f"the loss became {loss} in epoch {epoch + 1}: lower the learning rate "
                        f"({rate:g}), or scale the columns of the data to similar sizes"
                    )
                at.batch += 1
                at.loss_sum += loss * part.n_rows
                clock.tick(at)
                report.advance(1, clock.note(at, loss))
                self.hooks.on_batch_end(engine, epoch, at.batch - 1, loss)
                if self.checkpoint is not None and self.checkpoint.is_due(at.batch):
                    self.save(at)

            validated = self.validate()
            clock.tick(at)
            mean_loss = at.loss_sum / n_rows
            rate = learning_rate_at(options, epoch + (n_batches - 1) / n_batches)
            at.history = at.history.after_epoch(mean_loss, validated, rate, at.seconds)
            at.batch, at.loss_sum, at.seconds = 0, 0.0, 0.0
            if at.history.best_epoch == epoch:
                at.best = engine.weights()
            logger.info("%s", at.history.last_epoch())
            self.hooks.on_epoch_end(engine, at.history)
            self.save(at)
        return stopped

    def validate(self) -> tuple[float, float] | None:
        """Loss and score of the validation rows, if there are any."""
        return None if self.score is None else self.score()

    def save(self, at: Position) -> None:
        """Write the checkpoint, if one is wanted."""
        if self.checkpoint is not None:
            self.checkpoint.save(self.identity, at, self.engine.state())

    def resume(self) -> Position:
        """Bring the engine to where the checkpoint left it and return the position; else the start."""
        left = None if self.checkpoint is None else self.checkpoint.load(self.identity)
        if self.checkpoint is None or left is None:
            return Position()
        position, state = left
        path = os.fspath(self.checkpoint.path)
        try:
            self.engine.load_state(state)
        except (KeyError, ValueError) as error:
            raise ModelFileError(f"the checkpoint {path} is another network's: {error}") from error
        logger.info("going on from %s: %r", path, position.history)
        return position

    @cached_property
    def identity(self) -> dict[str, Any]:
        """What makes this run this run: a checkpoint of another one is refused."""
        return {
            "data": self.source.digest(),
            "options": self.options.to_dict(),
            "seed": int(self.seed),
        }


def _check_lengths(
    rows: NDArray[np.int64], targets: NDArray[Any], weights: NDArray[Any] | None
) -> None:
    lengths = {len(rows), len(targets), len(rows if weights is None else weights)}
    if len(lengths) > 1:
        raise ValueError(f"rows, targets and weights have different lengths: {sorted(lengths)}")
    if lengths == {0}:
        raise ValueError("there are no rows to train on")
