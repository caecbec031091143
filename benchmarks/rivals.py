"""What the sparse network is measured against: dense networks in torch, as strong as we can make them."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

import numpy as np
import torch
from torch import nn
from torch.nn import functional

from tsenet.expansion.wiring import Wiring, WiringLayer
from tsenet.network.batches import Batch, SparseBatch
from tsenet.network.tsenet import TSENet


def random_wiring(sizes: Sequence[int], density: float, seed: int = 0) -> Wiring:
    """Every unit linked to ``density`` of the layer below, at random."""
    rng = np.random.default_rng(seed)
    layers = []
    for below, here in pairwise(sizes):
        degree = max(1, round(density * below))
        lower = [np.sort(rng.choice(below, degree, replace=False)) for _ in range(here)]
        indptr = np.arange(0, here * degree + 1, degree)
        none = np.zeros(here * degree)
        layers.append(WiringLayer(indptr, np.concatenate(lower), none, below))
    names = tuple(tuple(f"{k}.{i}" for i in range(size)) for k, size in enumerate(sizes))
    return Wiring(tuple(layers), names, "random")


class DenseNet(nn.Module):
    """Fully connected ReLU network with dropout; sparse input goes through ``embedding_bag``."""

    def __init__(self, n_inputs: int, hidden: Sequence[int], n_outputs: int) -> None:
        super().__init__()
        self.first = nn.Parameter(torch.randn(n_inputs, hidden[0]) * (2.0 / n_inputs) ** 0.5)
        self.bias = nn.Parameter(torch.zeros(hidden[0]))
        self.rest = nn.ModuleList(nn.Linear(a, b) for a, b in pairwise(hidden))
        self.output = nn.Linear(hidden[-1], n_outputs)

    def forward(self, x: Batch) -> torch.Tensor:
        h = _product(x, self.first) + self.bias
        h = functional.dropout(functional.relu(h), 0.5, self.training)
        for layer in self.rest:
            h = functional.dropout(functional.relu(layer(h)), 0.5, self.training)
        out: torch.Tensor = self.output(h)
        return out


class MaskedNet(nn.Module):
    """The same TSENet with its sparse layers as dense matrices times a mask: sparsity simulated."""

    def __init__(self, net: TSENet) -> None:
        super().__init__()
        self.net = net
        dense = [layer.dense_weight().detach().t().contiguous() for layer in net.layers]
        self.weights = nn.ParameterList(nn.Parameter(weight.clone()) for weight in dense)
        self.masks = [(weight != 0).float() for weight in dense]

    def forward(self, x: Batch) -> torch.Tensor:
        levels: list[Batch] = [x]
        for layer, weight, mask in zip(self.net.layers, self.weights, self.masks, strict=True):
            h = functional.relu(_product(levels[-1], weight * mask) + layer.bias)
            levels.append(functional.dropout(h, 0.5, self.training))
        groups = [skip(level) for skip, level in zip(self.net.skips, levels, strict=False)]
        features = torch.cat([*groups, self.net.top(levels[-1])], dim=1)
        out: torch.Tensor = self.net.output(
            functional.dropout(functional.relu(features), 0.5, self.training)
        )
        return out


def _product(x: Batch, weight: torch.Tensor) -> torch.Tensor:
    if isinstance(x, SparseBatch):
        return functional.embedding_bag(
            x.columns,
            weight,
            x.row_start,
            mode="sum",
            per_sample_weights=x.values,
            include_last_offset=True,
        )
    return x @ weight
