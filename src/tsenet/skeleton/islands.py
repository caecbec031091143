"""Islands: disjoint groups of variables, each explained by one latent (paper §3.1; ALGORITHM §2)."""

from __future__ import annotations

import heapq
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.stats import chi2

from tsenet._system.threads import Workers
from tsenet.skeleton.information import PairCounter, PairInformation
from tsenet.skeleton.kernels import island_kernels
from tsenet.skeleton.kernels.island_kernels import GrownIslands, GrowthOptions, SearchState
from tsenet.skeleton.kernels.pair_kernels import Csr

AHEAD = (
    16  # islands grown in advance per thread: threads rarely wait, and few islands are discarded
)


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
    leave_out: bool = False  # whether variables without a significant tie to a group stay in none
    full_depth: bool = False  # whether levels above the first are grouped even if hardly correlated


@dataclass(frozen=True)
class Island:
    """One group: ``members`` (k,), ``prior`` = P(Y=1), ``table`` (k, 2) = P(x=1|Y=0), P(x=1|Y=1)."""

    members: NDArray[np.int32]
    prior: float
    table: NDArray[np.float64]


@dataclass(frozen=True)
class _Growth:
    """An island grown in advance; it is valid as long as all variables in ``looked_at`` are still free."""

    island: Island
    looked_at: NDArray[np.int32]
    exhausted: int  # variable whose list of partners ended too early, or −1


def smallest_gain(n_variables: int, options: IslandOptions) -> float:
    """Smallest N·MI at which two variables count as correlated.

    2·N·MI follows χ²(1) for independent variables. The significance level is divided by the number of pairs
    (Bonferroni), because the search tests the pairs with the highest values.
    """
    if not options.correlation_test:
        return 0.0
    pairs = max(1.0, n_variables * (n_variables - 1) / 2)
    return float(chi2.isf(options.significance / pairs, 1)) / 2


def discovery_gain(p_values: NDArray[np.float64], n_tests: int, significance: float) -> float:
    """Smallest N·MI that keeps the share of false discoveries among variables below ``significance``.

    Each variable was compared with ``n_tests`` others and is judged by the best of them, so its p-value is corrected
    for these (Bonferroni); over the variables the rule is that of Benjamini and Hochberg (1995).

    Parameters
    ----------
    p_values : (B,)
        For each variable the uncorrected p-value of its best pair.
    """
    corrected = np.sort(np.minimum(1.0, p_values * n_tests))
    ranks = np.arange(1, corrected.size + 1)
    accepted = np.flatnonzero(corrected <= significance * ranks / corrected.size)
    n_accepted = accepted[-1] + 1 if accepted.size else 1
    level = significance * n_accepted / (max(1, corrected.size) * max(1, n_tests))
    return float(chi2.isf(level, 1)) / 2


