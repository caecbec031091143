"""Check the values of columns, and name columns in error messages."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from dataclasses import fields
from typing import Any

import numpy as np
import numpy.typing as npt

from tsenet.errors import DataError, NonNumericError

__all__ = [
    "RESHAPE",
    "Labeller",
    "column_labeller",
    "count_of",
    "equal_fields",
    "is_missing",
    "listed",
    "numbers_of_objects",
    "quoted",
    "refuse_non_finite",
]

RESHAPE = (
    "Reshape your data either using array.reshape(-1, 1) if it is one column "
    "or array.reshape(1, -1) if it is one row."
)

Labeller = Callable[[int], str]


def column_labeller(names: Sequence[str] | None) -> Labeller:
    """Return the function that names column ``j`` in error messages.

    Parameters
    ----------
    names : sequence of str or None
        None if the table has no names: messages then give only the index.
    """
    if names is None:
        return lambda j: f"column {j}"
    return lambda j: f"column {quoted(names[j])} (index {j})"


def quoted(value: object, most: int = 60) -> str:
    """Write a name or a cell for a message: its repr, cut after `most` characters."""
    if isinstance(value, str):
        return repr(value if len(value) <= most else f"{value[:most]}…")
    shown = repr(value)
    return shown if len(shown) <= most else f"{shown[:most]}…"


def listed(values: Iterable[object], most: int = 10) -> str:
    """Write the first names for a message, and how many more there are."""
    every = list(values)
    more = f" and {len(every) - most:,} more" if len(every) > most else ""
    return ", ".join(map(quoted, every[:most])) + more


def count_of(number: int, noun: str) -> str:
    """Write a count with its noun: ``1 row``, ``2 rows``."""
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"


def is_missing(value: Any) -> bool:
    """Return whether a value read from a file is missing: None, an empty string or NaN."""
    return value is None or value == "" or (isinstance(value, float) and math.isnan(value))


def numbers_of_objects(array: npt.NDArray[Any], label: Labeller) -> npt.NDArray[np.float64]:
    """Turn an object array (N, V) into float64; None and ``pandas.NA`` become NaN.

    Strings that hold a number are converted, as in scikit-learn.

    Raises
    ------
    NonNumericError
        Naming the first column with other values, their number, and the first of them.
    """
    with suppress(TypeError, ValueError, OverflowError):
        return array.astype(np.float64)
    numbers = np.empty(array.shape, dtype=np.float64)  # one at a time, to find what failed
    for j in range(array.shape[1]):
        bad = []
        for i, value in enumerate(array[:, j]):
            try:
                # float() fails on pandas.NA; the name of its type is checked to avoid importing pandas.
                missing = value is None or type(value).__name__ == "NAType"
                numbers[i, j] = np.nan if missing else float(value)
            except (TypeError, ValueError, OverflowError):
                bad.append(value)
        if bad:
            raise NonNumericError(
                f"{label(j)} has {count_of(len(bad), 'value')} that cannot be read as a number, such as "
                f"{quoted(bad[0])}: each argument must be a string that spells a number, or a real number. "
                "Categories can be given as string columns of a pandas or polars dataframe."
            )
    return numbers


def refuse_non_finite(values: Any, label: Labeller, missing: bool = False) -> None:
    """Raise a DataError when a dense array or csr_array (N, V) holds infinity or NaN.

    The message names the first such column, its count, and how many other columns have some. With ``missing``, a
    dense array may hold NaN.
    """
    is_dense = isinstance(values, np.ndarray)
    data = values if is_dense else values.data
    if data.dtype.kind != "f":
        return
    with np.errstate(over="ignore", invalid="ignore"):
        # A finite sum means that all values are finite, and is faster than checking each value.
        if np.isfinite(data.sum()):
            return
    for kind, test in (("NaN (missing)", np.isnan), ("infinite (inf)", np.isinf)):
        if test is np.isnan and missing and is_dense:
            continue
        bad = test(data)
        n_columns = values.shape[1]
        counts = bad.sum(axis=0) if is_dense else np.bincount(values.indices[bad], None, n_columns)
        columns = np.flatnonzero(counts)
        if columns.size:
            j, others = int(columns[0]), columns.size - 1
            more = f" ({count_of(others, 'other column')} too)" if others else ""
            raise DataError(
                f"{label(j)} has {count_of(int(counts[j]), kind + ' value')}{more}: "
                "fill these in or drop the rows or columns that hold them"
            )


def equal_fields(one: Any, other: object) -> Any:
    """Compare two dataclasses that may hold arrays and csr_arrays: the ``__eq__`` of such a class.

    Missing values are equal, and arrays of different types are not.
    """
    if not isinstance(other, type(one)):
        return NotImplemented
    pairs = ((getattr(one, part.name), getattr(other, part.name)) for part in fields(one))
    return all(_equal(a, b) for a, b in pairs)


def _equal(one: Any, other: Any) -> bool:
    if type(one) is not type(other) or getattr(one, "dtype", None) != getattr(other, "dtype", None):
        return False
    if hasattr(one, "indptr"):
        parts = ("shape", "indptr", "indices", "data")
        return all(_equal(getattr(one, part), getattr(other, part)) for part in parts)
    if isinstance(one, np.ndarray):
        return bool(np.array_equal(one, other, equal_nan=one.dtype.kind == "f"))
    return bool(one == other)
