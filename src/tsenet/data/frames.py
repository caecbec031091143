"""Turn columns of dataframes and files into numbers: categories become codes, dates a few columns of numbers.

A column ``sold`` of dates gives the columns ``sold: year`` (with its fraction), ``sold: month`` (1 to 12),
``sold: weekday`` (1 for Monday) and, if there are times of day, ``sold: hour``. The column names of a model therefore
show which columns of new rows hold dates.
"""

from __future__ import annotations

import re
import warnings
from collections.abc import Collection, Iterable, Mapping, Sequence
from datetime import date, datetime
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
from scipy.sparse import issparse

from tsenet.data.columns import RESHAPE, Labeller, column_labeller, numbers_of_objects
from tsenet.errors import DataError, NonNumericError

__all__ = ["Levels", "RawColumn", "convert_columns", "frame_names", "frame_values", "is_frame"]

Levels = tuple[str, ...] | None
Times = npt.NDArray[np.datetime64]

_DATE_PARTS = ("year", "month", "weekday", "hour")
_EPOCH = np.datetime64("1970-01-01")
_DAYS_PER_YEAR = 365.2425
# Year, month and day in ISO 8601 order, separated by hyphens or slashes.
_DATE = re.compile(r"\s*\d{4}([-/])\d{1,2}\1\d{1,2}(?!\d)")
# Smallest share of dates among the texts of a column of dates.
_MIN_DATE_SHARE = 0.9


class RawColumn(NamedTuple):
    """A column before its conversion."""

    values: npt.NDArray[
        Any
    ]  # (N,): numbers or datetime64, NaN or NaT where missing; or objects, None where missing
    is_category: bool = False  # declared as such: its texts are never read as dates


# ---- dataframes


def is_frame(data: object) -> bool:
    """Return whether `data` is an eager dataframe; raise a DataError for a series or a lazy frame."""
    if isinstance(data, np.ndarray | list | tuple) or issparse(data):
        return False  # narwhals takes a while to load
    import narwhals as nw

    if nw.dependencies.is_into_series(data):
        kind = type(data).__name__
        raise DataError(f"Expected a table, got a {kind}, which is one-dimensional. {RESHAPE}")
    if nw.dependencies.is_polars_lazyframe(data):
        raise DataError("Expected a table, got a polars LazyFrame: call .collect() on it first")
    return nw.dependencies.is_into_dataframe(data)


def frame_names(frame: Any) -> tuple[str, ...] | None:
    """Return the column names as strings, or None for pandas' default labels 0, 1, 2, ..."""
    labels = list(getattr(frame, "column_names", frame.columns))
    integers = all(isinstance(label, int | np.integer) for label in labels)
    if integers and labels == list(range(len(labels))):
        return None
    return tuple(str(label) for label in labels)


def frame_values(
    frame: Any, names: tuple[str, ...] | None, training_columns: Collection[str] | None = None
) -> tuple[Any, tuple[str, ...] | None, tuple[Levels, ...]]:
    """Return the values of a dataframe, the names of its columns and their category levels.

    Parameters
    ----------
    frame : eager dataframe
    names : tuple of str or None
        Unique names as returned by :func:`frame_names`.
    training_columns : collection of str or None
        As for :func:`convert_columns`.

    Returns
    -------
    values : ndarray (N, V), or a scipy coo_matrix for a pandas frame of sparse columns
    names : tuple of str, length V, or None
        As passed in, except that a column of dates has become several.
    levels : tuple of (tuple of str, or None), length V
    """
    import narwhals as nw

    if nw.dependencies.is_pandas_dataframe(frame):
        if all(_is_sparse(dtype) for dtype in frame.dtypes):
            return frame.sparse.to_coo(), names, (None,) * frame.shape[1]
        # narwhals needs unique string labels; set_axis does not copy the data.
        frame = frame.set_axis(names or [f"x{j}" for j in range(frame.shape[1])], axis=1)
    table = nw.from_native(frame, eager_only=True)
    own_names = names or tuple(f"x{j}" for j in range(table.shape[1]))
    label = column_labeller(names)
    numeric = all(dtype.is_integer() or dtype.is_float() for dtype in table.schema.values())
    if numeric and (training_columns is None or not date_columns(own_names, training_columns)):
        values = table.to_numpy()
        if values.dtype.kind in "fiu":
            return values, names, (None,) * values.shape[1]
    raw = {
        name: _raw_column(table.get_column(table.columns[j]), label(j))
        for j, name in enumerate(own_names)
    }
    values, converted, levels = convert_columns(raw, label, training_columns)
    return values, names if converted == own_names else converted, levels


