"""A latent tree over words, small enough to enumerate."""

from __future__ import annotations

import numpy as np

from tsenet.data import BinaryRule, Table
from tsenet.skeleton.tree import LatentTree

WORDS = ("ball", "goal", "vote", "law", "tax", "alone")


def make_tree(
    seed: int = 0, words: tuple[str, ...] = WORDS, *, positive: bool = False
) -> LatentTree:
    """Five words under three latents under two linked ones; the sixth word is constant.

    ``positive``: every node is likelier when its parent is on.
    """
    rng = np.random.default_rng(seed)
    parent = np.array([6, 6, 7, 7, 8, -1, 9, 10, 10, 10, -1], dtype=np.int32)
    level = np.array([0] * 6 + [1] * 3 + [2] * 2, dtype=np.int32)
    on = rng.uniform(0.05, 0.95, size=(11, 2))
    if positive:
        on.sort(axis=1)
    on[parent < 0, 0] = on[parent < 0, 1]
    cpt = np.stack([1 - on, on], axis=-1)
    rule = BinaryRule.learn(Table.of(np.tile(np.eye(6), (2, 1)), names=list(words)))
    names = (*words, "Z1.0", "Z1.1", "Z1.2", "Z2.0", "Z2.1")
    return LatentTree(parent, level, cpt, names, rule)
