"""Targets: what a user's ``y`` holds, and what a network is trained to answer.

`read_targets` checks a ``y``. A row has no target where it is None, NaN, ``pandas.NA``, masked or blank text, and where
it holds the marker that the user named (``unlabeled=-1``). Each kind of target is an object learned from the first
``y``: it encodes further ones as its loss wants them and turns raw outputs of the network back into answers; estimators
hold one as ``targets_``.
"""

from __future__ import annotations

import warnings
from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from sklearn.exceptions import DataConversionWarning
from sklearn.utils.class_weight import compute_class_weight

from tsenet.data.scaling import overflow_safe_scale
from tsenet.data.table import canonical_csr, has_surrogate, surrogate_in
from tsenet.errors import DataError, NonNumericError, quoted
from tsenet.training.losses import (
    BinaryLoss,
    Loss,
    MulticlassLoss,
    MultilabelLoss,
    RegressionLoss,
)

Floats = NDArray[np.floating[Any]]

_MANY_CLASSES = 20  # from here on, classes that are numbers may be a quantity
#: Types of arrays that hold no targets.
_KINDS_REFUSED = {
    "S": "bytes",
    "M": "dates",
    "m": "differences of times",
    "c": "complex numbers",
    "V": "records",
}


class Targets(ABC):
    """What the targets are."""

    loss: Loss
    n_targets: int  # columns of y
    #: A name for each raw output: the classes, for two classes only the second; None for values.
    output_names: tuple[str, ...] | None
    output_scale: Floats  # (C,): answers are raw outputs · scale + shift
    output_shift: Floats

    @abstractmethod
    def encode(self, given: ParsedTargets) -> NDArray[Any]:
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
        names = tuple(map(str, self.classes.tolist()))
        if self.classes.size == 2:  # one output, for the second class
            self.loss = BinaryLoss()
            self.output_names = names[1:]
        else:
            self.loss = MulticlassLoss(self.classes.size)
            self.output_names = names
        self.n_targets = 1
        self.output_scale = np.ones(self.loss.n_outputs)
        self.output_shift = np.zeros(self.loss.n_outputs)

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

    def encode(self, given: ParsedTargets) -> NDArray[np.int64]:
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
        if self.classes.size == 2:
            number = (outputs[:, 0] > 0).astype(np.intp)
        else:
            number = outputs.argmax(axis=1)
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

        known = encoded[encoded >= 0]
        present = np.unique(known)  # a class without rows has no weight to balance
        weights = np.ones(self.classes.size)
        weights[present] = compute_class_weight(
            class_weight, classes=self.classes[present], y=self.classes[known]
        )
        return np.asarray(weights[encoded])

    def to_parts(self) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
        """The file form."""
        return {"kind": "classes", "classes": _values_of_array(self.classes)}, {}


@dataclass(eq=False)
class MultilabelTargets(Targets):
    """C labels for each row, each 0, 1 or unknown (NaN)."""

    n_labels: int

    def __post_init__(self) -> None:
        self.loss = MultilabelLoss(self.n_labels)
        self.n_targets = self.n_labels
        self.classes = np.arange(self.n_labels)  # column numbers
        self.output_names = tuple(map(str, range(self.n_labels)))
        self.output_scale = np.ones(self.n_labels)
        self.output_shift = np.zeros(self.n_labels)

    def encode(self, given: ParsedTargets) -> NDArray[Any]:
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
            of_labels = class_weight
            if isinstance(class_weight, dict):
                of_labels = [class_weight] * self.n_labels
            absent = np.array([weights.get(0, 1.0) for weights in of_labels])
            present = np.array([weights.get(1, 1.0) for weights in of_labels])

        return np.asarray(np.where(encoded > 0.5, present, absent))

    def to_parts(self) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
        """The file form."""
        return {"kind": "labels", "n_labels": self.n_labels}, {}


@dataclass(eq=False)
class RegressionTargets(Targets):
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
        self.n_targets = self.output_shift.size
        self.output_names = None
        self.loss = RegressionLoss(self.n_targets)

    @classmethod
    def learn(cls, y: Floats) -> RegressionTargets:
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

        # Of values divided by a power of two: no square overflows.
        count = known.sum(axis=0)
        power = overflow_safe_scale(np.abs(np.where(known, column, 0.0)).max(axis=0))
        column = np.where(known, column / power, 0.0)
        mean = column.sum(axis=0) / count
        variance = np.square(np.where(known, column - mean, 0.0)).sum(axis=0) / count

        shift = mean * power
        deviation = np.sqrt(variance) * power
        varies = deviation > np.maximum(1e-12 * np.abs(shift), 1e-300)  # more than by rounding
        return cls(y.ndim == 1, shift, np.where(varies, deviation, 1.0))

    def encode(self, given: ParsedTargets) -> Floats:
        """Scaled values: (N,) for one target, else (N, C)."""
        y = given.values
        fits = y.ndim == 1 if self.one_target else y.shape[1:] == self.output_shift.shape
        if not fits:
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


