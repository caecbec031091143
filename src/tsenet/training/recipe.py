"""The recipe: how a network is fitted to rows, targets and a wiring, from first weights to the network that is kept.

With ``init="random"`` (the paper): weights are drawn at random, a part of the labelled rows is held out, and
back-propagation stops when the validation rows see no more progress. With ``init="log-odds"`` each unit starts as the
probability of its latent. It is trained in the same way; only with few labels none is held out, since a fifth of 100
rows says little, and the network takes a fixed number of steps: it overfits slowly.

With ``init="principal"``:

1. The *linear teacher* is fitted to the labels and, on bags of words, to the rows without labels as well
   (:mod:`tsenet.training.linear_teacher`). With few labels it does most of the work. Embeddings of a pretrained
   encoder, if there are any, are read by the teacher alone.
2. The *network* starts with units along the principal directions of what they read. With few labels it is trained by
   back-propagation on all rows: on the labels where there are some, elsewhere on the teacher's probabilities. With all
   labels it is trained without one fold, which tells how long to train and how good it is, and then a little longer
   on all rows.
3. Both are *blended*: the outputs are a weighted sum, which is one network with a linear skip. With all labels, the
   weights come from the held-out fold, and the linear skip is left out unless it clearly helps. With few labels both
   count alike. If the teacher read embeddings that predictions do not, the linear part is a *student*: it learns the
   answers of both from what predictions read.

Reasons and measurements: docs/decisions.md, "Linear teacher and student network".
"""

from __future__ import annotations

import math
from copy import deepcopy
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Literal, NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray

from tsenet._system.seeds import seed_number, seed_sequence
from tsenet.errors import DataError
from tsenet.expansion.wiring import Wiring
from tsenet.network.initial_weights import set_log_odds, set_principal_directions
from tsenet.network.inputs import Inputs
from tsenet.network.topology import Activation, NetworkOptions
from tsenet.network.tsenet import TSENet
from tsenet.progress import Progress
from tsenet.training.examples import Examples
from tsenet.training.folder import FolderRows
from tsenet.training.history import History
from tsenet.training.linear_teacher import (
    Linear,
    LinearTeacher,
    blend_weights,
    calibrated_score,
    fit_linear_teacher,
    fit_student,
    losses_by_part,
    match_confidence,
    standard_error,
    stratified_folds,
)
from tsenet.training.loop import AdamState, Engine, TrainingOptions, train
from tsenet.training.losses import Loss, MulticlassLoss, RegressionLoss
from tsenet.training.pruning import freeze_pruned
from tsenet.training.scores import HeldOut, Score, unseen_share

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]


