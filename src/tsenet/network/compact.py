"""Which parts of a network its outputs use, and networks without the others.

A weight is used if it lies on a path of non-zero weights from an input to an output. Pruning leaves many weights that
lie on none: they read units that nothing feeds, or feed units that nothing reads. `drop_unused` drops them. A unit that
nothing feeds has the same value for all rows; that value moves into the biases of its readers.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import NDArray

from tsenet.expansion.wiring import Wiring, WiringLayer
from tsenet.network.predictor import Predictor, activated
from tsenet.network.topology import Activation, Block

if TYPE_CHECKING:
    from tsenet.network.tsenet import TSENet

Bools = NDArray[np.bool_]


class BlockRange(NamedTuple):
    """The weights of a block, and the units that they lead from and to."""

    block: Block
    weights: slice
    below: slice
    above: slice


class Reachable(NamedTuple):
    """What lies on a path from an input to an output."""

    units: Bools  # inputs and outputs count as used
    weights: Bools
    constant: Bools  # units that no path from an input reaches


class UnitGraph:
    """A network as a graph: units are numbered through all layers, weights through all parameters.

    Parameters
    ----------
    net : Predictor

    Attributes
    ----------
    layers : list of slice
        Units of each layer: inputs, levels, feature layer, outputs.
    parts : list of BlockRange
        Those that feed a layer come before those that read it.
    lower, upper : int64 (E,)
        The units that each weight leads from and to.
    weight : (E,)
    bias : float64 (units,)
    """

    def __init__(self, net: Predictor) -> None:
        self.layers = net.topology.layer_slices
        self.parts: list[BlockRange] = []
        self.bias = np.zeros(self.layers[-1].stop)
        lower = []
        upper = []
        weights = []
        first = 0

        for block in net.topology.blocks:
            weight = net.arrays[block.weight]
            layer = self.layers[block.above]
            units = slice(layer.start + block.units.start, layer.start + block.units.stop)
            if block.bias is not None:
                self.bias[units] = net.arrays[block.bias]

            reads, feeds = block.ends()
            lower.append(self.layers[block.below].start + reads)
            upper.append(layer.start + feeds)
            weights.append(weight.ravel())
            place = slice(first, first + weight.size)
            self.parts.append(BlockRange(block, place, self.layers[block.below], units))
            first = place.stop

        self.lower = np.concatenate(lower)
        self.upper = np.concatenate(upper)
        self.weight = np.concatenate(weights)

    def used(self, kept: Bools) -> Reachable:
        """What is used if these weights (E,) are kept and all others are 0."""
        inputs = self.layers[0]
        outputs = self.layers[-1]

        # Upwards: the units that a path from an input reaches.
        is_fed = np.zeros(self.bias.size, bool)
        is_fed[inputs] = True
        for part in self.parts:
            lower = self.lower[part.weights]
            upper = self.upper[part.weights]
            leads_on = kept[part.weights] & is_fed[lower]
            is_fed[upper[leads_on]] = True

        # Downwards: those from which a path leads to an output.
        is_read = np.zeros(self.bias.size, bool)
        is_read[outputs] = True
        for part in reversed(self.parts):
            lower = self.lower[part.weights]
            upper = self.upper[part.weights]
            leads_on = kept[part.weights] & is_read[upper]
            is_read[lower[leads_on]] = True

        units = is_fed & is_read
        units[inputs] = True
        units[outputs] = True
        weights = kept & units[self.lower] & units[self.upper]
        return Reachable(units, weights, ~is_fed)

    def n_parameters(self, kept: Bools) -> int:
        """Number of trained numbers on which the outputs depend if these weights are kept: biases count too."""
        used = self.used(kept)
        n_biases = np.count_nonzero(used.units[self.layers[0].stop :])
        return int(np.count_nonzero(used.weights) + n_biases)


def n_used_parameters(net: Predictor) -> int:
    """Number of trained numbers on which the outputs can depend."""
    graph = UnitGraph(net)
    return graph.n_parameters(graph.weight != 0)


def drop_unused(net: TSENet) -> TSENet:
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

    predictor = net.predictor()
    k = net.units_per_latent
    graph = UnitGraph(predictor)
    used = graph.used(graph.weight != 0)

    # The links that stay.
    link_of_weight = [level.link_of_weight() for level in predictor.topology.links]
    links = [np.zeros(layer.n_edges, bool) for layer in net.wiring.layers]
    for stays, link, part in zip(links, link_of_weight, graph.parts, strict=False):
        stays[link[used.weights[part.weights]]] = True

    all_weights_used = np.array_equal(used.weights, graph.weight != 0)
    if all_weights_used and used.units.all() and all(part.all() for part in links):
        return net

    # The latents that stay, with all of their units, and the units of the feature layer.
    inputs, *levels, features, _ = graph.layers
    latents = [used.units[inputs], *(_any_unit(used.units[level], k) for level in levels)]
    top = slice(features.stop - net.options.feature_units, features.stop)
    of_top = _any_unit(used.units[top], 1)
    unit_stays = np.ones(used.units.size, bool)
    for level, stays in zip(levels, latents[1:], strict=True):
        unit_stays[level] = np.repeat(stays, k)
    unit_stays[top] = of_top

    # The parameters of what stays.
    weights = np.where(used.weights, graph.weight, 0)
    biases = _biases(graph, used, predictor.activation)
    arrays = {}
    for depth, (block, of_block, below, above) in enumerate(graph.parts):
        if block.sparse is not None:
            weight_stays = links[depth][link_of_weight[depth]]
            arrays[block.weight] = weights[of_block][weight_stays]
        else:
            full = weights[of_block].reshape(block.weight_shape)
            arrays[block.weight] = full[np.ix_(unit_stays[below], unit_stays[above])]
        if block.bias is not None:
            dtype = predictor.arrays[block.bias].dtype
            arrays[block.bias] = biases[above][unit_stays[above]].astype(dtype)

    options = replace(net.options, feature_units=int(of_top.sum()))
    return TSENet.of_arrays(_smaller(net.wiring, latents, links), options, arrays)


def _any_unit(used: Bools, k: int) -> Bools:
    """Groups of k units with a used one, at least one of them: (groups,)."""
    found = np.array(used.reshape(-1, k).any(axis=1))
    found[0] |= not found.any()
    return found


def _smaller(wiring: Wiring, latents: list[Bools], links: list[Bools]) -> Wiring:
    """The wiring of the latents and links that stay."""
    number = [np.cumsum(stays) - 1 for stays in latents]  # of each unit among those that stay
    n_units = [int(stays.sum()) for stays in latents]

    layers = []
    for k, (old, stays) in enumerate(zip(wiring.layers, links, strict=True)):
        upper = number[k + 1][old.upper_ends()[stays]]  # ascending
        layer = WiringLayer(
            indptr=np.searchsorted(upper, np.arange(n_units[k + 1] + 1)),
            indices=number[k][old.indices[stays]],
            from_tree=old.from_tree[stays],
            n_lower=n_units[k],
            log_odds=None if old.log_odds is None else old.log_odds[stays],
        )
        layers.append(layer)

    names = []
    for level, stays in zip(wiring.names, latents, strict=True):
        names.append(tuple(np.array(level, object)[stays]))
    return Wiring(tuple(layers), tuple(names), wiring.link_rule)


def _biases(graph: UnitGraph, used: Reachable, activation: Activation) -> NDArray[np.float64]:
    """The biases of all units, with what constant units add to them; those of unused units are 0."""
    biases = graph.bias.copy()
    for part in graph.parts:  # layer by layer: what constant units below add is known by then
        values = np.where(used.constant, activated(biases.copy(), activation), 0.0)
        added = graph.weight[part.weights] * values[graph.lower[part.weights]]
        biases += np.bincount(graph.upper[part.weights], added, biases.size)
    return np.where(used.units, biases, 0.0)
