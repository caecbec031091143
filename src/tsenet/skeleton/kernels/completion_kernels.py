"""Kernels for data completion: each latent's log-odds given its own group, row by row (paper §3.2)."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from tsenet._system.jit import Array, kernel
from tsenet.skeleton.kernels.pair_kernels import Csr, information


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
def complete_rows(
    first: int,
    last: int,
    rows: Csr,
    latent_of: Array,
    weight: Array,
    base: Array,
    out_latent: Array,
    out_logodds: Array,
    out_size: Array,
) -> None:
    """Log-odds of every latent that has a member on in the row; all other latents keep ``base``.

    Parameters
    ----------
    latent_of : int32 (V,), the latent of each variable or −1.
    weight : float64 (V,), what the variable adds to the log-odds when it is on.
    base : float64 (L,), log-odds when no member is on.
    out_latent, out_logodds : (nnz,), filled from ``rows.start[row]`` on, latents ascending.
    out_size : int64 (N,), how many entries each row got.
    """
    row_start, row_items = rows.start, rows.items
    logodds = np.zeros(base.size)
    met = np.zeros(base.size, np.bool_)
    for row in range(first, last):
        start = row_start[row]
        size = 0
        for t in range(start, row_start[row + 1]):
            v = row_items[t]
            z = latent_of[v]
            if z < 0:
                continue
            if not met[z]:
                met[z] = True
                logodds[z] = base[z]
                out_latent[start + size] = z
                size += 1
            logodds[z] += weight[v]
        out_latent[start : start + size].sort()
        for t in range(start, start + size):
            z = out_latent[t]
            out_logodds[t] = logodds[z]
            met[z] = False
        out_size[row] = size


@kernel
def close_gaps(
    row_start: Array,
    start: Array,
    latent: Array,
    logodds: Array,
    out_latent: Array,
    out_logodds: Array,
) -> None:
    """Move each row's entries from ``row_start[row]`` on to ``start[row]:start[row + 1]``."""
    for row in range(start.size - 1):
        source = row_start[row]
        for t in range(start[row], start[row + 1]):
            out_latent[t] = latent[source]
            out_logodds[t] = logodds[source]
            source += 1


@kernel
def harden_rows(
    start: Array, latent: Array, logodds: Array, flipped: Array, out_start: Array, out: Array
) -> None:
    """The latents that are on in each row, ascending, into ``out`` from ``out_start[row]`` on.

    A latent is on in a row if its log-odds there are positive. Where a row has no entry for it, it is on if it is in
    ``flipped`` (ascending). With an empty ``out`` only ``out_start`` (N + 1,) is filled.
    """
    if out.size == 0:
        out_start[0] = 0
    for row in range(start.size - 1):
        place = out_start[row]
        f = 0
        for t in range(start[row], start[row + 1]):
            z = latent[t]
            while f < flipped.size and flipped[f] < z:
                if out.size > 0:
                    out[place] = flipped[f]
                place += 1
                f += 1
            if f < flipped.size and flipped[f] == z:
                f += 1
            if logodds[t] > 0.0:
                if out.size > 0:
                    out[place] = z
                place += 1
        while f < flipped.size:
            if out.size > 0:
                out[place] = flipped[f]
            place += 1
            f += 1
        if out.size == 0:
            out_start[row + 1] = place


