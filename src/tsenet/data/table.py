"""Any table, dense or sparse, with names: the one form in which data enters tsenet."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from tsenet.data.columns import (
    RESHAPE,
    Labeller,
    column_labeller,
    numbers_of_objects,
    refuse_non_finite,
)
from tsenet.data.frames import Levels, frame_names, frame_values, is_frame
from tsenet.data.rows import canonical_csr
from tsenet.errors import DataError, NonNumericError

__all__ = ["Table"]


@dataclass(frozen=True, eq=False)
class Table:
    """N rows of V named columns of finite numbers; made with :meth:`of`.

    Attributes
    ----------
    values : ndarray or scipy.sparse.csr_array, shape (N, V)
        Real numbers, integers or booleans; never complex, never objects. Sparse values are
        sorted, without duplicates and without stored zeros. The memory may be the caller's.
    names : tuple of str, length V
        Unique. ``x0``, ``x1``, ... when the data came without names.
    levels : tuple of (tuple of str, or None), length V
        For a column of categories, the levels that its codes 0..k-1 stand for; else None.
    named : bool
        Whether the names came with the data. Only such names are compared between tables.
    """

    values: Any
    names: tuple[str, ...]
    levels: tuple[Levels, ...]
    named: bool = True

    @classmethod
    def of(cls, X: Any, names: Sequence[str] | None = None) -> Table:
        """Make a table of almost anything, without copying where possible and never densifying.

        Parameters
        ----------
        X : array-like, sparse matrix, dataframe or Table
            numpy array, list of lists, anything with ``__array__``; any scipy sparse format with
            any index type (unsorted or duplicate entries are put right in a copy); pandas,
            polars, pyarrow and other dataframes that narwhals knows. String and categorical
            dataframe columns become categories.
        names : sequence of str, optional
            Names for the columns; default: those of the dataframe, else ``x0``, ``x1``, ...

        Raises
        ------
        DataError
            Naming the column and the count: NaN or infinity, values that are not numbers,
            duplicate names; or for an empty, complex, ragged, 1-D or 3-D input.
        """
        given = None if names is None else tuple(names)
        if isinstance(X, Table):
            return X if given is None else _checked(X.values, given, X.levels)
        if sp.issparse(X):
            return _checked(_sparse_values(X), given, None)
        if is_frame(X):
            return _of_frame(X, given)
        return _checked(_dense_values(X, column_labeller(given)), given, None)

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
        """Return how messages call a column: by name and index, or by index alone."""
        return column_labeller(self.names if self.named else None)(column)

    def take(self, rows: npt.ArrayLike | slice) -> Table:
        """Return the chosen rows (slice, indices or boolean mask), in the order asked for."""
        chosen = rows if isinstance(rows, slice) else np.asarray(rows)
        if isinstance(chosen, np.ndarray) and chosen.size == 0 and chosen.dtype != bool:
            chosen = chosen.astype(np.intp)
        return Table(self.values[chosen], self.names, self.levels, self.named)

    def validate(self) -> None:
        """Check everything this class promises; raise a DataError that says what is broken."""
        if self.values.ndim != 2 or self.values.dtype.kind not in "fiub":
            raise DataError(f"Table: values must be 2-D numbers, got {self.values.dtype}")
        if len(self.levels) != self.n_columns:
            raise DataError(f"Table: {len(self.levels)} levels for {self.n_columns} columns")
        _check_names(self.names, self.n_columns)
        if self.is_sparse:
            fresh = _fresh_csr(self.values)
            if canonical_csr(fresh) is not fresh:
                raise DataError("Table: sparse values must be sorted, unique and non-zero")
        refuse_non_finite(self.values, self.label)
        for j, levels in enumerate(self.levels):
            if levels is not None and not _are_codes(self.values[:, j], len(levels)):
                raise DataError(f"Table: {self.label(j)} has codes outside its levels")

    def __repr__(self) -> str:
        rows = f"{self.n_rows} rows × {self.n_columns} columns"
        kind = f"sparse {self.values.dtype}, nnz {self.values.nnz}" if self.is_sparse else ""
        n_categories = sum(levels is not None for levels in self.levels)
        categories = f", {n_categories} of categories" if n_categories else ""
        return f"Table({rows}, {kind or f'dense {self.values.dtype}'}{categories})"

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Table):
            return NotImplemented
        if (
            self.is_sparse != other.is_sparse
            or self.shape != other.shape
            or self.values.dtype != other.values.dtype
            or (self.names, self.levels) != (other.names, other.levels)
            or self.named != other.named
        ):
            return False
        if not self.is_sparse:
            return bool(np.array_equal(self.values, other.values))
        parts = ("indptr", "indices", "data")
        return all(
            np.array_equal(getattr(self.values, part), getattr(other.values, part))
            for part in parts
        )

    __hash__ = None  # type: ignore[assignment]  # holds arrays; Python spells "unhashable" so


def _checked(
    values: Any, names: tuple[str, ...] | None, levels: tuple[Levels, ...] | None
) -> Table:
    """Make the table after the checks that all kinds of input share."""
    n_rows, n_columns = values.shape
    if n_rows == 0:
        raise DataError(
            f"Found array with 0 sample(s) (shape=(0, {n_columns})) while a minimum of 1 "
            "is required."
        )
    if n_columns == 0:
        raise DataError(
            f"Found array with 0 feature(s) (shape=({n_rows}, 0)) while a minimum of 1 is required."
        )
    if names is not None:
        _check_names(names, n_columns)
    refuse_non_finite(values, column_labeller(names))
    return Table(
        values,
        tuple(f"x{j}" for j in range(n_columns)) if names is None else names,
        (None,) * n_columns if levels is None else levels,
        names is not None,
    )


def _check_names(names: tuple[str, ...], n_columns: int) -> None:
    if len(names) != n_columns:
        raise DataError(f"{len(names)} names were given for {n_columns} columns")
    for j, name in enumerate(names):
        if not isinstance(name, str):
            raise DataError(f"the name of column {j} must be a string, got {name!r}")
    if len(set(names)) < n_columns:
        twice = [(name, count) for name, count in Counter(names).items() if count > 1]
        shown = ", ".join(f"{name!r} ({count} times)" for name, count in twice[:5])
        more = f" and {len(twice) - 5} more" if len(twice) > 5 else ""
        raise DataError(f"duplicate column names: {shown}{more}; give each column its own name")


def _of_frame(frame: Any, names: tuple[str, ...] | None) -> Table:
    own = frame_names(frame)
    if names is None:
        names = own
    if names is not None:
        # Before reading: narwhals would refuse duplicate names with an error of its own.
        _check_names(names, int(frame.shape[1]))
    if 0 in frame.shape:
        return _checked(np.empty(frame.shape), names, None)
    values, levels = frame_values(frame, names)
    if sp.issparse(values):
        values = _sparse_values(values)
    elif values.dtype == np.float16:
        values = values.astype(np.float32)
    return _checked(values, names, levels)


def _fresh_csr(matrix: Any) -> Any:
    """Return a csr_array over the same arrays, trusting none of the caller's flags."""
    csr = sp.csr_array(matrix)
    indices, indptr = csr.indices, csr.indptr
    if indices.dtype != np.int32 and max(csr.nnz, *csr.shape) <= np.iinfo(np.int32).max:
        indices, indptr = indices.astype(np.int32), indptr.astype(np.int32)
    return sp.csr_array((csr.data, indices, indptr), shape=csr.shape)


