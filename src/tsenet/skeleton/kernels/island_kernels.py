"""Growing one island: a group of variables that one latent explains (paper §3.1).

All rows with the same values of the members are one *pattern*. Joint counts of any members, and the likelihood of the
whole group, are sums over the patterns, so that testing a candidate costs its own rows plus the patterns, whatever N
is (docs/decisions.md).

A latent's distribution is ``prior`` = P(Y=1); a child's table is ``[P(x=1|Y=0), P(x=1|Y=1)]``. Each M-step adds
``SMOOTH`` to every count, so no probability is ever 0 or 1, and raises the log-likelihood plus the log of the
corresponding Beta prior.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from tsenet._system.jit import Array, Int, kernel
from tsenet.skeleton.kernels.csr import Csr

MAX_STEPS = 50  # of an EM that is continued until it converges
TRIAL_STEPS = 2  # of each starting point, before the best one is continued
REFIT_STEPS = 20  # over all members when an island is complete
TOLERANCE = 0.01  # rise of the log-likelihood, in nats over all rows, at which EM has converged
SMOOTH = 1.0  # rows added to every count of an M-step
RATIO_BOUND = 1e250  # of likelihood ratios: their products stay finite


class SearchState(NamedTuple):
    """The data of a layer, and which of its V variables are still free.

    Fields
    ------
    n_rows : number of rows N.
    columns : the rows in which each variable is on.
    partners, gain : int32 and float64 (V, m), each variable's best partners, best first, and N·MI with them; −1 after
        the last partner.
    alive : bool (V,), the variables that belong to no island yet.
    min_gain : smallest N·MI with its closest member at which a candidate may join (the correlation test).
    """

    n_rows: int
    columns: Csr
    partners: Array
    gain: Array
    alive: Array
    min_gain: float


class IslandOptions(NamedTuple):
    """How islands grow and are fitted; the defaults are :func:`tsenet.learn_tree`'s.

    Fields
    ------
    max_island : most members.
    ud_threshold : δ of the uni-dimensionality test.
    correlation_test : whether members must be significantly correlated.
    em_restarts : starting points of each small EM.
    positive : whether only positive ties count between latents.
    """

    max_island: int = 15
    ud_threshold: float = 3.0
    correlation_test: bool = True
    em_restarts: int = 3
    positive: bool = True


class Patterns(NamedTuple):
    """The patterns of an island's members; at most N + 1, the first is "all off".

    Fields
    ------
    bits : uint64, bit k: member k is on.
    n : int64, rows with this pattern.
    on : int64, those of them in which the candidate is on.
    ratio : float64, P(pattern|Y=1) / P(pattern|Y=0).
    """

    bits: Array
    n: Array
    on: Array
    ratio: Array


@kernel
def random_unit(key: int, index: int) -> float:
    """Number in (0, 1) that depends on (key, index) alone: splitmix64's finaliser on a counter."""
    z = np.uint64(key) + np.uint64(0x9E3779B97F4A7C15) * np.uint64(index + 1)
    z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    z = z ^ (z >> np.uint64(31))
    return (np.float64(z >> np.uint64(12)) + 0.5) * 2.0**-52


@kernel
def bit(bits: Int, position: Int) -> Int:
    """Value of one bit, as an index."""
    return np.int64((bits >> np.uint64(position)) & np.uint64(1))


@kernel
def chance(rate: float, state: Int) -> float:
    """P(state) of a variable that is on with probability ``rate``."""
    return rate if state else 1.0 - rate


