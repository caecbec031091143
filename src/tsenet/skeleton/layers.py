"""One two-layer tree: groups, their latents, the assignment of variables to latents, and data completion (paper §3).

A latent's posterior given its own group is the same for every row in which no member is on, so completing the data
costs the rows' non-zeros, not N · L.
"""

from __future__ import annotations

import heapq
from dataclasses import dataclass, replace
from functools import partial

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array
from scipy.special import chdtrc, chdtri, expit

from tsenet._system.threads import Workers, chunks_of_equal_work
from tsenet.data.binary import BinaryRows
from tsenet.data.blocks import Blocks
from tsenet.progress import Progress
from tsenet.skeleton.chow_liu import counted_information
from tsenet.skeleton.information import CHUNK_WORK, PairCounter, pair_information
from tsenet.skeleton.kernels.csr import Csr
from tsenet.skeleton.kernels.island_kernels import (
    SMOOTH,
    IslandOptions,
    Patterns,
    SearchState,
    grow_island,
)
from tsenet.skeleton.kernels.pair_kernels import Assignment, compare_assignments

SIGNIFICANCE = 0.05  # of the correlation test, and share of false discoveries
N_PARTNERS = 128  # kept for each variable; lists that end too early are found again
# Rounds in which variables move, with the correlation test. The paper has none; few variables move in a third.
MAX_REASSIGNMENTS = 2


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


@dataclass(frozen=True)
class Layer:
    """A two-layer model: latents Y over the variables below, each variable under one latent (paper Figure 3c).

    Attributes
    ----------
    latent_of : int32 (V,)
        The latent above each variable, −1 for a variable in no group.
    prior : float64 (L,)
        P(Y=1).
    table : float64 (V, 2)
        P(x=1|Y=0) and P(x=1|Y=1).
    """

    latent_of: NDArray[np.int32]
    prior: NDArray[np.float64]
    table: NDArray[np.float64]

    @property
    def n_latents(self) -> int:
        """Number of latents L."""
        return int(self.prior.size)

    def weights(self) -> NDArray[np.float64]:
        """Change of a latent's log-odds when a variable is on instead of off: (V,)."""
        logit = np.log(self.table) - np.log1p(-self.table)
        return np.asarray(logit[:, 1] - logit[:, 0])

    def off_evidence(self) -> NDArray[np.float64]:
        """Contribution of a variable that is off to its latent's log-odds: (V,)."""
        off = np.log1p(-self.table)
        return np.asarray(off[:, 1] - off[:, 0])

    def base(self) -> NDArray[np.float64]:
        """Log-odds of each latent when all of its group is off: (L,)."""
        placed = self.latent_of >= 0
        all_off = np.bincount(
            self.latent_of[placed], weights=self.off_evidence()[placed], minlength=self.n_latents
        )
        return np.asarray(np.log(self.prior) - np.log1p(-self.prior) + all_off)


