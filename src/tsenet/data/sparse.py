"""Sparse matrices of any format as csr_arrays whose every index has been checked.

scipy and the kernels trust the index arrays of a matrix: one column number outside the table would read foreign
memory. Matrices from users and files are therefore checked here before anything else touches them.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from tsenet._system.ranges import rise_from_zero
from tsenet.data.columns import RESHAPE
from tsenet.errors import DataError

__all__ = ["checked_csr"]

_MAX_SIDE = int(np.iinfo(np.int32).max)
Ints = npt.NDArray[Any]


def checked_csr(matrix: Any) -> Any:
    """Return a user's sparse matrix as a new csr_array, without the flags of the old one, which may be wrong.

    Parameters
    ----------
    matrix : scipy sparse matrix or array, shape (N, V)
        Any format. Arrays of a CSR matrix are shared, not copied, if their types fit.

    Returns
    -------
    csr_array
        With int32 indices, or int64 if there are more than 2³¹ − 1 entries. Entries may be unsorted or repeated.

    Raises
    ------
    DataError
        If the index arrays do not describe entries within the matrix. The message says which array is wrong.
    """
    if matrix.ndim != 2:
        raise DataError(f"Expected a 2-D sparse matrix, got {matrix.ndim}-D. {RESHAPE}")
    kind = type(matrix).__name__
    if max(matrix.shape) > _MAX_SIDE:
        raise DataError(
            f"the {kind} has the shape {matrix.shape}: at most {_MAX_SIDE} rows and columns are possible"
        )
    try:
        return _csr_of(matrix)
    except DataError as error:
        raise DataError(f"the {kind} is damaged: {error}") from error
    except (ArithmeticError, AttributeError, LookupError, TypeError, ValueError) as error:
        # A matrix whose parts were replaced by anything at all: scipy fails in as many ways
        raise DataError(f"the {kind} cannot be read: {error}") from error


def _csr_of(matrix: Any) -> Any:
    n_rows, n_columns = (int(side) for side in matrix.shape)
    if matrix.format == "csr":
        return _of_compressed(matrix, n_rows, n_columns, sp.csr_array)
    if matrix.format == "csc":
        return _of_compressed(matrix, n_columns, n_rows, sp.csc_array).tocsr()
    if matrix.format == "coo":
        data = _entries(matrix.data)
        row = _within("row", matrix.row, data.size, n_rows)
        column = _within("col", matrix.col, data.size, n_columns)
        return sp.coo_array((data, (row, column)), shape=(n_rows, n_columns)).tocsr()
    if matrix.format == "bsr":
        height, width = matrix.data.shape[1:]
        if not height or not width or n_rows % height or n_columns % width:
            raise DataError(f"blocks of {height} × {width} do not fill {n_rows} × {n_columns}")
        return _of_compressed(matrix, n_rows // height, n_columns // width, sp.bsr_array).tocsr()
    if matrix.format == "dia":
        offsets = _whole("offsets", matrix.offsets)
        if matrix.data.ndim != 2 or offsets.size != len(matrix.data):
            raise DataError(f"{offsets.size} offsets for data of the shape {matrix.data.shape}")
        if np.unique(offsets).size < offsets.size:
            raise DataError("offsets holds a diagonal twice")
        reach = (offsets > -n_rows) & (offsets < n_columns)  # others lie outside and hold nothing
        parts = (matrix.data[reach], offsets[reach].astype(np.int32))
        return sp.dia_array(parts, shape=(n_rows, n_columns)).tocsr()
    if matrix.format == "lil":
        lengths = [len(row) for row in matrix.rows]
        if len(lengths) != n_rows or lengths != [len(row) for row in matrix.data]:
            raise DataError("rows and data have different lengths")
    return _csr_of(sp.coo_array(matrix))  # lil and dok


def _of_compressed(matrix: Any, n_major: int, n_minor: int, make: Any) -> Any:
    """A csr, csc or bsr array over the same arrays after their checks."""
    data = np.asarray(matrix.data)
    if data.ndim != (3 if make is sp.bsr_array else 1):
        raise DataError(f"data has {data.ndim} dimensions")
    indptr, indices = _whole("indptr", matrix.indptr), _whole("indices", matrix.indices)
    if indptr.size != n_major + 1:
        raise DataError(f"indptr has {indptr.size} positions instead of {n_major + 1}")
    n_entries = min(len(data), indices.size)
    if not (0 <= indptr[-1] <= n_entries and rise_from_zero(indptr, indptr[-1])):
        raise DataError(f"indptr must rise from 0 to at most {n_entries}, the number of entries")
    n_entries = int(indptr[-1])  # scipy allows spare room behind the last entry
    data, indices = data[:n_entries], _within("indices", indices[:n_entries], n_entries, n_minor)
    # scipy gives both index arrays one type: int32 wherever it is wide enough
    indptr = indptr.astype(np.int32 if indices.size <= _MAX_SIDE else np.int64, copy=False)
    return make((data, indices, indptr), shape=matrix.shape)


def _within(name: str, given: Any, size: int, end: int) -> Ints:
    """Indices as int32 after the check that each is from 0 to ``end`` − 1."""
    indices = _whole(name, given)
    if indices.size != size:
        raise DataError(f"{name} has {indices.size} numbers for {size} entries")
    if size:
        least, most = int(indices.min()), int(indices.max())
        if least < 0 or most >= end:
            wrong = least if least < 0 else most
            raise DataError(f"{name} holds {wrong}, but must be from 0 to {end - 1}")
    return indices.astype(np.int32, copy=False)


def _whole(name: str, given: Any) -> Ints:
    array = np.asarray(given)
    if array.ndim != 1 or array.dtype.kind not in "iu":
        raise DataError(
            f"{name} must be whole numbers in one dimension, not {array.dtype} {array.shape}"
        )
    return array


def _entries(given: Any) -> npt.NDArray[Any]:
    data = np.asarray(given)
    if data.ndim != 1:
        raise DataError(f"data has {data.ndim} dimensions")
    return data
