"""What the page draws and lists: nodes and links, labels and features of units, effects on classes.

Nodes are numbered layer by layer, inputs first, so that a list with one entry per *unit* starts after the inputs. Lists
of pairs are flat, ``[node, value, node, value, …]``: a page holds thousands of them.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from tsenet.data.ranks import ranks_in_groups
from tsenet.explain.affine import strongest
from tsenet.topics.topic import Topic, every_topic

if TYPE_CHECKING:
    from tsenet.expansion.wiring import Wiring
    from tsenet.explain.units import Unit
    from tsenet.topics.describe import TopicDescription

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
View = dict[str, Any]

# Added links that are kept: the strongest below each unit, and above each node.
_LINKS_PER_UNIT = 40
_LINKS_PER_NODE = 10
# Effects that are kept: for each unit on this many classes, for each class of this many units and inputs.
_CLASSES_PER_UNIT = 8
_UNITS_PER_CLASS = 60
_INPUTS_PER_CLASS = 40


def short(values: Iterable[float]) -> list[float]:
    """Round to three significant digits, which keeps the page small."""
    return [float(f"{value:.3g}") for value in np.asarray(values, np.float64).tolist()]


# ---- nodes and links


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
    links : dict or None
        Links that expansion added: ``of`` has flat pairs of lower node and strength for each unit, strongest first and
        without the weakest of many; ``nBelow`` how many there are below each unit, ``nAbove`` above each node,
        ``perUnit`` and ``perNode`` how many are kept. None for a tree.
    """

    names: tuple[str, ...]
    layer_sizes: tuple[int, ...]
    parent: Ints
    strength: Floats
    kind: str
    links: View | None = None

    @property
    def n_inputs(self) -> int:
        """Number of nodes of the lowest layer."""
        return self.layer_sizes[0]


def graph_of_topics(described: TopicDescription, topics: Sequence[Topic]) -> Graph:
    """The graph of topics, nested as given, and of all words.

    A word is below the lowest topic shown of those that it belongs to; without any, below a topic that it describes.
    The link of a node to a parent that is not its own has no strength.
    """
    # All words and topics are nodes first; those that are not shown are left out in the end.
    n_words = len(described.vocabulary)
    names = [*described.vocabulary, *described.ids]
    number = {name: node for node, name in enumerate(names)}
    own_parent = np.concatenate([described.member_of, described.parent])  # (M,)
    own_parent = np.where(own_parent >= 0, own_parent + n_words, -1)

    is_shown = np.arange(len(names)) < n_words
    is_shown[[number[topic.name] for topic in every_topic(topics)]] = True

    # A word goes up from the topic it belongs to until it meets one that is shown.
    above = own_parent[:n_words]
    while (hidden := (above >= 0) & ~is_shown[above]).any():
        above = np.where(hidden, own_parent[above], above)
    parent = np.full(len(names), -1, np.int64)
    parent[:n_words] = above

    for topic in every_topic(topics):
        children = [number[child.name] for child in topic.children]
        parent[children] = number[topic.name]
        words = np.array([number[word.word] for word in topic.words], np.int64)
        parent[words[parent[words] < 0]] = number[topic.name]

    has_own_parent = (parent >= 0) & (parent == own_parent)
    strength = np.where(has_own_parent, described.tie, 0.0)
    level = np.concatenate([np.zeros(n_words, np.int64), described.level])

    # The shown nodes are numbered anew.
    shown = np.flatnonzero(is_shown)
    new_number = np.cumsum(is_shown) - 1
    parent = np.where(parent >= 0, new_number[parent], -1)
    return Graph(
        names=tuple(names[node] for node in shown),
        layer_sizes=tuple(np.bincount(level[shown]).tolist()),
        parent=parent[shown],
        strength=strength[shown],
        kind="log-odds",
    )


