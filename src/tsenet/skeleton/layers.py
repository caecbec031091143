"""One two-layer tree: groups, their latents, the assignment of variables to latents, and data completion (paper §3).

A latent's posterior given its own group is the same for every row in which no member is on, so completing the data
costs the rows' non-zeros, not N · L.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array
from scipy.special import expit, xlogy

from tsenet._system.threads import Workers, chunks_of_equal_work
from tsenet.data.rows import BinaryRows
from tsenet.progress import Progress
from tsenet.skeleton.information import (
    CHUNK_WORK,
    PairCounter,
    PairInformation,
    pair_information,
)
from tsenet.skeleton.islands import Island, IslandOptions, discovery_gain, find_islands
from tsenet.skeleton.kernels.pair_kernels import Assignment, Csr, compare_assignments

N_PARTNERS = 128
VARIABLES_AT_ONCE = 512

#: Callable (counter, n_partners) → PairInformation: the best partners of each variable in the counter's rows.
Information = Callable[[PairCounter, int], PairInformation]


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
        flipped = np.flatnonzero(self.base > 0.0)  # on where all of their group is off
        on = self.logodds.copy()
        on.data = (on.data > 0.0).astype(np.int8) - (self.base > 0.0).astype(np.int8)[on.indices]
        if flipped.size:
            ends = np.arange(0, (self.n_rows + 1) * flipped.size, flipped.size)
            columns = np.tile(flipped, self.n_rows)
            on = on + csr_array((np.ones(columns.size, np.int8), columns, ends), shape=on.shape)
        return BinaryRows.of_csr(on)

    def _changes(self) -> csr_array:
        """Posteriors less the base posterior: sparse (N, L)."""
        change = self.logodds.copy()
        change.data = expit(change.data) - expit(self.base)[change.indices]
        return change

    def second_moments(self) -> NDArray[np.float64]:
        """Σ over rows of P(Y=1|d) · P(Y'=1|d): (L, L), from the entries that differ from base."""
        change = self._changes()
        base = expit(self.base)
        cross = np.outer(np.asarray(change.sum(axis=0)).ravel(), base)
        both: NDArray[np.float64] = (change.T @ change).toarray()
        return self.n_rows * np.outer(base, base) + cross + cross.T + both

    def means(self) -> NDArray[np.float64]:
        """Mean posterior of each latent: (L,)."""
        change = np.asarray(self._changes().sum(axis=0)).ravel()
        return np.asarray(expit(self.base) + change / self.n_rows)


def complete(rows: BinaryRows, layer: Layer) -> SoftRows:
    """Soft completion of the data by one layer, O(nnz)."""
    placed = np.flatnonzero(layer.latent_of >= 0)
    weights = layer.weights()[placed], (placed, layer.latent_of[placed])
    base = layer.base()
    logodds = rows.to_csr() @ csr_array(weights, shape=(rows.n_columns, layer.n_latents))
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
    information: Information | None = None,
) -> tuple[Layer, SoftRows] | None:
    """Group the variables of binary rows under one layer of latents.

    Parameters
    ----------
    key : int
        Seed of the random starting points of EM.
    of_latents : bool
        Whether the variables are latents of the layer below. Then only positive ties count, if the options say so, and
        with the correlation test all ties must be significant: latents without one are in no group.
    information : callable or None
        Finds each variable's best partners; None counts the pairs in ``rows``.

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
    if information is None:
        pairs = pair_information(counter, n_partners, workers, progress)
    else:
        pairs = information(counter, n_partners)
    search = (counter, pairs, options, key, workers, progress)
    islands, alive = find_islands(*search)
    bar = 0.0
    if of_latents and options.correlation_test:
        # All pairs may be too many to correct for: then the share of false ones is bounded, not their number.
        best = pairs.gain[counter.varies, 0]
        bar = discovery_gain(best, best.size - 1, options.significance)
        if 2 * alive.sum() > counter.varies.sum():
            islands, alive = find_islands(*search, bar)
    if not islands:
        if of_latents:
            return None
        islands = [_single_island(counter, options)]
        alive[islands[0].members] = False
    layer = _layer_of(islands, rows.n_columns)
    soft = complete(rows, layer)
    rounds = options.reassignment_rounds if options.correlation_test else 0
    progress.start("placing variables", rounds + 1)
    left = np.flatnonzero(alive).astype(np.int32)
    if left.size:
        hard = soft.hard()
        target, joint = _best_latents(left, hard, layer.latent_of, counter)
        latent_on = hard.counts()
        met = (target >= 0) & (counter.gains(joint, counter.n_on[left], latent_on[target]) >= bar)
        layer = _move(layer, left[met], target[met], joint[met], latent_on, counter, options)
        soft = complete(rows, layer)
    progress.advance()
    for _ in range(rounds):
        layer, moved = _reassign(layer, soft, counter, options, workers)
        progress.advance(1, f"{moved} variables moved")
        if not moved:
            break
        soft = complete(rows, layer)
    if rounds:  # the last round may have left groups of one variable: dissolve them
        before = layer.latent_of
        layer, _ = _reassign(layer, soft, counter, options, workers, only_alone=True)
        if not np.array_equal(layer.latent_of, before):
            soft = complete(rows, layer)
    progress.finish(f"{layer.n_latents} groups")
    return layer, soft


def _single_island(counter: PairCounter, options: IslandOptions) -> Island:
    """If nothing is correlated: one latent over the most frequent variable, to which all others are attached."""
    n_rows = counter.rows.n_rows
    member = int(np.argmax(np.where(counter.varies, counter.n_on, -1)))
    prior = float(counter.n_on[member] + options.smooth) / (n_rows + 2 * options.smooth)
    low = options.smooth / (n_rows + 2 * options.smooth)
    return Island(np.array([member], np.int32), prior, np.array([[low, 1.0 - low]]))


def _layer_of(islands: list[Island], n_variables: int) -> Layer:
    """The layer that consists of these islands."""
    latent_of = np.full(n_variables, -1, np.int32)
    table = np.full((n_variables, 2), 0.5)
    prior = np.array([island.prior for island in islands])
    for z, island in enumerate(islands):
        latent_of[island.members] = z
        table[island.members] = island.table
    return _order_layer_states(Layer(latent_of, prior, table))


def _order_layer_states(layer: Layer) -> Layer:
    """Swap the states of each latent whose group is on more often in state 0 than in state 1."""
    placed = layer.latent_of >= 0
    rise = layer.table[placed, 1] - layer.table[placed, 0]
    total = np.bincount(layer.latent_of[placed], weights=rise, minlength=layer.n_latents)
    swap = total < 0
    below = placed & swap[layer.latent_of]
    table = np.where(below[:, None], layer.table[:, ::-1], layer.table)
    return replace(layer, prior=np.where(swap, 1.0 - layer.prior, layer.prior), table=table)


def _best_latents(
    variables: NDArray[np.int32],
    completed: BinaryRows,
    own: NDArray[np.int32],
    counter: PairCounter,
) -> tuple[NDArray[np.int32], NDArray[np.int64]]:
    """For each variable the latent, other than its own, with the most mutual information, and their joint count.

    −1 and 0 for a variable that is on together with no such latent or, if only positive ties count, has none.
    """
    latent_on = completed.counts()
    by_row = completed.to_csr().astype(np.int32)
    by_variable = counter.columns.to_csr().astype(np.int32)
    best = np.full(variables.size, -1, np.int32)
    most = np.zeros(variables.size, np.int64)
    for start in range(0, variables.size, VARIABLES_AT_ONCE):
        asked = variables[start : start + VARIABLES_AT_ONCE]
        both = by_variable[asked] @ by_row
        n_met = np.diff(both.indptr)
        place, latent = np.repeat(np.arange(asked.size), n_met), both.indices
        gain = counter.gains(both.data, counter.n_on[asked][place], latent_on[latent])
        gain[latent == own[asked][place]] = -1.0
        if not gain.size:
            continue
        top = np.maximum.reduceat(gain, both.indptr[:-1][n_met > 0])
        lowest = 0.0 if counter.positive else -0.5
        hits = np.flatnonzero((gain == np.repeat(top, n_met[n_met > 0])) & (gain > lowest))
        hits = hits[np.lexsort((latent[hits], place[hits]))]
        found, first = np.unique(place[hits], return_index=True)
        best[start + found] = latent[hits[first]]
        most[start + found] = both.data[hits[first]]
    return best, most


def _reassign(
    layer: Layer,
    soft: SoftRows,
    counter: PairCounter,
    options: IslandOptions,
    workers: Workers,
    *,
    only_alone: bool = False,
) -> tuple[Layer, int]:
    """Move variables that fit another latent better than their own; drop latents left without a group.

    The greedy search assigns a variable while the groups are still growing. Now that they are complete, each variable
    is compared with the best other latent. It moves if, by BIC, its own group (without it) tells nothing about it
    given the other latent, while the other latent tells something about it given its own group. If both latents tell
    something, it stays: the next layer expresses what they share. A variable alone in its group always moves, if it has
    a tie to another; with ``only_alone`` no other moves, and those without a tie leave their group.

    Returns the new layer and the number of variables moved.
    """
    hard = soft.hard()
    alone = _alone(layer)
    considered = alone if only_alone else layer.latent_of >= 0
    placed = np.flatnonzero(considered & counter.varies).astype(np.int32)
    best, joint = _best_latents(placed, hard, layer.latent_of, counter)
    met = best >= 0
    placed, best, joint = placed[met], best[met], joint[met]
    tables = _compare(placed, best, layer, soft, hard, counter, workers)
    stay, go = conditional_gains(tables), conditional_gains(tables.swapaxes(2, 3))
    bar = np.log(soft.n_rows) + options.ud_threshold
    moves = ((stay <= bar) & (go > bar)) | alone[placed]
    layer = _move(layer, placed[moves], best[moves], joint[moves], hard.counts(), counter, options)
    alone = _alone(layer)
    if only_alone and not alone[layer.latent_of >= 0].all():
        layer = replace(layer, latent_of=np.where(alone, np.int32(-1), layer.latent_of))
    assigned = layer.latent_of >= 0
    used, compact = np.unique(layer.latent_of[assigned], return_inverse=True)
    latent_of = layer.latent_of.copy()
    latent_of[assigned] = compact
    return replace(layer, latent_of=latent_of, prior=layer.prior[used]), int(moves.sum())


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
    now = Assignment(
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
    out = np.zeros((variables.size, 2, 2, 2), np.int64)

    def serve(part: tuple[int, int]) -> None:
        compare_assignments(*part, variables, target, now, columns, completed, soft.n_rows, out)

    entries = np.diff(by_latent.indptr).astype(np.int64)
    parts = chunks_of_equal_work(entries[layer.latent_of[variables]] + 1, CHUNK_WORK)
    for _ in workers.map(serve, parts):
        pass
    return out


def conditional_gains(tables: NDArray[np.int64]) -> NDArray[np.float64]:
    """N · I(first; second | third) in nats of tables of counts (B, 2, 2, 2): (B,)."""
    total = np.zeros(tables.shape[0])
    for axes, sign in (((), 1.0), ((1,), -1.0), ((2,), -1.0), ((1, 2), 1.0)):
        n = tables.sum(axis=axes, keepdims=True)
        total += sign * xlogy(n, n).sum(axis=(1, 2, 3))
    return np.maximum(total, 0.0)


def _move(
    layer: Layer,
    variables: NDArray[np.int32],
    target: NDArray[np.int32],
    joint: NDArray[np.int64],
    latent_on: NDArray[np.int64],
    counter: PairCounter,
    options: IslandOptions,
) -> Layer:
    """Put variables under the latents ``target``; ``joint`` are the rows where both are on in the completed data.

    Their tables are the observed shares, shrunk towards the variable's own rate by ``smooth`` rows.
    """
    n_rows, smooth = counter.rows.n_rows, options.smooth
    n_on = counter.n_on[variables]
    rate = (n_on + smooth) / (n_rows + 2 * smooth)
    latent_of, table = layer.latent_of.copy(), layer.table.copy()
    latent_of[variables] = target
    table[variables, 1] = (joint + smooth * rate) / (latent_on[target] + smooth)
    table[variables, 0] = (n_on - joint + smooth * rate) / (n_rows - latent_on[target] + smooth)
    low = 0.5 / (n_rows + 1)
    return _order_layer_states(
        replace(layer, latent_of=latent_of, table=np.clip(table, low, 1.0 - low))
    )
