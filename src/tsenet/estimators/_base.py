"""What the classifier and the regressor share: from a table to a trained network, and back to answers."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator, Sequence
from os import PathLike
from typing import TYPE_CHECKING, Any, NamedTuple, Self

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.utils.validation import check_consistent_length, check_is_fitted, validate_data

from tsenet.data.order import canonical_order, repeats_of
from tsenet.data.scaling import Scaling
from tsenet.data.table import Table
from tsenet.errors import DataError
from tsenet.estimators._structure import bare_wiring, structure_of
from tsenet.expansion.wiring import Wiring
from tsenet.progress import Progress, as_progress
from tsenet.seeds import seed_sequence

if TYPE_CHECKING:
    from tsenet.network.batches import Inputs
    from tsenet.network.tsenet import TSENet
    from tsenet.skeleton.tree import LatentTree
    from tsenet.training.callbacks import Callback
    from tsenet.training.engine import Engine
    from tsenet.training.history import History
    from tsenet.training.loop import Score
    from tsenet.training.losses import Loss

_SLAB = 4096  # sparse rows made dense at a time, for a network that was fitted on dense ones

_NETWORK = ("skip_units", "feature_units", "activation", "dropout", "norm", "init")


class Rows(NamedTuple):
    """What training sees, in an order that does not depend on the one given."""

    table: Table
    targets: NDArray[Any]  # (N,) or (N, C), as the loss wants them
    weights: NDArray[np.float64] | None  # (N,)


class TSENetBase(TransformerMixin, BaseEstimator):
    """Fitting, hidden units and files; what a target is and what an output means is the children's."""

    # The parameters, set by the children's __init__, which scikit-learn wants written out there.
    density: float
    rule: Any
    max_top: int
    max_island: int
    correlation_test: bool
    structure_samples: int | None
    skip_units: int
    feature_units: int
    dropout: float
    activation: Any
    norm: Any
    init: Any
    learning_rate: float
    batch_size: int
    max_epochs: int
    early_stopping: bool
    validation_fraction: float
    patience: int
    warm_start: bool
    wiring: Wiring | None
    device: str
    n_jobs: int | None
    random_state: Any
    verbose: Any
    callbacks: Sequence[Callback] | None

    tree_: LatentTree | None
    wiring_: Wiring
    net_: TSENet
    history_: History
    n_parameters_: int
    n_features_in_: int
    feature_names_in_: NDArray[np.object_]
    source_: dict[str, Any] | None

    #: Adam's state between calls of partial_fit; not kept in files.
    _optimiser: dict[str, NDArray[Any]] | None = None

    @classmethod
    def paper(cls, **changes: Any) -> Self:
        """The paper's own recipe: top-k links, groups without a correlation test, structure from 10,000 rows.

        Parameters
        ----------
        **changes
            Other parameters, or other values of these.
        """
        recipe = {
            "rule": "top-k",
            "correlation_test": False,
            "dropout": 0.5,
            "structure_samples": 10_000,
        }
        return cls(**{**recipe, **changes})

    # ---- what the children say

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

    @abstractmethod
    def _target_parts(self) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
        """File form of what was learned from the targets."""

    @abstractmethod
    def _set_target_parts(self, meta: dict[str, Any], arrays: dict[str, NDArray[Any]]) -> None:
        """Put it back."""

    def _stratify_by(self, targets: NDArray[Any]) -> NDArray[np.int64] | None:
        """Class numbers by which the validation rows are drawn."""
        return None

    def _validation_score(self) -> Score | None:
        """What early stopping watches; None for minus the loss."""
        return None

    # ---- learning

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Learn the structure from ``X`` alone, then train the network on ``X`` and ``y``.

        Parameters
        ----------
        X : array, sparse matrix, dataframe, list of rows or Table, (N, V)
        y : array-like, (N,) or (N, C)
            NaN in a 2-D ``y`` is an unknown target: it is left out.
        sample_weight : array-like (N,), optional
            Whole numbers count as repetitions of a row, as long as the rows do not become more than tenfold.
            Other weights count in the loss; the structure then takes all rows alike. 0 removes a row.
        """
        going_on = self.warm_start and hasattr(self, "net_")
        with as_progress(_progress_of(self.verbose)) as report:
            rows = self._rows(X, y, sample_weight, reset=not going_on)
            if not going_on:
                self._build(rows, report)
            self._optimiser = None
            self._train(rows, report, self.max_epochs, self.early_stopping)
        return self

    def _partial_fit(self, X: Any, y: Any, classes: Any, sample_weight: Any) -> Self:
        """One epoch over new rows; the first call builds the network."""
        first = not hasattr(self, "net_")
        with as_progress(_progress_of(self.verbose)) as report:
            rows = self._rows(X, y, sample_weight, reset=first, classes=classes)
            if first:
                self._build(rows, report)
            engine = self._train(rows, report, epochs=1, early_stopping=False)
            self._optimiser = engine.state()
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

    def _build(self, rows: Rows, report: Progress) -> None:
        """Learn structure and scale; make an untrained network."""
        from tsenet.network.tsenet import TSENet

        tree_seed, wiring_seed, net_seed = seed_sequence(self.random_state).spawn(3)
        options = {name: getattr(self, name) for name in _NETWORK}
        TSENet(bare_wiring(("x",)), 1, **options)  # refuses bad options before the work
        self._options()
        found = structure_of(rows.table, self, tree_seed, wiring_seed, report)
        self.tree_, self.wiring_, self._rule = found
        self._scaling = Scaling.learn(rows.table)
        self._net_options = options
        self._n_runs = 0
        self.source_ = None
        self.net_ = TSENet(
            self.wiring_, self._loss().n_outputs, **options, seed=_number_of(net_seed)
        )
        self.n_parameters_ = self.net_.n_parameters

    def _train(self, rows: Rows, report: Progress, epochs: int, early_stopping: bool) -> Engine:
        """Train the network on the rows, a part of them held out if training may stop early."""
        from tsenet.network.batches import Inputs
        from tsenet.training.loop import Validation, train
        from tsenet.training.split import split_rows

        table, targets, weights = rows
        if table.is_sparse and self._scaling.centres:
            raise DataError("the network was first fitted on dense rows: go on with dense ones")
        run = seed_sequence(self.random_state).spawn(4 + self._n_runs)[-1]
        split_seed, dropout_seed, order_seed = run.spawn(3)
        inputs = Inputs.of(self._scaling.apply(table), self._rule)
        kept = np.arange(len(inputs), dtype=np.int64)
        validation = None
        if early_stopping:
            by_class = self._stratify_by(targets)
            kept, out = split_rows(len(inputs), self.validation_fraction, split_seed, by_class)
            if out.size:
                validation = Validation(
                    inputs, out, targets[out], None if weights is None else weights[out]
                )
        engine = self._engine(inputs, self._loss(targets), _number_of(dropout_seed))
        if self._optimiser is not None:
            engine.load_state(self._optimiser)
        self.history_ = train(
            engine,
            kept,
            targets[kept],
            None if weights is None else weights[kept],
            validation=validation,
            score=self._validation_score(),
            options=self._options(
                batch_size=min(self.batch_size, max(32, kept.size // 20)),
                max_epochs=epochs,
                early_stopping=early_stopping,
            ),
            callbacks=tuple(self.callbacks or ()),
            progress=report,
            seed=_number_of(order_seed),
        )
        self._n_runs += 1
        self.net_.to("cpu").eval()
        return engine

    def _options(self, **changes: Any) -> Any:
        from tsenet.training.options import TrainingOptions

        options = {
            "learning_rate": self.learning_rate,
            "batch_size": self.batch_size,
            "max_epochs": self.max_epochs,
            "early_stopping": self.early_stopping,
            "patience": self.patience,
        }
        return TrainingOptions(**{**options, **changes})

    def _engine(self, inputs: Inputs, loss: Loss, seed: int) -> Engine:
        """Kernels on a CPU; autograd on other devices and for batch normalisation."""
        import torch

        from tsenet.training.engine import AutogradEngine
        from tsenet.training.fused import FusedEngine

        device = self.device
        if device == "auto":
            device = "cuda" if torch.cuda.is_available() else "cpu"
        if device == "cpu" and not self.net_.has_norm:
            return FusedEngine(self.net_, inputs, loss, seed=seed, n_jobs=self.n_jobs)
        return AutogradEngine(self.net_, inputs, loss, device=device, seed=seed)

    # ---- answers

    def _outputs(self, X: Any) -> NDArray[np.float64]:
        """Raw outputs of the network: (N, C)."""
        from tsenet.network.evaluate import network_outputs

        parts = [network_outputs(self.net_, inputs, self.n_jobs) for inputs in self._inputs(X)]
        return np.concatenate(parts)

    def transform(self, X: Any) -> NDArray[np.float32]:
        """Activations of all hidden units, level by level, then the feature layer: (N, units)."""
        from tsenet.network.evaluate import hidden_activations

        parts = [hidden_activations(self.net_, part, self.n_jobs) for part in self._inputs(X)]
        return np.concatenate(parts)

    def get_feature_names_out(self, input_features: Any = None) -> NDArray[np.object_]:
        """Names of the hidden units, one for each column that :meth:`transform` gives.

        Latents have their names in the tree; ``skip0.3`` is a feature unit that reads the input, ``skip1.3`` one that
        reads level 1, ``top.3`` one that reads the top level.
        """
        check_is_fitted(self)
        names = [name for layer in self.wiring_.names[1:] for name in layer]
        for level, group in enumerate(self.net_.skips):
            names += [f"skip{level}.{k}" for k in range(group.bias.numel())]
        names += [f"top.{k}" for k in range(self.net_.top.bias.numel())]
        return np.array(names, dtype=object)

    def _inputs(self, X: Any) -> Iterator[Inputs]:
        """New rows as the network reads them, after scikit-learn's checks of names and number of features."""
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

    # ---- files

    def save(self, path: str | PathLike[str]) -> None:
        """Write the fitted estimator to a ``.tsenet`` file, which :func:`tsenet.load` reads."""
        from tsenet.store import save

        save(self, path)

    def to_parts(self) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
        """The file form. Parameters that are not plain values (callbacks, a generator) become None."""
        from tsenet.estimators._files import estimator_parts

        check_is_fitted(self, "net_")
        return estimator_parts(self)

    @classmethod
    def from_parts(cls, meta: dict[str, Any], arrays: dict[str, NDArray[Any]]) -> Self:
        """Rebuild an estimator from :meth:`to_parts`."""
        from tsenet.estimators._files import fill_estimator, parameters_of

        estimator = cls(**parameters_of(meta))
        fill_estimator(estimator, meta, arrays)
        return estimator

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


def _progress_of(verbose: Any) -> Any:
    """0 and 1 as False and True, which is what scikit-learn's users write."""
    return bool(verbose) if isinstance(verbose, int | np.integer | np.bool_) else verbose


def _number_of(seed: np.random.SeedSequence) -> int:
    """A seed of 31 bits, which every generator takes."""
    return int(seed.generate_state(1)[0] >> 1)


def dense_targets(y: Any) -> NDArray[Any]:
    """Targets as an array; a sparse matrix of labels becomes dense."""
    return np.asarray(y.toarray() if sp.issparse(y) else y)
