"""Kernels for pairwise counts and mutual information (paper §3.1)."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from tsenet._system.jit import Array, Int, kernel


class Csr(NamedTuple):
    """Lists of numbers in compressed form: list k is ``items[start[k]:start[k + 1]]``.

    Binary rows are such lists (the variables that are on in each row), and so are binary columns (the rows in which
    each variable is on). ``start`` is int64, ``items`` int32.
    """

    start: Array
    items: Array


class PairData(NamedTuple):
    """What counting pairs needs to know about N binary rows of V variables.

    Fields
    ------
    rows, columns : the variables of each row, and the rows of each variable.
    bits : uint64 (V, ⌈N/64⌉), each variable as a bitset over the rows; (0, 0) to count by row lists instead.
    n_on : int64 (V,), in how many rows each variable is on.
    xlogx : float64 (N + 1,), ``xlogx[n] = n·ln n``.
    """

    rows: Csr
    columns: Csr
    bits: Array
    n_on: Array
    xlogx: Array


@kernel
def popcount(word: np.uint64) -> np.uint64:
    """Number of ones in a 64-bit word, written so that LLVM recognises it and emits the processor's instruction."""
    word = word - ((word >> np.uint64(1)) & np.uint64(0x5555555555555555))
    word = (word & np.uint64(0x3333333333333333)) + (
        (word >> np.uint64(2)) & np.uint64(0x3333333333333333)
    )
    word = (word + (word >> np.uint64(4))) & np.uint64(0x0F0F0F0F0F0F0F0F)
    return (word * np.uint64(0x0101010101010101)) >> np.uint64(56)


@kernel
def pack_bits(columns: Csr, first: Int, last: Int, bits: Array) -> None:
    """Write variables ``first..last`` as bitsets over the rows: ``bits`` is (V, ⌈N/64⌉) uint64."""
    start, items = columns.start, columns.items
    for i in range(first, last):
        for k in range(start[i], start[i + 1]):
            row = items[k]
            bits[i, row >> 6] |= np.uint64(1) << np.uint64(row & 63)


@kernel
def _joint_counts(i: Int, data: PairData, counts: Array, touched: Array) -> Int:
    """Add to ``counts[j]`` the rows where i and j are both on; list those j in ``touched``, return how many.

    The work is V·N/64 with bitsets, otherwise the number of entries in the rows where i is on.
    """
    row_start, row_items = data.rows.start, data.rows.items
    col_start, col_items = data.columns.start, data.columns.items
    bits = data.bits
    n_variables = counts.size
    n_touched = 0
    if bits.shape[0] > 0:
        for j in range(n_variables):
            total = np.uint64(0)
            for word in range(bits.shape[1]):
                total += popcount(bits[i, word] & bits[j, word])
            if total > 0:
                counts[j] = np.int64(total)
                touched[n_touched] = j
                n_touched += 1
        return n_touched
    for k in range(col_start[i], col_start[i + 1]):
        row = col_items[k]
        for t in range(row_start[row], row_start[row + 1]):
            j = row_items[t]
            if counts[j] == 0:
                touched[n_touched] = j
                n_touched += 1
            counts[j] += 1
    return n_touched


@kernel
def information(
    n11: Int, n_i: Int, n_j: Int, entropy_i: float, entropy_j: float, xlogx: Array
) -> float:
    """N·MI in nats of a 2×2 table given by its corner and margins.

    ``xlogx[n] = n·ln n``; ``entropy_i = xlogx[n_i] + xlogx[N − n_i]``. The sum is ordered so that swapping the two
    variables gives the same bits.
    """
    n_rows = xlogx.size - 1
    cells = (xlogx[n11] + xlogx[n_rows - n_i - n_j + n11]) + (xlogx[n_i - n11] + xlogx[n_j - n11])
    value: float = (cells - (entropy_i + entropy_j)) + xlogx[n_rows]
    return max(0.0, value)


@kernel
def _better(value_a: float, index_a: Int, value_b: float, index_b: Int) -> bool:
    """Order of partners: more information first, then the smaller index."""
    return value_a > value_b or (value_a == value_b and index_a < index_b)


