"""Targets: what a user's ``y`` holds, what a network is trained to answer, and how good its answers are.

`read_targets` checks a ``y``. A row has no target where it is None, NaN, ``pandas.NA``, masked or blank text, and where
it holds the marker that the user named (``unlabeled=-1``). Each kind of target is an object learned from the first
``y``: it encodes further ones as its loss wants them and turns raw outputs of the network back into answers; estimators
hold one as ``targets_``. Scores compare the answers with the targets, and a `History` has those of each epoch.
"""

from __future__ import annotations

import math
import warnings
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass, field, fields, replace
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from scipy.special import expit, softmax
from sklearn.exceptions import DataConversionWarning
from sklearn.utils.class_weight import compute_class_weight

from tsenet.data.scaling import overflow_safe_scale
from tsenet.data.table import canonical_csr, has_surrogate, surrogate_in
from tsenet.errors import DataError, NonNumericError

if TYPE_CHECKING:
    import pandas as pd

    from tsenet.network.inputs import Inputs

Floats = NDArray[np.floating[Any]]

_MANY_CLASSES = 20  # from here on, classes that are numbers may be a quantity
_DRAWS = 400  # of the bootstrap
#: Types of arrays that hold no targets.
_KINDS_REFUSED = {
    "S": "bytes",
    "M": "dates",
    "m": "differences of times",
    "c": "complex numbers",
    "V": "records",
}
_SERIES = ("train_loss", "validation_loss", "validation_score", "learning_rate", "seconds")


# ---- losses and their derivatives, in closed form
#
# All of them are one mean, Σ w·l / Σ w over the known targets of some rows. Weights w are (n,), one for each row, or
# (n, C), one for each target. An unknown target has weight 0: it is left out of the mean and its output receives no
# gradient. The loss of rows without any known target is 0.


@dataclass(frozen=True)
class Loss(ABC):
    """What turns the C outputs of a network into a number to minimise, and into predictions."""

    n_outputs: int = 1  # that the network needs
    #: Whether a target is one of several classes.
    has_classes: ClassVar[bool] = False

    @abstractmethod
    def gradient(
        self, outputs: Floats, targets: NDArray[Any], weights: NDArray[Any] | None = None
    ) -> tuple[float, Floats]:
        """Mean loss of outputs (n, C), and its derivative by them in their own type.

        ``targets`` has one entry per row, (n,), or one per output, (n, C).
        """

    @abstractmethod
    def predict(self, outputs: Floats) -> NDArray[np.float64]:
        """Probabilities, or values for regression, from outputs (n, C)."""

    def soft_targets(self, outputs: Floats) -> NDArray[np.float64]:
        """What outputs (n, C) say, as targets of another network: probabilities or values."""
        return self.predict(outputs)


class _EntryLoss(Loss):
    """Losses that look at each output alone. Targets (n, C), or (n,) for one output; NaN is unknown."""

    def gradient(
        self, outputs: Floats, targets: NDArray[Any], weights: NDArray[Any] | None = None
    ) -> tuple[float, Floats]:
        """Mean loss and its derivative."""
        column = targets[:, None] if targets.ndim == 1 else targets
        if column.shape != outputs.shape:  # never broadcast, which would hide a mistake
            raise ValueError(f"targets of shape {targets.shape} do not fit outputs {outputs.shape}")
        known = ~np.isnan(column)
        weight = known if weights is None else known * weights.reshape(len(weights), -1)
        total = float(weight.sum()) or 1.0
        losses, slope = self._entries(outputs, np.where(known, column, 0.0))
        return float((weight * losses).sum()) / total, np.asarray(
            weight * slope / total, outputs.dtype
        )

    @abstractmethod
    def _entries(self, outputs: Floats, targets: Floats) -> tuple[Floats, Floats]:
        """Loss of every output and its derivative, (n, C) each."""


class MultilabelLoss(_EntryLoss):
    """C labels that may hold together, one log-odds z each: ln(1 + exp z) − y·z. Targets are 0 to 1 or NaN."""

    def _entries(self, outputs: Floats, targets: Floats) -> tuple[Floats, Floats]:
        return np.logaddexp(0.0, outputs) - targets * outputs, expit(outputs) - targets

    def predict(self, outputs: Floats) -> NDArray[np.float64]:
        """P(label) of every label: (n, C)."""
        return np.asarray(expit(outputs.astype(np.float64)))


class BinaryLoss(MultilabelLoss):
    """Two classes, one output: the log-odds of class 1. Targets (n,) are 0 to 1, or NaN."""

    has_classes = True

    def predict(self, outputs: Floats) -> NDArray[np.float64]:
        """P(class 0) and P(class 1): (n, 2)."""
        z = outputs.astype(np.float64)
        return np.concatenate([expit(-z), expit(z)], axis=1)

    def soft_targets(self, outputs: Floats) -> NDArray[np.float64]:
        """P(class 1): (n,)."""
        return self.predict(outputs)[:, 1]


