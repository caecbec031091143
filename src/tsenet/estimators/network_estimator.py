"""What all estimators with a network share: checks of rows and targets, and answers."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator
from dataclasses import fields
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray
from sklearn.base import (
    BaseEstimator,
    ClassifierMixin,
    RegressorMixin,
    TransformerMixin,
    is_classifier,
)
from sklearn.metrics import r2_score
from sklearn.utils.validation import check_consistent_length, check_is_fitted, validate_data

from tsenet.data.binary import BinaryRule
from tsenet.data.order import canonical_order, duplicate_groups, repeats_of
from tsenet.data.scaling import Scaling, power_near
from tsenet.data.table import Table
from tsenet.errors import DataError
from tsenet.estimators.columns import check_table
from tsenet.estimators.outside_memory import is_outside_memory, tables_of
from tsenet.estimators.parameters import check_parameters
from tsenet.estimators.texts import rows_of
from tsenet.training.given_targets import GivenTargets, read_targets, warn_of_marker
from tsenet.training.targets import Targets, learn_targets

if TYPE_CHECKING:
    from torch import nn

    from tsenet.network.batches import Inputs
    from tsenet.training.history import History
    from tsenet.training.rows import TrainingRows
    from tsenet.training.settings import TrainingSettings

__all__ = ["CheckedRows", "NetworkClassifier", "NetworkEstimator", "NetworkRegressor"]

_SLAB = 4096  # sparse rows made dense at a time, for a network that was fitted on dense ones

Settings = TypeVar("Settings", bound="TrainingSettings")


class CheckedRows(NamedTuple):
    """A user's rows after all checks, in an order that depends on their content alone."""

    table: Table
    targets: NDArray[Any]  # (N,) or (N, C), as the loss wants them
    weights: NDArray[np.float64] | None  # (N,)


