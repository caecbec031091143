"""The strongest first: ranks of the entries of groups, such as the rows of a topic, and the first few of each row."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

Ints = NDArray[np.int64]


def ranks_in_groups(group: Ints, strength: NDArray[Any], tie: Ints | None = None) -> Ints:
    """The rank of each entry in its group, from 0 on, the strongest first: (N,).

    Parameters
    ----------
    group : int (N,)
        The group of each entry.
    strength : float (N,)
    tie : int (N,), optional
        Of entries as strong as each other, the one with the smallest comes first; default: the first one.

    Examples
    --------
    >>> import numpy as np
    >>> from tsenet.data.ranks import ranks_in_groups
    >>> ranks_in_groups(np.array([7, 3, 7, 7]), np.array([0.1, 0.5, 0.9, 0.1])).tolist()
    [1, 0, 0, 2]
    """
    by_tie = np.arange(group.size) if tie is None else tie
    order = np.lexsort((by_tie, -strength, group))
    ordered = group[order]

    ranks = np.empty(group.size, np.int64)
    ranks[order] = np.arange(group.size) - np.searchsorted(ordered, ordered)
    return ranks


def top_of_rows(values: NDArray[Any], n: int) -> Ints:
    """Places of the ``n`` highest values of each row, highest first and equal ones in order: (K, n) from (K, D).

    Examples
    --------
    >>> import numpy as np
    >>> from tsenet.data.ranks import top_of_rows
    >>> top_of_rows(np.array([[0.1, 0.7, 0.5], [0.3, 0.2, 0.3]]), 2).tolist()
    [[1, 2], [0, 2]]
    """
    n_kept = min(n, values.shape[1])
    if n_kept == 0:
        return np.empty((len(values), 0), np.int64)

    # What is above the n-th highest value is in, and the first of those equal to it: sorting a row would take longer
    # than what it took to compute it.
    last = -np.partition(-values, n_kept - 1, axis=1)[:, n_kept - 1 : n_kept]
    is_in = values >= last
    crowded = np.flatnonzero(np.count_nonzero(is_in, axis=1) > n_kept)
    if crowded.size:
        is_equal = values[crowded] == last[crowded]
        n_left = n_kept - np.count_nonzero(values[crowded] > last[crowded], axis=1)
        is_in[crowded] &= ~is_equal | (np.cumsum(is_equal, axis=1) <= n_left[:, None])

    places = np.nonzero(is_in)[1].reshape(len(values), n_kept)
    order = np.argsort(-np.take_along_axis(values, places, axis=1), axis=1, kind="stable")
    return np.take_along_axis(places, order, axis=1)
