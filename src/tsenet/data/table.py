"""The table: dense or sparse values with column names, checked once at the border of the library.

Of a dataframe, categories become codes, and dates a few columns of numbers (:mod:`tsenet.data.dates`).
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass, fields
from functools import lru_cache
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from tsenet.data.dates import date_columns, days_of, numbers_of_days
from tsenet.errors import DataError, NonNumericError, count_of, quoted

if TYPE_CHECKING:
    import pandas as pd

Levels = tuple[str, ...] | None
Labeller = Callable[[int], str]

RESHAPE = (
    "Reshape your data either using array.reshape(-1, 1) if it is one column "
    "or array.reshape(1, -1) if it is one row."
)
MAX_COLUMNS = int(np.iinfo(np.int32).max)
_COMPRESSED = {"csr": sp.csr_array, "csc": sp.csc_array, "bsr": sp.bsr_array}
# Half of a character beyond U+FFFF, which no encoding can write.
_SURROGATE = re.compile(r"[\ud800-\udfff]")


# ---- texts


def surrogate_in(text: str) -> str:
    """Return the end of a message on a text that no encoding can write."""
    return (
        f"holds a lone surrogate, which is no character, in {quoted(str(text))}: correct this text"
    )


def has_surrogate(text: str) -> bool:
    """Return whether a text holds a lone surrogate, which neither UTF-8 nor a model file can hold."""
    return not text.isascii() and _SURROGATE.search(text) is not None


# ---- arrays


def number_of(value: object) -> float:
    """Return the number that a value is or spells; NaN if it is none."""
    try:
        return float(value)  # type: ignore[arg-type]  # what cannot be converted is the point
    except (TypeError, ValueError, OverflowError):
        return math.nan


def numbers_of(cells: pd.Series) -> tuple[pd.Series, pd.Series]:
    """Return cells as floats (NaN if missing or not numeric), and the non-numeric cells."""
    try:
        numbers = cells.astype(np.float64)  # the usual case
    except (TypeError, ValueError, OverflowError):
        numbers = cells.map(number_of).astype(np.float64)
    return numbers, cells[numbers.isna() & cells.notna()]


def exact_array(values: Any, dtype: type[np.generic], name: str) -> npt.NDArray[Any]:
    """Return a copy of the values as an array of another type.

    Raises
    ------
    ValueError
        If the type cannot hold a value: 2³² + 3 would become 3 in 32 bits.
    """
    original = np.asarray(values)
    if original.dtype == dtype:
        return original.copy()
    with np.errstate(all="ignore"):
        array: npt.NDArray[Any] = original.astype(dtype)
    kinds = original.dtype.kind, array.dtype.kind
    if kinds[1] != "f" and original.size and (kinds[0] not in "biuf" or (array != original).any()):
        raise ValueError(f"{name} holds values that {np.dtype(dtype)} cannot hold")
    return array


def equal_fields(one: Any, other: object) -> Any:
    """Compare two dataclasses that may hold arrays and csr_arrays: the ``__eq__`` of such a class.

    Missing values are equal, and arrays of different types are not.
    """
    if not isinstance(other, type(one)):
        return NotImplemented
    pairs = ((getattr(one, part.name), getattr(other, part.name)) for part in fields(one))
    return all(_equal(a, b) for a, b in pairs)


def _equal(one: Any, other: Any) -> bool:
    if type(one) is not type(other) or getattr(one, "dtype", None) != getattr(other, "dtype", None):
        return False
    if hasattr(one, "indptr"):
        parts = ("shape", "indptr", "indices", "data")
        return all(_equal(getattr(one, part), getattr(other, part)) for part in parts)
    if isinstance(one, np.ndarray):
        return bool(np.array_equal(one, other, equal_nan=one.dtype.kind == "f"))
    return bool(one == other)


# ---- the table


@dataclass(frozen=True, eq=False)
class Table:
    """N rows of V named columns of numbers; made with :meth:`of`.

    Attributes
    ----------
    values : ndarray or scipy.sparse.csr_array, shape (N, V)
        Floats, integers or booleans. Sparse values are sorted, without duplicates and without
        stored zeros. NaN in dense values is a missing value. The memory may be shared with the caller's data.
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
        cls, X: Any, names: Sequence[str] | None = None, *, columns: Sequence[str] | None = None
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
            dates such as ``2024-05-31``, becomes three columns of numbers: ``sold: year``, ``sold: month`` and
            ``sold: weekday``.
        names : sequence of str, default=None
            Column names. None takes those of the dataframe, or ``x0``, ``x1``, ...
        columns : sequence of str, default=None
            Names of the columns of the training table, for new rows: only what were dates then are dates now, and
            what cannot be read as one is missing.

        Returns
        -------
        Table

        Raises
        ------
        DataError
            For infinity, NaN in sparse data, values that are not numbers, and duplicate names, naming the column
            and the count; for empty, complex, ragged, 1-D or 3-D data.

        Examples
        --------
        >>> import scipy.sparse as sp
        >>> from tsenet import Table
        >>> Table.of([[1, 2], [3, 4]], names=["a", "b"]).names
        ('a', 'b')
        >>> Table.of(sp.eye_array(3))
        Table(3 rows × 3 columns, sparse float64, nnz 3)
        >>> Table.of([[1.0, float("inf")]])
        Traceback (most recent call last):
            ...
        tsenet.errors.DataError: column 1 has 1 infinite value: correct these or drop ...
        """
        own_names = None if names is None else tuple(map(str, names))
        levels: tuple[Levels, ...] | None = None
        if isinstance(X, Table):
            if own_names is None:
                _refuse_non_finite(X.values, X.label)
                return X
            values = X.values
            levels = X.levels
        elif sp.issparse(X):
            values = _native_numbers(canonical_csr(X))
        elif is_frame(X):
            values, own_names, levels = _frame_values(X, own_names or _frame_names(X), columns)
        else:
            values = _dense_values(X, _labeller(own_names))

        n_rows, n_columns = values.shape
        if 0 in values.shape:
            what = "sample" if n_rows == 0 else "feature"
            raise DataError(
                f"Found array with 0 {what}(s) (shape={values.shape}) while a minimum of 1 is required."
            )

        if own_names is not None:
            _check_names(own_names, n_columns)

        _refuse_non_finite(values, _labeller(own_names))
        return cls(
            values,
            default_names(n_columns) if own_names is None else own_names,
            no_levels(n_columns) if levels is None else levels,
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
        return _labeller(self.names if self.named else None)(column)

    def take(self, rows: Any) -> Table:
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
        selected = rows if isinstance(rows, slice) else np.arange(self.n_rows)[rows]
        return Table(self.values[selected], self.names, self.levels, self.named)

    def __repr__(self) -> str:
        parts = [f"{self.n_rows} rows × {self.n_columns} columns"]
        if self.is_sparse:
            parts += [f"sparse {self.values.dtype}", f"nnz {self.values.nnz}"]
        else:
            parts.append(f"dense {self.values.dtype}")

        n_categories = sum(levels is not None for levels in self.levels)
        if n_categories:
            parts.append(f"{n_categories} of categories")
        return f"Table({', '.join(parts)})"

    __eq__ = equal_fields
    __hash__ = None  # type: ignore[assignment]  # holds arrays, so it is not hashable


@lru_cache(maxsize=4)
def default_names(n_columns: int) -> tuple[str, ...]:
    """``x0``, ``x1``, …; made once, since one row of a wide table takes less time than its names."""
    return tuple(f"x{j}" for j in range(n_columns))


@lru_cache(maxsize=16)
def no_levels(n_columns: int) -> tuple[Levels, ...]:
    """The levels of columns of which none holds categories; made once, likewise."""
    return (None,) * n_columns


def _check_names(names: tuple[str, ...], n_columns: int) -> None:
    if len(names) != n_columns:
        raise DataError(f"{len(names)} names were given for {n_columns} columns")
    if len(set(names)) < n_columns:
        name, times = Counter(names).most_common(1)[0]
        raise DataError(
            f"duplicate column names: {quoted(name)} occurs {times} times; give each column its own name"
        )
    _refuse_surrogates(names, "a column name")


def _refuse_surrogates(texts: Iterable[str], where: str) -> None:
    for text in texts:
        if has_surrogate(text):
            raise DataError(f"{where} {surrogate_in(text)}")


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
    return _numbers_of_objects(array, label) if array.dtype == object else _native_numbers(array)


def _native_numbers(values: Any) -> Any:
    """Return an array or csr_array of numbers in a type that numba and torch know."""
    if values.dtype.kind == "c":
        raise DataError("Complex data not supported: give real and imaginary parts as columns")
    if values.dtype.kind not in "fiub":
        raise NonNumericError(
            f"an array of {values.dtype} does not hold numbers: convert it, or give categories as "
            "string columns of a pandas or polars dataframe"
        )
    native = values.dtype.newbyteorder("=")
    if native.kind == "f" and native.itemsize not in (4, 8):
        native = np.dtype(np.float64)
    return values.astype(native, copy=False)


def _numbers_of_objects(array: npt.NDArray[Any], label: Labeller) -> npt.NDArray[np.float64]:
    """Turn an object array (N, V) into float64; None and ``pandas.NA`` become NaN."""
    import pandas as pd

    with suppress(TypeError, ValueError, OverflowError):
        return array.astype(np.float64)

    numbers = np.empty(array.shape, dtype=np.float64)  # one at a time, to find what failed
    for j in range(array.shape[1]):
        numbers[:, j], bad = numbers_of(pd.Series(array[:, j], dtype=object))
        if len(bad):
            raise NonNumericError(
                f"{label(j)} has {count_of(len(bad), 'value')} that cannot be read as a number, such as "
                f"{quoted(bad.iloc[0])}: each argument must be a string that spells a number, or a real number. "
                "Categories can be given as string columns of a pandas or polars dataframe."
            )

    return numbers


def _labeller(names: Sequence[str] | None) -> Labeller:
    """Return the function that names column ``j`` in error messages.

    Parameters
    ----------
    names : sequence of str or None
        None if the table has no names: messages then give only the index.
    """
    if names is None:
        return lambda j: f"column {j}"
    return lambda j: f"column {quoted(names[j])} (index {j})"


def _refuse_non_finite(values: Any, label: Labeller) -> None:
    """Raise a DataError when a dense array (N, V) holds infinity, or a csr_array infinity or NaN.

    The message names the first such column, its count, and how many other columns have some.
    """
    is_dense = isinstance(values, np.ndarray)
    data = values if is_dense else values.data
    if data.dtype.kind != "f":
        return

    with np.errstate(over="ignore", invalid="ignore"):
        # A finite sum means that all values are finite, and is faster than checking each value.
        if np.isfinite(data.sum()):
            return

    bad = np.isinf(data) if is_dense else ~np.isfinite(data)
    columns = np.nonzero(bad)[1] if is_dense else values.indices[bad]
    if columns.size:
        counts = np.bincount(columns)
        j = int(columns.min())
        what = count_of(int(counts[j]), "infinite value" if is_dense else "NaN or infinite value")
        n_others = int(np.count_nonzero(counts)) - 1
        more = f" ({count_of(n_others, 'other column')} too)" if n_others else ""
        raise DataError(
            f"{label(j)} has {what}{more}: correct these or drop the rows or columns that hold them"
        )


# ---- sparse matrices


def canonical_csr(matrix: Any) -> Any:
    """Return a user's sparse matrix as a csr_array with sorted indices, without duplicates and stored zeros.

    scipy and the kernels trust index arrays: one column number outside the table would read foreign memory. So every
    index is checked.

    Parameters
    ----------
    matrix : scipy sparse matrix or array, shape (N, V)
        Any format. A csr_array is returned itself, or its arrays are shared, if nothing has to be changed.

    Raises
    ------
    DataError
        If the arrays of the matrix do not describe entries within it.
    """
    if matrix.ndim != 2:
        raise DataError(f"Expected a 2-D sparse matrix, got {matrix.ndim}-D. {RESHAPE}")
    kind = type(matrix).__name__
    if max(matrix.shape) > MAX_COLUMNS:
        raise DataError(f"the {kind} has the shape {matrix.shape}: at most {MAX_COLUMNS} a side")

    try:
        csr = matrix if is_canonical(matrix) else _checked_csr(matrix)
        csr = csr if isinstance(csr, sp.csr_array) else sp.csr_array(csr)
    except (ArithmeticError, AttributeError, LookupError, TypeError, ValueError) as error:
        raise DataError(f"the {kind} is damaged: {error}") from error

    if csr.has_canonical_format and np.count_nonzero(csr.data) == csr.nnz:
        return csr
    csr = csr.copy()
    csr.sum_duplicates()
    csr.eliminate_zeros()
    return csr


def _checked_csr(matrix: Any) -> Any:
    """Return a new csr_array of any matrix after checking its index arrays."""
    if matrix.format in _COMPRESSED:
        csr = _checked_compressed(matrix).tocsr()
    else:
        csr = _checked_coordinates(matrix).tocsr()

    index_type = np.int32 if csr.nnz <= MAX_COLUMNS else np.int64
    csr.indices = csr.indices.astype(index_type, copy=False)
    csr.indptr = csr.indptr.astype(index_type, copy=False)
    return csr


def _checked_compressed(matrix: Any) -> Any:
    """Return a csr, csc or bsr array of the same format after checking its index arrays."""
    indices = np.asarray(matrix.indices)
    indptr = np.asarray(matrix.indptr)
    if not {indices.dtype.kind, indptr.dtype.kind} <= {"i", "u"}:
        raise ValueError(f"the index arrays are of {indices.dtype} and {indptr.dtype}")
    if (indptr[1:] < indptr[:-1]).any():  # scipy looks at differences, which may overflow
        raise ValueError("indptr must not decrease")

    checked = _COMPRESSED[matrix.format]((matrix.data, indices, indptr), shape=matrix.shape)
    checked.check_format(full_check=True)
    return checked


def _checked_coordinates(matrix: Any) -> Any:
    """Return a matrix of any other format as a coo_array, which scipy checks."""
    if matrix.format == "dia":
        # scipy trusts the offsets: it would read past the end of the data
        offsets = np.asarray(matrix.offsets)
        is_inside = (offsets > -matrix.shape[0]) & (offsets < matrix.shape[1])
        diagonals = (matrix.data[is_inside], offsets[is_inside].astype(np.int32))
        matrix = sp.dia_array(diagonals, shape=matrix.shape)
    elif matrix.format == "lil":
        n_columns = [len(columns) for columns in matrix.rows]
        n_values = [len(values) for values in matrix.data]
        if n_columns != n_values:
            raise ValueError("rows and data have different lengths")

    coo = matrix.tocoo()
    return sp.coo_array((coo.data, (coo.row, coo.col)), shape=matrix.shape)


def is_canonical(matrix: Any) -> bool:
    """Return whether a matrix is a sound CSR in canonical form; on one row scipy's check takes four times as long."""
    if type(matrix) not in (sp.csr_array, sp.csr_matrix):
        return False
    data = matrix.data
    indices = matrix.indices
    indptr = matrix.indptr
    n_rows, n_columns = matrix.shape

    # Types and lengths, and rows that follow each other.
    if not indices.dtype == indptr.dtype == np.int32 or indptr.shape != (n_rows + 1,):
        return False
    if not data.shape == indices.shape == (indptr[-1],):
        return False
    if indptr[0] != 0 or (indptr[1:] < indptr[:-1]).any():
        return False

    # Columns ascend within each row, and exist.
    ascends = indices[1:] > indices[:-1]
    row_starts = indptr[(indptr > 0) & (indptr < indices.size)]
    ascends[row_starts - 1] = True  # the step from one row to the next
    in_range = indices.size == 0 or (indices.min() >= 0 and indices.max() < n_columns)
    return bool(in_range and ascends.all())


