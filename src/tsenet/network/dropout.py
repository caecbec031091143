"""Dropout whose mask is a function of counters, so kernels and torch drop the same units."""

from __future__ import annotations

import numpy as np
import torch
from torch import nn

_MASK = (1 << 64) - 1


def mix(*numbers: int) -> int:
    """Hash whole numbers into 62 bits: the key of one layer's dropout in one step."""
    state = 0
    for number in numbers:
        state = (state + number + 0x9E3779B97F4A7C15) & _MASK
        state = ((state ^ (state >> 30)) * 0xBF58476D1CE4E5B9) & _MASK
        state = ((state ^ (state >> 27)) * 0x94D049BB133111EB) & _MASK
        state ^= state >> 31
    return state >> 2


class CounterDropout(nn.Module):
    """Dropout whose mask is a function of (seed, step, place in the network, row of the batch, unit).

    On a CPU the mask is that of the training kernels: processes that share a batch drop what one process would. On
    other devices torch draws it from a generator with the same seed, another one for each part of a shared batch.

    Parameters
    ----------
    rate : float
        Probability of being dropped, rounded to 1/65536.
    place : int
        Number of this dropout in the network.
    """

    def __init__(self, rate: float, place: int) -> None:
        super().__init__()
        if not 0.0 <= rate < 1.0:
            raise ValueError(f"a dropout rate must be at least 0 and below 1, not {rate}")
        self.threshold = min(round(rate * 65536), 65535)
        self.place = place
        self.key = mix(0, 0, place)
        self.first_row = 0

    def begin_step(self, seed: int, step: int, first_row: int = 0) -> None:
        """Choose the mask of the next forward pass, whose first row is number ``first_row`` of the batch."""
        self.key = mix(seed, step, self.place)
        self.first_row = first_row

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """Drop entries of x (B, U) in training mode."""
        if not self.training or self.threshold == 0:
            return x
        if x.device.type == "cpu":
            from tsenet.network.kernels.activation_kernels import dropout_factors

            factors = np.empty((x.shape[1], x.shape[0]), np.float64)
            dropout_factors(self.key, self.first_row, self.threshold, factors)
            return x * torch.from_numpy(factors).t().to(x.dtype)
        key = mix(self.key, self.first_row) if self.first_row else self.key
        generator = torch.Generator(x.device).manual_seed(key)
        lane = torch.randint(0, 65536, x.shape, generator=generator, device=x.device)
        return x * (lane >= self.threshold) * (65536 / (65536 - self.threshold))

    def extra_repr(self) -> str:
        """Rate, for torch's repr."""
        return f"rate={self.threshold / 65536:.4g}"