def _is_sparse(dtype: Any) -> bool:
    """Return whether a pandas column is sparse with zeros left out."""
    return type(dtype).__name__ == "SparseDtype" and dtype.fill_value == 0


def _raw_column(series: Any, label: str) -> RawColumn:
    """Return a column of a dataframe."""
    import narwhals as nw

    dtype = series.dtype
    if dtype in (nw.Datetime, nw.Date):
        if dtype == nw.Datetime and getattr(dtype, "time_zone", None) is not None:
            series = series.dt.replace_time_zone(None)
        return RawColumn(np.asarray(series.to_numpy(), dtype="datetime64[us]"))
    values = series.to_numpy()
    missing = series.is_null().to_numpy()
    is_category = dtype in (nw.Categorical, nw.Enum)
    if not is_category and (
        dtype.is_numeric() or dtype == nw.Boolean or values.dtype.kind in "fiub"
    ):
        if values.dtype.kind not in "fiub" or missing.any():
            numbers = np.full(values.size, np.nan)
            numbers[~missing] = values[~missing].astype(np.float64)
            return RawColumn(numbers)
        return RawColumn(values)
    if not is_category and dtype not in (nw.String, nw.Object, nw.Unknown):
        raise NonNumericError(
            f"{label} holds values of type {dtype}: turn it into numbers or categories, or drop it"
        )
    objects = np.array(values, dtype=object)
    objects[missing] = None
    return RawColumn(objects, is_category)


# ---- columns of any source


def convert_columns(
    columns: Mapping[str, RawColumn],
    label: Labeller,
    training_columns: Collection[str] | None = None,
) -> tuple[npt.NDArray[Any], tuple[str, ...], tuple[Levels, ...]]:
    """Convert columns to numbers, category codes and the numbers that stand for dates.

    Parameters
    ----------
    columns : mapping of str to RawColumn
    label : callable
        Names column ``j`` in messages.
    training_columns : collection of str or None
        Names of the columns of the training table, which show what holds dates. None: columns of dates, and columns
        of texts most of which are dates.

    Returns
    -------
    values : ndarray (N, V)
        NaN where missing. A category column holds the codes 0..k-1 of its levels.
    names : tuple of str, length V
    levels : tuple of (tuple of str, or None), length V
        The levels that occur, sorted; None for a numeric column. Booleans are numbers 0 and 1.
    """
    dates = None if training_columns is None else date_columns(columns, training_columns)
    converted: dict[str, tuple[npt.NDArray[Any], Levels]] = {}
    for j, (name, column) in enumerate(columns.items()):
        times = None
        if dates is None or name in dates:
            times = _times_of(column, label(j), was_date=dates is not None)
        if times is None:
            converted[name] = _numbers_or_codes(column, label(j))
            continue
        for part, numbers in _numbers_of_dates(name, times, training_columns).items():
            if part in columns:
                raise DataError(f"{label(j)} holds dates, which become {part!r}: rename this one")
            converted[part] = numbers, None
    arrays = [array for array, _ in converted.values()]
    values = np.empty((arrays[0].size, len(arrays)), dtype=np.result_type(*arrays), order="F")
    for j, array in enumerate(arrays):
        values[:, j] = array
    return values, tuple(converted), tuple(levels for _, levels in converted.values())


def _numbers_or_codes(column: RawColumn, label: str) -> tuple[npt.NDArray[Any], Levels]:
    """Return a column as numbers, NaN where missing, and its levels if it holds categories."""
    values = column.values
    if values.dtype.kind in "fiub":
        return values, None
    if values.dtype.kind == "M":
        raise NonNumericError(f"{label} holds dates, but did not in training: drop it")
    present = [value for value in values if value is not None]
    if not column.is_category and not all(isinstance(value, str) for value in present):
        # numbers_of_objects names columns by index, but here it gets a single column.
        return numbers_of_objects(values.reshape(-1, 1), lambda _: label)[:, 0], None
    levels = tuple(sorted({str(value) for value in present}))
    if not levels:  # all values are missing: nothing shows that they are categories
        return np.full(values.size, np.nan), None
    code = {level: k for k, level in enumerate(levels)}
    if len(present) == values.size:
        return np.array([code[str(value)] for value in values], dtype=np.int64), levels
    return np.array([np.nan if v is None else code[str(v)] for v in values]), levels


