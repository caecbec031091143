"""Networks that hold only what their outputs can use.

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
from tsenet.network.predictor import Predictor, activate

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
Places: TypeAlias = NDArray[np.int64]


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
    """The same network without what its outputs do not use.

    Latents, links and feature units without a used weight are dropped, at least one of each layer stays. Where a latent
    has several units, it stays with all of them as long as one is used; the weights of the others are 0.

    Parameters
    ----------
    net : TSENet
        On the CPU.

    Returns
    -------
    TSENet
        A new network in evaluation mode, or the same one if it uses all it has.
    """
    import torch

    from tsenet.network.tsenet import TSENet

    kept = non_zero_weights(net.predictor())
    used = Paths(net.predictor()).used(kept)
    has_skip = bool(used.weights.get("linear_skip", np.zeros(0)).any())
    links = _links_used(net, used)
    if (
        all(np.array_equal(used.weights[name], mask) for name, mask in kept.items())
        and all(part.all() for part in (*used.levels, *used.features, *links))
        and (has_skip or net.linear_skip is None)
    ):
        return net
    k = net.units_per_latent
    latents = [used.levels[0], *(_any_unit(part, k) for part in used.levels[1:])]
    units = [
        np.flatnonzero(np.repeat(part, k if level else 1)) for level, part in enumerate(latents)
    ]
    *skips, top = used.features
    width = max((int(part.sum()) for part in skips), default=0)
    features: list[Places | None] = [_first(part, width) if width else None for part in skips]
    features.append(_first(top, max(1, int(top.sum()))))
    options = replace(
        net.options,
        skip_units=width,
        feature_units=max(1, int(top.sum())),
        linear_skip=has_skip,
    )
    arrays = _small_weights(net, used, units, features, links)
    wiring = _smaller_wiring(net, latents, links)
    made = TSENet.of(wiring, used.n_outputs, options)
    made.to(net.output.weight.dtype)
    with torch.no_grad():
        for name, parameter in made.named_parameters():
            parameter.copy_(torch.from_numpy(arrays[name]))
    return made.eval()


def _links_used(net: TSENet, used: UsedParts) -> list[Bools]:
    """For each layer, which links of the wiring have a used weight."""
    return [
        _marked(
            layer.links.link_of_weight()[used.weights[f"layers.{k}.weight"]],
            net.wiring.layers[k].n_edges,
        )
        for k, layer in enumerate(net.layers)
    ]


def _smaller_wiring(net: TSENet, latents: list[Bools], links: list[Bools]) -> Wiring:
    """The wiring of the latents and links that stay."""
    layers = []
    for k, old in enumerate(net.wiring.layers):
        stays = links[k]
        number = [np.cumsum(part) - 1 for part in (latents[k], latents[k + 1])]
        upper = number[1][old.upper_ends()[stays]]
        layers.append(
            WiringLayer(
                np.searchsorted(upper, np.arange(int(latents[k + 1].sum()) + 1)),
                number[0][old.indices[stays]].astype(np.int32),
                old.from_tree[stays],
                int(latents[k].sum()),
            )
        )
    names = tuple(
        tuple(name for name, stays in zip(level, part.tolist(), strict=True) if stays)
        for level, part in zip(net.wiring.names, latents, strict=True)
    )
    return Wiring(tuple(layers), names, net.wiring.link_rule)


def _small_weights(
    net: TSENet,
    used: UsedParts,
    units: list[Places],
    features: list[Places | None],
    links: list[Bools],
) -> dict[str, NDArray[Any]]:
    """Weights and biases of the units and feature units that stay; the biases have what constant units add."""
    biases = _biases(net, used)
    parameters = net.predictor().arrays
    weights = {name: np.where(mask, parameters[name], 0) for name, mask in used.weights.items()}
    n_levels = len(units) - 1
    arrays: dict[str, NDArray[Any]] = {}
    for k, layer in enumerate(net.layers):
        arrays[f"layers.{k}.weight"] = weights[f"layers.{k}.weight"][
            links[k][layer.links.link_of_weight()]
        ]
        arrays[f"layers.{k}.bias"] = np.where(used.levels[k + 1], biases[k], 0)[units[k + 1]]
    names = [*(f"skips.{k}" for k in range(len(features) - 1)), "top"]
    rows, start = [], 0
    for k, (name, chosen, own) in enumerate(zip(names, features, used.features, strict=True)):
        if chosen is not None:
            level = n_levels if name == "top" else k
            arrays[f"{name}.weight"] = weights[f"{name}.weight"][units[level]][:, chosen]
            arrays[f"{name}.bias"] = np.where(own, biases[n_levels + k], 0)[chosen]
            rows.append(start + chosen)
        start += own.size
    arrays["output.weight"] = weights["output.weight"][np.concatenate(rows)]
    arrays["output.bias"] = biases[-1]
    if "linear_skip" in weights:
        arrays["linear_skip"] = weights["linear_skip"]
    return arrays


def _biases(net: TSENet, used: UsedParts) -> list[NDArray[np.float64]]:
    """Biases of the levels, of the feature groups and of the outputs, with what constant units add to them."""
    parts = {name: array.astype(np.float64) for name, array in net.predictor().arrays.items()}
    n_levels = len(used.levels) - 1
    level_value = np.zeros(used.levels[0].size)
    values, found = [level_value], []
    for k, layer in enumerate(net.layers):
        lower, upper = layer.links.input_of_weight(), layer.links.unit_of_weight()
        added = np.bincount(
            upper, parts[f"layers.{k}.weight"] * values[k][lower], net.layer_sizes[k + 1]
        )
        found.append(parts[f"layers.{k}.bias"] + added)
        values.append(_constants(net, found[-1], used.constant[k + 1]))
    names = [*(f"skips.{k}" for k, _ in enumerate(net.skips)), "top"]
    of_features = []
    for k, name in enumerate(names):
        level = n_levels if name == "top" else k
        found.append(parts[f"{name}.bias"] + values[level] @ parts[f"{name}.weight"])
        of_features.append(_constants(net, found[-1], used.constant[n_levels + 1 + k]))
    found.append(parts["output.bias"] + np.concatenate(of_features) @ parts["output.weight"])
    return found


def _constants(net: TSENet, bias: NDArray[np.float64], constant: Bools) -> NDArray[np.float64]:
    """Activations of units that nothing feeds; 0 for the others."""
    value = activate(net.activation, bias.copy())
    return np.where(constant, value, 0.0)


def _marked(places: NDArray[Any], size: int) -> Bools:
    found = np.zeros(size, bool)
    found[places] = True
    return found


def _any_unit(used: Bools, k: int) -> Bools:
    """Latents with a used unit, at least one of them: (latents,)."""
    found = np.array(used.reshape(-1, k).any(axis=1))
    found[0] |= not found.any()
    return found


def _first(mask: Bools, n: int) -> Places:
    """``n`` places: those that are marked, then others from the front; in ascending order."""
    order = np.argsort(~mask, kind="stable")[:n]
    return np.sort(order)