@kernel
def fit_members(
    patterns: Patterns,
    n_patterns: Int,
    positions: Array,
    restarts: Int,
    key: Int,
    prior: float,
    table: Array,
    steps: Int,
) -> tuple[float, float]:
    """EM of Y → members, on the patterns; returns P(Y=1) and the log-likelihood before the last step.

    Parameters
    ----------
    positions : int64 (k,), the members' bits.
    restarts, key : number of starts, and seed of all but the first. A start sets P(Y=1|pattern) by the share of the
        members that are on, the first with equal and the others with random weights; the best after a few steps is
        continued until it converges. 0 takes all ``steps`` from ``prior`` and ``table`` instead.
    table : float64 (at least k, 2), changed in place.
    """
    k = positions.size
    tolerance = TOLERANCE if restarts > 0 else -np.inf
    on = np.empty((k, 2))  # expected rows with member t on and Y in state 0 or 1
    weight = np.empty(k)
    best_table = np.empty((k, 2))
    best_prior = prior
    best_loglik = -np.inf
    loglik = -np.inf
    for t in range(k):
        weight[t] = 1.0

    for start in range(restarts + 1):
        is_last = start == restarts
        if is_last:
            prior = best_prior

        for t in range(k):
            if start > 0 and not is_last:
                weight[t] = -np.log(random_unit(key, 3 * start + t))
            if is_last and restarts > 0:
                table[t, 0] = best_table[t, 0]
                table[t, 1] = best_table[t, 1]

        loglik = -np.inf
        for step in range(steps if is_last else TRIAL_STEPS + 1):
            by_weight = step == 0 and not is_last
            new_loglik = 0.0
            total = 0.0
            on_total = 0.0
            for t in range(k):
                on[t, 0] = 0.0
                on[t, 1] = 0.0

            # E-step: how many rows of each pattern have Y on.
            for p in range(n_patterns):
                count = patterns.n[p]
                if count == 0:
                    continue
                odds = prior / (1.0 - prior)
                off = 1.0 - prior
                of_on = 0.0
                of_all = 0.0
                for t in range(k):
                    state = bit(patterns.bits[p], positions[t])
                    of_all += weight[t]
                    of_on += weight[t] * state
                    if not by_weight:
                        odds *= chance(table[t, 1], state) / chance(table[t, 0], state)
                        off *= chance(table[t, 0], state)

                odds = min(odds, RATIO_BOUND)
                share = count * odds / (1.0 + odds)
                if by_weight:
                    share = count * (0.05 + 0.9 * of_on / of_all)
                else:
                    new_loglik += count * np.log(max(off, 1.0 / RATIO_BOUND) * (1.0 + odds))

                total += count
                on_total += share
                for t in range(k):
                    if bit(patterns.bits[p], positions[t]):
                        on[t, 1] += share
                        on[t, 0] += count - share

            # M-step: shares of these rows, with SMOOTH rows added to each state.
            prior = (on_total + SMOOTH) / (total + 2.0 * SMOOTH)
            for t in range(k):
                table[t, 0] = (on[t, 0] + SMOOTH) / (total - on_total + 2.0 * SMOOTH)
                table[t, 1] = (on[t, 1] + SMOOTH) / (on_total + 2.0 * SMOOTH)

            rise = np.inf if by_weight else new_loglik - loglik
            loglik = -np.inf if by_weight else new_loglik
            if is_last and rise <= tolerance:
                break

        if not is_last and loglik > best_loglik:
            best_prior = prior
            best_loglik = loglik
            for t in range(k):
                best_table[t, 0] = table[t, 0]
                best_table[t, 1] = table[t, 1]

    return prior, loglik


@kernel
def fit_join(fixed: Array, counts: Array, table: Array) -> float:
    """Model M1: X is a child of Y. Only P(X|Y) is estimated: the likelihood is concave, so one start is enough.

    Parameters
    ----------
    fixed : (2, 4), P(Y=y, f) for the four values f of the pair whose tables are fixed.
    counts : (4, 4), joint counts of f and (W, X), the second index being 2·W + X; W is summed out.
    table : (2,), filled with P(X=1|Y=y).

    Returns
    -------
    Log-likelihood on these cells.
    """
    by_x = np.empty((4, 2))
    rows = np.empty((2, 2))  # expected rows by state of Y: with X off, and on
    total = 0.0
    on = 0.0
    for f in range(counts.shape[0]):
        for x in range(2):
            by_x[f, x] = counts[f, x] + counts[f, 2 + x]
            total += by_x[f, x]
        on += by_x[f, 1]

    rate = (on + SMOOTH) / (total + 2.0 * SMOOTH)
    table[0] = rate
    table[1] = rate

    loglik = -np.inf
    for _ in range(MAX_STEPS):
        new_loglik = 0.0
        for x in range(2):
            rows[0, x] = 0.0
            rows[1, x] = 0.0

        # E-step: how many rows of each cell have Y on.
        for f in range(counts.shape[0]):
            for x in range(2):
                count = by_x[f, x]
                if count == 0:
                    continue
                off = fixed[0, f] * chance(table[0], x)
                on = fixed[1, f] * chance(table[1], x)
                new_loglik += count * np.log(on + off)
                share = count * on / (on + off)
                rows[0, x] += count - share
                rows[1, x] += share

        if new_loglik - loglik <= TOLERANCE:
            return new_loglik
        loglik = new_loglik
        for y in range(2):
            table[y] = (rows[y, 1] + SMOOTH) / (rows[y, 0] + rows[y, 1] + 2.0 * SMOOTH)

    return loglik


