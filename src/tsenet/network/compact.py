"""Which parts of a network its outputs use, and networks without the others.

A weight is used if it lies on a path of non-zero weights from an input to an output. Pruning leaves many weights that
lie on none: they read units that nothing feeds, or feed units that nothing reads. `compacted` drops them. A unit that
nothing feeds has the same value for all rows; that value moves into the biases of its readers.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from tsenet.expansion.wiring import Wiring, WiringLayer
from tsenet.network.predictor import Predictor, relu

if TYPE_CHECKING:
    from tsenet.network.tsenet import TSENet

__all__ = [
    "Masks",
    "Paths",
    "UsedParts",
    "compacted",
    "n_used_parameters",
    "non_zero_weights",
]

Bools: TypeAlias = NDArray[np.bool_]
Masks: TypeAlias = dict[str, Bools]


@dataclass(frozen=True)
class UsedParts:
    """What lies on a path from an input to an output.

    Attributes
    ----------
    levels : list of bool (units,)
        Units of each level, the input first; inputs count as used.
    features : list of bool (units,)
        Units of each feature group; that of the top level is last.
    weights : dict of str to mask
        Weights, by the names of their parameters.
    constant : list of bool (units,)
        Units of each level, then of each feature group, that no path from an input reaches.
    n_outputs : int
    """

    levels: list[Bools]
    features: list[Bools]
    weights: Masks
    constant: list[Bools]
    n_outputs: int

    @property
    def n_parameters(self) -> int:
        """Number of used weights and of the biases of used units and outputs."""
        units = sum(int(used.sum()) for used in (*self.levels[1:], *self.features))
        return units + self.n_outputs + sum(int(mask.sum()) for mask in self.weights.values())


class Paths:
    """The paths of a network, to ask which of its parts are used if only some weights are kept."""

    def __init__(self, net: Predictor) -> None:
        self.sizes = [net.links[0].n_inputs, *(part.n_units for part in net.links)]
        self.ends = [(part.input_of_weight(), part.unit_of_weight()) for part in net.links]
        self.groups = [(level, f"{name}.weight") for name, level in net.groups]
        self.widths = [net.arrays[f"{name}.bias"].size for name, _ in net.groups]
        self.n_outputs = net.arrays["output.bias"].size

    def used(self, kept: Masks) -> UsedParts:
        """What is used if these weights are kept and all others are 0."""
        n_levels = len(self.ends)
        fed: list[Bools] = [np.ones(self.sizes[0], bool)]
        for k, (lower, upper) in enumerate(self.ends):
            there = kept[f"layers.{k}.weight"] & fed[k][lower]
            fed.append(_marked(upper[there], self.sizes[k + 1]))
        fed_features = [
            np.asarray((kept[name] & fed[k][:, None]).any(axis=0)) for k, name in self.groups
        ]
        features_read = np.asarray(kept["output.weight"].any(axis=1))
        read_features = np.split(features_read, np.cumsum(self.widths)[:-1])
        read: list[Bools] = []
        for k in range(n_levels, -1, -1):
            here = np.zeros(self.sizes[k], bool)
            if k < n_levels:
                lower, upper = self.ends[k]
                here |= _marked(lower[kept[f"layers.{k}.weight"] & read[0][upper]], here.size)
            for (level, name), wanted in zip(self.groups, read_features, strict=True):
                if level == k:
                    here |= (kept[name] & wanted).any(axis=1)
            read.insert(0, here)
        levels = [fed[0], *(a & b for a, b in zip(fed[1:], read[1:], strict=True))]
        features = [a & b for a, b in zip(fed_features, read_features, strict=True)]
        weights = {
            f"layers.{k}.weight": kept[f"layers.{k}.weight"]
            & levels[k][lower]
            & levels[k + 1][upper]
            for k, (lower, upper) in enumerate(self.ends)
        }
        for (k, name), used in zip(self.groups, features, strict=True):
            weights[name] = kept[name] & levels[k][:, None] & used
        weights["output.weight"] = kept["output.weight"] & np.concatenate(features)[:, None]
        if "linear_skip" in kept:
            weights["linear_skip"] = kept["linear_skip"]
        constant = [~part for part in (*fed, *fed_features)]
        return UsedParts(levels, features, weights, constant, self.n_outputs)


def non_zero_weights(net: Predictor) -> Masks:
    """Which weights of a network are not 0, by the names of their parameters; without biases."""
    return {
        name: array != 0
        for name, array in net.arrays.items()
        if name == "linear_skip" or name.endswith("weight")
    }


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
    kept = non_zero_weights(predictor)
    used = Paths(predictor).used(kept)
    links = [
        _marked(part.link_of_weight()[used.weights[f"layers.{depth}.weight"]], layer.n_edges)
        for depth, (part, layer) in enumerate(zip(predictor.links, wiring.layers, strict=True))
    ]
    same = all(np.array_equal(used.weights[name], mask) for name, mask in kept.items())
    if same and all(part.all() for part in (*used.levels, *used.features, *links)):
        return net
    latents = [used.levels[0], *(_any_unit(part, k) for part in used.levels[1:])]
    units = [np.repeat(part, k if level else 1) for level, part in enumerate(latents)]
    arrays: dict[str, NDArray[Any]] = {
        **{name: np.where(mask, predictor.arrays[name], 0) for name, mask in used.weights.items()},
        **_biases(predictor, used),
    }
    for depth, part in enumerate(predictor.links):
        weight, bias = f"layers.{depth}.weight", f"layers.{depth}.bias"
        arrays[weight] = arrays[weight][links[depth][part.link_of_weight()]]
        arrays[bias] = arrays[bias][units[depth + 1]]
    for name, level in predictor.groups:
        arrays[f"{name}.weight"] = arrays[f"{name}.weight"][units[level]]
    top = _any_unit(used.features[-1], 1)
    arrays["top.weight"], arrays["top.bias"] = arrays["top.weight"][:, top], arrays["top.bias"][top]
    others = np.ones(len(arrays["output.weight"]) - top.size, bool)
    arrays["output.weight"] = arrays["output.weight"][np.concatenate([others, top])]
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


def _biases(net: Predictor, used: UsedParts) -> dict[str, NDArray[Any]]:
    """The biases by name, with what constant units add to them; those of unused units are 0."""
    arrays, n_levels = net.arrays, len(net.links)
    values = [np.zeros(used.levels[0].size)]
    found: dict[str, NDArray[Any]] = {}
    for k, part in enumerate(net.links):
        weight = part.matrix(arrays[f"layers.{k}.weight"])
        bias = arrays[f"layers.{k}.bias"] + weight.T @ values[k]
        found[f"layers.{k}.bias"] = np.where(used.levels[k + 1], bias, 0)
        values.append(relu(np.where(used.constant[k + 1], bias, 0)))
    features = []
    for j, (name, level) in enumerate(net.groups):
        bias = arrays[f"{name}.bias"] + values[level] @ arrays[f"{name}.weight"]
        found[f"{name}.bias"] = np.where(used.features[j], bias, 0)
        features.append(relu(np.where(used.constant[n_levels + 1 + j], bias, 0)))
    found["output.bias"] = (
        arrays["output.bias"] + np.concatenate(features) @ arrays["output.weight"]
    )
    return {name: bias.astype(arrays[name].dtype) for name, bias in found.items()}


def _marked(places: NDArray[Any], size: int) -> Bools:
    found = np.zeros(size, bool)
    found[places] = True
    return found
