"""How often the units of neighbouring layers are on together in completed rows, and what this says about links.

About links that might be added, their information; about those that there are, their log-odds.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array
from scipy.special import entr

from tsenet._system.threads import chunks
from tsenet.data.binary import BinaryRows
from tsenet.data.blocks import Blocks
from tsenet.expansion.wiring import WiringLayer
from tsenet.progress import Progress
from tsenet.skeleton.chow_liu import counted_information, n_log_n
from tsenet.skeleton.tree import LatentTree

UNITS_PER_TILE = 128  # upper units whose scores with all lower ones are in memory at a time
BYTES_PER_PASS = 128 << 20  # counts of one pass over the rows; a task holds up to five such results
ROWS_PER_CHUNK = 8192  # rows of a layer that are dense at a time
MORE_ROWS = 5.0  # with each lower unit, in log-odds: docs/results/paper.md#informed

Int32 = NDArray[np.int32]
Int64 = NDArray[np.int64]
UnitRange = tuple[int, int, int]  # a level, and the first and last of some of its units


class Tile(NamedTuple):
    """Rows in which B consecutive upper units, from ``first`` on, are on together with others; int32 each.

    Fields
    ------
    first : int
    both : (B, D), with each lower unit.
    with_both : (B, D), with each lower unit and the tree parent of that.
    with_upper : (B, U), with each upper unit.
    """

    first: int
    both: Int32
    with_both: Int32
    with_upper: Int32


@dataclass(frozen=True, eq=False)
class LayerPair:
    """An upper and a lower layer of completed data, and the tree between them.

    Attributes
    ----------
    n_rows : int
        Rows N.
    parent : int32 (D,)
        The tree parent of each lower unit among the upper ones, −1 if it has none.
    upper_on, lower_on : int64 (U,) and (D,)
        In how many rows each unit is on.
    parent_on : int64 (D,)
        In how many rows each lower unit and its parent are on.
    """

    n_rows: int
    parent: Int32
    upper_on: Int64
    lower_on: Int64
    parent_on: Int64

    @property
    def n_upper(self) -> int:
        """Number of upper units U."""
        return int(self.upper_on.size)

    @property
    def n_lower(self) -> int:
        """Number of lower units D."""
        return int(self.lower_on.size)

    def score(self, tile: Tile) -> NDArray[np.float64]:
        """N·I(h; x | parent of x) in nats of the upper units h of a tile with every lower unit x: (B, D).

        −1 marks a unit's own children. A lower unit without a parent has plain mutual information.
        """
        units = enumerate(
            zip(tile.both, tile.with_both, tile.with_upper, strict=True), start=tile.first
        )
        return np.stack([self._information(unit, *counts) for unit, counts in units])

    def relative_score(self, tile: Tile) -> NDArray[np.float64]:
        """What link_rule="informative" compares for the upper units h of a tile with every lower unit x: (B, D).

        (I(h; x | parent of x) − 1/N) / √H(x), raised by 2 where h and x are associated positively given the parent;
        −∞ marks a unit's own children.
        """
        share = self.lower_on / self.n_rows
        entropy = entr(share) + entr(1.0 - share)  # (D,)
        information = self.score(tile)

        # 1 nat over all rows is what chance alone gives: 1/N for each row.
        relative = (information - 1.0) / (self.n_rows * np.sqrt(np.maximum(entropy, 1e-300)))
        relative = np.maximum(relative, -1.0)  # of a constant x; all others are between −1 and 1
        relative[self._association(tile) > 0] += 2.0
        return np.where(information < 0, -np.inf, relative)

    def _association(self, tile: Tile) -> NDArray[np.float64]:
        """In how many more rows h and x are on together than if they were independent given the parent of x: (B, D)."""
        has_parent = self.parent >= 0
        n_h = self.upper_on[tile.first : tile.first + len(tile.both), None]
        n_z = np.where(has_parent, self.upper_on[self.parent], 0)
        n_hz = np.where(has_parent, tile.with_upper[:, self.parent], 0).astype(np.int64)

        # Expected where the parent z is on: n_hz · n_xz / n_z.
        expected = n_hz * self.parent_on / np.maximum(n_z, 1)
        more_with_z = tile.with_both - expected

        # The same where it is off.
        n_0 = self.n_rows - n_z
        n_x0 = self.lower_on - self.parent_on
        expected = (n_h - n_hz) * n_x0 / np.maximum(n_0, 1)
        more_without_z = (tile.both - tile.with_both) - expected
        return np.asarray(more_with_z + more_without_z)

    def _information(
        self, unit: int, n_hx: Int32, with_both: Int32, with_upper: Int32
    ) -> NDArray[np.float64]:
        """N·I(h; x | z) of one upper unit h with every lower unit x, whose parent is z: (D,)."""
        has_parent = self.parent >= 0

        # Rows in which the named variables are on, each (D,).
        n_x = self.lower_on
        n_z = np.where(has_parent, self.upper_on[self.parent], 0)
        n_xz = self.parent_on
        n_hz = np.where(has_parent, with_upper[self.parent], 0).astype(np.int64)
        n_hxz = with_both.astype(np.int64)

        # The same among the rows in which z is off.
        n_0 = self.n_rows - n_z
        n_x0 = n_x - n_xz
        n_h0 = self.upper_on[unit] - n_hz
        n_hx0 = n_hx - n_hxz

        # I(h; x | z) = P(z) · I(h; x | z on) + P(not z) · I(h; x | z off)
        with_z = counted_information(n_hxz, n_hz, n_xz, n_z, self._n_log_n)
        without_z = counted_information(n_hx0, n_h0, n_x0, n_0, self._n_log_n)
        score = np.maximum(0.0, with_z + without_z)
        return np.where(self.parent == unit, -1.0, score)

    @cached_property
    def _n_log_n(self) -> NDArray[np.float64]:
        return n_log_n(self.n_rows)


def count_layers(
    tree: LatentTree,
    rows: Blocks,
    first_level: int | None,
    n_jobs: int | None,
    progress: Progress,
) -> tuple[list[LayerPair], Iterator[Tile]]:
    """Complete the rows, and count how often the units of neighbouring layers are on together.

    Parameters
    ----------
    rows : Blocks
        Rows of the tree's variables.
    first_level : int or None
        The level from which on units are counted; None for no level, then no rows are read.

    Returns
    -------
    list of LayerPair
        Each level with the one below, from the first up.
    iterator of Tile
        The counts of the upper units of the first of these levels, 128 at a time, then of the next level, and so on. As
        many passes are made over the rows as memory requires.
    """
    sizes = tree.layer_sizes
    ranges = [
        (level, first, last)
        for level in range(first_level or len(sizes), len(sizes))
        for first, last in tiles_of(sizes[level])
    ]
    passes = _passes(ranges, sizes)
    zeros = [np.zeros(size, np.int64) for size in sizes]
    counted = _LayerCounts([], zeros, zeros)

    if ranges:
        completed = rows.map_lazily(partial(_complete_layers, tree, rows.threads(n_jobs)))

        def count(wanted: Sequence[UnitRange], stage: str = "") -> _LayerCounts:
            counts: _LayerCounts = completed.reduce(
                partial(_count, wanted),
                _add,
                stage=stage,
                progress=progress if stage else None,
            )
            return counts

        counted = count(passes[0], "counts of units")

    def tiles() -> Iterator[Tile]:
        for number, wanted in enumerate(passes):
            yield from (count(wanted) if number else counted).tiles

    on = counted.on
    pairs = [
        LayerPair(rows.n_rows, _parents(tree, k + 1), on[k + 1], on[k], counted.parent_on[k])
        for k in range(tree.n_levels)
    ]
    return pairs, tiles()


def _passes(ranges: Sequence[UnitRange], sizes: Sequence[int]) -> list[list[UnitRange]]:
    """The tiles that are counted in each pass over the rows: as many as fit, at least one."""
    passes: list[list[UnitRange]] = []
    n_free = 0
    for level, first, last in ranges:
        # A tile holds int32 counts: (B, D) twice and (B, U) once.
        n_bytes = 4 * (last - first) * (2 * sizes[level - 1] + sizes[level])
        if not passes or n_bytes > n_free:
            passes.append([])
            n_free = BYTES_PER_PASS
        passes[-1].append((level, first, last))
        n_free -= n_bytes
    return passes


def tiles_of(n_units: int) -> list[tuple[int, int]]:
    """The units of a level, in tiles: the first and last of each."""
    return chunks(n_units, UNITS_PER_TILE)


def _parents(tree: LatentTree, level: int) -> Int32:
    """The parent of each node of the layer below a level, within the level; −1 for none."""
    parent = tree.parent[tree.layer(level - 1)]
    return np.where(parent >= 0, parent - tree.layer(level).start, -1).astype(np.int32)


# ---- one block of rows


class _CompletedPair(NamedTuple):
    """Two neighbouring layers of completed rows, 1 where a unit is on.

    ``by_unit`` is ``upper`` transposed; ``with_parent`` is ``lower``, 1 where the parent of the unit is on, too.
    """

    upper: csr_array
    by_unit: csr_array
    lower: csr_array
    with_parent: csr_array


class _LayerCounts(NamedTuple):
    """Counts of some units; and for each layer how often its units, and its units with their parents, are on."""

    tiles: list[Tile]
    on: list[Int64]
    parent_on: list[Int64]


def _complete_layers(
    tree: LatentTree, n_jobs: int | None, rows: BinaryRows
) -> list[_CompletedPair]:
    """The completed data of a block: each level with the one below."""
    layers = tree.complete(rows, n_jobs=n_jobs)
    pairs = []
    for level in range(1, tree.n_levels + 1):
        upper = layers[level]
        lower = layers[level - 1]
        parent_is_on = _parents_on(upper, lower, _parents(tree, level)).astype(np.int32)
        with_parent = csr_array((parent_is_on, lower.indices, lower.indptr), shape=lower.shape)
        pair = _CompletedPair(
            upper=upper.to_csr().astype(np.int32),
            by_unit=upper.transpose().to_csr().astype(np.int32),
            lower=lower.to_csr().astype(np.int32),
            with_parent=with_parent,
        )
        pairs.append(pair)

    return pairs


def _parents_on(upper: BinaryRows, lower: BinaryRows, parent: Int32) -> NDArray[np.bool_]:
    """For each entry of the lower rows, whether its parent is on in that row: (nnz,)."""
    is_on = np.empty(lower.nnz, np.bool_)
    for start, stop in chunks(lower.n_rows, ROWS_PER_CHUNK):
        entries = slice(lower.indptr[start], lower.indptr[stop])
        dense = upper.take(slice(start, stop)).to_dense()
        row = np.repeat(np.arange(stop - start), np.diff(lower.indptr[start : stop + 1]))
        parent_of_entry = parent[lower.indices[entries]]
        is_on[entries] = dense[row, parent_of_entry] & (parent_of_entry >= 0)
    return is_on


def _count(wanted: Sequence[UnitRange], layers: Sequence[_CompletedPair]) -> _LayerCounts:
    """The counts of a block."""
    tiles = []
    for level, first, last in wanted:
        pair = layers[level - 1]
        units = pair.by_unit[first:last]  # (B, N)
        tile = Tile(
            first=first,
            both=(units @ pair.lower).toarray(),
            with_both=(units @ pair.with_parent).toarray(),
            with_upper=(units @ pair.upper).toarray(),
        )
        tiles.append(tile)
    return _LayerCounts(
        tiles, _units_on(layers), [_column_sums(pair.with_parent) for pair in layers]
    )


def _units_on(layers: Sequence[_CompletedPair]) -> list[Int64]:
    """In how many rows of a block each unit is on, level by level."""
    return [*(_column_sums(pair.lower) for pair in layers), _column_sums(layers[-1].upper)]


def _column_sums(rows: csr_array) -> Int64:
    """The sum of each column."""
    return np.bincount(rows.indices, rows.data, rows.shape[1]).astype(np.int64)


def _add(a: _LayerCounts, b: _LayerCounts) -> _LayerCounts:
    """The counts over the rows of both, in the arrays of the first: they are large."""
    for total, tile in zip(a.tiles, b.tiles, strict=True):
        np.add(total.both, tile.both, out=total.both)
        np.add(total.with_both, tile.with_both, out=total.with_both)
        np.add(total.with_upper, tile.with_upper, out=total.with_upper)

    on = list(map(np.add, a.on, b.on))
    parent_on = list(map(np.add, a.parent_on, b.parent_on))
    return _LayerCounts(a.tiles, on, parent_on)


# ---- log-odds of links: the first weights of a network whose units start as the probability of their latents


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
    completed = rows.map_lazily(partial(_complete_layers, tree, rows.threads(n_jobs)))
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

    Five more rows with x, spread over all rows alike, are counted: what a few rows with x say is not overstated.
    Where h is on in no row, or in all, it says nothing.
    """
    n_without = n_rows - n_h
    rate = n_x / n_rows
    with_h = np.where(n_h > 0, n_both / np.maximum(n_h, 1), rate)
    without_h = np.where(n_without > 0, (n_x - n_both) / np.maximum(n_without, 1), rate)
    more = MORE_ROWS / n_rows
    return np.asarray(np.log(with_h + more) - np.log(without_h + more))


def _count_links(layers: Sequence[WiringLayer], completed: Sequence[_CompletedPair]) -> _LinkCounts:
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

    return _LinkCounts(together, _units_on(completed))


def _add_links(a: _LinkCounts, b: _LinkCounts) -> _LinkCounts:
    """The counts over the rows of both."""
    together = list(map(np.add, a.together, b.together))
    return _LinkCounts(together, list(map(np.add, a.on, b.on)))
