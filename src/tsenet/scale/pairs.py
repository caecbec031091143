"""The pair pass: each variable's best partners, counted by workers."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from tsenet.scale import tasks
from tsenet.scale.executor import Reduction
from tsenet.scale.plan import Plan
from tsenet.scale.tasks import Cut, Tile
from tsenet.skeleton.information import PairCounter

if TYPE_CHECKING:
    from tsenet.scale.shards import Shards

__all__ = ["pairs_in_sample", "pairs_in_shards"]


def pairs_in_sample(plan: Plan, counter: PairCounter, n_partners: int) -> list[Reduction]:
    """Tiles of variables, each counted in the whole sample, which is sent to the workers."""
    arguments = (counter.rows, n_partners)
    tiles = plan.equal_tiles(counter.work)
    return [Reduction(tasks.partners_in_sample, [tile], arguments) for tile in tiles]


def pairs_in_shards(
    shards: Shards,
    counter: PairCounter,
    chosen: NDArray[np.int64] | None,
    cut: tuple[int | None, int],
    n_partners: int,
) -> list[Reduction]:
    """Tiles of pairs, counted partition by partition: for a sample that does not fit into a worker."""
    n_rows, n_variables = counter.rows.shape
    size, key = cut
    whole = shards.n_rows if chosen is None else chosen.size
    # Variables that are on in no piece are those that were left out of them, and those that never were on.
    cutting = None if size is None or n_rows == whole else Cut(size, key, counter.n_on == 0)
    wanted = shards.chosen(chosen, shards.plan.spans(2 * shards.plan.n_slots))
    return [
        Reduction(
            tasks.count_pairs,
            wanted,
            (
                shards.source(),
                cutting,
                Tile(first, last, n_rows, counter.n_on, counter.varies, n_partners),
            ),
            np.add,
            tasks.best_partners,
        )
        for first, last in shards.plan.pair_tiles(n_variables)
    ]