def learn_targets(given: ParsedTargets, classification: bool, classes: Any = None) -> Targets:
    """Learn what the targets are from a checked ``y``; ``classes`` names all there will be, if ``y`` does not."""
    y = given.values
    if not classification:
        return RegressionTargets.learn(y)
    if y.ndim == 2:
        return MultilabelTargets(y.shape[1])
    if classes is not None:
        return ClassTargets.learn(read_targets(classes, classification).values)
    return ClassTargets.learn(y[given.known])


def doubt(shares: NDArray[Any], several: bool) -> NDArray[np.float64]:
    """How close each row's answer comes to another one, from 0 to 1: (n,).

    Parameters
    ----------
    shares : (n, K)
        Probability of each class.
    several : bool
        Whether a row may have several classes. Then the answer changes with any of them, and the one that is closest
        to one half counts; otherwise it changes where the second class overtakes the first.
    """
    if several:
        return np.asarray(1.0 - np.abs(2.0 * shares - 1.0).min(axis=1), np.float64)

    second, first = np.sort(shares, axis=1)[:, -2:].T
    return np.asarray(1.0 - (first - second), np.float64)


def is_known(targets: NDArray[Any]) -> NDArray[np.bool_]:
    """Which rows have an encoded target: (N,). Class −1 and NaN mean that there is none."""
    if targets.ndim == 2:
        return np.asarray(~np.isnan(targets).all(axis=1))
    return np.asarray(targets >= 0 if targets.dtype.kind in "iu" else ~np.isnan(targets))


# ---- a user's y


class ParsedTargets(NamedTuple):
    """Targets of N rows."""

    values: NDArray[Any]  # (N,) or (N, C); of a class that is not known, any
    known: NDArray[np.bool_]  # (N,), whether the row has a target

    def take(self, rows: NDArray[np.int64]) -> ParsedTargets:
        """Those of some rows."""
        return ParsedTargets(self.values[rows], self.known[rows])


def read_targets(y: Any, classification: bool, unlabeled: Any = None) -> ParsedTargets:
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


def warn_if_marker(given: ParsedTargets) -> None:
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


def warn_of_quantity(given: ParsedTargets) -> None:
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
    kind = given.dtype.kind
    missing = np.isnan(given) if kind == "f" else np.zeros(given.shape, bool)
    if kind == "O":
        import pandas as pd  # for these alone: it takes a third of a second to load

        missing = np.asarray(pd.isna(given))

    if kind in "OU":
        blank = [isinstance(value, str) and not value.strip() for value in given.flat]
        missing |= np.array(blank, bool).reshape(given.shape)
    return missing


def _classes(given: NDArray[Any], missing: NDArray[np.bool_]) -> ParsedTargets:
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
        return ParsedTargets(values, known)
    filled = np.full(known.size, values[0], dtype=values.dtype)
    filled[known] = values
    return ParsedTargets(filled, known)


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
                f"Unknown label type: y must hold texts, numbers or booleans, but holds {quoted(value)} of the type "
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


def _labels(given: NDArray[Any], missing: NDArray[np.bool_]) -> ParsedTargets:
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
    return ParsedTargets(labels, np.asarray(~missing.all(axis=1)))


def _values(given: NDArray[Any], missing: NDArray[np.bool_]) -> ParsedTargets:
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
    return ParsedTargets(values, known)


def _floats(given: NDArray[Any], missing: NDArray[np.bool_]) -> Floats:
    """Numbers of the known entries, NaN for the others."""
    values = np.full(given.shape, np.nan)
    values[~missing] = given[~missing].astype(np.float64)
    return values


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
        return MultilabelTargets(meta["n_labels"])

    if kind == "values":
        shift = arrays["shift"]
        scale = arrays["scale"]
        fits = shift.ndim == 1 and shift.size > 0 and shift.shape == scale.shape
        fits &= shift.size == 1 or not meta["one_target"]
        for array in (shift, scale):
            fits &= array.dtype == np.float64 and bool(np.isfinite(array).all())
        if not fits or (scale <= 0).any():
            raise ValueError("shift and scale of the targets must be finite, a scale positive")
        return RegressionTargets(bool(meta["one_target"]), shift, scale)

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
