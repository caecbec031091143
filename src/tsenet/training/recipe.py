"""The recipe: how a network is fitted to rows, targets and a wiring, from first weights to the network that is kept.

1. A part of the labelled rows is held out for validation (:func:`hold_out`), unless labels are few.
2. A candidate network gets initial weights that follow the latent tree. If it has linear skips, the linear start fits
   these to the labels; with few labels that is all.
3. Back-propagation goes on from there. It stops when the validation rows see no more progress and keeps the best
   weights, those of the start included.
4. On dense rows a second candidate without linear skips is trained. The linear skips are kept only if the validation
   rows prefer them by more than a standard error.
5. If no epoch beat the linear start, the start is fitted again to all labelled rows.

Reasons and measurements: docs/adr/0009-few-labels.md and docs/adr/0010-held-out-rows.md.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray

from tsenet._system.seeds import seed_number, seed_sequence
from tsenet.expansion.wiring import Wiring
from tsenet.network.batches import Inputs
from tsenet.network.forward import network_outputs
from tsenet.network.initial_weights import set_initial_weights
from tsenet.network.options import NetworkOptions
from tsenet.network.tsenet import TSENet
from tsenet.progress import Progress
from tsenet.training.callbacks import Callback
from tsenet.training.checkpoint import Checkpoint, RunFolder
from tsenet.training.comparison import losses_by_part, standard_error
from tsenet.training.engine import AutogradEngine, Engine
from tsenet.training.fused import FusedEngine
from tsenet.training.history import History
from tsenet.training.linear_start import start_from_labels
from tsenet.training.loop import Validation, train
from tsenet.training.losses import Loss
from tsenet.training.options import TrainingOptions
from tsenet.training.pruning import KeepRemoved, Masks
from tsenet.training.rows import Labelled, TrainingRows
from tsenet.training.split import check_fraction, split_rows
from tsenet.training.targets import Targets

__all__ = [
    "Recipe",
    "RunSeeds",
    "TrainedNetwork",
    "TrainingSettings",
    "continue_network",
    "fit_network",
    "hold_out",
    "train_network",
]

# With fewer labelled rows back-propagation did not improve on the linear start (docs/adr/0009-few-labels.md).
_ENOUGH_LABELS_SPARSE = 2000
_ENOUGH_LABELS_DENSE = 500
_RATE = 1e-3
_RATE_AFTER_SPARSE_START = 1e-4
_STOPPED_BY_USER = ("interrupted", "callback")


@dataclass(frozen=True)
class TrainingSettings:
    """How any network is trained; the fields are the estimators' parameters of the same names."""

    learning_rate: float | None = None
    batch_size: int = 256
    max_epochs: int = 100
    early_stopping: bool = True
    validation_fraction: float = 0.1
    patience: int = 5
    device: str = "auto"
    n_jobs: int | None = None
    callbacks: Sequence[Callback] | None = None

    def __post_init__(self) -> None:
        check_fraction(self.validation_fraction)
        self.options(_RATE, self.batch_size)  # refuses values that mean nothing

    def options(
        self, default_rate: float, n_rows: int, keep_start: bool = False
    ) -> TrainingOptions:
        """Options of the training loop for ``n_rows`` rows; small tables get at least 20 steps an epoch."""
        return TrainingOptions(
            learning_rate=default_rate if self.learning_rate is None else self.learning_rate,
            batch_size=min(self.batch_size, max(32, n_rows // 20)),
            max_epochs=self.max_epochs,
            early_stopping=self.early_stopping,
            patience=self.patience,
            keep_start=keep_start,
        )

    def torch_device(self) -> str:
        """Where to train."""
        if self.device != "auto":
            return self.device
        return "cuda" if torch.cuda.is_available() else "cpu"


@dataclass(frozen=True)
class Recipe(TrainingSettings):
    """How a TSE-Net is built and trained; the fields are the estimators' parameters of the same names."""

    skip_units: int = 100
    feature_units: int = 100
    activation: Literal["relu", "tanh", "sigmoid"] = "relu"
    dropout: float = 0.5
    norm: Literal["batch"] | None = None
    linear_skip: bool | Literal["auto"] = "auto"
    init: Literal["fan-in", "tree"] = "tree"

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.linear_skip not in (True, False, "auto"):
            raise ValueError(f"linear_skip must be True, False or 'auto', not {self.linear_skip!r}")
        self.network(linear_skip=False)

    def network(self, linear_skip: bool) -> NetworkOptions:
        """Options of a candidate network."""
        return NetworkOptions(
            skip_units=self.skip_units,
            feature_units=self.feature_units,
            activation=self.activation,
            dropout=self.dropout,
            norm=self.norm,
            linear_skip=linear_skip,
            init=self.init,
        )


class RunSeeds(NamedTuple):
    """Seeds of one training: which rows are held out, dropout, order of the rows, folds of the linear start."""

    split: np.random.SeedSequence
    dropout: int
    order: int
    start: int

    @classmethod
    def of(cls, seed: np.random.SeedSequence, n_runs: int) -> RunSeeds:
        """Seeds of an estimator's training number ``n_runs``; its first three seeds build structure and network."""
        *_, run = seed_sequence(seed).spawn(4 + n_runs)  # of a copy: spawning changes a sequence
        split, *others = run.spawn(4)
        return cls(split, *(seed_number(other) for other in others))


@dataclass(frozen=True, eq=False)
class TrainedNetwork:
    """What the recipe hands back.

    Attributes
    ----------
    net : TSENet
        On the CPU, in evaluation mode.
    options : NetworkOptions
        Those of the candidate that was kept.
    history : History
    engine : Engine
        What trained it; its state lets training go on.
    started : bool
        Whether training began from a linear start.
    """

    net: TSENet
    options: NetworkOptions
    history: History
    engine: Engine
    started: bool


class Split(NamedTuple):
    """Labelled rows to train on, and those held out to tell when to stop."""

    kept: Labelled
    validation: Validation | None


# ---- the policy


def fit_network(
    rows: TrainingRows,
    targets: Targets,
    wiring: Wiring,
    recipe: Recipe,
    net_seed: int,
    seeds: RunSeeds,
    report: Progress,
    *,
    class_weight: Any = None,
    folder: RunFolder | None = None,
) -> TrainedNetwork:
    """Fit a new network (paper §5).

    Parameters
    ----------
    rows : TrainingRows
    targets : Targets
        What the rows' targets mean.
    wiring : Wiring
    recipe : Recipe
    net_seed : int
        Of the weights drawn at random.
    seeds : RunSeeds
    report : Progress
    class_weight : optional
        As for :class:`tsenet.TSENetClassifier`.
    folder : RunFolder, optional
        Where each candidate's training writes its checkpoint.
    """
    loss = targets.loss(rows.labelled.targets, class_weight)
    few = _labels_are_few(rows, recipe)
    split = Split(rows.labelled, None) if few else hold_out(rows, targets, recipe, seeds.split)
    task = _Task(rows, split, loss, wiring, recipe, net_seed, seeds, report, folder)

    trained = task.fit_candidate(linear_skip=bool(recipe.linear_skip), back_propagation=not few)
    if task.wants_comparison(trained):
        without = task.fit_candidate(linear_skip=False, back_propagation=True)
        if not task.clearly_better(trained.net, without.net):
            trained = without
    no_epoch_was_better = split.validation is not None and trained.history.best_epoch is None
    if trained.started and no_epoch_was_better:
        task.set_initial_weights(trained.net, rows.labelled)
    return trained


def continue_network(
    net: TSENet,
    options: NetworkOptions,
    rows: TrainingRows,
    targets: Targets,
    recipe: Recipe,
    seeds: RunSeeds,
    report: Progress,
    *,
    started: bool,
    class_weight: Any = None,
    kept_weights: Masks | None = None,
    optimiser: dict[str, NDArray[Any]] | None = None,
) -> TrainedNetwork:
    """Train a network further from the weights it has: warm start, ``partial_fit``, or after pruning.

    Parameters
    ----------
    net, options, rows, targets, recipe, seeds, report, class_weight
        As for :func:`fit_network`.
    started : bool
        Whether the network's first training began from a linear start, which large steps would undo.
    kept_weights : dict of str to mask, optional
        Which weights pruning left, by the names of their parameters; the others stay 0. The present weights then
        have to be beaten.
    optimiser : dict, optional
        State of the engine that trained it before.
    """
    loss = targets.loss(rows.labelled.targets, class_weight)
    split = hold_out(rows, targets, recipe, seeds.split)
    engine = _engine(net, rows.inputs, loss, recipe, seeds.dropout)
    if optimiser is not None:
        engine.load_state(optimiser)
    own = () if kept_weights is None else (KeepRemoved(net, kept_weights),)
    history = train_network(
        engine,
        split,
        recipe,
        seeds.order,
        report,
        default_rate=_rate(rows.inputs, started),
        keep_start=kept_weights is not None,
        own_callbacks=own,
    )
    return TrainedNetwork(net.to("cpu").eval(), options, history, engine, started)


def _labels_are_few(rows: TrainingRows, recipe: Recipe) -> bool:
    """Whether the linear start alone will do as well as training on from it."""
    starts = recipe.init == "tree" and bool(recipe.linear_skip)
    enough = _ENOUGH_LABELS_SPARSE if rows.inputs.is_sparse else _ENOUGH_LABELS_DENSE
    return starts and recipe.early_stopping and rows.labelled.rows.size < enough


@dataclass(frozen=True, eq=False)
class _Task:
    """What all candidates for one fit share."""

    rows: TrainingRows
    split: Split
    loss: Loss
    wiring: Wiring
    recipe: Recipe
    net_seed: int
    seeds: RunSeeds
    report: Progress
    folder: RunFolder | None

    def fit_candidate(self, linear_skip: bool, back_propagation: bool) -> TrainedNetwork:
        """Build a network, give it its initial weights, and train it."""
        options = self.recipe.network(linear_skip)
        net = TSENet(self.wiring, self.loss.n_outputs, **{**options.to_dict(), "init": None})
        started = self.set_initial_weights(net, self.split.kept)
        engine = _engine(net, self.rows.inputs, self.loss, self.recipe, self.seeds.dropout)
        if not back_propagation:
            return TrainedNetwork(
                net.eval(), options, History(stopped="few labels"), engine, started
            )
        name = "with-linear-skip" if linear_skip else "without-linear-skip"
        history = train_network(
            engine,
            self.split,
            self.recipe,
            self.seeds.order,
            self.report,
            default_rate=_rate(self.rows.inputs, started),
            keep_start=started,
            checkpoint=None if self.folder is None else self.folder.training(name),
        )
        return TrainedNetwork(net.to("cpu").eval(), options, history, engine, started)

    def set_initial_weights(self, net: TSENet, labelled: Labelled) -> bool:
        """Random weights, or units that follow the latent tree and, where there are linear skips, a linear start.

        Tells whether there was a linear start.
        """
        set_initial_weights(net, self.recipe.init, self.net_seed, self.rows.inputs)
        if self.recipe.init != "tree" or not list(net.linear_skips):
            return False
        start_from_labels(net, self.rows.inputs, labelled, self.loss, self.seeds.start, self.report)
        return True

    def wants_comparison(self, trained: TrainedNetwork) -> bool:
        """Whether a network without linear skips should be tried too.

        Linear skips learn fast: on most tables they help much or do no harm, on some they overfit before the units
        have learned.
        """
        return (
            self.recipe.linear_skip == "auto"
            and not self.rows.inputs.is_sparse
            and self.split.validation is not None
            and trained.history.stopped not in _STOPPED_BY_USER
        )

    def clearly_better(self, one: TSENet, other: TSENet) -> bool:
        """Whether the validation loss of one network is lower by more than a standard error."""
        assert self.split.validation is not None
        inputs, rows, targets, weights = self.split.validation
        held_out = Inputs(inputs.values[rows])

        def losses(net: TSENet) -> NDArray[np.float64]:
            outputs = network_outputs(net, held_out, self.recipe.n_jobs)
            return losses_by_part(self.loss, outputs, targets, weights)

        gain = losses(other) - losses(one)
        return bool(gain.mean() > standard_error(gain))


# ---- its steps, which dense networks share


def hold_out(
    rows: TrainingRows,
    targets: Targets,
    settings: TrainingSettings,
    seed: np.random.SeedSequence,
) -> Split:
    """Hold out validation rows, if training may stop early: classes keep their shares, duplicates stay together."""
    labelled = rows.labelled
    if not settings.early_stopping:
        return Split(labelled, None)
    inside, outside = split_rows(
        labelled.rows.size,
        settings.validation_fraction,
        seed,
        targets.stratify(labelled.targets),
        labelled.duplicate_groups,
    )
    if not outside.size:
        return Split(labelled, None)
    held_out = labelled.take(outside)
    validation = Validation(rows.inputs, held_out.rows, held_out.targets, held_out.weights)
    return Split(labelled.take(inside), validation)


def train_network(
    engine: Engine,
    split: Split,
    settings: TrainingSettings,
    order_seed: int,
    report: Progress,
    *,
    default_rate: float = _RATE,
    keep_start: bool = False,
    own_callbacks: tuple[Callback, ...] = (),
    checkpoint: Checkpoint | None = None,
) -> History:
    """Run the training loop on the rows that were kept."""
    kept = split.kept
    return train(
        engine,
        kept.rows,
        kept.targets,
        kept.weights,
        validation=split.validation,
        options=settings.options(default_rate, kept.rows.size, keep_start),
        callbacks=(*(settings.callbacks or ()), *own_callbacks),
        progress=report,
        seed=order_seed,
        checkpoint=checkpoint,
    )


def _engine(net: TSENet, inputs: Inputs, loss: Loss, recipe: Recipe, seed: int) -> Engine:
    """Kernels on a CPU; autograd on other devices and for batch normalisation."""
    device = recipe.torch_device()
    if device == "cpu" and not net.has_norm:
        return FusedEngine(net, inputs, loss, seed=seed, n_jobs=recipe.n_jobs)
    return AutogradEngine(net, inputs, loss, device=device, seed=seed)


def _rate(inputs: Inputs, started: bool) -> float:
    """The learning rate if the user gave none: large steps would undo a linear start on sparse rows."""
    return _RATE_AFTER_SPARSE_START if started and inputs.is_sparse else _RATE