def graph_of_wiring(wiring: Wiring, net: Any) -> Graph:
    """The graph of a network: its wiring, and its weights as strengths.

    An added link is kept if it is among the 40 strongest below its unit, or the 10 strongest above its lower end.
    """
    start = np.concatenate([[0], np.cumsum(wiring.layer_sizes)]).astype(np.int64)
    n_nodes = int(start[-1])
    n_inputs = wiring.layer_sizes[0]

    # Links of the tree are those to parents; the others were added.
    parent = np.full(n_nodes, -1, np.int64)
    strength = np.zeros(n_nodes)
    added = []
    for k, (layer, sparse) in enumerate(zip(wiring.layers, net.layers, strict=True)):
        value = _link_strengths(sparse)  # (E,)
        upper = layer.upper_ends().astype(np.int64) + start[k + 1]
        lower = layer.indices.astype(np.int64) + start[k]
        tree = layer.from_tree
        parent[lower[tree]] = upper[tree]
        strength[lower[tree]] = value[tree]
        added.append((upper[~tree], lower[~tree], value[~tree]))

    upper, lower, value = (np.concatenate(part) for part in zip(*added, strict=True))
    kept = _strongest_pairs(upper, lower, value, (_LINKS_PER_UNIT, _LINKS_PER_NODE), n_nodes)
    links = {
        "perUnit": _LINKS_PER_UNIT,
        "perNode": _LINKS_PER_NODE,
        "of": kept[n_inputs:],
        "nBelow": np.bincount(upper, minlength=n_nodes)[n_inputs:].tolist(),
        "nAbove": np.bincount(lower, minlength=n_nodes).tolist(),
    }
    names = tuple(name for layer in wiring.names for name in layer)
    return Graph(names, wiring.layer_sizes, parent, strength, "weight", links)


def _strongest_pairs(
    first: Ints, second: Ints, value: Floats, most: tuple[int, int], n_first: int
) -> list[list[float]]:
    """For each first end flat pairs of second end and value, strongest first.

    A pair is kept if it is among the ``most[0]`` strongest of its first end, or the ``most[1]`` of its second.
    """
    size = np.abs(value)
    is_kept = ranks_in_groups(first, size) < most[0]
    is_kept |= ranks_in_groups(second, size) < most[1]

    order = np.lexsort((second, -size, first))
    order = order[is_kept[order]]
    of: list[list[float]] = [[] for _ in range(n_first)]
    kept = zip(first[order].tolist(), second[order].tolist(), short(value[order]), strict=True)
    for one, other, shown in kept:
        of[one] += [other, shown]
    return of


def _link_strengths(layer: Any) -> Floats:
    """Weights of a sparse layer in the order of its wiring, latent by latent: (E,).

    Where latents have several units, a link is a block of weights, represented by the largest in size.
    """
    weight = layer.weight.detach().cpu().numpy().astype(np.float64)
    link = layer.links.link_of_weight()

    # The first weight of each link, when each link's largest comes first.
    order = np.lexsort((-np.abs(weight), link))
    _, first = np.unique(link[order], return_index=True)
    strengths: Floats = weight[order[first]]
    return strengths


# ---- units of a tree or a wiring: label, share, interest, and flat features


def topic_units(
    described: TopicDescription, topics: Sequence[Topic], ids: Sequence[str], n_features: int
) -> View:
    """Some topics: their words, mutual information, and shares with and without the topic."""
    number = {word: node for node, word in enumerate(described.vocabulary)}
    by_name = {topic.name: topic for topic in every_topic(topics)}
    shown = [by_name[name] for name in ids]

    coherence: list[float | None] = []
    if any(topic.coherence is not None for topic in shown):
        coherence = [topic.coherence and round(topic.coherence, 3) for topic in shown]

    features = []
    for topic in shown:
        words = topic.words[:n_features]
        features.append(
            flat((number[word.word], word.information, word.inside, word.outside) for word in words)
        )

    return {
        "label": [topic.title for topic in shown],
        "share": short([topic.size for topic in shown]),
        "coherence": coherence,
        "kinship": [],
        "fields": ["information", "inside", "outside"],
        "features": features,
    }


