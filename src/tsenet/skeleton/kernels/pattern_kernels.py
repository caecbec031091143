"""The pattern table of a growing island (docs/decisions.md).

All rows with the same values of the members share one entry. Joint counts of any members, and the likelihood of the
whole group, are then sums over the table. Testing a candidate costs its own rows plus the table, whatever N is.
"""

from __future__ import annotations

import numpy as np

from tsenet._system.jit import Array, Int, kernel
from tsenet.skeleton.kernels.pair_kernels import Csr

RATIO_BOUND = 1e250

# One pattern of the members: ``bits`` (bit k: member k is on), ``count`` rows, in ``on`` of them the candidate is on
# too, and ``ratio`` = P(pattern|Y=1) / P(pattern|Y=0). Pattern 0 is "all off".
# The record type gives NumPy the fields as attributes too, so that the kernels run without numba's compiler.
PATTERN = np.dtype(
    (
        np.record,
        [("bits", np.uint64), ("count", np.int64), ("on", np.int64), ("ratio", np.float64)],
    )
)


@kernel
def bit(bits: Int, position: Int) -> Int:
    """Value of one bit, as an index."""
    return np.int64((bits >> np.uint64(position)) & np.uint64(1))


@kernel
def chance(rate: float, state: Int) -> float:
    """P(state) of a variable that is on with probability ``rate``."""
    return rate if state else 1.0 - rate


@kernel
def mark_candidate(rows: Array, pattern_of: Array, patterns: Array) -> None:
    """Count in ``on`` the rows of each pattern in which the candidate is on."""
    for p in range(patterns.size):
        patterns[p].on = 0
    for row in rows:
        patterns[pattern_of[row]].on += 1


@kernel
def split_patterns(
    rows: Array, pattern_of: Array, patterns: Array, n_patterns: Int, position: Int
) -> tuple[Array, Int]:
    """Add the marked candidate as member ``position``: rows in which it is on move to patterns of their own.

    Returns the table of patterns, enlarged where needed, and its new length.
    """
    child = np.empty(n_patterns, np.int32)
    length: int = n_patterns
    for p in range(n_patterns):
        if patterns[p].on == 0:
            continue
        if patterns[p].on == patterns[p].count and p > 0:  # all its rows move: keep its place
            child[p] = p
        else:
            if length == patterns.size:
                larger = np.zeros(2 * length, PATTERN)
                for q in range(length):
                    larger[q] = patterns[q]
                patterns = larger
            child[p] = length
            patterns[length] = patterns[p]
            patterns[length].count = patterns[p].on
            patterns[p].count -= patterns[p].on
            length += 1
        patterns[child[p]].bits |= np.uint64(1) << np.uint64(position)
    for row in rows:
        pattern_of[row] = child[pattern_of[row]]
    return patterns, length


@kernel
def forget_rows(members: Array, columns: Csr, pattern_of: Array) -> None:
    """Set every row in which a member is on back to pattern 0."""
    col_start, col_items = columns.start, columns.items
    for member in members:
        for t in range(col_start[member], col_start[member + 1]):
            pattern_of[col_items[t]] = 0


@kernel
def multiply_ratios(patterns: Array, n_patterns: Int, first: Int, table: Array) -> None:
    """Multiply the patterns' likelihood ratios by those of members ``first..``, whose tables are ``table`` (k, 2)."""
    for p in range(n_patterns):
        ratio = patterns[p].ratio
        for k in range(table.shape[0]):
            state = bit(patterns[p].bits, first + k)
            ratio *= chance(table[k, 1], state) / chance(table[k, 0], state)
        patterns[p].ratio = min(max(ratio, 1.0 / RATIO_BOUND), RATIO_BOUND)


@kernel
def seed_cells(patterns: Array, n_patterns: Int) -> Array:
    """Joint counts of the first three members: (8,)."""
    cells = np.zeros(8)
    for p in range(n_patterns):
        cells[np.int64(patterns[p].bits)] += patterns[p].count
    return cells


@kernel
def pair_cells(patterns: Array, n_patterns: Int, first: Int, second: Int, third: Int) -> Array:
    """Joint counts of members ``first``, ``second`` (4) by member ``third`` and the candidate (4)."""
    cells = np.zeros((4, 4))
    for p in range(n_patterns):
        bits = patterns[p].bits
        f = 2 * bit(bits, first) + bit(bits, second)
        w = bit(bits, third)
        cells[f, 2 * w] += patterns[p].count - patterns[p].on
        cells[f, 2 * w + 1] += patterns[p].on
    return cells
