"""The recipe: how a network is fitted to rows, targets and a wiring, from first weights to the network that is kept.

With ``init="random"`` (the paper): weights are drawn at random, a part of the labelled rows is held out, and
back-propagation stops when the validation rows see no more progress.

With ``init="principal"``:

1. The *linear teacher* is fitted to the labels and, on bags of words, to the rows without labels as well
   (:mod:`tsenet.training.linear_teacher`). With few labels it does most of the work.
2. The *network* starts with units along the principal directions of what they read. With few labels it is trained by
   back-propagation on all rows: on the labels where there are some, elsewhere on the teacher's probabilities. With all
   labels it is trained without one fold, which tells how long to train and how good it is, and then a little longer
   on all rows.
3. Both are *blended*: the outputs are a weighted sum, which is one network with a linear skip. With all labels, the
   weights come from the held-out fold, and the linear skip is left out unless it clearly helps. With few labels both
   count alike, and on bags of words the linear part first learns from the network in turn.

Reasons and measurements: docs/decisions.md, "Linear teacher and student network".
"""

from __future__ import annotations

from collections.abc import Callable
from copy import deepcopy
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray

from tsenet._system.seeds import seed_number, seed_sequence
from tsenet.errors import DataError
from tsenet.expansion.wiring import Wiring
from tsenet.network.batches import Inputs, is_bag
from tsenet.network.compact import Masks
from tsenet.network.initial_weights import set_principal_directions
from tsenet.network.tsenet import TSENet
from tsenet.progress import Progress
from tsenet.training.calibration import (
    blend_weights,
    calibrated_score,
    losses_by_part,
    match_confidence,
    standard_error,
)
from tsenet.training.engine import AdamState, Engine
from tsenet.training.folder import FolderRows
from tsenet.training.history import History
from tsenet.training.labelled import Labelled, TrainingRows, split_rows
from tsenet.training.linear_teacher import (
    Linear,
    LinearTeacher,
    fit_linear_teacher,
    fit_student,
)
from tsenet.training.loop import Score, TrainingOptions, Validation, train
from tsenet.training.losses import BinaryLoss, Loss, MulticlassLoss, without_class_weights
from tsenet.training.pruning import remove_again
from tsenet.training.settings import Recipe, TrainingSettings
from tsenet.training.targets import Targets

__all__ = [
    "RunSeeds",
    "TrainedNetwork",
    "continue_network",
    "first_network",
    "fit_network",
    "fit_to_folder",
    "hold_out",
    "train_network",
]

_MAX_FOLDS = 3  # of the teacher's folds, on which a network is compared with it …
_ENOUGH_ROWS = 200  # … until this many rows have been held out
_LONGER = 0.25  # of the epochs so far: training on all rows after a fold
_SMALL_FOLD = 0.1  # of the rows; without it, training longer is not worth its time

_EQUAL_SHARES = np.array([0.5, 0.5])  # of teacher and network
_SOFTNESS = 0.7  # factor of the teacher's outputs; students of sharper targets did .2 points worse
# Rows without labels from which nothing is learned; they tell how sure the network is of new rows.
_FRESH, _MAX_FRESH, _MIN_FRESH = 0.1, 1_000, 50
# The scale of the teacher's outputs is chosen on the labelled rows: with few, it is overconfident. On four text sets,
# four draws each, the best factor for new rows was .92 with 100 labels and 1.0 with 400.
_DOUBT = 10.0
_MAX_RESCALING = 5.0  # of the outputs of a network without a linear skip


class RunSeeds(NamedTuple):
    """Seeds of one training: which rows are held out, dropout, order of the rows, folds of the linear teacher."""

    split: np.random.SeedSequence
    dropout: int
    order: int
    teacher: int

    @classmethod
    def of(cls, seed: np.random.SeedSequence, n_runs: int) -> RunSeeds:
        """Seeds of an estimator's training number ``n_runs``; its first three seeds build structure and network."""
        first = seed_sequence(seed)
        # Child number 3 + n_runs, without making those before it
        run = np.random.SeedSequence(
            first.entropy, spawn_key=(*first.spawn_key, 3 + n_runs), pool_size=first.pool_size
        )
        split, *others = run.spawn(4)
        return cls(split, *(seed_number(other) for other in others))


@dataclass(frozen=True, eq=False)
class TrainedNetwork:
    """What the recipe hands back.

    Attributes
    ----------
    net : TSENet
        On the CPU, in evaluation mode.
    history : History
    engine : Engine
        What trained it; its state lets training go on.
    unseen : Unseen or None
        Outputs for labelled rows by models that had not seen them; None where no row was held out.
    """

    net: TSENet
    history: History
    engine: Engine
    unseen: Unseen | None = None