class RegressionLoss(_EntryLoss):
    """Squared error of C values."""

    def _entries(self, outputs: Floats, targets: Floats) -> tuple[Floats, Floats]:
        difference = outputs - targets
        return np.square(difference), 2.0 * difference

    def predict(self, outputs: Floats) -> NDArray[np.float64]:
        """The outputs themselves: (n, C)."""
        return outputs.astype(np.float64)


class MulticlassLoss(Loss):
    """C classes that exclude each other: −ln softmax(z) of the true one.

    Targets (n,) are class numbers; a negative number or NaN is unknown. Targets (n, C) are probabilities of the
    classes, as a teacher gives them: the loss is then the cross-entropy.
    """

    has_classes = True

    def gradient(
        self, outputs: Floats, targets: NDArray[Any], weights: NDArray[Any] | None = None
    ) -> tuple[float, Floats]:
        """Mean loss and its derivative."""
        share: NDArray[Any] = targets
        if targets.ndim == 1:  # all zeros where the class is unknown
            share = np.asarray(targets[:, None] == np.arange(self.n_outputs), outputs.dtype)
        if weights is not None:
            share = share * weights[:, None]
        of_row = share.sum(axis=1, keepdims=True)
        total = float(of_row.sum()) or 1.0
        below = outputs - outputs.max(axis=1, keepdims=True)  # ≤ 0: no overflow
        odds = np.exp(below)
        sums = odds.sum(axis=1, keepdims=True)
        mean = (np.vdot(of_row, np.log(sums)) - np.vdot(share, below)) / total
        slope = odds * (of_row / sums) - share
        return float(mean), np.asarray(slope / total, outputs.dtype)

    def predict(self, outputs: Floats) -> NDArray[np.float64]:
        """P(class) of every class: (n, C)."""
        return np.asarray(softmax(outputs.astype(np.float64), axis=1))


# ---- what targets mean


class Targets(ABC):
    """What the targets are."""

    loss: Loss
    n_targets: int  # columns of y
    #: A name for each raw output: the classes, for two classes only the second; None for values.
    output_names: tuple[str, ...] | None
    output_scale: Floats  # (C,): answers are raw outputs · scale + shift
    output_shift: Floats

    @abstractmethod
    def encode(self, given: GivenTargets) -> NDArray[Any]:
        """Targets as the loss wants them: (N,) or (N, C); class −1 and NaN are unknown.

        Raises
        ------
        DataError
            If ``y`` holds other targets than the first one.
        """

    @abstractmethod
    def decode(self, outputs: Floats) -> NDArray[Any]:
        """Answers from raw outputs (N, C)."""

    def class_weights(self, encoded: NDArray[Any], class_weight: Any) -> Floats | None:
        """Weights that ``class_weight`` gives to encoded targets: (N,) or (N, C); None if all are alike."""
        return None

    @abstractmethod
    def to_parts(self) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
        """The file form."""


@dataclass(eq=False)
class ClassTargets(Targets):
    """One of K classes for each row, K ≥ 2 and sorted; encoded as class numbers, −1 for a row without a label."""

    classes: NDArray[Any]

    def __post_init__(self) -> None:
        names, two = tuple(map(str, self.classes.tolist())), self.classes.size == 2
        self.loss = BinaryLoss() if two else MulticlassLoss(self.classes.size)
        self.n_targets, self.output_names = 1, names[1:] if two else names
        n_outputs = self.loss.n_outputs
        self.output_scale, self.output_shift = np.ones(n_outputs), np.zeros(n_outputs)

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

    def encode(self, given: GivenTargets) -> NDArray[np.int64]:
        """Class numbers (N,), −1 for rows without a label."""
        y, known = given
        if y.ndim != 1:
            raise DataError("y must be one column of classes, as before")
        new = known & ~np.isin(y, self.classes)
        if new.any():
            found = np.unique(y[new]).tolist()
            hint = "; if -1 marks rows without a label, say so with unlabeled=-1"
            raise DataError(
                f"y holds classes that were not there before: {found}; classes_ is {self.classes.tolist()}"
                f"{hint if -1 in found else ''}"
            )
        return np.where(known, np.searchsorted(self.classes, y), -1)

    def decode(self, outputs: Floats) -> NDArray[Any]:
        """The most probable class of raw outputs (N, C): (N,)."""
        two = self.classes.size == 2
        number = (outputs[:, 0] > 0).astype(np.intp) if two else outputs.argmax(axis=1)
        answer: NDArray[Any] = self.classes[number]
        return answer

    def class_weights(self, encoded: NDArray[Any], class_weight: Any) -> Floats | None:
        """Weights (N,) of the rows' classes."""
        if class_weight is None:
            return None
        if isinstance(class_weight, dict):
            without = [k for k in class_weight if k not in self.classes.tolist()]
            if without:
                raise DataError(
                    f"class_weight names classes of which no row has the label: {without}. Label at least one row of "
                    "each, or leave them out"
                )
        present = np.unique(encoded[encoded >= 0])  # a class without rows has no weight to balance
        weights = np.ones(self.classes.size)
        weights[present] = compute_class_weight(
            class_weight, classes=self.classes[present], y=self.classes[encoded[encoded >= 0]]
        )
        return np.asarray(weights[encoded])

    def to_parts(self) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
        """The file form."""
        return {"kind": "classes", "classes": _values_of_array(self.classes)}, {}


