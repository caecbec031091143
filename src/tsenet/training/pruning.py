"""Pruning a trained TSE-Net: which weights matter least, in what steps, and how removed ones stay removed."""

from __future__ import annotations

from collections.abc import Callable
from numbers import Integral
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from tsenet.network.compact import UnitGraph
from tsenet.network.inputs import Inputs
from tsenet.network.tsenet import TSENet

Floats = NDArray[np.float64]
_SAMPLE = 4096  # rows that tell how strong a unit is
_ROUNDS = 6


def freeze_pruned(net: TSENet) -> Callable[[], None]:
    """A function that sets weights that are 0 now to 0 again; called after each step, it trains the others alone."""
    removed = [(p, p == 0) for name, p in net.named_parameters() if not name.endswith("bias")]

    @torch.no_grad()
    def reset() -> None:
        for weight, mask in removed:
            weight.masked_fill_(mask, 0.0)

    return reset


def pruning_sizes(net: TSENet, inputs: Inputs, n_parameters: int) -> list[int]:
    """Numbers of parameters to prune to one after the other, with training between: fast at first, then slowly.

    The cubic schedule of Zhu and Gupta (2017).

    Raises
    ------
    ValueError
        If ``n_parameters`` is more than there are, or too few for a path to each output.
    """
    graph = UnitGraph(net.predictor())
    least = graph.n_parameters(_strongest_paths(graph, strengths(net, inputs, graph)))
    largest = graph.n_parameters(graph.weight != 0)
    if not isinstance(n_parameters, Integral) or not least <= n_parameters <= largest:
        n_outputs = net.output.bias.numel()
        raise ValueError(
            f"n_parameters must lie between {least} (a path to each of the {n_outputs} outputs) and {largest}, "
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
    predictor = net.predictor()
    graph = UnitGraph(predictor)
    is_there = graph.weight != 0
    strength = strengths(net, inputs, graph)
    strength[_strongest_paths(graph, strength)] = np.inf
    rank = np.empty(strength.size, np.int64)
    rank[np.argsort(-strength, kind="stable")] = np.arange(strength.size)

    # How many of the strongest to keep, by bisection: what is used grows with what is kept.
    enough = 0
    too_many = strength.size + 1
    while too_many - enough > 1:
        middle = (enough + too_many) // 2
        if graph.n_parameters((rank < middle) & is_there) <= n_parameters:
            enough = middle
        else:
            too_many = middle

    for part in graph.parts:
        weight = predictor.arrays[part.block.weight].reshape(-1)
        weight[rank[part.weights] >= enough] = 0.0


def _strongest_paths(graph: UnitGraph, strength: Floats) -> NDArray[np.bool_]:
    """One path to each output, from its strongest weight down to an input, as far as there is one: (E,).

    A unit that several parameters feed keeps the strongest weight of each.
    """
    used = graph.used(graph.weight != 0).weights
    kept = np.zeros(used.size, bool)
    wanted = np.zeros(graph.bias.size, bool)
    wanted[graph.layers[-1]] = True
    for part in reversed(graph.parts):
        # The strongest weight into each unit: of those assigned to one unit, the last stays.
        candidates = part.weights.start + np.flatnonzero(used[part.weights])
        weakest_first = candidates[np.argsort(-strength[candidates], kind="stable")[::-1]]
        strongest = np.full(wanted.size, -1)
        strongest[graph.upper[weakest_first]] = weakest_first

        chosen = strongest[wanted & (strongest >= 0)]
        kept[chosen] = True
        wanted[graph.lower[chosen]] = True
    return kept


def strengths(net: TSENet, inputs: Inputs, graph: UnitGraph) -> Floats:
    """Of every weight of a network's graph: (E,)."""
    size = _sizes_of_values(net, inputs)  # (units,)
    on_outputs = weights_on_outputs(graph)  # (units,)
    return np.asarray(np.abs(graph.weight) * (size[graph.lower] * on_outputs[graph.upper]))


def weights_on_outputs(graph: UnitGraph) -> Floats:
    """How strongly the outputs depend on each unit: (units,).

    The square is the sum over all paths to the outputs of their squared products.
    """
    squares = np.zeros(graph.bias.size)
    squares[graph.layers[-1]] = 1.0
    for part in reversed(graph.parts):
        weight = graph.weight[part.weights]
        through = np.square(weight, dtype=np.float64) * squares[graph.upper[part.weights]]
        squares += np.bincount(graph.lower[part.weights], through, squares.size)
    return np.sqrt(squares)


def _sizes_of_values(net: TSENet, inputs: Inputs) -> Floats:
    """Root mean square of the inputs, of the units of each level, and of the feature units, one after the other."""
    values = inputs.values
    squares: Any = np.square(values) if isinstance(values, np.ndarray) else values.multiply(values)
    of_inputs = np.asarray(squares.mean(axis=0)).ravel()  # (D,)

    step = max(1, -(-len(inputs) // _SAMPLE))
    activations = net.predictor().hidden(Inputs(values[::step]), 1)  # (n, U)
    hidden = np.square(activations, dtype=np.float64).mean(axis=0)
    return np.asarray(np.sqrt(np.concatenate([of_inputs, hidden])))
