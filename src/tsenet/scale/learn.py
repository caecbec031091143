"""``learn_tree`` and ``expand`` for a folder of shards, with a cluster as one more argument."""

from __future__ import annotations

from contextlib import ExitStack
from typing import Any

import tsenet
from tsenet.expansion.wiring import Wiring
from tsenet.scale.context import expand_shards
from tsenet.scale.shards import Shards
from tsenet.skeleton.tree import LatentTree

__all__ = ["expand", "learn_tree"]


def learn_tree(
    folder: Any,
    *,
    client: Any = None,
    n_workers: int | None = None,
    memory_limit: int | str | None = None,
    n_jobs: int | None = None,
    **options: Any,
) -> LatentTree:
    """Learn a hierarchical latent tree from a folder of shards (paper §3).

    Parameters
    ----------
    folder : path, URL, ShardFolder or Shards
        The rows; of :class:`Shards` the cluster and the memory are used too.
    client, n_workers, memory_limit, n_jobs
        As for :class:`Shards`.
    **options
        Options of :func:`tsenet.learn_tree`. ``structure_samples=None``, the default, learns the groups from all rows,
        or from as many as fit ``memory_limit``; the plan says how many.

    Returns
    -------
    LatentTree
        The same, bit for bit, as :func:`tsenet.learn_tree` learns from the rows in memory.

    Raises
    ------
    DataError
        If a shard is missing or damaged; names file and row group.
    TooLargeError
        If the work does not fit; raised before it begins.
    ClusterError
        If the cluster is lost.

    Examples
    --------
    >>> import tempfile
    >>> import numpy as np
    >>> from tsenet import scale
    >>> from tsenet.data import write_shards
    >>> rng = np.random.default_rng(0)
    >>> topic = np.repeat(rng.random((500, 3)) < 0.4, 4, axis=1)
    >>> X = (rng.random((500, 12)) < np.where(topic, 0.8, 0.05)).astype(float)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     _ = write_shards(folder, X)
    ...     tree = scale.learn_tree(folder, memory_limit="1GB", max_top=3, random_state=0)
    ...     scale.expand(tree, folder, memory_limit="1GB", density=0.5)
    Wiring(12-3, 18 links, density 50 %, link_rule 'balanced')
    """
    with ExitStack() as stack:
        shards = _shards(folder, client, n_workers, memory_limit, n_jobs, stack)
        asked = options.pop("structure_samples", None)
        return tsenet.learn_tree(
            shards, n_jobs=n_jobs, structure_samples=shards.structure_rows(asked), **options
        )


def expand(
    tree: LatentTree,
    folder: Any,
    *,
    client: Any = None,
    n_workers: int | None = None,
    memory_limit: int | str | None = None,
    n_jobs: int | None = None,
    **options: Any,
) -> Wiring:
    """Add links to a tree, from the rows of a folder of shards (paper §4).

    Parameters
    ----------
    tree : LatentTree
        The skeleton.
    folder, client, n_workers, memory_limit, n_jobs
        As for :func:`tsenet.scale.learn_tree`.
    **options
        Options of :func:`tsenet.expand`.

    Returns
    -------
    Wiring
        The same, bit for bit, as :func:`tsenet.expand` gives for the rows in memory.

    Raises
    ------
    DataError
        If the columns are not those of the tree, or a shard is missing or damaged.
    TooLargeError, ClusterError
        As for :func:`tsenet.scale.learn_tree`.

    Examples
    --------
    See :func:`tsenet.scale.learn_tree`.
    """
    with ExitStack() as stack:
        shards = _shards(folder, client, n_workers, memory_limit, n_jobs, stack)
        return expand_shards(tree, shards, n_jobs=n_jobs, **options)


def _shards(
    folder: Any,
    client: Any,
    n_workers: int | None,
    memory_limit: int | str | None,
    n_jobs: int | None,
    stack: ExitStack,
) -> Shards:
    if isinstance(folder, Shards):
        if (client, n_workers, memory_limit) != (None, None, None):
            raise ValueError("these shards have their own client, n_workers and memory_limit")
        return folder
    made = Shards(
        folder, client=client, n_workers=n_workers, memory_limit=memory_limit, n_jobs=n_jobs
    )
    return stack.enter_context(made)