@dataclass(frozen=True)
class SoftRows:
    """Posteriors P(Y=1 | own group) of N rows × L latents, sparse around ``base``.

    Attributes
    ----------
    logodds : csr_array (N, L)
        Log-odds of the latents with a member on in a row, in ascending order.
    base : float64 (L,)
        Log-odds of every other latent.
    """

    logodds: csr_array
    base: NDArray[np.float64]

    @property
    def n_rows(self) -> int:
        """Number of rows N."""
        return int(self.logodds.shape[0])

    def hard(self) -> BinaryRows:
        """The more probable state of every latent in every row."""
        base_is_on = self.base > 0.0
        on = self.logodds.copy()
        on.data = (on.data > 0.0).astype(np.int8) - base_is_on.astype(np.int8)[on.indices]

        # Latents that are on where all of their group is off: a column of ones, from which the entries above subtract.
        inverted = np.flatnonzero(base_is_on)
        if inverted.size:
            starts = np.arange(0, (self.n_rows + 1) * inverted.size, inverted.size)
            columns = np.tile(inverted, self.n_rows)
            ones = np.ones(columns.size, np.int8)
            on = on + csr_array((ones, columns, starts), shape=on.shape)
        return BinaryRows.of_csr(on)

    def moments(self) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Mean over rows of P(Y=1|d) · P(Y'=1|d) and of P(Y=1|d): (L, L) and (L,)."""
        # P = base + change, where change is sparse:
        # Σ P·P' = N · base·base' + Σ change · base' + base · Σ change' + Σ change·change'
        base = expit(self.base)  # (L,)
        change = self.logodds.copy()  # (N, L)
        change.data = expit(change.data) - base[change.indices]
        total = np.asarray(change.sum(axis=0)).ravel()
        cross = np.outer(total, base)
        squares: NDArray[np.float64] = (change.T @ change).toarray()
        both = self.n_rows * np.outer(base, base) + cross + cross.T + squares
        return both / self.n_rows, base + total / self.n_rows


def complete(rows: BinaryRows, layer: Layer) -> SoftRows:
    """Soft completion of the data by one layer, O(nnz)."""
    placed = np.flatnonzero(layer.latent_of >= 0)
    weights = csr_array(
        (layer.weights()[placed], (placed, layer.latent_of[placed])),
        shape=(rows.n_columns, layer.n_latents),
    )
    base = layer.base()
    logodds = rows.to_csr() @ weights  # (N, L)
    logodds.sort_indices()
    logodds.data += base[logodds.indices]
    return SoftRows(logodds, base)


def learn_layer(
    rows: BinaryRows,
    options: IslandOptions,
    key: int,
    workers: Workers,
    progress: Progress,
    *,
    of_latents: bool = False,
    blocks: Blocks | None = None,
) -> tuple[Layer, SoftRows] | None:
    """Group the variables of binary rows under one layer of latents.

    Parameters
    ----------
    key : int
        Seed of the random starting points of EM.
    of_latents : bool
        Whether the variables are latents of the layer below. Then only positive ties count, if the options say so, and
        with the correlation test all ties must be significant: latents without one are in no group.
    blocks : Blocks or None
        Whose workers, if there are any, find each variable's best partners.

    Returns
    -------
    (Layer, SoftRows) or None
        The layer and the posteriors of its latents. None if no variable varies, or no two latents are tied.
    """
    counter = PairCounter(rows, positive=of_latents and options.positive)
    if not counter.varies.any():
        return None
    # A list longer than an island always has an entry outside the island, unless it holds all partners.
    n_partners = max(N_PARTNERS, options.max_island + 1)
    partners, gain = pair_information(counter, n_partners, workers, progress, blocks)
    find = partial(find_islands, counter, partners, gain, options, key, workers, progress)
    layer, is_left = find()
    min_gain = 0.0  # of a variable that is put under a latent afterwards

    if of_latents and options.correlation_test:
        # All pairs may be too many to correct for: then the share of false ones is bounded, not their number.
        best_gain = gain[counter.varies, 0]
        min_gain = discovery_gain(best_gain, best_gain.size - 1)
        if 2 * is_left.sum() > counter.varies.sum():
            layer, is_left = find(min_gain=min_gain)

    if not layer.n_latents:
        if of_latents:
            return None
        layer = _single_island(counter)
        is_left &= layer.latent_of < 0

    layer = _order_layer_states(layer)
    soft = complete(rows, layer)

    # Variables in no island go under the latent that tells most about them.
    n_rounds = MAX_REASSIGNMENTS if options.correlation_test else 0
    progress.start("placing variables", n_rounds + 1)
    left = np.flatnonzero(is_left).astype(np.int32)
    if left.size:
        hard = soft.hard()
        target, tie, joint = counter.best_latents(left, hard, layer.latent_of, workers)
        is_tied = (target >= 0) & (tie >= min_gain)
        layer = _move(layer, left[is_tied], target[is_tied], joint[is_tied], hard.counts(), counter)
        soft = complete(rows, layer)

    progress.advance()

    for _ in range(n_rounds):
        layer, soft, n_moved = _reassign(layer, soft, counter, options, workers)
        progress.advance(1, f"{n_moved} variables moved")
        if not n_moved:
            break

    if n_rounds:  # the last round may have left groups of one variable: dissolve them
        layer, soft, _ = _reassign(layer, soft, counter, options, workers, only_alone=True)

    progress.finish(f"{layer.n_latents:,} groups")
    return layer, soft


def _single_island(counter: PairCounter) -> Layer:
    """If nothing is correlated: one latent over the most frequent variable, to which all others are attached."""
    n_rows, n_variables = counter.rows.shape
    member = np.argmax(np.where(counter.varies, counter.n_on, -1))
    latent_of = np.where(np.arange(n_variables) == member, np.int32(0), np.int32(-1))
    prior = (counter.n_on[[member]] + SMOOTH) / (n_rows + 2 * SMOOTH)
    lowest = SMOOTH / (n_rows + 2 * SMOOTH)
    return Layer(latent_of, prior, np.tile([lowest, 1.0 - lowest], (n_variables, 1)))


def _order_layer_states(layer: Layer) -> Layer:
    """Swap the states of each latent whose group is on more often in state 0 than in state 1."""
    placed = layer.latent_of >= 0
    rise = layer.table[placed, 1] - layer.table[placed, 0]
    total = np.bincount(layer.latent_of[placed], weights=rise, minlength=layer.n_latents)

    is_swapped = total < 0  # (L,)
    of_swapped = placed & is_swapped[layer.latent_of]  # (V,)
    table = np.where(of_swapped[:, None], layer.table[:, ::-1], layer.table)
    prior = np.where(is_swapped, 1.0 - layer.prior, layer.prior)
    return replace(layer, prior=prior, table=table)


def _reassign(
    layer: Layer,
    soft: SoftRows,
    counter: PairCounter,
    options: IslandOptions,
    workers: Workers,
    *,
    only_alone: bool = False,
) -> tuple[Layer, SoftRows, int]:
    """Move variables that fit another latent better than their own; drop latents left without a group.

    The greedy search assigns a variable while the groups are still growing. Now that they are complete, each variable
    is compared with the best other latent. It moves if, by BIC, its own group (without it) tells nothing about it
    given the other latent, while the other latent tells something about it given its own group. If both latents tell
    something, it stays: the next layer expresses what they share. A variable alone in its group always moves, if it has
    a tie to another. With ``only_alone``, only singletons move; those without a tie become ungrouped.

    Returns the new layer, its posteriors and the number of variables moved.
    """
    latent_of_before = layer.latent_of
    hard = soft.hard()
    is_alone = _alone(layer)

    # The best other latent of each variable that may move.
    may_move = is_alone if only_alone else layer.latent_of >= 0
    variables = np.flatnonzero(may_move & counter.varies).astype(np.int32)
    target, _, joint = counter.best_latents(variables, hard, layer.latent_of, workers)
    has_target = target >= 0
    variables = variables[has_target]
    target = target[has_target]
    joint = joint[has_target]

    # What each of the two latents tells about the variable given the other: N·I, compared with BIC's penalty.
    tables = _compare(variables, target, layer, soft, hard, counter, workers)
    stay = conditional_gains(tables, counter.data.xlogx)
    go = conditional_gains(tables.swapaxes(2, 3), counter.data.xlogx)
    penalty = np.log(soft.n_rows) + options.ud_threshold
    moves = ((stay <= penalty) & (go > penalty)) | is_alone[variables]
    layer = _move(layer, variables[moves], target[moves], joint[moves], hard.counts(), counter)
    is_alone = _alone(layer)
    if only_alone and not is_alone[layer.latent_of >= 0].all():
        layer = replace(layer, latent_of=np.where(is_alone, np.int32(-1), layer.latent_of))

    # Latents without a group go; the others are numbered anew.
    placed = layer.latent_of >= 0
    used, number = np.unique(layer.latent_of[placed], return_inverse=True)
    latent_of = layer.latent_of.copy()
    latent_of[placed] = number
    layer = replace(layer, latent_of=latent_of, prior=layer.prior[used])
    if not np.array_equal(latent_of, latent_of_before):
        soft = complete(counter.rows, layer)

    return layer, soft, int(moves.sum())


def _alone(layer: Layer) -> NDArray[np.bool_]:
    """Whether each variable is alone in its group: (V,)."""
    placed = layer.latent_of >= 0
    size = np.bincount(layer.latent_of[placed], minlength=layer.n_latents)
    return np.asarray(placed & (size[layer.latent_of] == 1))


def _compare(
    variables: NDArray[np.int32],
    target: NDArray[np.int32],
    layer: Layer,
    soft: SoftRows,
    hard: BinaryRows,
    counter: PairCounter,
    workers: Workers,
) -> NDArray[np.int64]:
    """Rows by state of each variable, its own group's latent (decided without it) and the target: (B, 2, 2, 2)."""
    by_latent = soft.logodds.tocsc()
    assignment = Assignment(
        layer.latent_of,
        by_latent.indptr.astype(np.int64, copy=False),
        by_latent.indices.astype(np.int64, copy=False),
        by_latent.data,
        soft.base,
        layer.weights(),
        layer.off_evidence(),
    )
    hard_columns = hard.transpose()
    columns = Csr(counter.columns.indptr, counter.columns.indices)
    completed = Csr(hard_columns.indptr, hard_columns.indices)
    tables = np.zeros((variables.size, 2, 2, 2), np.int64)

    def serve(span: tuple[int, int]) -> None:
        compare_assignments(
            *span, variables, target, assignment, columns, completed, soft.n_rows, tables
        )

    entries = np.diff(by_latent.indptr).astype(np.int64)
    work = entries[layer.latent_of[variables]] + 1
    for _ in workers.map(serve, chunks_of_equal_work(work, CHUNK_WORK)):
        pass

    return tables


def conditional_gains(
    tables: NDArray[np.int64], n_log_n: NDArray[np.float64]
) -> NDArray[np.float64]:
    """N · I(first; second | third) in nats of tables of counts (B, 2, 2, 2): (B,).

    ``n_log_n`` (at least N + 1,) is n·ln n of every number of rows.
    """
    total = np.zeros(len(tables))
    for state in range(2):
        n = tables[:, :, :, state]  # (B, 2, 2)
        n_first = n[:, 1, :].sum(axis=1)
        n_second = n[:, :, 1].sum(axis=1)
        n_rows = n.sum(axis=(1, 2))
        total += counted_information(n[:, 1, 1], n_first, n_second, n_rows, n_log_n)
    return np.maximum(total, 0.0)


def _move(
    layer: Layer,
    variables: NDArray[np.int32],
    target: NDArray[np.int32],
    joint: NDArray[np.int64],
    latent_on: NDArray[np.int64],
    counter: PairCounter,
) -> Layer:
    """Put variables under the latents ``target``; ``joint`` are the rows where both are on in the completed data.

    Their tables are the observed shares, shrunk towards the variable's own rate by ``SMOOTH`` rows.
    """
    n_rows = counter.rows.n_rows
    n_on = counter.n_on[variables]
    n_latent_on = latent_on[target]
    n_latent_off = n_rows - n_latent_on
    rate = (n_on + SMOOTH) / (n_rows + 2 * SMOOTH)

    latent_of = layer.latent_of.copy()
    latent_of[variables] = target
    table = layer.table.copy()  # (V, 2): P(x=1 | latent off), P(x=1 | latent on)
    table[variables, 0] = (n_on - joint + SMOOTH * rate) / (n_latent_off + SMOOTH)
    table[variables, 1] = (joint + SMOOTH * rate) / (n_latent_on + SMOOTH)
    lowest = 0.5 / (n_rows + 1)
    table = np.clip(table, lowest, 1.0 - lowest)
    return _order_layer_states(replace(layer, latent_of=latent_of, table=table))
