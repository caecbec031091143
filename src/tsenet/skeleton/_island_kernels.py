"""Growing one island: a group of variables that one latent explains (paper §3.1; ALGORITHM §2).

The rows enter only through the table of the members' patterns (:mod:`tsenet.skeleton._pattern_kernels`).
"""

from __future__ import annotations

import numpy as np

from tsenet._system.jit import Array, Int, kernel
from tsenet.skeleton._em_kernels import fit_join, fit_seed, fit_split
from tsenet.skeleton._pattern_kernels import (
    PATTERN,
    RATIO_BOUND,
    bit,
    chance,
    forget_rows,
    mark_candidate,
    multiply_ratios,
    pair_cells,
    seed_cells,
    split_patterns,
)

FIRST_ROOM = 64


@kernel
def _best_candidate(
    members: Array, n_members: Int, partners: Array, gain: Array, alive: Array, place: Array
) -> tuple[Int, Int, float, Int]:
    """Living non-member closest to a member: (candidate, position of that member, N·MI, dry member or −1).

    ``place[k]`` remembers how far member k's list is used up. A member is dry if its list has run out and a
    partner that never was on the list could still be the best.
    """
    m = partners.shape[1]
    best = -1
    best_gain = -1.0
    closest = -1
    for k in range(n_members):
        member = members[k]
        while place[k] < m and partners[member, place[k]] >= 0:
            j = partners[member, place[k]]
            inside = False
            for t in range(n_members):
                inside = inside or members[t] == j
            if alive[j] and not inside:
                value = gain[member, place[k]]
                if value > best_gain or (value == best_gain and j < best):
                    best = j
                    best_gain = value
                    closest = k
                break
            place[k] += 1
    for k in range(n_members):
        if place[k] == m and gain[members[k], m - 1] >= best_gain:
            return best, closest, best_gain, members[k]
    return best, closest, best_gain, -1


@kernel
def fixed_pair(prior: float, first: Array, second: Array) -> Array:
    """P(Y=y, f) for the four values of two members with tables ``first`` and ``second``: shape (2, 4)."""
    fixed = np.empty((2, 4))
    for y in range(2):
        weight = chance(prior, y)
        for f in range(4):
            fixed[y, f] = weight * chance(first[y], f >> 1) * chance(second[y], f & 1)
    return fixed


@kernel
def split_advantage(
    patterns: Array,
    n_patterns: Int,
    prior: float,
    closest: Int,
    closest_table: Array,
    joined: Array,
    split: Array,
) -> float:
    """LL(M2) − LL(M1) on all members and the candidate, over every row.

    The members other than W (at position ``closest``) enter both models alike, through the patterns' ratios.
    ``joined`` (2,) is P(X=1|Y) of M1, ``split`` (3, 2) M2's P(Z=1|Y), P(W=1|Z), P(X=1|Z).
    """
    one = np.empty((2, 2, 2))
    two = np.zeros((2, 2, 2))
    for w in range(2):
        for x in range(2):
            for y in range(2):
                weight = chance(prior, y)
                one[w, x, y] = weight * chance(closest_table[y], w) * chance(joined[y], x)
                for z in range(2):
                    p_z = chance(split[0, y], z)
                    two[w, x, y] += weight * p_z * chance(split[1, z], w) * chance(split[2, z], x)
    advantage = 0.0
    for p in range(n_patterns):
        w = bit(patterns[p].bits, closest)
        rest = patterns[p].ratio * chance(closest_table[0], w) / chance(closest_table[1], w)
        for x in range(2):
            rows = patterns[p].on if x else patterns[p].count - patterns[p].on
            if rows > 0:
                better = two[w, x, 0] + rest * two[w, x, 1]
                plain = one[w, x, 0] + rest * one[w, x, 1]
                advantage += rows * np.log(better / plain)
    return advantage


