"""Classes and labels: what a target of a classifier is, and what its network's outputs mean."""

from __future__ import annotations

import logging
import math
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import ClassifierMixin
from sklearn.utils.class_weight import compute_class_weight
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import assert_all_finite, check_is_fitted, column_or_1d

from tsenet.errors import DataError
from tsenet.estimators._network import NetworkEstimator, dense_targets

if TYPE_CHECKING:
    from tsenet.training.losses import Loss


logger = logging.getLogger("tsenet")


class ClassTargets(ClassifierMixin, NetworkEstimator):
    """Two classes, many, or several labels at once, of which some may be unknown."""

    class_weight: Any

    classes_: NDArray[Any]
    _multilabel: bool

    def predict(self, X: Any) -> NDArray[Any]:
        """The most probable class (N,), or 0 and 1 for each label (N, C)."""
        outputs = self._outputs(X)
        if self._multilabel:
            return (outputs > 0).astype(np.int64)
        two = self.classes_.size == 2
        number = (outputs[:, 0] > 0).astype(np.intp) if two else outputs.argmax(axis=1)
        answer: NDArray[Any] = self.classes_[number]
        return answer

    def predict_proba(self, X: Any) -> NDArray[np.float64]:
        """Probabilities: of each class (N, classes), or that each label holds (N, labels)."""
        outputs = self._outputs(X)
        return self._loss().predict(outputs)

    def decision_function(self, X: Any) -> NDArray[np.float64]:
        """Raw outputs of the network.

        Two classes: log-odds of the second (N,). More: a score for each (N, classes), whose softmax is
        :meth:`predict_proba`. Labels: log-odds of each (N, labels).
        """
        outputs = self._outputs(X)
        return outputs[:, 0] if not self._multilabel and self.classes_.size == 2 else outputs

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """Share of rows predicted right; for several labels, of rows with all known labels right.

        Rows without any known label are left out.
        """
        check_is_fitted(self, "net_")
        if not self._multilabel:
            return float(super().score(X, y, sample_weight))
        wanted = self._read_targets(y)
        known = ~np.isnan(wanted)
        right = ((self.predict(X) == wanted) | ~known).all(axis=1)
        counted = known.any(axis=1)
        weights = None if sample_weight is None else np.asarray(sample_weight)[counted]
        return float(np.average(right[counted], weights=weights))

    @property
    def output_names_(self) -> tuple[str, ...]:
        """A name for each raw output: the classes, for two classes only the second."""
        names = tuple(str(name) for name in self.classes_.tolist())
        return names[1:] if len(names) == 2 and not self._multilabel else names

    @property
    def output_scale_(self) -> NDArray[np.float64]:
        """Factor (C,) from raw outputs to answers: 1, the answers are log-odds."""
        return np.ones(len(self.output_names_))

    @property
    def output_shift_(self) -> NDArray[np.float64]:
        """Shift (C,) from raw outputs to answers: 0."""
        return np.zeros(len(self.output_names_))

    # ---- targets

    def _read_targets(self, y: Any) -> NDArray[Any]:
        wanted = dense_targets(y)
        if wanted.ndim == 2 and (wanted.shape[1] > 1 or _has_unknown(wanted)):
            return _labels_of(wanted)
        wanted = np.asarray(column_or_1d(wanted, warn=True))
        assert_all_finite(wanted, input_name="y")
        check_classification_targets(wanted)
        return wanted

    def _learn_targets(self, y: NDArray[Any], classes: Any) -> None:
        self._multilabel = y.ndim == 2
        if self._multilabel:
            self.classes_ = np.arange(y.shape[1])
        else:
            found = np.unique(y if classes is None else classes)
            unlabelled = _is_unlabelled(found)
            # −1 and one other class are two classes, as many people write them
            self.classes_ = found[~unlabelled] if found.size > 2 else found
            if self.classes_.size < found.size:
                logger.info("%d rows have the class −1: no label", np.count_nonzero(y == -1))
        if not self._multilabel and self.classes_.size < 2:
            raise DataError(
                f"{type(self).__name__} needs at least two classes, "
                f"but y holds only one class: {self.classes_.tolist()[0]!r}"
            )

    def _encode(self, y: NDArray[Any]) -> NDArray[Any]:
        if self._multilabel:
            if y.ndim != 2 or y.shape[1] != self.classes_.size:
                raise DataError(f"y must have {self.classes_.size} columns of labels, as before")
            return y
        if y.ndim != 1:
            raise DataError("y must be one column of classes, as before")
        known = np.isin(y, self.classes_)
        unlabelled = ~known & _is_unlabelled(y)
        if not (known | unlabelled).all():
            raise DataError(
                f"y holds classes that were not there before: {np.unique(y[~known & ~unlabelled]).tolist()}; "
                f"classes_ is {self.classes_.tolist()}"
            )
        return np.where(unlabelled, -1, np.searchsorted(self.classes_, y))

    def _loss(self, targets: NDArray[Any] | None = None) -> Loss:
        from tsenet.training.losses import BinaryLoss, MulticlassLoss, MultilabelLoss

        weights = None if targets is None else self._class_weights(targets)
        if self._multilabel:
            return MultilabelLoss(self.classes_.size, weights)
        if self.classes_.size == 2:
            return BinaryLoss(weights)
        return MulticlassLoss(self.classes_.size, weights)

    def _class_weights(self, targets: NDArray[Any]) -> NDArray[np.float64] | None:
        """Weights of the classes (K,), or of the absence and presence of each label (C, 2)."""
        given = self.class_weight
        if given is None:
            return None
        if not self._multilabel:
            # classes_ of these targets alone: a class without rows has no say
            present = np.unique(targets)
            weights = np.ones(self.classes_.size)
            weights[present] = compute_class_weight(
                given, classes=self.classes_[present], y=self.classes_[targets]
            )
            return weights
        if isinstance(given, str):
            if given != "balanced":
                raise ValueError(f"class_weight must be a dict, 'balanced' or None, not {given!r}")
            counts = np.stack([(targets == k).sum(axis=0) for k in (0, 1)], axis=1)  # (C, 2)
            balanced: NDArray[np.float64] = counts.sum(axis=1, keepdims=True) / (
                2.0 * np.maximum(counts, 1)
            )
            return balanced
        each = [given] * self.classes_.size if isinstance(given, dict) else list(given)
        return np.array([[weight.get(0, 1.0), weight.get(1, 1.0)] for weight in each])

    def _stratify_by(self, targets: NDArray[Any]) -> NDArray[np.int64] | None:
        return None if self._multilabel else targets

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_label = True
        return tags


