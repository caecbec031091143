"""The table: dense or sparse values with column names, checked once at the border of the library.

Of a dataframe, categories become codes, and dates a few columns of numbers: a column ``sold`` of dates gives
``sold: year`` (with its fraction), ``sold: month`` (1 to 12), ``sold: weekday`` (1 for Monday) and, if there are times
of day, ``sold: hour``. The column names of a model therefore show which columns of new rows hold dates.
"""

from __future__ import annotations

import re
import warnings
from collections import Counter
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from datetime import date, datetime
from functools import lru_cache
from typing import Any

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from tsenet.data.columns import (
    RESHAPE,
    Labeller,
    column_labeller,
    equal_fields,
    numbers_of_objects,
    quoted,
    refuse_non_finite,
)
from tsenet.data.rows import canonical_csr, checked_csr
from tsenet.errors import DataError, NonNumericError

__all__ = ["Levels", "Table", "date_columns", "is_frame"]

Levels = tuple[str, ...] | None
Times = npt.NDArray[np.datetime64]

_DATE_PARTS = ("year", "month", "weekday", "hour")
_DAYS_PER_YEAR = 365.2425
# Year, month and day in ISO 8601 order, separated by hyphens or slashes.
_DATE = re.compile(r"\s*(\d{4})([-/])(\d{1,2})\2(\d{1,2})(?!\d)")
# Smallest share of dates among the texts of a column of dates.
_MIN_DATE_SHARE = 0.9


