"""The structure of a network: learned from a table with defaults that suit it, or a wiring that was given."""

from __future__ import annotations

import logging
from typing import Any, Literal, NamedTuple

import numpy as np

from tsenet.data.binary import BinaryRule
from tsenet.data.blocks import Blocks
from tsenet.data.table import Levels, Table
from tsenet.errors import DataError
from tsenet.expansion.expand import expand
from tsenet.expansion.wiring import Wiring, WiringLayer
from tsenet.progress import Progress
from tsenet.skeleton.tree import LatentTree

logger = logging.getLogger("tsenet")

# Units that read each column, if the user names no density. Sparse rows: fewer lose accuracy, more make any wiring as
# good as the learned one. Dense rows: in a small table the paper's density lets most units read two or three columns.
# Measurements: docs/decisions.md.
READERS_SPARSE = 8
READERS_DENSE = 4
MIN_DENSITY_DENSE = 0.05  # the paper's
MIN_DENSITY_SPARSE = 0.005
MAX_DENSITY_SPARSE = 0.2


class NetworkStructure(NamedTuple):
    """A tree (None if only the wiring is known), its wiring, and how a table's columns become its inputs."""

    tree: LatentTree | None
    wiring: Wiring
    rule: BinaryRule


def learn_structure(
    rows: Table | Blocks,
    *,
    tree: LatentTree | None = None,
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
    tree : LatentTree, optional
        A tree over the columns of the rows; by default one is learned.
    density : float or None
        As for :func:`tsenet.expand`; None for one that suits the table, see :func:`default_density`.
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

    if tree is None:
        tree = learn_tree(
            rows,
            random_state=tree_seed,
            n_jobs=n_jobs,
            progress=progress,
            **{"piece_size": "auto", **tree_options},
        )

    if tree.n_levels == 0:
        logger.warning("no column of the table varies: there is no structure to learn")
        return NetworkStructure(tree, _one_unit_over_all(tree.names), tree.rule)

    wiring = expand(
        tree,
        rows,
        density=default_density(rows, tree) if density is None else density,
        link_rule=default_link_rule(rows) if link_rule is None else link_rule,
        log_odds=log_odds,
        random_state=wiring_seed,
        n_jobs=n_jobs,
        progress=progress,
    )
    return NetworkStructure(tree, wiring, tree.rule)


def default_density(rows: Table | Blocks, tree: LatentTree) -> float:
    """The share of the layer below that a unit reads, if the user does not say.

    About eight units should read each column of sparse rows, however many units there are: fewer lose accuracy, more
    make any wiring as good as the learned one. Dense rows keep the paper's 0.05, but at least four latents read each
    column: in a small table most would read two or three columns. Measurements: docs/decisions.md.
    """
    n_latents = tree.layer_sizes[1]
    if not rows.is_sparse:
        return float(np.clip(READERS_DENSE / n_latents, MIN_DENSITY_DENSE, 1.0))
    return float(np.clip(READERS_SPARSE / n_latents, MIN_DENSITY_SPARSE, MAX_DENSITY_SPARSE))


def default_link_rule(rows: Table | Blocks) -> Literal["context", "balanced"]:
    """How links are chosen, if the user does not say (docs/decisions.md)."""
    return "context" if rows.is_sparse else "balanced"


def _one_unit_over_all(names: tuple[str, ...]) -> Wiring:
    """The wiring where no column varies: one unit over all inputs."""
    n_inputs = len(names)
    layer = WiringLayer(
        indptr=np.array([0, n_inputs]),
        indices=np.arange(n_inputs, dtype=np.int32),
        from_tree=np.zeros(n_inputs, bool),
        n_lower=n_inputs,
        log_odds=np.zeros(n_inputs, np.float32),
    )
    return Wiring((layer,), (names, ("Z1.0",)), "tree")


def structure_of_wiring(table: Table, wiring: Wiring) -> NetworkStructure:
    """Fit a given wiring to a table's columns: numbers are one input each, categories one per level it knows.

    Raises
    ------
    DataError
        If the wiring was made for other columns.
    """
    input_names = wiring.names[0]
    levels: list[Levels] = []
    n_matched = 0
    for j, (name, column_levels) in enumerate(zip(table.names, table.levels, strict=True)):
        first = input_names[n_matched] if n_matched < len(input_names) else ""
        if column_levels is None:
            # x3 is what a wiring calls the column 3 of a table without names
            is_numbered = first.split(" > ")[0] == f"x{j}"
            fits = is_numbered or first == name or first.startswith(f"{name} > ")
            levels.append(None)
            n_matched += 1
        else:
            prefix = f"{name}="
            fits = first.startswith(prefix)
            known_levels = []
            while n_matched < len(input_names) and input_names[n_matched].startswith(prefix):
                known_levels.append(input_names[n_matched].removeprefix(prefix))
                n_matched += 1
            levels.append(tuple(known_levels))

        if table.named and not fits:
            raise DataError(
                f"the wiring does not fit the table: {table.label(j)} does not match its input {first!r}"
            )

    if n_matched != len(input_names):
        raise DataError(
            f"the wiring has {len(input_names)} inputs, but the table gives {n_matched}: "
            f"{table.n_columns} columns, categories one input per level"
        )

    is_category = np.array([column_levels is not None for column_levels in levels])
    thresholds = np.where(is_category, np.nan, 0.0)
    rule = BinaryRule(table.names, thresholds, ~is_category, tuple(levels), table.named)
    return NetworkStructure(None, wiring, rule)