class Unseen(NamedTuple):
    """Labelled rows with the outputs of models fitted without them."""

    outputs: NDArray[np.float64]  # (n, C)
    targets: NDArray[Any]  # (n,) or (n, C), encoded


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
        Rows to score each network on after every epoch. Without them, ``init="random"`` holds some out.
    score : Score, optional
        Of validation rows; default: minus the loss.
    """
    if rows.labelled.rows.size < 2:
        raise DataError("only one row has a label: training needs two or more")
    loss = targets.loss(rows.labelled.targets, class_weight)
    task = _Task(rows, targets, loss, wiring, recipe, net_seed, seeds, report, validation, score)
    return task.fit_plain() if recipe.init == "random" else task.fit_with_teacher()


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
    validation: Validation | None
    score: Score | None
    teacher_loss: Loss | None = None

    def fit_plain(self) -> TrainedNetwork:
        """Random weights, then back-propagation until the validation rows see no more progress."""
        split = hold_out(self.rows, self.targets, self.recipe, self.seeds.split, self.validation)
        net, engine = self._new_network()
        order = self.seeds.order
        history = train_network(engine, split, self.recipe, order, self.report, score=self.score)
        return TrainedNetwork(net.to("cpu").eval(), history, engine)

    def fit_with_teacher(self) -> TrainedNetwork:
        """A linear teacher, a network, and the blend of both."""
        if self.rows.labelled.rows.size == len(self.rows.inputs):
            return self._fit_supervised()
        return self._with_class_weights_on_rows()._fit_semi_supervised()

    # ---- few labels: the teacher labels the other rows

    def _with_class_weights_on_rows(self) -> _Task:
        """The task with class weights in one place: of the teacher and the labelled rows, or of the network's loss."""
        plain = without_class_weights(self.loss)
        if plain == self.loss:
            return self
        if not isinstance(self.loss, BinaryLoss | MulticlassLoss):
            return replace(self, teacher_loss=plain)  # labels of one row may differ in weight
        labelled = self.rows.labelled
        weights = np.ones(labelled.rows.size) if labelled.weights is None else labelled.weights
        of_class = np.array(self.loss.class_weights)[labelled.targets.astype(np.int64)]
        rows = replace(self.rows, labelled=labelled._replace(weights=weights * of_class))
        return replace(self, rows=rows, loss=plain)

    def _fit_semi_supervised(self) -> TrainedNetwork:
        """A network taught by the linear teacher over all rows; with a linear skip, their mean."""
        values, fresh = self.rows.inputs.values, self._fresh_rows()
        teacher = self._linear_teacher(self.teacher_loss or self.loss, fresh)
        trained = self._train(self._pseudo_labelled(_SOFTNESS * teacher.outputs, fresh))
        if self.recipe.linear_skip:
            skip = self._refit_linear(teacher, trained.net, fresh)
            trained = self._with_linear_skip(trained, skip, _EQUAL_SHARES)
        if fresh.size:
            n_labels = self.rows.labelled.rows.size
            confident = n_labels / (n_labels + _DOUBT) * teacher.outputs[fresh]
            by_network = self._outputs(trained.net, Inputs(values[fresh]))
            scale_outputs(trained.net, match_confidence(confident, by_network, self.loss))
        held = self.rows.labelled.take(np.flatnonzero(teacher.fold >= 0))
        return replace(trained, unseen=Unseen(teacher.held_out, held.targets))

    def _fresh_rows(self) -> NDArray[np.int64]:
        """Some rows without labels from which nothing is learned."""
        if not self.has_classes or self.validation is not None:
            return np.empty(0, np.int64)
        unlabelled = np.setdiff1d(np.arange(len(self.rows.inputs)), self.rows.labelled.rows)
        n_fresh = min(int(_FRESH * unlabelled.size), _MAX_FRESH)
        if n_fresh < _MIN_FRESH:
            return np.empty(0, np.int64)
        generator = np.random.default_rng(self.seeds.split)
        return np.sort(generator.choice(unlabelled, n_fresh, replace=False))

    def _refit_linear(
        self, teacher: LinearTeacher, net: TSENet, fresh: NDArray[np.int64]
    ) -> Linear:
        """The linear skip: on bags of words, or if the teacher reads embeddings, refitted to all rows.

        Their targets are then the mean of teacher and network.
        """
        inputs, alone = self.rows.inputs, self.rows.embeddings is None
        if self.teacher_loss is not None and alone:
            return self._linear_teacher(self.loss, fresh).model
        if alone and not (self.has_classes and is_bag(inputs.values)):
            return teacher.model.scaled(_SOFTNESS)
        mean = 0.5 * (_SOFTNESS * teacher.outputs + self._outputs(net, inputs))
        return fit_student(inputs, self._pseudo_labelled(mean, fresh), self.loss)

    def _pseudo_labelled(self, outputs: NDArray[np.float64], fresh: NDArray[np.int64]) -> Labelled:
        """All rows but the fresh ones, with their labels where known, elsewhere those that outputs (N, C) imply."""
        labelled, n_rows = self.rows.labelled, len(self.rows.inputs)
        targets = self.loss.predict(outputs)  # (N, C)
        if isinstance(self.loss, BinaryLoss):
            targets = targets[:, 1]
            targets[labelled.rows] = labelled.targets
        elif isinstance(self.loss, MulticlassLoss):
            targets[labelled.rows] = np.eye(self.loss.n_outputs)[labelled.targets]
        else:
            known = labelled.targets.reshape(labelled.rows.size, -1)
            targets[labelled.rows] = np.where(np.isnan(known), targets[labelled.rows], known)
        weights = None
        if labelled.weights is not None:
            weights = np.full(n_rows, labelled.weights.mean())
            weights[labelled.rows] = labelled.weights
        everything = Labelled(np.arange(n_rows), targets, weights, np.arange(n_rows))
        return everything.take(np.setdiff1d(everything.rows, fresh)) if fresh.size else everything

    # ---- all labels: rows that neither teacher nor network has seen decide

    def _fit_supervised(self) -> TrainedNetwork:
        """A network of all labelled rows, with a linear skip if that clearly helps."""
        labelled = self.rows.labelled
        if not self.recipe.linear_skip:
            return self._fit_alone()
        teacher = replace(self, rows=replace(self.rows, embeddings=None))._linear_teacher(self.loss)
        by_network = np.empty((labelled.rows.size, self.loss.n_outputs))
        for k in range(min(int(teacher.fold.max()) + 1, _MAX_FOLDS)):
            unseen = teacher.fold == k
            validation = self._validation(labelled.take(np.flatnonzero(unseen)))
            trained = self._train(labelled.take(np.flatnonzero(~unseen)), validation)
            by_network[unseen] = trained.engine.outputs(validation.inputs, validation.rows)
            compared = (teacher.fold >= 0) & (teacher.fold <= k)
            if np.count_nonzero(compared) >= _ENOUGH_ROWS:
                break
        held = labelled.take(np.flatnonzero(compared))
        by_teacher = teacher.held_out[compared[teacher.fold >= 0]]
        by_network = by_network[compared]
        share = self._blend(by_teacher, by_network, held)
        if np.mean(unseen) > _SMALL_FOLD:
            trained = self._train_longer(trained, labelled)
        if share[0] > 0.0:
            trained = self._with_linear_skip(trained, teacher.model, share)
        elif self.has_classes:
            factor = float(np.clip(share[1], 1 / _MAX_RESCALING, _MAX_RESCALING))
            scale_outputs(trained.net, factor)
        blended = share[0] * by_teacher + share[1] * by_network
        return replace(trained, unseen=Unseen(blended, held.targets))

    def _fit_alone(self) -> TrainedNetwork:
        """A network without a linear skip."""
        labelled = self.rows.labelled
        if not self.rows.inputs.is_sparse or self.validation is not None:
            return self._train(labelled)
        split = hold_out(self.rows, self.targets, self.recipe, self.seeds.split)
        if split.validation is None:
            return self._train(labelled)
        return self._train_longer(self._train(split.kept, split.validation), labelled)

    # ---- steps of both

    @property
    def has_classes(self) -> bool:
        """Whether a target is one of several classes."""
        return isinstance(self.loss, BinaryLoss | MulticlassLoss)

    def _linear_teacher(
        self, loss: Loss, ignored: NDArray[np.int64] | None = None
    ) -> LinearTeacher:
        rows = self.rows
        return fit_linear_teacher(
            *(rows.inputs, rows.labelled, loss, self.seeds.teacher, self.report, ignored),
            rows.embeddings,
        )

    @cached_property
    def _initial(self) -> TSENet:
        """The network before training; the same for every fold, since it needs no labels."""
        inputs, n_outputs = self.rows.inputs, self.loss.n_outputs
        return first_network(self.recipe, self.wiring, n_outputs, inputs, self.net_seed)

    def _new_network(self) -> tuple[TSENet, Engine]:
        """A network with its initial weights, and what trains it."""
        net = deepcopy(self._initial)
        return net, _engine(net, self.rows.inputs, self.loss, self.recipe, self.seeds.dropout)

    def _train(self, labelled: Labelled, validation: Validation | None = None) -> TrainedNetwork:
        """Train a new network; on sparse rows until the validation rows see no more progress."""
        net, engine = self._new_network()
        score = calibrated_score(self.loss)
        stops = self.rows.inputs.is_sparse and self.recipe.early_stopping
        if self.validation is not None:  # the user's own rows and score
            validation, score = self.validation, self.score
        elif not stops:
            validation = None
        history = train(
            engine,
            labelled,
            validation=validation,
            score=score,
            options=replace(self._schedule(labelled), early_stopping=stops),
            progress=self.report,
            seed=self.seeds.order,
        )
        return TrainedNetwork(net.to("cpu").eval(), history, engine)

    def _train_longer(self, trained: TrainedNetwork, labelled: Labelled) -> TrainedNetwork:
        """Train a network for some more epochs, on all labelled rows; a new one would take four times as long."""
        if self.validation is not None:  # what the user's rows chose stays
            return self._train(labelled)
        history = trained.history
        n_epochs = history.n_epochs if history.best_epoch is None else history.best_epoch + 1
        net = trained.net.train()
        engine = _engine(net, self.rows.inputs, self.loss, self.recipe, self.seeds.dropout + 1)
        n_epochs = max(1, round(_LONGER * n_epochs))
        train(
            engine,
            labelled,
            options=replace(self._schedule(labelled), max_epochs=n_epochs, early_stopping=False),
            progress=self.report,
            seed=self.seeds.order + 1,
        )
        return replace(trained, net=net.to("cpu").eval(), engine=engine)

    def _schedule(self, labelled: Labelled) -> TrainingOptions:
        """How long and fast to train on some rows."""
        inputs = self.rows.inputs
        dropped = self.recipe.input_dropout_of(inputs, self.wiring) > 0
        return self.recipe.falling_rate(labelled.rows.size, inputs.is_sparse, dropped)

    def _validation(self, labelled: Labelled) -> Validation:
        return Validation(self.rows.inputs, labelled.rows, labelled.targets, labelled.weights)

    def _outputs(self, net: TSENet, inputs: Inputs) -> NDArray[np.float64]:
        return net.predictor().outputs(inputs, None, self.recipe.n_jobs)

    def _blend(
        self, by_teacher: NDArray[np.float64], by_network: NDArray[np.float64], held: Labelled
    ) -> NDArray[np.float64]:
        """Weights of teacher and network in the outputs; with "auto", 0 for a teacher that does not clearly help."""
        both = blend_weights([by_teacher, by_network], held.targets, held.weights, self.loss)
        if self.recipe.linear_skip is True:
            return both
        (alone,) = blend_weights([by_network], held.targets, held.weights, self.loss)

        def losses(outputs: NDArray[np.float64]) -> NDArray[np.float64]:
            return losses_by_part(self.loss, outputs, held.targets, held.weights)

        gain = losses(alone * by_network) - losses(both[0] * by_teacher + both[1] * by_network)
        return both if gain.mean() > standard_error(gain) else np.array([0.0, alone])

    def _with_linear_skip(
        self, trained: TrainedNetwork, linear: Linear, share: NDArray[np.float64]
    ) -> TrainedNetwork:
        """The network with a linear skip from the input, so that its outputs are the blend."""
        options = replace(trained.net.options, linear_skip=True)
        net = TSENet.of(self.wiring, self.loss.n_outputs, options)
        with torch.no_grad():
            net.load_state_dict(trained.net.state_dict(), strict=False)
            net.output.weight.mul_(share[1])
            net.output.bias.mul_(share[1]).add_(torch.from_numpy(share[0] * linear.bias))
            assert net.linear_skip is not None
            net.linear_skip.copy_(torch.from_numpy(share[0] * linear.weight))
        engine = _engine(net, self.rows.inputs, self.loss, self.recipe, self.seeds.dropout)
        return TrainedNetwork(net.eval(), trained.history, engine)


