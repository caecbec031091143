"""What the page draws: the nodes, the tree over them, and the strongest of the added links."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from tsenet.explain.topics import Topic, every_topic

if TYPE_CHECKING:
    from tsenet.expansion.wiring import Wiring
    from tsenet.skeleton.tree import LatentTree

__all__ = ["AddedLinks", "Graph", "graph_of_topics", "graph_of_tree", "graph_of_wiring"]

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

# Tables may hold probabilities of exactly 0 and 1, whose log-odds are infinite.
_NEVER = 1e-6


@dataclass(frozen=True)
class AddedLinks:
    """Links that expansion added, strongest first within a unit; the weakest of many are left out.

    Attributes
    ----------
    unit, lower : int64 (E,)
        Upper and lower end of each link, as nodes.
    strength : float64 (E,)
    n_below : int64 (M,)
        How many links lead down from each node, also those left out.
    n_above : int64 (M,)
        How many lead up from it.
    """

    unit: Ints
    lower: Ints
    strength: Floats
    n_below: Ints
    n_above: Ints


@dataclass(frozen=True)
class Graph:
    """M nodes numbered layer by layer, inputs first.

    Attributes
    ----------
    names : tuple of str
    layer_sizes : tuple of int
        Inputs first.
    parent : int64 (M,)
        In a higher layer; −1 for the roots and for inputs in no group.
    strength : float64 (M,)
        Strength of the link to the parent; 0 without one.
    kind : {"weight", "log-odds"}
        What strength means.
    added : AddedLinks or None
        None for a plain tree.
    """

    names: tuple[str, ...]
    layer_sizes: tuple[int, ...]
    parent: Ints
    strength: Floats
    kind: str
    added: AddedLinks | None = None

    @property
    def n_inputs(self) -> int:
        """Number of nodes of the lowest layer."""
        return self.layer_sizes[0]


def graph_of_tree(tree: LatentTree) -> Graph:
    """The graph of a latent tree, without the links inside its top level, which carry no hierarchy."""
    level = np.asarray(tree.level, np.int64)
    above = np.asarray(tree.parent, np.int64)
    parent = np.where((above >= 0) & (level[above] > level), above, -1)
    on = np.clip(tree.cpt[:, :, 1], _NEVER, 1 - _NEVER)  # (M, 2)
    odds = np.log(on / (1 - on))
    strength = np.where(parent >= 0, odds[:, 1] - odds[:, 0], 0.0)
    return Graph(tree.names, tree.layer_sizes, parent, strength, "log-odds")


def graph_of_topics(tree: LatentTree, topics: Sequence[Topic]) -> Graph:
    """The graph of those topics of a tree that are shown, nested as given, and of all words.

    A word is below the lowest topic shown of those above it in the tree. The link of a node to a parent that is not
    the one it has in the tree has no strength.
    """
    whole = graph_of_tree(tree)
    number = {name: node for node, name in enumerate(tree.names)}
    shown = sorted(number[topic.name] for topic in every_topic(topics))
    kept = np.array([*range(tree.n_observed), *shown], np.int64)
    place = np.full(tree.n_nodes, -1, np.int64)
    place[kept] = np.arange(kept.size)
    parent = np.full(tree.n_nodes, -1, np.int64)
    for topic in every_topic(topics):
        parent[[number[child.name] for child in topic.children]] = number[topic.name]
    above = whole.parent[: tree.n_observed]
    while (hidden := (above >= 0) & (place[above] < 0)).any():
        above = np.where(hidden, whole.parent[above], above)
    parent[: tree.n_observed] = above
    strength = np.where(parent == whole.parent, whole.strength, 0.0)
    top = int(tree.level[kept].max())
    return Graph(
        tuple(tree.names[node] for node in kept),
        tuple(np.bincount(tree.level[kept], minlength=top + 1).tolist()),
        np.where(parent >= 0, place[parent], -1)[kept],
        strength[kept],
        whole.kind,
    )


def graph_of_wiring(wiring: Wiring, net: Any, per_unit: int = 40, per_node: int = 10) -> Graph:
    """The graph of a wiring; strengths are the weights of a network trained on it.

    Parameters
    ----------
    wiring : Wiring
    net : TSENet
    per_unit, per_node : int
        An added link is kept if it is among the ``per_unit`` strongest that lead down from its unit, or among the
        ``per_node`` strongest that lead up from its lower end.
    """
    start = np.concatenate([[0], np.cumsum(wiring.layer_sizes)]).astype(np.int64)
    parent = np.full(start[-1], -1, np.int64)
    strength = np.zeros(start[-1])
    below = np.zeros(start[-1], np.int64)
    above = np.zeros(start[-1], np.int64)
    kept: list[tuple[Ints, Ints, Floats]] = []
    weights = [_weights_by_unit(layer) for layer in net.layers]
    for k, layer in enumerate(wiring.layers):
        value = weights[k]
        upper = layer.upper_ends().astype(np.int64) + start[k + 1]
        lower = layer.indices.astype(np.int64) + start[k]
        tree = layer.from_tree
        parent[lower[tree]], strength[lower[tree]] = upper[tree], value[tree]
        upper, lower, value = upper[~tree], lower[~tree], value[~tree]
        below += np.bincount(upper, minlength=start[-1])
        above += np.bincount(lower, minlength=start[-1])
        strong = (place_by_strength(upper, value) < per_unit) | (
            place_by_strength(lower, value) < per_node
        )
        kept.append((upper[strong], lower[strong], value[strong]))
    upper, lower = (np.concatenate([part[i] for part in kept]) for i in (0, 1))
    value = np.concatenate([part[2] for part in kept])
    order = np.lexsort((lower, -np.abs(value), upper))
    names = tuple(name for layer in wiring.names for name in layer)
    return Graph(
        names,
        wiring.layer_sizes,
        parent,
        strength,
        "log-odds" if weights is None else "weight",
        AddedLinks(upper[order], lower[order], value[order], below, above),
    )


def place_by_strength(end: Ints, strength: Floats) -> Ints:
    """Place of each link among those with the same end, the strongest first: (E,); equals in the given order."""
    order = np.lexsort((-np.abs(strength), end))
    runs = end[order]
    first = np.searchsorted(runs, runs)  # where each link's run begins
    place = np.empty(end.size, np.int64)
    place[order] = np.arange(end.size) - first
    return place


def _weights_by_unit(layer: Any) -> Floats:
    """Weights of a sparse layer in the order of its wiring, latent by latent: (E,).

    Where latents have several units, a link is a block of weights: the largest in size stands for it.
    """
    weight = layer.weight.detach().cpu().numpy().astype(np.float64)
    link = layer.links.link_of_weight()
    order = np.lexsort((-np.abs(weight), link))
    _, first = np.unique(link[order], return_index=True)
    strongest: Floats = weight[order[first]]
    return strongest
