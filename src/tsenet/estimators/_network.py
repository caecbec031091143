"""From a table to a trained network and back to answers: what all estimators with a network share."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Self

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.utils.validation import check_consistent_length, check_is_fitted, validate_data

from tsenet._system.seeds import seed_sequence
from tsenet.data.binary import BinaryRule
from tsenet.data.order import canonical_order, duplicate_groups, repeats_of
from tsenet.data.scaling import Scaling
from tsenet.data.table import Table
from tsenet.errors import DataError
from tsenet.estimators._job import Job, Rows
from tsenet.progress import Progress, as_progress

if TYPE_CHECKING:
    from torch import nn

    from tsenet.network.batches import Inputs
    from tsenet.training.callbacks import Callback
    from tsenet.training.engine import Engine
    from tsenet.training.history import History
    from tsenet.training.labelled import Labelled
    from tsenet.training.loop import Score
    from tsenet.training.losses import Loss
    from tsenet.training.options import TrainingOptions

_SLAB = 4096  # sparse rows made dense at a time, for a network that was fitted on dense ones


# With fewer labelled rows back-propagation did not improve on a start from labels (docs/adr/0009-few-labels.md).
_ENOUGH_SPARSE = 2000
_ENOUGH_DENSE = 500
_RATE = 1e-3
_RATE_FROM_SPARSE_START = 1e-4


class NetworkEstimator(TransformerMixin, BaseEstimator):
    """Reading rows, training and answering; which network it is, and what a target is, is the children's."""

    # The parameters, set by the children's __init__, which scikit-learn wants written out there.
    learning_rate: float | None
    batch_size: int
    max_epochs: int
    early_stopping: bool
    validation_fraction: float
    patience: int
    warm_start: bool = False
    device: str
    n_jobs: int | None
    random_state: Any
    verbose: Any
    callbacks: Sequence[Callback] | None

    net_: nn.Module
    history_: History
    n_parameters_: int
    n_features_in_: int
    feature_names_in_: NDArray[np.object_]

    _rule: BinaryRule
    _scaling: Scaling
    _n_runs: int
    #: Adam's state between calls of partial_fit; not kept in files.
    _optimiser: dict[str, NDArray[Any]] | None = None

    # ---- what the children say: of the network

    @abstractmethod
    def _build(self, rows: Rows, report: Progress) -> None:
        """Make an untrained network for the rows: ``net_``, ``n_parameters_``, ``_rule``, ``_scaling``, ``_n_runs``."""

    @abstractmethod
    def _engine(self, inputs: Inputs, loss: Loss, seed: int) -> Engine:
        """What trains ``net_`` on the inputs."""

    @abstractmethod
    def _outputs_of(self, inputs: Inputs) -> NDArray[np.float64]:
        """Raw outputs of the network: (n, C)."""

    @abstractmethod
    def _hidden_of(self, inputs: Inputs) -> NDArray[np.float32]:
        """Activations of all its hidden units: (n, units)."""

    # ---- of the targets

    @abstractmethod
    def _read_targets(self, y: Any) -> NDArray[Any]:
        """Check the user's y, without learning from it: (N,) or (N, C)."""

    @abstractmethod
    def _learn_targets(self, y: NDArray[Any], classes: Any) -> None:
        """Learn what the targets are (classes, scale) before a first fit."""

    @abstractmethod
    def _encode(self, y: NDArray[Any]) -> NDArray[Any]:
        """The targets as the loss wants them."""

    @abstractmethod
    def _loss(self, targets: NDArray[Any] | None = None) -> Loss:
        """The loss; with the weights of classes if encoded targets are given."""

    @property
    def _starts(self) -> bool:
        """Whether a new network gets its first weights from the labels, before any step of training."""
        return False

    def _start(
        self, inputs: Inputs, labelled: Labelled, loss: Loss, seed: int, report: Progress
    ) -> None:
        """Give a new network its first weights, if they are not those it was made with."""

    def _own_callbacks(self) -> tuple[Callback, ...]:
        """What the network itself wants done in training."""
        return ()

    def _stratify_by(self, targets: NDArray[Any]) -> NDArray[np.int64] | None:
        """Class numbers by which the validation rows are drawn."""
        return None

    def _validation_score(self) -> Score | None:
        """What early stopping watches; None for minus the loss."""
        return None

    # ---- learning

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Make the network (a learned structure comes from ``X`` alone), then train it on ``X`` and ``y``.

        Parameters
        ----------
        X : array, sparse matrix, dataframe, list of rows or Table, (N, V)
        y : array-like, (N,) or (N, C)
            NaN in a 2-D ``y`` is an unknown target: it is left out. For a classifier, the class −1 beside two or
            more others marks rows without a label, as for scikit-learn's semi-supervised estimators: structure and
            first weights are learned from them too.
        sample_weight : array-like (N,), optional
            Whole numbers count as repetitions of a row, as long as the rows do not become more than tenfold.
            Other weights count in the loss; the structure then takes all rows alike. 0 removes a row.
        """
        going_on = self.warm_start and hasattr(self, "net_")
        with as_progress(progress_of(self.verbose)) as report:
            rows = self._rows(X, y, sample_weight, reset=not going_on)
            if not going_on:
                self._build(rows, report)
            self._optimiser = None
            self._train(rows, report, self.max_epochs, self.early_stopping, new=not going_on)
        return self

    def _rows(
        self, X: Any, y: Any, sample_weight: Any, *, reset: bool, classes: Any = None
    ) -> Rows:
        """Check what the user gave; repeat rows by their weights; put them in the canonical order."""
        table = Table.of(X)
        name = type(self).__name__
        if y is None:
            raise DataError(f"{name} requires y to be passed, but the target y is None")
        self._check_columns(X, reset)
        wanted = self._read_targets(y)
        check_consistent_length(table.values, wanted)
        if table.n_rows < 2 and reset:
            raise DataError(f"{name} needs at least two rows, got n_samples = {table.n_rows}")
        weights = _weights_of(sample_weight, table.n_rows)
        if weights is not None:
            repeated = repeats_of(weights)
            chosen = np.flatnonzero(weights) if repeated is None else repeated
            weights = weights[chosen] if repeated is None else None
            table, wanted = table.take(chosen), wanted[chosen]
        if reset:
            self._learn_targets(wanted, classes)
        targets = self._encode(wanted)
        order = canonical_order(table.values, targets, *(() if weights is None else (weights,)))
        return Rows(table.take(order), targets[order], None if weights is None else weights[order])

    def _train(
        self, rows: Rows, report: Progress, epochs: int, early_stopping: bool, new: bool = False
    ) -> Engine:
        """Train the network on the labelled rows, a part of them held out if training may stop early."""
        job = self._job(rows, epochs, early_stopping, new)
        engine = self._run(job, report)
        self._finish(job, report)
        return engine

    def _job(self, rows: Rows, epochs: int, early_stopping: bool, new: bool) -> Job:
        """What is to be trained on; the number of the run decides which rows are held out."""
        from tsenet.network.batches import Inputs
        from tsenet.training.labelled import Labelled
        from tsenet.training.loop import Validation
        from tsenet.training.split import split_rows

        table = rows.table
        kinds = duplicate_groups(table.values)
        labelled = Labelled.of(rows.labelled(), rows.targets, rows.weights, kinds)
        if not labelled.rows.size:
            raise DataError("no row has a label to train on")
        if table.is_sparse and self._scaling.centres:
            raise DataError("the network was first fitted on dense rows: go on with dense ones")
        run = seed_sequence(self.random_state).spawn(4 + self._n_runs)[-1]
        split_seed, *seeds = run.spawn(4)
        self._n_runs += 1
        inputs = Inputs.of(self._scaling.apply(table), self._rule)
        enough = _ENOUGH_SPARSE if inputs.is_sparse else _ENOUGH_DENSE
        few = new and self._starts and early_stopping and labelled.rows.size < enough
        kept, validation = labelled, None
        if early_stopping and not few:
            by_class = self._stratify_by(labelled.targets)
            inside, out = split_rows(
                labelled.rows.size, self.validation_fraction, split_seed, by_class, labelled.kinds
            )
            kept = labelled.take(inside)
            if out.size:
                held_out = labelled.take(out)
                validation = Validation(inputs, held_out.rows, held_out.targets, held_out.weights)
        return Job(
            inputs,
            labelled,
            kept,
            validation,
            self._loss(labelled.targets),
            few,
            new,
            self._options(
                batch_size=min(self.batch_size, max(32, kept.rows.size // 20)),
                max_epochs=epochs,
                early_stopping=early_stopping,
            ),
            *(seed_number(seed) for seed in seeds),
        )

    def _run(self, job: Job, report: Progress) -> Engine:
        """Give a new network its first weights, and train it unless these are all that few labels can give."""
        from tsenet.training.history import History
        from tsenet.training.loop import train

        if job.new:
            self._start(job.inputs, job.kept, job.loss, job.start_seed, report)
        engine = self._engine(job.inputs, job.loss, job.dropout_seed)
        if self._optimiser is not None:
            engine.load_state(self._optimiser)
        if job.few:
            self.history_ = History(stopped="few labels")
            return engine
        started = job.new and self._starts
        self.history_ = train(
            engine,
            job.kept.rows,
            job.kept.targets,
            job.kept.weights,
            validation=job.validation,
            score=self._validation_score(),
            options=replace(
                job.options,
                keep_start=started or bool(self._own_callbacks()),
                learning_rate=self._rate(job.inputs),
            ),
            callbacks=(*(self.callbacks or ()), *self._own_callbacks()),
            progress=report,
            seed=job.order_seed,
        )
        self.net_.to("cpu").eval()
        return engine

    def _finish(self, job: Job, report: Progress) -> None:
        """If no epoch beat the start, nothing has to be held out from it any more."""
        beaten = job.few or self.history_.best_epoch is not None
        if job.new and self._starts and job.validation is not None and not beaten:
            self._start(job.inputs, job.labelled, job.loss, job.start_seed, report)

    def _options(self, **changes: Any) -> TrainingOptions:
        from tsenet.training.options import TrainingOptions
        from tsenet.training.split import check_fraction

        check_fraction(self.validation_fraction)
        options = {
            "learning_rate": self._rate(None),
            "batch_size": self.batch_size,
            "max_epochs": self.max_epochs,
            "early_stopping": self.early_stopping,
            "patience": self.patience,
        }
        return TrainingOptions(**{**options, **changes})

    def _rate(self, inputs: Inputs | None) -> float:
        """The learning rate given, else one that suits the start."""
        if self.learning_rate is not None:
            return self.learning_rate
        spoiled = inputs is not None and inputs.is_sparse and self._starts
        return _RATE_FROM_SPARSE_START if spoiled else _RATE

    def _device(self) -> str:
        """Where to train."""
        import torch

        if self.device != "auto":
            return self.device
        return "cuda" if torch.cuda.is_available() else "cpu"

    # ---- answers

    def _outputs(self, X: Any) -> NDArray[np.float64]:
        """Raw outputs of the network: (N, C)."""
        return np.concatenate([self._outputs_of(part) for part in self.network_inputs(X)])

    def transform(self, X: Any) -> NDArray[np.float32]:
        """Activations of all hidden units, layer by layer: (N, units)."""
        return np.concatenate([self._hidden_of(part) for part in self.network_inputs(X)])

    @property
    def binary_rule_(self) -> BinaryRule:
        """How columns of a table become inputs of the network."""
        return self._rule

    def network_inputs(self, X: Any) -> Iterator[Inputs]:
        """Yield blocks of new rows as the network reads them, after checks of names and number of features."""
        check_is_fitted(self, "net_")
        from tsenet.network.batches import Inputs

        table = Table.of(X)
        self._check_columns(X, False)
        step = _SLAB if table.is_sparse and self._scaling.centres else table.n_rows
        for start in range(0, table.n_rows, step):
            part = table.take(slice(start, start + step)) if step < table.n_rows else table
            yield Inputs.of(self._scaling.apply(part), self._rule)

    def _check_columns(self, X: Any, reset: bool) -> None:
        """scikit-learn's checks of names and number of features; it does not see the names of a Table."""
        if not isinstance(X, Table):
            validate_data(self, X, reset=reset, skip_check_array=True)
        elif reset:
            validate_data(self, X.values, skip_check_array=True)
            if X.named:
                self.feature_names_in_ = np.array(X.names, dtype=object)
        else:
            self._rule.check_columns(X)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.target_tags.required = True
        tags.transformer_tags.preserves_dtype = []
        return tags


def _weights_of(given: Any, n_rows: int) -> NDArray[np.float64] | None:
    """Weights of the rows, checked; None if all are alike."""
    if given is None:
        return None
    weights = np.asarray(given, np.float64)
    if weights.shape != (n_rows,):
        raise DataError(
            f"sample_weight must have one number for each of the {n_rows} rows, "
            f"not the shape {weights.shape}"
        )
    if not np.isfinite(weights).all() or (weights < 0).any():
        raise DataError("sample_weight must hold finite numbers from 0 on")
    if not weights.any():
        raise DataError("all of sample_weight is zero: no row has any weight")
    return None if (weights == 1).all() else weights


def progress_of(verbose: Any) -> Any:
    """0 and 1 as False and True, which is what scikit-learn's users write."""
    return bool(verbose) if isinstance(verbose, int | np.integer | np.bool_) else verbose


def seed_number(seed: np.random.SeedSequence) -> int:
    """A seed of 31 bits, which every generator takes."""
    return int(seed.generate_state(1)[0] >> 1)


def dense_targets(y: Any) -> NDArray[Any]:
    """Targets as an array; a sparse matrix of labels becomes dense."""
    return np.asarray(y.toarray() if sp.issparse(y) else y)
