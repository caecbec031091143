"""What the tests of learn_tree share: planted rows, a short call, and what holds for every tree."""

from __future__ import annotations

from typing import Any

import numpy as np

from tests.builders import Bools, draw_rows, planted_tree
from tsenet.skeleton.hlta import learn_tree
from tsenet.skeleton.tree import LatentTree


def planted_rows(seed: int, n_rows: int = 1200) -> Bools:
    """60 words under 12 latents under 3."""
    rng = np.random.default_rng(seed)
    return draw_rows(planted_tree(rng, (60, 12, 3)), n_rows, rng)


def learn(X: Any, **options: Any) -> LatentTree:
    return learn_tree(X, **{"random_state": 0, "n_jobs": 1, "max_top": 5, **options})


def groups(tree: LatentTree) -> list[list[list[int]]]:
    """Sets of observed variables under the latents of each level, in a canonical order."""
    return [
        sorted(np.flatnonzero(tree.ancestors(level) == z).tolist() for z in range(size))
        for level, size in enumerate(tree.layer_sizes)
        if level
    ]


def assert_sound(tree: LatentTree, on: Bools) -> None:
    """A tree with proper tables in which only varying variables, but for a few without ties, have a parent."""
    tree.validate()
    varies = on.any(axis=0) & ~on.all(axis=0)
    grouped = tree.parent[: tree.n_observed] >= 0
    assert not (grouped & ~varies).any()
    assert grouped.sum() >= 0.5 * varies.sum()
    np.testing.assert_allclose(tree.cpt.sum(axis=2), 1.0, rtol=0, atol=1e-12)
    assert ((tree.cpt > 0) & (tree.cpt < 1)).all()
    for z in range(tree.n_observed, tree.n_nodes):
        assert tree.children(z).size
    assert np.isfinite(tree.log_likelihood(on.astype(float), n_jobs=1)).all()
