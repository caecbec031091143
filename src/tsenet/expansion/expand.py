"""``expand``: from the tree skeleton to the wiring of the network (paper §4); `learn_structure`: both in one step."""

from __future__ import annotations

import logging
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial
from itertools import islice
from typing import Any, Literal, NamedTuple, get_args

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array
from scipy.special import entr
from threadpoolctl import threadpool_limits

from tsenet._system.seeds import seed_sequence
from tsenet._system.threads import chunks
from tsenet.data.binary import BinaryRows, BinaryRule
from tsenet.data.blocks import Blocks
from tsenet.data.table import Levels, Table
from tsenet.errors import DataError
from tsenet.expansion.wiring import Wiring, WiringLayer
from tsenet.progress import Progress, as_progress
from tsenet.skeleton.tree import LatentTree

logger = logging.getLogger("tsenet")

LinkRule = Literal["balanced", "context", "top-k", "informative", "random", "tree"]
UNITS_PER_TILE = 128  # upper units whose scores with all lower ones are in memory at a time

# Contexts of columns: which others they occur with, along the leading singular directions of all rows. A rare word
# meets few latents often enough for its information about them to be more than noise. Its context, pooled over all
# words it occurs with, is known much better: two words that never meet are close if they meet the same others.
_DIRECTIONS = 100
_MORE = 10  # directions sought beyond those kept: these then converge sooner
_ROUNDS = 4
_MOST_ROWS = 100_000  # as many say what a word's context is

_READERS_SPARSE, _READERS_DENSE = 8, 4  # of each column, if the user names no density
_LEAST_DENSITY_DENSE = 0.05
_LEAST_DENSITY, _MOST_DENSITY = 0.005, 0.2

_Units = tuple[int, int, int]  # a level, and the first and last of some of its units
Float32 = NDArray[np.float32]
Int32 = NDArray[np.int32]


