"""Targets: what a network is trained to answer, as values that encode, decode and weigh it.

Each kind of target is a frozen object learned from the first ``y``. It encodes further ones as its loss wants them
and turns raw outputs of the network back into answers; estimators hold one as ``targets_``.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, TypeAlias

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit, softmax

from tsenet.data.scaling import overflow_safe_scale
from tsenet.errors import DataError

if TYPE_CHECKING:
    from tsenet.training.given_targets import GivenTargets
    from tsenet.training.losses import Loss

__all__ = [
    "ClassTargets",
    "LabelTargets",
    "Targets",
    "ValueTargets",
    "learn_targets",
    "targets_from_parts",
]

_ROOM_FOR_CLASSES = 1 << 24  # bytes that classes may take beyond those of their own characters

Floats = NDArray[np.float64]


class _Comparable(ABC):
    """Equality by what a file would hold."""

    @abstractmethod
    def to_parts(self) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
        """The file form."""

    def __eq__(self, other: object) -> bool:
        if type(other) is not type(self):
            return NotImplemented
        (meta, arrays), (other_meta, other_arrays) = self.to_parts(), other.to_parts()
        return meta == other_meta and all(
            np.array_equal(array, other_arrays[name]) for name, array in arrays.items()
        )

    __hash__ = None  # type: ignore[assignment]  # holds arrays; Python spells "unhashable" so


@dataclass(frozen=True, eq=False)
class ClassTargets(_Comparable):
    """One of K classes for each row; encoded as class numbers, −1 for a row without a label.

    Attributes
    ----------
    classes : (K,)
        Sorted.
    """

    classes: NDArray[Any]
    n_targets: ClassVar[int] = 1

    @classmethod
    def learn(cls, y: NDArray[Any]) -> ClassTargets:
        """Find the classes of ``y`` (N,), which has a class in every row.

        Raises
        ------
        DataError
            If there are fewer than two classes.
        """
        classes = np.unique(y)
        if classes.size < 2:
            raise DataError(
                f"a classifier needs at least two classes, but y holds only one class: {classes.tolist()[0]!r}"
            )
        return cls(classes)

    @property
    def output_names(self) -> tuple[str, ...]:
        """A name for each raw output: the classes, for two classes only the second."""
        names = tuple(str(name) for name in self.classes.tolist())
        return names[1:] if len(names) == 2 else names

    @property
    def output_scale(self) -> Floats:
        """Factor (C,) from raw outputs to answers: raw outputs are log-odds, so 1."""
        return np.ones(len(self.output_names))

    @property
    def output_shift(self) -> Floats:
        """Shift (C,) from raw outputs to answers: 0."""
        return np.zeros(len(self.output_names))

    def encode(self, given: GivenTargets) -> NDArray[np.int64]:
        """Class numbers (N,), −1 for rows without a label.

        Raises
        ------
        DataError
            If ``y`` holds a class that is not one of ``classes``.
        """
        y, known = given
        if y.ndim != 1:
            raise DataError("y must be one column of classes, as before")
        new = known & ~np.isin(y, self.classes)
        if new.any():
            found = np.unique(y[new]).tolist()
            hint = (
                "; if -1 marks rows without a label, say so with unlabeled=-1"
                if -1 in found
                else ""
            )
            raise DataError(
                f"y holds classes that were not there before: {found}; classes_ is {self.classes.tolist()}{hint}"
            )
        return np.where(known, np.searchsorted(self.classes, y), -1)

    def decode(self, outputs: Floats) -> NDArray[Any]:
        """The most probable class of raw outputs (N, C): (N,)."""
        two = self.classes.size == 2
        number = (outputs[:, 0] > 0).astype(np.intp) if two else outputs.argmax(axis=1)
        answer: NDArray[Any] = self.classes[number]
        return answer

    def probabilities(self, outputs: Floats) -> Floats:
        """P(class) of every class: (N, classes)."""
        if self.classes.size == 2:
            return np.concatenate([expit(-outputs), expit(outputs)], axis=1)
        return np.asarray(softmax(outputs, axis=1))

    def decision(self, outputs: Floats) -> Floats:
        """Raw outputs as scikit-learn's ``decision_function`` gives them: two classes share one column."""
        return outputs[:, 0] if self.classes.size == 2 else outputs

    def loss(self, encoded: NDArray[Any] | None = None, class_weight: Any = None) -> Loss:
        """The loss; with weights of the classes if encoded targets and ``class_weight`` are given."""
        from sklearn.utils.class_weight import compute_class_weight

        from tsenet.training.losses import BinaryLoss, MulticlassLoss

        weights = None
        if encoded is not None and class_weight is not None:
            present = np.unique(encoded)  # a class without rows has no weight to balance
            weights = np.ones(self.classes.size)
            weights[present] = compute_class_weight(
                class_weight, classes=self.classes[present], y=self.classes[encoded]
            )
        if self.classes.size == 2:
            return BinaryLoss(weights)
        return MulticlassLoss(self.classes.size, weights)

    def stratify(self, encoded: NDArray[Any]) -> NDArray[np.int64]:
        """Class numbers by which validation rows are drawn."""
        return encoded

    def to_parts(self) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
        """The file form."""
        return {"kind": "classes", "classes": _values_of_array(self.classes)}, {}