@dataclass(frozen=True, eq=False)
class Table:
    """N rows of V named columns of numbers; made with :meth:`of`.

    Attributes
    ----------
    values : ndarray or scipy.sparse.csr_array, shape (N, V)
        Floats, integers or booleans. Sparse values are sorted, without duplicates and without
        stored zeros. Dense values may be NaN, missing, if they were asked to be kept. The memory may be shared with
        the caller's data.
    names : tuple of str, length V
        Unique column names; ``x0``, ``x1``, ... if the data had none.
    levels : tuple of (tuple of str, or None), length V
        For a column of categories, the levels that its codes 0, 1, ... stand for; None for a
        numeric column.
    named : bool
        Whether the data had names. Only such names are compared between tables.

    Examples
    --------
    >>> import pandas as pd
    >>> from tsenet import Table
    >>> frame = pd.DataFrame({"size": [1.5, 2.5], "colour": ["red", "blue"]})
    >>> table = Table.of(frame)
    >>> table
    Table(2 rows × 2 columns, dense float64, 1 of categories)
    >>> table.levels
    (None, ('blue', 'red'))
    >>> table.values.tolist()
    [[1.5, 1.0], [2.5, 0.0]]
    """

    values: Any
    names: tuple[str, ...]
    levels: tuple[Levels, ...]
    named: bool = True

    @classmethod
    def of(
        cls,
        X: Any,
        names: Sequence[str] | None = None,
        *,
        missing: bool = False,
        columns: Sequence[str] | None = None,
    ) -> Table:
        """Make a table of an array, a sparse matrix or a dataframe, after checking it.

        Data are copied only where necessary, and sparse data stay sparse.

        Parameters
        ----------
        X : array-like, sparse matrix, dataframe or Table
            A numpy array, a list of lists or any object with ``__array__``; a scipy sparse matrix
            in any format (unsorted and duplicate entries are corrected in a copy); or a dataframe
            of pandas, polars, pyarrow or another library that narwhals supports. String and
            categorical columns of a dataframe become categories. A column of dates, or of texts most of which are
            dates such as ``2024-05-31``, becomes several columns of numbers: ``sold: year``, ``sold: month``,
            ``sold: weekday`` and, if there are times of day, ``sold: hour``.
        names : sequence of str, default=None
            Column names. None takes those of the dataframe, or ``x0``, ``x1``, ...
        missing : bool, default=False
            Whether to keep missing values of dense data, as NaN, instead of refusing them.
        columns : sequence of str, default=None
            Names of the columns of the training table, for new rows: only what were dates then are dates now, and
            what cannot be read as one is missing.

        Returns
        -------
        Table

        Raises
        ------
        DataError
            For NaN or infinity, values that are not numbers, and duplicate names, naming the column
            and the count; for empty, complex, ragged, 1-D or 3-D data.

        Examples
        --------
        >>> import scipy.sparse as sp
        >>> from tsenet import Table
        >>> Table.of([[1, 2], [3, 4]], names=["a", "b"]).names
        ('a', 'b')
        >>> Table.of(sp.eye_array(3))
        Table(3 rows × 3 columns, sparse float64, nnz 3)
        >>> Table.of([[1.0, float("nan")]])
        Traceback (most recent call last):
            ...
        tsenet.errors.DataError: column 1 has 1 NaN (missing) value: fill these in or drop ...
        """
        own_names = None if names is None else tuple(names)
        levels: tuple[Levels, ...] | None = None
        if isinstance(X, Table):
            levels, values = X.levels, checked_csr(X.values) if X.is_sparse else X.values
            if own_names is None:
                refuse_non_finite(X.values, X.label, missing)
                return X
        elif sp.issparse(X):
            values = canonical_csr(_native_numbers(checked_csr(X)))
        elif is_frame(X):
            own_names = own_names or _frame_names(X)
            if own_names is not None:  # before narwhals raises its own error for duplicate names
                _check_names(own_names, int(X.shape[1]))
            values = np.empty(X.shape)
            if values.size:
                training = None if columns is None else set(columns)
                values, own_names, levels = _frame_values(X, own_names, training)
                if sp.issparse(values):
                    values = canonical_csr(checked_csr(values))
                values = _native_numbers(values)
        else:
            values = _dense_values(X, column_labeller(own_names))
        n_rows, n_columns = values.shape
        if 0 in values.shape:
            what = "sample" if n_rows == 0 else "feature"
            raise DataError(
                f"Found array with 0 {what}(s) (shape={values.shape}) while a minimum of 1 is required."
            )
        if own_names is not None:
            _check_names(own_names, n_columns)
        refuse_non_finite(values, column_labeller(own_names), missing)
        return cls(
            values,
            _default_names(n_columns) if own_names is None else own_names,
            (None,) * n_columns if levels is None else levels,
            own_names is not None,
        )

    @property
    def shape(self) -> tuple[int, int]:
        """``(n_rows, n_columns)``."""
        return int(self.values.shape[0]), int(self.values.shape[1])

    @property
    def n_rows(self) -> int:
        """Number of rows N."""
        return self.shape[0]

    @property
    def n_columns(self) -> int:
        """Number of columns V."""
        return self.shape[1]

    @property
    def is_sparse(self) -> bool:
        """Whether `values` is a csr_array."""
        return bool(sp.issparse(self.values))

    def label(self, column: int) -> str:
        """Return how error messages name a column: by name and index, or by index alone.

        Parameters
        ----------
        column : int
            Index of the column.

        Returns
        -------
        str

        Examples
        --------
        >>> from tsenet import Table
        >>> Table.of([[1, 2]], names=["a", "b"]).label(1)
        "column 'b' (index 1)"
        """
        return column_labeller(self.names if self.named else None)(column)

    def take(self, rows: npt.ArrayLike | slice) -> Table:
        """Return some of the rows, in the given order.

        Parameters
        ----------
        rows : slice, array of int, or boolean mask of shape (n_rows,)
            Which rows, as in numpy indexing.

        Returns
        -------
        Table

        Examples
        --------
        >>> from tsenet import Table
        >>> Table.of([[1], [2], [3]]).take([2, 0]).values.tolist()
        [[3], [1]]
        """
        chosen = rows if isinstance(rows, slice) else np.asarray(rows)
        if isinstance(chosen, np.ndarray) and chosen.size == 0 and chosen.dtype != bool:
            chosen = chosen.astype(np.intp)
        return Table(self.values[chosen], self.names, self.levels, self.named)

    def __repr__(self) -> str:
        rows = f"{self.n_rows} rows × {self.n_columns} columns"
        kind = f"sparse {self.values.dtype}, nnz {self.values.nnz}" if self.is_sparse else ""
        n_categories = sum(levels is not None for levels in self.levels)
        categories = f", {n_categories} of categories" if n_categories else ""
        return f"Table({rows}, {kind or f'dense {self.values.dtype}'}{categories})"

    __eq__ = equal_fields
    __hash__ = None  # type: ignore[assignment]  # holds arrays, so it is not hashable


