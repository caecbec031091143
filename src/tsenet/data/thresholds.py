"""Choose the threshold of each numeric column and compare values with it: plain functions on arrays."""

from __future__ import annotations

from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from tsenet.data.rows import BinaryRows

__all__ = ["column_thresholds", "rows_above_dense", "rows_above_sparse"]

# Cells copied or compared at a time: 32 MB of float64.
_BLOCK = 1 << 22

# Least share of zeros for the most common value 0 to mean "absent".
_PRESENCE_SHARE = 0.1


def column_thresholds(
    values: npt.NDArray[Any],
) -> tuple[npt.NDArray[np.float64], npt.NDArray[np.bool_]]:
    """Choose for each dense column the threshold above which it is on (ALGORITHM section 0).

    The first rule that fits decides:

    1. A constant column: its value, so that it is never on (if it is 0: presence).
    2. Two distinct values: the smaller one, so that the larger is on.
    3. No negative value, and 0 more common than any other value and in at least a tenth of the
       rows: 0, that is, presence. So counts give the same variables dense and sparse. (Without the
       limit of a tenth, a column scaled to 0..1 would be on in all rows but its smallest.)
    4. One value in more than half of the rows: that value.
    5. Else the median.

    If rule 4 or 5 gives the maximum, the largest value below it is taken. Missing values are left out.

    Parameters
    ----------
    values : ndarray, shape (N, V)
        Finite numbers, or NaN where missing; N >= 1.

    Returns
    -------
    thresholds : ndarray of float64, shape (V,)
    presence : ndarray of bool, shape (V,)
        Whether the threshold means "present": it is 0 and no value was negative.
    """
    n_rows, n_columns = values.shape
    thresholds = np.zeros(n_columns)
    presence = np.ones(n_columns, dtype=bool)
    step = max(1, _BLOCK // n_rows)
    # "stable" is a radix sort for 8- and 16-bit integers (pixels), and slower for all others.
    kind: Literal["stable"] | None = "stable" if values.dtype.itemsize <= 2 else None
    for start in range(0, n_columns, step):
        block = np.ascontiguousarray(values[:, start : start + step].T)  # (columns, N)
        zeros = n_rows - np.count_nonzero(block, axis=1)
        # Half the values zero and none negative means presence: most columns need no sorting.
        least = block.min(axis=1)  # NaN if a value is missing
        unclear = np.flatnonzero((2 * zeros < n_rows) | ~(least >= 0))
        for k in unclear:
            ascending = np.sort(block[k], kind=kind)  # NaN comes last
            if np.isnan(least[k]):
                ascending = ascending[: n_rows - np.count_nonzero(np.isnan(ascending))]
            if ascending.size:
                thresholds[start + k], presence[start + k] = _threshold(ascending)
    return thresholds, presence


def _threshold(ascending: npt.NDArray[Any]) -> tuple[float, bool]:
    """Return threshold and presence of one column, given its sorted values (N,)."""
    n_rows = ascending.size
    lowest, highest = float(ascending[0]) + 0.0, float(ascending[-1])  # -0.0 becomes 0.0
    changes = np.flatnonzero(ascending[1:] != ascending[:-1]) + 1
    if changes.size <= 1:
        return lowest, lowest == 0
    edges = np.concatenate(([0], changes, [n_rows]))
    lengths = np.diff(edges)
    # Of runs of equal length the last: presence needs 0, the first run, to be the only longest.
    longest = lengths.size - 1 - int(np.argmax(lengths[::-1]))
    if lowest == 0 and longest == 0 and lengths[0] >= _PRESENCE_SHARE * n_rows:
        return 0.0, True
    if 2 * lengths[longest] > n_rows:
        centre = float(ascending[edges[longest]])
    else:
        # Halved before adding: two huge values must not overflow.
        middle = ascending[[(n_rows - 1) // 2, n_rows // 2]].astype(np.float64)
        centre = float(middle[0] * 0.5 + middle[1] * 0.5)
    if centre >= highest:
        centre = float(ascending[changes[-1] - 1])
    return centre, False


def rows_above_dense(values: npt.NDArray[Any], thresholds: npt.NDArray[np.float64]) -> BinaryRows:
    """Return where ``values > thresholds``, for `values` (N, V) and one threshold per column."""
    step = max(1, _BLOCK // max(1, values.shape[1]))
    starts = range(0, max(1, values.shape[0]), step)
    return BinaryRows.concatenate(
        BinaryRows.of_dense(values[start : start + step] > thresholds) for start in starts
    )


def rows_above_sparse(csr: Any, thresholds: npt.NDArray[np.float64]) -> BinaryRows:
    """Return where ``csr > thresholds``; entries that are not stored are zeros.

    Zeros are above a negative threshold, so the result is dense in such a column; only then are
    rows made dense, a block at a time.

    Parameters
    ----------
    csr : scipy.sparse.csr_array, shape (N, V)
        Canonical: sorted, no duplicates, no stored zeros.
    thresholds : ndarray of float64, shape (V,)
    """
    if np.any(thresholds < 0):
        step = max(1, _BLOCK // csr.shape[1])
        starts = range(0, max(1, csr.shape[0]), step)
        return BinaryRows.concatenate(
            BinaryRows.of_dense(csr[start : start + step].toarray() > thresholds)
            for start in starts
        )
    data, indices = csr.data, csr.indices
    if not thresholds.any() and (data.dtype.kind in "ub" or data.size == 0 or data.min() > 0):
        return BinaryRows.of_csr(csr)
    above = np.empty(data.size, dtype=bool)
    for start in range(0, data.size, _BLOCK):
        part = slice(start, start + _BLOCK)
        np.greater(data[part], thresholds[indices[part]], out=above[part])
    # The running count of kept entries, read at the row borders, gives the new indptr.
    kept = np.concatenate(([0], np.cumsum(above, dtype=np.int64)))
    indptr = kept[csr.indptr].astype(np.int64)
    return BinaryRows(indptr, indices[above].astype(np.int32, copy=False), csr.shape[1])