def kinship_shown(graph: Graph, described: TopicDescription, kinship: Floats) -> list[float | None]:
    """Kinship (L,) of each topic of the graph with its parent; None without one, or below one that is not its own."""
    column = {name: k for k, name in enumerate(described.ids)}
    shown: list[float | None] = []
    for node in range(graph.n_inputs, len(graph.names)):
        topic = column[graph.names[node]]
        own_parent = described.parent[topic]
        above = graph.parent[node]
        if above >= 0 and own_parent >= 0 and graph.names[above] == described.ids[own_parent]:
            shown += short([kinship[topic]])
        else:
            shown.append(None)
    return shown


def flat(entries: Iterable[Sequence[Any]]) -> list[Any]:
    """Numbers, each followed by its values, one after the other; values are shortened, and None stays."""
    cells: list[Any] = []
    for number, *values in entries:
        cells.append(number)
        cells += [None if value is None else short([value])[0] for value in values]
    return cells


# ---- units of a trained network


def trained_units(units: Sequence[Unit], graph: Graph) -> tuple[View, list[list[float]]]:
    """Units as the rows activate them, which may differ from the tree, and flat pairs of row and activation of each.

    Features are flat triples of node, correlation and weight (None without a link).
    """
    number = {name: node for node, name in enumerate(graph.names[: graph.n_inputs])}
    features = [
        flat((number[name], correlation, weight) for name, correlation, weight in unit.features)
        for unit in units
    ]
    view = {
        "label": [unit.label for unit in units],
        "active": short([unit.active for unit in units]),
        "mean": short([unit.mean for unit in units]),
        "features": features,
    }
    return view, [flat(unit.rows) for unit in units]


def class_view(
    latents: Sequence[Unit], direct: Floats | None, layer_sizes: Sequence[int], two: bool
) -> View:
    """Effects on the classes, only the strongest.

    ``totals`` tells how much is left out: for each class, and in it for the inputs and each level, the number of
    effects above 0, their sum, the number below 0, and the sum of their sizes.

    Parameters
    ----------
    latents : sequence of Unit
        The latents with their effects on the outputs.
    direct : (D, C), optional
        Effects of the inputs by the linear skip.
    layer_sizes : sequence of int
        Inputs first.
    two : bool
        Whether the one output is the log-odds of the second of two classes: an effect on one class is the opposite of
        that on the other.
    """
    latent = np.array([unit.classes for unit in latents], np.float64)  # (U, C)
    skip = np.empty((0, latent.shape[1])) if direct is None else direct  # (D, C)
    if two:
        latent = np.concatenate([-latent, latent], axis=1)
        skip = np.concatenate([-skip, skip], axis=1)

    levels = np.split(latent, np.cumsum(layer_sizes[1:-1]))
    totals = [_totals(effect) for effect in (skip, *levels)]

    unit, column = np.nonzero(latent)
    most = (_CLASSES_PER_UNIT, _UNITS_PER_CLASS)
    strongest_inputs = None
    if direct is not None:
        strongest_inputs = [
            flat((k, effect[k]) for k in strongest(effect)[:_INPUTS_PER_CLASS]) for effect in skip.T
        ]

    return {
        "perUnit": _CLASSES_PER_UNIT,
        "perClass": _UNITS_PER_CLASS,
        "of": _strongest_pairs(unit, column, latent[unit, column], most, len(latent)),
        "direct": strongest_inputs,
        "totals": [list(of_class) for of_class in zip(*totals, strict=True)],
    }


def _totals(effect: Floats) -> list[list[float]]:
    """For each class: number and sum of the effects above 0, and of those below."""
    totals: list[list[float]] = []
    for of_class in effect.T:
        above = np.maximum(of_class, 0)
        below = np.maximum(-of_class, 0)
        total_above, total_below = short([above.sum(), below.sum()])
        totals.append(
            [
                int(np.count_nonzero(above)),
                total_above,
                int(np.count_nonzero(below)),
                total_below,
            ]
        )
    return totals