def expand(
    tree: LatentTree,
    X: Any,
    *,
    density: float = 0.05,
    link_rule: LinkRule = "balanced",
    log_odds: bool = False,
    random_state: Any = None,
    n_jobs: int | None = None,
    progress: Any = None,
    client: Any = None,
) -> Wiring:
    """Add links to a tree until each unit is linked to a share ``density`` of the layer below (paper §4).

    Parameters
    ----------
    tree : LatentTree
        The skeleton. All its links between levels are kept; those within the top level are not part of the wiring.
    X : array, sparse matrix, dataframe, list of rows or Table, shape (N, V); or rows outside memory
        Rows from which conditional mutual information is estimated, usually those the tree was learned from.
    density : float, default=0.05
        Links per unit, as a share of the layer below, above 0 and at most 1. Raise it for a network with more
        weights; a unit with more tree children than this keeps them all.
    link_rule : {"balanced", "context", "top-k", "informative", "random", "tree"}, default="balanced"
        How the added links are chosen. At one density all but ``"tree"`` add the same number of links.

        ``"balanced"``: the links are shared evenly among the lower units. Each takes the upper units with the most
        information about it given its tree parent, relative to their entropy. No lower unit is left with few links.

        ``"context"``: as "balanced", but a column takes the latents whose columns occur with the same others as it does
        (cosine along the leading singular directions of the rows); levels above the first are "balanced". For
        bags of words, where most words are too rare for information about a latent.
        Contexts are learned from at most 100,000 rows, drawn by the seed.

        ``"top-k"``: the paper's rule. Each upper unit takes the lower units with which it shares the most
        information given their tree parents.

        ``"informative"``: as "top-k", but the information, less what chance alone gives (1/N nats), is divided by the
        square root of the lower unit's entropy: frequent words do not take most links. Lower units that are on more
        often where the upper one is, given their tree parents, come before all others. The rule of
        :meth:`tsenet.TSENetClassifier.informed`.

        ``"random"``: drawn at random, as a control.

        ``"tree"``: none are added.
    log_odds : bool, default=False
        Also compute the log-odds of each link, ``ln P(x|h) − ln P(x|not h)`` of the lower unit x and the upper one h in
        the completed rows: the first weights of a network with ``init="log-odds"``. Each probability counts one more
        row, in which x is as frequent as in all rows. Takes one more pass over the rows.
    random_state : int, Generator, RandomState, SeedSequence or None, default=None
        The seed of ``"random"`` and ``"context"``; the others draw nothing.
    n_jobs : int or None, default=None
        Threads; None or −1 for all cores. The result does not depend on it.
    progress : None, bool, Progress or callable, default=None
        True draws progress bars; a callable is called with ``(stage, done, total)``; None only logs.
    client : distributed.Client or str or None, default=None
        For rows outside memory: the Dask cluster to work on. The result does not depend on it.

    Returns
    -------
    Wiring
        The links of every layer, from the input up.

    Raises
    ------
    ValueError
        If ``link_rule`` is unknown, ``density`` is out of range or the tree has no latents.
    DataError
        If the columns of ``X`` are not those of the tree.
    TooLargeError
        If the counts of rows outside memory do not fit into the memory of a worker.

    Examples
    --------
    >>> import numpy as np
    >>> import tsenet
    >>> rng = np.random.default_rng(0)
    >>> topic = np.repeat(rng.random((500, 3)) < 0.4, 4, axis=1)
    >>> X = rng.random((500, 12)) < np.where(topic, 0.8, 0.05)
    >>> tree = tsenet.learn_tree(X, max_top=3, random_state=0)
    >>> tsenet.expand(tree, X, density=0.5)
    Wiring(12-3, 18 links, density 50 %, link_rule 'balanced')
    """
    if link_rule not in get_args(LinkRule):
        raise ValueError(
            f"link_rule must be one of {', '.join(map(repr, get_args(LinkRule)))}, not {link_rule!r}"
        )
    if not 0.0 < density <= 1.0:
        raise ValueError(f"density must be above 0 and at most 1, not {density}")
    if tree.n_levels == 0:
        raise ValueError("the tree has no latents to wire: no variable of its data varies")
    seeds = seed_sequence(random_state).spawn(tree.n_levels)
    with (
        as_progress(progress) as report,
        tree.binary_blocks(X, client) as rows,
    ):
        first_level = {"balanced": 1, "top-k": 1, "informative": 1, "context": 2}.get(link_rule)
        pairs, tiles = count_layers(tree, rows, first_level, n_jobs, report)
        report.start("links", sum(tree.layer_sizes[1:]))
        layers: list[WiringLayer] = []
        for pair, seed in zip(pairs, seeds, strict=True):
            contexts = None
            if link_rule == "context" and not layers:
                contexts = context_vectors(rows, seed)
            rule = "balanced" if link_rule == "context" and layers else link_rule
            of_level = islice(tiles, tiles_of(pair.n_upper))
            layers.append(wire_layer(pair, of_level, density, rule, seed, contexts, report))
        report.finish(f"{sum(layer.n_edges for layer in layers):,} links")
        if log_odds:
            layers = with_log_odds(tree, rows, layers, n_jobs, report)
    names = tuple(tree.names[tree.layer(level)] for level in range(tree.n_levels + 1))
    return Wiring(tuple(layers), names, link_rule)


def wire_layer(
    pair: LayerPair,
    tiles: Iterable[Tile],
    density: float,
    link_rule: LinkRule,
    seed: np.random.SeedSequence,
    contexts: Float32 | None,
    progress: Progress,
) -> WiringLayer:
    """Wire one layer to the one below; ``tiles`` are the counts of its units."""
    children = np.bincount(pair.parent[pair.parent >= 0], minlength=pair.n_upper)
    degree = np.maximum(children, min(pair.n_lower, max(1, round(density * pair.n_lower))))
    n_added = int((degree - children).sum())
    if link_rule == "top-k":
        added = _best_below(map(pair.score, tiles), degree - children, progress)
    elif link_rule == "informative":
        added = _best_below(map(pair.relative_score, tiles), degree - children, progress)
    elif link_rule == "balanced":
        added = _shared_evenly(pair, _information(pair, tiles), n_added, progress)
    elif link_rule == "random":
        added = _best_below(_random_scores(pair, seed), degree - children, progress)
    elif contexts is not None:
        added = _shared_evenly(pair, _similarity(pair, contexts), n_added, progress)
    else:
        added = np.empty((0, 2), np.int64)
    placed = np.flatnonzero(pair.parent >= 0)
    tree_links = np.stack([pair.parent[placed].astype(np.int64), placed], axis=1)
    upper, lower = np.concatenate([tree_links, added]).T
    from_tree = np.arange(upper.size) < placed.size
    links = csr_array((from_tree, (upper, lower)), shape=(pair.n_upper, pair.n_lower))
    links.sort_indices()
    return WiringLayer(links.indptr, links.indices, links.data, pair.n_lower)


