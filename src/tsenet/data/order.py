"""Order and group rows by their content, independently of the order they were given in."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

# Cells hashed at a time.
_BLOCK = 1 << 20

# Integer weights are read as numbers of copies only if the table grows by at most this factor.
_MAX_GROWTH = 10


def canonical_order(*parts: Any) -> npt.NDArray[np.int64]:
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
    key = np.zeros(parts[0].shape[0], np.uint64)
    for number, part in enumerate(parts):
        key = _mixed(key + np.uint64(number)) + _keys_of(part)
    return np.argsort(key, kind="stable").astype(np.int64)


def duplicate_groups(values: Any) -> npt.NDArray[np.int64]:
    """Number the rows so that duplicate rows have the same number.

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
    return groups.astype(np.int64) if 2 * keys.size >= groups.size else np.arange(groups.size)


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
    """Return a number in [0, 1) for each row, uniform over different rows; equal rows have the same.

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
    salt = _mixed(np.array([seed], np.uint64))
    return (_mixed(_keys_of(values) + salt) >> np.uint64(11)) / 2.0**53


def _keys_of(part: Any) -> npt.NDArray[np.uint64]:
    """Return a 64-bit hash of each row: (N,)."""
    if sp.issparse(part):
        mixed = _mixed(_bits(part.data) + _column_keys(part.shape[1])[part.indices])
        total = np.concatenate([np.zeros(1, np.uint64), np.cumsum(mixed, dtype=np.uint64)])
        sums: npt.NDArray[np.uint64] = total[part.indptr[1:]] - total[part.indptr[:-1]]
        return sums  # modulo 2^64
    columns = part[:, None] if part.ndim == 1 else part
    constants = _column_keys(columns.shape[1])
    keys = np.empty(columns.shape[0], np.uint64)
    step = max(1, _BLOCK // columns.shape[1])
    for start in range(0, keys.size, step):
        block = columns[start : start + step]
        keys[start : start + step] = _mixed(_bits(block) + constants).sum(axis=1, dtype=np.uint64)
    return keys


def _bits(values: npt.NDArray[Any]) -> npt.NDArray[np.uint64]:
    """Return the float64 bits of the numbers, with −0 as 0 and every NaN as the same NaN."""
    numbers = np.ascontiguousarray(values, np.float64) + 0.0
    numbers[np.isnan(numbers)] = np.nan
    return numbers.view(np.uint64)


def _column_keys(n_columns: int) -> npt.NDArray[np.uint64]:
    return _mixed(np.arange(1, n_columns + 1, dtype=np.uint64))


def _mixed(bits: npt.NDArray[np.uint64]) -> npt.NDArray[np.uint64]:
    """Mix 64 bits with Stafford's function, as in SplitMix64."""
    z = bits + np.uint64(0x9E3779B97F4A7C15)
    z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return z ^ (z >> np.uint64(31))
