"""The training loop: labelled rows in batches, steps of an engine, validation, the best weights kept, and a history."""

from __future__ import annotations

import logging
import math
import time
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass, field, fields, replace
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from tsenet._system.threads import torch_threads
from tsenet.errors import DivergenceError
from tsenet.progress import Progress, as_progress

if TYPE_CHECKING:
    import pandas as pd

    from tsenet.network.predictor import Inputs
    from tsenet.training.engine import Engine
    from tsenet.training.folder import FolderRows

__all__ = ["History", "Labelled", "Score", "TrainingOptions", "batch_bounds", "train"]

logger = logging.getLogger("tsenet.training")

#: ``score(targets, outputs, weights)`` of raw outputs, higher is better.
Score = Callable[[NDArray[Any], NDArray[np.float64], NDArray[Any] | None], float]

_SERIES = ("train_loss", "validation_loss", "validation_score", "learning_rate", "seconds")


# ---- rows


class Labelled(NamedTuple):
    """Rows of a table with their targets: to train on, to validate on, or the batch of one step."""

    inputs: Inputs  # the table (N, D)
    rows: NDArray[np.int64]  # (n,), numbers of rows
    targets: NDArray[Any]  # (n,) or (n, C), as the loss wants them
    weights: NDArray[Any] | None = None  # (n,) or (n, C)
    duplicate_groups: NDArray[np.int64] | None = None  # (n,), the same number for equal rows

    def take(self, which: NDArray[Any]) -> Labelled:
        """Some of them."""
        parts = (None if part is None else part[which] for part in self[1:])
        return Labelled(self.inputs, *parts)  # type: ignore[arg-type]  # mypy sees one type for all

    @property
    def n_rows(self) -> int:
        """Rows of an epoch."""
        return self.rows.size

    def batches(self, seed: int, epoch: int, n_batches: int) -> Iterator[Labelled]:
        """Shuffle the rows and cut them into batches of about the same size."""
        order = np.random.default_rng([seed, epoch]).permutation(self.n_rows)
        for start, stop in batch_bounds(self.n_rows, n_batches):
            yield self.take(order[start:stop])


def batch_bounds(n_rows: int, n_batches: int) -> Iterator[tuple[int, int]]:
    """First and last row of each batch. Sizes differ by at most one: a small last batch would count for too much."""
    for batch in range(n_batches):
        yield n_rows * batch // n_batches, n_rows * (batch + 1) // n_batches


# ---- epochs


