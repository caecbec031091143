"""The structure an estimator works with: learned from its rows, or a wiring that was given."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from tsenet.data.binary import BinaryRule
from tsenet.data.frames import Levels
from tsenet.data.table import Table
from tsenet.errors import DataError
from tsenet.expansion.expand import expand
from tsenet.expansion.wiring import Wiring, WiringLayer
from tsenet.progress import Progress
from tsenet.skeleton.hlta import learn_tree
from tsenet.skeleton.tree import LatentTree

if TYPE_CHECKING:
    from tsenet.estimators._base import TSENetBase

logger = logging.getLogger("tsenet")


class Structure(NamedTuple):
    """A tree (None if only the wiring is known), its wiring, and how a table's columns become its inputs."""

    tree: LatentTree | None
    wiring: Wiring
    rule: BinaryRule


def structure_of(
    table: Table, settings: TSENetBase, tree_seed: Any, wiring_seed: Any, report: Progress
) -> Structure:
    """Learn the structure of a table, or fit the given wiring to its columns."""
    if settings.wiring is not None:
        return Structure(None, settings.wiring, rule_of_wiring(table, settings.wiring))
    tree = learn_tree(
        table,
        max_island=settings.max_island,
        max_top=settings.max_top,
        correlation_test=settings.correlation_test,
        structure_samples=settings.structure_samples,
        random_state=tree_seed,
        n_jobs=settings.n_jobs,
        progress=report,
    )
    if tree.n_levels == 0:
        logger.warning("no column of the table varies: there is no structure to learn")
        return Structure(tree, bare_wiring(tree.names), tree.rule)
    wiring = expand(
        tree,
        table,
        density=settings.density,
        link_rule=settings.link_rule,
        random_state=wiring_seed,
        n_jobs=settings.n_jobs,
        progress=report,
    )
    return Structure(tree, wiring, tree.rule)


def bare_wiring(names: tuple[str, ...]) -> Wiring:
    """One unit over all inputs: what is left where no column varies, so that there is no structure to learn."""
    n_inputs = len(names)
    layer = WiringLayer(
        np.array([0, n_inputs]),
        np.arange(n_inputs, dtype=np.int32),
        np.zeros(n_inputs, bool),
        np.zeros(n_inputs, np.float32),
        n_inputs,
    )
    unit = "Z1.0"
    while unit in names:
        unit += "'"
    return Wiring((layer,), (names, (unit,)), "tree")


def rule_of_wiring(table: Table, wiring: Wiring) -> BinaryRule:
    """How a table's columns become a wiring's inputs: numbers one each, categories one per level it knows.

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
    return BinaryRule(table.names, thresholds, ~category, tuple(levels), table.named)
