"""``FNN``: the ordinary fully connected network, the paper's first baseline (§6)."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

import torch
from torch import nn

from tsenet.network.batches import Batch
from tsenet.network.tsenet import DenseGroup

__all__ = ["FNN"]


class FNN(nn.Module):
    """Fully connected layers with ReLU and dropout, in plain torch; sparse input goes through ``embedding_bag``.

    Parameters
    ----------
    n_inputs, n_outputs : int
    hidden : sequence of int
        Units of each hidden layer.
    dropout : float
        Rate after each hidden layer.
    seed : int
        Of the initial weights.
    """

    def __init__(
        self,
        n_inputs: int,
        n_outputs: int,
        *,
        hidden: Sequence[int] = (512, 512),
        dropout: float = 0.5,
        seed: int = 0,
    ) -> None:
        super().__init__()
        if not hidden:
            raise ValueError("an FNN needs at least one hidden layer")
        if not 0.0 <= dropout < 1.0:
            raise ValueError(f"a dropout rate must be at least 0 and below 1, not {dropout}")
        self.layers = nn.ModuleList(
            DenseGroup(below, above) for below, above in pairwise((n_inputs, *hidden, n_outputs))
        )
        self.dropout = dropout
        self._draw = torch.Generator()
        generator = torch.Generator().manual_seed(seed)
        for layer in self.layers:
            assert isinstance(layer, DenseGroup)
            layer.reset_parameters(generator)

    def begin_step(self, seed: int, step: int) -> None:
        """Choose all dropout masks of the next forward pass in training mode."""
        self._draw.manual_seed((seed << 32) + step)

    def forward(self, x: Batch) -> torch.Tensor:
        """Raw outputs (B, C) of a dense batch (B, D) or a sparse one."""
        *hidden, output = self.layers
        for layer in hidden:
            x = torch.relu(layer(x))
            if self.training and self.dropout > 0:
                keep = torch.empty_like(x).bernoulli_(1 - self.dropout, generator=self._draw)
                x = x * keep / (1 - self.dropout)
        result: torch.Tensor = output(x)
        return result

    @property
    def n_parameters(self) -> int:
        """Number of trained numbers."""
        return sum(parameter.numel() for parameter in self.parameters())
