"""Where a network starts: units that already say what the latent tree knows about unlabelled rows."""

from __future__ import annotations

import numpy as np
import torch
from numpy.typing import NDArray
from scipy.sparse import csr_array

from tsenet.network.batches import Batch, Inputs
from tsenet.network.sparse_linear import SparseLinear
from tsenet.network.tsenet import TSENet

__all__ = ["follow_model", "levels_of"]

_ROWS = 1024  # at a time
_SAMPLE = 16_384  # rows that tell a unit's mean and deviation well enough


def follow_model(net: TSENet, inputs: Inputs) -> None:
    """Give every link the log-odds of its two ends, and every unit mean 0 and deviation 1 before its non-linearity.

    On sparse rows, where a zero is the rule and says little, only links that speak *for* a unit get a weight. A unit
    that never varies is left at 0.

    Parameters
    ----------
    net : TSENet
    inputs : Inputs
        Rows without labels, those the wiring was learned from or others like them: (N, D).
    """
    n_rows = len(inputs)
    sample = np.unique(np.linspace(0, n_rows - 1, min(n_rows, _SAMPLE)).astype(np.int64))
    for k, (layer, links) in enumerate(zip(net.layers, net.wiring.layers, strict=True), start=1):
        log_odds = links.log_odds.astype(np.float64)
        layer.set_links(np.maximum(log_odds, 0.0) if inputs.is_sparse else log_odds)
        mean, deviation = _moments(net, inputs, sample, k)
        scale = np.divide(1.0, deviation, out=np.zeros_like(deviation), where=deviation > 1e-9)
        _scale(layer, scale, -mean * scale)


def levels_of(net: TSENet, inputs: Inputs, rows: NDArray[np.int64]) -> NDArray[np.float32]:
    """Activations of all latents, level by level, without dropout: (n, units)."""
    parts = []
    with torch.no_grad():
        for start in range(0, rows.size, _ROWS):
            batch = inputs.batch(rows[start : start + _ROWS])
            parts.append(torch.cat(net.levels(batch), dim=1).numpy())
    return np.concatenate(parts)


def _moments(
    net: TSENet, inputs: Inputs, sample: NDArray[np.int64], k: int
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Mean and deviation of what goes into the non-linearity of level k: (units,) each."""
    total: NDArray[np.float64] | float = 0.0
    square: NDArray[np.float64] | float = 0.0
    layers = list(net.layers)
    with torch.no_grad():
        for start in range(0, sample.size, _ROWS):
            batch: Batch = inputs.batch(sample[start : start + _ROWS])
            below = net.levels(batch, k - 1)[-1] if k > 1 else batch
            z = layers[k - 1](below).numpy().astype(np.float64)
            total, square = total + z.sum(axis=0), square + np.square(z).sum(axis=0)
    mean = np.asarray(total / sample.size)
    return mean, np.sqrt(np.maximum(square / sample.size - mean**2, 0.0))


def _scale(layer: SparseLinear, scale: NDArray[np.float64], bias: NDArray[np.float64]) -> None:
    """Multiply each unit's weights, and set its bias."""
    factor = torch.from_numpy(scale).to(layer.weight)
    with torch.no_grad():
        layer.weight.mul_(factor[layer.link_unit])
        layer.bias.copy_(torch.from_numpy(bias))


def is_bag(values: NDArray[np.float32] | csr_array) -> bool:
    """Whether rows are sparse and have no negative value, as bags of words are."""
    return not isinstance(values, np.ndarray) and bool((values.data >= 0).all())