def _sparse_values(matrix: Any) -> Any:
    """Return the caller's sparse matrix as a canonical csr_array."""
    if matrix.ndim != 2:
        raise DataError(f"Expected a 2-D sparse matrix, got {matrix.ndim}-D. {RESHAPE}")
    if matrix.dtype.kind == "c":
        raise DataError("Complex data not supported: the sparse matrix is complex")
    csr = _fresh_csr(matrix)
    if csr.dtype.kind not in "fiub":
        raise NonNumericError(f"a sparse matrix of {csr.dtype} does not hold numbers: convert it")
    if csr.dtype == np.longdouble and csr.dtype.itemsize > 8:
        csr = csr.astype(np.float64)
    return canonical_csr(csr)


def _dense_values(data: Any, label: Labeller) -> npt.NDArray[Any]:
    """Return the caller's array-like as a 2-D array of numbers."""
    if isinstance(data, np.ma.MaskedArray):
        n_masked = int(np.count_nonzero(data.mask))
        if n_masked:
            raise DataError(f"the masked array hides {n_masked} values (NaN): fill them in first")
        data = data.data
    try:
        array = np.asarray(data)
    except ValueError as error:
        raise DataError(f"the rows cannot be made into one table: {error}") from error
    if array.dtype.kind == "c":
        raise DataError("Complex data not supported: give real and imaginary parts as columns")
    if array.ndim < 2:
        raise DataError(f"Expected a 2-D array, got a {array.ndim}-D array instead. {RESHAPE}")
    if array.ndim > 2:
        raise DataError(f"Found array with dim {array.ndim}, while dim <= 2 is required.")
    if array.dtype.kind == "O":
        return numbers_of_objects(array, label)
    if array.dtype.kind not in "fiub":
        raise NonNumericError(
            f"an array of {array.dtype} does not hold numbers: convert it, or give categories as "
            "string columns of a pandas or polars dataframe"
        )
    if array.dtype == np.float16:
        return array.astype(np.float32)
    if array.dtype.kind == "f" and array.dtype.itemsize > 8:
        return array.astype(np.float64)
    return array.astype(array.dtype.newbyteorder("="), copy=False)


def _are_codes(column: Any, n_levels: int) -> bool:
    """Say whether every entry of a column is one of 0, 1, ..., n_levels - 1."""
    codes = column.data if sp.issparse(column) else column
    return bool(np.all((codes >= 0) & (codes < n_levels) & (codes == np.floor(codes))))
