"""Initial weights of a network: drawn at random, or taken from the latent tree. No other module sets them."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np
import torch
from numpy.typing import NDArray

from tsenet.network.batches import Inputs
from tsenet.network.options import Init
from tsenet.network.sparse_linear import SparseLinear

if TYPE_CHECKING:
    from tsenet.network.tsenet import DenseGroup, TSENet

__all__ = ["draw_group", "follow_model", "set_initial_weights"]

_ROWS = 1024  # at a time
_SAMPLE = 16_384  # rows that tell a unit's mean and deviation well enough


def set_initial_weights(net: TSENet, init: Init, seed: int, inputs: Inputs | None = None) -> None:
    """Set all weights and biases of a network; call it once for a new network.

    Feature groups and outputs are drawn uniformly by He's rule; biases and linear skips are 0.

    Parameters
    ----------
    net : TSENet
    init : {"fan-in", "tree"}
        Of the sparse layers. "fan-in": drawn uniformly by He's rule, with each unit's own number of links. "tree": the
        log-odds of each link, which the wiring holds.
    seed : int
        Of the draw. The drawn groups do not depend on `init`.
    inputs : Inputs or None, default=None
        Rows for `follow_model`. Without rows, "tree" gives the weights of a unit the length that "fan-in" gives them
        on average.
    """
    generator = torch.Generator().manual_seed(seed)
    for layer in net.layers:
        _draw_links(layer, generator)  # with "tree" too: the groups then get the same numbers
    for group in (*net.skips, net.top, net.output):
        draw_group(group, generator)
    with torch.no_grad():
        for weight in net.linear_skips:
            weight.zero_()
    if init == "tree" and inputs is not None:
        follow_model(net, inputs)
    elif init == "tree":
        for layer, links in zip(net.layers, net.wiring.layers, strict=True):
            _point_along(layer, links.log_odds.astype(np.float64))


# ---- at random


def _draw_links(layer: SparseLinear, generator: torch.Generator) -> None:
    """Draw weights uniformly by He's rule, with each unit's own number of links; biases are 0."""
    weight = layer.weight
    fan_in = torch.from_numpy(np.maximum(np.diff(layer.links.unit_start), 1)).to(weight.dtype)
    bound = math.sqrt(6.0) / fan_in.sqrt()
    with torch.no_grad():
        drawn = torch.rand(weight.shape, generator=generator, dtype=weight.dtype) * 2 - 1
        weight.copy_(drawn * bound[layer.link_unit])
        layer.bias.zero_()


def draw_group(group: DenseGroup, generator: torch.Generator) -> None:
    """Draw the weights of a dense group uniformly by He's rule; biases are 0."""
    bound = math.sqrt(6.0 / max(1, group.weight.shape[0]))
    with torch.no_grad():
        group.weight.copy_((torch.rand(group.weight.shape, generator=generator) * 2 - 1) * bound)
        group.bias.zero_()


# ---- from the tree


def _point_along(layer: SparseLinear, direction: NDArray[np.float64]) -> None:
    """Point each unit's weights along ``direction`` (E,), given by unit, at the mean length of a random draw, √2."""
    layer.set_links(direction)
    weight = layer.weight.detach()
    square = torch.zeros_like(layer.bias).index_add_(0, layer.link_unit, weight**2)
    length = square.sqrt().clamp_min(1e-12)
    weight.mul_((math.sqrt(2.0) / length)[layer.link_unit])


def follow_model(net: TSENet, inputs: Inputs) -> None:
    """Give each link the log-odds of its two ends, and each unit mean 0 and deviation 1 before its non-linearity.

    In sparse rows most values are zero and say little, so links with negative log-odds get weight 0 there. A unit whose
    sum is constant gets weights and bias 0.

    Parameters
    ----------
    net : TSENet
    inputs : Inputs
        Rows (N, D) without labels: those the wiring was learned from, or similar ones. At most 16,384 are read.
    """
    n_rows = len(inputs)
    sample = np.unique(np.linspace(0, n_rows - 1, min(n_rows, _SAMPLE)).astype(np.int64))
    for k, (layer, links) in enumerate(zip(net.layers, net.wiring.layers, strict=True), start=1):
        log_odds = links.log_odds.astype(np.float64)
        layer.set_links(np.maximum(log_odds, 0.0) if inputs.is_sparse else log_odds)
        with torch.no_grad():
            layer.bias.zero_()
        mean, deviation = _moments(net, inputs, sample, k)
        scale = np.divide(1.0, deviation, out=np.zeros_like(deviation), where=deviation > 1e-9)
        _scale(layer, scale, -mean * scale)


def _moments(
    net: TSENet, inputs: Inputs, sample: NDArray[np.int64], k: int
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Mean and deviation of the sums that go into the non-linearity of level k: (units,) each."""
    total: NDArray[np.float64] | float = 0.0
    square: NDArray[np.float64] | float = 0.0
    layers = list(net.layers)
    with torch.no_grad():
        for start in range(0, sample.size, _ROWS):
            batch = inputs.batch(sample[start : start + _ROWS])
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
