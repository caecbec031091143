"""Pruning a trained TSE-Net: which weights matter least, and how removed ones stay removed."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from tsenet.training.callbacks import Callback

if TYPE_CHECKING:
    from tsenet.network.batches import Inputs
    from tsenet.network.tsenet import TSENet
    from tsenet.training.engine import Engine

__all__ = ["KeepRemoved", "Masks", "remove_weakest"]

Masks: TypeAlias = dict[str, NDArray[np.bool_]]
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


def remove_weakest(net: TSENet, inputs: Inputs, n_parameters: int) -> Masks:
    """Set all weights but the strongest to 0, so that ``n_parameters`` trained numbers are left; return what is kept.

    The strength of a weight is its size, times the root mean square of what it reads, times the weight that what it
    moves has on the outputs. Biases are kept and counted.
    """
    weights = dict(net.named_parameters())
    strength = _strengths(net, inputs)
    n_weights = sum(part.size for part in strength.values())
    n_biases = net.n_parameters - n_weights
    n_kept = n_parameters - n_biases
    if not 0 < n_kept <= n_weights:
        raise ValueError(
            f"n_parameters must lie between {n_biases + 1} (the {n_biases} biases are kept) "
            f"and {net.n_parameters}, not at {n_parameters}"
        )
    everything = np.concatenate([part.ravel() for part in strength.values()])
    kept = np.zeros(everything.size, bool)
    kept[np.argsort(-everything, kind="stable")[:n_kept]] = True
    masks: Masks = {}
    for name, part in strength.items():
        mask, kept = kept[: part.size].reshape(part.shape), kept[part.size :]
        weights[name].detach().numpy()[~mask] = 0.0
        masks[name] = mask
    return masks


def _strengths(net: TSENet, inputs: Inputs) -> dict[str, Floats]:
    """Of every weight, by the name of its parameter and in its shape."""
    *levels, features = _sizes_of_values(net, inputs)
    on_features, on_levels = _weights_on_outputs(net)
    strength = {}
    for k, layer in enumerate(net.layers):
        read, moved = layer.link_input.numpy(), layer.link_unit.numpy()
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
            read, moved = layer.link_input.numpy(), layer.link_unit.numpy()
            through = squares[f"layers.{k}.weight"] * levels[0][moved]
            found = found + np.bincount(read, through, sizes[k])
            if skips:
                found = found + squares[f"skips.{k}.weight"] @ features[k]
        levels.insert(0, found)
    return [np.sqrt(part) for part in features], [np.sqrt(part) for part in levels]


def _sizes_of_values(net: TSENet, inputs: Inputs) -> list[Floats]:
    """Root mean square of the inputs, of the units of each level, and of the feature units."""
    from tsenet.network.forward import hidden_activations

    values = inputs.values
    step = max(1, -(-len(inputs) // _SAMPLE))
    sample = type(inputs)(values[::step])
    squares: Any = np.square(values) if isinstance(values, np.ndarray) else values.multiply(values)
    hidden = np.square(hidden_activations(net, sample, 1), dtype=np.float64).mean(axis=0)
    sizes = net.layer_sizes[1:]
    parts = [np.asarray(squares.mean(axis=0)).ravel(), *np.split(hidden, np.cumsum(sizes))]
    return [np.sqrt(part) for part in parts]
