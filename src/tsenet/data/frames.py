"""Read dataframes of pandas, polars, pyarrow and other libraries as numbers and category levels."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from datetime import date, datetime
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy.sparse import issparse

from tsenet.data.columns import RESHAPE, column_labeller, numbers_of_objects
from tsenet.data.dates import looks_like_dates, numbers_of_dates, read_dates, split_dates
from tsenet.errors import DataError, NonNumericError

__all__ = ["Levels", "frame_names", "frame_values", "is_frame"]

Levels = tuple[str, ...] | None


def is_frame(data: object) -> bool:
    """Say whether `data` is an eager dataframe; raise a DataError for a series or a lazy frame."""
    if isinstance(data, np.ndarray | list | tuple) or issparse(data):
        return False  # narwhals, which takes a while to load and to ask, is for frames only
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
    counted = [isinstance(label, int | np.integer) for label in labels]
    if all(counted) and labels == list(range(len(labels))):
        return None
    return tuple(str(label) for label in labels)


def frame_values(
    frame: Any, names: Sequence[str] | None, columns: Collection[str] | None = None
) -> tuple[Any, tuple[str, ...] | None, tuple[Levels, ...]]:
    """Return the values of a dataframe, the names of its columns and the category levels of these.

    Parameters
    ----------
    frame : eager dataframe
    names : sequence of str or None
        Unique names as returned by :func:`frame_names`.
    columns : collection of str or None
        Names of the columns of the training table, which tell what holds dates. None: columns of dates, and columns of
        texts most of which are dates.

    Returns
    -------
    values : ndarray (N, V), or a scipy coo_matrix for a pandas frame of sparse columns
        Missing entries are NaN. A category column holds the codes 0..k-1 of its levels.
    names : tuple of str, length V, or None
        As given, but a column of dates has become several (:mod:`tsenet.data.dates`).
    levels : tuple of (tuple of str, or None), length V
        The levels that occur, sorted; None for a numeric column. Booleans are numbers 0 and 1.
    """
    import narwhals as nw

    if nw.dependencies.is_pandas_dataframe(frame):
        if _all_sparse(frame):
            return frame.sparse.to_coo(), _tuple(names), (None,) * frame.shape[1]
        unique = [str(j) for j in range(frame.shape[1])] if names is None else list(names)
        if list(frame.columns) != unique:
            # narwhals needs unique string labels; set_axis does not copy the data.
            frame = frame.set_axis(unique, axis=1)
    table = nw.from_native(frame, eager_only=True)
    own = [f"x{j}" for j in range(table.shape[1])] if names is None else list(names)
    known = None if columns is None else set(columns)
    of_dates = None if known is None else set(split_dates(own, known))
    if not of_dates and all(
        dtype.is_integer() or dtype.is_float() for dtype in table.schema.values()
    ):
        values = table.to_numpy()
        if values.dtype.kind in "fiu":
            return values, _tuple(names), (None,) * values.shape[1]
    label = column_labeller(names)
    found: dict[str, tuple[npt.NDArray[Any], Levels]] = {}
    for j, name in enumerate(own):
        series = table.get_column(table.columns[j])
        times = None
        if of_dates is None or name in of_dates:
            times = _times_of(series, label(j), is_known=of_dates is not None)
        if times is None:
            found[name] = _read_column(series, label(j))
        else:
            parts = numbers_of_dates(name, times, known)
            _check_new_names(parts, own, label(j))
            found |= {part: (numbers, None) for part, numbers in parts.items()}
    arrays = [array for array, _ in found.values()]
    values = np.empty((table.shape[0], len(found)), dtype=np.result_type(*arrays), order="F")
    for j, array in enumerate(arrays):
        values[:, j] = array
    made = _tuple(names) if list(found) == own else tuple(found)
    return values, made, tuple(levels for _, levels in found.values())


def _tuple(names: Sequence[str] | None) -> tuple[str, ...] | None:
    return None if names is None else tuple(names)


def _check_new_names(parts: Iterable[str], names: Sequence[str], label: str) -> None:
    taken = next((part for part in parts if part in names), None)
    if taken is not None:
        raise DataError(f"{label} holds dates, which become {taken!r}, but there is such a column")


def _times_of(series: Any, label: str, is_known: bool) -> npt.NDArray[np.datetime64] | None:
    """Return the times of a column of dates, NaT where missing; None if it holds something else.

    A column that is known to hold dates may also hold texts of which none is a date: they count as missing.
    """
    import narwhals as nw

    if series.dtype in (nw.Datetime, nw.Date):
        if series.dtype == nw.Datetime and getattr(series.dtype, "time_zone", None) is not None:
            series = series.dt.replace_time_zone(None)
        return np.asarray(series.to_numpy(), dtype="datetime64[us]")
    is_text = series.dtype == nw.String or (is_known and series.dtype == nw.Categorical)
    values = series.to_numpy()
    present = values if not series.null_count() else values[~series.is_null().to_numpy()]
    if series.dtype in (nw.Object, nw.Unknown) and present.size:
        if all(isinstance(value, date) for value in present):
            missing = series.is_null().to_numpy()
            plain = [None if gone else v for gone, v in zip(missing, values, strict=True)]
            return np.array([_without_zone(value) for value in plain], dtype="datetime64[us]")
        is_text = all(isinstance(value, str) for value in present)
    if is_known and not present.size:
        return np.full(values.size, np.datetime64("NaT"), dtype="datetime64[us]")
    if not is_text or not (is_known or looks_like_dates(present.tolist())):
        if is_known:
            raise DataError(f"{label} held dates in training, now values of type {series.dtype}")
        return None
    return read_dates(values.tolist(), present.size, label, is_known=is_known)


def _without_zone(value: Any) -> Any:
    return value.replace(tzinfo=None) if isinstance(value, datetime) else value


def _all_sparse(frame: Any) -> bool:
    """Say whether every column of a pandas frame is sparse with zeros left out."""
    dtypes = list(frame.dtypes)
    return bool(dtypes) and all(
        type(dtype).__name__ == "SparseDtype" and dtype.fill_value == 0 for dtype in dtypes
    )


def _read_column(series: Any, label: str) -> tuple[npt.NDArray[Any], Levels]:
    """Return one column as numbers (missing: NaN) and its levels if it holds categories."""
    import narwhals as nw

    dtype = series.dtype
    values = series.to_numpy()
    missing = series.is_null().to_numpy() if series.null_count() else None
    if dtype in (nw.String, nw.Categorical, nw.Enum):
        return _codes_of(values, missing)
    if dtype.is_numeric() or dtype == nw.Boolean or values.dtype.kind in "fiub":
        if missing is None and values.dtype.kind in "fiub":
            return values, None
        numbers = np.full(values.size, np.nan)
        present = np.ones(values.size, dtype=bool) if missing is None else ~missing
        numbers[present] = values[present].astype(np.float64)
        return numbers, None
    if dtype not in (nw.Object, nw.Unknown) or values.dtype.kind != "O":
        raise NonNumericError(
            f"{label} holds values of type {dtype}: turn it into numbers or categories, or drop it"
        )
    present = values if missing is None else values[~missing]
    if present.size and all(isinstance(value, str) for value in present):
        return _codes_of(values, missing)
    # numbers_of_objects names columns by index, but here it gets a single column.
    return numbers_of_objects(values.reshape(-1, 1), lambda _: label)[:, 0], None


def _codes_of(
    values: npt.NDArray[Any], missing: npt.NDArray[np.bool_] | None
) -> tuple[npt.NDArray[Any], Levels]:
    """Return category codes (N,), NaN where missing, and the sorted levels that occur."""
    present = values if missing is None else values[~missing]
    texts = [str(value) for value in present.tolist()]
    levels = tuple(sorted(set(texts)))
    if not levels:  # all are missing: nothing says that they are categories
        return np.full(values.size, np.nan), None
    code = {level: k for k, level in enumerate(levels)}
    codes = np.fromiter((code[text] for text in texts), dtype=np.int64, count=len(texts))
    if missing is None:
        return codes, levels
    full = np.full(values.size, np.nan)
    full[~missing] = codes
    return full, levels
