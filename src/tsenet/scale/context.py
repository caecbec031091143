"""Links by context (``link_rule="context"``) for rows outside memory.

What a word's context is, at most 100,000 rows say, drawn by the seed; only these come into memory. Counts are those of
all rows. So the wiring has the same bits as that of the rows in memory.
"""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

import tsenet
from tsenet._system.seeds import seed_sequence
from tsenet._system.threads import Workers
from tsenet.data.binary import BinaryRule
from tsenet.data.rows import BinaryRows
from tsenet.expansion.expand import LinkRule, wire_layer
from tsenet.expansion.pairs import LayerPair, PairedLayers
from tsenet.expansion.wiring import Wiring, WiringLayer
from tsenet.progress import as_progress
from tsenet.scale.paired import CountedLayers
from tsenet.skeleton.tree import LatentTree

if TYPE_CHECKING:
    from tsenet.scale.shards import Shards

__all__ = ["expand_shards"]


class RowsWhenAsked(BinaryRows):
    """The rows of a folder, binary by the rule of a tree, read when they are asked for: some, or all."""

    def __init__(self, shards: Shards, rule: BinaryRule) -> None:
        self.__dict__.update(n_columns=rule.n_variables, shards=shards, rule=rule)

    @property
    def n_rows(self) -> int:
        """Rows of the folder."""
        n_rows: int = self.__dict__["shards"].n_rows
        return n_rows

    def take(self, rows: Any) -> BinaryRows:
        """Some rows, ascending, in memory."""
        taken: BinaryRows = self.__dict__["shards"].take(rows, self.__dict__["rule"])
        return taken

    @property
    def indptr(self) -> NDArray[np.int64]:
        """That of all rows."""
        return self._every.indptr

    @property
    def indices(self) -> NDArray[np.int32]:
        """Those of all rows."""
        return self._every.indices

    @cached_property
    def _every(self) -> BinaryRows:
        return self.take(None)


class FirstLayers(CountedLayers, LayerPair):
    """Words and the level above them: counted by the workers, with rows to learn contexts from."""

    def __init__(self, counted: CountedLayers, lower: BinaryRows) -> None:
        self.__dict__.update(counted.__dict__)
        self.lower = lower


def expand_shards(
    tree: LatentTree, shards: Shards, *, link_rule: LinkRule = "balanced", **options: Any
) -> Wiring:
    """As :func:`tsenet.expand`, by any link rule."""
    if link_rule == "context":
        return _expand_by_context(tree, shards, **options)
    return tsenet.expand(tree, shards, link_rule=link_rule, **options)


def _expand_by_context(
    tree: LatentTree,
    shards: Shards,
    *,
    density: float = 0.05,
    random_state: Any = None,
    n_jobs: int | None = None,
    progress: Any = None,
) -> Wiring:
    if not 0.0 < density <= 1.0:
        raise ValueError(f"density must be above 0 and at most 1, not {density}")
    if tree.n_levels == 0:
        raise ValueError("the tree has no latents to wire: no variable of its data varies")
    seeds = seed_sequence(random_state).spawn(tree.n_levels)
    layers: list[WiringLayer] = []
    with Workers(n_jobs) as workers, as_progress(progress) as report:
        lower = RowsWhenAsked(shards, tree.rule)
        pairs = shards.paired_layers(tree, report)
        report.start("links", sum(tree.layer_sizes[1:]))
        for counted, seed in zip(pairs, seeds, strict=True):
            first = not layers
            pair: PairedLayers = FirstLayers(counted, lower) if first else counted
            rule: LinkRule = "context" if first else "balanced"
            layers.append(wire_layer(pair, density, rule, seed, workers, report))
        report.finish(f"{sum(layer.n_edges for layer in layers)} links")
    names = tuple(tree.names[tree.layer(level)] for level in range(tree.n_levels + 1))
    return Wiring(tuple(layers), names, "context")