class NetworkEstimator(TransformerMixin, BaseEstimator):
    """Rows in, answers out. Subclasses fit a network and say how it computes outputs and hidden activations."""

    n_jobs: int | None
    verbose: Any

    targets_: Targets
    binary_rule_: BinaryRule
    scaling_: Scaling
    net_: nn.Module
    history_: History
    n_parameters_: int
    n_features_in_: int
    feature_names_in_: NDArray[np.object_]
    #: The fitted CountVectorizer that makes rows of texts; None for a model of tables.
    vectorizer_: Any = None

    @abstractmethod
    def _outputs_of(self, inputs: Inputs) -> NDArray[np.float64]:
        """Raw outputs of the network: (n, C)."""

    @abstractmethod
    def _hidden_of(self, inputs: Inputs) -> NDArray[np.float32]:
        """Activations of all its hidden units: (n, units)."""

    # ---- reading

    def _check_rows(
        self,
        X: Any,
        y: Any,
        sample_weight: Any,
        *,
        reset: bool,
        classes: Any = None,
        check_columns: bool = True,
    ) -> CheckedRows:
        """Check what the user gave; repeat rows by whole weights; put them in the canonical order.

        With ``reset``, names of columns and what the targets are, are learned from these rows.
        """
        X = rows_of(self, X, reset=reset, progress=progress_of(self.verbose))
        known = None if reset else getattr(self, "feature_names_in_", None)
        table = Table.of(X, missing=True, columns=known)
        name = type(self).__name__
        if y is None:
            raise DataError(f"{name} requires y to be passed, but the target y is None")
        if check_columns:
            self._check_columns(X, table, reset)
        given = self._read_targets(y)
        check_consistent_length(table.values, given.values)
        if table.n_rows < 2 and reset:
            raise DataError(f"{name} needs at least two rows, got n_samples = {table.n_rows}")
        weights = _checked_weights(sample_weight, table.n_rows)
        if weights is not None:
            repeated = repeats_of(weights)
            chosen = np.flatnonzero(weights) if repeated is None else repeated
            weights = weights[chosen] if repeated is None else None
            table, given = table.take(chosen), given.take(chosen)
        targets = self._learn_targets(given, classes) if reset else self.targets_.encode(given)
        order = canonical_order(table.values, targets, *(() if weights is None else (weights,)))
        return CheckedRows(
            table.take(order), targets[order], None if weights is None else weights[order]
        )

    def _read_targets(self, y: Any) -> GivenTargets:
        """Check targets; those missing, or marked by the parameter ``unlabeled``, are not known."""
        return read_targets(y, is_classifier(self), getattr(self, "unlabeled", None))

    def _learn_targets(self, given: GivenTargets, classes: Any = None) -> NDArray[Any]:
        """Learn what the targets are, and encode them."""
        self._set_targets(learn_targets(given, is_classifier(self), classes))
        if is_classifier(self) and getattr(self, "unlabeled", None) is None:
            warn_of_marker(given)
        return self.targets_.encode(given)

    def _set_targets(self, targets: Targets) -> None:
        """Keep what the targets are; a classifier also has ``classes_``."""
        self.targets_ = targets
        if is_classifier(self):
            self.classes_ = targets.classes  # type: ignore[union-attr]  # of values is no classifier

    def _training_rows(self, checked: CheckedRows) -> TrainingRows:
        """The rows as the network reads them."""
        from tsenet.network.batches import Inputs
        from tsenet.training.rows import TrainingRows

        table = checked.table
        if table.is_sparse and self.scaling_.centres:
            raise DataError("the network was first fitted on dense rows: go on with dense ones")
        inputs = Inputs.of(self.scaling_.apply(table), self.binary_rule_)
        groups = duplicate_groups(table.values)
        return TrainingRows.of(inputs, checked.targets, checked.weights, groups)

    def _settings(self, kind: type[Settings], **changes: Any) -> Settings:
        """The parameters that training looks at, checked."""
        check_parameters(self.get_params(deep=False))
        own = {field.name: getattr(self, field.name) for field in fields(kind)}
        return kind(**{**own, **changes})

    def network_inputs(self, X: Any) -> Iterator[Inputs]:
        """Yield blocks of rows as the network reads them: scaled, categories one-hot.

        Parameters
        ----------
        X : table, (N, V), texts, or a folder of shards
            Rows with the columns that ``fit`` saw; words of a folder are matched by name.

        Yields
        ------
        Inputs
            Consecutive rows; folders and sparse tables that must become dense come in several blocks, others in one.
        """
        check_is_fitted(self, "history_")
        from tsenet.network.batches import Inputs

        if is_outside_memory(X):
            for table in tables_of(X, self.binary_rule_.names_in):
                yield from self.network_inputs(table)
            return
        X = rows_of(self, X, reset=False)
        table = Table.of(X, missing=True, columns=getattr(self, "feature_names_in_", None))
        self._check_columns(X, table, False)
        step = _SLAB if table.is_sparse and self.scaling_.centres else table.n_rows
        for start in range(0, table.n_rows, step):
            part = table.take(slice(start, start + step)) if step < table.n_rows else table
            yield Inputs.of(self.scaling_.apply(part), self.binary_rule_)

    def _check_columns(self, X: Any, table: Table, reset: bool) -> None:
        """scikit-learn's checks of names and number of features; it does not see the names of a Table."""
        if not isinstance(X, Table):
            check_table(self, X, table, reset=reset)
        elif reset:
            validate_data(self, X.values, skip_check_array=True)
            if X.named:
                self.feature_names_in_ = np.array(X.names, dtype=object)
        else:
            self.binary_rule_.check_columns(X)

    # ---- answers

    def _outputs(self, X: Any) -> NDArray[np.float64]:
        """Raw outputs of the network: (N, C)."""
        return _finite([self._outputs_of(part) for part in self.network_inputs(X)])

    def transform(self, X: Any) -> NDArray[np.float32]:
        """Activations of all hidden units, layer by layer: (N, units)."""
        return _finite([self._hidden_of(part) for part in self.network_inputs(X)])

    @property
    def output_names_(self) -> tuple[str, ...] | None:
        """A name for each raw output: the classes, for two classes only the second; None for regression."""
        return self.targets_.output_names

    @property
    def output_scale_(self) -> NDArray[np.float64]:
        """Factor (C,) from raw outputs to answers; 1 for classes, whose raw outputs are log-odds."""
        return self.targets_.output_scale

    @property
    def output_shift_(self) -> NDArray[np.float64]:
        """Shift (C,) from raw outputs to answers; 0 for classes."""
        return self.targets_.output_shift

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.input_tags.allow_nan = True
        tags.target_tags.required = True
        tags.transformer_tags.preserves_dtype = []
        return tags


