"""Groups that the user begins: variables that shall be together, completed with those tied most closely to them."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from tsenet.skeleton.information import PairCounter, PairInformation
from tsenet.skeleton.islands import Island, IslandOptions, smallest_gain

__all__ = ["seeded_islands"]

EM_STEPS = 100


def seeded_islands(
    counter: PairCounter,
    information: PairInformation,
    options: IslandOptions,
    groups: Sequence[Sequence[int]],
) -> list[Island]:
    """One island for each given group.

    A free variable joins a group if, of all variables, its best partner is a member and the tie is significant; the
    closest ties first, until the group has ``max_island`` members.

    Parameters
    ----------
    groups : sequence of sequences of int
        Variables that begin each group; constant ones are left out.
    """
    free = counter.varies.copy()
    members = [[v for v in group if counter.varies[v]] for group in groups]
    for group in members:
        free[group] = False
    bar = smallest_gain(int(counter.varies.sum()), options)
    best, gain = information.partners[:, 0], information.gain[:, 0]
    islands = []
    for group in members:
        if not group:
            continue
        while len(group) < options.max_island:
            joins = np.flatnonzero(free & (gain >= bar) & np.isin(best, group))
            if joins.size == 0:
                break
            order = joins[np.argsort(-gain[joins], kind="stable")]
            chosen = order[: options.max_island - len(group)].tolist()
            group.extend(chosen)
            free[chosen] = False
        islands.append(_fit(counter, np.array(sorted(group), np.int32), options))
    return islands


def _fit(counter: PairCounter, members: NDArray[np.int32], options: IslandOptions) -> Island:
    """Fit one latent to some variables by EM; it begins as on where two of them (or the only one) are on."""
    n_rows, columns = counter.rows.n_rows, counter.columns
    lists = [columns.indices[columns.indptr[v] : columns.indptr[v + 1]] for v in members.tolist()]
    seen = np.unique(np.concatenate(lists))
    values = np.zeros((seen.size, members.size))
    for k, rows in enumerate(lists):
        values[np.searchsorted(seen, rows), k] = 1.0
    patterns, times = np.unique(values, axis=0, return_counts=True)
    # All other rows have every member off: one more pattern.
    patterns = np.vstack([patterns, np.zeros((1, members.size))])
    weight = np.append(times, n_rows - seen.size).astype(np.float64)
    on = (patterns.sum(axis=1) >= min(2, members.size)).astype(np.float64)
    prior, table = 0.5, np.empty((members.size, 2))
    smooth = options.smooth
    for _ in range(EM_STEPS):
        for state, share in ((0, weight * (1.0 - on)), (1, weight * on)):
            table[:, state] = (share @ patterns + smooth) / (share.sum() + 2.0 * smooth)
        prior = float((weight @ on + smooth) / (n_rows + 2.0 * smooth))
        odds = np.log(table[:, 1]) - np.log(table[:, 0])
        odds_off = np.log1p(-table[:, 1]) - np.log1p(-table[:, 0])
        logit = np.log(prior / (1.0 - prior)) + patterns @ (odds - odds_off) + odds_off.sum()
        new = 1.0 / (1.0 + np.exp(-np.clip(logit, -500.0, 500.0)))
        change = float(np.abs(new - on).max())
        on = new
        if change < 1e-6:
            break
    return Island(members, prior, table)