@kernel
def fit_split(fixed: Array, counts: Array, restarts: Int, key: Int, table: Array) -> float:
    """Model M2: a new latent Z under Y with children W and X; P(Z|Y), P(W|Z), P(X|Z) are estimated.

    Parameters
    ----------
    fixed : (2, 4), P(Y=y, f) for the four values f of the pair whose tables are fixed.
    counts : (4, 4), joint counts of f and (W, X), the second index being 2·W + X.
    table : (3, 2), filled with P(Z=1|Y=y), P(W=1|Z=z), P(X=1|Z=z).

    Returns
    -------
    Log-likelihood on these cells.
    """
    total = 0.0
    mean = np.empty(2)  # of W and X
    mean[0] = 0.0
    mean[1] = 0.0
    for f in range(counts.shape[0]):
        for wx in range(counts.shape[0]):
            total += counts[f, wx]
            mean[0] += counts[f, wx] * (wx >> 1)
            mean[1] += counts[f, wx] * (wx & 1)

    for c in range(2):
        mean[c] = (mean[c] + SMOOTH) / (total + 2.0 * SMOOTH)

    best_loglik = -np.inf
    loglik = -np.inf
    best_table = np.empty((3, 2))
    z_of_y = np.empty((2, 2))  # expected rows by state of Y and Z
    on = np.empty((2, 2))  # expected rows with W, X on, by state of Z
    joint = np.empty((2, 2))  # P(Y=y, Z=z, f, w, x)

    for start in range(restarts + 1):
        is_last = start == restarts

        # Z follows Y closely in the first start and to a random degree in the others; W and X follow Z.
        follow = 0.9 if start == 0 else random_unit(key, 4 * start)
        table[0, 0] = (1.0 - follow) * min(mean[0], mean[1]) + 1e-3
        table[0, 1] = follow
        for c in range(2):
            lift = 0.8 if start == 0 else random_unit(key, 4 * start + 1 + c)
            table[1 + c, 0] = mean[c] * (1.0 - lift)
            table[1 + c, 1] = mean[c] + (1.0 - mean[c]) * lift

        if is_last:  # continue the best start
            for k in range(3):
                for z in range(2):
                    table[k, z] = best_table[k, z]

        loglik = -np.inf
        for _ in range(MAX_STEPS if is_last else TRIAL_STEPS + 1):
            new_loglik = 0.0
            for c in range(2):
                for z in range(2):
                    z_of_y[c, z] = 0.0
                    on[c, z] = 0.0

            # E-step: P(Y, Z | f, w, x) of each cell, times its rows.
            for f in range(counts.shape[0]):
                for wx in range(counts.shape[0]):
                    count = counts[f, wx]
                    if count == 0:
                        continue
                    w = wx >> 1
                    x = wx & 1
                    total = 0.0
                    for z in range(2):
                        children = chance(table[1, z], w) * chance(table[2, z], x)
                        for y in range(2):
                            joint[y, z] = fixed[y, f] * chance(table[0, y], z) * children
                            total += joint[y, z]

                    new_loglik += count * np.log(total)
                    for y in range(2):
                        for z in range(2):
                            share = joint[y, z] * count / total
                            z_of_y[y, z] += share
                            on[0, z] += w * share
                            on[1, z] += x * share

            # M-step.
            for z in range(2):
                of_y = z_of_y[z, 0] + z_of_y[z, 1] + 2.0 * SMOOTH
                of_z = z_of_y[0, z] + z_of_y[1, z] + 2.0 * SMOOTH
                table[0, z] = (z_of_y[z, 1] + SMOOTH) / of_y
                for c in range(2):
                    table[1 + c, z] = (on[c, z] + SMOOTH) / of_z

            rise = new_loglik - loglik
            loglik = new_loglik
            if is_last and rise <= TOLERANCE:
                break

        if not is_last and loglik > best_loglik:
            best_loglik = loglik
            for k in range(3):
                for z in range(2):
                    best_table[k, z] = table[k, z]

    return loglik


