"""A tree small enough to know by heart."""

from __future__ import annotations

import numpy as np

from tests.builders import cpt_of, presence_rule
from tsenet.skeleton.tree import LatentTree

#              x0 x1 x2 x3 x4 x5  Z1.0 Z1.1 Z1.2  Z2.0 Z2.1 Z2.2
PARENT = np.array([6, 7, 6, -1, 8, 7, 9, 9, 11, 10, -1, 10])
LEVEL = np.array([0] * 6 + [1] * 3 + [2] * 3)
NAMES = (*(f"x{k}" for k in range(6)), "Z1.0", "Z1.1", "Z1.2", "Z2.0", "Z2.1", "Z2.2")
CONSTANT, ROOT = 3, 10


def example() -> LatentTree:
    """Six variables (one constant), three latents, three top latents, the middle one the root."""
    on = np.random.default_rng(0).uniform(0.1, 0.9, (12, 2))
    return LatentTree(PARENT, LEVEL, cpt_of(PARENT, on), NAMES, presence_rule(6))
