"""Training: steps of a network by Adam, and the loop over epochs, which keeps the best weights."""

from __future__ import annotations

import logging
import math
import time
from collections.abc import Callable, Iterable, Iterator
from copy import deepcopy
from dataclasses import InitVar, dataclass, replace
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from tsenet._system.threads import blas_threads, torch_threads
from tsenet.errors import DivergenceError
from tsenet.network import kernels
from tsenet.network.inputs import Inputs
from tsenet.network.sparse_linear import batch_of, step_generator
from tsenet.network.training_pass import TrainingPass
from tsenet.network.tsenet import TSENet
from tsenet.progress import Progress, as_progress
from tsenet.training.examples import Examples
from tsenet.training.history import History
from tsenet.training.losses import Loss
from tsenet.training.scores import Score

if TYPE_CHECKING:
    from tsenet.training.folder import FolderRows

logger = logging.getLogger("tsenet.training")


# ---- steps


class AdamState(NamedTuple):
    """Running means of the gradient and its square for each array of weights, and the number of steps taken.

    The arrays are NumPy's on a CPU, torch's on other devices.
    """

    means: list[Any]
    squares: list[Any]
    n_steps: list[int]

    @classmethod
    def zeros(cls, weights: Iterable[Any]) -> AdamState:
        """The state before the first step."""
        kept = list(weights)
        means, squares = ([0 * weight for weight in kept] for _ in range(2))
        return cls(means, squares, [0 for _ in kept])


def take_adam_step(
    weights: list[Any], gradients: list[Any], state: AdamState, learning_rate: float
) -> None:
    """Take Adam's step along the gradients.

    Weights that took no part in the step, those of skip groups that were off, have no gradient and stay as they are.
    """
    for place, (weight, gradient) in enumerate(zip(weights, gradients, strict=True)):
        if gradient is None:
            continue
        state.n_steps[place] += 1
        n_steps = state.n_steps[place]
        mean = state.means[place]
        square = state.squares[place]
        # the means start at 0: both are too small at first
        rate = learning_rate / (1 - 0.9**n_steps)
        growth = 1 / math.sqrt(1 - 0.999**n_steps)
        if isinstance(weight, np.ndarray):
            kernels.adam_step(gradient, rate, growth, mean, square, weight)
        else:
            mean.lerp_(gradient, 0.1)
            square.lerp_(gradient.square(), 0.001)
            weight.addcdiv_(mean, square.sqrt().mul_(growth).add_(1e-8), value=-rate)


