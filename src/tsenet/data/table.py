"""The table: dense or sparse values with column names, checked once at the border of the library."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
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
from tsenet.data.frames import Levels, frame_names, frame_values, is_frame
from tsenet.data.rows import canonical_csr, checked_csr
from tsenet.errors import DataError, NonNumericError

__all__ = ["Table"]


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
            own_names = own_names or frame_names(X)
            if own_names is not None:  # before narwhals raises its own error for duplicate names
                _check_names(own_names, int(X.shape[1]))
            values = np.empty(X.shape)
            if values.size:
                training_columns = None if columns is None else set(columns)
                values, own_names, levels = frame_values(X, own_names, training_columns)
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
