"""Planted trees of the same kind as the one in ``TSENET_DATA/planted``, and rows drawn from them.

The given tree's tables are not known, so the ranges below were read off an EM fit of its true structure to its 10,000
rows. With them a fresh tree has about the same density (5.7 % on) and distance from independence (53 nats a row).
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from tsenet.data.binary import BinaryRule
from tsenet.data.rows import BinaryRows
from tsenet.data.table import Table
from tsenet.skeleton.tree import LatentTree

SIZES = (1000, 150, 25, 5)
SMALLEST_GROUP = 4
# P(v=1 | parent=0) and P(v=1 | parent=1) of words, of levels 1 and 2, and of the top level (a chain).
RANGES = (((0.002, 0.02), (0.2, 0.6)), ((0.01, 0.05), (0.4, 0.65)), ((0.05, 0.1), (0.4, 0.6)))
TOP_RANGES = ((0.15, 0.25), (0.25, 0.4))


def planted_tree(rng: np.random.Generator, sizes: Sequence[int] = SIZES) -> LatentTree:
    """A random tree with layers of the given sizes (observed first): groups of 4 and more, tables from ``RANGES``."""
    parents, rates = [], []
    start = 0
    for (n_below, n_above), (low, high) in zip(pairwise(sizes), RANGES, strict=True):
        start += n_below
        sure = np.repeat(np.arange(n_above), SMALLEST_GROUP)
        owner = np.concatenate([sure, rng.integers(0, n_above, n_below - sure.size)])
        parents.append(start + rng.permutation(owner))
        rates.append(np.stack([rng.uniform(*low, n_below), rng.uniform(*high, n_below)], axis=1))
    n_top = sizes[-1]
    parents.append(np.concatenate([[-1], start + np.arange(n_top - 1)]))
    rates.append(np.stack([rng.uniform(*r, n_top) for r in TOP_RANGES], axis=1))
    parent = np.concatenate(parents).astype(np.int32)
    on = np.concatenate(rates)
    on[start] = on[start].mean()  # the root has one rate
    level = np.repeat(np.arange(len(sizes), dtype=np.int32), sizes)
    names = tuple(f"n{v}" for v in range(parent.size))
    rule = BinaryRule.learn(Table.of(csr_array((2, sizes[0]), dtype=np.int8), names[: sizes[0]]))
    return LatentTree(parent, level, np.stack([1.0 - on, on], axis=2), names, rule)


def draw_rows(tree: LatentTree, n_rows: int, rng: np.random.Generator) -> BinaryRows:
    """Rows of the observed variables drawn from a tree, parents before children."""
    state: dict[int, NDArray[np.intp]] = {-1: np.zeros(n_rows, np.intp)}
    for v in np.argsort(_depth(tree), kind="stable").tolist():
        on = rng.random(n_rows) < tree.cpt[v, state[int(tree.parent[v])], 1]
        state[v] = on.astype(np.intp)
    return BinaryRows.of_dense(np.stack([state[v] for v in range(tree.n_observed)], axis=1))


def _depth(tree: LatentTree) -> NDArray[np.int64]:
    """Number of ancestors of every node: (M,)."""
    depth = np.zeros(tree.n_nodes, np.int64)
    node = tree.parent
    while (node >= 0).any():
        depth += node >= 0
        node = np.where(node >= 0, tree.parent[node], -1)
    return depth
