"""Ranks of the entries of groups, such as the rows of a topic, the strongest first."""

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