@dataclass(frozen=True)
class RecipeSettings:
    """The numbers of the recipe, each with what it rests on: a measurement, or the reason for its size."""

    # ---- how long and how fast to train
    rate: float = 1e-3  # Adam's usual
    rate_at_first: float = 3e-3  # where it falls to 0 in the end
    batch_sparse: int = 512  # fewer, larger steps since recipe 3
    batch_dense: int = 128
    # A training takes at least so many steps, or sees so many rows. Of texts, four times as many at a third of the rate
    # did no better: docs/decisions.md. On ten dense tables of at most 500 rows, five seeds each, 800 steps cost .2
    # points in the mean (vowel 1.3), 400 steps .8.
    steps_sparse: int = 400
    steps_dense: int = 1600
    rows_seen_sparse: int = 75_000
    rows_seen_dense: int = 300_000
    epochs_sparse: int = 15  # at least
    epochs_dense: int = 20
    max_epochs: int = 150  # bounds the time of tiny tables
    max_epochs_plain: int = 100  # of a training from random weights
    patience: int = 5  # epochs without progress …
    patient_steps: int = 40  # … of so many steps; of smaller epochs it takes more
    max_rows_seen: int = 4_000_000  # in at least five epochs: bounds the time of large tables
    steps_with_input_dropout: int = 3200  # no row is ever the same, so it takes twice as long

    # ---- the network
    input_dropout: float = 0.2  # of dense rows with many latents, as images are
    many_latents: int = 100  # of dense rows: from here on their units need more dropout
    units_sparse: int = 2  # of each latent …
    # Of sparse rows without a linear skip, feature units that read each level below the top, which may be narrow: over
    # the topics that a TopicModel finds (6 on top of 20 Newsgroups, 5 of Yahoo! Answers), 18 and 15 points more with
    # 100 labels. With a linear skip they add nothing.
    skip_units_sparse: int = 32
    units_dense: int = 8  # … of dense rows, which have few latents …
    min_width: int = 128  # … but so many of the first level
    max_width: int = 2048

    # ---- from log-odds, with few labels
    few_labels: int = 3_000  # with fewer, a network is trained on all of them …
    # … for so many steps (chosen on validation rows of five sets, with 100 and 1,000 labels) …
    steps_few_labels: int = 800
    batch_few_labels: int = 16  # … of at least so many rows

    # ---- rows held out
    validation_folds: int = 10  # one of them is held out to tell when to stop …
    # … unless there are fewer rows: a tenth of them would say nothing.
    min_rows_to_hold_out: int = 20
    # Folds of the teacher on which a network is compared with it, until so many rows have been held out. On the ten
    # tables above two folds cost .2 points in the mean, one .3.
    max_folds: int = 3
    enough_held_out: int = 200
    longer: float = 0.25  # of the epochs so far: training on all rows after a fold
    small_fold: float = 0.1  # of the rows; without it, training longer is not worth its time

    # ---- few labels: the teacher
    # Factor of the teacher's outputs; networks taught sharper targets did .2 points worse.
    softness: float = 0.7
    # Share of the rows without labels from which nothing is learned, and its bounds in rows; they tell how sure the
    # network is of new rows.
    fresh: float = 0.1
    max_fresh: int = 1_000
    min_fresh: int = 50
    # The scale of the teacher's outputs is chosen on the labelled rows: with few, it is overconfident. On four text
    # sets, four draws each, the best factor for new rows was .92 with 100 labels and 1.0 with 400.
    doubt: float = 10.0
    # Of the outputs of a network without a linear skip: a guard, seldom reached.
    max_rescaling: float = 5.0


SETTINGS = RecipeSettings()
_EQUAL_SHARES = np.array([0.5, 0.5])  # of teacher and network


