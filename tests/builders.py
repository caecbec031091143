"""Settings, trees and tables for the tests: small random trees, planted trees, and rows drawn from a tree.

Everything here is made by plain NumPy from the definition of the model (paper section 3), so that
it can stand as the other side of a comparison.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import eye_array

from tsenet.data.binary import BinaryRule
from tsenet.data.table import Table
from tsenet.skeleton.tree import LatentTree

Bools = NDArray[np.bool_]
Floats = NDArray[np.float64]

#: A network that is fitted in a moment; how many epochs is each test's own choice.
QUICK: dict[str, Any] = {"random_state": 0, "skip_units": 8, "feature_units": 8}
#: One that learns what is easy.
FAST: dict[str, Any] = {**QUICK, "max_epochs": 15}


def presence_rule(n_variables: int) -> BinaryRule:
    """The rule of a 0/1 table with ``n_variables`` columns."""
    return BinaryRule.learn(Table.of(eye_array(n_variables + 1, n_variables, format="csr")))


def random_parents(
    rng: np.random.Generator, sizes: Sequence[int], n_constant: int = 0
) -> NDArray[np.int32]:
    """Parents for layers of the given sizes, observed first: every latent gets at least one child.

    The last ``n_constant`` observed variables stand alone. The top layer is a random tree whose
    numbering has nothing to do with its shape.
    """
    starts = np.concatenate([[0], np.cumsum(sizes)])
    parent = np.full(starts[-1], -1, np.int32)
    for below in range(len(sizes) - 1):
        n_children = sizes[below] - (n_constant if below == 0 else 0)
        n_above = sizes[below + 1]
        owner = np.concatenate(
            [rng.permutation(n_above), rng.integers(n_above, size=n_children - n_above)]
        )
        parent[starts[below] + np.arange(n_children)] = starts[below + 1] + rng.permutation(owner)
    if len(sizes) > 1:
        top = starts[-2] + rng.permutation(sizes[-1])
        for k in range(1, top.size):
            parent[top[k]] = top[rng.integers(k)]
    return parent


def level_of(sizes: Sequence[int]) -> NDArray[np.int32]:
    """Level of every node of layers of the given sizes."""
    return np.repeat(np.arange(len(sizes), dtype=np.int32), sizes)


def node_names(sizes: Sequence[int]) -> tuple[str, ...]:
    """``x0``, ``x1``, … for the observed variables, ``Z1.0`` … for the latents."""
    return tuple(
        f"x{k}" if level == 0 else f"Z{level}.{k}"
        for level, size in enumerate(sizes)
        for k in range(size)
    )


def cpt_of(parent: NDArray[np.int32], on: Floats) -> Floats:
    """Tables (M, 2, 2) from P(v=1 | parent) (M, 2); without a parent the first column counts."""
    on = np.where(parent[:, None] >= 0, on, on[:, :1])
    return np.stack([1.0 - on, on], axis=2)


def random_tree(
    rng: np.random.Generator, sizes: Sequence[int], *, n_constant: int = 0, certain: float = 0.0
) -> LatentTree:
    """Random links and tables; a share ``certain`` of the probabilities is exactly 0 or 1."""
    parent = random_parents(rng, sizes, n_constant)
    on = rng.uniform(0.02, 0.98, (parent.size, 2))
    sure = rng.random(on.shape) < certain
    on[sure] = rng.integers(2, size=int(sure.sum()))
    return LatentTree(
        parent, level_of(sizes), cpt_of(parent, on), node_names(sizes), presence_rule(sizes[0])
    )


def planted_tree(rng: np.random.Generator, sizes: Sequence[int]) -> LatentTree:
    """A tree that can be found again: even groups, shuffled words, clear links.

    Words are on in .5–.8 of the rows of their latent and in .01–.05 of all others; a latent
    follows its parent with .75–.9 against .05–.15.
    """
    starts = np.concatenate([[0], np.cumsum(sizes)])
    parent = np.full(starts[-1], -1, np.int32)
    for below in range(len(sizes) - 1):
        owner = np.arange(sizes[below]) % sizes[below + 1]
        parent[starts[below] : starts[below + 1]] = starts[below + 1] + rng.permutation(owner)
    parent[starts[-2] + 1 :] = starts[-2] + np.arange(sizes[-1] - 1)  # a chain
    observed = np.arange(parent.size) < sizes[0]
    low = np.where(observed, *rng.uniform([[0.01], [0.05]], [[0.05], [0.15]], (2, parent.size)))
    high = np.where(observed, *rng.uniform([[0.5], [0.75]], [[0.8], [0.9]], (2, parent.size)))
    top = np.arange(parent.size) >= starts[-2]
    low[top], high[top] = 0.25, 0.45
    cpt = cpt_of(parent, np.stack([low, high], axis=1))
    return LatentTree(parent, level_of(sizes), cpt, node_names(sizes), presence_rule(sizes[0]))


def draw_states(tree: LatentTree, n_rows: int, rng: np.random.Generator) -> Bools:
    """Rows of all M nodes drawn from the tree, parents first: (N, M)."""
    state = np.zeros((n_rows, tree.n_nodes), bool)
    known = np.zeros(tree.n_nodes, bool)
    while not known.all():
        for v in np.flatnonzero(~known):
            p = tree.parent[v]
            if p < 0 or known[p]:
                above = state[:, p].astype(int) if p >= 0 else np.zeros(n_rows, int)
                state[:, v] = rng.random(n_rows) < tree.cpt[v, above, 1]
                known[v] = True
    return state


def draw_rows(tree: LatentTree, n_rows: int, rng: np.random.Generator) -> Bools:
    """Rows of the observed variables drawn from the tree: (N, V)."""
    return draw_states(tree, n_rows, rng)[:, : tree.n_observed]


def all_states(n_variables: int) -> Bools:
    """Every row of ``n_variables`` binary variables: (2^n, n)."""
    return (np.arange(2**n_variables)[:, None] >> np.arange(n_variables) & 1).astype(bool)


def one_latent_rows(
    rng: np.random.Generator,
    n_rows: int,
    sizes: Sequence[int],
    *,
    prior: float = 0.3,
    low: float = 0.05,
    high: float = 0.7,
) -> Bools:
    """Independent latents, each with its own group of ``sizes[z]`` variables: (N, sum of sizes)."""
    blocks = []
    for size in sizes:
        latent = rng.random(n_rows) < prior
        blocks.append(rng.random((n_rows, size)) < np.where(latent[:, None], high, low))
    return np.concatenate(blocks, axis=1)


def full_information(on: Bools) -> Floats:
    """N · MI in nats of all pairs of columns, straight from the definition: (V, V)."""
    n_rows = on.shape[0]
    total = np.zeros((on.shape[1], on.shape[1]))
    for a in (on, ~on):
        for b in (on, ~on):
            joint = a.T.astype(np.float64) @ b
            expected = np.outer(a.sum(axis=0), b.sum(axis=0)) / n_rows
            ratio = np.divide(joint, expected, out=np.ones_like(joint), where=joint > 0)
            total += joint * np.log(ratio)
    return total
