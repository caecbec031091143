"""Dates: which texts are dates, which columns of a data frame hold them, and what numbers they become.

A column ``sold`` of dates gives ``sold: year`` (with its fraction), ``sold: month`` (1 to 12) and ``sold: weekday`` (1
for Monday). The column names of a model therefore show which columns of new rows hold dates.
"""

from __future__ import annotations

import warnings
from collections.abc import Collection, Iterable
from datetime import date
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from tsenet.errors import DataError, quoted

if TYPE_CHECKING:
    import pandas as pd

_DAYS_PER_YEAR = 365.2425
# Smallest share of days among the texts of a column of dates.
_MIN_SHARE = 0.9
# A year, perhaps a month, perhaps a day, perhaps a time, as ISO 8601 writes them or with other marks.
_FORM = (
    r"^(?P<year>\d{4})"
    r"(?:(?P<mark>[-/.])(?P<month>\d{1,2})"
    r"(?:(?P=mark)(?P<day>\d{1,2})(?:[T ].*)?)?)?$"
)
# Years of texts without a day: 0042 and 9000-01 are codes.
_FIRST_YEAR = "1000"
_LAST_YEAR = "2199"
_TRIED = 10  # the first values of a column, one of which must be a day for the others to be read


class Dates(NamedTuple):
    """Texts as dates.

    Attributes
    ----------
    days : series of datetimes (N,)
        The first day of a month or year; NaT for a text that is no date.
    n_parts : int64 (N,)
        How exact it is: 1 for a year, 2 for a month, 3 for a day; 0 for a text that is no date.
    """

    days: pd.Series
    n_parts: NDArray[np.int64]


def read_dates(texts: pd.Series) -> Dates:
    """Read texts such as ``2024-05-31``, ``2024/5/31 18:30``, ``2024.05.31``, ``2024-05`` and ``2024``.

    Parameters
    ----------
    texts : series of str (N,)
    """
    import pandas as pd

    parts = texts.astype(object).str.strip().str.extract(_FORM)

    # A whole day is a date whatever its year; a year, or a month of one, only if it is likely.
    is_likely_year = parts["year"].between(_FIRST_YEAR, _LAST_YEAR)
    is_decimal = parts["mark"] == "."  # such as 2019.5
    is_date = parts["day"].notna() | (is_likely_year & ~is_decimal)

    month = parts["month"].fillna("1").str.zfill(2)
    day = parts["day"].fillna("1").str.zfill(2)
    written = (parts["year"] + "-" + month + "-" + day).where(is_date)
    days = pd.to_datetime(written, format="%Y-%m-%d", errors="coerce")

    n_parts = parts[["year", "month", "day"]].notna().sum(axis=1)
    n_parts = n_parts.where(days.notna(), 0)
    return Dates(days, n_parts.to_numpy(np.int64))


def date_columns(names: Iterable[str], training: Collection[str]) -> set[str]:
    """Return which of the names were columns of dates in a training table with these columns."""
    known = set(training)
    return {name for name in names if name not in known and f"{name}: year" in known}


def days_of(series: Any, label: str, was_date: bool | None) -> pd.DatetimeIndex | None:
    """Return the days of a column of dates, NaT where missing; None if it holds something else.

    Parameters
    ----------
    series : narwhals series (N,)
    label : str
        What messages call the column.
    was_date : bool or None
        Whether it held dates in training; None for a training table. Of texts in a training table, at least nine of
        ten must be days.
    """
    import narwhals as nw
    import pandas as pd

    dtype = series.dtype
    is_no_date = dtype.is_numeric() or dtype in (nw.Categorical, nw.Enum)
    if was_date is False or (was_date is None and is_no_date):
        return None

    if dtype in (nw.Datetime, nw.Date):
        if getattr(dtype, "time_zone", None) is not None:
            series = series.dt.replace_time_zone(None)
        return pd.DatetimeIndex(series.to_numpy().astype("datetime64[D]").astype("datetime64[s]"))

    cells = pd.Series(series.to_numpy(), dtype=object)
    present = cells.dropna()
    are_texts = all(isinstance(value, str | date) for value in present)
    if was_date and not are_texts:
        shown = quoted(present.iloc[0])
        raise DataError(f"{label} held dates in training, now values such as {shown}")

    if not was_date and not (are_texts and _holds_days(present[:_TRIED])):
        return None

    days, n_parts = read_dates(present.map(str))
    n_wrong = int((n_parts < 3).sum())
    if not was_date and n_wrong > (1 - _MIN_SHARE) * len(present):
        return None

    if n_wrong or (not was_date and isinstance(present.iloc[0], str)):
        wrong = f"; {n_wrong:,} of {len(present):,} are not dates and count as missing"
        message = f"{label} holds dates: they become numbers (year, month, weekday)"
        warnings.warn(message + (wrong if n_wrong else ""), UserWarning, stacklevel=3)

    return pd.DatetimeIndex(days.where(n_parts == 3).reindex(cells.index))


def _holds_days(values: pd.Series) -> bool:
    """Whether one of some values is a day."""
    return bool((read_dates(values.map(str)).n_parts == 3).any())


def numbers_of_days(name: str, days: pd.DatetimeIndex) -> dict[str, NDArray[np.float64]]:
    """Return the numbers of a column of dates by name, NaN where missing."""
    import pandas as pd

    since_1970 = (days - pd.Timestamp("1970-01-01")) / pd.Timedelta(days=1)
    numbers = {
        f"{name}: year": 1970 + since_1970 / _DAYS_PER_YEAR,
        f"{name}: month": days.month,
        f"{name}: weekday": days.day_of_week + 1,
    }
    return {part: np.asarray(values, np.float64) for part, values in numbers.items()}