@dataclass(frozen=True)
class Recipe:
    """How a TSE-Net is built and trained; the fields are the estimators' parameters of the same names."""

    skip_units: int | None = None
    feature_units: int = 100
    dropout: float | None = None
    units_per_latent: int | None = None
    linear_skip: bool | Literal["auto"] = "auto"
    skip_dropout: float = 0.0
    activation: Activation = "relu"
    init: Literal["random", "log-odds", "principal"] = "principal"
    learning_rate: float | None = None
    batch_size: int | None = None
    max_epochs: int | None = None
    device: str = "auto"
    n_jobs: int | None = None

    def __post_init__(self) -> None:
        if self.init == "log-odds" and self.units_per_latent not in (None, 1):
            raise ValueError(
                'init="log-odds" needs units_per_latent=1: several units of a latent would start the same'
            )

    def network(self, inputs: Inputs, wiring: Wiring, linear_skip: bool) -> NetworkOptions:
        """Options of a network; what the user left open depends on the rows and the sizes of the layers."""
        if self.is_plain:  # the paper's
            skip_units, dropout, units = 100, 0.5, 1
        elif inputs.is_sparse:
            has_lower = self.linear_skip is False and len(wiring.layers) > 1
            skip_units = SETTINGS.skip_units_sparse if has_lower else 0
            dropout, units = 0.3, SETTINGS.units_sparse
        else:
            skip_units, dropout = 0, 0.2 if _has_many_latents(wiring) else 0.1
            n_latents = wiring.layer_sizes[1]
            wide_enough = max(SETTINGS.units_dense, -(-SETTINGS.min_width // n_latents))
            wanted = math.log2(max(min(wide_enough, SETTINGS.max_width // n_latents), 1))
            units = min((2, 4, 8, 16, 32), key=lambda number: abs(math.log2(number) - wanted))
        return NetworkOptions(
            skip_units=skip_units if self.skip_units is None else self.skip_units,
            feature_units=self.feature_units,
            dropout=dropout if self.dropout is None else self.dropout,
            linear_skip=linear_skip,
            units_per_latent=units if self.units_per_latent is None else self.units_per_latent,
            skip_dropout=self.skip_dropout,
            activation=self.activation,
            # Left to us, a network without the paper's skip paths learns through its latents alone.
            skip_input=self.is_plain or self.skip_units is not None,
        )

    @property
    def is_plain(self) -> bool:
        """Whether the network learns from labelled rows alone, as the paper's does, without a teacher."""
        return self.init != "principal"

    def input_dropout(self, inputs: Inputs, wiring: Wiring) -> float:
        """Share of a batch's values to drop: of dense rows with many latents, as images are, a fifth."""
        many = not inputs.is_sparse and _has_many_latents(wiring)
        return SETTINGS.input_dropout if many and not self.is_plain else 0.0

    def early_stopping_schedule(self, n_rows: int) -> TrainingOptions:
        """Options of a training that early stopping ends; small tables get at least 20 steps an epoch."""
        batch_size = 256 if self.batch_size is None else self.batch_size
        batch_size = min(batch_size, max(32, n_rows // 20))
        n_batches = -(-n_rows // batch_size)
        enough = max(SETTINGS.max_epochs_plain, -(-SETTINGS.steps_few_labels // n_batches))
        return TrainingOptions(
            learning_rate=SETTINGS.rate if self.learning_rate is None else self.learning_rate,
            batch_size=batch_size,
            max_epochs=enough if self.max_epochs is None else self.max_epochs,
            patience=_patience(n_batches),
        )

    def fixed_schedule(self, n_rows: int) -> TrainingOptions:
        """Options of a training on few labels from log-odds, without validation rows."""
        plain = self.early_stopping_schedule(n_rows)
        if self.batch_size is None:
            plain = replace(
                plain, batch_size=min(n_rows, max(SETTINGS.batch_few_labels, n_rows // 10), 256)
            )
        epochs = -(-SETTINGS.steps_few_labels // -(-n_rows // plain.batch_size))
        return replace(
            plain,
            max_epochs=epochs if self.max_epochs is None else self.max_epochs,
            patience=None,
        )

    def cosine_schedule(self, n_rows: int, sparse: bool, dropped: bool = False) -> TrainingOptions:
        """Options of a training whose learning rate falls to 0; it stops early if it is given validation rows.

        Parameters
        ----------
        n_rows : int
        sparse : bool
            Whether the rows are sparse.
        dropped : bool, default=False
            Whether values of the input are dropped.
        """
        usual = min(
            SETTINGS.batch_sparse if sparse else SETTINGS.batch_dense, max(16, n_rows // 16)
        )
        batch_size = min(usual, n_rows) if self.batch_size is None else self.batch_size
        n_batches = -(-n_rows // batch_size)
        if sparse:
            steps = min(SETTINGS.steps_sparse, SETTINGS.rows_seen_sparse // batch_size)
        elif dropped:
            steps = SETTINGS.steps_with_input_dropout
        else:
            steps = min(SETTINGS.steps_dense, SETTINGS.rows_seen_dense // batch_size)

        enough = max(
            SETTINGS.epochs_sparse if sparse else SETTINGS.epochs_dense, -(-steps // n_batches)
        )
        epochs = min(enough, SETTINGS.max_epochs, max(5, SETTINGS.max_rows_seen // n_rows))
        return TrainingOptions(
            learning_rate=(
                SETTINGS.rate_at_first if self.learning_rate is None else self.learning_rate
            ),
            batch_size=batch_size,
            max_epochs=epochs if self.max_epochs is None else self.max_epochs,
            patience=_patience(n_batches),
            cosine=True,
        )


def _patience(n_batches: int) -> int:
    """Epochs of so many steps without progress after which to stop."""
    return max(SETTINGS.patience, -(-SETTINGS.patience * SETTINGS.patient_steps // n_batches))


def _has_many_latents(wiring: Wiring) -> bool:
    return sum(wiring.layer_sizes[1:]) >= SETTINGS.many_latents


class RunSeeds(NamedTuple):
    """Seeds of one training: first weights, rows held out, dropout, order of the rows, folds of the teacher."""

    weights: int
    split: int
    dropout: int
    order: int
    teacher: int

    @classmethod
    def of(cls, seed: np.random.SeedSequence, n_runs: int) -> RunSeeds:
        """Seeds of an estimator's training number ``n_runs``; the first two children of its seed build structures."""
        first = seed_sequence(seed)

        def child(number: int) -> np.random.SeedSequence:
            key = (*first.spawn_key, number)
            return np.random.SeedSequence(first.entropy, spawn_key=key, pool_size=first.pool_size)

        return cls(seed_number(child(2)), *map(seed_number, child(3 + n_runs).spawn(4)))


@dataclass(frozen=True, eq=False)
class TrainedNetwork:
    """What the recipe hands back.

    Attributes
    ----------
    net : TSENet
        On the CPU, in evaluation mode.
    history : History
    adam : AdamState or None
        With which training can continue; None: anew.
    held_out : HeldOut or None
        Examples rows, and outputs for them by models that had not seen them; None where no row was held out.
    of_embeddings : Linear or None
        What embeddings add to the outputs of the network, if predictions read them too.
    """

    net: TSENet
    history: History
    adam: AdamState | None
    held_out: HeldOut | None = None
    of_embeddings: Linear | None = None


@dataclass(frozen=True, eq=False)
class Trainer:
    """What all trainings of one fit share: the loss, the recipe, the seeds, and where progress is reported."""

    loss: Loss
    recipe: Recipe
    seeds: RunSeeds
    report: Progress

    def init_network(self, wiring: Wiring, inputs: Inputs, linear_skip: bool = False) -> TSENet:
        """A network before training: its weights are as ``init`` says."""
        options, seed = self.recipe.network(inputs, wiring, linear_skip), self.seeds.weights
        net = TSENet.of(wiring, self.loss.n_outputs, options, seed)
        if self.recipe.init == "principal":
            set_principal_directions(net, inputs, seed)
        elif self.recipe.init == "log-odds":
            set_log_odds(net, inputs)
        return net

    def fit_folder(self, rows: FolderRows, wiring: Wiring) -> TrainedNetwork:
        """Fit a new network to the labelled rows of a folder, without the linear teacher, which needs all in memory."""
        score: Score | None = calibrated_score(self.loss)
        schedule = self.recipe.cosine_schedule(rows.n_rows, sparse=True)
        if self.recipe.is_plain:
            score, schedule = None, self.recipe.early_stopping_schedule(rows.n_rows)
        net = self.init_network(wiring, rows.inputs)
        return self.train(net, rows, schedule, rows.validation, score)

    def one_epoch(
        self, net: TSENet, labelled: Examples, pruned: bool, adam: AdamState | None
    ) -> TrainedNetwork:
        """Train a network for one more epoch on all labelled rows, from the weights it has: ``partial_fit``.

        Parameters
        ----------
        net : TSENet
        labelled : Examples
        pruned : bool
            Whether weights that are 0 stay so.
        adam : AdamState or None
            Of an earlier training.
        """
        schedule = replace(self.recipe.early_stopping_schedule(labelled.n_rows), max_epochs=1)
        return self.train(net, labelled, schedule, pruned=pruned, adam=adam)

    def distill(self, net: TSENet, taught: Examples, max_epochs: int) -> TrainedNetwork:
        """Train what pruning left of a network to answer as the whole one did; no label is needed.

        ``taught`` has the probabilities or values that the whole network gave as targets.
        """
        schedule = self.recipe.cosine_schedule(taught.n_rows, taught.inputs.is_sparse)
        schedule = replace(schedule, max_epochs=max_epochs)
        return self.train(net, taught, schedule, pruned=True)

    def train(
        self,
        net: TSENet,
        rows: Examples | FolderRows,
        schedule: TrainingOptions,
        validation: Examples | None = None,
        score: Score | None = None,
        *,
        pruned: bool = False,
        adam: AdamState | None = None,
    ) -> TrainedNetwork:
        """Train a network."""
        device = self.recipe.device
        if device == "auto":
            device = "cuda" if torch.cuda.is_available() else "cpu"

        engine = Engine(
            net,
            self.loss,
            device=device,
            seed=self.seeds.dropout,
            n_jobs=self.recipe.n_jobs,
            input_dropout=self.recipe.input_dropout(rows.inputs, net.wiring),
            earlier=adam,
        )
        history = train(
            engine,
            rows,
            validation=validation,
            score=score,
            options=schedule,
            progress=self.report,
            seed=self.seeds.order,
            after_step=freeze_pruned(net) if pruned else None,
        )
        return TrainedNetwork(net.to("cpu").eval(), history, engine.adam)


# ---- the policy


@dataclass(frozen=True, eq=False)
class NetworkFit(Trainer):
    """A fit of a new network to rows in memory (paper §5).

    Attributes
    ----------
    labelled : Examples
        The rows with a target; its table has all rows (N, D).
    wiring : Wiring
    embeddings : float64 (N, d) or None
        Other vectors of all rows, which only the linear teacher reads.
    keep_embeddings : bool
        Whether predictions read embeddings too: the teacher's part on them is kept.
    validation : Examples or None
        Rows to score each network on after every epoch. Without them, all but ``init="principal"`` hold some out.
    score : Score or None
        Of validation rows; None: minus the loss.
    """

    labelled: Examples
    wiring: Wiring
    embeddings: Floats | None = None
    keep_embeddings: bool = False
    validation: Examples | None = None
    score: Score | None = None

    def run(self) -> TrainedNetwork:
        """Fit the network."""
        if self.labelled.n_rows < 2:
            raise DataError("only one row has a label: training needs two or more")
        plain = self.recipe.is_plain
        if self.keep_embeddings and (plain or self.recipe.linear_skip is False):
            raise ValueError('inputs="both" needs init="principal" and a linear skip')
        if plain:
            return self.fit_plain()
        everything = self.labelled.n_rows == len(self.inputs)
        return self.fit_supervised() if everything else self.fit_semi_supervised()

    # ---- the paper's recipe

    def fit_plain(self) -> TrainedNetwork:
        """Back-propagation from the first weights until the validation rows see no more progress."""
        recipe, n_rows = self.recipe, self.labelled.n_rows
        if self.validation is not None:  # the user's own rows
            schedule = recipe.early_stopping_schedule(n_rows)
            return self.train(self._initial, self.labelled, schedule, self.validation, self.score)
        if recipe.init == "log-odds" and n_rows < SETTINGS.few_labels:
            return self.train(self._initial, self.labelled, recipe.fixed_schedule(n_rows))
        kept, held = self._hold_out()
        schedule = recipe.early_stopping_schedule(kept.n_rows)
        trained = self.train(self._initial, kept, schedule, held, self.score)
        if held is None:
            return trained
        outputs = self._outputs(trained.net, held.rows)
        return replace(trained, held_out=HeldOut(held, outputs, "network"))

    # ---- few labels: the teacher labels the other rows

    def fit_semi_supervised(self) -> TrainedNetwork:
        """A network taught by the linear teacher over all rows; with a linear skip, their mean."""
        fresh = self._fresh_rows()
        shared = self.labelled, self.loss, self.seeds.teacher, self.report
        teacher = fit_linear_teacher(*shared, fresh, self.embeddings)
        softness = 1.0 if isinstance(self.loss, RegressionLoss) else SETTINGS.softness
        soft = softness * teacher.outputs
        trained = self._train(self._pseudo_labelled(soft, fresh))

        if self.recipe.linear_skip:
            skip = teacher.model.scaled(softness)
            if self.embeddings is not None and not self.keep_embeddings:
                # Predictions cannot read what the teacher read: the linear part learns it from the answers of both.
                mean = 0.5 * (soft + self._outputs(trained.net))
                skip = fit_student(self._pseudo_labelled(mean, fresh), self.loss)
            part = teacher.of_embeddings and teacher.of_embeddings.scaled(softness)
            trained = self._with_linear_skip(trained, skip, _EQUAL_SHARES, part)

        if fresh.size:
            n_labels = self.labelled.n_rows
            confident = n_labels / (n_labels + SETTINGS.doubt) * teacher.outputs[fresh]
            answers = self._outputs(trained.net, fresh)
            if trained.of_embeddings is not None:
                assert self.embeddings is not None
                answers = answers + trained.of_embeddings(self.embeddings[fresh])
            trained = _scaled(trained, match_confidence(confident, answers, self.loss))

        return replace(trained, held_out=self._held_out(teacher, softness, fresh))

    def _held_out(self, teacher: LinearTeacher, softness: float, fresh: Ints) -> HeldOut | None:
        """Outputs of labelled rows by linear models that had not seen them, and read what predictions read."""
        labelled, fold = self.labelled, teacher.fold
        held = labelled.take(fold >= 0)
        if not held.n_rows:
            return None
        share = unseen_share(labelled.targets) if isinstance(self.loss, MulticlassLoss) else 0.0
        if self.embeddings is None or self.keep_embeddings:
            return HeldOut(held, teacher.held_out, "teacher", share)

        # The teacher knows more of these rows than predictions will: a student of words alone takes its place. It is
        # taught about all rows but these, by a teacher without their labels.
        outputs = np.empty((labelled.n_rows, self.loss.n_outputs))
        for k in np.unique(fold[fold >= 0]):
            is_held = fold == k
            left_out = np.concatenate([fresh, labelled.rows[is_held]])
            fitter = replace(self, labelled=labelled.take(~is_held))
            taught = fitter._pseudo_labelled(softness * teacher.without(k), left_out)
            student = fit_student(taught, self.loss)
            outputs[is_held] = student(self.inputs.values[labelled.rows[is_held]])

        return HeldOut(held, outputs[fold >= 0], "student", share)

    def _fresh_rows(self) -> Ints:
        """Some rows without labels from which nothing is learned."""
        unlabelled = np.setdiff1d(np.arange(len(self.inputs)), self.labelled.rows)
        n_fresh = min(int(SETTINGS.fresh * unlabelled.size), SETTINGS.max_fresh)
        if not self.loss.has_classes or self.validation is not None or n_fresh < SETTINGS.min_fresh:
            return np.empty(0, np.int64)
        generator = np.random.default_rng(self.seeds.split)
        return np.sort(generator.choice(unlabelled, n_fresh, replace=False))

    def _pseudo_labelled(self, outputs: Floats, fresh: Ints) -> Examples:
        """All rows but the fresh ones, with their labels where known, elsewhere those that outputs (N, C) imply."""
        labelled, n_rows = self.labelled, len(self.inputs)
        targets, known = self.loss.soft_targets(outputs), labelled.targets
        if isinstance(self.loss, MulticlassLoss):
            known = np.eye(self.loss.n_outputs)[known]

        guessed = targets[labelled.rows]
        known = known.reshape(guessed.shape)
        targets[labelled.rows] = np.where(np.isnan(known), guessed, known)
        weights = None
        if labelled.weights is not None:
            mean = labelled.weights.mean(axis=0)
            weights = np.broadcast_to(mean, (n_rows, *mean.shape)).copy()
            weights[labelled.rows] = labelled.weights

        taught = np.setdiff1d(np.arange(n_rows), fresh)
        return Examples(self.inputs, np.arange(n_rows), targets, weights).take(taught)

    # ---- all labels: rows that neither teacher nor network has seen decide

    def fit_supervised(self) -> TrainedNetwork:
        """A network of all labelled rows, with a linear skip if that clearly helps."""
        labelled = self.labelled
        if not self.recipe.linear_skip:
            return self._fit_alone()
        shared = labelled, self.loss, self.seeds.teacher, self.report
        vectors = self.embeddings if self.keep_embeddings else None
        teacher = fit_linear_teacher(*shared, embeddings=vectors)
        by_network = np.empty((labelled.n_rows, self.loss.n_outputs))
        folds = np.unique(teacher.fold[teacher.fold >= 0])[: SETTINGS.max_folds]

        if not folds.size:  # one row of each class
            trained, share = self._train(labelled), _EQUAL_SHARES
            return self._with_linear_skip(trained, teacher.model, share, teacher.of_embeddings)

        for k in folds:
            unseen = teacher.fold == k
            trained = self._train(labelled.take(~unseen), labelled.take(unseen))
            by_network[unseen] = self._outputs(trained.net, labelled.rows[unseen])
            compared = (teacher.fold >= 0) & (teacher.fold <= k)
            if np.count_nonzero(compared) >= SETTINGS.enough_held_out:
                break

        held, by_network = labelled.take(compared), by_network[compared]
        by_teacher = teacher.held_out[compared[teacher.fold >= 0]]
        share = self._blend(by_teacher, by_network, held)
        if np.mean(unseen) > SETTINGS.small_fold:
            trained = self._train_longer(trained)

        if share[0] > 0.0 or self.keep_embeddings:
            part = teacher.of_embeddings
            trained = self._with_linear_skip(trained, teacher.model, share, part)
        elif self.loss.has_classes:
            factor = float(np.clip(share[1], 1 / SETTINGS.max_rescaling, SETTINGS.max_rescaling))
            trained = _scaled(trained, factor)

        blended = share[0] * by_teacher + share[1] * by_network
        return replace(trained, held_out=HeldOut(held, blended, "network"))

    def _fit_alone(self) -> TrainedNetwork:
        """A network without a linear skip."""
        if not self.inputs.is_sparse or self.validation is not None:
            return self._train(self.labelled)
        kept, validation = self._hold_out()
        trained = self._train(kept, validation)
        return trained if validation is None else self._train_longer(trained)

    def _blend(self, by_teacher: Floats, by_network: Floats, held: Examples) -> Floats:
        """Weights of teacher and network in the outputs; with "auto", 0 for a teacher that does not clearly help."""
        both = blend_weights(self.loss, held, [by_teacher, by_network])
        if self.recipe.linear_skip is True:
            return both
        (alone,) = blend_weights(self.loss, held, [by_network])

        blended = both[0] * by_teacher + both[1] * by_network
        before, after = (
            losses_by_part(self.loss, held, each) for each in (alone * by_network, blended)
        )
        gain = before - after
        return both if gain.mean() > standard_error(gain) else np.array([0.0, alone])

    # ---- steps of both

    @property
    def inputs(self) -> Inputs:
        """All rows, labelled or not."""
        return self.labelled.inputs

    @cached_property
    def _initial(self) -> TSENet:
        """The network before training; the same for every fold, since it needs no labels."""
        return self.init_network(self.wiring, self.inputs)

    def _hold_out(self) -> tuple[Examples, Examples | None]:
        """Rows to train on, and rows to validate on, if there are enough; every class keeps a row to train on."""
        labelled = self.labelled
        if labelled.n_rows < SETTINGS.min_rows_to_hold_out:
            return labelled, None
        rng = np.random.default_rng(self.seeds.split)
        held = stratified_folds(labelled, self.loss, SETTINGS.validation_folds, rng) == 0
        if self.loss.has_classes:
            held &= np.isin(labelled.targets, labelled.targets[~held])
        return labelled.take(~held), labelled.take(held)

    def _train(self, labelled: Examples, validation: Examples | None = None) -> TrainedNetwork:
        """Train a new network; on sparse rows until the validation rows see no more progress."""
        schedule, score = self._schedule(labelled), calibrated_score(self.loss)
        if not self.inputs.is_sparse:
            schedule, validation = replace(schedule, patience=None), None
        if self.validation is not None:  # the user's own rows and score
            validation, score = self.validation, self.score
        return self.train(deepcopy(self._initial), labelled, schedule, validation, score)

    def _train_longer(self, trained: TrainedNetwork) -> TrainedNetwork:
        """Train a network for some more epochs, on all labelled rows; a new one would take four times as long."""
        if self.validation is not None:  # what the user's rows chose stays
            return self._train(self.labelled)
        history, seeds = trained.history, self.seeds
        n_epochs = history.n_epochs if history.best_epoch is None else history.best_epoch + 1
        n_epochs = max(1, round(SETTINGS.longer * n_epochs))
        schedule = replace(self._schedule(self.labelled), max_epochs=n_epochs)
        seeds = seeds._replace(dropout=seeds.dropout + 1, order=seeds.order + 1)
        longer = replace(self, seeds=seeds).train(trained.net, self.labelled, schedule)
        return replace(longer, history=history)

    def _schedule(self, labelled: Examples) -> TrainingOptions:
        """How long and fast to train on some rows."""
        dropped = self.recipe.input_dropout(self.inputs, self.wiring) > 0
        return self.recipe.cosine_schedule(labelled.n_rows, self.inputs.is_sparse, dropped)

    def _outputs(self, net: TSENet, rows: Ints | None = None) -> Floats:
        return net.predictor().outputs(self.inputs, rows, self.recipe.n_jobs)

    def _with_linear_skip(
        self, trained: TrainedNetwork, linear: Linear, share: Floats, of_embeddings: Linear | None
    ) -> TrainedNetwork:
        """The network with a linear skip from the input, and embeddings if kept: its outputs are the blend."""
        options = replace(trained.net.options, linear_skip=True)
        net = TSENet.of(self.wiring, self.loss.n_outputs, options)
        with torch.no_grad():
            net.load_state_dict(trained.net.state_dict(), strict=False)
            net.output.weight.mul_(share[1])
            net.output.bias.mul_(share[1]).add_(torch.from_numpy(share[0] * linear.bias))
            assert net.linear_skip is not None
            net.linear_skip.copy_(torch.from_numpy(share[0] * linear.weight))
        trained = replace(trained, net=net.eval(), adam=None)
        if of_embeddings is None or not self.keep_embeddings:
            return trained
        return replace(trained, of_embeddings=of_embeddings.scaled(share[0]))


def _scaled(trained: TrainedNetwork, factor: float) -> TrainedNetwork:
    """The network with its outputs multiplied: the same answers, more or less sure."""
    net, part = trained.net, trained.of_embeddings
    with torch.no_grad():
        net.output.weight.mul_(factor)
        net.output.bias.mul_(factor)
        if net.linear_skip is not None:
            net.linear_skip.mul_(factor)
    return replace(trained, of_embeddings=None if part is None else part.scaled(factor))
