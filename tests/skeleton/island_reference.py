"""The search for islands once more, in plain NumPy on dense rows: no lists, no patterns.

Only the three small fits are shared with the kernels (which have NumPy references of their own); choice of
seeds and candidates, joint counts, likelihoods of whole groups and the final fit are worked out
from the rows.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tests.builders import Bools, Floats
from tsenet.skeleton.islands import smallest_gain
from tsenet.skeleton.kernels.island_kernels import (
    MAX_STEPS,
    REFIT_STEPS,
    SMOOTH,
    IslandOptions,
    Patterns,
    fit_join,
    fit_members,
    fit_split,
)


def patterns_of_cells(counts: Floats) -> Patterns:
    """The patterns of a few members, all of them, from their joint counts; bit v of the cell is member v."""
    n = counts.astype(np.int64)
    return Patterns(np.arange(n.size, dtype=np.uint64), n, np.zeros_like(n), np.ones(n.size))


def fit_seed(counts: Floats, restarts: int, key: int, table: Floats) -> tuple[float, float]:
    """Latent class model of three variables from their 8 joint counts, by the kernel."""
    patterns = patterns_of_cells(counts)
    return fit_members(patterns, 8, np.arange(3), restarts, key, 0.5, table, MAX_STEPS)


@dataclass
class ReferenceIsland:
    members: list[int]
    prior: float
    table: Floats


def gains(on: Bools) -> Floats:
    """N·MI of all pairs, summed as the kernel does; −1 on the diagonal and for constants."""
    n_rows = on.shape[0]
    n = np.arange(n_rows + 1.0)
    xlogx = n * np.log(np.maximum(n, 1.0))
    n_on = on.sum(axis=0)
    both = on.T.astype(np.int64) @ on
    first, second = n_on[:, None], n_on[None, :]
    entropy = xlogx[n_on] + xlogx[n_rows - n_on]
    cells = (xlogx[both] + xlogx[n_rows - first - second + both]) + (
        xlogx[first - both] + xlogx[second - both]
    )
    value = np.maximum(0.0, (cells - (entropy[:, None] + entropy[None, :])) + xlogx[n_rows])
    constant = (n_on == 0) | (n_on == n_rows)
    value[constant] = -1.0
    value[:, constant] = -1.0
    np.fill_diagonal(value, -1.0)
    return value


def likelihood_of(on: Bools, members: list[int], table: Floats) -> Floats:
    """P(the members' values | Y) of every row: (N, 2)."""
    values = on[:, members, None]
    return np.where(values, table[None], 1.0 - table[None]).prod(axis=1)


def em_step(on: Bools, members: list[int], prior: float, table: Floats) -> tuple[float, Floats]:
    """One EM step of Y over all members, row by row."""
    joint = likelihood_of(on, members, table) * [1.0 - prior, prior]
    share = joint / joint.sum(axis=1, keepdims=True)
    of_y = share.sum(axis=0)
    counts = on[:, members].T.astype(float) @ share
    new_prior = (of_y[1] + SMOOTH) / (len(on) + 2 * SMOOTH)
    return float(new_prior), (counts + SMOOTH) / (of_y + 2 * SMOOTH)


def fixed_pair(prior: float, first: Floats, second: Floats) -> Floats:
    """P(Y, f) of two members, f = 2·first + second: (2, 4)."""
    both = [
        np.outer([1 - first[y], first[y]], [1 - second[y], second[y]]).ravel() for y in range(2)
    ]
    return np.stack([(1 - prior) * both[0], prior * both[1]])


def cells_of(on: Bools, first: int, second: int, columns: list[int]) -> Floats:
    """Joint counts of (first, second) by the given columns, the first of these the higher bit."""
    f = 2 * on[:, first].astype(int) + on[:, second]
    c = np.zeros(len(on), int)
    for column in columns:
        c = 2 * c + on[:, column]
    counts = np.zeros((4, 2 ** len(columns)))
    np.add.at(counts, (f, c), 1.0)
    return counts


def split_advantage(
    on: Bools,
    members: list[int],
    prior: float,
    table: Floats,
    closest: int,
    candidate: int,
    joined: Floats,
    split: Floats,
) -> float:
    """LL(M2) − LL(M1) on all rows: one latent over everything, or a second one over W and X."""
    weight = np.array([1.0 - prior, prior])
    x = on[:, [candidate]]
    one = likelihood_of(on, members, table) * np.where(x, joined, 1 - joined)
    rest = [k for k in range(len(members)) if k != closest]
    others = likelihood_of(on, [members[k] for k in rest], table[rest])
    w = on[:, [members[closest]]]
    of_z = np.where(w, split[1], 1 - split[1]) * np.where(x, split[2], 1 - split[2])  # (N, Z)
    z_of_y = np.stack([1 - split[0], split[0]], axis=1)  # (Y, Z)
    two = others * (of_z @ z_of_y.T)
    return float(np.log(two @ weight).sum() - np.log(one @ weight).sum())


def grow(
    on: Bools, value: Floats, alive: Bools, seeds: tuple[int, int], options: IslandOptions, key: int
) -> ReferenceIsland:
    """One island from two seeds (ALGORITHM section 2)."""
    n_rows = len(on)
    min_gain = smallest_gain(int((value.max(axis=1) >= 0).sum()), options)
    members = list(seeds)
    prior, table = 0.5, np.empty((0, 2))
    while len(members) < options.max_island:
        outside = alive.copy()
        outside[members] = False
        to_members = np.where(outside, value[members], -1.0)  # (k, V)
        best = to_members.max()
        if best < min_gain:
            break
        candidate = int(np.flatnonzero(to_members.max(axis=0) == best)[0])
        closest = int(np.flatnonzero(to_members[:, candidate] == best)[0])
        if len(members) == 2:
            members.append(candidate)
            cell = on[:, members] @ np.array([1, 2, 4])
            table = np.empty((3, 2))
            counts = np.bincount(cell, minlength=8).astype(float)
            prior, _ = fit_seed(counts, options.em_restarts, key, table)
            continue
        joined, split = np.empty(2), np.empty((3, 2))
        fit_join(
            fixed_pair(prior, table[0], table[1]),
            cells_of(on, members[0], members[1], [members[2], candidate]),
            joined,
        )
        first, second = (2, 1) if closest == 0 else (0, 2) if closest == 1 else (0, 1)
        fit_split(
            fixed_pair(prior, table[first], table[second]),
            cells_of(on, members[first], members[second], [members[closest], candidate]),
            options.em_restarts,
            key + candidate,
            split,
        )
        advantage = split_advantage(on, members, prior, table, closest, candidate, joined, split)
        if advantage > np.log(n_rows) + options.ud_threshold:
            del members[closest]
            table = np.delete(table, closest, axis=0)
            break
        members.append(candidate)
        table = np.vstack([table, joined])
    for _ in range(REFIT_STEPS if len(members) > 2 else 0):
        prior, table = em_step(on, members, prior, table)
    order = np.argsort(members)
    members = np.array(members)[order].tolist()
    return ReferenceIsland(members, prior, table[order] if len(members) > 2 else table)


def reference_islands(
    on: Bools, options: IslandOptions, key: int
) -> tuple[list[ReferenceIsland], NDArray[np.intp]]:
    """All islands in the order found, and the variables left over."""
    value = gains(on)
    alive = value.max(axis=1) >= 0
    min_gain = smallest_gain(int(alive.sum()), options)
    islands = []
    while True:
        living = np.where(alive[:, None] & alive[None, :], value, -1.0)
        a, b = divmod(int(np.argmax(living)), len(value))
        if living[a, b] < min_gain:
            return islands, np.flatnonzero(alive)
        islands.append(grow(on, value, alive, (a, b), options, key + 1_000_003 * a + b))
        alive[islands[-1].members] = False