@lru_cache(maxsize=4)
def _default_names(n_columns: int) -> tuple[str, ...]:
    """``x0``, ``x1``, …; made once, since one row of a wide table takes less time than its names."""
    return tuple(f"x{j}" for j in range(n_columns))


def _check_names(names: tuple[str, ...], n_columns: int) -> None:
    if len(names) != n_columns:
        raise DataError(f"{len(names)} names were given for {n_columns} columns")
    for j, name in enumerate(names):
        if not isinstance(name, str):
            raise DataError(f"the name of column {j} must be a string, got {quoted(name)}")
    if len(set(names)) < n_columns:
        twice = [(name, count) for name, count in Counter(names).items() if count > 1]
        shown = ", ".join(f"{quoted(name)} ({count} times)" for name, count in twice[:5])
        more = f" and {len(twice) - 5} more" if len(twice) > 5 else ""
        raise DataError(f"duplicate column names: {shown}{more}; give each column its own name")


def _dense_values(data: Any, label: Labeller) -> npt.NDArray[Any]:
    """Return the caller's array-like as a 2-D array of numbers."""
    if isinstance(data, np.ma.MaskedArray) and data.mask.any():
        data = np.ma.filled(data.astype(np.float64), np.nan)
    try:
        array = np.asarray(data)
    except ValueError as error:
        raise DataError(f"the rows cannot be made into one table: {error}") from error
    if array.ndim < 2:
        raise DataError(f"Expected a 2-D array, got a {array.ndim}-D array instead. {RESHAPE}")
    if array.ndim > 2:
        raise DataError(f"Found array with dim {array.ndim}, while dim <= 2 is required.")
    return numbers_of_objects(array, label) if array.dtype == object else _native_numbers(array)


def _native_numbers(values: Any) -> Any:
    """Return an array or csr_array of numbers in a type that numba and torch know."""
    if values.dtype.kind == "c":
        raise DataError("Complex data not supported: give real and imaginary parts as columns")
    if values.dtype.kind not in "fiub":
        raise NonNumericError(
            f"an array of {values.dtype} does not hold numbers: convert it, or give categories as "
            "string columns of a pandas or polars dataframe"
        )
    if values.dtype == np.float16:
        return values.astype(np.float32)
    if values.dtype.kind == "f" and values.dtype.itemsize > 8:
        return values.astype(np.float64)
    return values.astype(values.dtype.newbyteorder("="), copy=False)


# ---- dataframes


def is_frame(data: object) -> bool:
    """Return whether `data` is an eager dataframe; raise a DataError for a series or a lazy frame."""
    if isinstance(data, np.ndarray | list | tuple) or sp.issparse(data):
        return False  # narwhals takes a while to load
    import narwhals as nw

    if nw.dependencies.is_into_series(data):
        kind = type(data).__name__
        raise DataError(f"Expected a table, got a {kind}, which is one-dimensional. {RESHAPE}")
    if nw.dependencies.is_polars_lazyframe(data):
        raise DataError("Expected a table, got a polars LazyFrame: call .collect() on it first")
    return nw.dependencies.is_into_dataframe(data)


def _frame_names(frame: Any) -> tuple[str, ...] | None:
    """Return the column names as strings, or None for pandas' default labels 0, 1, 2, ..."""
    labels = list(getattr(frame, "column_names", frame.columns))
    integers = all(isinstance(label, int | np.integer) for label in labels)
    if integers and labels == list(range(len(labels))):
        return None
    return tuple(str(label) for label in labels)


