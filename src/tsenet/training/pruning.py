"""Pruning a trained TSE-Net: which weights matter least, and how removed ones stay removed."""

from __future__ import annotations

from numbers import Integral
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from tsenet.network.compact import Masks, Paths, non_zero_weights
from tsenet.training.callbacks import Callback

if TYPE_CHECKING:
    from tsenet.network.batches import Inputs
    from tsenet.network.tsenet import TSENet
    from tsenet.training.engine import Engine

__all__ = ["KeepRemoved", "remove_weakest"]

Floats = NDArray[np.float64]
_SAMPLE = 4096  # rows that tell how strong a unit is


class KeepRemoved(Callback):
    """Puts removed weights back to 0 after each step, which is the same as training the others alone."""

    def __init__(self, net: TSENet, kept: Masks) -> None:
        self._weights = dict(net.named_parameters())
        self._removed = {name: ~mask for name, mask in kept.items()}

    def on_batch_end(self, engine: Engine, epoch: int, batch: int, loss: float) -> None:
        """Remove them again."""
        for name, removed in self._removed.items():
            self._weights[name].detach().numpy()[removed] = 0.0


def remove_weakest(net: TSENet, inputs: Inputs, n_parameters: int) -> None:
    """Set all weights but the strongest to 0, so that at most ``n_parameters`` trained numbers are used.

    The strength of a weight is its size, times the root mean square of what it reads, times the weight that what it
    moves has on the outputs. Counted are the weights on a path from an input to an output, and the biases of the units
    on these paths; as many of the strongest weights are kept as this number allows.
    """
    strength, present, paths = (
        _strengths(net, inputs),
        non_zero_weights(net.predictor()),
        Paths(net.predictor()),
    )
    everything = np.concatenate([part.ravel() for part in strength.values()])
    rank = np.empty(everything.size, np.int64)
    rank[np.argsort(-everything, kind="stable")] = np.arange(everything.size)

    def strongest(n_kept: int) -> Masks:
        parts = np.split(rank < n_kept, np.cumsum([part.size for part in strength.values()])[:-1])
        named = zip(strength.items(), parts, strict=True)
        return {name: part.reshape(s.shape) & present[name] for (name, s), part in named}

    largest = paths.used(present).n_parameters
    if not isinstance(n_parameters, Integral) or not paths.n_outputs < n_parameters <= largest:
        raise ValueError(
            f"n_parameters must lie between {paths.n_outputs + 1} (the {paths.n_outputs} biases of "
            f"the outputs are kept) and {largest}, not {n_parameters!r}"
        )
    enough, too_many = 0, everything.size + 1  # what is used grows with what is kept
    while too_many - enough > 1:
        middle = (enough + too_many) // 2
        if paths.used(strongest(middle)).n_parameters <= n_parameters:
            enough = middle
        else:
            too_many = middle
    weights = dict(net.named_parameters())
    for name, mask in strongest(enough).items():
        weights[name].detach().numpy()[~mask] = 0.0


def _strengths(net: TSENet, inputs: Inputs) -> dict[str, Floats]:
    """Of every weight, by the name of its parameter and in its shape."""
    *levels, features = _sizes_of_values(net, inputs)
    on_features, on_levels = _weights_on_outputs(net)
    strength = {}
    for k, layer in enumerate(net.layers):
        read, moved = layer.links.input_of_weight(), layer.links.unit_of_weight()
        strength[f"layers.{k}.weight"] = levels[k][read] * on_levels[k + 1][moved]
    *on_skips, on_top = on_features
    for k, moved_skip in enumerate(on_skips):
        strength[f"skips.{k}.weight"] = np.outer(levels[k], moved_skip)
    strength["top.weight"] = np.outer(levels[-1], on_top)
    strength["output.weight"] = features[:, None]
    if net.linear_skip is not None:
        strength["linear_skip"] = levels[0][:, None]
    weights = dict(net.named_parameters())
    return {
        name: np.abs(weights[name].detach().numpy()) * factor for name, factor in strength.items()
    }


def _weights_on_outputs(net: TSENet) -> tuple[list[Floats], list[Floats]]:
    """How strongly the outputs depend on each feature unit, by group, and on each unit of every level.

    The square is the sum over all paths to the outputs of their squared products; level 0 is the input.
    """
    squares = {
        name: np.square(p.detach().numpy(), dtype=np.float64) for name, p in net.named_parameters()
    }
    sizes = net.layer_sizes
    skips = list(net.skips)
    cuts = np.cumsum([skip.bias.numel() for skip in skips])
    features = np.split(squares["output.weight"].sum(axis=1), cuts)
    levels: list[Floats] = []
    for k in reversed(range(len(sizes))):
        found = np.zeros(sizes[k])
        if k == 0 and "linear_skip" in squares:
            found = squares["linear_skip"].sum(axis=1)
        if k == len(sizes) - 1:
            found = found + squares["top.weight"] @ features[-1]
        else:
            layer = list(net.layers)[k]
            read, moved = layer.links.input_of_weight(), layer.links.unit_of_weight()
            through = squares[f"layers.{k}.weight"] * levels[0][moved]
            found = found + np.bincount(read, through, sizes[k])
            if skips:
                found = found + squares[f"skips.{k}.weight"] @ features[k]
        levels.insert(0, found)
    return [np.sqrt(part) for part in features], [np.sqrt(part) for part in levels]


def _sizes_of_values(net: TSENet, inputs: Inputs) -> list[Floats]:
    """Root mean square of the inputs, of the units of each level, and of the feature units."""
    values = inputs.values
    step = max(1, -(-len(inputs) // _SAMPLE))
    sample = type(inputs)(values[::step])
    squares: Any = np.square(values) if isinstance(values, np.ndarray) else values.multiply(values)
    hidden = np.square(net.predictor().hidden(sample, 1), dtype=np.float64).mean(axis=0)
    sizes = net.layer_sizes[1:]
    parts = [np.asarray(squares.mean(axis=0)).ravel(), *np.split(hidden, np.cumsum(sizes))]
    return [np.sqrt(part) for part in parts]
