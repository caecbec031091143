"""An order of the rows that depends on what they hold, not on where they stood."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

__all__ = ["canonical_order", "duplicate_groups", "first_of_groups", "repeats_of"]

_BLOCK = 1 << 20

#: Whole-number weights are read as repetitions while the table does not grow beyond this factor.
_MOST_GROWTH = 10


def canonical_order(*parts: Any) -> npt.NDArray[np.int64]:
    """Order of the rows by their content: the same rows in any order come out the same.

    What is learned from rows so ordered does not depend on the order they were given in.

    Parameters
    ----------
    *parts : ndarray (N,) or (N, V), or csr_array (N, V)
        What belongs to each row: its values, its target, its weight. Equal numbers of different
        types are equal.

    Returns
    -------
    ndarray of int64, shape (N,)
        Row numbers; equal rows stay in the order given.
    """
    key = np.zeros(parts[0].shape[0], np.uint64)
    for number, part in enumerate(parts):
        key = _mixed(key + np.uint64(number)) + _keys_of(part)
    return np.argsort(key, kind="stable").astype(np.int64)


def duplicate_groups(values: Any) -> npt.NDArray[np.int64]:
    """A number for each row, the same for equal rows, so that copies of a row can be kept together: (N,).

    Where most rows are copies, as of few categories, rows to come will be copies too: then each is its own kind.

    Parameters
    ----------
    values : ndarray or csr_array (N, V)
    """
    keys, kinds = np.unique(_keys_of(values), return_inverse=True)
    return kinds.astype(np.int64) if 2 * keys.size >= kinds.size else np.arange(kinds.size)


def first_of_groups(
    kinds: npt.NDArray[np.int64],
) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]:
    """The first row of each kind, and the place of each row's kind among them: (kinds,), (N,)."""
    _, first, place = np.unique(kinds, return_index=True, return_inverse=True)
    return first, place


def repeats_of(weights: npt.NDArray[np.float64]) -> npt.NDArray[np.int64] | None:
    """Row numbers with each row as often as its weight says; None if the weights are no numbers of times.

    They are not if they are no whole numbers, or if the rows would become more than tenfold.
    """
    whole = np.array_equal(weights, np.floor(weights))
    if not whole or weights.sum() > _MOST_GROWTH * weights.size:
        return None
    return np.repeat(np.arange(weights.size), weights.astype(np.int64))


def _keys_of(part: Any) -> npt.NDArray[np.uint64]:
    """A 64-bit key of each row: (N,)."""
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
    """The numbers as the bits of float64; −0 as 0, every NaN as the same one."""
    numbers = np.ascontiguousarray(values, np.float64) + 0.0
    numbers[np.isnan(numbers)] = np.nan
    return numbers.view(np.uint64)


def _column_keys(n_columns: int) -> npt.NDArray[np.uint64]:
    return _mixed(np.arange(1, n_columns + 1, dtype=np.uint64))


def _mixed(bits: npt.NDArray[np.uint64]) -> npt.NDArray[np.uint64]:
    """Stafford's mixer of 64 bits, as in SplitMix64."""
    z = bits + np.uint64(0x9E3779B97F4A7C15)
    z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return z ^ (z >> np.uint64(31))