@kernel
def best_latents(
    first: int,
    last: int,
    variables: Array,
    columns: Csr,
    completed: Csr,
    latent_on: Array,
    own: Array,
    xlogx: Array,
    best: Array,
    joint: Array,
) -> None:
    """For each variable the latent with the most mutual information, among those on together with it.

    Parameters
    ----------
    variables : int32 (B,); the call handles ``first..last``.
    columns : the rows in which each variable is on.
    completed : the latents that are on in each row.
    latent_on : int64 (L,), in how many rows each latent is on.
    own : int32 (V,), a latent to leave out for each variable, or −1.
    best, joint : int32 and int64 (B,), filled: the latent and the rows where both are on; −1 and 0 if no latent is on
        together with the variable.
    """
    col_start, col_items = columns.start, columns.items
    latent_start, latent_items = completed.start, completed.items
    n_rows = xlogx.size - 1
    counts = np.zeros(latent_on.size, np.int64)
    met = np.empty(latent_on.size, np.int32)
    for b in range(first, last):
        v = variables[b]
        n_v = col_start[v + 1] - col_start[v]
        n_met = 0
        for t in range(col_start[v], col_start[v + 1]):
            row = col_items[t]
            for s in range(latent_start[row], latent_start[row + 1]):
                z = latent_items[s]
                if counts[z] == 0:
                    met[n_met] = z
                    n_met += 1
                counts[z] += 1
        best[b] = -1
        joint[b] = 0
        gain = 0.0
        entropy = xlogx[n_v] + xlogx[n_rows - n_v]
        for t in range(n_met):
            z = met[t]
            n_z = latent_on[z]
            if z != own[v]:
                value = information(
                    counts[z], n_v, n_z, entropy, xlogx[n_z] + xlogx[n_rows - n_z], xlogx
                )
                if best[b] < 0 or value > gain or (value == gain and z < best[b]):
                    best[b] = z
                    joint[b] = counts[z]
                    gain = value
            counts[z] = 0


@kernel
def _conditional_gain(table: Array) -> float:
    """N · I(first; second | third) in nats of an 8-cell table of counts (2, 2, 2)."""
    gain = 0.0
    for c in range(2):
        total = table[0, 0, c] + table[0, 1, c] + table[1, 0, c] + table[1, 1, c]
        for a in range(2):
            for b in range(2):
                n = table[a, b, c]
                if n > 0:
                    n_a = table[a, 0, c] + table[a, 1, c]
                    n_b = table[0, b, c] + table[1, b, c]
                    gain += n * np.log(n * total / (n_a * n_b))
    return max(gain, 0.0)


@kernel
def compare_assignments(
    first: int,
    last: int,
    variables: Array,
    target: Array,
    now: Assignment,
    columns: Csr,
    completed: Csr,
    n_rows: int,
    stay: Array,
    go: Array,
) -> None:
    """Information that each variable shares with its own latent given another one, and the other way round.

    The state of a variable's own latent is decided from the *other* members of the group, so that the variable itself
    adds no evidence.

    Parameters
    ----------
    variables, target : int32 (B,), the variables and for each the other latent; the call handles ``first..last``.
    now : the present assignment.
    columns : the rows in which each variable is on.
    completed : the rows in which the completed data have each latent on.
    stay, go : float64 (B,), filled with N·I(x; own | other) and N·I(x; other | own).
    """
    own, entry_start, entry_row, entry_logodds = now.own, now.start, now.row, now.logodds
    base, weight, off_evidence = now.base, now.weight, now.off_evidence
    col_start, col_items = columns.start, columns.items
    latent_start, latent_items = completed.start, completed.items
    by_other = np.empty((2, 2, 2), np.int64)  # x, own, other
    by_own = np.empty((2, 2, 2), np.int64)  # x, other, own
    for b in range(first, last):
        v = variables[b]
        z = own[v]
        other = target[b]
        by_other[:] = 0
        k = col_start[v]
        t = latent_start[other]
        t_end = latent_start[other + 1]
        n_entries = entry_start[z + 1] - entry_start[z]
        n_met = 0
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
            n_met += y
            by_other[x, 1 if logodds > 0.0 else 0, y] += 1
        off_state = 1 if base[z] - off_evidence[v] > 0.0 else 0
        n_other = t_end - latent_start[other] - n_met
        by_other[0, off_state, 1] += n_other
        by_other[0, off_state, 0] += n_rows - n_entries - n_other
        for x in range(2):
            for o in range(2):
                for y in range(2):
                    by_own[x, y, o] = by_other[x, o, y]
        stay[b] = _conditional_gain(by_other)
        go[b] = _conditional_gain(by_own)
