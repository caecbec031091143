"""What all of the data modules use: numbers, names and counts in messages, and comparing dataclasses of arrays."""

from __future__ import annotations

import math
import warnings
from collections.abc import Iterable
from dataclasses import fields
from importlib import import_module
from typing import Any

import numpy as np

from tsenet.errors import MissingDependencyError

RESHAPE = (
    "Reshape your data either using array.reshape(-1, 1) if it is one column "
    "or array.reshape(1, -1) if it is one row."
)


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


def import_optional(module: str, why: str) -> Any:
    """Import a module that not everybody has installed; if it is missing, a MissingDependencyError says `why`."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of the package's own code
            return import_module(module)
    except ImportError as error:
        raise MissingDependencyError(why) from error


def number_of(value: object) -> float:
    """Return the number that a value is or spells; NaN if it is none."""
    try:
        return float(value)  # type: ignore[arg-type]  # what cannot be converted is the point
    except (TypeError, ValueError, OverflowError):
        return math.nan


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