@dataclass(eq=False)
class LabelTargets(Targets):
    """C labels for each row, each 0, 1 or unknown (NaN)."""

    n_labels: int

    def __post_init__(self) -> None:
        self.loss, self.n_targets = MultilabelLoss(self.n_labels), self.n_labels
        self.classes = np.arange(self.n_labels)  # column numbers
        self.output_names = tuple(map(str, range(self.n_labels)))
        self.output_scale, self.output_shift = np.ones(self.n_labels), np.zeros(self.n_labels)

    def encode(self, given: GivenTargets) -> NDArray[Any]:
        """Labels (N, C), as given."""
        y = given.values
        if y.ndim != 2 or y.shape[1] != self.n_labels:
            raise DataError(f"y must have {self.n_labels} columns of labels, as before")
        return y

    def decode(self, outputs: Floats) -> NDArray[np.int64]:
        """Which labels are more probable than not: 0 or 1, (N, C)."""
        return (outputs > 0).astype(np.int64)

    def class_weights(self, encoded: NDArray[Any], class_weight: Any) -> Floats | None:
        """Weights (N, C) of the absence or presence of each label."""
        if class_weight is None:
            return None
        if isinstance(class_weight, str):
            if class_weight != "balanced":
                raise ValueError(
                    f"class_weight must be a dict, 'balanced' or None, not {class_weight!r}"
                )
            counts = np.stack([(encoded == k).sum(axis=0) for k in (0, 1)])  # (2, C)
            absent, present = counts.sum(axis=0) / (2.0 * np.maximum(counts, 1))
        else:
            single = isinstance(class_weight, dict)
            each = [class_weight] * self.n_labels if single else list(class_weight)
            absent, present = (np.array([w.get(k, 1.0) for w in each]) for k in (0, 1))
        return np.asarray(np.where(encoded > 0.5, present, absent))

    def to_parts(self) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
        """The file form."""
        return {"kind": "labels", "n_labels": self.n_labels}, {}


@dataclass(eq=False)
class ValueTargets(Targets):
    """One value or several for each row; encoded with mean 0 and deviation 1. NaN is unknown.

    Attributes
    ----------
    one_target : bool
        Whether ``y`` was 1-D.
    output_shift, output_scale : float64 (C,)
        Mean and deviation of the known values.
    """

    one_target: bool
    output_shift: Floats
    output_scale: Floats

    def __post_init__(self) -> None:
        self.n_targets, self.output_names = self.output_shift.size, None
        self.loss = RegressionLoss(self.n_targets)

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

    def encode(self, given: GivenTargets) -> Floats:
        """Scaled values: (N,) for one target, else (N, C)."""
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

    def to_parts(self) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
        """The file form."""
        arrays = {"shift": self.output_shift, "scale": self.output_scale}
        return {"kind": "values", "one_target": self.one_target}, arrays


def learn_targets(given: GivenTargets, classification: bool, classes: Any = None) -> Targets:
    """Learn what the targets are from a checked ``y``; ``classes`` names all there will be, if ``y`` does not."""
    y = given.values
    if not classification:
        return ValueTargets.learn(y)
    if y.ndim == 2:
        return LabelTargets(y.shape[1])
    if classes is not None:
        return ClassTargets.learn(read_targets(classes, classification).values)
    return ClassTargets.learn(y[given.known])


def is_known(targets: NDArray[Any]) -> NDArray[np.bool_]:
    """Which rows have an encoded target: (N,). Class −1 and NaN mean that there is none."""
    if targets.ndim == 2:
        return np.asarray(~np.isnan(targets).all(axis=1))
    return np.asarray(targets >= 0 if targets.dtype.kind in "iu" else ~np.isnan(targets))


# ---- a user's y


class GivenTargets(NamedTuple):
    """Targets of N rows."""

    values: NDArray[Any]  # (N,) or (N, C); of a class that is not known, any
    known: NDArray[np.bool_]  # (N,), whether the row has a target

    def take(self, rows: NDArray[np.int64]) -> GivenTargets:
        """Those of some rows."""
        return GivenTargets(self.values[rows], self.known[rows])