# ---- dataframes


def is_frame(data: object) -> bool:
    """Return whether `data` is an eager dataframe; raise a DataError for a series or a lazy frame."""
    if isinstance(data, np.ndarray | list | tuple) or sp.issparse(data):
        return False  # narwhals takes a while to load
    import narwhals as nw

    if nw.dependencies.is_into_series(data):
        kind = type(data).__name__
        raise DataError(
            f"Expected a table, got a {kind}, which is one-dimensional: for one row of a dataframe write "
            f"frame.iloc[[0]], not frame.iloc[0]. {RESHAPE}"
        )
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
    frame: Any, names: tuple[str, ...] | None, training: Sequence[str] | None
) -> tuple[Any, tuple[str, ...] | None, tuple[Levels, ...] | None]:
    """Return the values of a dataframe, the names of its columns and their category levels.

    Parameters
    ----------
    frame : eager dataframe
    names : tuple of str or None
        As returned by :func:`_frame_names`.
    training : sequence of str or None
        Names of the columns of the training table, which show what holds dates. None: columns of dates, and columns
        of texts most of which are dates.

    Returns
    -------
    values : ndarray or csr_array (N, V)
        NaN where missing. A category column holds the codes 0..k-1 of its levels.
    names : tuple of str, length V, or None
        As passed in, except that a column of dates has become several.
    levels : tuple of (tuple of str, or None), length V, or None
        The levels that occur, sorted; None for numeric columns. Booleans are numbers 0 and 1.
    """
    import narwhals as nw

    column_names = names or default_names(int(frame.shape[1]))
    _check_names(column_names, int(frame.shape[1]))  # before narwhals raises its own error
    if 0 in frame.shape:
        return np.empty(frame.shape), names, None

    if nw.dependencies.is_pandas_dataframe(frame):
        if all(_is_sparse(dtype) for dtype in frame.dtypes):
            return _native_numbers(canonical_csr(frame.sparse.to_coo())), names, None
        # narwhals needs unique string labels; set_axis does not copy the data.
        frame = frame.set_axis(column_names, axis=1)

    table = nw.from_native(frame, eager_only=True)
    label = _labeller(names)
    dates = None if training is None else date_columns(column_names, training)
    if not dates and all(dtype.is_integer() or dtype.is_float() for dtype in table.schema.values()):
        values = table.to_numpy()
        if values.dtype.kind in "fiu":
            return _native_numbers(values), names, None

    columns: dict[str, tuple[npt.NDArray[Any], Levels]] = {}
    for j, name in enumerate(column_names):
        series = table.get_column(table.columns[j])
        try:
            days = days_of(series, label(j), None if dates is None else name in dates)
            if days is None:
                columns[name] = _numbers_or_codes(series, label(j))
                continue
        except UnicodeEncodeError as error:
            raise DataError(f"{label(j)} {surrogate_in(error.object)}") from error

        for derived, numbers in numbers_of_days(name, days).items():
            if derived in column_names:
                raise DataError(
                    f"{label(j)} holds dates, which become {derived!r}: rename this one"
                )
            columns[derived] = numbers, None

    arrays, levels = zip(*columns.values(), strict=True)
    values = np.empty((len(table), len(arrays)), dtype=np.result_type(*arrays), order="F")
    for j, array in enumerate(arrays):
        values[:, j] = array

    converted = tuple(columns)
    return _native_numbers(values), names if converted == column_names else converted, levels