# ---- dates


def date_columns(names: Iterable[str], training_columns: Collection[str]) -> set[str]:
    """Return which of the names were columns of dates in a training table with these columns."""
    known = set(training_columns)
    return {name for name in names if name not in known and f"{name}: year" in known}


def _times_of(column: RawColumn, label: str, was_date: bool) -> Times | None:
    """Return the times of a column of dates, NaT where missing; None if it holds something else."""
    values = column.values
    if values.dtype.kind == "M":
        return values
    is_object = values.dtype.kind == "O"
    present = values[[value is not None for value in values] if is_object else ~np.isnan(values)]
    if is_object and present.size and all(isinstance(value, date) for value in present):
        naive = [v.replace(tzinfo=None) if isinstance(v, datetime) else v for v in values]
        return np.array(naive, dtype="datetime64[us]")
    if was_date and not present.size:
        return np.full(values.size, np.datetime64("NaT"), dtype="datetime64[us]")
    are_texts = is_object and all(isinstance(value, str) for value in present)
    if was_date and not are_texts:
        raise DataError(f"{label} held dates in training, now values such as {present[0]!r}")
    if not was_date and (column.is_category or not are_texts or not _look_like_dates(present)):
        return None
    times = _parse_dates(values)
    n_wrong = present.size - int(np.count_nonzero(~np.isnat(times)))
    if n_wrong or not was_date:
        wrong = f"; {n_wrong:,} of {present.size:,} are not dates and count as missing"
        message = f"{label} holds dates: they become numbers (year, month, weekday)"
        warnings.warn(message + (wrong if n_wrong else ""), UserWarning, stacklevel=3)
    return times


def _look_like_dates(texts: npt.NDArray[Any]) -> bool:
    """Return whether at least nine of ten texts are dates."""
    if not any(_DATE.match(text) for text in texts[:10]):
        return False  # the usual case, without parsing all
    return bool(np.count_nonzero(~np.isnat(_parse_dates(texts))) >= _MIN_DATE_SHARE * texts.size)


def _parse_dates(texts: Iterable[Any]) -> Times:
    """Read texts such as ``2024-05-31`` or ``2024/5/31 18:30``, NaT for others; time zones are ignored."""
    cache: dict[Any, datetime | None] = {}
    times = []
    for text in texts:
        if text not in cache:
            cache[text] = _parse_date(text)
        times.append(cache[text])
    return np.array(times, dtype="datetime64[us]")


def _parse_date(text: str | None) -> datetime | None:
    match = _DATE.match(text or "")
    if text is None or match is None:
        return None
    year, month, day = (int(part) for part in match.group().split(match.group(1)))
    try:
        iso = f"{year:04}-{month:02}-{day:02}" + text[match.end() :].rstrip()
        return datetime.fromisoformat(iso).replace(tzinfo=None)
    except ValueError:
        return None


def _numbers_of_dates(
    name: str, times: Times, training_columns: Collection[str] | None
) -> dict[str, npt.NDArray[np.float64]]:
    """Return the numbers of a column of dates by name, NaN where missing; hours as in training, or if there are any."""
    times = times.astype("datetime64[us]")
    missing = np.isnat(times)
    days = times.astype("datetime64[D]")
    numbers = {
        "year": 1970 + (times - _EPOCH) / np.timedelta64(1, "D") / _DAYS_PER_YEAR,
        "month": times.astype("datetime64[M]").astype(np.int64) % 12 + 1.0,
        "weekday": (days.astype(np.int64) + 3) % 7 + 1.0,  # 1970-01-01 was a Thursday
        "hour": (times - days) / np.timedelta64(1, "h"),
    }
    if training_columns is None:
        parts: Sequence[str] = (
            _DATE_PARTS if (numbers["hour"][~missing] > 0).any() else _DATE_PARTS[:3]
        )
    else:
        parts = [part for part in _DATE_PARTS if f"{name}: {part}" in training_columns]
    return {f"{name}: {part}": np.where(missing, np.nan, numbers[part]) for part in parts}
