"""Log-odds of links: the first weights of a network whose units start as the probability of their latents."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from tsenet.data.blocks import Blocks
from tsenet.expansion.counts import CompletedPair, complete_layers, tiles_of, units_on
from tsenet.expansion.wiring import WiringLayer
from tsenet.progress import Progress
from tsenet.skeleton.tree import LatentTree

Int64 = NDArray[np.int64]


class _LinkCounts(NamedTuple):
    """For each layer, in how many rows both ends of each link are on: (E,); and each unit, level by level."""

    together: list[Int64]
    on: list[Int64]


def with_log_odds(
    tree: LatentTree,
    rows: Blocks,
    layers: Sequence[WiringLayer],
    n_jobs: int | None,
    progress: Progress,
) -> list[WiringLayer]:
    """The layers of a wiring of the tree with the log-odds of their links, from one pass over the rows."""
    completed = rows.map_lazily(partial(complete_layers, tree, rows.threads(n_jobs)))
    counts: _LinkCounts = completed.reduce(
        partial(_count_links, layers), _add_links, stage="log-odds", progress=progress
    )

    weighted_layers = []
    for k, layer in enumerate(layers):
        n_lower = counts.on[k][layer.indices]  # (E,)
        n_upper = counts.on[k + 1][layer.upper_ends()]  # (E,)
        log_odds = log_odds_of(counts.together[k], n_upper, n_lower, rows.n_rows)
        weighted_layers.append(replace(layer, log_odds=log_odds.astype(np.float32)))
    return weighted_layers


def log_odds_of(n_both: Int64, n_h: Int64, n_x: Int64, n_rows: int) -> NDArray[np.float64]:
    """ln P(x|h) − ln P(x|not h), from the number of rows in which both are on, h is, and x is, all of one shape.

    Each probability counts one more row, in which x is as frequent as in all rows.
    """
    rate = np.maximum(n_x, 0.5) / n_rows
    with_h = (n_both + rate) / (n_h + 1.0)
    without_h = (n_x - n_both + rate) / (n_rows - n_h + 1.0)
    return np.asarray(np.log(with_h) - np.log(without_h))


def _count_links(layers: Sequence[WiringLayer], completed: Sequence[CompletedPair]) -> _LinkCounts:
    """The counts of a block."""
    together = []
    for layer, pair in zip(layers, completed, strict=True):
        upper = layer.upper_ends()  # (E,)
        counts = []
        for first, last in tiles_of(layer.n_upper):
            both = (pair.by_unit[first:last] @ pair.lower).toarray()  # (B, D)
            links = slice(layer.indptr[first], layer.indptr[last])
            counts.append(both[upper[links] - first, layer.indices[links]])
        together.append(np.concatenate(counts).astype(np.int64))
    return _LinkCounts(together, units_on(completed))


def _add_links(a: _LinkCounts, b: _LinkCounts) -> _LinkCounts:
    """The counts over the rows of both."""
    together = list(map(np.add, a.together, b.together))
    return _LinkCounts(together, list(map(np.add, a.on, b.on)))