@kernel
def _best_candidate(
    members: Array, n_members: Int, state: SearchState, next_partner: Array
) -> tuple[Int, Int, float, Int]:
    """Free variable closest to a member: (candidate, position of that member, N·MI, exhausted member or −1).

    ``next_partner[k]`` is the position in member k's list of partners up to which all partners are taken. A member is
    exhausted if it has reached the end of its list and a variable that is not on the list could still be the best.
    """
    partners = state.partners
    gain = state.gain
    alive = state.alive
    m = partners.shape[1]
    best: Int = np.int64(-1)
    best_gain = -1.0
    closest: Int = np.int64(-1)

    for k in range(n_members):
        member = members[k]
        while next_partner[k] < m and partners[member, next_partner[k]] >= 0:
            j = partners[member, next_partner[k]]
            inside = False
            for t in range(n_members):
                inside = inside or members[t] == j

            if alive[j] and not inside:
                n_information = gain[member, next_partner[k]]
                if n_information > best_gain or (n_information == best_gain and j < best):
                    best = np.int64(j)
                    best_gain = n_information
                    closest = k
                break

            next_partner[k] += 1

    for k in range(n_members):
        if next_partner[k] == m and gain[members[k], m - 1] >= best_gain:
            return best, closest, best_gain, np.int64(members[k])

    return best, closest, best_gain, np.int64(-1)


@kernel
def _pair_cells(
    patterns: Patterns, n_patterns: Int, first: Int, second: Int, third: Int, out: Array
) -> None:
    """Joint counts of members ``first``, ``second`` (4) by member ``third`` and the candidate (4)."""
    for f in range(4):
        for wx in range(4):
            out[f, wx] = 0.0

    for p in range(n_patterns):
        bits = patterns.bits[p]
        f = 2 * bit(bits, first) + bit(bits, second)
        w = bit(bits, third)
        out[f, 2 * w] += patterns.n[p] - patterns.on[p]
        out[f, 2 * w + 1] += patterns.on[p]


@kernel
def _fixed_pair(prior: float, table: Array, first: Int, second: Int, out: Array) -> None:
    """P(Y=y, f) for the four values f of two members: (2, 4)."""
    for y in range(2):
        for f in range(4):
            given_y = chance(table[first, y], f >> 1) * chance(table[second, y], f & 1)
            out[y, f] = chance(prior, y) * given_y


