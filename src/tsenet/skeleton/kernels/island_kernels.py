"""Growing one island: a group of variables that one latent explains (paper §3.1; ALGORITHM §2).

The rows enter only through the table of the members' patterns (:mod:`tsenet.skeleton.kernels.pattern_kernels`).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from tsenet._system.jit import Array, Int, kernel
from tsenet.skeleton.kernels.em_kernels import fit_join, fit_seed, fit_split
from tsenet.skeleton.kernels.pair_kernels import Csr
from tsenet.skeleton.kernels.pattern_kernels import (
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


class SearchState(NamedTuple):
    """The data of a layer, and which of its V variables are still free.

    Fields
    ------
    n_rows : number of rows N.
    columns : the rows in which each variable is on.
    partners, gain : int32 and float64 (V, m), each variable's best partners, best first, and N·MI with them; −1 after
        the last partner.
    alive : bool (V,), the variables that belong to no island yet.
    """

    n_rows: int
    columns: Csr
    partners: Array
    gain: Array
    alive: Array


class GrowthOptions(NamedTuple):
    """When an island stops growing and how its models are fitted.

    Fields
    ------
    ud_threshold : δ of the uni-dimensionality test.
    min_gain : smallest N·MI with its closest member at which a candidate may join (the correlation test).
    restarts : starting points of each small EM.
    smooth : rows added to every count of an M-step.
    refit_steps : EM steps over all members when the island is complete.
    """

    ud_threshold: float
    min_gain: float
    restarts: int
    smooth: float
    refit_steps: int


class GrownIslands(NamedTuple):
    """Islands grown from P pairs of seeds, none larger than K.

    Fields
    ------
    members : int32 (P, K), the variables of each island.
    table : float64 (P, K, 2), P(x=1|Y=0) and P(x=1|Y=1) of each member.
    looked_at : int32 (P, K + 1), the variables whose being free decided how the island grew.
    sizes : int64 (P, 3), the number of members, the number of variables looked at, and the variable whose list of
        partners ended too early, or −1.
    prior : float64 (P,), P(Y=1).
    """

    members: Array
    table: Array
    looked_at: Array
    sizes: Array
    prior: Array


@kernel
def _best_candidate(
    members: Array, n_members: Int, state: SearchState, place: Array
) -> tuple[Int, Int, float, Int]:
    """Free variable closest to a member: (candidate, position of that member, N·MI, exhausted member or −1).

    ``place[k]`` is the position in member k's list of partners up to which all partners are taken. A member is
    exhausted if it has reached the end of its list and a variable that is not on the list could still be the best.
    """
    partners, gain, alive = state.partners, state.gain, state.alive
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

    W is the member at position ``closest``. The other members contribute equally to both models, through the
    patterns' ratios.
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
    options: GrowthOptions,
    key: Int,
    joined: Array,
) -> bool:
    """The uni-dimensionality test of members (``table`` (k, 2)) and the marked candidate; fills ``joined`` (2,)."""
    restarts, smooth = options.restarts, options.smooth
    first, second, third = np.int64(0), np.int64(1), np.int64(2)
    cells = pair_cells(patterns, n_patterns, first, second, third)
    fit_join(fixed_pair(prior, table[0], table[1]), cells, smooth, joined)
    # M2 keeps the tables of two members fixed; W cannot be one of them.
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
    return bool(advantage <= np.log(n_rows) + options.ud_threshold)


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
    """Remove the dropped member (−1: none) in place; returns the positions the others have in the patterns."""
    positions = np.empty(n_members if dropped < 0 else n_members - 1, np.int64)
    for t in range(positions.size):
        positions[t] = t if dropped < 0 or t < dropped else t + 1
        members[t] = members[positions[t]]
        table[t, 0] = table[positions[t], 0]
        table[t, 1] = table[positions[t], 1]
    return positions


@kernel
def fit_pair(patterns: Array, n_patterns: Int, positions: Array, table: Array) -> float:
    """Parameters for an island of two variables; fills ``table`` and returns P(Y=1).

    Two variables do not determine the model: infinitely many parameters fit them exactly. This takes the fit in which
    neither variable occurs in state 0, so that state 1 means "at least one of the two is on". For two variables that
    exclude each other, the second is taken as its negation.
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
    state: SearchState,
    options: GrowthOptions,
    key: Int,
    pattern_of: Array,
    members: Array,
    table: Array,
    looked_at: Array,
) -> tuple[Int, Int, float, Int]:
    """Grow the island of two seeds until the uni-dimensionality test fails, or nothing more may join.

    The result depends on ``state.alive`` only through the variables in ``looked_at``: as long as those are free, the
    island is the same whatever other islands took. This is why several islands can be grown in advance, in parallel.

    Parameters
    ----------
    key : seed of the random starting points.
    pattern_of : int32 (N,), working memory: all zero before the call and after it.
    members, table, looked_at : int32 (K,), float64 (K, 2), int32 (K + 1,), filled; K is the largest island allowed.

    Returns
    -------
    (number of members, number looked at, P(Y=1), variable whose list of partners ended too early or −1)
    """
    n_rows, (col_start, col_items), _, gain, _ = state
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
    exhausted: Int = np.int64(-1)
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
            options,
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
            prior, _ = fit_seed(
                seed_cells(patterns, n_patterns), options.restarts, key, options.smooth, table[:3]
            )
            multiply_ratios(patterns, n_patterns, first, table[:3])
        elif n_members > 3:
            multiply_ratios(patterns, n_patterns, n_members - 1, table[n_members - 1 : n_members])

        if n_members == 1:
            candidate = seed_b
            continue
        if n_members == members.size:
            break
        candidate, closest, value, exhausted = _best_candidate(members, n_members, state, place)
        if exhausted >= 0 and gain[exhausted, gain.shape[1] - 1] < options.min_gain:
            exhausted = -1  # variables beyond the end of the list are not correlated enough to join
        if exhausted >= 0 or candidate < 0 or value < options.min_gain:
            break

    forget_rows(members[:n_members], state.columns, pattern_of)
    positions = drop_member(members, table, n_members, dropped)
    n_members = positions.size
    if n_members == 2:
        prior = fit_pair(patterns, n_patterns, positions, table)
    else:
        prior = refit(
            patterns,
            n_patterns,
            positions,
            prior,
            table[:n_members],
            options.smooth,
            options.refit_steps,
        )
    return n_members, n_looked_at, prior, exhausted


@kernel
def grow_islands(
    seeds: Array,
    state: SearchState,
    options: GrowthOptions,
    key: Int,
    pattern_of: Array,
    out: GrownIslands,
) -> None:
    """Grow an island from each pair of ``seeds`` (P, 2) independently, and fill ``out``.

    ``pattern_of`` is working memory as for :func:`grow_island`.
    """
    members, table, looked_at, sizes, prior = out
    for p in range(seeds.shape[0]):
        seed_a, seed_b = seeds[p, 0], seeds[p, 1]
        sizes[p, 0], sizes[p, 1], prior[p], sizes[p, 2] = grow_island(
            seed_a,
            seed_b,
            state,
            options,
            key + 1_000_003 * seed_a + seed_b,
            pattern_of,
            members[p],
            table[p],
            looked_at[p],
        )