@kernel
def _sift_down(values: Array, indices: Array, start: Int, size: Int) -> None:
    """Restore the heap whose root is the worst kept partner."""
    root: int = start
    while True:
        child = 2 * root + 1
        if child >= size:
            return
        if child + 1 < size and _better(
            values[child], indices[child], values[child + 1], indices[child + 1]
        ):
            child += 1
        if not _better(values[root], indices[root], values[child], indices[child]):
            return
        values[root], values[child] = values[child], values[root]
        indices[root], indices[child] = indices[child], indices[root]
        root = child


@kernel
def _offer(values: Array, indices: Array, size: Int, value: float, index: Int) -> Int:
    """Offer a partner to the heap of the best; returns the new size."""
    capacity = values.size
    if size < capacity:
        values[size] = value
        indices[size] = index
        size += 1
        if size == capacity:
            for start in range(capacity // 2 - 1, -1, -1):
                _sift_down(values, indices, start, capacity)
    elif _better(value, index, values[0], indices[0]):
        values[0] = value
        indices[0] = index
        _sift_down(values, indices, np.int64(0), capacity)
    return size


@kernel
def _choose(
    i: Int,
    counts: Array,
    touched: Array,
    alive: Array,
    frequent_first: Array,
    n_on: Array,
    xlogx: Array,
    partners: Array,
    values: Array,
) -> None:
    """The best partners of variable i, best first, from its joint counts with all others (V,).

    ``touched`` lists the variables with a count above 0, in any order; ``partners`` and ``values`` (m,) are filled.
    """
    n_rows = xlogx.size - 1
    zero = np.int64(0)
    entropy_i = xlogx[n_on[i]] + xlogx[n_rows - n_on[i]]
    size = 0
    for j in touched:
        if alive[j] and j != i:
            entropy_j = xlogx[n_on[j]] + xlogx[n_rows - n_on[j]]
            value = information(counts[j], n_on[i], n_on[j], entropy_i, entropy_j, xlogx)
            size = _offer(values, partners, size, value, j)
    for j in frequent_first:
        if counts[j] == 0 and j != i:
            entropy_j = xlogx[n_on[j]] + xlogx[n_rows - n_on[j]]
            value = information(zero, n_on[i], n_on[j], entropy_i, entropy_j, xlogx)
            if size == values.size and not _better(value, j, values[0], partners[0]):
                break
            size = _offer(values, partners, size, value, j)
    if size < values.size:
        for start in range(size // 2 - 1, -1, -1):
            _sift_down(values, partners, start, size)
    for end in range(size - 1, 0, -1):  # heap sort: worst to the back
        values[0], values[end] = values[end], values[0]
        partners[0], partners[end] = partners[end], partners[0]
        _sift_down(values, partners, zero, end)
    for t in range(size, values.size):
        values[t] = 0.0
        partners[t] = -1


@kernel
def best_partners(
    variables: Array,
    data: PairData,
    alive: Array,
    frequent_first: Array,
    best: Array,
    best_value: Array,
) -> None:
    """For each listed variable, its best available partners by mutual information, best first.

    A partner that shares no row with the variable needs no count: its information rises with the partner's frequency
    alone. Such partners are offered from the most frequent on, until one is not good enough.

    Parameters
    ----------
    variables : int32 (B,), the variables to find partners for.
    alive : bool (V,), which variables may be a partner; a constant variable may not.
    frequent_first : int32, the variables that may be a partner, by falling count, then by index.
    best, best_value : int32 and float64 (B, m), filled with partners and N·MI; unused places with −1 and 0.
    """
    n_variables = data.n_on.size
    counts = np.zeros(n_variables, np.int32)
    touched = np.empty(n_variables, np.int32)
    for b in range(variables.size):
        i = variables[b]
        n_touched = _joint_counts(i, data, counts, touched)
        _choose(
            i,
            counts,
            touched[:n_touched],
            alive,
            frequent_first,
            data.n_on,
            data.xlogx,
            best[b],
            best_value[b],
        )
        for t in range(n_touched):
            counts[touched[t]] = 0
