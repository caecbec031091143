"""Two neighbouring layers of completed data: how often their units are on together (paper §4)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import entr

from tsenet._system.threads import Workers, chunks
from tsenet.data.rows import BinaryRows
from tsenet.expansion._cmi_kernels import UnitCounts, count_units
from tsenet.progress import Progress
from tsenet.scale.blocks import Blocks
from tsenet.skeleton.kernels.pair_kernels import Csr
from tsenet.skeleton.tree import LatentTree

__all__ = ["LayerPair", "Tile", "count_layers", "tiles_of"]

UNITS_PER_CHUNK = 16
UNITS_PER_TILE = 128  # upper units whose scores with all lower ones are in memory at a time


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
    parent: NDArray[np.int32]
    upper_on: NDArray[np.int64]
    lower_on: NDArray[np.int64]
    parent_on: NDArray[np.int64]

    @property
    def n_upper(self) -> int:
        """Number of upper units U."""
        return int(self.upper_on.size)

    @property
    def n_lower(self) -> int:
        """Number of lower units D."""
        return int(self.lower_on.size)

    def score(self, tile: Tile, workers: Workers) -> NDArray[np.float64]:
        """N·I(h; x | parent of x) in nats of the upper units h of a tile with every lower unit x: (B, D).

        −1 marks a unit's own children. A lower unit without a parent has plain mutual information.
        """
        parts = chunks(tile.counts.both.shape[0], UNITS_PER_CHUNK)
        tasks = (
            (tile.first + a, UnitCounts(*(array[a:b] for array in tile.counts))) for a, b in parts
        )
        return np.concatenate(list(workers.map(lambda task: self._information(*task), tasks)))

    def _information(self, first: int, counts: UnitCounts) -> NDArray[np.float64]:
        f = self._xlogx.take
        units = np.arange(first, first + counts.both.shape[0])[:, None]
        has_parent = self.parent >= 0
        # Rows with the named variables on: h, x and the parent z of x; then those among them without z.
        n_hxz, n_xz, n_x = counts.with_both.astype(np.int64), self.parent_on, self.lower_on
        n_hz = np.where(has_parent, counts.with_upper[:, self.parent], 0).astype(np.int64)
        n_z = np.where(has_parent, self.upper_on[self.parent], 0)
        n_hx0, n_h0 = counts.both - n_hxz, self.upper_on[units] - n_hz
        n_x0, n_0 = n_x - n_xz, self.n_rows - n_z
        with_z = (f(n_hxz) + f(n_z - n_hz - n_xz + n_hxz)) + (f(n_hz - n_hxz) + f(n_xz - n_hxz))
        without_z = (f(n_hx0) + f(n_0 - n_h0 - n_x0 + n_hx0)) + (f(n_h0 - n_hx0) + f(n_x0 - n_hx0))
        given_z = f(n_z) - (f(n_hz) + f(n_z - n_hz)) - (f(n_xz) + f(n_z - n_xz))
        given_not = f(n_0) - (f(n_h0) + f(n_0 - n_h0)) - (f(n_x0) + f(n_0 - n_x0))
        score = np.maximum(0.0, (with_z + given_z) + (without_z + given_not))
        return np.where(self.parent == units, -1.0, score)

    @cached_property
    def _xlogx(self) -> NDArray[np.float64]:
        """n·ln n of every number of rows: (N + 1,)."""
        n = np.arange(self.n_rows + 1, dtype=np.float64)
        return np.asarray(n * np.log(np.maximum(n, 1.0)))

    def upper_entropy(self) -> NDArray[np.float64]:
        """Entropy of each upper unit in nats: (U,)."""
        share = self.upper_on / self.n_rows
        return np.asarray(entr(share) + entr(1.0 - share))


class Tile(NamedTuple):
    """The counts of consecutive upper units, from ``first`` on, with all units of both layers."""

    first: int
    counts: UnitCounts


class _Units(NamedTuple):
    """Upper units ``first..last`` of a level."""

    level: int
    first: int
    last: int


def tiles_of(n_units: int) -> int:
    """Tiles of a level."""
    return -(-n_units // UNITS_PER_TILE)


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
    units = [
        _Units(level, first, last)
        for level in range(first_level or len(sizes), len(sizes))
        for first, last in chunks(sizes[level], UNITS_PER_TILE)
    ]
    n_bytes = [4 * (u.last - u.first) * (2 * sizes[u.level - 1] + sizes[u.level]) for u in units]
    passes = [units[a:b] for a, b in rows.groups(n_bytes, f"the counts of {UNITS_PER_TILE} units")]
    zeros = [np.zeros(size, np.int64) for size in sizes]
    counted = _Counts([], zeros, zeros)

    if units:
        completed = rows.then(partial(_complete, tree, rows.threads(n_jobs)))

        def count(wanted: Sequence[_Units], stage: str = "") -> _Counts:
            counts: _Counts = completed.reduce(
                partial(_count, wanted, rows.threads(n_jobs)),
                _add,
                stage=stage,
                progress=progress if stage else None,
            )
            return counts

        counted = count(passes[0], "counts of units")

    def tiles() -> Iterator[Tile]:
        for number, wanted in enumerate(passes):
            counts = (count(wanted) if number else counted).units
            yield from (Tile(u.first, each) for u, each in zip(wanted, counts, strict=True))

    on, parent_on = counted.on, counted.parent_on
    pairs = [
        LayerPair(rows.n_rows, _parents(tree, k + 1), on[k + 1], on[k], parent_on[k])
        for k in range(tree.n_levels)
    ]
    return pairs, tiles()


def _parents(tree: LatentTree, level: int) -> NDArray[np.int32]:
    """The parent of each node of the layer below a level, within the level; −1 for none."""
    above = tree.parent[tree.layer(level - 1)]
    return np.where(above >= 0, above - tree.layer(level).start, -1).astype(np.int32)


# ---- one block of rows


class _Completed(NamedTuple):
    """Two neighbouring layers of completed rows.

    ``by_unit`` are the columns of ``upper``; ``with_parent`` says for each entry of ``lower`` whether the parent of the
    unit is on in the same row.
    """

    upper: BinaryRows
    by_unit: BinaryRows
    lower: BinaryRows
    with_parent: NDArray[np.bool_]


class _Counts(NamedTuple):
    """Counts of some units; and for each layer how often its units, and its units with their parents, are on."""

    units: list[UnitCounts]
    on: list[NDArray[np.int64]]
    parent_on: list[NDArray[np.int64]]


def _complete(tree: LatentTree, n_jobs: int | None, rows: BinaryRows) -> list[_Completed]:
    """The completed data of a block: each level with the one below."""
    layers = tree.complete(rows, n_jobs=n_jobs)
    return [
        _Completed(
            layers[level],
            layers[level].transpose(),
            layers[level - 1],
            _parents_on(layers[level], layers[level - 1], _parents(tree, level)),
        )
        for level in range(1, tree.n_levels + 1)
    ]


def _parents_on(
    upper: BinaryRows, lower: BinaryRows, parent: NDArray[np.int32]
) -> NDArray[np.bool_]:
    """For each entry of the lower rows, whether its parent is on in that row: (nnz,)."""
    answer = np.empty(lower.nnz, np.bool_)
    for start, stop in chunks(lower.n_rows, 8192):
        part = slice(lower.indptr[start], lower.indptr[stop])
        dense = upper.take(slice(start, stop)).to_dense()
        row = np.repeat(np.arange(stop - start), np.diff(lower.indptr[start : stop + 1]))
        above = parent[lower.indices[part]]
        answer[part] = dense[row, above] & (above >= 0)
    return answer


def _count(wanted: Sequence[_Units], n_jobs: int | None, layers: Sequence[_Completed]) -> _Counts:
    """The counts of a block."""
    units = []
    with Workers(n_jobs) as workers:
        for level, first, last in wanted:
            layer = layers[level - 1]
            n_lower, n_upper = layer.lower.n_columns, layer.upper.n_columns
            shapes = ((last - first, n_lower), (last - first, n_lower), (last - first, n_upper))
            units.append(UnitCounts(*(np.zeros(shape, np.int32) for shape in shapes)))
            _count_tile(layer, first, units[-1], workers)
    on = [*(layer.lower.counts() for layer in layers), layers[-1].upper.counts()]
    parent_on = [
        np.bincount(
            layer.lower.indices, weights=layer.with_parent, minlength=layer.lower.n_columns
        ).astype(np.int64)
        for layer in layers
    ]
    return _Counts(units, on, parent_on)


def _count_tile(layer: _Completed, first: int, counts: UnitCounts, workers: Workers) -> None:
    """Add the rows of two layers to the counts of the upper units from ``first`` on."""
    upper, by_unit, lower = (Csr(rows.indptr, rows.indices) for rows in layer[:3])

    def serve(part: tuple[int, int]) -> None:
        some = UnitCounts(*(array[slice(*part)] for array in counts))
        count_units(first + part[0], upper, by_unit, lower, layer.with_parent, some)

    for _ in workers.map(serve, chunks(counts.both.shape[0], UNITS_PER_CHUNK)):
        pass


def _add(a: _Counts, b: _Counts) -> _Counts:
    """The counts over the rows of both, in the arrays of the first: they are large."""
    for total, more in zip(a.units, b.units, strict=True):
        for array, added in zip(total, more, strict=True):
            np.add(array, added, out=array)
    on = list(map(np.add, a.on, b.on))
    return _Counts(a.units, on, list(map(np.add, a.parent_on, b.parent_on)))
