"""Sparse binary data: for each row, the sorted list of the variables that are on.

Structure learning (paper section 3) uses the data in this form only. It is a CSR matrix without
values: 4 bytes per variable that is on, none per variable that is off.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from tsenet.data.columns import RESHAPE, equal_fields
from tsenet.errors import DataError

# Elements handled at a time where numpy would otherwise copy all of them to 8 bytes each.
_BLOCK = 1 << 22

_MAX_COLUMNS = int(np.iinfo(np.int32).max)
_COMPRESSED = {"csr": sp.csr_array, "csc": sp.csc_array, "bsr": sp.bsr_array}


@dataclass(frozen=True, eq=False)
class BinaryRows:
    """N rows of `n_columns` binary variables, stored as lists of the columns that are on.

    Attributes
    ----------
    indptr : ndarray of int64, shape (N + 1,)
        The columns that are on in row ``i`` are ``indices[indptr[i]:indptr[i + 1]]``.
    indices : ndarray of int32, shape (nnz,)
        Columns that are on, strictly increasing within a row.
    n_columns : int
        Number of binary variables.

    Examples
    --------
    >>> from tsenet.data import BinaryRows
    >>> rows = BinaryRows.of_dense([[1, 0, 1], [0, 0, 1]])
    >>> rows
    BinaryRows(2 rows × 3 columns, nnz 3, 50 % on)
    >>> rows.counts().tolist()
    [1, 0, 2]
    """

    indptr: npt.NDArray[np.int64]
    indices: npt.NDArray[np.int32]
    n_columns: int

    def __post_init__(self) -> None:
        # Only cheap checks here; those that need a pass over the data are in validate().
        indptr, indices = self.indptr, self.indices
        if indptr.dtype != np.int64 or indices.dtype != np.int32:
            raise DataError(f"BinaryRows of {indptr.dtype}, {indices.dtype}: int64, int32 needed")
        if indptr.ndim != 1 or not indptr.size or (indptr[0], indptr[-1]) != (0, indices.size):
            raise DataError(f"BinaryRows.indptr must run from 0 to {indices.size}, the indices")

    @property
    def n_rows(self) -> int:
        """Number of rows N."""
        return int(self.indptr.size) - 1

    @property
    def nnz(self) -> int:
        """Number of entries that are on."""
        return int(self.indices.size)

    @property
    def shape(self) -> tuple[int, int]:
        """``(n_rows, n_columns)``."""
        return self.n_rows, self.n_columns

    def __repr__(self) -> str:
        cells = self.n_rows * self.n_columns
        share = f", {100 * self.nnz / cells:.3g} % on" if cells else ""
        return f"BinaryRows({self.n_rows} rows × {self.n_columns} columns, nnz {self.nnz}{share})"

    __eq__ = equal_fields
    __hash__ = None  # type: ignore[assignment]  # holds arrays, so it is not hashable

    def validate(self) -> None:
        """Check every row: positions ascend, columns are in range and strictly increasing.

        Raises
        ------
        DataError
            If one is invalid.

        Examples
        --------
        >>> import numpy as np
        >>> from tsenet.data import BinaryRows
        >>> BinaryRows(np.array([0, 2]), np.array([4, 1], np.int32), 5).validate()
        Traceback (most recent call last):
            ...
        tsenet.errors.DataError: each row must be of indices from 0 to 4, strictly increasing
        """
        if not _is_canonical(self.to_csr()):
            most = self.n_columns - 1
            raise DataError(f"each row must be of indices from 0 to {most}, strictly increasing")

    def counts(self) -> npt.NDArray[np.int64]:
        """Count the rows in which each column is on.

        Returns
        -------
        ndarray of int64, shape (n_columns,)

        Examples
        --------
        >>> from tsenet.data import BinaryRows
        >>> BinaryRows.of_dense([[1, 0], [1, 1]]).counts().tolist()
        [2, 1]
        """
        total = np.zeros(self.n_columns, dtype=np.int64)
        for start in range(0, self.nnz, max(_BLOCK, self.n_columns)):
            block = self.indices[start : start + max(_BLOCK, self.n_columns)]
            total += np.bincount(block, minlength=self.n_columns)
        return total

    def transpose(self) -> BinaryRows:
        """Return the transpose: row ``j`` of the result lists the rows in which column ``j`` is on.

        Time is O(nnz + n_rows + n_columns); memory is the result plus two bytes per entry.

        Returns
        -------
        BinaryRows, shape (n_columns, n_rows)

        Examples
        --------
        >>> from tsenet.data import BinaryRows
        >>> BinaryRows.of_dense([[1, 0, 1]]).transpose().to_dense().tolist()
        [[True], [False], [True]]
        """
        if self.n_rows > _MAX_COLUMNS:
            raise DataError(f"cannot transpose {self.n_rows} rows: at most {_MAX_COLUMNS}")
        return _without_values(self.to_csr().tocsc(), self.n_rows)

    def take(self, rows: Any) -> BinaryRows:
        """Return some of the rows, in the given order.

        Parameters
        ----------
        rows : slice, array of int, or boolean mask of shape (n_rows,)
            Which rows, as in numpy indexing.

        Returns
        -------
        BinaryRows

        Examples
        --------
        >>> from tsenet.data import BinaryRows
        >>> BinaryRows.of_dense([[1, 0], [0, 1]]).take([1, 1]).to_dense().astype(int).tolist()
        [[0, 1], [0, 1]]
        """
        if isinstance(rows, slice):
            start, stop, step = rows.indices(self.n_rows)
            if step == 1:  # a range shares its columns with the whole
                indptr = self.indptr[start : max(start, stop) + 1]
                indices = self.indices[indptr[0] : indptr[-1]]
                return BinaryRows(indptr - indptr[0], indices, self.n_columns)
        chosen = np.arange(self.n_rows)[rows]
        return _without_values(self.to_csr()[chosen], self.n_columns)

    def to_csr(self) -> sp.csr_array:
        """Return a scipy sparse array.

        Returns
        -------
        csr_array of uint8, shape (n_rows, n_columns)
            1 where on.

        Examples
        --------
        >>> from tsenet.data import BinaryRows
        >>> BinaryRows.of_dense([[True, False]]).to_csr().toarray().tolist()
        [[1, 0]]
        """
        ones = np.ones(self.nnz, dtype=np.uint8)
        # scipy uses one type for both index arrays: with a 64-bit indptr it would widen the indices.
        indptr = self.indptr.astype(np.int32) if self.nnz <= _MAX_COLUMNS else self.indptr
        return sp.csr_array((ones, self.indices, indptr), shape=self.shape)

    def to_dense(self) -> npt.NDArray[np.bool_]:
        """Return a dense array; only for small data.

        Returns
        -------
        ndarray of bool, shape (n_rows, n_columns)

        Examples
        --------
        >>> from tsenet.data import BinaryRows
        >>> BinaryRows.of_dense([[3, 0]]).to_dense().tolist()
        [[True, False]]
        """
        dense: npt.NDArray[np.uint8] = self.to_csr().toarray()
        return dense.view(np.bool_)

    @classmethod
    def of_csr(cls, matrix: Any) -> BinaryRows:
        """Return binary rows that are on where a sparse matrix is not zero.

        Parameters
        ----------
        matrix : scipy sparse matrix or array, shape (N, V)
            Any format. It is not changed. Its index array is shared if it is int32, sorted and
            without duplicates and stored zeros. Duplicate entries are summed first, so a pair that
            sums to zero is off.

        Returns
        -------
        BinaryRows

        Examples
        --------
        >>> import scipy.sparse as sp
        >>> from tsenet.data import BinaryRows
        >>> BinaryRows.of_csr(sp.csr_array([[0, 2], [5, 0]])).indices.tolist()
        [1, 0]
        """
        csr = canonical_csr(matrix)
        return _without_values(csr, csr.shape[1])

    @classmethod
    def of_dense(cls, values: npt.ArrayLike) -> BinaryRows:
        """Return binary rows that are on where a dense array is not zero.

        Parameters
        ----------
        values : array-like, shape (N, V)
            Numbers or booleans.

        Returns
        -------
        BinaryRows

        Examples
        --------
        >>> from tsenet.data import BinaryRows
        >>> BinaryRows.of_dense([[0, 2], [5, 0]]).indices.tolist()
        [1, 0]
        """
        on = np.asarray(values) != 0
        if on.ndim != 2:
            raise DataError(f"expected a 2-D array, got {on.ndim}-D")
        n_rows, n_columns = on.shape
        indptr = np.zeros(n_rows + 1, dtype=np.int64)
        np.cumsum(np.count_nonzero(on, axis=1), out=indptr[1:])
        indices = np.flatnonzero(on) % max(1, n_columns)
        return cls(indptr, indices.astype(np.int32), n_columns)

    def columns(self, start: int, stop: int) -> BinaryRows:
        """Return a range of the columns, numbered from 0.

        Parameters
        ----------
        start, stop : int
            The columns from `start` to `stop` − 1.

        Returns
        -------
        BinaryRows, shape (n_rows, stop − start)

        Examples
        --------
        >>> from tsenet.data import BinaryRows
        >>> BinaryRows.of_dense([[1, 0, 1]]).columns(1, 3).to_dense().tolist()
        [[False, True]]
        """
        return _without_values(self.to_csr()[:, start:stop], stop - start)

    @classmethod
    def concatenate(cls, parts: Iterable[BinaryRows]) -> BinaryRows:
        """Stack the rows of several parts with the same columns.

        Parameters
        ----------
        parts : iterable of BinaryRows
            At least one.

        Returns
        -------
        BinaryRows

        Examples
        --------
        >>> from tsenet.data import BinaryRows
        >>> rows = BinaryRows.of_dense([[1, 0]])
        >>> BinaryRows.concatenate([rows, rows]).shape
        (2, 2)
        """
        blocks: Sequence[BinaryRows] = list(parts)
        lengths = np.concatenate([np.diff(block.indptr) for block in blocks])
        indptr = np.zeros(lengths.size + 1, dtype=np.int64)
        np.cumsum(lengths, out=indptr[1:])
        return cls(indptr, np.concatenate([block.indices for block in blocks]), blocks[0].n_columns)


def exact_array(values: Any, dtype: type[np.generic], name: str) -> npt.NDArray[Any]:
    """Return a copy of the values as an array of another type.

    Raises
    ------
    ValueError
        If the type cannot hold a value: 2³² + 3 would become 3 in 32 bits.
    """
    given = np.asarray(values)
    if given.dtype == dtype:
        return given.copy()
    with np.errstate(all="ignore"):
        array: npt.NDArray[Any] = given.astype(dtype)
    kinds = given.dtype.kind, array.dtype.kind
    if kinds[1] != "f" and given.size and (kinds[0] not in "biuf" or (array != given).any()):
        raise ValueError(f"{name} holds values that {np.dtype(dtype)} cannot hold")
    return array


def canonical_csr(matrix: Any) -> Any:
    """Return a user's sparse matrix as a csr_array with sorted indices, without duplicates and stored zeros.

    scipy and the kernels trust index arrays: one column number outside the table would read foreign memory. So every
    index is checked.

    Parameters
    ----------
    matrix : scipy sparse matrix or array, shape (N, V)
        Any format. It is returned itself, or its arrays are shared, if nothing has to be changed.

    Raises
    ------
    DataError
        If the arrays of the matrix do not describe entries within it.
    """
    if matrix.ndim != 2:
        raise DataError(f"Expected a 2-D sparse matrix, got {matrix.ndim}-D. {RESHAPE}")
    kind = type(matrix).__name__
    if max(matrix.shape) > _MAX_COLUMNS:
        raise DataError(f"the {kind} has the shape {matrix.shape}: at most {_MAX_COLUMNS} a side")
    try:
        csr = matrix if _is_canonical(matrix) else _checked_csr(matrix)
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
        indices, indptr = np.asarray(matrix.indices), np.asarray(matrix.indptr)
        if not {indices.dtype.kind, indptr.dtype.kind} <= {"i", "u"}:
            raise ValueError(f"the index arrays are of {indices.dtype} and {indptr.dtype}")
        if (indptr[1:] < indptr[:-1]).any():  # scipy looks at differences, which may overflow
            raise ValueError("indptr must not decrease")
        checked = _COMPRESSED[matrix.format]((matrix.data, indices, indptr), shape=matrix.shape)
        checked.check_format(full_check=True)
    else:
        coo = matrix.tocoo()
        checked = sp.coo_array((coo.data, (coo.row, coo.col)), shape=matrix.shape)  # checks too
    csr = checked.tocsr()
    index_type = np.int32 if csr.nnz <= _MAX_COLUMNS else np.int64
    csr.indices = csr.indices.astype(index_type, copy=False)
    csr.indptr = csr.indptr.astype(index_type, copy=False)
    return csr


def _is_canonical(matrix: Any) -> bool:
    """Return whether a csr_array is sound and canonical; on one row it takes a quarter of the time of scipy's check."""
    if type(matrix) is not sp.csr_array:
        return False
    data, indices, indptr = matrix.data, matrix.indices, matrix.indptr
    n_rows, n_columns = matrix.shape
    if not indices.dtype == indptr.dtype == np.int32 or indptr.shape != (n_rows + 1,):
        return False
    if not data.shape == indices.shape == (indptr[-1],):
        return False
    if indptr[0] != 0 or (indptr[1:] < indptr[:-1]).any():
        return False
    ascends = indices[1:] > indices[:-1]
    first = indptr[(indptr > 0) & (indptr < indices.size)]  # of each row but the first
    ascends[first - 1] = True
    in_range = indices.size == 0 or (indices.min() >= 0 and indices.max() < n_columns)
    return bool(in_range and ascends.all())


def _without_values(compressed: Any, n_columns: int) -> BinaryRows:
    """Keep the positions of a canonical csr (or csc, read as its transpose) array."""
    # Read-only arrays (memory maps) would make every numba kernel compile a second time.
    indices = np.require(compressed.indices, dtype=np.int32, requirements=["C", "W"])
    indptr = np.require(compressed.indptr, dtype=np.int64, requirements=["C", "W"])
    return BinaryRows(indptr, indices, int(n_columns))
