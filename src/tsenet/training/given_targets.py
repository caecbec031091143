"""A user's ``y``, checked: its values, and which rows have a target at all.

A row has no target where ``y`` is None, NaN, ``pandas.NA``, masked or blank text, and where it holds the marker that
the user named (``unlabeled=-1``).
"""

from __future__ import annotations

import warnings
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import assert_all_finite, column_or_1d

from tsenet.data.rows import checked_csr
from tsenet.errors import DataError, NonNumericError

__all__ = ["GivenTargets", "read_targets", "warn_of_marker"]

Floats = NDArray[np.float64]


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
    >>> from tsenet.training.given_targets import read_targets
    >>> read_targets(["cat", "", None, "dog"], True).known.tolist()
    [True, False, False, True]
    >>> read_targets([1, -1, 0], True, unlabeled=-1).known.tolist()
    [True, False, True]
    """
    given = _array_of(y)
    missing = _missing(given)
    if unlabeled is not None:
        missing |= _equal(given, unlabeled)
    if not classification:
        return _values(given, missing)
    return _labels(given, missing) if _are_labels(given, missing) else _classes(given, missing)


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


def _array_of(y: Any) -> NDArray[Any]:
    """Targets as an array; a sparse matrix of labels becomes dense."""
    if sp.issparse(y):
        return np.asarray(checked_csr(y).toarray())
    if isinstance(y, np.ma.MaskedArray):
        objects = y.data.astype(object)
        objects[np.ma.getmaskarray(y)] = None
        return objects
    given: NDArray[Any] = np.asarray(y)
    if given.dtype.kind != "U" or not isinstance(y, list | tuple):
        return given
    objects = np.array(y, dtype=object)  # among strings, NumPy turns NaN into the text "nan"
    return given if all(isinstance(value, str) for value in objects.flat) else objects


def _missing(given: NDArray[Any]) -> NDArray[np.bool_]:
    """Find the entries that are None, NaN, ``pandas.NA`` or blank text."""
    if given.dtype.kind == "f":
        return np.asarray(np.isnan(given))
    if given.dtype.kind == "U":
        return np.asarray(np.char.str_len(np.char.strip(given)) == 0)
    if given.dtype.kind != "O":
        return np.zeros(given.shape, bool)
    flags = [_is_missing(value) for value in given.ravel()]
    return np.array(flags, bool).reshape(given.shape)


def _is_missing(value: Any) -> bool:
    if isinstance(value, str):
        return not value.strip()
    if isinstance(value, float | np.floating):
        return bool(np.isnan(value))
    return value is None or type(value).__name__ in (
        "NAType",
        "NaTType",
    )  # without importing pandas


def _equal(given: NDArray[Any], marker: Any) -> NDArray[np.bool_]:
    """Which entries equal the marker; text never equals a number."""
    if given.dtype.kind == "O":
        flags = [not _is_missing(value) and bool(value == marker) for value in given.ravel()]
        return np.array(flags, bool).reshape(given.shape)
    if isinstance(marker, str) != (given.dtype.kind == "U"):
        return np.zeros(given.shape, bool)
    return np.asarray(given == marker)


def _are_labels(given: NDArray[Any], missing: NDArray[np.bool_]) -> bool:
    """Whether ``y`` holds several labels: several columns, or one column of 0, 1 and missing values."""
    if given.ndim != 2 or given.shape[1] > 1:
        return given.ndim == 2
    return bool(missing.any()) and all(
        not isinstance(value, str) and value in (0, 1) for value in given[~missing].tolist()
    )


def _classes(given: NDArray[Any], missing: NDArray[np.bool_]) -> GivenTargets:
    """Classes (N,)."""
    given = np.asarray(column_or_1d(given, warn=True))
    known = ~missing.ravel()
    if not known.any() and known.size:
        raise DataError(f"y holds no label: all {known.size} rows are without one")
    values = _one_kind(given[known]) if given.dtype.kind == "O" else given[known]
    assert_all_finite(values, input_name="y")
    check_classification_targets(values)
    if known.all():
        return GivenTargets(values, known)
    if values.dtype.kind == "f" and np.array_equal(values, np.floor(values)):
        values = values.astype(np.int64)  # NaN made floats of whole numbers
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
    plain = np.array(values.tolist())
    return plain if plain.ndim == 1 and plain.dtype.kind in "biuf" else values


def _labels(given: NDArray[Any], missing: NDArray[np.bool_]) -> GivenTargets:
    """Labels (N, C) as 0, 1 and NaN."""
    try:
        labels = _floats(given, missing)
    except (TypeError, ValueError) as error:
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
    except (TypeError, ValueError) as error:
        raise NonNumericError(f"y must hold numbers: {error}") from error
    if values.ndim not in (1, 2) or values.size == 0:
        raise DataError(f"y must be 1-D or 2-D, not of shape {values.shape}")
    assert_all_finite(values[~missing], input_name="y")
    known = np.asarray(~missing.reshape(len(values), -1).all(axis=1))
    if not known.any():
        raise DataError(f"y holds no known value: all {known.size} rows are without one")
    return GivenTargets(values, known)


def _floats(given: NDArray[Any], missing: NDArray[np.bool_]) -> Floats:
    """Numbers of the known entries, NaN for the others."""
    values = np.full(given.shape, np.nan)
    values[~missing] = given[~missing].astype(np.float64)
    return values