class NetworkClassifier(ClassifierMixin, NetworkEstimator):
    """Answers of a classifier: two classes, many, or several labels at once."""

    targets_: Any  # ClassTargets or LabelTargets
    classes_: NDArray[Any]

    def predict(self, X: Any) -> NDArray[Any]:
        """The most probable class (N,), or 0 and 1 for each label (N, C)."""
        outputs = self._outputs(X)
        answer: NDArray[Any] = self.targets_.decode(outputs)
        return answer

    def predict_proba(self, X: Any) -> NDArray[np.float64]:
        """Probabilities: of each class (N, classes), or that each label holds (N, labels)."""
        outputs = self._outputs(X)
        shares: NDArray[np.float64] = self.targets_.probabilities(outputs)
        return shares

    def decision_function(self, X: Any) -> NDArray[np.float64]:
        """Raw outputs of the network.

        Two classes: log-odds of the second (N,). More: a score for each (N, classes), whose softmax is
        :meth:`predict_proba`. Labels: log-odds of each (N, labels).
        """
        outputs = self._outputs(X)
        decision: NDArray[np.float64] = self.targets_.decision(outputs)
        return decision

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """Share of rows predicted right; for several labels, of rows with all known labels right.

        Rows without a known label are left out.
        """
        check_is_fitted(self, "history_")
        values, known = self._read_targets(y)
        predicted = self.predict(X)
        check_consistent_length(predicted, values, sample_weight)
        if predicted.shape != values.shape or _are_texts(predicted) != _are_texts(values):
            raise DataError(
                f"y cannot be what the model predicts: it holds {values.tolist()[0]!r}, "
                f"a prediction is {predicted.tolist()[0]!r}"
            )
        right = predicted == values
        if values.ndim == 2:
            right = (right | np.isnan(values)).all(axis=1)
        weights = None if sample_weight is None else np.asarray(sample_weight)[known]
        return float(np.average(right[known], weights=weights))

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_label = True
        return tags


class NetworkRegressor(RegressorMixin, NetworkEstimator):
    """Answers of a regressor: one value or several."""

    targets_: Any  # ValueTargets

    def predict(self, X: Any) -> NDArray[np.float64]:
        """The values: (N,), or (N, C) if ``fit`` saw a 2-D ``y``."""
        outputs = self._outputs(X)
        values: NDArray[np.float64] = _finite([self.targets_.decode(outputs)])
        return values

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """R², the mean of those of several targets; unknown values are left out."""
        check_is_fitted(self, "history_")
        values = self._read_targets(y).values
        predicted = self.predict(X)
        check_consistent_length(predicted, values, sample_weight)
        if _columns(predicted).shape != _columns(values).shape:
            raise DataError(f"y has the shape {values.shape}, but predictions {predicted.shape}")
        power = power_near(np.nanmax(np.abs(values)))  # R² has no unit; its squares could overflow
        values, predicted = values / power, predicted / power
        scores = []
        for wanted, said in zip(_columns(values), _columns(predicted), strict=True):
            known = ~np.isnan(wanted)
            if known.any():
                weights = None if sample_weight is None else np.asarray(sample_weight)[known]
                scores.append(r2_score(wanted[known], said[known], sample_weight=weights))
        return float(np.mean(scores))

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.multi_output = True
        return tags


def _finite(parts: list[NDArray[Any]]) -> NDArray[Any]:
    """Answers in one array, after the check that none is infinite or NaN."""
    answers = np.concatenate(parts)
    finite = np.isfinite(answers)
    if not finite.all():
        row = int(np.argmin(finite.reshape(len(answers), -1).all(axis=1)))
        raise DataError(
            f"row {row} is too far from the rows the network was fitted on: its answer is not finite. "
            "Look for values in a wrong unit"
        )
    return answers


def progress_of(verbose: Any) -> Any:
    """0 and 1 as False and True, which is what scikit-learn's users write."""
    return bool(verbose) if isinstance(verbose, int | np.integer | np.bool_) else verbose


def _columns(values: NDArray[Any]) -> NDArray[Any]:
    """One target or several as columns: (C, N)."""
    return values.reshape(len(values), -1).T


def _are_texts(values: NDArray[Any]) -> bool:
    return values.dtype.kind == "U" or (values.dtype.kind == "O" and isinstance(values[0], str))


def _checked_weights(given: Any, n_rows: int) -> NDArray[np.float64] | None:
    """Weights of the rows; None if all are alike."""
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
