"""Pruning a trained TSE-Net: which weights matter least, in what steps, and how removed ones stay removed."""

from __future__ import annotations

from collections.abc import Callable
from numbers import Integral
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from tsenet.network.compact import Block, Masks, Paths, UsedParts, non_zero_weights

if TYPE_CHECKING:
    from tsenet.network.predictor import Inputs, Predictor
    from tsenet.network.tsenet import TSENet

__all__ = ["pruning_sizes", "remove_again", "remove_weakest"]

Floats = NDArray[np.float64]
_SAMPLE = 4096  # rows that tell how strong a unit is
_ROUNDS = 6


def remove_again(net: TSENet, kept: Masks) -> Callable[[], None]:
    """A function that sets removed weights to 0; called after each step, it trains the others alone."""
    weights = dict(net.named_parameters())
    removed = {name: ~mask for name, mask in kept.items()}

    def remove() -> None:
        for name, mask in removed.items():
            weights[name].detach().numpy()[mask] = 0.0

    return remove


def pruning_sizes(net: TSENet, inputs: Inputs, n_parameters: int) -> list[int]:
    """Numbers of parameters to prune to one after the other, with training between: fast at first, then slowly.

    The cubic schedule of Zhu and Gupta (2017).

    Raises
    ------
    ValueError
        If ``n_parameters`` is more than there are, or too few for a path to each output.
    """
    paths = Paths(net.predictor())
    whole = paths.used(non_zero_weights(net.predictor()))
    first = _strongest_paths(_strengths(net, inputs), whole, paths)
    least, largest = paths.used(first).n_parameters, whole.n_parameters
    if not isinstance(n_parameters, Integral) or not least <= n_parameters <= largest:
        raise ValueError(
            f"n_parameters must lie between {least} (a path to each of the {paths.sizes[-1]} outputs) and {largest}, "
            f"not {n_parameters!r}"
        )
    left = (1 - np.arange(1, _ROUNDS + 1) / _ROUNDS) ** 3
    return [int(size) for size in n_parameters + np.floor((largest - n_parameters) * left)]


def remove_weakest(net: TSENet, inputs: Inputs, n_parameters: int) -> None:
    """Set all weights but the strongest to 0, so that at most ``n_parameters`` trained numbers are used.

    The strength of a weight is its size, times the root mean square of what it reads, times the weight that what it
    moves has on the outputs. Counted are the weights on a path from an input to an output, and the biases of the units
    on these paths; as many of the strongest weights are kept as this number allows. The strongest path to each output
    is kept first: else a whole layer could go, and the outputs with it.
    """
    strength, predictor = _strengths(net, inputs), net.predictor()
    present, paths = non_zero_weights(predictor), Paths(predictor)
    first = _strongest_paths(strength, paths.used(present), paths)
    everything = np.concatenate(
        [np.where(first[name], np.inf, part).ravel() for name, part in strength.items()]
    )
    rank = np.empty(everything.size, np.int64)
    rank[np.argsort(-everything, kind="stable")] = np.arange(everything.size)

    def strongest(n_kept: int) -> Masks:
        parts = np.split(rank < n_kept, np.cumsum([part.size for part in strength.values()])[:-1])
        named = zip(strength.items(), parts, strict=True)
        return {name: part.reshape(s.shape) & present[name] for (name, s), part in named}

    enough, too_many = 0, everything.size + 1  # what is used grows with what is kept
    while too_many - enough > 1:
        middle = (enough + too_many) // 2
        if paths.used(strongest(middle)).n_parameters <= n_parameters:
            enough = middle
        else:
            too_many = middle
    remove_again(net, strongest(enough))()


def _strongest_paths(strength: dict[str, Floats], used: UsedParts, paths: Paths) -> Masks:
    """One path to each output, from its strongest weight down to an input, as far as there is one."""
    sizes = {name: np.where(used.weights[name], part, -1.0) for name, part in strength.items()}
    kept = {name: np.zeros(part.shape, bool) for name, part in sizes.items()}

    def follow(block: Block, unit: int) -> None:
        own, shape = sizes[block.name].reshape(-1), sizes[block.name].shape
        weights = np.flatnonzero(np.broadcast_to(block.upper, shape) == unit)
        strongest = weights[own[weights].argmax()]
        if own[strongest] < 0:
            return
        kept[block.name].flat[strongest] = True
        lower = int(np.broadcast_to(block.lower, shape).flat[strongest])
        for below in paths.blocks:
            if below.above == block.below and below.units.start <= lower < below.units.stop:
                follow(below, lower)

    for block in paths.blocks:
        if block.above == len(paths.sizes) - 1:
            for output in range(paths.sizes[-1]):
                follow(block, output)
    return kept


def _strengths(net: TSENet, inputs: Inputs) -> dict[str, Floats]:
    """Of every weight, by the name of its parameter and in its shape."""
    predictor = net.predictor()
    values, paths = _sizes_of_values(net, inputs), Paths(predictor)
    on_outputs = _weights_on_outputs(predictor, paths)
    return {
        name: np.abs(predictor.arrays[name]) * (values[below][lower] * on_outputs[above][upper])
        for name, below, above, _, lower, upper in paths.blocks
    }


def _weights_on_outputs(net: Predictor, paths: Paths) -> list[Floats]:
    """How strongly the outputs depend on each unit of every layer.

    The square is the sum over all paths to the outputs of their squared products.
    """
    squares = [np.zeros(size) for size in paths.sizes]
    squares[-1][:] = 1.0
    for name, below, above, _, lower, upper in reversed(paths.blocks):
        through = np.square(net.arrays[name], dtype=np.float64) * squares[above][upper]
        places = np.broadcast_to(lower, through.shape).ravel()
        squares[below] += np.bincount(places, through.ravel(), paths.sizes[below])
    return [np.sqrt(part) for part in squares]


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
