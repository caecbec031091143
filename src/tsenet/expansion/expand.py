"""``expand``: from the tree skeleton to the wiring of the network (paper §4)."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import islice
from typing import Any, Literal, get_args

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array
from scipy.special import entr

from tsenet._system.seeds import seed_sequence
from tsenet.data.ranks import top_of_rows
from tsenet.data.scaling import unit_rows
from tsenet.expansion.context import context_vectors, contexts_above
from tsenet.expansion.counts import LayerPair, Tile, count_layers, tiles_of, with_log_odds
from tsenet.expansion.wiring import Wiring, WiringLayer
from tsenet.progress import Progress, as_progress
from tsenet.skeleton.tree import LatentTree

LinkRule = Literal["balanced", "context", "top-k", "informative", "random", "tree"]
Float32 = NDArray[np.float32]
Int64 = NDArray[np.int64]


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
        the completed rows: the first weights of a network with ``init="log-odds"``. Five more rows with
        x, spread over all rows alike, are counted. Takes one more pass over the rows.
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
    # The first level whose units must be counted; None where links do not depend on counts.
    first_level = {"balanced": 1, "top-k": 1, "informative": 1, "context": 2}.get(link_rule)
    with (
        as_progress(progress) as report,
        tree.binary_blocks(X, client) as rows,
    ):
        pairs, counted_tiles = count_layers(tree, rows, first_level, n_jobs, report)

        report.start("links", sum(tree.layer_sizes[1:]))
        layers: list[WiringLayer] = []
        for pair, seed in zip(pairs, seeds, strict=True):
            rule = link_rule
            contexts = None
            if link_rule == "context":
                # Contexts are of columns: they wire the first level only.
                if layers:
                    rule = "balanced"
                else:
                    contexts = context_vectors(rows, seed)
            tiles = islice(counted_tiles, len(tiles_of(pair.n_upper)))
            layers.append(wire_layer(pair, tiles, density, rule, seed, contexts, report))

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
    # Each unit is to read a share `density` of the layer below, or all of its children if they are more.
    n_children = np.bincount(pair.parent[pair.parent >= 0], minlength=pair.n_upper)  # (U,)
    least = min(pair.n_lower, max(1, round(density * pair.n_lower)))
    n_wanted = np.maximum(n_children, least) - n_children
    n_added = int(n_wanted.sum())

    if link_rule == "top-k":
        added = _best_below(map(pair.score, tiles), n_wanted, progress)
    elif link_rule == "informative":
        added = _best_below(map(pair.relative_score, tiles), n_wanted, progress)
    elif link_rule == "balanced":
        added = _shared_evenly(pair, _information(pair, tiles), n_added, progress)
    elif link_rule == "random":
        added = _best_below(_random_scores(pair, seed), n_wanted, progress)
    elif contexts is not None:
        added = _shared_evenly(pair, _similarity(pair, contexts), n_added, progress)
    else:
        added = np.empty((0, 2), np.int64)

    # The links of the tree and the added ones, sorted by upper and lower unit.
    placed = np.flatnonzero(pair.parent >= 0)
    tree_links = np.stack([pair.parent[placed].astype(np.int64), placed], axis=1)
    upper, lower = np.concatenate([tree_links, added]).T  # (E,) each
    from_tree = np.arange(upper.size) < placed.size
    links = csr_array((from_tree, (upper, lower)), shape=(pair.n_upper, pair.n_lower))
    links.sort_indices()
    return WiringLayer(links.indptr, links.indices, links.data, pair.n_lower)


def _best_below(
    scores: Iterable[NDArray[np.float64]], n_wanted: Int64, progress: Progress
) -> Int64:
    """Each upper unit's ``n_wanted`` best lower units: links (E, 2) as (upper, lower).

    ``scores`` (B, D) are those of the next B upper units.
    """
    lower: list[Int64] = []
    for tile_scores in scores:
        order = np.argsort(-tile_scores, axis=1, kind="stable")
        n_of_tile = n_wanted[len(lower) : len(lower) + len(order)]
        lower += [best[:n] for best, n in zip(order, n_of_tile, strict=True)]
        progress.advance(len(tile_scores))
    upper = np.repeat(np.arange(n_wanted.size), n_wanted)
    return np.stack([upper, np.concatenate(lower)], axis=1)


def _shared_evenly(
    pair: LayerPair,
    scores: Iterable[NDArray[np.floating]],
    n_links: int,
    progress: Progress,
) -> Int64:
    """``n_links`` links (E, 2) as (upper, lower), shared evenly among the lower units.

    ``scores`` (B, D) are those of the next B upper units; −∞ for no link. A lower unit may take every upper unit but
    its parent. Links that remain after equal shares go to the lower units whose next choice scores highest.
    """
    share = min(-(-n_links // pair.n_lower), pair.n_upper)

    # The `share` best upper units of each lower one so far, best first, and their scores: (D, share).
    best: NDArray[np.floating] = np.empty((pair.n_lower, 0))
    unit: Int64 = np.empty((pair.n_lower, 0), np.int64)
    n_seen = 0
    for tile_scores in scores:
        numbers = np.arange(n_seen, n_seen + len(tile_scores))
        best = np.concatenate([best, tile_scores.T], axis=1)
        unit = np.concatenate([unit, np.broadcast_to(numbers, tile_scores.T.shape)], axis=1)

        order = top_of_rows(best, share)  # equal scores stay in the order of the upper units
        best = np.take_along_axis(best, order, axis=1)
        unit = np.take_along_axis(unit, order, axis=1)
        n_seen += len(tile_scores)
        progress.advance(len(tile_scores))

    taken = _in_turn(best, n_links)
    return np.stack([unit.ravel()[taken], taken // max(1, share)], axis=1)


def _in_turn(best: NDArray[np.floating], n_links: int) -> Int64:
    """Which ``n_links`` of the sorted choices (D, share) are taken, as places in the flat array.

    All first choices come before all second ones. The last places go to the highest scores; −∞ is no choice.
    """
    lower, rank = np.indices(best.shape)
    usable = best.ravel() > -np.inf
    order = np.lexsort((lower.ravel(), -best.ravel(), rank.ravel(), ~usable))
    return np.asarray(order[: min(n_links, int(usable.sum()))])


def _information(pair: LayerPair, tiles: Iterable[Tile]) -> Iterator[NDArray[np.float64]]:
    """What the upper units say about the lower ones given their parents, relative to the entropy of the upper ones."""
    share = pair.upper_on / pair.n_rows
    entropy = np.maximum(entr(share) + entr(1.0 - share), 1e-12)  # (U,)
    for tile in tiles:
        score = pair.score(tile)  # (B, D)
        entropy_of_tile = entropy[tile.first : tile.first + len(score), None]
        yield np.where(score < 0, -np.inf, score / entropy_of_tile)


def _similarity(pair: LayerPair, contexts: Float32) -> Iterator[Float32]:
    """Cosines of the contexts of the upper and the lower units."""
    upper = contexts_above(contexts, pair.parent, pair.n_upper)
    lower = unit_rows(contexts)
    for first, last in tiles_of(pair.n_upper):
        cosine = upper[first:last] @ lower.T  # (B, D)
        cosine[pair.parent == np.arange(first, last)[:, None]] = -np.inf
        yield cosine


def _random_scores(pair: LayerPair, seed: np.random.SeedSequence) -> Iterator[NDArray[np.float64]]:
    """Scores drawn at random; −1 marks a unit's own children."""
    rng = np.random.default_rng(seed)
    for first, last in tiles_of(pair.n_upper):
        is_child = pair.parent == np.arange(first, last)[:, None]
        yield np.where(is_child, -1.0, rng.random(is_child.shape))