@kernel
def one_latent_suffices(
    patterns: Array,
    n_patterns: Int,
    n_rows: Int,
    prior: float,
    table: Array,
    closest: Int,
    ud_threshold: float,
    restarts: Int,
    smooth: float,
    key: Int,
    joined: Array,
) -> bool:
    """The uni-dimensionality test of members (``table`` (k, 2)) and the marked candidate; fills ``joined`` (2,)."""
    first, second, third = np.int64(0), np.int64(1), np.int64(2)
    cells = pair_cells(patterns, n_patterns, first, second, third)
    fit_join(fixed_pair(prior, table[0], table[1]), cells, smooth, joined)
    # M2 keeps two members as they are; W cannot be one of them.
    if closest == first:
        first = third
    elif closest == second:
        second = third
    split = np.empty((3, 2))
    fit_split(
        fixed_pair(prior, table[first], table[second]),
        pair_cells(patterns, n_patterns, first, second, closest),
        restarts,
        key,
        smooth,
        split,
    )
    advantage = split_advantage(patterns, n_patterns, prior, closest, table[closest], joined, split)
    return bool(advantage <= np.log(n_rows) + ud_threshold)


@kernel
def refit(
    patterns: Array,
    n_patterns: Int,
    positions: Array,
    prior: float,
    table: Array,
    smooth: float,
    steps: Int,
) -> float:
    """EM on all members at once, a few steps from the progressive estimates; ``table`` (k, 2) in place."""
    k = positions.size
    for _ in range(steps):
        total = 0.0
        on_total = 0.0
        on = np.zeros((k, 2))
        for p in range(n_patterns):
            count = patterns[p].count
            if count == 0:
                continue
            odds = prior / (1.0 - prior)
            for t in range(k):
                state = bit(patterns[p].bits, positions[t])
                odds *= chance(table[t, 1], state) / chance(table[t, 0], state)
            odds = min(odds, RATIO_BOUND)
            share = count * odds / (1.0 + odds)
            total += count
            on_total += share
            for t in range(k):
                if bit(patterns[p].bits, positions[t]):
                    on[t, 1] += share
                    on[t, 0] += count - share
        prior = (on_total + smooth) / (total + 2.0 * smooth)
        for t in range(k):
            table[t, 0] = (on[t, 0] + smooth) / (total - on_total + 2.0 * smooth)
            table[t, 1] = (on[t, 1] + smooth) / (on_total + 2.0 * smooth)
    return prior


@kernel
def drop_member(members: Array, table: Array, n_members: Int, dropped: Int) -> Array:
    """Close the gap of the dropped member (−1: none); returns the positions the others have in the patterns."""
    positions = np.empty(n_members if dropped < 0 else n_members - 1, np.int64)
    for t in range(positions.size):
        positions[t] = t if dropped < 0 or t < dropped else t + 1
        members[t] = members[positions[t]]
        table[t, 0] = table[positions[t], 0]
        table[t, 1] = table[positions[t], 1]
    return positions


@kernel
def fit_pair(patterns: Array, n_patterns: Int, positions: Array, table: Array) -> float:
    """Parameters for an island of two, where one latent has a whole line of perfect fits; returns P(Y=1).

    The fit taken is the one whose off state never shows the first variable, nor the second (or, for two that avoid
    each other, never the second's absence), so that completing the data reads "either word occurs".
    """
    n = np.zeros((2, 2))
    for p in range(n_patterns):
        bits = patterns[p].bits
        n[bit(bits, positions[0]), bit(bits, positions[1])] += patterns[p].count
    total = n[0, 0] + n[0, 1] + n[1, 0] + n[1, 1]
    together = n[1, 1] * n[0, 0] >= n[1, 0] * n[0, 1]
    both = (n[1, 1] if together else n[1, 0]) + 0.5
    on_a = n[1, 0] + n[1, 1] + 0.5
    on_b = (n[0, 1] + n[1, 1] if together else n[0, 0] + n[1, 0]) + 0.5
    low = 0.5 / total
    table[0, 0] = low
    table[0, 1] = min(max(both / on_b, low), 1.0 - low)
    given = min(max(both / on_a, low), 1.0 - low)
    table[1, 0] = low if together else 1.0 - low
    table[1, 1] = given if together else 1.0 - given
    return float(min(max(on_a * on_b / (both * total), low), 1.0 - low))


