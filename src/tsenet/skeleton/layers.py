"""One layer of the tree: islands, the variables left over, and moves between groups (paper §3.1)."""

from __future__ import annotations

from dataclasses import replace
from functools import partial

import numpy as np
from numpy.typing import NDArray

from tsenet._system.threads import Workers, chunks_of_equal_work
from tsenet.data.binary import BinaryRows
from tsenet.data.blocks import Blocks
from tsenet.progress import Progress
from tsenet.skeleton.chow_liu import counted_information
from tsenet.skeleton.completion import Layer, SoftRows, complete
from tsenet.skeleton.information import CHUNK_WORK, PairCounter, pair_information
from tsenet.skeleton.islands import discovery_gain, find_islands
from tsenet.skeleton.kernels.csr import Csr
from tsenet.skeleton.kernels.island_kernels import SMOOTH, IslandOptions
from tsenet.skeleton.kernels.pair_kernels import Assignment, compare_assignments

N_PARTNERS = 128  # kept for each variable; lists that end too early are found again
# Rounds in which variables move, with the correlation test. The paper has none; few variables move in a third.
MAX_REASSIGNMENTS = 2


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