@kernel
def one_latent_suffices(
    patterns: Patterns,
    n_patterns: Int,
    n_rows: Int,
    prior: float,
    table: Array,
    closest: Int,
    options: IslandOptions,
    key: Int,
    joined: Array,
) -> bool:
    """The uni-dimensionality test of the members and the candidate X whose rows are marked in ``patterns``.

    M1 puts X under Y, M2 puts X and W, the member at position ``closest``, under a new latent. Both are scored on all
    members and rows; members other than W contribute equally to both, through the patterns' ratios. ``table`` are the
    members' tables (at least k, 2); ``joined`` (2,) is filled with P(X=1|Y) of M1.
    """
    first = np.int64(0)
    second = np.int64(1)
    cells = np.empty((4, 4))
    fixed = np.empty((2, 4))
    split = np.empty((3, 2))

    # M1.
    _fixed_pair(prior, table, first, second, fixed)
    _pair_cells(patterns, n_patterns, first, second, np.int64(2), cells)
    fit_join(fixed, cells, joined)

    # M2 keeps the tables of two members fixed; W cannot be one of them.
    if closest == first:
        first = np.int64(2)
    elif closest == second:
        second = np.int64(2)

    _fixed_pair(prior, table, first, second, fixed)
    _pair_cells(patterns, n_patterns, first, second, closest, cells)
    fit_split(fixed, cells, options.em_restarts, key, split)

    # P(W=w, X=x, Y=y) in both models.
    joint_one = np.empty((4, 2))
    joint_two = np.empty((4, 2))
    for wx in range(4):
        w = wx >> 1
        x = wx & 1
        for y in range(2):
            weight = chance(prior, y)
            joint_one[wx, y] = weight * chance(table[closest, y], w) * chance(joined[y], x)
            joint_two[wx, y] = 0.0
            for z in range(2):
                of_z = chance(split[0, y], z) * chance(split[1, z], w) * chance(split[2, z], x)
                joint_two[wx, y] += weight * of_z

    # The difference of the log-likelihoods, over all rows: the ratio of a pattern without W's part in it is that of the
    # other members, and the same in both.
    advantage = 0.0
    for p in range(n_patterns):
        w = bit(patterns.bits[p], closest)
        of_closest = chance(table[closest, 1], w) / chance(table[closest, 0], w)
        of_others = patterns.ratio[p] / of_closest
        for x in range(2):
            rows = patterns.on[p] if x else patterns.n[p] - patterns.on[p]
            if rows > 0:
                wx = 2 * w + x
                better = joint_two[wx, 0] + of_others * joint_two[wx, 1]
                plain = joint_one[wx, 0] + of_others * joint_one[wx, 1]
                advantage += rows * np.log(better / plain)

    return bool(advantage <= np.log(n_rows) + options.ud_threshold)


@kernel
def fit_pair(patterns: Patterns, n_patterns: Int, positions: Array, table: Array) -> float:
    """Parameters for an island of two variables; fills ``table`` and returns P(Y=1).

    Two variables do not determine the model: infinitely many parameters fit them exactly. This takes the fit in which
    neither variable occurs in state 0, so that state 1 means "at least one of the two is on". For two variables that
    exclude each other, the second is taken as its negation.
    """
    n = np.empty((2, 2))
    for x in range(2):
        n[0, x] = 0.0
        n[1, x] = 0.0

    for p in range(n_patterns):
        bits = patterns.bits[p]
        n[bit(bits, positions[0]), bit(bits, positions[1])] += patterns.n[p]

    # Rows in which the first variable is on, the second (or its negation) is, and both are.
    is_positive = n[1, 1] * n[0, 0] >= n[1, 0] * n[0, 1]
    n_first = n[1, 0] + n[1, 1] + 0.5
    if is_positive:
        n_second = n[0, 1] + n[1, 1] + 0.5
        n_both = n[1, 1] + 0.5
    else:
        n_second = n[0, 0] + n[1, 0] + 0.5
        n_both = n[1, 0] + 0.5

    # In state 1 each is as likely as where the other is on; then P(Y=1) = P(first) · P(second) / P(both).
    total = n[0, 0] + n[0, 1] + n[1, 0] + n[1, 1]
    low = 0.5 / total
    first_rate = min(max(n_both / n_second, low), 1.0 - low)
    second_rate = min(max(n_both / n_first, low), 1.0 - low)
    prior = min(max(n_first * n_second / (n_both * total), low), 1.0 - low)

    table[0, 0] = low
    table[0, 1] = first_rate
    table[1, 0] = low if is_positive else 1.0 - low
    table[1, 1] = second_rate if is_positive else 1.0 - second_rate
    return float(prior)