@kernel
def grow_island(
    seed_a: Int,
    seed_b: Int,
    n_rows: Int,
    col_start: Array,
    col_items: Array,
    partners: Array,
    gain: Array,
    alive: Array,
    ud_threshold: float,
    min_gain: float,
    restarts: Int,
    smooth: float,
    refit_steps: Int,
    key: Int,
    pattern_of: Array,
    members: Array,
    table: Array,
    looked_at: Array,
) -> tuple[Int, Int, float, Int]:
    """Grow the island of two seeds until the uni-dimensionality test fails, or nothing more may join.

    A candidate joins only if its gain (N·MI with its closest member) reaches ``min_gain``: the correlation test.
    The island depends on ``alive`` only through the variables it looked at: as long as those live, the island stands
    whatever other islands took (so islands can be grown ahead, side by side).

    Parameters
    ----------
    pattern_of : int32 (N,), all zero; scratch, handed back all zero.
    members, table, looked_at : int32 (K,), float64 (K, 2), int32 (K + 1,), filled; K is the largest island allowed.

    Returns
    -------
    (number of members, number looked at, P(Y=1), variable whose list of partners ran dry or −1)
    """
    patterns = np.zeros(FIRST_ROOM, PATTERN)
    patterns[0].count = n_rows
    patterns[0].ratio = 1.0  # new patterns copy it
    n_patterns = np.int64(1)
    place = np.zeros(members.size, np.int32)
    prior = 0.5
    joined = np.zeros(2)
    first, n_looked_at = np.int64(0), np.int64(0)
    n_members: Int = np.int64(0)
    dropped: Int = np.int64(-1)
    closest: Int = np.int64(-1)
    dry: Int = np.int64(-1)
    candidate = seed_a
    while True:
        looked_at[n_looked_at] = candidate
        n_looked_at += 1
        rows = col_items[col_start[candidate] : col_start[candidate + 1]]
        mark_candidate(rows, pattern_of, patterns)
        if n_members >= 3 and not one_latent_suffices(
            patterns,
            n_patterns,
            n_rows,
            prior,
            table[:n_members],
            closest,
            ud_threshold,
            restarts,
            smooth,
            key + candidate,
            joined,
        ):
            dropped = closest
            break

        patterns, n_patterns = split_patterns(rows, pattern_of, patterns, n_patterns, n_members)
        members[n_members] = candidate
        table[n_members, 0] = joined[0]
        table[n_members, 1] = joined[1]
        n_members += 1
        if n_members == 3:
            prior, _ = fit_seed(seed_cells(patterns, n_patterns), restarts, key, smooth, table[:3])
            multiply_ratios(patterns, n_patterns, first, table[:3])
        elif n_members > 3:
            multiply_ratios(patterns, n_patterns, n_members - 1, table[n_members - 1 : n_members])

        if n_members == 1:
            candidate = seed_b
            continue
        if n_members == members.size:
            break
        candidate, closest, value, dry = _best_candidate(
            members, n_members, partners, gain, alive, place
        )
        if dry >= 0 and gain[dry, partners.shape[1] - 1] < min_gain:
            dry = -1  # whatever the list does not name is not correlated enough anyway
        if dry >= 0 or candidate < 0 or value < min_gain:
            break

    forget_rows(members[:n_members], col_start, col_items, pattern_of)
    positions = drop_member(members, table, n_members, dropped)
    n_members = positions.size
    if n_members == 2:
        prior = fit_pair(patterns, n_patterns, positions, table)
    else:
        prior = refit(
            patterns, n_patterns, positions, prior, table[:n_members], smooth, refit_steps
        )
    return n_members, n_looked_at, prior, dry


@kernel
def grow_islands(
    seeds: Array,
    n_rows: Int,
    col_start: Array,
    col_items: Array,
    partners: Array,
    gain: Array,
    alive: Array,
    ud_threshold: float,
    min_gain: float,
    restarts: Int,
    smooth: float,
    refit_steps: Int,
    key: Int,
    pattern_of: Array,
    members: Array,
    table: Array,
    looked_at: Array,
    sizes: Array,
    prior: Array,
) -> None:
    """Grow the island of each pair of ``seeds`` (P, 2), as if it were the next.

    ``members`` (P, K), ``table`` (P, K, 2), ``looked_at`` (P, K + 1) and ``prior`` (P,) are filled as by
    :func:`grow_island`; ``sizes`` (P, 3) with the numbers of members and of variables looked at, and the dry variable.
    """
    for p in range(seeds.shape[0]):
        seed_a, seed_b = seeds[p, 0], seeds[p, 1]
        sizes[p, 0], sizes[p, 1], prior[p], sizes[p, 2] = grow_island(
            seed_a,
            seed_b,
            n_rows,
            col_start,
            col_items,
            partners,
            gain,
            alive,
            ud_threshold,
            min_gain,
            restarts,
            smooth,
            refit_steps,
            key + 1_000_003 * seed_a + seed_b,
            pattern_of,
            members[p],
            table[p],
            looked_at[p],
        )
