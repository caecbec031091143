"""A column beside the rows, such as a date or a label, cut into few bins to show topics along it."""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date, datetime
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tsenet.errors import DataError

__all__ = ["Bins", "bins_of"]

_MOST_BINS = 60
_MOST_LABELS = 40
_MOST_PLAIN_NUMBERS = 20  # more different numbers than this are cut into ranges
_RANGES = 10

_DATE = re.compile(r"(\d{4})(?:[-/.](\d{1,2})(?:[-/.](\d{1,2})(?:[T ].*)?)?)?")


@dataclass(frozen=True)
class Bins:
    """Which bin each row is in.

    Attributes
    ----------
    kind : {"dates", "numbers", "labels"}
        The first two have an order.
    names : tuple of str
    of_row : int64 (N,)
        −1 where the column has no value.
    counts : tuple of int
        Rows in each bin.
    """

    kind: str
    names: tuple[str, ...]
    of_row: NDArray[np.int64]

    @property
    def counts(self) -> tuple[int, ...]:
        """Rows in each bin."""
        inside = self.of_row[self.of_row >= 0]
        return tuple(np.bincount(inside, minlength=len(self.names)).tolist())


def bins_of(values: Sequence[Any]) -> Bins:
    """Cut a column into bins.

    Dates (years, or as ISO 8601 writes them) go by day, month, year or several years, whichever is the finest that
    gives at most 60 bins, empty ones in between included. More than 20 different numbers are cut into ten ranges that
    hold about equally many rows. Everything else is a label; beyond the 40 most frequent they are one.

    Raises
    ------
    DataError
        If no row has a value.
    """
    known = [None if _is_missing(value) else value for value in values]
    if all(value is None for value in known):
        raise DataError("the column to show topics along has no values")
    dates = [None if value is None else _date_of(value) for value in known]
    if all((day is None) == (value is None) for day, value in zip(dates, known, strict=True)):
        return _by_date(dates)
    numbers = [_number_of(value) for value in known]
    if all((n is None) == (value is None) for n, value in zip(numbers, known, strict=True)):
        given = {n for n in numbers if n is not None}
        if len(given) > _MOST_PLAIN_NUMBERS:
            return _by_range(numbers)
    return _by_label(known)


def _is_missing(value: Any) -> bool:
    if isinstance(value, float):
        return math.isnan(value)
    return value is None or (isinstance(value, str) and not value.strip())


def _date_of(value: Any) -> tuple[int, int, int] | None:
    """Year, month and day (0 where not given), or None if it is no date."""
    if isinstance(value, datetime | date):
        return value.year, value.month, value.day
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    match = _DATE.fullmatch(str(value).strip())
    if match is None:
        return None
    year, month, day = (int(part or 0) for part in match.groups())
    # A bare number is a year only if it can be one: 0042 or 9000 is a code.
    plausible = 1000 <= year < 2200 if not month else True
    return (year, month, day) if plausible and month <= 12 and day <= 31 else None


def _by_date(dates: list[tuple[int, int, int] | None]) -> Bins:
    known = [day for day in dates if day is not None]
    by_year = any(not month for _, month, _ in known)
    if not by_year and all(day for _, _, day in known):
        try:
            ordinals = [None if d is None else date(*d).toordinal() for d in dates]
        except ValueError:  # 31 February
            ordinals = []
        found = [number for number in ordinals if number is not None]
        if found and max(found) - min(found) < _MOST_BINS:
            return _steps(
                ordinals, 1, lambda first, last: date.fromordinal(first).isoformat(), "dates"
            )
    if not by_year:
        months = [None if d is None else 12 * d[0] + d[1] - 1 for d in dates]
        found = [number for number in months if number is not None]
        if max(found) - min(found) < _MOST_BINS:
            return _steps(
                months, 1, lambda first, last: f"{first // 12}-{first % 12 + 1:02d}", "dates"
            )
    years = [None if d is None else d[0] for d in dates]
    span = max(y for y in years if y is not None) - min(y for y in years if y is not None) + 1
    step = next(size for size in (1, 2, 5, 10, 20, 50, 100, 1000) if span / size < _MOST_BINS)
    return _steps(
        years, step, lambda first, last: f"{first}" if first == last else f"{first}–{last}", "dates"
    )


def _steps(numbers: Sequence[int | None], step: int, name: Any, kind: str) -> Bins:
    """Bins of ``step`` whole numbers each, from the smallest to the largest."""
    places = [None if number is None else number // step for number in numbers]
    first = min(place for place in places if place is not None)
    last = max(place for place in places if place is not None)
    names = tuple(name(p * step, p * step + step - 1) for p in range(first, last + 1))
    of_row = np.array([-1 if place is None else place - first for place in places], np.int64)
    return Bins(kind, names, of_row)


def _number_of(value: Any) -> float | None:
    try:
        number = float(value)
    except (TypeError, ValueError):
        return None
    return number if math.isfinite(number) else None


def _by_range(numbers: list[float | None]) -> Bins:
    known = np.array([number for number in numbers if number is not None])
    edges = np.unique(np.quantile(known, np.linspace(0, 1, _RANGES + 1)[1:-1]))
    of_row = np.array(
        [-1 if n is None else int(np.searchsorted(edges, n, side="right")) for n in numbers],
        np.int64,
    )
    inner = [f"{a:.4g} – {b:.4g}" for a, b in pairwise(edges.tolist())]
    return Bins("numbers", (f"< {edges[0]:.4g}", *inner, f"≥ {edges[-1]:.4g}"), of_row)


def _by_label(values: list[Any]) -> Bins:
    texts = [None if value is None else str(value).strip() for value in values]
    counted = Counter(text for text in texts if text is not None)
    by_size = sorted(counted, key=lambda text: (-counted[text], text))
    most = by_size if len(by_size) <= _MOST_LABELS else by_size[: _MOST_LABELS - 1]
    place = {text: k for k, text in enumerate(sorted(most))}
    names = sorted(most)
    if len(most) < len(by_size):
        names.append(f"{len(by_size) - len(most):,} others")
    of_row = np.array(
        [-1 if text is None else place.get(text, len(most)) for text in texts], np.int64
    )
    return Bins("labels", tuple(names), of_row)
