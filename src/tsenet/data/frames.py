"""Read dataframes of pandas, polars, pyarrow and other libraries as numbers and category levels."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy.sparse import issparse

from tsenet.data.columns import RESHAPE, column_labeller, numbers_of_objects
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


def frame_values(frame: Any, names: Sequence[str] | None) -> tuple[Any, tuple[Levels, ...]]:
    """Return the values of a dataframe and the category levels of its columns.

    Parameters
    ----------
    frame : eager dataframe
    names : sequence of str or None
        Unique names as returned by :func:`frame_names`.

    Returns
    -------
    values : ndarray (N, V), or a scipy coo_matrix for a pandas frame of sparse columns
        Missing entries are NaN. A category column holds the codes 0..k-1 of its levels.
    levels : tuple of (tuple of str, or None), length V
        The levels that occur, sorted; None for a numeric column. Booleans are numbers 0 and 1.
    """
    import narwhals as nw

    if nw.dependencies.is_pandas_dataframe(frame):
        if _all_sparse(frame):
            return frame.sparse.to_coo(), (None,) * frame.shape[1]
        unique = [str(j) for j in range(frame.shape[1])] if names is None else list(names)
        if list(frame.columns) != unique:
            # narwhals needs unique string labels; set_axis does not copy the data.
            frame = frame.set_axis(unique, axis=1)
    table = nw.from_native(frame, eager_only=True)
    if all(dtype.is_integer() or dtype.is_float() for dtype in table.schema.values()):
        values = table.to_numpy()
        if values.dtype.kind in "fiu":
            return values, (None,) * values.shape[1]
    label = column_labeller(names)
    columns, levels = [], []
    for j, name in enumerate(table.columns):
        column, found = _read_column(table.get_column(name), label(j))
        columns.append(column)
        levels.append(found)
    values = np.empty(table.shape, dtype=np.result_type(*columns), order="F")
    for j, column in enumerate(columns):
        values[:, j] = column
    return values, tuple(levels)


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
