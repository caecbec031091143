"""Columns of dates, which become a few numbers each: year, month, weekday and, if there are times of day, hour.

A column ``sold`` gives the columns ``sold: year`` (with its fraction), ``sold: month`` (1 to 12), ``sold: weekday``
(1 for Monday) and ``sold: hour``. So the names of a model's columns tell which columns of new rows hold dates.
"""

from __future__ import annotations

import re
import warnings
from collections.abc import Collection, Iterable, Sequence
from datetime import datetime
from typing import Any

import numpy as np
import numpy.typing as npt

__all__ = ["date_name", "looks_like_dates", "numbers_of_dates", "read_dates", "split_dates"]

Times = npt.NDArray[np.datetime64]

_PARTS = ("year", "month", "weekday", "hour")
_EPOCH = np.datetime64("1970-01-01")
_DAYS_PER_YEAR = 365.2425
# Year, month and day, as ISO 8601 has them, or with slashes.
_DATE = re.compile(r"\s*\d{4}([-/])\d{1,2}\1\d{1,2}(?!\d)")
# The least share of the texts of a column that are dates.
_MOST = 0.9


def date_name(column: str, part: str = "year") -> str:
    """Return the name of the numbers that a column of dates becomes."""
    return f"{column}: {part}"


def _parse_dates(texts: Iterable[Any]) -> Times:
    """Read texts such as ``2024-05-31`` or ``2024/5/31 18:30``; what is no date becomes NaT. Time zones are ignored."""
    known: dict[Any, datetime | None] = {}
    found = []
    for text in texts:
        if text not in known:
            known[text] = _parse(text)
        found.append(known[text])
    return np.array(found, dtype="datetime64[us]")


def _parse(text: Any) -> datetime | None:
    match = _DATE.match(text) if isinstance(text, str) else None
    if match is None:
        return None
    year, month, day = (int(part) for part in match.group().split(match.group(1)))
    try:
        date = f"{year:04}-{month:02}-{day:02}"
        return datetime.fromisoformat(date + text[match.end() :].rstrip()).replace(tzinfo=None)
    except ValueError:
        return None


def looks_like_dates(texts: Collection[Any]) -> bool:
    """Whether at least nine of ten texts are dates, and none is only by chance."""
    first = next(iter(texts), None)
    if not isinstance(first, str) or not any(_DATE.match(str(text)) for text in list(texts)[:10]):
        return False
    return bool(np.count_nonzero(~np.isnat(_parse_dates(texts))) >= _MOST * len(texts))


def read_dates(texts: Sequence[Any], n_known: int, label: str, *, is_known: bool) -> Times:
    """Return the times of a column of texts, NaT for what is no date, and warn of how they are read.

    Parameters
    ----------
    texts : sequence
        Strings; anything else is missing.
    n_known : int
        How many are not missing.
    label : str
        How messages name the column.
    is_known : bool
        Whether the column held dates in training: then only unreadable texts are worth a warning.
    """
    times = _parse_dates(texts)
    n_wrong = n_known - int(np.count_nonzero(~np.isnat(times)))
    if n_wrong or not is_known:
        wrong = f"; {n_wrong:,} of {n_known:,} are no dates and count as missing" if n_wrong else ""
        message = f"{label} holds dates: they become numbers (year, month, weekday){wrong}"
        warnings.warn(message, UserWarning, stacklevel=3)
    return times


def numbers_of_dates(
    column: str, times: Times, columns: Collection[str] | None = None
) -> dict[str, npt.NDArray[np.float64]]:
    """Return the numbers of a column of dates by name, NaN where missing.

    Parameters
    ----------
    column : str
        Name of the column.
    times : ndarray of datetime64, shape (N,)
        NaT where missing.
    columns : collection of str, default=None
        Names of the columns of the training table, which tell whether there are hours. None: if a time is not midnight.
    """
    times = times.astype("datetime64[us]")
    missing = np.isnat(times)
    days = times.astype("datetime64[D]")
    since = (times - _EPOCH) / np.timedelta64(1, "D")
    numbers = {
        "year": 1970 + since / _DAYS_PER_YEAR,
        "month": times.astype("datetime64[M]").astype(np.int64) % 12 + 1.0,
        "weekday": (days.astype(np.int64) + 3) % 7 + 1.0,  # 1970-01-01 was a Thursday
        "hour": (times - days) / np.timedelta64(1, "h"),
    }
    if columns is None:
        parts: Sequence[str] = _PARTS if (numbers["hour"][~missing] > 0).any() else _PARTS[:3]
    else:
        parts = [part for part in _PARTS if date_name(column, part) in columns]
    return {date_name(column, part): np.where(missing, np.nan, numbers[part]) for part in parts}


def split_dates(names: Sequence[str], columns: Collection[str]) -> list[str]:
    """Return those of the names that are columns of dates in a training table with these columns."""
    return [name for name in names if name not in columns and date_name(name) in columns]
