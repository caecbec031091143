"""Kernels for pairwise counts and mutual information (paper §3.1), and for comparing a variable's latents."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from tsenet._system.jit import Array, Int, kernel
from tsenet.skeleton.kernels.csr import Csr


class PairData(NamedTuple):
    """What finding the best of P partners for each of V variables in N binary rows needs.

    Fields
    ------
    columns : the rows in which each variable is on.
    rows : the partners that are on in each row: other variables, or latents.
    joint : int32 (V, P), in how many rows a variable and a partner are both on; (0, 0) to count them here.
    n_on : int64 (P,), in how many rows each partner is on.
    xlogx : float64 (N + 1,), ``xlogx[n] = n·ln n``.
    alive : bool (P,), which partners are available.
    own : int32 (V,), the partner that each variable may not have; −1 for none.
    frequent_first : int32, the partners that count even if they share no row with the variable, by falling count,
        then by index.
    positive : whether only positive ties count.
    """

    columns: Csr
    rows: Csr
    joint: Array
    n_on: Array
    xlogx: Array
    alive: Array
    own: Array
    frequent_first: Array
    positive: bool


@kernel
def information(n11: Int, n_i: Int, n_j: Int, xlogx: Array) -> float:
    """N·MI in nats of a 2×2 table given by its corner and margins; ``xlogx[n] = n·ln n``.

    The sum is ordered so that swapping the two variables gives the same bits.
    """
    n_rows = xlogx.size - 1
    cells = (xlogx[n11] + xlogx[n_rows - n_i - n_j + n11]) + (xlogx[n_i - n11] + xlogx[n_j - n11])
    margins = (xlogx[n_i] + xlogx[n_rows - n_i]) + (xlogx[n_j] + xlogx[n_rows - n_j])
    n_information: float = (cells - margins) + xlogx[n_rows]
    return max(0.0, n_information)


@kernel
def _offer(gains: Array, indices: Array, size: Int, gain: float, index: Int) -> Int:
    """Put a partner in its place in the list of the best: more information first, then the smaller index."""
    position = size
    while position > 0:
        previous = position - 1
        if gains[previous] > gain or (gains[previous] == gain and indices[previous] < index):
            break
        if position < gains.size:
            gains[position] = gains[previous]
            indices[position] = indices[previous]
        position = previous

    if position == gains.size:
        return size
    gains[position] = gain
    indices[position] = index
    return min(size + 1, gains.size)


@kernel
def best_partners(
    variables: Array, data: PairData, best: Array, best_value: Array, n_shared: Array
) -> None:
    """For each listed variable, its best available partners by mutual information, best first.

    A partner that shares no row with the variable needs no count: its information rises with the partner's frequency
    alone. Such partners are offered from the most frequent on, until one is not good enough.

    Parameters
    ----------
    variables : int32 (B,), the variables to find partners for.
    best, best_value : int32 and float64 (B, m), filled with partners and N·MI; unused places with −1 and 0.
    n_shared : int64 (B,), filled with the rows that a variable shares with its best partner; 0 without one.
    """
    row_start, row_items = data.rows
    col_start, col_items = data.columns
    n_on = data.n_on
    xlogx = data.xlogx
    alive = data.alive
    n_rows = np.int64(xlogx.size - 1)
    n_all = n_on.size
    n_best = best.shape[1]
    counts = np.zeros(n_all, np.int32)
    touched = np.empty(n_all, np.int32)

    for b in range(variables.size):
        i = variables[b]
        own_latent = data.own[i]
        n_i = col_start[i + 1] - col_start[i]
        gains = best_value[b]
        partners = best[b]

        # In how many rows each other variable is on together with i.
        n_touched = 0
        if data.joint.shape[0] > 0:
            for j in range(n_all):
                counts[j] = data.joint[i, j]
                if counts[j] > 0:
                    touched[n_touched] = j
                    n_touched += 1
        else:
            for k in range(col_start[i], col_start[i + 1]):
                row = col_items[k]
                for t in range(row_start[row], row_start[row + 1]):
                    j = row_items[t]
                    if counts[j] == 0:
                        touched[n_touched] = j
                        n_touched += 1
                    counts[j] += 1

        # Those that share a row, …
        size = np.int64(0)
        for t in range(n_touched):
            j = touched[t]
            if not alive[j] or j == own_latent:
                continue
            if data.positive and n_rows * counts[j] <= n_i * n_on[j]:
                continue
            gain = information(counts[j], n_i, n_on[j], xlogx)
            if size < n_best or gain >= gains[n_best - 1]:
                size = _offer(gains, partners, size, gain, j)

        # … and those that do not.
        for j in data.frequent_first:
            if counts[j] > 0 or j == own_latent:
                continue
            gain = information(np.int32(0), n_i, n_on[j], xlogx)
            if size == n_best and gain < gains[n_best - 1]:
                break
            size = _offer(gains, partners, size, gain, j)

        for t in range(size, n_best):
            gains[t] = 0.0
            partners[t] = -1

        n_shared[b] = counts[partners[0]] if size > 0 else 0
        for t in range(n_touched):
            counts[touched[t]] = 0


class Assignment(NamedTuple):
    """Which latent each of V variables belongs to, and what the L latents' groups say about them.

    Fields
    ------
    own : int32 (V,), the latent of each variable.
    start, row, logodds : for latent z the rows in which a member is on, ascending, and the log-odds of z there, at
        ``start[z]:start[z + 1]``; in all other rows they are ``base[z]``.
    base : float64 (L,), log-odds when no member is on.
    weight, off_evidence : float64 (V,), what a variable adds to the log-odds when on instead of off, and when off.
    """

    own: Array
    start: Array
    row: Array
    logodds: Array
    base: Array
    weight: Array
    off_evidence: Array


@kernel
def compare_assignments(
    first: int,
    last: int,
    variables: Array,
    target: Array,
    assignment: Assignment,
    columns: Csr,
    completed: Csr,
    n_rows: int,
    out: Array,
) -> None:
    """Joint counts of each variable, its own latent and another one.

    The state of a variable's own latent is decided from the *other* members of the group, so that the variable itself
    adds no evidence.

    Parameters
    ----------
    variables, target : int32 (B,), the variables and for each the other latent; the call handles ``first..last``.
    assignment : the present one.
    columns : the rows in which each variable is on.
    completed : the rows in which the completed data have each latent on.
    out : int64 (B, 2, 2, 2), zero at first: rows by state of the variable, its own latent, and the other.
    """
    own, entry_start, entry_row, entry_logodds, base, weight, off_evidence = assignment
    col_start, col_items = columns
    latent_start, latent_items = completed
    for b in range(first, last):
        v = variables[b]
        z = own[v]
        k = col_start[v]
        t = latent_start[target[b]]
        t_end = latent_start[target[b] + 1]
        n_other = t_end - t

        for e in range(entry_start[z], entry_start[z + 1]):
            row = entry_row[e]
            x = 0
            logodds = entry_logodds[e] - off_evidence[v]
            if k < col_start[v + 1] and col_items[k] == row:
                k += 1
                x = 1
                logodds -= weight[v]

            while t < t_end and latent_items[t] < row:
                t += 1

            y = 1 if t < t_end and latent_items[t] == row else 0
            n_other -= y
            out[b, x, 1 if logodds > 0.0 else 0, y] += 1

        off_state = 1 if base[z] - off_evidence[v] > 0.0 else 0
        n_entries = entry_start[z + 1] - entry_start[z]
        out[b, 0, off_state, 1] += n_other
        out[b, 0, off_state, 0] += n_rows - n_entries - n_other
