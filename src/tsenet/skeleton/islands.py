"""Islands: groups of variables that one latent explains, grown one after another (paper §3.1)."""

from __future__ import annotations

import heapq

import numpy as np
from numpy.typing import NDArray
from scipy.special import chdtrc, chdtri

from tsenet._system.threads import Workers
from tsenet.progress import Progress
from tsenet.skeleton.completion import Layer
from tsenet.skeleton.information import PairCounter
from tsenet.skeleton.kernels.csr import Csr
from tsenet.skeleton.kernels.island_kernels import (
    IslandOptions,
    Patterns,
    SearchState,
    grow_island,
)

SIGNIFICANCE = 0.05  # of the correlation test, and share of false discoveries


def smallest_gain(n_variables: int, options: IslandOptions) -> float:
    """Smallest N·MI at which two variables count as correlated.

    2·N·MI follows χ²(1) for independent variables. The significance level is divided by the number of pairs
    (Bonferroni), because the search tests the pairs with the highest values.
    """
    if not options.correlation_test:
        return 0.0
    pairs = max(1.0, n_variables * (n_variables - 1) / 2)
    return float(chdtri(1, SIGNIFICANCE / pairs)) / 2


def discovery_gain(best: NDArray[np.float64], n_tests: int) -> float:
    """Smallest N·MI that keeps the share of false discoveries among variables below ``SIGNIFICANCE``.

    Each variable was compared with ``n_tests`` others and is judged by ``best``, (B,), its N·MI with the best of them,
    so its p-value is corrected for these (Bonferroni); over the variables the rule is that of Benjamini and Hochberg
    (1995).
    """
    p_value = np.sort(np.minimum(1.0, chdtrc(1, 2.0 * best) * n_tests))
    rank = np.arange(1, p_value.size + 1)

    # The largest rank k of which the p-value is at most k / B of the level; all smaller ones count as discoveries.
    accepted = np.flatnonzero(p_value <= SIGNIFICANCE * rank / p_value.size)
    n_accepted = accepted[-1] + 1 if accepted.size else 1
    level = SIGNIFICANCE * n_accepted / (max(1, p_value.size) * max(1, n_tests))
    return float(chdtri(1, level)) / 2


class _PairQueue:
    """The best pair of free variables: each waits in a queue with its next free partner.

    Attributes
    ----------
    partners, gain : (V, m)
        Of :func:`pair_information`; lists that end too early are found again, in place.
    alive : bool (V,)
        Which variables are free.
    threshold : float
        Pairs below this gain are not found.
    """

    def __init__(
        self,
        counter: PairCounter,
        partners: NDArray[np.int32],
        gain: NDArray[np.float64],
        alive: NDArray[np.bool_],
        threshold: float,
        workers: Workers,
    ) -> None:
        self.counter = counter
        self.partners = partners
        self.gain = gain
        self.alive = alive
        self.threshold = threshold
        self.workers = workers
        self._next = np.zeros(alive.size, np.int64)  # place in the list of each variable
        self._heap: list[tuple[float, int, int]] = []  # (−gain, variable, partner)
        for variable in np.flatnonzero(alive).tolist():
            self._push(variable)

    def best(self) -> tuple[int, int] | None:
        """The pair with the highest gain, which stays in the queue; None if it is below the threshold."""
        while self._heap and -self._heap[0][0] >= self.threshold:
            _, i, j = self._heap[0]
            if self.alive[i] and self.alive[j]:
                return i, j
            heapq.heappop(self._heap)
            if self.alive[i]:
                self._push(i)
        return None

    def refill(self, variable: int) -> None:
        """Find the best free partners of a variable again."""
        one = np.array([variable], np.int32)
        n_partners = self.partners.shape[1]
        self.partners[one], self.gain[one] = self.counter.best_partners(
            one, self.alive, n_partners, self.workers
        )
        self._next[variable] = 0

    def _push(self, i: int) -> None:
        """Queue a variable with its next free partner; find more partners if its list has ended."""
        n_partners = self.partners.shape[1]
        while True:
            while self._next[i] < n_partners:
                place = self._next[i]
                j = int(self.partners[i, place])
                if j < 0:
                    return
                if self.alive[j]:
                    heapq.heappush(self._heap, (-self.gain[i, place], i, j))
                    return
                self._next[i] += 1

            if self.gain[i, n_partners - 1] < self.threshold:
                return
            self.refill(i)


def find_islands(
    counter: PairCounter,
    partners: NDArray[np.int32],
    gain: NDArray[np.float64],
    options: IslandOptions,
    key: int,
    workers: Workers,
    progress: Progress,
    min_gain: float | None = None,
) -> tuple[Layer, NDArray[np.bool_]]:
    """Grow islands one after another, each from the best pair of free variables.

    ``partners`` and ``gain`` (V, m) are those of :func:`pair_information`; ``min_gain`` replaces the bar of the
    correlation test. Returns the islands as a layer, in the order found, and which variables that vary belong to none
    (V,).
    """
    alive = counter.varies.copy()
    n_rows = counter.rows.n_rows
    threshold = smallest_gain(int(alive.sum()), options) if min_gain is None else min_gain
    partners = partners.copy()  # lists that end too early are found again
    gain = gain.copy()
    columns = Csr(counter.columns.indptr, counter.columns.indices)
    state = SearchState(n_rows, columns, partners, gain, alive, threshold)

    # Space in which the kernel works: the pattern of members that are on in each row, and what there is of each.
    pattern_of = np.zeros(n_rows, np.int32)
    patterns = Patterns(
        bits=np.empty(n_rows + 1, np.uint64),
        n=np.empty(n_rows + 1, np.int64),
        on=np.empty(n_rows + 1, np.int64),
        ratio=np.empty(n_rows + 1),
    )

    queue = _PairQueue(counter, partners, gain, alive, threshold, workers)
    latent_of = np.full(alive.size, -1, np.int32)
    tables = np.full((alive.size, 2), 0.5)
    priors: list[float] = []
    progress.start("islands", int(alive.sum()))

    while (pair := queue.best()) is not None:
        i, j = pair
        members = np.empty(options.max_island, np.int32)
        table = np.empty((options.max_island, 2))
        a = min(i, j)
        b = max(i, j)
        seed = key + 1_000_003 * a + b  # a prime: other pairs have other seeds
        size, prior, exhausted = grow_island(
            a, b, state, options, seed, pattern_of, patterns, members, table
        )

        if exhausted >= 0:  # the list of this variable ended before the island was complete
            queue.refill(exhausted)
            continue

        members = members[:size]
        alive[members] = False
        latent_of[members] = len(priors)
        tables[members] = table[:size]
        priors.append(prior)
        progress.advance(size)

    progress.finish(f"{len(priors):,} groups, {int(alive.sum()):,} variables left over")
    return Layer(latent_of, np.array(priors), tables), alive