@kernel
def grow_island(
    seed_a: Int,
    seed_b: Int,
    state: SearchState,
    options: IslandOptions,
    key: Int,
    pattern_of: Array,
    patterns: Patterns,
    members: Array,
    table: Array,
) -> tuple[Int, float, Int]:
    """Grow the island of two seeds until the uni-dimensionality test fails, or nothing more may join.

    Parameters
    ----------
    key : seed of the random starting points.
    pattern_of : int32 (N,), working memory: all zero before the call and after it.
    patterns : working memory for N + 1 patterns.
    members, table : int32 (K,), float64 (K, 2), filled; K is the largest island allowed.

    Returns
    -------
    (number of members, P(Y=1), variable whose list of partners ended too early or −1)
    """
    n_rows, (col_start, col_items), _, gain, _, _ = state
    bits, count, on, ratio = patterns
    bits[0] = 0
    count[0] = n_rows
    ratio[0] = 1.0  # new patterns copy the ratio
    n_patterns: Int = np.int64(1)
    next_partner = np.zeros(members.size, np.int32)
    prior = 0.5
    joined = np.empty(2)
    joined[0] = 0.0
    joined[1] = 0.0
    n_members: Int = np.int64(0)
    dropped: Int = np.int64(-1)
    closest: Int = np.int64(-1)
    exhausted: Int = np.int64(-1)
    candidate = seed_a

    while True:
        # In how many rows of each pattern the candidate is on, and whether it may join.
        for p in range(n_patterns):
            on[p] = 0

        for t in range(col_start[candidate], col_start[candidate + 1]):
            on[pattern_of[col_items[t]]] += 1

        if n_members >= 3 and not one_latent_suffices(
            patterns, n_patterns, n_rows, prior, table, closest, options, key + candidate, joined
        ):
            dropped = closest
            break

        # The candidate joins: rows in which it is on move to patterns of their own.
        child = np.empty(n_patterns, np.int32)
        length = n_patterns
        for p in range(n_patterns):
            if on[p] == 0:
                continue

            if on[p] == count[p] and p > 0:  # all its rows move: keep its place
                child[p] = p
            else:
                child[p] = length
                bits[length] = bits[p]
                count[length] = on[p]
                ratio[length] = ratio[p]
                count[p] -= on[p]
                length += 1

            bits[child[p]] |= np.uint64(1) << np.uint64(n_members)

        n_patterns = length
        for t in range(col_start[candidate], col_start[candidate + 1]):
            pattern_of[col_items[t]] = child[pattern_of[col_items[t]]]

        members[n_members] = candidate
        table[n_members, 0] = joined[0]
        table[n_members, 1] = joined[1]
        n_members += 1

        # Three members determine the model; from then on the ratios of the patterns are kept.
        if n_members == 3:
            positions = np.empty(3, np.int64)
            for k in range(3):
                positions[k] = k

            steps = np.int64(MAX_STEPS)
            prior, _ = fit_members(
                patterns, n_patterns, positions, options.em_restarts, key, prior, table, steps
            )

        if n_members >= 3:
            for k in range(0 if n_members == 3 else n_members - 1, n_members):
                for p in range(n_patterns):
                    x = bit(bits[p], k)
                    new_ratio = ratio[p] * chance(table[k, 1], x) / chance(table[k, 0], x)
                    ratio[p] = min(max(new_ratio, 1.0 / RATIO_BOUND), RATIO_BOUND)

        # The next candidate.
        if n_members == 1:
            candidate = seed_b
            continue

        if n_members == members.size:
            break
        candidate, closest, best_gain, exhausted = _best_candidate(
            members, n_members, state, next_partner
        )
        if exhausted >= 0 and gain[exhausted, gain.shape[1] - 1] < state.min_gain:
            exhausted = np.int64(-1)  # variables beyond the end of the list may not join

        if exhausted >= 0 or candidate < 0 or best_gain < state.min_gain:
            break

    for k in range(n_members):
        for t in range(col_start[members[k]], col_start[members[k] + 1]):
            pattern_of[col_items[t]] = 0

    # If the test failed, the member closest to the candidate leaves: it belongs with the candidate.
    positions = np.empty(n_members - (dropped >= 0), np.int64)
    for k in range(positions.size):
        positions[k] = k

    if dropped >= 0:
        n_members -= 1
        for k in range(dropped, n_members):
            positions[k] = k + 1
            members[k] = members[k + 1]
            table[k, 0] = table[k + 1, 0]
            table[k, 1] = table[k + 1, 1]

    if n_members == 2:
        prior = fit_pair(patterns, n_patterns, positions, table)
    else:
        starts = np.int64(0)
        steps = np.int64(REFIT_STEPS)
        prior, _ = fit_members(patterns, n_patterns, positions, starts, key, prior, table, steps)

    return n_members, prior, exhausted