def _best_below(
    scores: Iterable[NDArray[np.float64]], wanted: NDArray[np.int64], progress: Progress
) -> NDArray[np.int64]:
    """Each upper unit's ``wanted`` best lower units: links (E, 2) as (upper, lower)."""
    lower: list[NDArray[np.int64]] = []
    for here in scores:
        order = np.argsort(-here, axis=1, kind="stable")
        lower += [best[:n] for best, n in zip(order, wanted[len(lower) :], strict=False)]
        progress.advance(len(here))
    return np.stack([np.repeat(np.arange(wanted.size), wanted), np.concatenate(lower)], axis=1)


def _shared_evenly(
    pair: LayerPair,
    scores: Iterable[NDArray[np.floating]],
    n_links: int,
    progress: Progress,
) -> NDArray[np.int64]:
    """``n_links`` links (E, 2) as (upper, lower), shared evenly among the lower units.

    ``scores`` (B, D) are those of the next B upper units; −∞ for no link. A lower unit may take every upper unit but
    its parent. Links that remain after equal shares go to the lower units whose next choice scores highest.
    """
    share = min(-(-n_links // pair.n_lower), pair.n_upper)
    best: NDArray[Any] = np.empty((pair.n_lower, 0))
    unit: NDArray[Any] = np.empty((pair.n_lower, 0), np.int64)
    first = 0
    for here in scores:
        numbers = np.arange(first, first + len(here))
        best = np.concatenate([best, here.T], axis=1)
        unit = np.concatenate([unit, np.broadcast_to(numbers, here.T.shape)], axis=1)
        # best first; equal ones stay in the order of the upper units
        keep = np.argsort(-best, axis=1, kind="stable")[:, :share]
        best, unit = (np.take_along_axis(part, keep, axis=1) for part in (best, unit))
        first += len(here)
        progress.advance(len(here))
    chosen = _in_turn(best, n_links)
    return np.stack([unit.ravel()[chosen], chosen // max(1, share)], axis=1)


def _information(pair: LayerPair, tiles: Iterable[Tile]) -> Iterator[NDArray[np.float64]]:
    """What the upper units say about the lower ones given their parents, relative to the entropy of the upper ones."""
    share = pair.upper_on / pair.n_rows
    entropy = np.maximum(entr(share) + entr(1.0 - share), 1e-12)
    for tile in tiles:
        score = pair.score(tile)
        own = entropy[tile.first : tile.first + len(score), None]
        yield np.where(score < 0, -np.inf, score / own)


def _similarity(pair: LayerPair, contexts: Float32) -> Iterator[Float32]:
    """Cosines of the contexts of the upper and the lower units."""
    above = contexts_above(contexts, pair.parent, pair.n_upper)
    below = unit_length(contexts)
    for first, last in chunks(pair.n_upper, UNITS_PER_TILE):
        near = above[first:last] @ below.T
        near[pair.parent == np.arange(first, last)[:, None]] = -np.inf
        yield near


def _in_turn(best: NDArray[np.floating], n_links: int) -> NDArray[np.int64]:
    """Which ``n_links`` of the sorted choices (D, share) are taken, as places in the flat array.

    All first choices come before all second ones. The last places go to the highest scores; −∞ is no choice.
    """
    lower, rank = np.indices(best.shape)
    usable = best.ravel() > -np.inf
    chosen = np.lexsort((lower.ravel(), -best.ravel(), rank.ravel(), ~usable))
    return np.asarray(chosen[: min(n_links, int(usable.sum()))])


def _random_scores(pair: LayerPair, seed: np.random.SeedSequence) -> Iterator[NDArray[np.float64]]:
    """Scores drawn at random; −1 marks a unit's own children."""
    rng = np.random.default_rng(seed)
    for first, last in chunks(pair.n_upper, UNITS_PER_TILE):
        children = pair.parent == np.arange(first, last)[:, None]
        yield np.where(children, -1.0, rng.random(children.shape))


def context_vectors(blocks: Blocks, seed: np.random.SeedSequence) -> Float32:
    """Coordinates of the columns along at most 100 singular directions of the rows: (D, K).

    An entry of a row counts ln(N / n) if its column is on in n of N rows; rows have length 1. Directions are found by
    subspace iteration (Halko, Martinsson and Tropp 2011) and count by their singular values.

    Parameters
    ----------
    blocks : Blocks
        N binary rows of D columns.
    seed : SeedSequence
        Of the rows that are used, if there are more than 100,000, and of the first guess.
    """
    rng = np.random.default_rng(seed)
    drawn = None
    if blocks.n_rows > _MOST_ROWS:
        drawn = np.sort(rng.choice(blocks.n_rows, _MOST_ROWS, replace=False))
    rows: BinaryRows = blocks.take(drawn)
    weighted = _weighted(rows)
    n_kept = min(_DIRECTIONS, *weighted.shape)
    n_sought = min(n_kept + _MORE, *weighted.shape)
    found = rng.standard_normal((rows.n_columns, n_sought), np.float32)
    with threadpool_limits(1, "blas"):  # a product's sums must not depend on threads
        for _ in range(_ROUNDS):
            found = np.linalg.qr(weighted.T @ (weighted @ found))[0]
        along = (weighted @ found).astype(np.float64)
        squares, rotation = np.linalg.eigh(along.T @ along)
        strongest = slice(None, -n_kept - 1, -1)
        singular = np.sqrt(np.maximum(squares[strongest], 0.0))
        return np.asarray((found @ rotation[:, strongest]) * singular, np.float32)


def contexts_above(below: Float32, parent: NDArray[np.int32], n_upper: int) -> Float32:
    """Contexts of latents, of length 1: the sums of their children's, (U, K) from (D, K)."""
    placed = np.flatnonzero(parent >= 0)
    total = np.zeros((n_upper, below.shape[1]))
    np.add.at(total, parent[placed], below[placed])
    return unit_length(total)


def unit_length(vectors: NDArray[np.floating]) -> Float32:
    """Rows divided by their lengths; a row of zeros stays."""
    length = np.linalg.norm(vectors, axis=1, keepdims=True)
    return np.asarray(vectors / np.where(length > 0, length, 1.0), np.float32)


def _weighted(rows: BinaryRows) -> csr_array:
    weight = np.log(rows.n_rows / np.maximum(rows.counts(), 1))
    values = weight[rows.indices].astype(np.float32)
    matrix = csr_array((values, rows.indices, rows.indptr), shape=(rows.n_rows, rows.n_columns))
    length = np.sqrt(np.asarray(matrix.multiply(matrix).sum(axis=1))).ravel()
    length[length == 0] = 1.0
    matrix.data /= np.repeat(length, np.diff(rows.indptr)).astype(np.float32)
    return matrix


# ---- the structure of a network: learned from a table, or a wiring that was given


class NetworkStructure(NamedTuple):
    """A tree (None if only the wiring is known), its wiring, and how a table's columns become its inputs."""

    tree: LatentTree | None
    wiring: Wiring
    rule: BinaryRule


def learn_structure(
    rows: Table | Blocks,
    *,
    density: float | None,
    link_rule: Any,
    log_odds: bool = False,
    tree_seed: Any,
    wiring_seed: Any,
    n_jobs: int | None,
    progress: Progress,
    **tree_options: Any,
) -> NetworkStructure:
    """Learn a tree and expand it to a wiring (paper §3 and §4).

    Parameters
    ----------
    rows : Table or Blocks
    density : float or None
        As for :func:`tsenet.expand`; None for one that suits the table, see :func:`usual_density`.
    link_rule : str or None
        As for :func:`tsenet.expand`; None for ``"context"`` on sparse rows and ``"balanced"`` on dense ones.
    log_odds : bool, default=False
        As for :func:`tsenet.expand`.
    tree_seed, wiring_seed : seeds
    n_jobs, progress
        As for :func:`tsenet.learn_tree`.
    **tree_options
        Other options of :func:`tsenet.learn_tree`. By default long documents are cut into pieces: the tree has fewer
        latents, and the network is trained faster with the same accuracy (docs/decisions.md).
    """
    from tsenet.skeleton.hlta import learn_tree  # numba: a loaded model does without it

    shared: dict[str, Any] = {"n_jobs": n_jobs, "progress": progress}
    tree = learn_tree(
        rows, random_state=tree_seed, **shared, **{"piece_size": "auto", **tree_options}
    )
    if tree.n_levels == 0:
        logger.warning("no column of the table varies: there is no structure to learn")
        return NetworkStructure(tree, _one_unit_over_all(tree.names), tree.rule)
    wiring = expand(
        tree,
        rows,
        density=usual_density(rows, tree) if density is None else density,
        link_rule=usual_link_rule(rows) if link_rule is None else link_rule,
        log_odds=log_odds,
        random_state=wiring_seed,
        **shared,
    )
    return NetworkStructure(tree, wiring, tree.rule)


def usual_density(rows: Table | Blocks, tree: LatentTree) -> float:
    """The share of the layer below that a unit reads, if the user does not say.

    About eight units should read each column of sparse rows, however many units there are: fewer lose accuracy, more
    make any wiring as good as the learned one. Dense rows keep the paper's 0.05, but at least four latents read each
    column: in a small table most would read two or three columns. Measurements: docs/decisions.md.
    """
    n_latents = tree.layer_sizes[1]
    if not rows.is_sparse:
        return float(np.clip(_READERS_DENSE / n_latents, _LEAST_DENSITY_DENSE, 1.0))
    return float(np.clip(_READERS_SPARSE / n_latents, _LEAST_DENSITY, _MOST_DENSITY))


def usual_link_rule(rows: Table | Blocks) -> Literal["context", "balanced"]:
    """How links are chosen, if the user does not say (docs/decisions.md)."""
    return "context" if rows.is_sparse else "balanced"


def _one_unit_over_all(names: tuple[str, ...]) -> Wiring:
    """The wiring where no column varies: one unit over all inputs."""
    n_inputs = len(names)
    start, inputs = np.array([0, n_inputs]), np.arange(n_inputs, dtype=np.int32)
    nothing = np.zeros(n_inputs, np.float32)
    layer = WiringLayer(start, inputs, np.zeros(n_inputs, bool), n_inputs, nothing)
    return Wiring((layer,), (names, ("Z1.0",)), "tree")


def structure_of_wiring(table: Table, wiring: Wiring) -> NetworkStructure:
    """Fit a given wiring to a table's columns: numbers are one input each, categories one per level it knows.

    Raises
    ------
    DataError
        If the wiring was made for other columns.
    """
    inputs = wiring.names[0]
    levels: list[Levels] = []
    at = 0
    for j, (name, found) in enumerate(zip(table.names, table.levels, strict=True)):
        here = inputs[at] if at < len(inputs) else ""
        if found is None:
            # x3 is what a wiring calls the column 3 of a table without names
            own = here.split(" > ")[0] == f"x{j}" or here == name or here.startswith(f"{name} > ")
            levels.append(None)
            at += 1
        else:
            start = f"{name}="
            own = here.startswith(start)
            known = []
            while at < len(inputs) and inputs[at].startswith(start):
                known.append(inputs[at].removeprefix(start))
                at += 1
            levels.append(tuple(known))
        if table.named and not own:
            raise DataError(
                f"the wiring does not fit the table: {table.label(j)} meets its input {here!r}"
            )
    if at != len(inputs):
        raise DataError(
            f"the wiring has {len(inputs)} inputs, but the table gives {at}: "
            f"{table.n_columns} columns, categories one input per level"
        )
    category = np.array([found is not None for found in levels])
    thresholds = np.where(category, np.nan, 0.0)
    rule = BinaryRule(table.names, thresholds, ~category, tuple(levels), table.named)
    return NetworkStructure(None, wiring, rule)


# ---- how often the units of neighbouring layers are on together


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
    both: NDArray[np.int32]
    with_both: NDArray[np.int32]
    with_upper: NDArray[np.int32]


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

    def score(self, tile: Tile) -> NDArray[np.float64]:
        """N·I(h; x | parent of x) in nats of the upper units h of a tile with every lower unit x: (B, D).

        −1 marks a unit's own children. A lower unit without a parent has plain mutual information.
        """
        units = enumerate(zip(*tile[1:], strict=True), start=tile.first)
        return np.stack([self._information(unit, *counts) for unit, counts in units])

    def relative_score(self, tile: Tile) -> NDArray[np.float64]:
        """What link_rule="informative" compares for the upper units h of a tile with every lower unit x: (B, D).

        (I(h; x | parent of x) − 1/N) / √H(x), raised by 2 where h and x are associated positively given the parent;
        −∞ marks a unit's own children.
        """
        share = self.lower_on / self.n_rows
        entropy = entr(share) + entr(1.0 - share)
        information = self.score(tile)
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
        with_z = tile.with_both - n_hz * self.parent_on / np.maximum(n_z, 1)
        n_x0, n_0 = self.lower_on - self.parent_on, self.n_rows - n_z
        without_z = (tile.both - tile.with_both) - (n_h - n_hz) * n_x0 / np.maximum(n_0, 1)
        return np.asarray(with_z + without_z)

    def _information(
        self, unit: int, both: Int32, with_both: Int32, with_upper: Int32
    ) -> NDArray[np.float64]:
        f = self._xlogx.take
        has_parent = self.parent >= 0
        # Rows with the named variables on: h, x and the parent z of x; then those among them without z.
        n_hxz, n_xz, n_x = with_both.astype(np.int64), self.parent_on, self.lower_on
        n_hz = np.where(has_parent, with_upper[self.parent], 0).astype(np.int64)
        n_z = np.where(has_parent, self.upper_on[self.parent], 0)
        n_hx0, n_h0 = both - n_hxz, self.upper_on[unit] - n_hz
        n_x0, n_0 = n_x - n_xz, self.n_rows - n_z
        with_z = (f(n_hxz) + f(n_z - n_hz - n_xz + n_hxz)) + (f(n_hz - n_hxz) + f(n_xz - n_hxz))
        without_z = (f(n_hx0) + f(n_0 - n_h0 - n_x0 + n_hx0)) + (f(n_h0 - n_hx0) + f(n_x0 - n_hx0))
        given_z = f(n_z) - (f(n_hz) + f(n_z - n_hz)) - (f(n_xz) + f(n_z - n_xz))
        given_not = f(n_0) - (f(n_h0) + f(n_0 - n_h0)) - (f(n_x0) + f(n_0 - n_x0))
        score = np.maximum(0.0, (with_z + given_z) + (without_z + given_not))
        return np.where(self.parent == unit, -1.0, score)

    @cached_property
    def _xlogx(self) -> NDArray[np.float64]:
        """n·ln n of every number of rows: (N + 1,)."""
        n = np.arange(self.n_rows + 1, dtype=np.float64)
        return np.asarray(n * np.log(np.maximum(n, 1.0)))


# ---- the first weights of a network that starts as the probability of its latents


class _LinkCounts(NamedTuple):
    """For each layer, in how many rows both ends of each link are on: (E,); and each unit, level by level."""

    together: list[NDArray[np.int64]]
    on: list[NDArray[np.int64]]


def with_log_odds(
    tree: LatentTree,
    rows: Blocks,
    layers: Sequence[WiringLayer],
    n_jobs: int | None,
    progress: Progress,
) -> list[WiringLayer]:
    """The layers of a wiring of the tree with the log-odds of their links, from one pass over the rows."""
    completed = rows.then(partial(_complete, tree, rows.threads(n_jobs)))
    counts: _LinkCounts = completed.reduce(
        partial(_count_links, layers), _add_links, stage="log-odds", progress=progress
    )
    found = []
    for layer, n_both, n_lower, n_upper in zip(
        layers, counts.together, counts.on[:-1], counts.on[1:], strict=True
    ):
        weight = log_odds_of(
            n_both, n_upper[layer.upper_ends()], n_lower[layer.indices], rows.n_rows
        )
        found.append(replace(layer, log_odds=weight.astype(np.float32)))
    return found


def log_odds_of(
    n_both: NDArray[np.int64], n_h: NDArray[np.int64], n_x: NDArray[np.int64], n_rows: int
) -> NDArray[np.float64]:
    """ln P(x|h) − ln P(x|not h), from the number of rows in which both are on, h is, and x is, all of one shape.

    Each probability counts one more row, in which x is as frequent as in all rows.
    """
    rate = np.maximum(n_x, 0.5) / n_rows
    with_h = (n_both + rate) / (n_h + 1.0)
    without_h = (n_x - n_both + rate) / (n_rows - n_h + 1.0)
    return np.asarray(np.log(with_h) - np.log(without_h))


def _count_links(layers: Sequence[WiringLayer], completed: Sequence[_Completed]) -> _LinkCounts:
    """The counts of a block."""
    together = []
    for layer, (_, by_unit, lower, _) in zip(layers, completed, strict=True):
        counts = []
        for first, last in chunks(layer.n_upper, UNITS_PER_TILE):
            both = (by_unit[first:last] @ lower).toarray()  # (B, D)
            links = slice(layer.indptr[first], layer.indptr[last])
            counts.append(both[layer.upper_ends()[links] - first, layer.indices[links]])
        together.append(np.concatenate(counts).astype(np.int64))
    on = [_column_sums(layer.lower) for layer in completed]
    return _LinkCounts(together, [*on, _column_sums(completed[-1].upper)])


def _add_links(a: _LinkCounts, b: _LinkCounts) -> _LinkCounts:
    """The counts over the rows of both."""
    return _LinkCounts(
        list(map(np.add, a.together, b.together)),
        list(map(np.add, a.on, b.on)),
    )


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
        (level, first, last)
        for level in range(first_level or len(sizes), len(sizes))
        for first, last in chunks(sizes[level], UNITS_PER_TILE)
    ]
    n_bytes = [4 * (b - a) * (2 * sizes[level - 1] + sizes[level]) for level, a, b in units]
    passes = [units[a:b] for a, b in rows.groups(n_bytes, f"the counts of {UNITS_PER_TILE} units")]
    zeros = [np.zeros(size, np.int64) for size in sizes]
    counted = _Counts([], zeros, zeros)

    if units:
        completed = rows.then(partial(_complete, tree, rows.threads(n_jobs)))

        def count(wanted: Sequence[_Units], stage: str = "") -> _Counts:
            shown = progress if stage else None
            counts: _Counts = completed.reduce(
                partial(_count, wanted), _add, stage=stage, progress=shown
            )
            return counts

        counted = count(passes[0], "counts of units")

    def tiles() -> Iterator[Tile]:
        for number, wanted in enumerate(passes):
            yield from (count(wanted) if number else counted).tiles

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
    """Two neighbouring layers of completed rows, 1 where a unit is on.

    ``by_unit`` is ``upper`` transposed; ``with_parent`` is ``lower``, 1 where the parent of the unit is on, too.
    """

    upper: csr_array
    by_unit: csr_array
    lower: csr_array
    with_parent: csr_array


class _Counts(NamedTuple):
    """Counts of some units; and for each layer how often its units, and its units with their parents, are on."""

    tiles: list[Tile]
    on: list[NDArray[np.int64]]
    parent_on: list[NDArray[np.int64]]


def _complete(tree: LatentTree, n_jobs: int | None, rows: BinaryRows) -> list[_Completed]:
    """The completed data of a block: each level with the one below."""
    layers = tree.complete(rows, n_jobs=n_jobs)
    completed = []
    for level in range(1, tree.n_levels + 1):
        upper, lower = layers[level], layers[level - 1]
        on = _parents_on(upper, lower, _parents(tree, level)).astype(np.int32)
        with_parent = csr_array((on, lower.indices, lower.indptr), shape=lower.shape)
        rows, by_unit = upper.to_csr().astype(np.int32), upper.transpose().to_csr().astype(np.int32)
        completed.append(_Completed(rows, by_unit, lower.to_csr().astype(np.int32), with_parent))
    return completed


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


def _count(wanted: Sequence[_Units], layers: Sequence[_Completed]) -> _Counts:
    """The counts of a block."""
    tiles = []
    for level, first, last in wanted:
        upper, by_unit, lower, with_parent = layers[level - 1]
        own = by_unit[first:last]
        tiles.append(Tile(first, *((own @ part).toarray() for part in (lower, with_parent, upper))))
    on = [_column_sums(rows) for rows in (*(layer.lower for layer in layers), layers[-1].upper)]
    return _Counts(tiles, on, [_column_sums(layer.with_parent) for layer in layers])


def _column_sums(rows: csr_array) -> NDArray[np.int64]:
    return np.bincount(rows.indices, rows.data, rows.shape[1]).astype(np.int64)


def _add(a: _Counts, b: _Counts) -> _Counts:
    """The counts over the rows of both, in the arrays of the first: they are large."""
    for total, more in zip(a.tiles, b.tiles, strict=True):
        for array, added in zip(total[1:], more[1:], strict=True):
            np.add(array, added, out=array)
    on = list(map(np.add, a.on, b.on))
    return _Counts(a.tiles, on, list(map(np.add, a.parent_on, b.parent_on)))
