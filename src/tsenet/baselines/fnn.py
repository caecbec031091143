"""``FNN``: the ordinary fully connected network, the paper's first baseline (§6)."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import pairwise
from typing import Any

import numpy as np
import torch
from torch import nn

from tsenet.baselines.grid import check_shape
from tsenet.network.batches import Batch, SparseBatch
from tsenet.network.initial_weights import draw_group
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
        Rate after each hidden layer, rounded to 1/65536.
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
        check_shape(hidden, dropout)
        self.layers: Sequence[DenseGroup] = _list(
            DenseGroup(below, above) for below, above in pairwise((n_inputs, *hidden, n_outputs))
        )
        self.set_dropout(dropout)
        self._step = (0, 0)
        self.reads_removed = False  # whether removed weights have gradients too
        generator = torch.Generator().manual_seed(seed)
        for layer in self.layers:
            draw_group(layer, generator)

    def set_dropout(self, rate: float) -> None:
        """Choose the rate of dropout."""
        if not 0.0 <= rate < 1.0:
            raise ValueError(f"a dropout rate must be at least 0 and below 1, not {rate}")
        self._drop_below = min(round(rate * 65536), 65535)
        self.dropout = rate

    # ---- forward

    def begin_step(self, seed: int, step: int) -> None:
        """Choose all dropout masks of the next forward pass in training mode."""
        self._step = (seed, step)

    def forward(self, x: Batch) -> torch.Tensor:
        """Raw outputs (B, C) of a dense batch (B, D) or a sparse one."""
        return self._layer(len(self.layers) - 1, self.hidden(x)[-1])

    def hidden(self, x: Batch) -> list[torch.Tensor]:
        """Activations (B, units) of every hidden layer."""
        levels: list[torch.Tensor] = []
        for k in range(len(self.layers) - 1):
            level = torch.relu(self._layer(k, levels[-1] if levels else x))
            factors = self.dropout_factors(k, level)
            levels.append(level if factors is None else level * factors)
        return levels

    def dropout_factors(self, place: int, like: torch.Tensor) -> torch.Tensor | None:
        """What the units (B, U) of a hidden layer are multiplied with: 0, or 1 / (1 − rate); None for no dropout.

        The draw is NumPy's, ten times faster than torch's on a CPU, and the same on every device.
        """
        if not self.training or self._drop_below == 0:
            return None
        draw = np.random.Generator(np.random.SFC64([*self._step, place]))
        lanes = draw.integers(0, 65536, tuple(like.shape), np.uint16)
        kept = torch.from_numpy(lanes >= self._drop_below).to(like.device)
        return kept * like.new_tensor(self.dropout_scale)

    @property
    def dropout_scale(self) -> float:
        """Factor of the units that are not dropped."""
        return 65536 / (65536 - self._drop_below)

    def _layer(self, k: int, x: Batch) -> torch.Tensor:
        layer, mask = self.layers[k], self.mask(k)
        weight: torch.Tensor = layer.weight
        if mask is not None and not self.reads_removed and torch.is_grad_enabled():
            weight = weight * mask  # removed weights are 0: otherwise there is no need to hide them
        return (x.times(weight) if isinstance(x, SparseBatch) else x @ weight) + layer.bias

    # ---- pruning

    def keep(self, masks: Iterable[torch.Tensor], *, part_of_state: bool = False) -> None:
        """Remove weights for good: those of layer k where its mask (D, S) is False. They are 0 from now on.

        ``part_of_state`` puts the masks into ``state_dict``, for networks whose links change in training.
        """
        for k, (layer, mask) in enumerate(zip(self.layers, masks, strict=True)):
            self.register_buffer(f"mask{k}", mask.to(torch.bool), persistent=part_of_state)
            with torch.no_grad():
                layer.weight.masked_fill_(~mask, 0.0)

    def mask(self, k: int) -> torch.Tensor | None:
        """Which weights (D, S) of layer k are there; None if none was removed."""
        found: torch.Tensor | None = getattr(self, f"mask{k}", None)
        return found

    @property
    def n_parameters(self) -> int:
        """Number of trained numbers: weights that were not removed, and biases."""
        total = 0
        for k, layer in enumerate(self.layers):
            mask = self.mask(k)
            total += layer.bias.numel()
            total += layer.weight.numel() if mask is None else int(mask.sum())
        return total


def _list(modules: Iterable[nn.Module]) -> Any:
    """A ModuleList; typed as what it holds by whoever asks, since torch's own type says only Module."""
    return nn.ModuleList(modules)