@dataclass(frozen=True, eq=False)
class LabelTargets(_Comparable):
    """C labels for each row, each 0, 1 or unknown (NaN)."""

    n_labels: int

    @classmethod
    def learn(cls, y: NDArray[Any]) -> LabelTargets:
        """Count the labels of ``y`` (N, C)."""
        return cls(y.shape[1])

    @property
    def n_targets(self) -> int:
        """Number of columns of ``y``."""
        return self.n_labels

    @property
    def classes(self) -> NDArray[np.int64]:
        """Column numbers of the labels."""
        return np.arange(self.n_labels)

    @property
    def output_names(self) -> tuple[str, ...]:
        """The labels' column numbers."""
        return tuple(str(number) for number in range(self.n_labels))

    @property
    def output_scale(self) -> Floats:
        """Factor (C,) from raw outputs to answers: raw outputs are log-odds, so 1."""
        return np.ones(self.n_labels)

    @property
    def output_shift(self) -> Floats:
        """Shift (C,) from raw outputs to answers: 0."""
        return np.zeros(self.n_labels)

    def encode(self, given: GivenTargets) -> NDArray[Any]:
        """Labels (N, C), as given.

        Raises
        ------
        DataError
            If there are not C of them.
        """
        y = given.values
        if y.ndim != 2 or y.shape[1] != self.n_labels:
            raise DataError(f"y must have {self.n_labels} columns of labels, as before")
        return y

    def decode(self, outputs: Floats) -> NDArray[np.int64]:
        """Which labels are more probable than not: 0 or 1, (N, C)."""
        return (outputs > 0).astype(np.int64)

    def probabilities(self, outputs: Floats) -> Floats:
        """P(label) of every label: (N, C)."""
        return np.asarray(expit(outputs))

    def decision(self, outputs: Floats) -> Floats:
        """Log-odds of each label: (N, C)."""
        return outputs

    def loss(self, encoded: NDArray[Any] | None = None, class_weight: Any = None) -> Loss:
        """The loss; with weights of absence and presence of each label if these are given."""
        from tsenet.training.losses import MultilabelLoss

        weighted = encoded is not None and class_weight is not None
        return MultilabelLoss(
            self.n_labels, self._weights(encoded, class_weight) if weighted else None
        )

    def _weights(self, encoded: Any, given: Any) -> Floats:
        """Weights of the absence and presence of each label: (C, 2)."""
        if isinstance(given, str):
            if given != "balanced":
                raise ValueError(f"class_weight must be a dict, 'balanced' or None, not {given!r}")
            counts = np.stack([(encoded == k).sum(axis=0) for k in (0, 1)], axis=1)  # (C, 2)
            balanced: Floats = counts.sum(axis=1, keepdims=True) / (2.0 * np.maximum(counts, 1))
            return balanced
        each = [given] * self.n_labels if isinstance(given, dict) else list(given)
        return np.array([[weight.get(0, 1.0), weight.get(1, 1.0)] for weight in each])

    def stratify(self, encoded: NDArray[Any]) -> None:
        """Validation rows are drawn without regard to the labels."""

    def to_parts(self) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
        """The file form."""
        return {"kind": "labels", "n_labels": self.n_labels}, {}


