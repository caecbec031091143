"""Islands: disjoint groups of variables, each explained by one latent (paper §3.1; ALGORITHM §2)."""

from __future__ import annotations

import heapq
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.special import chdtrc, chdtri

from tsenet._system.threads import Workers
from tsenet.progress import Progress
from tsenet.skeleton.information import PairCounter, PairInformation
from tsenet.skeleton.kernels.island_kernels import (
    GrowthOptions,
    Patterns,
    SearchState,
    grow_island,
)
from tsenet.skeleton.kernels.pair_kernels import Csr


@dataclass(frozen=True)
class IslandOptions:
    """How islands grow; the defaults are :func:`tsenet.learn_tree`'s."""

    max_island: int = 15
    ud_threshold: float = 3.0
    correlation_test: bool = True
    em_restarts: int = 3
    smooth: float = 1.0
    refit_steps: int = 20
    significance: float = 0.05
    reassignment_rounds: int = 2  # only with the correlation test; the paper has none
    positive: bool = True  # whether only positive ties count between latents


@dataclass(frozen=True)
class Island:
    """One group: ``members`` (k,), ``prior`` = P(Y=1), ``table`` (k, 2) = P(x=1|Y=0), P(x=1|Y=1)."""

    members: NDArray[np.int32]
    prior: float
    table: NDArray[np.float64]


def smallest_gain(n_variables: int, options: IslandOptions) -> float:
    """Smallest N·MI at which two variables count as correlated.

    2·N·MI follows χ²(1) for independent variables. The significance level is divided by the number of pairs
    (Bonferroni), because the search tests the pairs with the highest values.
    """
    if not options.correlation_test:
        return 0.0
    pairs = max(1.0, n_variables * (n_variables - 1) / 2)
    return float(chdtri(1, options.significance / pairs)) / 2


def discovery_gain(best: NDArray[np.float64], n_tests: int, significance: float) -> float:
    """Smallest N·MI that keeps the share of false discoveries among variables below ``significance``.

    Each variable was compared with ``n_tests`` others and is judged by ``best``, (B,), its N·MI with the best of them,
    so its p-value is corrected for these (Bonferroni); over the variables the rule is that of Benjamini and Hochberg
    (1995).
    """
    corrected = np.sort(np.minimum(1.0, chdtrc(1, 2.0 * best) * n_tests))
    ranks = np.arange(1, corrected.size + 1)
    accepted = np.flatnonzero(corrected <= significance * ranks / corrected.size)
    n_accepted = accepted[-1] + 1 if accepted.size else 1
    level = significance * n_accepted / (max(1, corrected.size) * max(1, n_tests))
    return float(chdtri(1, level)) / 2


def find_islands(
    counter: PairCounter,
    information: PairInformation,
    options: IslandOptions,
    key: int,
    workers: Workers,
    progress: Progress,
    min_gain: float | None = None,
) -> tuple[list[Island], NDArray[np.bool_]]:
    """Grow islands one after another, each from the best pair of free variables.

    ``min_gain`` replaces the bar of the correlation test. Returns the islands in the order found, and which variables
    that vary belong to none (V,).
    """
    alive = counter.varies.copy()
    n_rows, n_partners = counter.rows.n_rows, information.partners.shape[1]
    bar = smallest_gain(int(alive.sum()), options) if min_gain is None else min_gain
    partners, gain = information.partners.copy(), information.gain.copy()
    columns = Csr(counter.columns.indptr, counter.columns.indices)
    state = SearchState(n_rows, columns, partners, gain, alive)
    growth = GrowthOptions(
        float(options.ud_threshold),
        bar,
        options.em_restarts,
        options.smooth,
        options.refit_steps,
    )
    pattern_of = np.zeros(n_rows, np.int32)
    patterns = Patterns(*(np.empty(n_rows + 1, t) for t in (np.uint64, np.int64, np.int64, float)))
    place = np.zeros(counter.rows.n_columns, np.int64)  # up to which a list's partners are taken

    def refill(variable: int) -> None:
        """Find the best free partners of a variable again."""
        asked = np.array([variable], np.int32)
        partners[asked], gain[asked] = counter.best_partners(asked, alive, n_partners, workers)
        place[variable] = 0

    def push(i: int) -> None:
        """Queue a variable with its next free partner; find more partners if its list has ended."""
        while True:
            while place[i] < n_partners:
                j = int(partners[i, place[i]])
                if j < 0:
                    return
                if alive[j]:
                    heapq.heappush(queue, (-gain[i, place[i]], i, j))
                    return
                place[i] += 1
            if gain[i, n_partners - 1] < bar:
                return
            refill(i)

    queue: list[tuple[float, int, int]] = []
    for variable in np.flatnonzero(alive).tolist():
        push(variable)
    islands: list[Island] = []
    progress.start("islands", int(alive.sum()))
    while queue and -queue[0][0] >= bar:
        _, i, j = queue[0]
        if not (alive[i] and alive[j]):
            heapq.heappop(queue)
            if alive[i]:
                push(i)
            continue
        members, table = np.empty(options.max_island, np.int32), np.empty((options.max_island, 2))
        a, b = min(i, j), max(i, j)
        own_key = key + 1_000_003 * a + b
        size, prior, exhausted = grow_island(
            a, b, state, growth, own_key, pattern_of, patterns, members, table
        )
        if exhausted >= 0:
            refill(exhausted)
            continue
        alive[members[:size]] = False
        islands.append(Island(members[:size], prior, table[:size]))
        progress.advance(size)
    progress.finish(f"{len(islands)} groups, {int(alive.sum())} variables left over")
    return islands, alive