def _is_sparse(dtype: Any) -> bool:
    """Return whether a pandas column is sparse with zeros left out."""
    return type(dtype).__name__ == "SparseDtype" and dtype.fill_value == 0


def _numbers_or_codes(series: Any, label: str) -> tuple[npt.NDArray[Any], Levels]:
    """Return a column as numbers, NaN where missing, and its levels if it holds categories."""
    import narwhals as nw
    import pandas as pd

    dtype = series.dtype
    values = series.to_numpy()
    is_category = dtype in (nw.Categorical, nw.Enum)
    if not is_category and values.dtype.kind in "fiub":
        is_known = ~series.is_null().to_numpy()
        return (values if is_known.all() else np.where(is_known, values, np.nan)), None

    readable = is_category or dtype in (nw.String, nw.Object, nw.Unknown, nw.Boolean)
    if not readable and not dtype.is_numeric():
        raise NonNumericError(
            f"{label} holds values of type {dtype}: turn it into numbers or categories, or drop it"
        )

    cells = pd.Series(values, dtype=object)
    present = cells.dropna()
    are_texts = is_category or all(isinstance(value, str) for value in present)
    if present.empty or not are_texts:  # without a text nothing shows that they are categories
        return _numbers_of_objects(cells.to_numpy().reshape(-1, 1), lambda _: label)[:, 0], None

    codes, levels = pd.factorize(cells.map(str, na_action="ignore"), sort=True)
    _refuse_surrogates(levels, label)
    return np.where(codes < 0, np.nan, codes), tuple(levels)
