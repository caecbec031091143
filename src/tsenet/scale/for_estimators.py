"""What the estimators ask of this package: rows outside memory, and the structure of all of them."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from tsenet.errors import DataError
from tsenet.expansion.structure import NetworkStructure, usual_density, usual_link_rule
from tsenet.scale.context import expand_shards
from tsenet.scale.learn import learn_tree
from tsenet.scale.shards import Shards

__all__ = ["learn_structure", "open_rows"]


@contextmanager
def open_rows(X: Any, client: Any, n_jobs: int | None) -> Iterator[Shards]:
    """Rows outside memory, open; what is opened here is closed in the end.

    Parameters
    ----------
    X : path, URL, ShardFolder, Shards or Dask collection
    client, n_jobs
        As for :class:`Shards`.

    Raises
    ------
    ValueError
        If ``X`` is open already and a client is given too.
    """
    if isinstance(X, Shards):
        if client is not None:
            raise ValueError("these shards have their own client")
        yield X
        return
    with Shards(X, client=client, n_jobs=n_jobs) as shards:
        yield shards


def learn_structure(
    shards: Shards,
    *,
    density: float | None,
    link_rule: Any,
    tree_seed: Any,
    wiring_seed: Any,
    n_jobs: int | None,
    progress: Any,
    **tree_options: Any,
) -> NetworkStructure:
    """Tree and wiring of all rows, as :func:`tsenet.expansion.structure.learn_structure` learns them in memory.

    Raises
    ------
    DataError
        If no column varies.
    """
    tree = learn_tree(
        shards, random_state=tree_seed, n_jobs=n_jobs, progress=progress, **tree_options
    )
    if tree.n_levels == 0:
        raise DataError(f"no column of {shards.folder.place.url} varies: there is nothing to learn")
    table: Any = shards  # of which only `is_sparse` is asked
    wiring = expand_shards(
        tree,
        shards,
        link_rule=usual_link_rule(table) if link_rule is None else link_rule,
        density=usual_density(table, tree) if density is None else density,
        random_state=wiring_seed,
        n_jobs=n_jobs,
        progress=progress,
    )
    return NetworkStructure(tree, wiring, tree.rule)
