"""Small trees made by hand, for the file formats."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
import pytest

from tsenet.data import BinaryRule, Table
from tsenet.skeleton.tree import LatentTree

MakeTree = Callable[..., LatentTree]


def _make_tree(
    words: Sequence[str] = ("apple", "pear", "car", "road", "zero"), seed: int = 0
) -> LatentTree:
    """Two latents over all words but the last, which is constant and hangs on nothing."""
    rng = np.random.default_rng(seed)
    n_words = len(words)
    half = (n_words - 1) // 2
    parent = np.array(
        [n_words + (0 if i < half else 1) for i in range(n_words - 1)] + [-1, -1, n_words],
        dtype=np.int32,
    )
    level = np.array([0] * n_words + [1, 1], dtype=np.int32)
    on = rng.uniform(0.01, 0.99, size=(n_words + 2, 2))
    on[parent < 0, 0] = on[parent < 0, 1]
    cpt = np.stack([1 - on, on], axis=-1)
    rows = np.tile(np.eye(n_words), (2, 1))
    rule = BinaryRule.learn(Table.of(rows, names=list(words)))
    return LatentTree(parent, level, cpt, (*words, "Z1.0", "Z1.1"), rule)


@pytest.fixture(scope="session")
def make_tree() -> MakeTree:
    return _make_tree


@pytest.fixture(scope="session")
def tree() -> LatentTree:
    return _make_tree()
