"""Initial weights of a network: drawn at random, or taken from the latent tree. No other module sets them."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np
import torch
from numpy.typing import NDArray

from tsenet.network.batches import Inputs
from tsenet.network.directions import leading_directions
from tsenet.network.options import Init
from tsenet.network.predictor import activate
from tsenet.network.sparse_linear import SparseLinear

if TYPE_CHECKING:
    from tsenet.network.tsenet import DenseGroup, TSENet

__all__ = ["draw_group", "follow_directions", "follow_model", "set_initial_weights"]

_ROWS = 1024  # at a time
_SAMPLE = 16_384  # rows that tell a unit's mean and deviation well enough
_FEW = 8_192  # sparse rows that tell principal directions
_FEW_DENSE = 2_048  # dense ones
_LEAST = 0.3  # deviation that is scaled up to 1, as a share of the largest of the latent's units
_MOST = 15  # times the median size of a level's weights, the largest weight of dense rows


def set_initial_weights(net: TSENet, init: Init, seed: int, inputs: Inputs | None = None) -> None:
    """Set all weights and biases of a network; call it once for a new network.

    Feature groups and outputs are drawn uniformly by He's rule; biases and the linear skip are 0.

    Parameters
    ----------
    net : TSENet
    init : {"fan-in", "tree", "directions"}
        Of the sparse layers. "fan-in": drawn uniformly by He's rule, with each unit's own number of links. "tree": the
        log-odds of each link, which the wiring holds, or "directions" where latents have several units or the wiring
        is that of a fitted estimator, which has no log-odds. "directions": the leading principal directions of what
        each latent reads.
    seed : int
        Of the draw. The drawn groups do not depend on `init`.
    inputs : Inputs or None, default=None
        Rows for `follow_model` and `follow_directions`. Without rows, the first unit of each latent follows the
        log-odds, at the length that "fan-in" gives weights on average, and its other units are drawn as by "fan-in".
    """
    generator = torch.Generator().manual_seed(seed)
    for layer in net.layers:
        _draw_links(layer, generator)  # with "tree" too: the groups then get the same numbers
    for group in (*net.skips, net.top, net.output):
        draw_group(group, generator)
    with torch.no_grad():
        if net.linear_skip is not None:
            net.linear_skip.zero_()
    if init == "fan-in":
        return
    has_log_odds = any(links.log_odds.any() for links in net.wiring.layers)
    if inputs is None:
        for layer, links in zip(net.layers, net.wiring.layers, strict=True):
            if has_log_odds:
                _point_along(layer, links.log_odds.astype(np.float64))
    elif init == "directions" or net.units_per_latent > 1 or not has_log_odds:
        follow_directions(net, inputs, seed)
    else:
        follow_model(net, inputs)


# ---- at random


def _draw_links(layer: SparseLinear, generator: torch.Generator) -> None:
    """Draw weights uniformly by He's rule, with each unit's own number of links; biases are 0."""
    weight, links = layer.weight, layer.links
    n_links = np.bincount(links.latent, minlength=links.n_latents)
    fan_in = torch.from_numpy(np.maximum(n_links, 1)).to(weight.dtype)
    bound = math.sqrt(6.0) / fan_in.sqrt()
    with torch.no_grad():
        drawn = torch.rand(weight.shape, generator=generator, dtype=weight.dtype) * 2 - 1
        weight.copy_(
            drawn * bound[torch.from_numpy(np.repeat(links.latent, links.k).astype(np.int64))]
        )
        layer.bias.zero_()


def draw_group(group: DenseGroup, generator: torch.Generator) -> None:
    """Draw the weights of a dense group uniformly by He's rule; biases are 0."""
    bound = math.sqrt(6.0 / max(1, group.weight.shape[0]))
    with torch.no_grad():
        group.weight.copy_((torch.rand(group.weight.shape, generator=generator) * 2 - 1) * bound)
        group.bias.zero_()


# ---- from the tree


def _point_along(layer: SparseLinear, direction: NDArray[np.float64]) -> None:
    """Point the weights of each latent's first unit along ``direction`` (E,), at the mean length of a draw, √2."""
    links = layer.links
    values = direction[links.link]
    square = np.bincount(links.latent, values**2, links.n_latents)
    length = np.maximum(np.sqrt(square), 1e-12)[links.latent]
    weight = layer.weight.detach().view(-1, links.k)
    weight[:, 0] = torch.from_numpy(values * math.sqrt(2.0) / length).to(weight)


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
    sample = _sample(inputs, _SAMPLE)
    for k, (layer, links) in enumerate(zip(net.layers, net.wiring.layers, strict=True), start=1):
        log_odds = links.log_odds.astype(np.float64)
        wanted = np.maximum(log_odds, 0.0) if inputs.is_sparse else log_odds
        with torch.no_grad():
            layer.weight.copy_(torch.from_numpy(wanted[layer.links.link_of_weight()]))
        _standardise(net, inputs, sample, k)