@dataclass(frozen=True, repr=False)
class History:
    """One entry per epoch in every series; the validation series are empty without validation rows.

    Attributes
    ----------
    train_loss : tuple of float
        Mean loss of the epoch's batches, dropout included.
    validation_loss, validation_score : tuple of float
        After the epoch, without dropout; a higher score is better.
    learning_rate : tuple of float
        Adam's step size.
    seconds : tuple of float
        Wall-clock time of the epoch, validation included; not compared, and empty in a loaded model, whose file does
        not hold times.
    best_epoch : int or None
        Number, from 0, of the epoch with the best validation score; None if there is none.
    stopped : str or None
        Why training ended: ``"max_epochs"``, ``"early_stopping"`` or ``"diverged"``; None while it continues.
    """

    train_loss: tuple[float, ...] = ()
    validation_loss: tuple[float, ...] = ()
    validation_score: tuple[float, ...] = ()
    learning_rate: tuple[float, ...] = ()
    seconds: tuple[float, ...] = field(default=(), compare=False)
    best_epoch: int | None = None
    stopped: str | None = None

    @property
    def n_epochs(self) -> int:
        """Number of whole epochs."""
        return len(self.train_loss)

    @property
    def best_score(self) -> float | None:
        """Validation score of the best epoch."""
        return None if self.best_epoch is None else self.validation_score[self.best_epoch]

    def after_epoch(
        self,
        train_loss: float,
        validation: tuple[float, float] | None,
        learning_rate: float,
        seconds: float,
    ) -> History:
        """Return the history with one more epoch; ``validation`` is its loss and score.

        The epoch becomes the best one if its score beats the best. NaN beats nothing.
        """
        new = {"train_loss": train_loss, "learning_rate": learning_rate, "seconds": seconds}
        best_epoch = self.best_epoch
        if validation is not None:
            new["validation_loss"], new["validation_score"] = validation
            best = -math.inf if self.best_score is None else self.best_score
            if validation[1] > best:
                best_epoch = self.n_epochs
        longer: dict[str, Any] = {k: (*getattr(self, k), value) for k, value in new.items()}
        return replace(self, **longer, best_epoch=best_epoch)

    def table(self) -> pd.DataFrame:
        """All epochs as a data frame, numbered from 1."""
        import pandas as pd

        series = {name.replace("_", " "): getattr(self, name) for name in _SERIES}
        frame = pd.DataFrame({name: values for name, values in series.items() if values})
        return frame.set_index(pd.RangeIndex(1, self.n_epochs + 1, name="epoch"))

    def to_dict(self) -> dict[str, Any]:
        """Return JSON-able fields; NaN and infinity, which JSON lacks, become strings."""
        plain = asdict(self)
        for name in _SERIES:
            plain[name] = [v if math.isfinite(v) else str(v) for v in plain[name]]
        return plain

    @classmethod
    def from_dict(cls, plain: dict[str, Any]) -> History:
        """Rebuild a history from :meth:`to_dict`; raises ValueError if it cannot be one."""
        if set(plain) != {part.name for part in fields(cls)}:
            raise ValueError(f"a history has other fields than {sorted(plain)}")
        series = {name: tuple(float(value) for value in plain[name]) for name in _SERIES}
        best, stopped = plain["best_epoch"], plain["stopped"]
        made = cls(**series, best_epoch=best, stopped=stopped)
        n_epochs, n_scores = made.n_epochs, len(made.validation_score)
        lengths = len(made.learning_rate), len(made.validation_loss)
        may_be_empty = {n_scores, len(made.seconds)}
        if lengths != (n_epochs, n_scores) or not may_be_empty <= {0, n_epochs}:
            raise ValueError("the series of a history have different lengths")
        if best is not None and (type(best) is not int or not 0 <= best < n_scores):
            raise ValueError(f"the best epoch {best!r} is not one of the epochs")
        if not isinstance(stopped, str | None):
            raise ValueError(f"stopped of a history is {stopped!r}")
        return made

    def __repr__(self) -> str:
        parts = [f"{self.n_epochs} epochs"]
        if self.train_loss:
            parts.append(f"train loss {self.train_loss[-1]:.4g}")
        if self.best_epoch is not None:
            parts.append(f"best score {self.best_score:.4g} in epoch {self.best_epoch + 1}")
        parts.append(f"stopped: {self.stopped}" if self.stopped else "not stopped")
        return f"History({', '.join(parts)})"


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
    patience : int or None, default=10
        Epochs without a better validation score after which to stop; None never stops early.
    cosine : bool, default=False
        Let the learning rate fall along half a cosine, step by step, to 0 at the end of ``max_epochs``.
    """

    learning_rate: float = 1e-3
    batch_size: int = 256
    max_epochs: int = 100
    patience: int | None = 10
    cosine: bool = False

    def learning_rate_at(self, epochs_done: float) -> float:
        """Learning rate of a step after this many epochs, whole and in part."""
        if not self.cosine:
            return self.learning_rate
        return self.learning_rate * 0.5 * (1.0 + math.cos(math.pi * epochs_done / self.max_epochs))

    def stop_reason(self, history: History) -> str | None:
        """Why training is over, as ``History.stopped`` says it; None if it is not."""
        if self.patience is not None and history.validation_score:
            last_best = -1 if history.best_epoch is None else history.best_epoch
            if history.n_epochs - 1 - last_best >= self.patience:
                return "early_stopping"
        return "max_epochs" if history.n_epochs >= self.max_epochs else None


def train(
    engine: Engine,
    source: Labelled | FolderRows,
    *,
    validation: Labelled | None = None,
    score: Score | None = None,
    options: TrainingOptions | None = None,
    progress: Any = None,
    seed: int = 0,
    after_step: Callable[[], None] | None = None,
) -> History:
    """Train an engine's network; with validation rows it ends with its best weights.

    Parameters
    ----------
    engine : Engine
    source : Labelled or FolderRows
        Where the batches come from: rows in memory, or in a folder.
    validation : Labelled, optional
        Rows to score the network on after each epoch. Without them nothing stops training early.
    score : callable, optional
        ``score(targets, outputs, weights)``, higher is better. Default: minus the validation loss.
    options : TrainingOptions, optional
    progress
        As for :func:`tsenet.learn_tree`.
    seed : int
        Of the order of the rows. Each epoch's order depends on (seed, epoch) alone.
    after_step : callable, optional
        Called after each step.

    Raises
    ------
    DivergenceError
        If the loss becomes infinite or NaN while there are no best weights to keep.
    """
    options = TrainingOptions() if options is None else options
    n_batches = -(-source.n_rows // options.batch_size)
    history, best = History(), None
    # A loss that is not finite is refused below.
    with as_progress(progress) as report, np.errstate(invalid="ignore", over="ignore"):
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
            logger.info("%s", history)
        if best is not None:
            engine.load_weights(best)
        history = replace(history, stopped=stopped)
        report.finish(repr(history))
    return history


def _epoch(
    engine: Engine,
    batches: Iterator[Labelled],
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
        rate = options.learning_rate_at(epoch + number / n_batches)
        loss = engine.step(batch, rate, epoch * n_batches + number)
        if not math.isfinite(loss):
            raise DivergenceError(
                f"the loss became {loss} in epoch {epoch + 1}: lower the learning rate "
                f"({rate:g}), or scale the columns of the data to similar sizes"
            )
        if after_step is not None:
            after_step()
        loss_sum += loss * batch.n_rows
        n_rows += batch.n_rows
        report.advance(1, f"epoch {epoch + 1}/{options.max_epochs}, loss {loss:.4g}{score}")
    return loss_sum / n_rows, rate


def _validate(engine: Engine, validation: Labelled, score: Score | None) -> tuple[float, float]:
    """Loss and score of the validation rows."""
    targets, weights = validation.targets, validation.weights
    outputs = engine.outputs(validation.inputs, validation.rows).astype(np.float64)  # (n, C)
    loss, _ = engine.loss.gradient(outputs, targets, weights)
    return loss, -loss if score is None else score(targets, outputs, weights)