def read_targets(y: Any, classification: bool, unlabeled: Any = None) -> GivenTargets:
    """Check a user's ``y`` without learning from it.

    Parameters
    ----------
    y : array-like
        Classes (N,); labels (N, C) that are 0, 1 or missing; numbers (N,) or (N, C), or missing.
    classification : bool
        Whether ``y`` holds classes or labels, not numbers.
    unlabeled : optional
        A value that marks a missing target, besides None, NaN, ``pandas.NA`` and blank text.

    Raises
    ------
    DataError, ValueError
        If ``y`` holds anything else.

    Examples
    --------
    >>> from tsenet.training.targets import read_targets
    >>> read_targets(["cat", "", None, "dog"], True).known.tolist()
    [True, False, False, True]
    >>> read_targets([1, -1, 0], True, unlabeled=-1).known.tolist()
    [True, False, True]
    """
    given = _array_of(y)
    missing = _missing(given)
    if unlabeled is not None:
        missing[~missing] = given[~missing] == unlabeled  # text never equals a number
    if not classification:
        return _values(given, missing)
    several = given.ndim == 2 and given.shape[1] > 1
    return _labels(given, missing) if several else _classes(given, missing)


def warn_of_marker(given: GivenTargets) -> None:
    """Warn where −1 looks like scikit-learn's mark of a row without a label, but nobody said that it is one.

    That is: −1 is the most common class, and the others are two or more, none of them negative. The text
    "-1" is meant too.
    """
    y = given.values[given.known]
    if y.ndim != 1 or y.dtype.kind not in "ifUO":
        return
    classes, counts = np.unique(y, return_counts=True)
    negative = [str(value).startswith("-") for value in classes.tolist()]
    most = classes.tolist()[int(counts.argmax())]
    if classes.size > 2 and sum(negative) == 1 and most in (-1, "-1"):
        warnings.warn(
            f"y holds the class {most!r} in {counts.max():,} of {y.size:,} rows, more than any other class. It is "
            "learned as a class of its own; if it marks rows without a label, say so with "
            f"unlabeled={most!r} (tsenet fit: --unlabeled -1)",
            UserWarning,
            stacklevel=5,  # where fit() was called
        )


