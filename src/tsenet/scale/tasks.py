"""What a worker does with partitions: plain functions of a few arguments, the last one being the item.

Each returns whole numbers that can be added in any order, or values of single rows. So no result depends on how the
rows are divided.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import lru_cache
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from tsenet._system.threads import Workers
from tsenet.data.binary import BinaryRule, column_thresholds
from tsenet.data.rows import BinaryRows
from tsenet.data.shards import Partition, ShardFolder
from tsenet.expansion.pairs import LayerPair, UnitCounts, empty_counts
from tsenet.skeleton.inference import BLOCK_CELLS, Inference
from tsenet.skeleton.information import PairCounter
from tsenet.skeleton.kernels import pair_kernels
from tsenet.skeleton.kernels.pair_kernels import Csr
from tsenet.skeleton.passes import LengthSums
from tsenet.skeleton.pieces import cut_without, pieces_per_row

Span = Sequence[Partition]


class Source(NamedTuple):
    """A folder, and how its rows become binary; None: where they are not zero."""

    shards: ShardFolder
    rule: BinaryRule | None

    def rows(self, partition: Partition) -> BinaryRows:
        """The binary rows of one partition."""
        table = self.shards.read(partition).table
        return BinaryRows.of_csr(table.values) if self.rule is None else self.rule.apply(table)


class Cut(NamedTuple):
    """How rows are cut into pieces: their size, the seed, and the variables (V,) that are left out."""

    size: int
    key: int
    dropped: NDArray[np.bool_]

    def apply(self, rows: BinaryRows) -> BinaryRows:
        """The pieces of some rows."""
        return cut_without(rows, self.dropped, self.size, self.key)


class Chosen(NamedTuple):
    """A group of partitions, and which of their rows are wanted, as bits; None for all."""

    span: Span
    bits: NDArray[np.uint8] | None

    def blocks(self, source: Source) -> Iterator[BinaryRows]:
        """The wanted rows, a partition at a time."""
        before = 0
        wanted = None
        if self.bits is not None:
            wanted = np.unpackbits(self.bits, count=sum(part.n_rows for part in self.span)) > 0
        for part in self.span:
            rows = source.rows(part)
            if wanted is not None:
                rows = rows.take(np.flatnonzero(wanted[before : before + part.n_rows]))
            before += part.n_rows
            yield rows


class Summary(NamedTuple):
    """Rows and variables that are on: sums of lengths, the longest row, and rows with each variable on (V,)."""

    lengths: LengthSums
    longest: int
    counts: NDArray[np.int64]


def thresholds_of(
    shards: ShardFolder, columns: NDArray[np.int64]
) -> tuple[NDArray[np.float64], NDArray[np.bool_]]:
    """Threshold and presence of some dense columns, from all their values."""
    values = np.concatenate([block.table.values[:, columns] for block in shards.blocks()])
    return column_thresholds(values)


def summarize(source: Source, span: Span) -> Summary:
    """Sums over the rows of a span."""
    total: Summary | None = None
    for part in span:
        rows = source.rows(part)
        lengths = np.diff(rows.indptr)
        here = Summary(LengthSums.of(lengths), int(lengths.max(initial=0)), rows.counts())
        total = here if total is None else add_summaries(total, here)
    assert total is not None  # a span has partitions
    return total


def add_summaries(a: Summary, b: Summary) -> Summary:
    """The sums over the rows of both."""
    return Summary(a.lengths + b.lengths, max(a.longest, b.longest), a.counts + b.counts)


def count_pieces(source: Source, cut: Cut, span: Span) -> list[int]:
    """Pieces of each partition of a span."""
    found = []
    for part in span:
        rows = source.rows(part)
        kept = np.concatenate([[0], np.cumsum(~cut.dropped[rows.indices])])[rows.indptr]
        found.append(int(pieces_per_row(np.diff(kept), cut.size).sum()))
    return found


def take_rows(source: Source, cut: Cut | None, chosen: Chosen) -> BinaryRows:
    """The wanted rows of a span, or their pieces."""
    blocks = chosen.blocks(source)
    return BinaryRows.concatenate(blocks if cut is None else map(cut.apply, blocks))


def take_pieces(
    source: Source, cut: Cut | None, wanted: Sequence[tuple[Partition, NDArray[np.int64]]]
) -> BinaryRows:
    """Some pieces (or rows) of each of some partitions, by their numbers within it."""
    found = []
    for part, numbers in wanted:
        rows = source.rows(part)
        found.append((rows if cut is None else cut.apply(rows)).take(numbers))
    return BinaryRows.concatenate(found)


# ---- pairs of variables


class Tile(NamedTuple):
    """Variables ``first..last`` whose partners are wanted, and what deciding on them needs.

    ``n_on`` and ``varies`` (V,) are as in :class:`tsenet.skeleton.information.PairCounter`, over ``n_rows`` pieces.
    """

    first: int
    last: int
    n_rows: int
    n_on: NDArray[np.int64]
    varies: NDArray[np.bool_]
    n_partners: int


def partners_in_sample(
    rows: BinaryRows, n_partners: int, tile: tuple[int, int]
) -> tuple[NDArray[np.int32], NDArray[np.float64]]:
    """The best partners of variables ``first..last`` in some rows, and N·MI: (B, m) both."""
    counter = PairCounter(rows)
    variables = np.arange(*tile, dtype=np.int32)
    with Workers(1) as workers:
        return counter.best_partners(variables, counter.varies, n_partners, workers)


def count_pairs(source: Source, cut: Cut | None, tile: Tile, chosen: Chosen) -> NDArray[np.int32]:
    """Rows in which each variable of a tile and each other variable are on: (B, V)."""
    counts = np.zeros((tile.last - tile.first, tile.n_on.size), np.int32)
    for whole in chosen.blocks(source):
        rows = whole if cut is None else cut.apply(whole)
        columns = rows.transpose()
        pair_kernels.count_tile(
            tile.first,
            Csr(columns.indptr, columns.indices),
            Csr(rows.indptr, rows.indices),
            counts,
        )
    return counts


def best_partners(
    source: Source, cut: Cut | None, tile: Tile, counts: NDArray[np.int32]
) -> tuple[NDArray[np.int32], NDArray[np.float64]]:
    """The best partners of the variables of a tile, and N·MI: (B, m) both."""
    living = np.flatnonzero(tile.varies).astype(np.int32)
    frequent_first = living[np.argsort(-tile.n_on[living], kind="stable")]
    partners = np.empty((counts.shape[0], tile.n_partners), np.int32)
    gain = np.empty((counts.shape[0], tile.n_partners))
    pair_kernels.best_of_tile(
        tile.first,
        np.require(counts, requirements=["C", "W"]),
        np.array(tile.varies),
        frequent_first,
        np.array(tile.n_on),
        _xlogx(tile.n_rows),
        partners,
        gain,
    )
    return partners, gain


@lru_cache(maxsize=2)
def _xlogx(n_rows: int) -> NDArray[np.float64]:
    n = np.arange(n_rows + 1, dtype=np.float64)
    return np.asarray(n * np.log(np.maximum(n, 1.0)))


# ---- a finished tree


class Model(NamedTuple):
    """A tree as workers need it: arrays over nodes, and the number of nodes of each layer."""

    parent: NDArray[np.int32]
    cpt: NDArray[np.float64]
    top_order: NDArray[np.int32]
    sizes: tuple[int, ...]

    def inference(self) -> Inference:
        """The tree, prepared for the kernels."""
        return Inference.of(self.parent, self.cpt, self.top_order, self.sizes[0])


def log_likelihood(
    source: Source, model: Model, n_jobs: int | None, span: Span
) -> NDArray[np.float64]:
    """ln P(x) of the rows of a span."""
    inference = model.inference()
    with Workers(n_jobs) as workers:
        return np.concatenate(
            [inference.log_likelihood(source.rows(part), workers) for part in span]
        )


def posteriors(
    source: Source, model: Model, n_jobs: int | None, part: Partition
) -> list[NDArray[np.float64]]:
    """P(z=1|x) of the rows of one partition, as blocks (n, L)."""
    inference = model.inference()
    rows = source.rows(part)
    step = max(64, BLOCK_CELLS // max(1, inference.n_latents))
    with Workers(n_jobs) as workers:
        return [
            inference.posterior(rows.take(slice(start, start + step)), workers)
            for start in range(0, rows.n_rows, step)
        ]


class UnitTile(NamedTuple):
    """Upper units ``first..last`` of a level."""

    level: int
    first: int
    last: int


class LayerMargins(NamedTuple):
    """In how many rows each node of a layer is on, and each node together with its parent."""

    on: NDArray[np.int64]
    parent_on: NDArray[np.int64]


class TreeCounts(NamedTuple):
    """Counts of some upper units, and the margins of every layer (the top one has no parents)."""

    tiles: list[UnitCounts]
    margins: list[LayerMargins]


def count_layers(
    source: Source, model: Model, tiles: Sequence[UnitTile], n_jobs: int | None, span: Span
) -> TreeCounts:
    """Complete the rows of a span, and count what the information between layers needs."""
    inference = model.inference()
    sizes = model.sizes
    total = [empty_counts(t.last - t.first, sizes[t.level - 1], sizes[t.level]) for t in tiles]
    margins = [LayerMargins(np.zeros(n, np.int64), np.zeros(n, np.int64)) for n in sizes]
    starts = np.cumsum([0, *sizes]).tolist()
    above = [
        np.where(model.parent[a:b] >= 0, model.parent[a:b] - b, -1).astype(np.int32)
        for a, b in pairwise(starts[:-1])
    ]
    latent_starts = np.cumsum([0, *sizes[1:]]).tolist()
    with Workers(n_jobs) as workers:
        for part in span:
            rows = source.rows(part)
            states = inference.likelier_states(rows, workers)
            layers = [rows, *(states.columns(a, b) for a, b in pairwise(latent_starts))]
            margins[-1].on[:] += layers[-1].counts()
            for level in range(1, len(sizes)):
                pair = LayerPair(layers[level], layers[level - 1], above[level - 1])
                margins[level - 1].on[:] += pair.lower_on
                margins[level - 1].parent_on[:] += pair.parent_on
                for tile, counts in zip(tiles, total, strict=True):
                    if tile.level == level:
                        pair.count(tile.first, counts, workers)
    return TreeCounts(total, margins)


def add_counts(a: TreeCounts, b: TreeCounts) -> TreeCounts:
    """The counts over the rows of both."""

    def added(x: Any, y: Any) -> Any:
        return type(x)(*(p + q for p, q in zip(x, y, strict=True)))

    return TreeCounts(
        [added(x, y) for x, y in zip(a.tiles, b.tiles, strict=True)],
        [added(x, y) for x, y in zip(a.margins, b.margins, strict=True)],
    )
