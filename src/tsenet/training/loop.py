"""The training loop: shuffle, step, validate, keep the best, and be able to stop and go on anywhere."""

from __future__ import annotations

import logging
import math
import os
import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from tsenet.errors import DivergenceError, ModelFileError
from tsenet.network.batches import Inputs
from tsenet.progress import as_progress
from tsenet.training.callbacks import Callback, StopTraining
from tsenet.training.checkpoint import Checkpoint, Position, digest_of
from tsenet.training.engine import Engine
from tsenet.training.history import History
from tsenet.training.interrupt import CtrlC
from tsenet.training.options import TrainingOptions, learning_rate_at

__all__ = ["Score", "TrainingOptions", "Validation", "train"]

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
    options = TrainingOptions() if options is None else options
    rows = np.arange(rows, dtype=np.int64) if isinstance(rows, int) else rows
    n_rows = _checked_length(rows, targets, weights)
    n_batches = -(-n_rows // options.batch_size)
    held_out = () if validation is None else validation[1:]
    data = digest_of(rows, targets, weights, *held_out)
    run = {"data": data, "options": options.to_dict(), "seed": int(seed)}
    if isinstance(checkpoint, str | os.PathLike):
        checkpoint = Checkpoint(checkpoint)
    at = Position() if checkpoint is None else _resume(checkpoint, run, engine)
    clock = _Clock(options, n_batches, at)
    stopped = None

    def save() -> None:
        if checkpoint is not None:
            at.seconds = clock.epoch_seconds()
            checkpoint.save(run, at, engine.state())

    with CtrlC() as ctrl_c, as_progress(progress) as report:
        report.start("training", options.max_epochs * n_batches)
        report.advance(at.history.n_epochs * n_batches + at.batch)
        try:
            for callback in callbacks:
                callback.on_train_begin(engine, options)
            while at.history.stopped is None:
                epoch = at.history.n_epochs
                order = np.random.default_rng([seed, epoch]).permutation(n_rows)  # (N,)
                while at.batch < n_batches:
                    if ctrl_c.pressed:
                        save()
                        raise KeyboardInterrupt
                    part = _share(order, at.batch, n_batches)  # (B,)
                    rate = learning_rate_at(options, at.history, at.batch / n_batches)
                    loss = engine.step(
                        rows[part],
                        targets[part],  # (B,) or (B, C)
                        None if weights is None else weights[part],
                        rate,
                        epoch * n_batches + at.batch,
                    )
                    if not math.isfinite(loss):
                        raise DivergenceError(
                            f"the loss became {loss} in epoch {epoch + 1}: lower the learning rate "
                            f"({rate:g}), or scale the columns of the data"
                        )
                    at.batch += 1
                    at.loss_sum += loss * part.size
                    report.advance(1, clock.note(at.history, loss))
                    for callback in callbacks:
                        callback.on_batch_end(engine, epoch, at.batch - 1, loss)
                    if checkpoint is not None and checkpoint.is_due(at.batch):
                        save()

                result = None if validation is None else _validate(engine, validation, score)
                at.history = at.history.after_epoch(
                    at.loss_sum / n_rows, rate, clock.next_epoch(), result, options.min_delta
                )
                at.batch, at.loss_sum = 0, 0.0
                if at.history.best_epoch == epoch:
                    at.best = engine.weights()
                at.history = replace(at.history, stopped=_stop(at.history, options, validation))
                ...