def warn_of_quantity(given: GivenTargets) -> None:
    """Warn where classes are more likely a quantity: many different numbers, most of them in one row."""
    y = given.values[given.known]
    if y.ndim != 1:
        return
    classes = np.unique(y)
    if classes.size <= max(_MANY_CLASSES, y.size // 2):
        return
    try:
        classes.astype(np.float64)
    except ValueError:  # names
        return
    warnings.warn(
        f"y holds {classes.size:,} different numbers in {y.size:,} rows, each learned as a class of its own. If they "
        "are a quantity, fit TSENetRegressor (tsenet fit: --task regression)",
        UserWarning,
        stacklevel=5,  # where fit() was called
    )


def _array_of(y: Any) -> NDArray[Any]:
    """Targets as an array (N,) or (N, C); a sparse matrix of labels becomes dense.

    Raises
    ------
    DataError
        If ``y`` has another shape, or holds what can be no target, such as dates.
    """
    if sp.issparse(y):
        return np.asarray(canonical_csr(y).toarray())
    if isinstance(y, np.ma.MaskedArray):
        given: NDArray[Any] = y.data.astype(object)
        given[np.ma.getmaskarray(y)] = None
    else:
        try:
            given = np.asarray(y)
        except ValueError as error:
            raise DataError(
                "the rows of y have different lengths: y must hold one target for each row, or as many for each"
            ) from error
    if given.ndim not in (1, 2):
        raise DataError(
            f"y must hold a target for each row, (N,), or several, (N, C), but has the shape {given.shape}"
        )
    if given.dtype.kind == "U" and isinstance(y, list | tuple):
        objects = np.array(y, dtype=object)  # among strings, NumPy turns NaN into the text "nan"
        if not all(isinstance(value, str) for value in objects.flat):
            given = objects
    if given.dtype.kind not in "biufUO":
        held = _KINDS_REFUSED.get(given.dtype.kind, f"values of type {given.dtype}")
        raise DataError(
            f"y holds {held}: make them numbers, or for a classifier texts, as y.astype(str) does"
        )
    return given


def _missing(given: NDArray[Any]) -> NDArray[np.bool_]:
    """Find the entries that are None, NaN, ``pandas.NA`` or blank text."""
    import pandas as pd

    missing = np.asarray(pd.isna(given))
    if given.dtype.kind in "OU":
        blank = [isinstance(value, str) and not value.strip() for value in given.flat]
        missing |= np.array(blank, bool).reshape(given.shape)
    return missing


def _classes(given: NDArray[Any], missing: NDArray[np.bool_]) -> GivenTargets:
    """Classes (N,)."""
    if given.ndim == 2:
        if given.shape[1] != 1:
            raise DataError(f"y has no columns: its shape is {given.shape}")
        warnings.warn(
            "A column-vector y was passed when a 1d array was expected: y.ravel() makes it one",
            DataConversionWarning,
            stacklevel=5,  # where fit() was called
        )
    given = given.ravel()
    known = ~missing.ravel()
    if not known.size:
        raise DataError("y is empty: it must hold a class, or None, for each row")
    if not known.any():
        raise DataError(f"y holds no label: all {known.size} rows are without one")
    values = _one_kind(given[known]) if given.dtype.kind == "O" else given[known]
    if values.dtype.kind == "f":
        _check_finite(values)
        whole = values == np.floor(values)
        if not whole.all():
            raise DataError(
                f"Unknown label type: y holds numbers with fractions, such as {values[~whole][0]:g}, which are no "
                "classes: fit TSENetRegressor; or, if they name classes, give them as texts"
            )
        fits = np.abs(values).max() < 2.0**63
        values = values.astype(np.int64 if fits and not known.all() else np.float64)
    elif values.dtype.kind in "OU":
        for value in values[[has_surrogate(str(value)) for value in values]]:
            raise DataError(f"y {surrogate_in(value)}")
    if known.all():
        return GivenTargets(values, known)
    filled = np.full(known.size, values[0], dtype=values.dtype)
    filled[known] = values
    return GivenTargets(filled, known)


def _one_kind(values: NDArray[Any]) -> NDArray[Any]:
    """An array of objects as texts, booleans or numbers; objects stay objects if they are all texts."""
    n_texts = sum(isinstance(value, str) for value in values)
    if n_texts == values.size:
        return values
    if n_texts:
        text = next(value for value in values if isinstance(value, str))
        other = next(value for value in values if not isinstance(value, str))
        raise DataError(
            f"y mixes texts and other values, such as {text!r} and {other!r}: make them all texts, or all numbers"
        )
    for value in values:
        if not isinstance(value, bool | int | float | np.bool_ | np.integer | np.floating):
            raise DataError(
                f"Unknown label type: y must hold texts, numbers or booleans, but holds {value!r}, a "
                f"{type(value).__name__}"
            )
    plain = np.array(values.tolist())
    if plain.dtype.kind not in "biuf":
        raise DataError("y holds whole numbers of more than 64 bits: give the classes as texts")
    return plain


def _check_finite(values: NDArray[Any]) -> None:
    """Refuse infinite targets."""
    infinite = np.isinf(values)
    if infinite.any():
        raise DataError(
            f"y holds {np.count_nonzero(infinite):,} infinite values: correct these, or leave them out as None"
        )


def _labels(given: NDArray[Any], missing: NDArray[np.bool_]) -> GivenTargets:
    """Labels (N, C) as 0, 1 and NaN."""
    try:
        labels = _floats(given, missing)
    except (TypeError, ValueError, OverflowError) as error:
        raise DataError(f"a 2-D y must hold 0, 1 or NaN (unknown): {error}") from error
    known = labels[~missing]
    if not np.isin(known, (0.0, 1.0)).all():
        other = known[~np.isin(known, (0.0, 1.0))][0]
        raise DataError(
            f"Unknown label type: a 2-D y must hold 0, 1 or NaN (unknown), but it holds {other:g}"
        )
    if not known.size:
        raise DataError("y holds no known label")
    return GivenTargets(labels, np.asarray(~missing.all(axis=1)))


def _values(given: NDArray[Any], missing: NDArray[np.bool_]) -> GivenTargets:
    """Numbers (N,) or (N, C), NaN where missing."""
    try:
        values = _floats(given, missing)
    except (TypeError, ValueError, OverflowError) as error:
        raise NonNumericError(f"y must hold numbers: {error}") from error
    if not values.size:
        raise DataError(f"y is empty: its shape is {values.shape}")
    _check_finite(values[~missing])
    known = np.asarray(~missing.reshape(len(values), -1).all(axis=1))
    if not known.any():
        raise DataError(f"y holds no known value: all {known.size} rows are without one")
    return GivenTargets(values, known)


def _floats(given: NDArray[Any], missing: NDArray[np.bool_]) -> Floats:
    """Numbers of the known entries, NaN for the others."""
    values = np.full(given.shape, np.nan)
    values[~missing] = given[~missing].astype(np.float64)
    return values


# ---- rows with targets


class Labelled(NamedTuple):
    """Rows of a table with their targets: to train on, to validate on, or the batch of one step."""

    inputs: Inputs  # the table (N, D)
    rows: NDArray[np.int64]  # (n,), numbers of rows
    targets: NDArray[Any]  # (n,) or (n, C), as the loss wants them
    weights: NDArray[Any] | None = None  # (n,) or (n, C)
    duplicate_groups: NDArray[np.int64] | None = None  # (n,), the same number for equal rows

    def take(self, which: NDArray[Any]) -> Labelled:
        """Some of them."""
        parts = (None if part is None else part[which] for part in self[1:])
        return Labelled(self.inputs, *parts)  # type: ignore[arg-type]  # mypy sees one type for all

    @property
    def n_rows(self) -> int:
        """Rows of an epoch."""
        return self.rows.size

    def batches(self, seed: int, epoch: int, n_batches: int) -> Iterator[Labelled]:
        """Shuffle the rows and cut them into batches of about the same size."""
        order = np.random.default_rng([seed, epoch]).permutation(self.n_rows)
        for start, stop in batch_bounds(self.n_rows, n_batches):
            yield self.take(order[start:stop])


#: ``score(held, outputs)`` of raw outputs for some rows, higher is better.
Score = Callable[[Labelled, NDArray[np.float64]], float]


def batch_bounds(n_rows: int, n_batches: int) -> Iterator[tuple[int, int]]:
    """First and last row of each batch. Sizes differ by at most one: a small last batch would count for too much."""
    for batch in range(n_batches):
        yield n_rows * batch // n_batches, n_rows * (batch + 1) // n_batches


# ---- scores of rows that a network has not seen, higher is better


def score_of(metric: Any, targets: Targets) -> Score | None:
    """Return the score that a metric's name, or a user's own function, stands for.

    Parameters
    ----------
    metric : str, callable or None
        ``"accuracy"`` or ``"auc"`` for classes and labels; ``"r2"``, ``"mae"`` or ``"rmse"`` for values, the last two
        with a minus sign; a function of the true targets and of what is predicted: probabilities (n, classes) or
        (n, labels), or values. None or ``"loss"``: minus the loss.
    targets : Targets
        What the targets are.

    Raises
    ------
    ValueError
        For a name that is not known for such targets.
    """
    if metric is None or metric == "loss":
        return None
    if callable(metric):
        return lambda held, outputs: float(metric(*_as_given(held.targets, outputs, targets)))
    named = ("r2", "mae", "rmse") if isinstance(targets, ValueTargets) else ("accuracy", "auc")
    if metric not in named:
        raise ValueError(
            f"eval_metric must be one of {', '.join(map(repr, ('loss', *named)))} or a function, not {metric!r}"
        )

    def score(held: Labelled, outputs: Floats) -> float:
        true, n_outputs = held.targets, outputs.shape[1]
        if not isinstance(targets, ClassTargets):
            wanted, predicted = _as_given(true, outputs, targets)
        elif metric == "accuracy":
            right = targets.decode(outputs) == targets.classes[true]
            return float(np.average(right, weights=held.weights))
        else:
            wanted = true if n_outputs == 1 else np.eye(n_outputs)[true]
            predicted = targets.loss.soft_targets(outputs)
        return _mean_over_columns(metric, wanted, predicted, held.weights)

    return score


def _as_given(
    true: NDArray[Any], outputs: Floats, targets: Targets
) -> tuple[NDArray[Any], NDArray[Any]]:
    """True targets as in ``y``, and what is predicted: probabilities or values."""
    if isinstance(targets, ValueTargets):
        return targets.decode(true.reshape(len(true), -1)), targets.decode(outputs)
    predicted = targets.loss.predict(outputs)
    return (targets.classes[true] if isinstance(targets, ClassTargets) else true), predicted


def _mean_over_columns(
    metric: str, wanted: Floats, predicted: Floats, weights: NDArray[Any] | None
) -> float:
    """Mean score of the columns of (n,) or (n, C) on their known entries; NaN if it is defined for none."""
    wanted, predicted = (part.reshape(len(part), -1) for part in (wanted, predicted))
    if weights is not None:
        weights = np.broadcast_to(weights.reshape(len(weights), -1), wanted.shape)
    scores = []
    for c in range(wanted.shape[1]):
        known = ~np.isnan(wanted[:, c])
        own = None if weights is None else weights[known, c]
        if known.any():
            scores.append(_column_score(metric, wanted[known, c], predicted[known, c], own))
    defined = [score for score in scores if not np.isnan(score)]
    return float(np.mean(defined)) if defined else float("nan")


def _column_score(metric: str, true: Floats, found: Floats, weights: Any) -> float:
    """Score of one column; NaN if it is not defined."""
    from sklearn import metrics

    if metric == "accuracy":
        return float(np.average((found > 0.5) == (true > 0.5), weights=weights))
    if (metric == "auc" and np.unique(true).size < 2) or (metric == "r2" and true.size < 2):
        return float("nan")
    function, sign = {
        "auc": (metrics.roc_auc_score, 1),
        "r2": (metrics.r2_score, 1),
        "mae": (metrics.mean_absolute_error, -1),
        "rmse": (metrics.root_mean_squared_error, -1),
    }[metric]
    return sign * float(function(true, found, sample_weight=weights))


class HeldOut(NamedTuple):
    """Labelled rows, and outputs for them by models that had not seen them."""

    rows: Labelled
    outputs: NDArray[np.float64]  # (n, C)
    scored: str  # which model the outputs are of, as `CrossValidatedScore` has it
    unseen_share: float = 0.0  # of all rows, of classes without a label


#: What each model that may be scored is called in a sentence.
_SCORED = {
    "network": "",
    "teacher": " of the linear teacher",
    "student": " of a linear model that reads what predictions read, without embeddings",
}


class CrossValidatedScore(NamedTuple):
    """A score of labelled rows by models that had not seen them, with a 95 % interval.

    Attributes
    ----------
    metric : {"accuracy", "r2"}
    value, low, high : float
        The score, and the ends of its interval.
    n_rows : int
        Number of rows scored.
    scored : {"network", "teacher", "student"}
        What was scored. ``"network"``: the network, with its linear skip. ``"teacher"``: the linear teacher, which the
        network follows on rows without a label. ``"student"``: a linear model that reads no embeddings, as predictions
        do, and has learned from a teacher that reads them.
    unseen_share : float
        Share of all rows, labelled or not, whose class has no label at all, as far as the labels tell: the share of
        labels that are the only ones of their class (Good and Turing's estimate). No model can predict such classes,
        and the score leaves them out.
    """

    metric: str
    value: float
    low: float
    high: float
    n_rows: int
    scored: str = "network"
    unseen_share: float = 0.0

    def __str__(self) -> str:
        name = "R²" if self.metric == "r2" else self.metric
        text = f"{name} {self.value:.3f} (95 % interval {self.low:.3f} to {self.high:.3f})"
        text += _SCORED[self.scored]
        if self.unseen_share:
            text += f"; about {self.unseen_share:.0%} of all rows are of classes without a label, which it leaves out"
        return text

    def validate(self) -> None:
        """Check the values of a file; raises ValueError if they cannot be a score's."""
        if self.metric not in ("accuracy", "r2") or self.scored not in _SCORED:
            raise ValueError(f"a score is of {self.scored!r}, by {self.metric!r}")
        numbers = (self.value, self.low, self.high, self.unseen_share)
        if not all(isinstance(number, float) and math.isfinite(number) for number in numbers):
            raise ValueError("a cross-validated score must be finite numbers")
        if type(self.n_rows) is not int or self.n_rows < 1 or not 0 <= self.unseen_share <= 1:
            raise ValueError("the rows of a cross-validated score cannot be as many")


def unseen_share(classes: NDArray[np.int64]) -> float:
    """Share of all rows whose class is not among the labels ``classes`` (n,), a sample: Good and Turing's estimate."""
    counts = np.bincount(classes)
    return float(np.count_nonzero(counts == 1) / max(classes.size, 1))


def cross_validated_score(targets: Targets, held: HeldOut) -> CrossValidatedScore | None:
    """Score raw outputs of rows that the models had not seen; the rows' weights do not count.

    The interval of an accuracy is Wilson's, that of R² the bootstrap's over rows. None if the score is not defined, as
    R² of a single value.
    """
    rows, outputs = held.rows, held.outputs
    n = rows.n_rows
    if isinstance(targets, ValueTargets):
        columns = rows.targets.reshape(n, -1)  # encoded values, whose squares cannot overflow
        value = _mean_over_columns("r2", columns, outputs, None)
        if not np.isfinite(value):
            return None
        draws = np.random.default_rng(0).integers(n, size=(_DRAWS, n))
        scores = [_mean_over_columns("r2", columns[draw], outputs[draw], None) for draw in draws]
        low, high = np.nanquantile(scores, [0.025, 0.975])
        return CrossValidatedScore(
            "r2", value, float(low), float(high), n, held.scored, held.unseen_share
        )
    score = score_of("accuracy", targets)
    assert score is not None
    value = score(rows._replace(weights=None), outputs)
    if not np.isfinite(value):
        return None
    z = 1.96
    centre = value + z**2 / (2 * n)
    spread = z * np.sqrt(value * (1 - value) / n + (z / (2 * n)) ** 2)
    low = max((centre - spread) / (1 + z**2 / n), 0.0)
    high = min((centre + spread) / (1 + z**2 / n), 1.0)
    return CrossValidatedScore(
        "accuracy", value, float(low), float(high), n, held.scored, held.unseen_share
    )


@dataclass(frozen=True, repr=False)
class History:
    """One entry per epoch in every series; the validation series are empty without validation rows.

    Attributes
    ----------
    train_loss : tuple of float
        Mean loss of the epoch's batches, dropout included.
    validation_loss, validation_score : tuple of float
        After the epoch, without dropout; a higher score is better.
    learning_rate : tuple of float
        Adam's step size.
    seconds : tuple of float
        Wall-clock time of the epoch, validation included; not compared, and empty in a loaded model, whose file does
        not hold times.
    best_epoch : int or None
        Number, from 0, of the epoch with the best validation score; None if there is none.
    stopped : str or None
        Why training ended: ``"max_epochs"``, ``"early_stopping"`` or ``"diverged"``; None while it continues.
    """

    train_loss: tuple[float, ...] = ()
    validation_loss: tuple[float, ...] = ()
    validation_score: tuple[float, ...] = ()
    learning_rate: tuple[float, ...] = ()
    seconds: tuple[float, ...] = field(default=(), compare=False)
    best_epoch: int | None = None
    stopped: str | None = None

    @property
    def n_epochs(self) -> int:
        """Number of whole epochs."""
        return len(self.train_loss)

    @property
    def best_score(self) -> float | None:
        """Validation score of the best epoch."""
        return None if self.best_epoch is None else self.validation_score[self.best_epoch]

    def after_epoch(
        self,
        train_loss: float,
        validation: tuple[float, float] | None,
        learning_rate: float,
        seconds: float,
    ) -> History:
        """Return the history with one more epoch; ``validation`` is its loss and score.

        The epoch becomes the best one if its score beats the best. NaN beats nothing.
        """
        new = {"train_loss": train_loss, "learning_rate": learning_rate, "seconds": seconds}
        best_epoch = self.best_epoch
        if validation is not None:
            new["validation_loss"], new["validation_score"] = validation
            best = -math.inf if self.best_score is None else self.best_score
            if validation[1] > best:
                best_epoch = self.n_epochs
        longer: dict[str, Any] = {k: (*getattr(self, k), value) for k, value in new.items()}
        return replace(self, **longer, best_epoch=best_epoch)

    def table(self) -> pd.DataFrame:
        """All epochs as a data frame, numbered from 1."""
        import pandas as pd

        series = {name.replace("_", " "): getattr(self, name) for name in _SERIES}
        frame = pd.DataFrame({name: values for name, values in series.items() if values})
        return frame.set_index(pd.RangeIndex(1, self.n_epochs + 1, name="epoch"))

    def to_dict(self) -> dict[str, Any]:
        """Return JSON-able fields; NaN and infinity, which JSON lacks, become strings."""
        plain = asdict(self)
        for name in _SERIES:
            plain[name] = [v if math.isfinite(v) else str(v) for v in plain[name]]
        return plain

    @classmethod
    def from_dict(cls, plain: dict[str, Any]) -> History:
        """Rebuild a history from :meth:`to_dict`; raises ValueError if it cannot be one."""
        if set(plain) != {part.name for part in fields(cls)}:
            raise ValueError(f"a history has other fields than {sorted(plain)}")
        series = {name: tuple(float(value) for value in plain[name]) for name in _SERIES}
        best, stopped = plain["best_epoch"], plain["stopped"]
        made = cls(**series, best_epoch=best, stopped=stopped)
        n_epochs, n_scores = made.n_epochs, len(made.validation_score)
        lengths = len(made.learning_rate), len(made.validation_loss)
        may_be_empty = {n_scores, len(made.seconds)}
        if lengths != (n_epochs, n_scores) or not may_be_empty <= {0, n_epochs}:
            raise ValueError("the series of a history have different lengths")
        if best is not None and (type(best) is not int or not 0 <= best < n_scores):
            raise ValueError(f"the best epoch {best!r} is not one of the epochs")
        if not isinstance(stopped, str | None):
            raise ValueError(f"stopped of a history is {stopped!r}")
        return made

    def __repr__(self) -> str:
        return f"History({self})"

    def __str__(self) -> str:
        parts = [f"{self.n_epochs} epochs"]
        if self.train_loss:
            parts.append(f"train loss {self.train_loss[-1]:.4g}")
        if self.best_epoch is not None:
            parts.append(f"best score {self.best_score:.4g} in epoch {self.best_epoch + 1}")
        parts.append(f"stopped: {self.stopped}" if self.stopped else "not stopped")
        return ", ".join(parts)


# ---- files


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
    if np.dtype(kind).kind == "U" and np.array(values).dtype != kind:  # it could fill the memory
        raise ValueError(f"the classes are not of type {kind!r}")
    return np.array(values, dtype=kind)
