"""``pivot_wiring``: a wiring around words drawn at random instead of latents."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from tsenet import BinaryRule, Table, Wiring
from tsenet.errors import DataError
from tsenet.expansion.wiring import WiringLayer

__all__ = ["pivot_wiring"]

_WORDS = 1024  # whose counts with all pivots are in memory at a time


def pivot_wiring(
    X: Any,
    n_units: int,
    links_per_word: int,
    random_state: Any = None,
    *,
    min_count: int = 5,
    smoothing: float = 0.5,
) -> Wiring:
    """A wiring with one hidden layer and no learned structure: units are words drawn at random, the *pivots*.

    Each column is linked to the ``links_per_word`` pivots with the highest smoothed log-lift

        ln (n_ij + s) / (n_i·n_j / N + s),

    where n_i of N rows have word i, n_ij have both, and s is ``smoothing``, which shrinks rare pairs towards 0. A pivot
    is linked to its own unit.

    Parameters
    ----------
    X : table, (N, V)
        Rows, labelled or not; a sparse one stays sparse. Columns become binary as in :func:`tsenet.learn_tree`.
    n_units : int
        Number of pivots.
    links_per_word : int
        Links of each column; a column that co-occurs with fewer pivots has fewer.
    random_state : int, Generator or None
        Seed of the draw of the pivots.
    min_count : int
        A pivot occurs in at least so many rows, and not in every row.
    smoothing : float
        Above 0.
    """
    if n_units < 1 or links_per_word < 1 or not smoothing > 0:
        raise ValueError(
            "n_units and links_per_word must be at least 1, and smoothing above 0: "
            f"{n_units}, {links_per_word}, {smoothing}"
        )
    table = Table.of(X)
    rule = BinaryRule.learn(table)
    rows = rule.apply(table)
    count = rows.counts()  # (V,)
    able = np.flatnonzero((count >= min_count) & (count < rows.n_rows))
    if able.size < n_units:
        raise DataError(
            f"{n_units} pivots are wanted, but only {able.size} columns are in {min_count} rows or "
            "more and not in all: take fewer units or a lower min_count"
        )
    rng = np.random.default_rng(random_state)
    pivots = np.sort(rng.choice(able, n_units, replace=False))
    links = [
        _best_of_each_word(word, unit, lift, links_per_word)
        for word, unit, lift in _lifts(rows.to_csr(), pivots, count, smoothing)
    ]
    word, unit, _ = (np.concatenate(parts) for parts in zip(*links, strict=True))
    order = np.lexsort((word, unit))
    indptr = np.searchsorted(unit[order], np.arange(n_units + 1))
    none = np.zeros(order.size, bool)
    layer = WiringLayer(indptr, word[order], none, rows.n_columns)
    units = tuple(f"pivot {rule.names[j]}" for j in pivots)
    return Wiring((layer,), (rule.names, units), "pivot")


Links = tuple[
    NDArray[np.int64], NDArray[np.int64], NDArray[np.float64]
]  # word, unit, lift: (n,) each


def _lifts(
    rows: csr_array, pivots: NDArray[np.int64], count: NDArray[np.int64], smoothing: float
) -> Iterator[Links]:
    """Log-lifts of all words with the pivots they co-occur with, a block of words at a time."""
    on = rows.astype(np.int32)  # counts of pairs need more than a byte
    by_word, on_pivots = on.T.tocsr(), on[:, pivots]
    for start in range(0, count.size, _WORDS):
        stop = start + _WORDS
        joint = (by_word[start:stop] @ on_pivots).tocoo()
        word, unit = joint.coords[0].astype(np.int64) + start, joint.coords[1].astype(np.int64)
        expected = count[word] * count[pivots[unit]] / rows.shape[0]
        yield word, unit, np.log((joint.data + smoothing) / (expected + smoothing))


def _best_of_each_word(
    word: NDArray[np.int64], unit: NDArray[np.int64], lift: NDArray[np.float64], n_best: int
) -> Links:
    """Keep each word's links of highest lift; of equal ones, those to the first units."""
    order = np.lexsort((unit, -lift, word))
    sorted_words = word[order]
    rank = np.arange(order.size) - np.searchsorted(sorted_words, sorted_words)
    best = order[rank < n_best]
    return word[best], unit[best], lift[best]