def follow_directions(net: TSENet, inputs: Inputs, seed: int = 0) -> None:
    """Give the units of each latent the leading principal directions of what it reads; mean 0 and deviation 1 as above.

    Directions are those of the centred rows; rows of sparse non-negative values are scaled to length 1 first. The sign
    is such that the weights of the latent's children in the tree have a positive sum. Levels above the first follow the
    activations of the level below.

    Parameters
    ----------
    net : TSENet
    inputs : Inputs
        Rows (N, D), labelled or not. Directions need at most 8,192 sparse or 2,048 dense ones, means 16,384.
    seed : int, default=0
        Of the first guess of the iteration.
    """
    sample = _sample(inputs, _SAMPLE)
    few = _sample(inputs, _FEW_DENSE)
    was_training = net.training
    net.eval()  # without dropout
    for k, (layer, links) in enumerate(zip(net.layers, net.wiring.layers, strict=True), start=1):
        if k == 1:
            below = inputs.values[_sample(inputs, _FEW) if inputs.is_sparse else few]
        else:
            below = _level_below(net, inputs, few, k)
        weight = leading_directions(layer.links, below, links.from_tree, seed)
        with torch.no_grad():
            layer.weight.copy_(torch.from_numpy(weight))
        _standardise(net, inputs, sample, k)
    net.train(was_training)


def _level_below(
    net: TSENet, inputs: Inputs, rows: NDArray[np.int64], k: int
) -> NDArray[np.float32]:
    """Activations (n, units) of level k − 1."""
    return activate(net.activation, net.predictor().sums(inputs.values[rows], k - 1))


def _sample(inputs: Inputs, at_most: int) -> NDArray[np.int64]:
    """Rows at equal distances."""
    n_rows = len(inputs)
    return np.unique(np.linspace(0, n_rows - 1, min(n_rows, at_most)).astype(np.int64))


def _standardise(net: TSENet, inputs: Inputs, sample: NDArray[np.int64], k: int) -> None:
    """Give the units of level k mean 0 and deviation 1 before their non-linearity; constant ones get weights 0.

    A unit that varies far less than another one of its latent is scaled up little more than that one, and a unit of
    dense rows never so far that a weight stands out: rounding must not become a signal, nor a rare category's weight
    a thousand.
    """
    layer = list(net.layers)[k - 1]
    with torch.no_grad():
        layer.bias.zero_()
    mean, deviation = _moments(net, inputs, sample, k)
    of_latent = deviation.reshape(-1, net.units_per_latent).max(axis=1)
    least = _LEAST * np.repeat(of_latent, net.units_per_latent)
    scale = np.divide(
        1.0, np.maximum(deviation, least), out=np.zeros_like(deviation), where=deviation > 1e-9
    )
    if not inputs.is_sparse:
        unit, size = layer.links.unit_of_weight(), np.abs(layer.weight.detach().numpy())
        largest = np.zeros(scale.size)
        np.maximum.at(largest, unit, size)
        bound = _MOST * np.median(scale[unit] * size)
        scale = np.where(scale * largest > bound, bound / np.maximum(largest, 1e-300), scale)
    _scale(layer, scale, -mean * scale)


def _moments(
    net: TSENet, inputs: Inputs, sample: NDArray[np.int64], k: int
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Mean and deviation of the sums that go into the non-linearity of level k: (units,) each."""
    total: NDArray[np.float64] | float = 0.0
    square: NDArray[np.float64] | float = 0.0
    predictor = net.predictor()
    for start in range(0, sample.size, _ROWS):
        z = predictor.sums(inputs.values[sample[start : start + _ROWS]], k).astype(np.float64)
        total, square = total + z.sum(axis=0), square + np.square(z).sum(axis=0)
    mean = np.asarray(total / sample.size)
    return mean, np.sqrt(np.maximum(square / sample.size - mean**2, 0.0))


def _scale(layer: SparseLinear, scale: NDArray[np.float64], bias: NDArray[np.float64]) -> None:
    """Multiply each unit's weights, and set its bias."""
    factor = torch.from_numpy(scale).to(layer.weight)
    with torch.no_grad():
        layer.weight.mul_(factor[torch.from_numpy(layer.links.unit_of_weight())])
        layer.bias.copy_(torch.from_numpy(bias))