def _is_unlabelled(y: NDArray[Any]) -> NDArray[np.bool_]:
    """Which entries are −1, in numbers; classes of other kinds have no mark for a missing label."""
    return y == -1 if y.dtype.kind in "if" else np.zeros(y.shape, bool)


def _has_unknown(wanted: NDArray[Any]) -> bool:
    """Whether a 2-D y of one column has entries nobody knows."""
    if wanted.dtype.kind == "O":
        return any(
            value is None or (isinstance(value, float) and math.isnan(value))
            for value in wanted.ravel()
        )
    return wanted.dtype.kind == "f" and bool(np.isnan(wanted).any())


def _labels_of(wanted: NDArray[Any]) -> NDArray[np.float64]:
    """A 2-D y of labels as 0, 1 and NaN."""
    try:
        labels = wanted.astype(np.float64)
    except (TypeError, ValueError) as error:
        raise DataError(f"a 2-D y must hold 0, 1 or NaN (unknown): {error}") from error
    known = labels[~np.isnan(labels)]
    if not np.isin(known, (0.0, 1.0)).all():
        other = known[~np.isin(known, (0.0, 1.0))][0]
        raise DataError(
            f"Unknown label type: a 2-D y must hold 0, 1 or NaN (unknown), but it holds {other:g}"
        )
    if not known.size:
        raise DataError("y holds no known label")
    return labels