@dataclass(eq=False)
class Engine:
    """Training steps by Adam: on a CPU by `TrainingPass`, on other devices by torch's autograd.

    On a CPU a step runs on one thread: sums then do not depend on the number of cores, and most networks are too small
    for more. Besides the network's weights, ``adam`` is all that an engine remembers between steps.

    Parameters
    ----------
    net : TSENet
        It is moved to the device. Steps leave it in training mode.
    loss : Loss
        What training minimises.
    device : str, default="cpu"
        Where the network is trained.
    seed : int, default=0
        Of the dropout masks.
    n_jobs : int or None, default=None
        Threads of `outputs`; None takes every core. Results do not depend on it.
    input_dropout : float, default=0.0
        Share of the values of each batch that are dropped.
    earlier : AdamState, optional
        Of an engine that trained the network before.

    Attributes
    ----------
    adam : AdamState
    """

    net: TSENet
    loss: Loss
    device: str = "cpu"
    seed: int = 0
    n_jobs: int | None = None
    input_dropout: float = 0.0
    earlier: InitVar[AdamState | None] = None

    def __post_init__(self, earlier: AdamState | None) -> None:
        self.net.to(self.device).train()
        self._pass = TrainingPass(self.net) if self.device == "cpu" else None
        self._weights: list[Any] = [parameter.data for parameter in self.net.parameters()]
        if self._pass is not None:
            flat = self._pass.parameters
            self._weights = _in_two(flat.weights, flat.n_without_skips)
            self._gradients = _in_two(flat.gradients, flat.n_without_skips)
        self.adam = AdamState.zeros(self._weights) if earlier is None else earlier

    def step(self, batch: Examples, learning_rate: float, step: int) -> float:
        """Take one Adam step on a batch and return its mean loss before it.

        ``step`` counts the steps of a run and chooses the dropout masks.
        """
        rows = batch.inputs.take(batch.rows, self.input_dropout, (self.seed << 32) + step)
        gradients: list[Any]
        if self._pass is None:
            loss, gradients = self._by_autograd(rows, batch, step)
        else:
            generator = step_generator(self.seed, step)
            outputs = self._pass.forward(rows, generator)  # (B, C)
            loss, slope = self.loss.gradient(outputs, batch.targets, batch.weights)
            self._pass.backward(slope)
            gradients = [*self._gradients]
            if self._pass.skips_are_off:
                gradients[1] = None

        take_adam_step(self._weights, gradients, self.adam, learning_rate)
        return loss

    def _by_autograd(self, rows: Any, batch: Examples, step: int) -> tuple[float, list[Any]]:
        """Loss and gradients on other devices."""
        self.net.begin_step(self.seed, step)
        outputs: Tensor = self.net(batch_of(rows).to(self.device))  # (B, C)
        found = outputs.detach().cpu().numpy()
        loss, slope = self.loss.gradient(found, batch.targets, batch.weights)
        for parameter in self.net.parameters():
            parameter.grad = None
        outputs.backward(torch.from_numpy(slope).to(self.device))  # type: ignore[no-untyped-call]  # torch's
        return loss, [parameter.grad for parameter in self.net.parameters()]

    def outputs(self, inputs: Inputs, rows: NDArray[np.int64]) -> NDArray[np.float64]:
        """Outputs (n, C) of some rows of a table, without dropout; computed on the CPU."""
        return self.net.predictor().outputs(inputs, rows, self.n_jobs)


def _in_two(flat: NDArray[Any], n_first: int) -> list[NDArray[Any]]:
    """The parameters of a network without its skip groups, and those of the skip groups, if there are any."""
    return [part for part in (flat[:n_first], flat[n_first:]) if part.size]


# ---- epochs


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
    source: Examples | FolderRows,
    *,
    validation: Examples | None = None,
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
    source : Examples or FolderRows
        Where the batches come from: rows in memory, or in a folder.
    validation : Examples, optional
        Rows to score the network on after each epoch. Without them nothing stops training early.
    score : callable, optional
        ``score(validation, outputs)``, higher is better. Default: minus the validation loss.
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
    history = History()
    best = None
    with (
        as_progress(progress) as report,
        np.errstate(invalid="ignore", over="ignore"),  # a loss that is not finite is refused below
        torch_threads(1),
        blas_threads(1),  # set once: it takes as long as five steps of a small network
    ):
        report.start("training", options.max_epochs * n_batches)
        while (stopped := options.stop_reason(history)) is None:
            began = time.perf_counter()
            batches = source.batches(seed, history.n_epochs, n_batches)
            try:
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
                best = deepcopy(engine.net.state_dict())

            logger.info("%s", history)

        if best is not None:
            engine.net.load_state_dict(best)

        history = replace(history, stopped=stopped)
        report.finish(str(history))

    return history


def _epoch(
    engine: Engine,
    batches: Iterator[Examples],
    n_batches: int,
    options: TrainingOptions,
    history: History,
    report: Progress,
    after_step: Callable[[], None] | None,
) -> tuple[float, float]:
    """Take a step on each batch; return the mean loss and the last learning rate."""
    epoch = history.n_epochs
    loss_sum = 0.0
    n_rows = 0
    rate = 0.0
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


def _validate(engine: Engine, validation: Examples, score: Score | None) -> tuple[float, float]:
    """Loss and score of the validation rows."""
    outputs = engine.outputs(validation.inputs, validation.rows)  # (n, C)
    loss, _ = engine.loss.gradient(outputs, validation.targets, validation.weights)
    return loss, -loss if score is None else score(validation, outputs)