def fit_to_folder(
    rows: FolderRows,
    loss: Loss,
    wiring: Wiring,
    recipe: Recipe,
    net_seed: int,
    seeds: RunSeeds,
    report: Progress,
) -> TrainedNetwork:
    """Fit a new network to the labelled rows of a folder, without the linear teacher, which needs all rows in memory.

    Parameters
    ----------
    rows : FolderRows
    loss : Loss
    wiring, recipe, net_seed, seeds, report
        As for :func:`fit_network`.
    """
    sample = rows.inputs(rows.sample)
    net = first_network(recipe, wiring, loss.n_outputs, sample, net_seed)
    engine = _engine(net, sample, loss, recipe, seeds.dropout)
    if recipe.init == "random":
        score, training = None, recipe.options(rows.n_rows)
    else:
        score, training = calibrated_score(loss), recipe.falling_rate(rows.n_rows, sparse=True)
    history = train(
        engine,
        rows,
        validation=rows.validation,
        score=score,
        options=replace(training, early_stopping=recipe.early_stopping),
        progress=report,
        seed=seeds.order,
    )
    return TrainedNetwork(net.to("cpu").eval(), history, engine)


def continue_network(
    net: TSENet,
    rows: TrainingRows,
    targets: Targets,
    recipe: Recipe,
    seeds: RunSeeds,
    report: Progress,
    *,
    class_weight: Any = None,
    kept_weights: Masks | None = None,
    adam: AdamState | None = None,
) -> TrainedNetwork:
    """Train a network further on all labelled rows, from the weights it has: ``partial_fit``.

    Parameters
    ----------
    net, rows, targets, recipe, seeds, report, class_weight
        As for :func:`fit_network`.
    kept_weights : dict of str to mask, optional
        Which weights pruning left, by the names of their parameters; the others stay 0.
    adam : AdamState, optional
        Of the engine that trained it before.
    """
    loss = targets.loss(rows.labelled.targets, class_weight)
    engine = _engine(net, rows.inputs, loss, recipe, seeds.dropout, adam)
    history = train_network(
        engine,
        Split(rows.labelled, None),
        recipe,
        seeds.order,
        report,
        after_step=None if kept_weights is None else remove_again(net, kept_weights),
    )
    return TrainedNetwork(net.to("cpu").eval(), history, engine)


