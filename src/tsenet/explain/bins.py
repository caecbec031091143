"""A column of dates, numbers or labels cut into a few bins, to show how often topics occur in each."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tsenet.errors import DataError

__all__ = ["Bins", "bins_of"]

_MAX_BINS = 60
_MAX_LABELS = 40
_MAX_NUMBER_LABELS = 20  # more different numbers than this are cut into ranges
_RANGES = 10

_DATE = re.compile(r"(\d{4})(?:[-/.](\d{1,2})(?:[-/.](\d{1,2})(?:[T ].*)?)?)?")


@dataclass(frozen=True)
class Bins:
    """The bin of each row.

    Attributes
    ----------
    kind : {"dates", "numbers", "labels"}
        The first two have an order.
    names : tuple of str
        A name for each bin.
    of_row : int64 (N,)
        −1 where the column has no value.
    """

    kind: str
    names: tuple[str, ...]
    of_row: NDArray[np.int64]

    @property
    def counts(self) -> tuple[int, ...]:
        """Number of rows in each bin."""
        inside = self.of_row[self.of_row >= 0]
        return tuple(np.bincount(inside, minlength=len(self.names)).tolist())


def bins_of(values: Sequence[Any]) -> Bins:
    """Cut a column into bins.

    Dates (years, or as ISO 8601 writes them) are binned by day, month, year or several years: the finest that gives at
    most 60 bins, including empty ones in between. More than 20 different numbers are cut into ten ranges with about
    equally many rows. Everything else is a label; those beyond the 40 most frequent share a bin.

    Raises
    ------
    DataError
        If no row has a value.
    """
    present = np.array([not _is_missing(value) for value in values], bool)
    known = [value for value, is_present in zip(values, present, strict=True) if is_present]
    if not known:
        raise DataError("the column to show topics along has no values")
    dates = [_iso_date(value) for value in known]
    numbers = [_finite_number(value) for value in known]
    if all(dates):
        kind, (names, bin_of) = "dates", _by_date([day or "" for day in dates])
    elif None not in numbers and len(set(numbers)) > _MAX_NUMBER_LABELS:
        kind, (names, bin_of) = "numbers", _by_range(np.array(numbers, np.float64))
    else:
        kind, (names, bin_of) = "labels", _by_label([str(value).strip() for value in known])
    of_row = np.full(present.size, -1, np.int64)
    of_row[present] = bin_of
    return Bins(kind, tuple(names), of_row)


def _is_missing(value: Any) -> bool:
    if isinstance(value, float):
        return math.isnan(value)
    return value is None or (isinstance(value, str) and not value.strip())


def _iso_date(value: Any) -> str | None:
    """A date as ``2024-05-31``, ``2024-05`` or ``2024``; None if it is not a date."""
    if isinstance(value, date):
        return value.isoformat()[:10]
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    match = _DATE.fullmatch(str(value).strip())
    if match is None:
        return None
    year, *rest = (int(part) for part in match.groups() if part is not None)
    limits = zip(rest, (12, 31), strict=False)
    if any(not 1 <= part <= limit for part, limit in limits):
        return None
    # A bare number is a year only if it can be one: 0042 or 9000 is a code.
    if not rest and not 1000 <= year < 2200:
        return None
    return "-".join([f"{year:04d}", *(f"{part:02d}" for part in rest)])


def _by_date(dates: list[str]) -> tuple[list[str], NDArray[np.int64]]:
    shortest = min(len(day) for day in dates)
    for unit, length in (("D", 10), ("M", 7)):
        if shortest < length:
            continue
        try:
            days = np.array([day[:length] for day in dates], f"datetime64[{unit}]")
        except ValueError:  # 31 February
            continue
        steps = days.astype(np.int64)
        if steps.max() - steps.min() < _MAX_BINS:
            first, last = steps.min(), steps.max()
            names = np.arange(first, last + 1).astype(days.dtype).astype(str).tolist()
            return names, steps - first
    years = np.array([int(day[:4]) for day in dates])
    span = int(years.max() - years.min()) + 1
    size = next(size for size in (1, 2, 5, 10, 20, 50, 100, 1000) if span / size < _MAX_BINS)

    first, last = int(years.min()) // size, int(years.max()) // size
    starts = [size * step for step in range(first, last + 1)]
    names = [str(year) if size == 1 else f"{year}–{year + size - 1}" for year in starts]
    return names, years // size - first


def _finite_number(value: Any) -> float | None:
    try:
        number = float(value)
    except (TypeError, ValueError):
        return None
    return number if math.isfinite(number) else None


def _by_range(numbers: NDArray[np.float64]) -> tuple[list[str], NDArray[np.int64]]:
    edges = np.unique(np.quantile(numbers, np.linspace(0, 1, _RANGES + 1)[1:-1]))
    inner = [f"{a:.4g} – {b:.4g}" for a, b in pairwise(edges.tolist())]
    names = [f"< {edges[0]:.4g}", *inner, f"≥ {edges[-1]:.4g}"]
    return names, np.searchsorted(edges, numbers, side="right")


def _by_label(labels: list[str]) -> tuple[list[str], NDArray[np.int64]]:
    names, label_of, count = np.unique(labels, return_inverse=True, return_counts=True)
    if names.size <= _MAX_LABELS:
        return names.tolist(), label_of
    order = np.argsort(-count, kind="stable")  # equally frequent ones in alphabetical order
    kept = np.sort(order[: _MAX_LABELS - 1])
    bin_of = np.full(names.size, kept.size)
    bin_of[kept] = np.arange(kept.size)
    return [*names[kept].tolist(), f"{names.size - kept.size:,} others"], bin_of[label_of]