def _frame_values(
    frame: Any, names: tuple[str, ...] | None, training: Collection[str] | None
) -> tuple[Any, tuple[str, ...] | None, tuple[Levels, ...]]:
    """Return the values of a dataframe, the names of its columns and their category levels.

    Parameters
    ----------
    frame : eager dataframe
    names : tuple of str or None
        Unique names as returned by :func:`_frame_names`.
    training : collection of str or None
        Names of the columns of the training table, which show what holds dates. None: columns of dates, and columns
        of texts most of which are dates.

    Returns
    -------
    values : ndarray (N, V), or a scipy coo_matrix for a pandas frame of sparse columns
        NaN where missing. A category column holds the codes 0..k-1 of its levels.
    names : tuple of str, length V, or None
        As passed in, except that a column of dates has become several.
    levels : tuple of (tuple of str, or None), length V
        The levels that occur, sorted; None for a numeric column. Booleans are numbers 0 and 1.
    """
    import narwhals as nw

    own_names = names or _default_names(int(frame.shape[1]))
    if nw.dependencies.is_pandas_dataframe(frame):
        if all(_is_sparse(dtype) for dtype in frame.dtypes):
            return frame.sparse.to_coo(), names, (None,) * frame.shape[1]
        # narwhals needs unique string labels; set_axis does not copy the data.
        frame = frame.set_axis(own_names, axis=1)
    table = nw.from_native(frame, eager_only=True)
    label = column_labeller(names)
    dates = None if training is None else date_columns(own_names, training)
    if not dates and all(dtype.is_integer() or dtype.is_float() for dtype in table.schema.values()):
        values = table.to_numpy()
        if values.dtype.kind in "fiu":
            return values, names, (None,) * values.shape[1]
    columns: dict[str, tuple[npt.NDArray[Any], Levels]] = {}
    for j, name in enumerate(own_names):
        series = table.get_column(table.columns[j])
        times = _times_of(series, label(j), None if dates is None else name in dates)
        if times is None:
            columns[name] = _numbers_or_codes(series, label(j))
            continue
        for part, numbers in _numbers_of_dates(name, times, training).items():
            if part in own_names:
                raise DataError(f"{label(j)} holds dates, which become {part!r}: rename this one")
            columns[part] = numbers, None
    arrays = [array for array, _ in columns.values()]
    values = np.empty((arrays[0].size, len(arrays)), dtype=np.result_type(*arrays), order="F")
    for j, array in enumerate(arrays):
        values[:, j] = array
    converted = tuple(columns)
    levels = tuple(levels for _, levels in columns.values())
    return values, names if converted == own_names else converted, levels


def _is_sparse(dtype: Any) -> bool:
    """Return whether a pandas column is sparse with zeros left out."""
    return type(dtype).__name__ == "SparseDtype" and dtype.fill_value == 0


def _numbers_or_codes(series: Any, label: str) -> tuple[npt.NDArray[Any], Levels]:
    """Return a column as numbers, NaN where missing, and its levels if it holds categories."""
    import narwhals as nw
    import pandas as pd

    dtype, values = series.dtype, series.to_numpy()
    known = ~series.is_null().to_numpy()
    is_category = dtype in (nw.Categorical, nw.Enum)
    if not is_category and (
        dtype.is_numeric() or dtype == nw.Boolean or values.dtype.kind in "fiub"
    ):
        if values.dtype.kind in "fiub" and known.all():
            return values, None
        numbers = np.full(values.size, np.nan)
        numbers[known] = values[known].astype(np.float64)
        return numbers, None
    if dtype in (nw.Datetime, nw.Date):
        raise NonNumericError(f"{label} holds dates, but did not in training: drop it")
    if not is_category and dtype not in (nw.String, nw.Object, nw.Unknown):
        raise NonNumericError(
            f"{label} holds values of type {dtype}: turn it into numbers or categories, or drop it"
        )
    present = [value for value, is_known in zip(values, known, strict=True) if is_known]
    if not is_category and not all(isinstance(value, str) for value in present):
        # numbers_of_objects names columns by index, but here it gets a single column.
        objects = np.array(values, dtype=object)
        objects[~known] = None
        return numbers_of_objects(objects.reshape(-1, 1), lambda _: label)[:, 0], None
    if not present:  # nothing shows that they are categories
        return np.full(values.size, np.nan), None
    codes, levels = pd.factorize(np.array(list(map(str, present)), dtype=object), sort=True)
    if len(present) == values.size:
        return codes.astype(np.int64), tuple(levels)
    numbers = np.full(values.size, np.nan)
    numbers[known] = codes
    return numbers, tuple(levels)


