"""Order and group rows by their content, independently of the order they were given in."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from tsenet._system.seeds import splitmix64

# Cells hashed at a time.
_BLOCK = 1 << 20

# Integer weights are read as numbers of copies only if the table grows by at most this factor.
_MAX_GROWTH = 10


def canonical_order(*arrays: Any) -> npt.NDArray[np.int64]:
    """Return an order of the rows that depends only on their content.

    Training on rows in this order gives the same result however the rows were shuffled before.

    Parameters
    ----------
    *parts : ndarray (N,) or (N, V), or csr_array (N, V)
        What belongs to each row: its values, its target, its weight. The type of the numbers does not matter.

    Returns
    -------
    ndarray of int64, shape (N,)
        Row numbers; equal rows keep their given order.

    Examples
    --------
    >>> import numpy as np
    >>> rows = np.array([[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]])
    >>> shuffled = rows[[2, 0, 1]]
    >>> bool((rows[canonical_order(rows)] == shuffled[canonical_order(shuffled)]).all())
    True
    """
    key = np.zeros(arrays[0].shape[0], np.uint64)  # (N,)
    for number, values in enumerate(arrays):
        key = splitmix64(key + np.uint64(number)) + _keys_of(values)
    return np.argsort(key, kind="stable").astype(np.int64)


def duplicate_groups(values: Any) -> npt.NDArray[np.int64]:
    """Give equal rows the same group number.

    A split by these groups keeps all copies of a row on one side. If more than half of the rows are copies of others,
    as with a few categorical columns, new rows will be copies of training rows as well; then every row gets its own
    number, and a split by groups is an ordinary split.

    Parameters
    ----------
    values : ndarray or csr_array, shape (N, V)
        The rows.

    Returns
    -------
    ndarray of int64, shape (N,)
        The group of each row.

    Examples
    --------
    >>> import numpy as np
    >>> groups = duplicate_groups(np.array([[1, 2], [3, 4], [1, 2]]))
    >>> bool(groups[0] == groups[2]), bool(groups[0] == groups[1])
    (True, False)
    """
    keys, groups = np.unique(_keys_of(values), return_inverse=True)
    if 2 * keys.size < groups.size:  # most rows are copies
        return np.arange(groups.size)
    return groups.astype(np.int64)


def repeats_of(weights: npt.NDArray[np.float64]) -> npt.NDArray[np.int64] | None:
    """Return row numbers in which each row occurs as often as its weight says.

    Parameters
    ----------
    weights : ndarray of float64, shape (N,)
        Not negative.

    Returns
    -------
    ndarray of int64 or None
        None if a weight is not an integer, or if there would be more than ten times as many rows.

    Examples
    --------
    >>> import numpy as np
    >>> repeats_of(np.array([2.0, 0.0, 1.0])).tolist()
    [0, 0, 2]
    >>> repeats_of(np.array([0.5, 1.0])) is None
    True
    """
    whole = np.array_equal(weights, np.floor(weights))
    if not whole or weights.sum() > _MAX_GROWTH * weights.size:
        return None
    return np.repeat(np.arange(weights.size), weights.astype(np.int64))


def row_draws(values: Any, seed: int) -> npt.NDArray[np.float64]:
    """Hash each row to a uniform number in [0, 1).

    Parameters
    ----------
    values : ndarray or csr_array, shape (N, V)
        The rows.
    seed : int

    Examples
    --------
    >>> import numpy as np
    >>> draws = row_draws(np.array([[1, 2], [3, 4], [1, 2]]), seed=7)
    >>> bool(draws[0] == draws[2]), bool(draws[0] == draws[1])
    (True, False)
    """
    salt = splitmix64(np.array([seed], np.uint64))
    return (splitmix64(_keys_of(values) + salt) >> np.uint64(11)) / 2.0**53


def _keys_of(values: Any) -> npt.NDArray[np.uint64]:
    """Hash each row to 64 bits: (N,), the sum of the hashes of its (stored) cells modulo 2^64."""
    if sp.issparse(values):
        column_keys = _column_keys(values.shape[1])
        hashed = splitmix64(_bits(values.data) + column_keys[values.indices])  # (nnz,)

        # A row's sum is the difference of two running sums, which wrap around at 2^64 alike.
        running = np.zeros(hashed.size + 1, np.uint64)
        np.cumsum(hashed, out=running[1:])
        return np.asarray(running[values.indptr[1:]] - running[values.indptr[:-1]])

    columns = values[:, None] if values.ndim == 1 else values
    column_keys = _column_keys(columns.shape[1])
    keys = np.empty(columns.shape[0], np.uint64)
    step = max(1, _BLOCK // columns.shape[1])
    for start in range(0, keys.size, step):
        rows = slice(start, start + step)
        hashed = splitmix64(_bits(columns[rows]) + column_keys)
        keys[rows] = hashed.sum(axis=1, dtype=np.uint64)
    return keys


def _bits(values: npt.NDArray[Any]) -> npt.NDArray[np.uint64]:
    """Return the float64 bits of the numbers, with −0 as 0 and every NaN as the same NaN."""
    numbers = np.ascontiguousarray(values, np.float64) + 0.0
    numbers[np.isnan(numbers)] = np.nan
    return numbers.view(np.uint64)


def _column_keys(n_columns: int) -> npt.NDArray[np.uint64]:
    return splitmix64(np.arange(1, n_columns + 1, dtype=np.uint64))