class IslandFinder:
    """The greedy search over one layer.

    Islands are grown one after another, each from the best pair of free variables. Threads grow the islands that will
    probably come next in advance; one is accepted only if the sequential search would have found exactly the same.
    """

    def __init__(
        self,
        counter: PairCounter,
        information: PairInformation,
        options: IslandOptions,
        key: int,
        workers: Workers,
        min_gain: float | None = None,
    ) -> None:
        self.counter = counter
        self.options = options
        self.key = key
        self.workers = workers
        self.alive = counter.varies.copy()
        if min_gain is None:
            min_gain = smallest_gain(int(self.alive.sum()), options)
        self.min_gain = min_gain
        self.partners = information.partners.copy()
        self.gain = information.gain.copy()
        self._place = np.zeros(counter.rows.n_columns, np.int64)
        self._scratch = [np.zeros(counter.rows.n_rows, np.int32) for _ in range(workers.n_threads)]
        self._queue = [
            (-self.gain[i, 0], i, int(self.partners[i, 0]))
            for i in np.flatnonzero(self.alive).tolist()
            if self.partners[i, 0] >= 0
        ]
        heapq.heapify(self._queue)

    def islands(self) -> Iterator[Island]:
        """Yield islands in the order found; variables still marked in ``alive`` afterwards belong to none."""
        ahead: dict[tuple[int, int], _Growth] = {}
        while (pair := self._best_pair()) is not None:
            growth = ahead.pop(pair, None)
            if growth is None or not self.alive[growth.looked_at].all():
                pairs = [
                    pair,
                    *self._likely_pairs(pair, AHEAD * (self.workers.n_threads - 1), ahead),
                ]
                ahead.update(zip(pairs, self._grow(pairs), strict=True))
                growth = ahead.pop(pair)
            if growth.exhausted >= 0:
                self._refill(np.array([growth.exhausted], np.int32))
                continue
            self.alive[growth.island.members] = False
            yield growth.island

    def _grow(self, pairs: list[tuple[int, int]]) -> list[_Growth]:
        """Grow an island from each pair of seeds; each thread takes every n-th pair."""
        n_threads = min(self.workers.n_threads, len(pairs))
        shares = [pairs[t::n_threads] for t in range(n_threads)]
        grown = self.workers.map(self._grow_share, list(zip(shares, self._scratch, strict=False)))
        by_thread = list(grown)
        return [by_thread[p % n_threads][p // n_threads] for p in range(len(pairs))]

    def _grow_share(self, task: tuple[list[tuple[int, int]], NDArray[np.int32]]) -> list[_Growth]:
        pairs, scratch = task
        options, columns, size = self.options, self.counter.columns, self.options.max_island
        seeds = np.array(pairs, np.int64)
        grown = GrownIslands(
            members=np.empty((len(pairs), size), np.int32),
            table=np.empty((len(pairs), size, 2)),
            looked_at=np.empty((len(pairs), size + 1), np.int32),
            sizes=np.empty((len(pairs), 3), np.int64),
            prior=np.empty(len(pairs)),
        )
        state = SearchState(
            self.counter.rows.n_rows,
            Csr(columns.indptr, columns.indices),
            self.partners,
            self.gain,
            self.alive,
        )
        growth = GrowthOptions(
            float(options.ud_threshold),
            self.min_gain,
            options.em_restarts,
            options.smooth,
            options.refit_steps,
        )
        island_kernels.grow_islands(seeds, state, growth, self.key, scratch, grown)
        return [
            _Growth(
                Island(
                    grown.members[p, :n_members],
                    float(grown.prior[p]),
                    grown.table[p, :n_members],
                ),
                grown.looked_at[p, :n_looked_at],
                exhausted,
            )
            for p, (n_members, n_looked_at, exhausted) in enumerate(grown.sizes.tolist())
        ]

    def _best_pair(self) -> tuple[int, int] | None:
        """Pair of free variables with the most information, or None if no correlated pair is left."""
        while self._queue:
            value, i, j = self._queue[0]
            if -value < self.min_gain:
                return None
            if self.alive[i] and self.alive[j]:
                return min(i, j), max(i, j)
            heapq.heappop(self._queue)
            if self.alive[i]:
                self._requeue(i)
        return None

    def _requeue(self, i: int) -> None:
        """Queue variable i with its next free partner; find more partners if its list has ended."""
        m = self.partners.shape[1]
        while True:
            while self._place[i] < m:
                j = int(self.partners[i, self._place[i]])
                if j < 0:
                    return
                if self.alive[j]:
                    heapq.heappush(self._queue, (-self.gain[i, self._place[i]], i, j))
                    return
                self._place[i] += 1
            if self.gain[i, m - 1] < self.min_gain:
                return
            self._refill(np.array([i], np.int32))

    def _refill(self, variables: NDArray[np.int32]) -> None:
        """Find the best free partners of some variables again."""
        partners, gain = self.counter.best_partners(
            variables, self.alive, self.partners.shape[1], self.workers
        )
        self.partners[variables] = partners
        self.gain[variables] = gain
        self._place[variables] = 0

    def _likely_pairs(
        self, first: tuple[int, int], n_pairs: int, ahead: dict[tuple[int, int], _Growth]
    ) -> list[tuple[int, int]]:
        """Pairs the search will probably reach next: the best free ones that share no variable."""
        used = set(first)
        likely: list[tuple[int, int]] = []
        looked: list[tuple[float, int, int]] = []
        while self._queue and len(likely) < n_pairs:
            entry = heapq.heappop(self._queue)
            value, i, j = entry
            if -value < self.min_gain:
                looked.append(entry)
                break
            if not (self.alive[i] and self.alive[j]):
                if self.alive[i]:
                    self._requeue(i)
                continue
            looked.append(entry)
            pair = (min(i, j), max(i, j))
            if i in used or j in used:
                continue
            used.update(pair)
            known = ahead.get(pair)
            if known is None or not self.alive[known.looked_at].all():
                likely.append(pair)
        for entry in looked:
            heapq.heappush(self._queue, entry)
        return likely
