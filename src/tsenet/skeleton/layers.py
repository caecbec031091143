"""One two-layer tree: groups, their latents, and the assignment of every variable to a latent (paper §3.1)."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csc_array, csr_array
from scipy.stats import chi2

from tsenet._system.threads import Workers, chunks_of_equal_work
from tsenet.data.rows import BinaryRows
from tsenet.progress import Progress
from tsenet.skeleton.completion import Layer, SoftRows, complete
from tsenet.skeleton.information import (
    CHUNK_WORK,
    PairCounter,
    PairInformation,
    pair_information,
)
from tsenet.skeleton.islands import Island, IslandFinder, IslandOptions, discovery_gain
from tsenet.skeleton.kernels import completion_kernels
from tsenet.skeleton.kernels.completion_kernels import Assignment
from tsenet.skeleton.kernels.pair_kernels import Csr

N_PARTNERS = 128

#: Callable (counter, n_partners) → PairInformation: the best partners of each variable in the counter's rows.
Information = Callable[[PairCounter, int], PairInformation]


def learn_layer(
    rows: BinaryRows,
    options: IslandOptions,
    key: int,
    workers: Workers,
    progress: Progress,
    *,
    place_constant: bool = False,
    information: Information | None = None,
) -> tuple[Layer, SoftRows] | None:
    """Group the variables of binary rows under one layer of latents.

    Parameters
    ----------
    key : int
        Seed of the random starting points of EM.
    place_constant : bool
        Whether variables that never vary get a latent too. False for the first layer. True for the layers above:
        a latent of the layer below that is constant in the completed data still belongs to the tree.
    information : callable or None
        Finds each variable's best partners; None counts the pairs in ``rows``.

    Returns
    -------
    (Layer, SoftRows) or None
        The layer and the posteriors of its latents. None if no variable varies or, with ``place_constant`` but without
        ``options.full_depth``, if most variables are correlated with no other.
    """
    counter = PairCounter(rows)
    if not counter.varies.any():
        return None
    # A list longer than an island always has an entry outside the island, unless it holds all partners.
    n_partners = max(N_PARTNERS, options.max_island + 1)
    if information is None:
        pairs = pair_information(counter, n_partners, workers, progress)
    else:
        pairs = information(counter, n_partners)
    finder, islands = _search(counter, pairs, options, key, workers, progress)
    if place_constant and 2 * finder.alive.sum() > counter.varies.sum():
        if not options.full_depth:
            return None  # most groups of the new layer would hold uncorrelated variables
        # All pairs are too many to correct for: first a bar for the false discovery rate, then the paper's search.
        for bar in (_discovery_bar(counter, pairs, options), 0.0):
            finder, islands = _search(counter, pairs, options, key, workers, progress, bar)
            if 2 * finder.alive.sum() <= counter.varies.sum():
                break
    if not islands:
        islands = [_single_island(counter, options)]
        finder.alive[islands[0].members] = False
    layer = _layer_of(islands, rows.n_columns)
    soft = complete(rows, layer, workers)
    left = np.flatnonzero(finder.alive | (place_constant & ~counter.varies)).astype(np.int32)
    rounds = options.reassignment_rounds if options.correlation_test else 0
    may_leave = options.leave_out and not place_constant
    progress.start("placing variables", rounds + 1)
    if left.size:
        if options.leave_out:
            layer = _attach_bounded(layer, left, soft.hard(), counter, options, workers, may_leave)
        else:
            layer = _attach(layer, left, soft.hard(), counter, options, workers)
        soft = complete(rows, layer, workers)
    progress.advance()
    for _ in range(rounds):
        layer, moved = _reassign(layer, soft, counter, options, workers)
        progress.advance(1, f"{moved} variables moved")
        if not moved:
            break
        soft = complete(rows, layer, workers)
    if rounds:  # the last round may have left groups of one variable: dissolve them
        before = layer.latent_of
        layer, _ = _reassign(
            layer, soft, counter, options, workers, only_alone=True, may_leave=may_leave
        )
        if not np.array_equal(layer.latent_of, before):
            soft = complete(rows, layer, workers)
    progress.finish(f"{layer.n_latents} groups")
    return layer, soft


def _search(
    counter: PairCounter,
    information: PairInformation,
    options: IslandOptions,
    key: int,
    workers: Workers,
    progress: Progress,
    min_gain: float | None = None,
) -> tuple[IslandFinder, list[Island]]:
    """All islands; ``min_gain`` replaces the bar of the correlation test."""
    finder = IslandFinder(counter, information, options, key, workers, min_gain)
    progress.start("islands", int(counter.varies.sum()))
    islands = []
    for island in finder.islands():
        islands.append(island)
        progress.advance(island.members.size)
    progress.finish(f"{len(islands)} groups, {int(finder.alive.sum())} variables left over")
    return finder, islands


def _discovery_bar(
    counter: PairCounter, information: PairInformation, options: IslandOptions
) -> float:
    """The bar of the correlation test that controls the false discovery rate instead of any false pair."""
    best = information.gain[counter.varies, 0]
    return discovery_gain(chi2.sf(2.0 * best, 1), best.size - 1, options.significance)


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
    workers: Workers,
) -> tuple[NDArray[np.int32], NDArray[np.int64]]:
    """For each variable the latent, other than its own, with the most mutual information, and their joint count.

    −1 and 0 for a variable that is on together with no such latent.
    """
    latent_on = completed.counts()
    best = np.empty(variables.size, np.int32)
    joint = np.empty(variables.size, np.int64)
    columns = Csr(counter.columns.indptr, counter.columns.indices)
    by_row = Csr(completed.indptr, completed.indices)

    def serve(part: tuple[int, int]) -> None:
        completion_kernels.best_latents(
            *part,
            variables,
            columns,
            by_row,
            latent_on,
            own,
            counter.xlogx,
            best,
            joint,
        )

    for _ in workers.map(serve, counter.parts(variables)):
        pass
    return best, joint


def _reassign(
    layer: Layer,
    soft: SoftRows,
    counter: PairCounter,
    options: IslandOptions,
    workers: Workers,
    *,
    only_alone: bool = False,
    may_leave: bool = False,
) -> tuple[Layer, int]:
    """Move variables that fit another latent better than their own; drop latents left without a group.

    The greedy search assigns a variable while the groups are still growing. Now that they are complete, each variable
    is compared with the best other latent. It moves if, by BIC, its own group (without it) tells nothing about it
    given the other latent, while the other latent tells something about it given its own group. If both latents tell
    something, it stays: the next layer expresses what they share. A variable alone in its group always moves. With
    ``options.leave_out`` no group grows beyond ``max_island``, and with ``may_leave`` too a variable that is alone in
    its group leaves it.

    Returns the new layer and the number of variables moved.
    """
    hard = soft.hard()
    size = np.bincount(layer.latent_of[layer.latent_of >= 0], minlength=layer.n_latents)
    alone = (layer.latent_of >= 0) & (size[layer.latent_of] == 1)
    considered = alone if only_alone else layer.latent_of >= 0
    placed = np.flatnonzero(considered & counter.varies).astype(np.int32)
    best, joint = _best_latents(placed, hard, layer.latent_of, counter, workers)
    met = best >= 0
    placed, best, joint = placed[met], best[met], joint[met]
    stay, go = _compare_assignments(placed, best, layer, soft, hard, counter, workers)
    bar = np.log(soft.n_rows) + options.ud_threshold
    moves = ((stay <= bar) & (go > bar)) | (alone[placed] & ((go > bar) | (not may_leave)))
    if options.leave_out:
        moves &= _first_in_groups(best, np.where(moves, go, -1.0), options.max_island - size)
    layer = _move(layer, placed[moves], best[moves], joint[moves], hard.counts(), counter, options)
    if only_alone and may_leave:
        layer = _leave_single(layer)
    assigned = layer.latent_of >= 0
    used, compact = np.unique(layer.latent_of[assigned], return_inverse=True)
    latent_of = layer.latent_of.copy()
    latent_of[assigned] = compact
    return replace(layer, latent_of=latent_of, prior=layer.prior[used]), int(moves.sum())


def _compare_assignments(
    variables: NDArray[np.int32],
    target: NDArray[np.int32],
    layer: Layer,
    soft: SoftRows,
    hard: BinaryRows,
    counter: PairCounter,
    workers: Workers,
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """N·I(x; own group | target) and N·I(x; target | own group) of each variable: (B,) both."""
    by_latent = csc_array(
        csr_array((soft.logodds, soft.latent, soft.indptr), shape=(soft.n_rows, layer.n_latents))
    )
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
    stay, go = np.empty(variables.size), np.empty(variables.size)

    def serve(part: tuple[int, int]) -> None:
        completion_kernels.compare_assignments(
            *part, variables, target, now, columns, completed, soft.n_rows, stay, go
        )

    entries = np.diff(by_latent.indptr).astype(np.int64)
    parts = chunks_of_equal_work(entries[layer.latent_of[variables]] + 1, CHUNK_WORK)
    for _ in workers.map(serve, parts):
        pass
    return stay, go


def _attach(
    layer: Layer,
    left: NDArray[np.int32],
    completed: BinaryRows,
    counter: PairCounter,
    options: IslandOptions,
    workers: Workers,
) -> Layer:
    """Put variables of no island under the latent with the most mutual information, or else the most frequent one."""
    best, joint = _best_latents(left, completed, layer.latent_of, counter, workers)
    latent_on = completed.counts()
    target = np.where(best >= 0, best, np.argmax(latent_on)).astype(np.int32)
    return _move(layer, left, target, joint, latent_on, counter, options)


def _attach_bounded(
    layer: Layer,
    left: NDArray[np.int32],
    completed: BinaryRows,
    counter: PairCounter,
    options: IslandOptions,
    workers: Workers,
    may_leave: bool,
) -> Layer:
    """Put variables of no island under the latent with the most mutual information among those with room.

    With ``may_leave``, a variable joins only if its tie with that latent is significant (false discovery rate over the
    variables, Bonferroni over the latents). Without it, one that finds no such latent joins the most frequent one
    that has room.
    """
    size = np.bincount(layer.latent_of[layer.latent_of >= 0], minlength=layer.n_latents)
    room = np.maximum(0, options.max_island - size)
    latent_on = completed.counts()
    bar = None if may_leave else 0.0
    while left.size and room.any():
        open_only = _only_latents(completed, room > 0)
        best, joint = _best_latents(left, open_only, layer.latent_of, counter, workers)
        gain = _gains(counter, left, joint, np.where(best >= 0, latent_on[best], 0))
        if bar is None:
            p_values = chi2.sf(2.0 * gain, 1)
            bar = discovery_gain(p_values, layer.n_latents, options.significance)
        met = np.flatnonzero((best >= 0) & (gain >= bar))
        taken = met[_first_in_groups(best[met], gain[met], room)]
        if taken.size == 0:
            break
        layer = _move(layer, left[taken], best[taken], joint[taken], latent_on, counter, options)
        room -= np.bincount(best[taken], minlength=room.size)
        keep = np.ones(left.size, bool)
        keep[taken] = False
        if may_leave:
            keep &= (best >= 0) & (gain >= bar)  # with fewer latents open, the tie only weakens
        left = left[keep]
    if may_leave or not left.size:
        return layer
    target = np.empty(left.size, np.int32)
    for k in range(left.size):
        usable = room > 0 if room.any() else np.ones(room.size, bool)
        target[k] = np.argmax(np.where(usable, latent_on, -1))
        room[target[k]] = max(0, room[target[k]] - 1)
    nothing = np.zeros(left.size, np.int64)
    return _move(layer, left, target, nothing, latent_on, counter, options)


def _leave_single(layer: Layer) -> Layer:
    """Take variables that are alone in their group out of it, but keep at least one latent."""
    placed = layer.latent_of >= 0
    size = np.bincount(layer.latent_of[placed], minlength=layer.n_latents)
    if (size > 1).sum() == 0:
        return layer
    alone = placed & (size[layer.latent_of] == 1)
    return replace(layer, latent_of=np.where(alone, np.int32(-1), layer.latent_of))


def _first_in_groups(
    group: NDArray[np.int32], score: NDArray[np.float64], room: NDArray[np.int64]
) -> NDArray[np.bool_]:
    """Whether each candidate is among the ``room[g]`` of its group with the highest scores; ties by position."""
    order = np.lexsort((-score, group))
    rank = np.arange(order.size) - np.searchsorted(group[order], group[order], side="left")
    first = np.empty(order.size, bool)
    first[order] = rank < room[group[order]]
    return first


def _only_latents(completed: BinaryRows, wanted: NDArray[np.bool_]) -> BinaryRows:
    """Completed data in which all latents but the wanted ones are off."""
    kept = wanted[completed.indices]
    ends = np.concatenate([[0], np.cumsum(kept)])[completed.indptr]
    return BinaryRows(ends, completed.indices[kept], completed.n_columns)


def _gains(
    counter: PairCounter,
    variables: NDArray[np.int32],
    joint: NDArray[np.int64],
    latent_on: NDArray[np.int64],
) -> NDArray[np.float64]:
    """N·MI in nats of each variable and its latent, from the rows where both, and where the latent, are on."""
    n_rows, f = counter.rows.n_rows, counter.xlogx
    n_on = counter.n_on[variables]
    cells = f[joint] + f[n_on - joint] + f[latent_on - joint] + f[n_rows - n_on - latent_on + joint]
    margins = f[n_on] + f[n_rows - n_on] + f[latent_on] + f[n_rows - latent_on]
    return np.asarray(np.maximum(cells - margins + f[n_rows], 0.0))


def _move(
    layer: Layer,
    variables: NDArray[np.int32],
    target: NDArray[np.int32],
    joint: NDArray[np.int64],
    latent_on: NDArray[np.int64],
    counter: PairCounter,
    options: IslandOptions,
) -> Layer:
    """Put variables under the latents ``target``; ``joint`` are the rows where both are on.

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
