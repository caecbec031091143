"""Hierarchical latent tree analysis: the stacking loop (paper §3.2), and :func:`learn_tree`."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from tsenet._system.seeds import seed_sequence
from tsenet._system.threads import Workers
from tsenet.data.binary import BinaryRows
from tsenet.data.blocks import Blocks, in_blocks, learn_rule
from tsenet.progress import Progress, as_progress
from tsenet.skeleton.chow_liu import binary_information, chow_liu_parents
from tsenet.skeleton.completion import Layer, SoftRows
from tsenet.skeleton.inference import Inference, refine
from tsenet.skeleton.kernels.island_kernels import IslandOptions
from tsenet.skeleton.layers import learn_layer
from tsenet.skeleton.pieces import RowSums, cut_blocks, cut_into_pieces
from tsenet.skeleton.tree import LatentTree, latent_names, node_marginals

logger = logging.getLogger("tsenet")

# Rows of a folder from which the structure is learned, unless the user says: of 100 words each they take 1.2 GB in the
# search, 60 bytes an entry. The probabilities are fitted to all rows.
MAX_STRUCTURE_ROWS = 200_000


def learn_tree(
    X: Any,
    *,
    max_island: int = 15,
    max_top: int = 30,
    ud_threshold: float = 3.0,
    correlation_test: bool = True,
    structure_samples: int | None = None,
    refine_steps: int = 100,
    em_restarts: int = 3,
    completion: Literal["island", "layer"] = "island",
    ties: Literal["positive", "any"] = "positive",
    piece_size: int | Literal["auto"] | None = None,
    random_state: Any = None,
    n_jobs: int | None = None,
    progress: Any = None,
    client: Any = None,
) -> LatentTree:
    """Learn a hierarchical latent tree from a table (paper §3).

    Variables that occur together are grouped under binary latents, these under further latents, and so on, until the
    top level is small. Then all probabilities of the tree are fitted jointly. No labels are used.

    Parameters
    ----------
    X : array, sparse matrix, dataframe, list of rows or Table, shape (N, V); or rows outside memory
        The data. A sparse matrix is read as present or absent; dense columns become binary as
        :class:`tsenet.BinaryRule` describes. For more rows than fit into memory: a folder of shards (path, URL or
        ``ShardFolder``), a Dask array or dataframe, or :class:`tsenet.data.Blocks`.
    max_island : int, default=15
        Most variables in a group, 2 to 63. Lower it for smaller groups, and so for more latents and more levels.
    max_top : int, default=30
        Levels are added until one has at most this many latents. Lower it for a deeper tree with a smaller top.
    ud_threshold : float, default=3.0
        δ of the uni-dimensionality test: a group stops growing when two latents explain it better than one by more
        than this in BIC. Raise it for larger, looser groups.
    correlation_test : bool, default=True
        Whether a variable must be significantly correlated with a group to join it in the search. Those that join none
        are then put under the latent that tells most about them. False follows the paper: every variable joins a group
        in the search.
    structure_samples : int or None, default=None
        Learn the structure from this many rows drawn at random; None uses all rows in memory, and at most 200,000 rows
        of a folder. Set it if there are many more rows than the structure needs. The probabilities are always refined
        on all rows (or their pieces).
    refine_steps : int, default=100
        Steps of stepwise EM over the whole tree at the end, each on up to 1,000 rows. 0 keeps the probabilities that
        the layers were learned with. Raise it for a higher likelihood.
    em_restarts : int, default=3
        Starting points of each small EM. Raise it if trees of different seeds differ too much.
    completion : {"island", "layer"}, default="island"
        What decides the states of a layer's latents, from which the next layer is learned. "island": each latent's
        own group of variables. "layer", the paper's rule: the whole layer, whose latents are linked as a Chow–Liu tree
        (paper Figure 3c), by exact inference.
    ties : {"positive", "any"}, default="positive"
        Which ties between latents count. "positive": latents are grouped, and linked on top, only if they tend to be on
        together, so that no latent is less likely when its parent is on; one without such a tie has no parent. "any" is
        the paper's rule: mutual information of either sign.
    piece_size : int, None or "auto", default=None
        Rows with more than this many variables on are cut at random into pieces of about equal size, from which the
        tree is learned, so that the latents are about topics and not about the length of documents. The tree is then
        applied to whole rows, whose likelihood it describes less well. "auto": 30 for a sparse table whose rows vary
        widely in length, else None. None or 0 keeps rows whole.
    random_state : int, Generator, RandomState, SeedSequence or None, default=None
        The seed. The same seed gives the same tree for any ``n_jobs``. None takes a new seed.
    n_jobs : int or None, default=None
        Threads; None or −1 for all cores.
    progress : None, bool, Progress or callable, default=None
        True draws progress bars; a callable is called with ``(stage, done, total)``; None only logs.
    client : distributed.Client or str or None, default=None
        For rows outside memory: the Dask cluster to work on, or the address of its scheduler. The tree is the same.

    Returns
    -------
    LatentTree
        The tree over the V binary variables; V is larger than the number of columns if some hold categories.

    Raises
    ------
    DataError
        If the table cannot be used, for example because it has fewer than two rows.
    ValueError
        If an option is out of range.

    Examples
    --------
    Twelve words in three groups of four; words of a group occur together:

    >>> import numpy as np
    >>> import tsenet
    >>> rng = np.random.default_rng(0)
    >>> topic = np.repeat(rng.random((500, 3)) < 0.4, 4, axis=1)
    >>> X = rng.random((500, 12)) < np.where(topic, 0.8, 0.05)
    >>> tree = tsenet.learn_tree(X, max_top=3, random_state=0)
    >>> tree.layer_sizes
    (12, 3)
    >>> sorted(group.tolist() for group in tree.groups(1))
    [[0, 1, 2, 3], [4, 5, 6, 7], [8, 9, 10, 11]]
    """
    _check_options(
        max_island=max_island,
        max_top=max_top,
        ud_threshold=ud_threshold,
        structure_samples=structure_samples,
        refine_steps=refine_steps,
        em_restarts=em_restarts,
        completion=completion,
        ties=ties,
        piece_size=piece_size,
    )
    is_positive = ties == "positive"
    islands = IslandOptions(
        max_island, float(ud_threshold), correlation_test, em_restarts, is_positive
    )
    sample_seed, layer_seed, refine_seed = seed_sequence(random_state).spawn(3)
    with (
        Workers(n_jobs) as workers,
        as_progress(progress) as report,
        in_blocks(X, client) as blocks,
    ):
        # The rows: binary, and cut into pieces if their lengths vary.
        if structure_samples is None and blocks.folder is not None:
            structure_samples = MAX_STRUCTURE_ROWS

        rule = learn_rule(blocks)
        rows = blocks.map_lazily(rule.apply)
        sums = rows.reduce(RowSums.of, RowSums.combine, stage="counts", progress=report)
        if piece_size == "auto":
            piece_size = sums.piece_size(rows.n_rows) if blocks.is_sparse else None

        pieces, sample = _structure_rows(
            rows, sums, structure_samples, piece_size or None, sample_seed, report
        )

        # The structure, layer by layer.
        is_linked = completion == "layer"
        layers, top = _stack(sample, islands, max_top, is_linked, layer_seed, workers, report, rows)
        parent, level, cpt = assemble(sums.counts, rows.n_rows, layers, top, is_positive)
        names = (*rule.names, *latent_names(level, set(rule.names)))
        tree = LatentTree(parent, level, cpt, names, rule)

        # All probabilities together.
        if refine_steps and tree.n_latents:
            rng = np.random.default_rng(refine_seed)
            cpt = refine(pieces, tree, refine_steps, rng, workers, report, is_positive)
            cpt = in_order(parent, level, cpt, is_positive)
            tree = LatentTree(parent, level, cpt, names, rule)

    logger.info("learned %r", tree)
    return tree


def _check_options(
    *,
    max_island: int,
    max_top: int,
    ud_threshold: float,
    structure_samples: int | None,
    refine_steps: int,
    em_restarts: int,
    completion: str,
    ties: str,
    piece_size: int | str | None,
) -> None:
    """Refuse options of :func:`learn_tree` that are out of range."""
    if not 2 <= max_island <= 63:
        raise ValueError(f"max_island must be 2 to 63, not {max_island}")
    if max_top < 1:
        raise ValueError(f"max_top must be at least 1, not {max_top}")
    if not np.isfinite(ud_threshold):
        raise ValueError(f"ud_threshold must be a finite number, not {ud_threshold}")
    if structure_samples is not None and structure_samples < 2:
        raise ValueError(f"structure_samples must be None or at least 2, not {structure_samples}")
    if refine_steps < 0:
        raise ValueError(f"refine_steps must be at least 0, not {refine_steps}")
    if em_restarts < 1:
        raise ValueError(f"em_restarts must be at least 1, not {em_restarts}")
    if completion not in ("island", "layer"):
        raise ValueError(f"completion must be 'island' or 'layer', not {completion!r}")
    if ties not in ("positive", "any"):
        raise ValueError(f"ties must be 'positive' or 'any', not {ties!r}")
    if piece_size not in (None, "auto", 0) and (isinstance(piece_size, str) or piece_size < 2):
        raise ValueError(f"piece_size must be 'auto', None, 0 or at least 2, not {piece_size!r}")


def _structure_rows(
    rows: Blocks,
    sums: RowSums,
    n_sampled: int | None,
    piece_size: int | None,
    seed: np.random.SeedSequence,
    progress: Progress,
) -> tuple[Blocks, BinaryRows]:
    """The pieces of all rows, and those of the rows from which the structure is learned, in memory."""
    is_constant = (sums.counts == 0) | (sums.counts == rows.n_rows)
    if is_constant.any():
        logger.info("%d of %d variables are constant", is_constant.sum(), is_constant.size)

    key = _key(seed.spawn(1)[0])
    pieces = cut_blocks(rows, sums, piece_size, key, progress)
    if pieces.n_rows != rows.n_rows:
        logger.info("%d rows are cut into %d pieces", rows.n_rows, pieces.n_rows)

    stage = "rows of the structure sample"
    if n_sampled is None or n_sampled >= rows.n_rows:
        return pieces, pieces.take(stage=stage, progress=progress)

    logger.info("the groups are learned from %d rows", n_sampled)
    numbers = np.random.default_rng(seed).choice(rows.n_rows, n_sampled, replace=False)
    sample = rows.take(np.sort(numbers), stage=stage, progress=progress)
    return pieces, cut_into_pieces(sample, piece_size, key)


def _key(seed: np.random.SeedSequence) -> int:
    """A seed of 62 bits for the kernels."""
    return int(seed.generate_state(1, np.uint64)[0] >> np.uint64(2))


def _stack(
    rows: BinaryRows,
    options: IslandOptions,
    max_top: int,
    is_linked: bool,
    seeds: np.random.SeedSequence,
    workers: Workers,
    progress: Progress,
    blocks: Blocks,
) -> tuple[list[Layer], SoftRows | None]:
    """Learn layers, each from the completed data of the one below, until the top one is small enough.

    With ``is_linked``, data are completed in the layer's linked model. The workers of ``blocks`` help with the first
    layer. The second result are the posteriors of the top layer's latents.
    """
    layers: list[Layer] = []
    top: SoftRows | None = None
    while not layers or layers[-1].n_latents > max_top:
        if top is not None and is_linked:
            rows = linked_states(rows, layers[-1], top, options.positive, workers)
        elif top is not None:
            rows = top.hard()

        learned = learn_layer(
            rows,
            options,
            _key(seeds.spawn(1)[0]),
            workers,
            progress,
            of_latents=bool(layers),
            blocks=None if layers else blocks,
        )
        if learned is None:
            break

        layer, posteriors = learned
        if layers and layer.n_latents >= layers[-1].n_latents:
            break
        layers.append(layer)
        top = posteriors
        logger.info("layer %d: %d latents", len(layers), layer.n_latents)

    if layers and layers[-1].n_latents > max_top:
        logger.warning(
            "stopped at %d latents, more than max_top=%d: the remaining latents are nearly uncorrelated",
            layers[-1].n_latents,
            max_top,
        )

    return layers, top


def assemble(
    counts: NDArray[np.int64],
    n_rows: int,
    layers: Sequence[Layer],
    top: SoftRows | None,
    positive: bool,
) -> tuple[NDArray[np.int32], NDArray[np.int32], NDArray[np.float64]]:
    """Stack the layers into one tree: ``parent``, ``level`` and ``cpt`` over all nodes.

    ``counts`` (V,): in how many of the ``n_rows`` rows each variable is on. ``positive``: whether no latent may be less
    likely when its parent is on.
    """
    sizes = [counts.size, *(layer.n_latents for layer in layers)]
    starts = np.concatenate([[0], np.cumsum(sizes)])
    n_nodes = int(starts[-1])
    parent = np.full(n_nodes, -1, np.int32)
    level = np.repeat(np.arange(len(sizes), dtype=np.int32), sizes)

    # P(node is on | state of its parent), (M, 2): of a node without a parent, its marginal twice.
    on = np.empty((n_nodes, 2))
    on[: sizes[0]] = ((counts + 0.5) / (n_rows + 1.0))[:, None]
    for k, layer in enumerate(layers):
        first = int(starts[k + 1])  # of the layer's latents
        upper = slice(first, starts[k + 2])
        on[upper] = layer.prior[:, None]

        placed = np.flatnonzero(layer.latent_of >= 0)
        nodes = starts[k] + placed
        parent[nodes] = first + layer.latent_of[placed]
        on[nodes] = layer.table[placed]

    # The latents of the top level are linked to each other.
    if top is not None:
        first = int(starts[-2])
        parent_within, rate = link_latents(top, positive)
        parent[first:] = np.where(parent_within >= 0, first + parent_within, -1)
        on[first:] = rate

    cpt = np.stack([1.0 - on, on], axis=2)  # (M, 2, 2)
    return parent, level, in_order(parent, level, cpt, positive)


def linked_states(
    rows: BinaryRows, layer: Layer, soft: SoftRows, positive: bool, workers: Workers
) -> BinaryRows:
    """The more probable state of every latent of a layer in every row, by its latent tree model (paper Figure 3c).

    In this model the latents are linked as a Chow–Liu tree. ``soft`` are their posteriors given their own groups.
    """
    n_variables = layer.latent_of.size
    link, rate = link_latents(soft, positive)

    parent_of_variable = np.where(layer.latent_of >= 0, layer.latent_of + n_variables, -1)
    parent_of_latent = np.where(link >= 0, link + n_variables, -1)
    parent = np.concatenate([parent_of_variable, parent_of_latent])  # (M,)
    on = np.concatenate([layer.table, rate])  # (M, 2)
    cpt = np.stack([1.0 - on, on], axis=2)

    model = Inference.of(parent, cpt, n_variables)
    return model.likelier_states(rows, workers)


def link_latents(
    soft: SoftRows, positive: bool = False
) -> tuple[NDArray[np.int32], NDArray[np.float64]]:
    """Chow–Liu tree over the latents of a layer: parents within the layer, and P(Y=1 | parent's state) as (L, 2).

    P(Y, Y') ∝ Σ_d P(Y|d)·P(Y'|d). With ``positive``, latents that exclude each other are not linked.
    """
    joint, mean = soft.moments()  # (L, L) and (L,)
    information = binary_information(joint, mean[:, None], mean[None, :])
    if positive:
        information[joint <= np.outer(mean, mean)] = 0.0
    parents = chow_liu_parents(information)

    # P(Y=1 | parent off) and P(Y=1 | parent on); of a root, P(Y=1).
    with_parent = joint[np.arange(parents.size), parents]
    parent_mean = mean[parents]
    parent_off = (mean - with_parent) / (1.0 - parent_mean)
    parent_on = with_parent / parent_mean
    rate = np.stack([parent_off, parent_on], axis=1)  # (L, 2)
    rate = np.where(parents[:, None] >= 0, rate, mean[:, None])
    lowest = 0.5 / (soft.n_rows + 1)  # half a row: no probability is 0 or 1
    return parents, np.clip(rate, lowest, 1.0 - lowest)


def in_order(
    parent: NDArray[np.int32], level: NDArray[np.int32], cpt: NDArray[np.float64], positive: bool
) -> NDArray[np.float64]:
    """Swap states where needed so that state 1 of every latent makes the layer below it more likely to be on.

    With ``positive``, a latent that would still be less likely when its parent is on becomes independent of it.
    """
    cpt = cpt.copy()
    for k in range(1, int(level.max()) + 1):
        children = np.flatnonzero((level == k - 1) & (parent >= 0))
        rise = cpt[children, 1, 1] - cpt[children, 0, 1]
        total_rise = np.bincount(parent[children], weights=rise, minlength=parent.size)

        # The state is the last axis of the latent's own table, and the one before of its children's.
        is_swapped = (total_rise < 0) & (level == k)
        is_child = (parent >= 0) & is_swapped[parent]
        cpt[is_swapped] = cpt[is_swapped][:, :, ::-1]
        cpt[is_child] = cpt[is_child][:, ::-1, :]

    if positive:
        is_negative = (parent >= 0) & (level > 0) & (cpt[:, 1, 1] < cpt[:, 0, 1])
        if is_negative.any():
            cpt[is_negative] = node_marginals(parent, cpt)[is_negative][:, None, :]

    return cpt