def train_as_before(
    net: TSENet,
    inputs: Inputs,
    answers: NDArray[np.float64],
    loss: Loss,
    recipe: Recipe,
    seeds: RunSeeds,
    report: Progress,
    *,
    kept_weights: Masks,
    max_epochs: int,
) -> TrainedNetwork:
    """Train what pruning left of a network to answer as the whole one did; no label is needed.

    Parameters
    ----------
    net, recipe, seeds, report
        As for :func:`continue_network`.
    inputs : Inputs
        Rows (N, D).
    answers : float64 (N, C) or (N,)
        Targets: the probabilities or values that the whole network gave.
    loss : Loss
        Without class weights.
    kept_weights : dict of str to mask
        Which weights pruning left.
    max_epochs : int
    """
    engine = _engine(net, inputs, loss, recipe, seeds.dropout)
    rows = np.arange(len(inputs))
    settings = recipe.falling_rate(rows.size, inputs.is_sparse)
    history = train(
        engine,
        Labelled(rows, answers, None, rows),
        options=replace(settings, max_epochs=max_epochs, early_stopping=False),
        progress=report,
        seed=seeds.order,
        after_step=remove_again(net, kept_weights),
    )
    return TrainedNetwork(net.to("cpu").eval(), history, engine)


def first_network(
    recipe: Recipe,
    wiring: Wiring,
    n_outputs: int,
    inputs: Inputs,
    seed: int,
    linear_skip: bool = False,
) -> TSENet:
    """A network before training: its weights are random, or the principal directions of some rows."""
    net = TSENet.of(wiring, n_outputs, recipe.network(inputs, wiring, linear_skip), seed)
    if recipe.init == "principal":
        set_principal_directions(net, inputs, seed)
    return net


def scale_outputs(net: TSENet, factor: float) -> None:
    """Multiply the outputs of a network: the same answers, more or less sure."""
    with torch.no_grad():
        net.output.weight.mul_(factor)
        net.output.bias.mul_(factor)
        if net.linear_skip is not None:
            net.linear_skip.mul_(factor)


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
    after_step: Callable[[], None] | None = None,
) -> History:
    """Run the training loop on the rows that were kept."""
    return train(
        engine,
        split.kept,
        validation=split.validation,
        score=score,
        options=settings.options(split.kept.n_rows),
        progress=report,
        seed=order_seed,
        after_step=after_step,
    )


def _engine(
    net: TSENet,
    inputs: Inputs,
    loss: Loss,
    recipe: Recipe,
    seed: int,
    adam: AdamState | None = None,
) -> Engine:
    """What trains a network."""
    return Engine(
        net,
        inputs,
        loss,
        device=recipe.torch_device(),
        seed=seed,
        n_jobs=recipe.n_jobs,
        input_dropout=recipe.input_dropout_of(inputs, net.wiring),
        adam=adam,
    )