# ---- dates


def date_columns(names: Iterable[str], training: Collection[str]) -> set[str]:
    """Return which of the names were columns of dates in a training table with these columns."""
    known = set(training)
    return {name for name in names if name not in known and f"{name}: year" in known}


def _times_of(series: Any, label: str, was_date: bool | None) -> Times | None:
    """Return the times of a column of dates, NaT where missing; None if it holds something else.

    ``was_date``: whether it held dates in training; None in training itself.
    """
    import narwhals as nw

    if was_date is False:
        return None
    dtype = series.dtype
    if dtype in (nw.Datetime, nw.Date):
        if getattr(dtype, "time_zone", None) is not None:
            series = series.dt.replace_time_zone(None)
        return np.asarray(series.to_numpy(), dtype="datetime64[us]")
    present = series.drop_nulls().to_numpy()
    if was_date and (not present.size or (present.dtype.kind == "f" and np.isnan(present).all())):
        return np.full(len(series), np.datetime64("NaT"), dtype="datetime64[us]")
    if dtype in (nw.String, nw.Object, nw.Unknown) and present.size:
        values = np.array(series.to_numpy(), dtype=object)
        values[series.is_null().to_numpy()] = None
        if all(isinstance(value, date) for value in present):
            naive = [v.replace(tzinfo=None) if isinstance(v, datetime) else v for v in values]
            return np.array(naive, dtype="datetime64[us]")
        if all(isinstance(value, str) for value in present):
            return _times_of_texts(values, present, label, bool(was_date))
    if was_date:
        raise DataError(f"{label} held dates in training, now values such as {present[0]!r}")
    return None


def _times_of_texts(
    values: npt.NDArray[Any], present: npt.NDArray[Any], label: str, was_date: bool
) -> Times | None:
    """Return the times of texts; in training only if at least nine of ten are dates."""
    if not was_date and not any(map(_DATE.match, present[:10])):
        return None  # the usual case, without parsing all
    times = np.array([_parse_date(text) for text in values], dtype="datetime64[us]")
    n_wrong = present.size - int(np.count_nonzero(~np.isnat(times)))
    if not was_date and n_wrong > (1 - _MIN_DATE_SHARE) * present.size:
        return None
    if n_wrong or not was_date:
        wrong = f"; {n_wrong:,} of {present.size:,} are not dates and count as missing"
        message = f"{label} holds dates: they become numbers (year, month, weekday)"
        warnings.warn(message + (wrong if n_wrong else ""), UserWarning, stacklevel=3)
    return times


@lru_cache(maxsize=1 << 16)
def _parse_date(text: str | None) -> datetime | None:
    """Read a text such as ``2024-05-31`` or ``2024/5/31 18:30``; time zones are ignored."""
    match = _DATE.match(text or "")
    if text is None or match is None:
        return None
    year, _, month, day = match.groups()
    try:
        iso = f"{year}-{month:>02}-{day:>02}{text[match.end() :].rstrip()}"
        return datetime.fromisoformat(iso).replace(tzinfo=None)
    except ValueError:
        return None


def _numbers_of_dates(
    name: str, times: Times, training: Collection[str] | None
) -> dict[str, npt.NDArray[np.float64]]:
    """Return the numbers of a column of dates by name, NaN where missing; hours as in training, or if there are any."""
    import pandas as pd

    when = pd.DatetimeIndex(times)
    days = (when - pd.Timestamp("1970-01-01")) / pd.Timedelta(days=1)
    numbers = {
        "year": 1970 + days / _DAYS_PER_YEAR,
        "month": when.month,
        "weekday": when.day_of_week + 1,
        "hour": (when - when.normalize()) / pd.Timedelta(hours=1),
    }
    if training is not None:
        parts = [part for part in _DATE_PARTS if f"{name}: {part}" in training]
    else:
        has_times = (numbers["hour"] > 0).any()
        parts = list(_DATE_PARTS if has_times else _DATE_PARTS[:3])
    return {f"{name}: {part}": np.asarray(numbers[part], np.float64) for part in parts}
