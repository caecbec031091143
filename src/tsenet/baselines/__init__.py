"""Models to compare TSE-Net with (paper §6): dense, pruned and dynamically sparse networks, other wirings."""

from __future__ import annotations

from tsenet.baselines.dense import DenseClassifier, DenseRegressor
from tsenet.baselines.dynamic import DynamicSparseClassifier
from tsenet.baselines.grid import hidden_for, paper_grid
from tsenet.baselines.pruning import prune
from tsenet.baselines.wirings import bare_tree, random_wiring

__all__ = [
    "DenseClassifier",
    "DenseRegressor",
    "DynamicSparseClassifier",
    "bare_tree",
    "hidden_for",
    "paper_grid",
    "prune",
    "random_wiring",
]
