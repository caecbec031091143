"""The recipe: how a network is fitted to rows, targets and a wiring, from first weights to the network that is kept.

With ``init="fan-in"`` (the paper): weights are drawn at random, a part of the labelled rows is held out, and
back-propagation stops when the validation rows see no more progress.

With ``init="tree"``:

1. The *linear start* fits a linear model of the input to the labels; on bags of words it also learns from the rows
   without labels (:mod:`tsenet.training.linear_start`).
2. The *network* begins with units that follow what their links say about all rows. It is trained by back-propagation
   on the labelled rows and, where there are rows without labels, on what the linear start says about these: the start
   is the teacher, the network the student.
3. Network and start are *blended*: the outputs are a weighted sum of both, which is one network with linear skips. The
   weights come from rows that neither has seen: those of a cross-validation, or validation rows where rows are many.
   With few labels and many rows without, both count alike. If the sum is not clearly better than the network
   alone, the linear skips are left out.

Reasons and measurements: docs/adr/0014-taught-networks.md.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
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
from tsenet.training.linear_fit import Linear, blend_weights
from tsenet.training.linear_start import LinearStart, fit_linear_start
from tsenet.training.loop import Score, Validation, train
from tsenet.training.losses import BinaryLoss, Loss, MulticlassLoss
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

_RATE = 1e-3
_RATE_DENSE = 3e-3  # where it falls to 0 in the end
_STEPS = 1600  # at least so many in a training, also on small tables …
_EPOCHS = 20  # … and so many epochs on large ones
_MOST_EPOCHS = 150
_ROWS_IN_ALL = 4_000_000  # rows that a training passes at most, in at least five epochs
_UNSEEN = 0.1  # a network that has not seen more of the labelled rows is trained anew on all
_FEW_LATENTS = 100  # a table of so few latents needs units that read its columns directly
_FOLDS = 3  # of the start's folds, on which a network is compared with it
_STOPPED_BY_USER = ("interrupted", "callback")


@dataclass(frozen=True)
class TrainingSettings:
    """How any network is trained; the fields are the estimators' parameters of the same names."""

    learning_rate: float | None = None
    batch_size: int | None = None
    max_epochs: int | None = None
    early_stopping: bool = True
    validation_fraction: float = 0.1
    patience: int = 5
    device: str = "auto"
    n_jobs: int | None = None
    callbacks: Sequence[Callback] | None = None

    def __post_init__(self) -> None:
        check_fraction(self.validation_fraction)
        self.options(256)  # refuses values that mean nothing

    def options(self, n_rows: int, keep_start: bool = False) -> TrainingOptions:
        """Options of a training that early stopping ends; small tables get at least 20 steps an epoch."""
        batch_size = 256 if self.batch_size is None else self.batch_size
        return TrainingOptions(
            learning_rate=_RATE if self.learning_rate is None else self.learning_rate,
            batch_size=min(batch_size, max(32, n_rows // 20)),
            max_epochs=100 if self.max_epochs is None else self.max_epochs,
            early_stopping=self.early_stopping,
            patience=self.patience,
            keep_start=keep_start,
        )

    def fixed_length(self, n_rows: int, sparse: bool) -> TrainingOptions:
        """Options of a training of fixed length, whose learning rate falls to 0."""
        rate = _RATE if sparse else _RATE_DENSE
        usual = min(256 if sparse else 128, max(16, n_rows // 16))
        batch_size = min(usual, n_rows) if self.batch_size is None else self.batch_size
        n_batches = -(-n_rows // batch_size)
        enough = max(_EPOCHS, -(-_STEPS // n_batches))
        epochs = min(enough, _MOST_EPOCHS, max(5, _ROWS_IN_ALL // n_rows))
        return TrainingOptions(
            learning_rate=rate if self.learning_rate is None else self.learning_rate,
            batch_size=batch_size,
            max_epochs=epochs if self.max_epochs is None else self.max_epochs,
            early_stopping=False,
            cosine=True,
        )

    def torch_device(self) -> str:
        """Where to train."""
        if self.device != "auto":
            return self.device
        return "cuda" if torch.cuda.is_available() else "cpu"


@dataclass(frozen=True)
class Recipe(TrainingSettings):
    """How a TSE-Net is built and trained; the fields are the estimators' parameters of the same names."""

    skip_units: int | None = None
    feature_units: int = 100
    activation: Literal["relu", "tanh", "sigmoid"] = "relu"
    dropout: float | None = None
    norm: Literal["batch"] | None = None
    linear_skip: bool | Literal["auto"] = "auto"
    init: Literal["fan-in", "tree"] = "tree"
    units_per_latent: int | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.linear_skip not in (True, False, "auto"):
            raise ValueError(f"linear_skip must be True, False or 'auto', not {self.linear_skip!r}")
        if self.init not in ("fan-in", "tree"):
            raise ValueError(f"init must be 'fan-in' or 'tree', not {self.init!r}")
        self._network(False, units=1, skip_units=0, dropout=0.1)  # refuses values that mean nothing

    def network(self, inputs: Inputs, wiring: Wiring, linear_skip: bool) -> NetworkOptions:
        """Options of a network; what the user left open depends on the rows and the sizes of the layers."""
        n_latents = sum(wiring.layer_sizes[1:])
        if inputs.is_sparse:
            return self._network(linear_skip, units=2, skip_units=0, dropout=0.3)
        if n_latents < _FEW_LATENTS:
            return self._network(linear_skip, units=4, skip_units=100, dropout=0.1)
        return self._network(linear_skip, units=8, skip_units=0, dropout=0.2)

    def _network(
        self, linear_skip: bool, units: int, skip_units: int, dropout: float
    ) -> NetworkOptions:
        """Options where the user left open what the arguments name; ``init="fan-in"`` has the paper's values."""
        paper = self.init == "fan-in"
        return NetworkOptions(
            skip_units=(100 if paper else skip_units)
            if self.skip_units is None
            else self.skip_units,
            feature_units=self.feature_units,
            activation=self.activation,
            dropout=(0.5 if paper else dropout) if self.dropout is None else self.dropout,
            norm=self.norm,
            linear_skip=linear_skip,
            init="fan-in" if paper else "directions",
            units_per_latent=(1 if paper else units)
            if self.units_per_latent is None
            else self.units_per_latent,
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
    """

    net: TSENet
    options: NetworkOptions
    history: History
    engine: Engine


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
    validation: Validation | None = None,
    score: Score | None = None,
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
    validation : Validation, optional
        Rows to score each network on after every epoch. Without them, ``init="fan-in"`` holds some out.
    score : Score, optional
        Of validation rows; default: minus the loss.
    folder : RunFolder, optional
        Where each training writes its checkpoint.
    """
    loss = targets.loss(rows.labelled.targets, class_weight)
    task = _Task(
        rows, targets, loss, wiring, recipe, net_seed, seeds, report, folder, validation, score
    )
    return task.fit_plain() if recipe.init == "fan-in" else task.fit_with_start()


@dataclass(frozen=True, eq=False)
class _Task:
    """What all parts of one fit share."""

    rows: TrainingRows
    targets: Targets
    loss: Loss
    wiring: Wiring
    recipe: Recipe
    net_seed: int
    seeds: RunSeeds
    report: Progress
    folder: RunFolder | None
    validation: Validation | None
    score: Score | None

    def fit_plain(self) -> TrainedNetwork:
        """Random weights, then back-propagation until the validation rows see no more progress."""
        split = hold_out(self.rows, self.targets, self.recipe, self.seeds.split, self.validation)
        options, net, engine = self._new_network()
        history = train_network(
            engine,
            split,
            self.recipe,
            self.seeds.order,
            self.report,
            score=self.score,
            checkpoint=self._checkpoint("plain"),
        )
        return TrainedNetwork(net.to("cpu").eval(), options, history, engine)

    def fit_with_start(self) -> TrainedNetwork:
        """A linear start, a network that it teaches, and the blend of both."""
        labelled, inputs = self.rows.labelled, self.rows.inputs
        all_labelled = labelled.rows.size == len(inputs)
        if all_labelled and not self.recipe.linear_skip:
            return self._train(labelled, None, "network")
        start = fit_linear_start(inputs, labelled, self.loss, self.seeds.start, self.report)
        if all_labelled:
            trained, share = self._trained_and_compared(start)
        else:
            trained = self._train(labelled, start.model, "network")
            share = np.array([0.5, 0.5])
        if not self.recipe.linear_skip or share[0] == 0.0:
            return trained
        return self._with_linear_skip(trained, start.model, share)

    def _trained_and_compared(
        self, start: LinearStart
    ) -> tuple[TrainedNetwork, NDArray[np.float64]]:
        """A network of all labelled rows, and the weights of start and network on rows that neither has seen."""
        labelled, values = self.rows.labelled, self.rows.inputs.values
        n_folds = min(int(start.fold.max()) + 1, _FOLDS)
        by_network = np.empty((labelled.rows.size, self.loss.n_outputs))
        for k in range(n_folds):
            unseen = start.fold == k
            trained = self._train(labelled.take(np.flatnonzero(~unseen)), None, f"fold-{k}")
            by_network[unseen] = self._outputs(trained.net, Inputs(values[labelled.rows[unseen]]))
            if trained.history.stopped in _STOPPED_BY_USER:
                return trained, np.array([0.0, 1.0])
        compared = (start.fold >= 0) & (start.fold < n_folds)
        held = labelled.take(np.flatnonzero(compared))
        share = self._blend(start.outputs[compared[start.fold >= 0]], by_network[compared], held)
        if n_folds > 1 or np.mean(compared) > _UNSEEN:
            trained = self._train(labelled, None, "network")
        return trained, share

    @cached_property
    def _initial(self) -> tuple[NetworkOptions, dict[str, torch.Tensor]]:
        """Options and initial weights of the network; the same for every fold, since they need no labels."""
        options = self.recipe.network(self.rows.inputs, self.wiring, linear_skip=False)
        net = TSENet(self.wiring, self.loss.n_outputs, **{**options.to_dict(), "init": None})
        set_initial_weights(net, options.init or "fan-in", self.net_seed, self.rows.inputs)
        return options, net.state_dict()

    def _new_network(self) -> tuple[NetworkOptions, TSENet, Engine]:
        """A network with its initial weights, and what trains it."""
        options, weights = self._initial
        net = TSENet(self.wiring, self.loss.n_outputs, **{**options.to_dict(), "init": None})
        net.load_state_dict(weights)
        engine = _engine(net, self.rows.inputs, self.loss, self.recipe, self.seeds.dropout)
        return options, net, engine

    def _train(self, labelled: Labelled, teacher: Linear | None, name: str) -> TrainedNetwork:
        """Train a new network on labelled rows and, with a teacher, on what it says about all others."""
        options, net, engine = self._new_network()
        rows, targets, weights = labelled.rows, labelled.targets, labelled.weights
        if teacher is not None:
            rows, targets, weights = self._taught_rows(labelled, teacher)
        history = train(
            engine,
            rows,
            targets,
            weights,
            validation=self.validation,
            score=self.score,
            options=self.recipe.fixed_length(rows.size, self.rows.inputs.is_sparse),
            callbacks=self.recipe.callbacks or (),
            progress=self.report,
            seed=self.seeds.order,
            checkpoint=self._checkpoint(name),
        )
        return TrainedNetwork(net.to("cpu").eval(), options, history, engine)

    def _taught_rows(
        self, labelled: Labelled, teacher: Linear
    ) -> tuple[NDArray[np.int64], NDArray[np.float64], NDArray[np.float64] | None]:
        """All rows with what the teacher says about them; the true targets of labelled ones."""
        n_rows = len(self.rows.inputs)
        said = self.loss.predict(teacher(self.rows.inputs.values))  # (N, C)
        if isinstance(self.loss, BinaryLoss):
            said = said[:, 1]
            said[labelled.rows] = labelled.targets
        elif isinstance(self.loss, MulticlassLoss):
            said[labelled.rows] = np.eye(self.loss.n_outputs)[labelled.targets]
        else:
            known = labelled.targets.reshape(labelled.rows.size, -1)
            said[labelled.rows] = np.where(np.isnan(known), said[labelled.rows], known)
        weights = None
        if labelled.weights is not None:
            weights = np.full(n_rows, labelled.weights.mean())
            weights[labelled.rows] = labelled.weights
        return np.arange(n_rows), said, weights

    def _outputs(self, net: TSENet, inputs: Inputs) -> NDArray[np.float64]:
        return network_outputs(net, inputs, self.recipe.n_jobs)

    def _blend(
        self, by_start: NDArray[np.float64], by_network: NDArray[np.float64], held: Labelled
    ) -> NDArray[np.float64]:
        """Weights of start and network in the outputs; with "auto", 0 for a start that does not clearly help."""
        both = blend_weights([by_start, by_network], held.targets, held.weights, self.loss)
        if self.recipe.linear_skip is True:
            return both
        (alone,) = blend_weights([by_network], held.targets, held.weights, self.loss)

        def losses(outputs: NDArray[np.float64]) -> NDArray[np.float64]:
            return losses_by_part(self.loss, outputs, held.targets, held.weights)

        gain = losses(alone * by_network) - losses(both[0] * by_start + both[1] * by_network)
        return both if gain.mean() > standard_error(gain) else np.array([0.0, alone])

    def _with_linear_skip(
        self, trained: TrainedNetwork, start: Linear, share: NDArray[np.float64]
    ) -> TrainedNetwork:
        """The network with a linear skip from the input, so that its outputs are the blend."""
        options = replace(trained.options, linear_skip=True)
        net = TSENet(self.wiring, self.loss.n_outputs, **{**options.to_dict(), "init": None})
        with torch.no_grad():
            net.load_state_dict(trained.net.state_dict(), strict=False)
            net.output.weight.mul_(share[1])
            net.output.bias.mul_(share[1]).add_(torch.from_numpy(share[0] * start.bias))
            next(iter(net.linear_skips)).copy_(torch.from_numpy(share[0] * start.weight))
        engine = _engine(net, self.rows.inputs, self.loss, self.recipe, self.seeds.dropout)
        return TrainedNetwork(net.eval(), options, trained.history, engine)

    def _checkpoint(self, name: str) -> Checkpoint | None:
        return None if self.folder is None else self.folder.training(name)


def continue_network(
    net: TSENet,
    options: NetworkOptions,
    rows: TrainingRows,
    targets: Targets,
    recipe: Recipe,
    seeds: RunSeeds,
    report: Progress,
    *,
    class_weight: Any = None,
    kept_weights: Masks | None = None,
    optimiser: dict[str, NDArray[Any]] | None = None,
    validation: Validation | None = None,
    score: Score | None = None,
) -> TrainedNetwork:
    """Train a network further from the weights it has: warm start, ``partial_fit``, or after pruning.

    Parameters
    ----------
    net, options, rows, targets, recipe, seeds, report, class_weight
        As for :func:`fit_network`.
    kept_weights : dict of str to mask, optional
        Which weights pruning left, by the names of their parameters; the others stay 0. The present weights then
        have to be beaten.
    optimiser : dict, optional
        State of the engine that trained it before.
    validation, score
        As for :func:`fit_network`.
    """
    loss = targets.loss(rows.labelled.targets, class_weight)
    split = hold_out(rows, targets, recipe, seeds.split, validation)
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
        score=score,
        keep_start=kept_weights is not None,
        own_callbacks=own,
    )
    return TrainedNetwork(net.to("cpu").eval(), options, history, engine)


# ---- its steps, which dense networks share


def hold_out(
    rows: TrainingRows,
    targets: Targets,
    settings: TrainingSettings,
    seed: np.random.SeedSequence,
    given: Validation | None = None,
) -> Split:
    """Hold out validation rows, if training may stop early and none are given.

    Classes keep their shares, duplicates stay together.
    """
    labelled = rows.labelled
    if given is not None:
        return Split(labelled, given)
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
    score: Score | None = None,
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
        score=score,
        options=settings.options(kept.rows.size, keep_start),
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
