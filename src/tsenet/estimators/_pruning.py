"""Pruning a trained TSE-Net: which weights matter least, and how removed ones stay removed."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from tsenet.training.callbacks import Callback

if TYPE_CHECKING:
    from tsenet.network.batches import Inputs
    from tsenet.network.tsenet import TSENet
    from tsenet.training.engine import Engine

__all__ = ["KeepRemoved", "remove_weakest"]

Masks = dict[str, NDArray[np.bool_]]
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

    The strength of a weight is its size times the root mean square of what it reads. Biases are kept and counted.
    """
    weights = {name: p for name, p in net.named_parameters() if not name.endswith("bias")}
    n_biases = net.n_parameters - sum(weight.numel() for weight in weights.values())
    n_kept = n_parameters - n_biases
    if not 0 < n_kept <= net.n_parameters - n_biases:
        raise ValueError(
            f"n_parameters must lie between {n_biases + 1} (the {n_biases} biases are kept) "
            f"and {net.n_parameters}, not at {n_parameters}"
        )
    read = _strengths(net, inputs)
    strength = {
        name: np.abs(weight.detach().numpy()) * _reads(net, read, name)
        for name, weight in weights.items()
    }
    everything = np.concatenate([part.ravel() for part in strength.values()])
    kept = np.zeros(everything.size, bool)
    kept[np.argsort(-everything, kind="stable")[:n_kept]] = True
    masks: Masks = {}
    for name, weight in weights.items():
        mask, kept = kept[: weight.numel()].reshape(weight.shape), kept[weight.numel() :]
        weight.detach().numpy()[~mask] = 0.0
        masks[name] = mask
    return masks


def _reads(net: TSENet, strengths: list[NDArray[np.float64]], name: str) -> NDArray[np.float64]:
    """Root mean square of what each entry of a weight reads, in a shape that spreads over it."""
    kind, _, rest = name.partition(
        "."
    )  # layers.0.weight, skips.1.weight, top.weight, output.weight, direct.2
    place = {"top": -2, "output": -1}.get(kind)
    level = strengths[int(rest.split(".")[0]) if place is None else place]
    return (
        level[list(net.layers)[int(rest[0])].link_input.numpy()]
        if kind == "layers"
        else level[:, None]
    )


def _strengths(net: TSENet, inputs: Inputs) -> list[NDArray[np.float64]]:
    """Root mean square of the inputs, of the units of each level, and of the feature units."""
    from tsenet.network.evaluate import hidden_activations

    values = inputs.values
    step = max(1, -(-len(inputs) // _SAMPLE))
    sample = type(inputs)(values[::step])
    squares: Any = np.square(values) if isinstance(values, np.ndarray) else values.multiply(values)
    hidden = np.square(hidden_activations(net, sample, 1), dtype=np.float64).mean(axis=0)
    sizes = net.wiring.layer_sizes[1:]
    parts = [np.asarray(squares.mean(axis=0)).ravel(), *np.split(hidden, np.cumsum(sizes))]
    return [np.sqrt(part) for part in parts]
