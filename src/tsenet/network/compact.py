"""Which parts of a network its outputs use, and networks without the others.

A weight is used if it lies on a path of non-zero weights from an input to an output. Pruning leaves many weights that
lie on none: they read units that nothing feeds, or feed units that nothing reads. `compacted` drops them. A unit that
nothing feeds has the same value for all rows; that value moves into the biases of its readers.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from tsenet.expansion.wiring import Wiring, WiringLayer
from tsenet.network.predictor import Predictor, relu

if TYPE_CHECKING:
    from tsenet.network.tsenet import TSENet

__all__ = [
    "Block",
    "Masks",
    "Paths",
    "UsedParts",
    "compacted",
    "n_used_parameters",
    "non_zero_weights",
]

Bools: TypeAlias = NDArray[np.bool_]
Ints: TypeAlias = NDArray[np.int64]
Masks: TypeAlias = dict[str, Bools]


class Block(NamedTuple):
    """The weights of one parameter: from the units of a layer to those of another."""

    name: str
    below: int  # layer
    above: int
    units: slice  # of the layer above
    lower: (
        Ints  # unit below of each weight; with `upper` of the parameter's shape, or broadcast to it
    )
    upper: Ints


@dataclass(frozen=True)
class UsedParts:
    """What lies on a path from an input to an output.

    Attributes
    ----------
    units : list of bool (units,)
        Units of each layer; inputs and outputs count as used.
    weights : dict of str to mask
        Weights, by the names of their parameters.
    constant : list of bool (units,)
        Units of each layer that no path from an input reaches.
    """

    units: list[Bools]
    weights: Masks
    constant: list[Bools]

    @property
    def n_parameters(self) -> int:
        """Number of used weights and of the biases of used units and outputs."""
        parts = (*self.units[1:], *self.weights.values())
        return sum(int(np.count_nonzero(part)) for part in parts)


class Paths:
    """The paths of a network, to ask which of its parts are used if only some weights are kept.

    Layers are numbered: 0 inputs, 1 … L levels, L + 1 feature layer, L + 2 outputs. ``sizes`` are their units,
    ``blocks`` the weights between them, those that feed a layer before those that read it.
    """

    def __init__(self, net: Predictor) -> None:
        arrays, n_levels = net.arrays, len(net.links)
        self.sizes = [net.links[0].n_inputs, *(part.n_units for part in net.links)]
        self.sizes += arrays["output.weight"].shape
        self.blocks: list[Block] = []
        for k, part in enumerate(net.links):
            ends = part.input_of_weight(), part.unit_of_weight()
            self.blocks.append(Block(f"layers.{k}.weight", k, k + 1, slice(0, part.n_units), *ends))
        start = 0
        for name, level in net.groups:
            self._add_dense(f"{name}.weight", arrays, level, n_levels + 1, start)
            start += arrays[f"{name}.bias"].size
        self._add_dense("output.weight", arrays, n_levels + 1, n_levels + 2)
        if "linear_skip" in arrays:
            self._add_dense("linear_skip", arrays, 0, n_levels + 2)

    def _add_dense(
        self, name: str, arrays: dict[str, NDArray[Any]], below: int, above: int, start: int = 0
    ) -> None:
        n_lower, n_upper = arrays[name].shape
        units = slice(start, start + n_upper)
        lower, upper = np.arange(n_lower)[:, None], np.arange(start, units.stop)
        self.blocks.append(Block(name, below, above, units, lower, upper))

    def used(self, kept: Masks) -> UsedParts:
        """What is used if these weights are kept and all others are 0."""
        fed, read = ([np.zeros(size, bool) for size in self.sizes] for _ in range(2))
        fed[0][:] = read[-1][:] = True
        for name, below, above, _, lower, upper in self.blocks:
            _mark(fed[above], upper, kept[name] & fed[below][lower])
        for name, below, above, _, lower, upper in reversed(self.blocks):
            _mark(read[below], lower, kept[name] & read[above][upper])
        units = [a & b for a, b in zip(fed, read, strict=True)]
        units[0][:] = units[-1][:] = True
        weights = {
            name: kept[name] & units[below][lower] & units[above][upper]
            for name, below, above, _, lower, upper in self.blocks
        }
        return UsedParts(units, weights, [~part for part in fed])


def non_zero_weights(net: Predictor) -> Masks:
    """Which weights of a network are not 0, by the names of their parameters; without biases."""
    return {name: array != 0 for name, array in net.arrays.items() if not name.endswith("bias")}


def n_used_parameters(net: Predictor) -> int:
    """Number of trained numbers on which the outputs can depend."""
    return Paths(net).used(non_zero_weights(net)).n_parameters


def compacted(net: TSENet) -> TSENet:
    """The same network without the latents, links and feature units of the top level that its outputs do not use.

    At least one of each layer stays. Where a latent has several units, it stays with all of them as long as one is
    used. Skip units stay; weights that are not used are 0.

    Parameters
    ----------
    net : TSENet
        On the CPU.

    Returns
    -------
    TSENet
        A new network in evaluation mode, or the same one if it uses all it has.
    """
    from tsenet.network.tsenet import TSENet

    predictor, wiring, k = net.predictor(), net.wiring, net.units_per_latent
    kept, paths = non_zero_weights(predictor), Paths(predictor)
    used = paths.used(kept)
    links = [np.zeros(layer.n_edges, bool) for layer in wiring.layers]
    for depth, part in enumerate(predictor.links):
        _mark(links[depth], part.link_of_weight(), used.weights[f"layers.{depth}.weight"])
    same = all(np.array_equal(used.weights[name], mask) for name, mask in kept.items())
    if same and all(part.all() for part in (*used.units, *links)):
        return net
    inputs, *levels, features, outputs = used.units
    latents = [inputs, *(_any_unit(part, k) for part in levels)]
    others, top = np.split(features, [-net.options.feature_units])
    top = _any_unit(top, 1)
    stays = [inputs, *(np.repeat(part, k) for part in latents[1:])]
    stays += [np.concatenate([np.ones_like(others), top]), outputs]
    biases = _biases(predictor, paths, used)
    arrays = {}
    for depth, (name, below, above, units, _, upper) in enumerate(paths.blocks):
        weight = np.where(used.weights[name], predictor.arrays[name], 0)
        if depth < len(links):
            arrays[name] = weight[links[depth][predictor.links[depth].link_of_weight()]]
        else:
            arrays[name] = weight[np.ix_(stays[below], stays[above][upper])]
        if name != "linear_skip":
            bias = name.replace("weight", "bias")
            own = biases[above][units][stays[above][units]]
            arrays[bias] = own.astype(predictor.arrays[bias].dtype)
    options = replace(net.options, feature_units=int(top.sum()))
    return TSENet.of_arrays(_smaller(wiring, latents, links), options, arrays)


def _any_unit(used: Bools, k: int) -> Bools:
    """Groups of k units with a used one, at least one of them: (groups,)."""
    found = np.array(used.reshape(-1, k).any(axis=1))
    found[0] |= not found.any()
    return found


def _smaller(wiring: Wiring, latents: list[Bools], links: list[Bools]) -> Wiring:
    """The wiring of the latents and links that stay."""
    layers = []
    for old, stays, lower, upper in zip(
        wiring.layers, links, latents[:-1], latents[1:], strict=True
    ):
        above = (np.cumsum(upper) - 1)[old.upper_ends()[stays]]
        start = np.searchsorted(above, np.arange(int(upper.sum()) + 1))
        below = (np.cumsum(lower) - 1)[old.indices[stays]]
        layers.append(WiringLayer(start, below, old.from_tree[stays], int(lower.sum())))
    names = tuple(
        tuple(np.array(level, object)[stays])
        for level, stays in zip(wiring.names, latents, strict=True)
    )
    return Wiring(tuple(layers), names, wiring.link_rule)


def _biases(net: Predictor, paths: Paths, used: UsedParts) -> list[NDArray[np.float64]]:
    """The biases of each layer, with what constant units add to them; those of unused units are 0."""
    biases = [np.zeros(size) for size in paths.sizes]
    for name, _, above, units, *_ in paths.blocks:
        if name != "linear_skip":
            biases[above][units] = net.arrays[name.replace("weight", "bias")]
    for name, below, above, _, lower, upper in paths.blocks:
        values = relu(np.where(used.constant[below], biases[below], 0.0))
        added = net.arrays[name] * values[lower]
        places = np.broadcast_to(upper, added.shape).ravel()
        biases[above] += np.bincount(places, added.ravel(), paths.sizes[above])
    return [np.where(part, bias, 0.0) for part, bias in zip(used.units, biases, strict=True)]


def _mark(units: Bools, places: Ints, there: Bools) -> None:
    """Set the units at the places of those weights that are there."""
    units[np.broadcast_to(places, there.shape)[there]] = True
