"""The structure of a network: learned from a table (skeleton, then expansion), or a wiring that was given."""

from __future__ import annotations

import logging
from typing import Any, Literal, NamedTuple

import numpy as np

from tsenet.data.binary import BinaryRule
from tsenet.data.table import Levels, Table
from tsenet.errors import DataError
from tsenet.expansion.wiring import Wiring, WiringLayer
from tsenet.progress import Progress
from tsenet.scale.blocks import Blocks
from tsenet.skeleton.tree import LatentTree

__all__ = [
    "NetworkStructure",
    "learn_structure",
    "structure_of_wiring",
    "usual_density",
    "usual_link_rule",
]

logger = logging.getLogger("tsenet")

_READERS_SPARSE, _READERS_DENSE = 8, 4  # of each column
_LEAST_DENSITY_DENSE = 0.05
_LEAST_DENSITY, _MOST_DENSITY = 0.005, 0.2


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
    tree_seed, wiring_seed : seeds
    n_jobs, progress
        As for :func:`tsenet.learn_tree`.
    **tree_options
        Other options of :func:`tsenet.learn_tree`. By default long documents are cut into pieces: the tree has fewer
        latents, and the network is trained faster with the same accuracy (docs/decisions.md).
    """
    from tsenet.expansion.expand import expand  # numba: a loaded model does without it
    from tsenet.skeleton.hlta import learn_tree

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


def structure_of_wiring(table: Table, wiring: Wiring) -> NetworkStructure:
    """Fit a given wiring to a table's columns: numbers are one input each, categories one per level it knows.

    Raises
    ------
    DataError
        If the wiring was made for other columns.
    """
    return NetworkStructure(None, wiring, _rule_of_wiring(table, wiring))


def _one_unit_over_all(names: tuple[str, ...]) -> Wiring:
    """The wiring where no column varies: one unit over all inputs."""
    n_inputs = len(names)
    layer = WiringLayer(
        np.array([0, n_inputs]),
        np.arange(n_inputs, dtype=np.int32),
        np.zeros(n_inputs, bool),
        n_inputs,
    )
    unit = "Z1.0"
    while unit in names:
        unit += "'"
    return Wiring((layer,), (names, (unit,)), "tree")


def _rule_of_wiring(table: Table, wiring: Wiring) -> BinaryRule:
    """How a table's columns become a wiring's inputs."""
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
    return BinaryRule(table.names, thresholds, ~category, tuple(levels), table.named)