@dataclass(frozen=True, eq=False)
class ValueTargets(_Comparable):
    """One value or several for each row; encoded with mean 0 and deviation 1. NaN is unknown.

    Attributes
    ----------
    one_target : bool
        Whether ``y`` was 1-D.
    output_shift, output_scale : float64 (C,)
        Mean and deviation of the known values: answers are raw outputs · scale + shift.
    """

    one_target: bool
    output_shift: Floats
    output_scale: Floats

    @classmethod
    def learn(cls, y: Floats) -> ValueTargets:
        """Find mean and deviation of each column's known values.

        Raises
        ------
        DataError
            If a column has no known value.
        """
        column = y[:, None] if y.ndim == 1 else y
        known = ~np.isnan(column)
        if not known.any(axis=0).all():
            raise DataError("a column of y holds no known value")
        count = known.sum(axis=0)
        power = overflow_safe_scale(np.abs(np.where(known, column, 0.0)).max(axis=0))
        column = np.where(known, column / power, 0.0)
        shift = column.sum(axis=0) / count
        square = np.square(np.where(known, column - shift, 0.0)).sum(axis=0) / count
        shift, deviation = shift * power, np.sqrt(square) * power
        varies = deviation > np.maximum(1e-12 * np.abs(shift), 1e-300)  # more than by rounding
        return cls(y.ndim == 1, shift, np.where(varies, deviation, 1.0))

    @property
    def n_targets(self) -> int:
        """Number of columns of ``y``."""
        return self.output_shift.size

    @property
    def output_names(self) -> None:
        """Values have no names."""

    def encode(self, given: GivenTargets) -> Floats:
        """Scaled values: (N,) for one target, else (N, C).

        Raises
        ------
        DataError
            If ``y`` has another number of columns than the first one.
        """
        y = given.values
        if (y.ndim == 1) != self.one_target or (
            y.ndim == 2 and y.shape[1] != self.output_shift.size
        ):
            raise DataError(f"y must have {self.output_shift.size} columns, as before")
        column = y.reshape(len(y), -1)
        if np.abs(self.output_shift).max() > 1e300:  # a difference could overflow
            scaled: Floats = column / self.output_scale - self.output_shift / self.output_scale
        else:
            scaled = (column - self.output_shift) / self.output_scale
        return scaled[:, 0] if self.one_target else scaled

    def decode(self, outputs: Floats) -> Floats:
        """Values from raw outputs (N, C): (N,) for one target, else (N, C)."""
        with np.errstate(over="ignore"):  # the caller refuses infinite answers
            values = outputs * self.output_scale + self.output_shift
        return values[:, 0] if self.one_target else values

    def loss(self, encoded: NDArray[Any] | None = None, class_weight: Any = None) -> Loss:
        """Squared error."""
        from tsenet.training.losses import RegressionLoss

        return RegressionLoss(self.output_shift.size)

    def stratify(self, encoded: NDArray[Any]) -> None:
        """Validation rows are drawn without regard to the values."""

    def to_parts(self) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
        """The file form."""
        arrays = {"shift": self.output_shift, "scale": self.output_scale}
        return {"kind": "values", "one_target": self.one_target}, arrays


Targets: TypeAlias = ClassTargets | LabelTargets | ValueTargets


def learn_targets(given: GivenTargets, classification: bool, classes: Any = None) -> Targets:
    """Learn what the targets are from a checked ``y``; ``classes`` names all there will be, if ``y`` does not."""
    y = given.values
    if not classification:
        return ValueTargets.learn(y)
    if y.ndim == 2:
        return LabelTargets.learn(y)
    return ClassTargets.learn(y[given.known] if classes is None else np.asarray(classes))


def targets_from_parts(meta: dict[str, Any], arrays: dict[str, NDArray[Any]]) -> Targets:
    """Rebuild targets from their ``to_parts``; raises ValueError if it cannot be done."""
    kind = meta["kind"]
    if kind == "classes":
        classes = _array_of_values(meta["classes"])
        if classes.ndim != 1 or classes.size < 2 or not (classes[:-1] < classes[1:]).all():
            raise ValueError("classes must be two or more, sorted and different")
        return ClassTargets(classes)
    if kind == "labels":
        if not isinstance(meta["n_labels"], int) or meta["n_labels"] < 1:
            raise ValueError(f"the number of labels is {meta['n_labels']!r}")
        return LabelTargets(meta["n_labels"])
    if kind == "values":
        shift, scale = arrays["shift"], arrays["scale"]
        if (
            shift.ndim != 1
            or shift.shape != scale.shape
            or any(array.dtype != np.float64 for array in (shift, scale))
            or not shift.size
            or (meta["one_target"] and shift.size != 1)
            or not (np.isfinite(shift).all() and np.isfinite(scale).all() and (scale > 0).all())
        ):
            raise ValueError("shift and scale of the targets must be finite, a scale positive")
        return ValueTargets(bool(meta["one_target"]), shift, scale)
    raise ValueError(f"targets of the kind {kind!r} are unknown")


def _values_of_array(array: NDArray[Any]) -> dict[str, Any]:
    """An array of classes as JSON-able values with their type."""
    values = array.tolist()
    if not all(isinstance(value, bool | int | float | str) for value in values):
        raise TypeError(f"classes of this kind cannot be saved: {values[0]!r}")
    if array.dtype.kind == "U":
        array = np.array(values)  # in the narrowest type
    return {"type": array.dtype.str if array.dtype.kind != "O" else "object", "values": values}


def _array_of_values(plain: dict[str, Any]) -> NDArray[Any]:
    """The inverse of :func:`_values_of_array`."""
    kind = plain["type"]
    if kind != "object" and np.dtype(kind).kind not in "biufU":
        raise ValueError(f"classes cannot be of type {kind!r}")
    values = plain["values"]
    if not all(isinstance(value, bool | int | float | str) for value in values):
        raise ValueError("classes must be numbers or strings")
    if kind == "object":
        return np.array(values, dtype=object)
    dtype = np.dtype(kind)
    n_characters = sum(len(value) for value in values if isinstance(value, str))
    if len(values) * dtype.itemsize > _ROOM_FOR_CLASSES + 16 * n_characters:
        raise ValueError(f"{len(values)} classes of type {kind!r} would fill the memory")
    return np.array(values, dtype=dtype)
