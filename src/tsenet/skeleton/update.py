"""New rows for a learned tree: its probabilities follow them, its structure stays."""

from __future__ import annotations

from typing import Any

import numpy as np

from tsenet._system.threads import Workers
from tsenet.data.rows import BinaryRows
from tsenet.skeleton.inference import Inference, children_first
from tsenet.skeleton.pieces import cut_into_pieces
from tsenet.skeleton.refine import (
    BATCH_ROWS,
    PSEUDO_ROWS,
    counts_from_tables,
    tables_from_counts,
)
from tsenet.skeleton.tree import LatentTree

__all__ = ["update_tree"]


def update_tree(
    tree: LatentTree,
    X: Any,
    *,
    n_seen: int,
    piece_size: int | None = None,
    key: int = 0,
    n_jobs: int | None = None,
) -> tuple[LatentTree, int]:
    """Update the probabilities of a tree by one pass of stepwise EM over new rows; groups and levels stay.

    Each row weighs as much as each row seen before: after n rows, a batch of b rows moves the expected counts by
    b / (n + b).

    Parameters
    ----------
    tree : LatentTree
        The tree; it is not changed.
    X : table, shape (N, V)
        The new rows.
    n_seen : int
        Rows (or pieces of rows) that the tree's probabilities come from.
    piece_size : int or None, default=None
        Cut longer rows into pieces, as :func:`tsenet.learn_tree` does; None keeps rows whole.
    key : int, default=0
        Seed of the division into pieces.
    n_jobs : int or None, default=None
        Threads; None or −1 for all cores. The result does not depend on it.

    Returns
    -------
    LatentTree
        The tree with new probabilities.
    int
        Rows (or pieces) seen in all.

    Examples
    --------
    >>> import numpy as np
    >>> import tsenet
    >>> from tsenet.skeleton.update import update_tree
    >>> rng = np.random.default_rng(0)
    >>> topic = rng.random((500, 1)) < 0.4
    >>> X = rng.random((500, 4)) < np.where(topic, 0.8, 0.05)
    >>> tree = tsenet.learn_tree(X, random_state=0)
    >>> new, n_seen = update_tree(tree, np.ones((100, 4)), n_seen=500)
    >>> n_seen
    600
    >>> bool(new.marginals()[4] > tree.marginals()[4])  # the latent is on more often
    True
    """
    rows = cut_into_pieces(tree.binary(X), piece_size, key)
    if tree.n_latents == 0 or rows.n_rows == 0:
        return tree, n_seen + rows.n_rows
    parent = np.array(tree.parent)
    pairs, on = counts_from_tables(parent, tree.cpt, tree.marginals(), tree.n_observed)
    cpt = np.array(tree.cpt)
    top_order = children_first(parent, tree.layer(tree.n_levels).start)
    alone = tree.ungrouped
    with Workers(n_jobs) as workers:
        for start in range(0, rows.n_rows, BATCH_ROWS):
            numbers = np.arange(start, min(start + BATCH_ROWS, rows.n_rows), dtype=np.int64)
            inference = Inference.of(parent, cpt, top_order, tree.n_observed)
            new_pairs, new_on, _ = inference.expected_counts(rows, numbers, workers)
            size = numbers.size
            eta = size / (n_seen + size)
            pairs += eta * (new_pairs / size - pairs)
            on += eta * (new_on / size - on)
            rate = cpt[alone, 0, 1]
            rate += eta * (_share_on(rows, numbers)[alone] - rate)
            n_seen += size
            tables_from_counts(pairs, on, parent, PSEUDO_ROWS / n_seen, cpt)
            cpt[alone] = np.stack([1.0 - rate, rate], axis=1)[:, None, :]
    return LatentTree(parent, tree.level, cpt, tree.names, tree.rule), n_seen


def _share_on(rows: BinaryRows, numbers: Any) -> Any:
    """Share of some rows in which each variable is on: (V,)."""
    return rows.take(numbers).counts() / numbers.size
