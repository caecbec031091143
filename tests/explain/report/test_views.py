"""Nodes and links of the page against loops over the tree and the network."""

from __future__ import annotations

import math

import numpy as np
import pytest

from tests.builders import random_tree
from tests.network.wirings import random_wiring
from tsenet.expansion.wiring import Wiring, WiringLayer
from tsenet.explain import topic_tree
from tsenet.explain.report.views import graph_of_topics, graph_of_wiring
from tsenet.network.tsenet import TSENet
from tsenet.topics.describe import describe_tree


class TestTree:
    def test_strength_is_the_difference_of_log_odds(self) -> None:
        tree = random_tree(np.random.default_rng(2), (6, 2))
        graph = graph_of_topics(describe_tree(tree), topic_tree(tree))
        for node in range(6):
            off, on = tree.cpt[node, :, 1]
            expected = math.log(on / (1 - on)) - math.log(off / (1 - off))
            assert graph.strength[node] == pytest.approx(expected)
        assert (graph.strength[6:] == 0).all()


def wiring_with_tree(seed: int) -> Wiring:
    """Random links, of which each lower unit calls its first one the tree's."""
    made = random_wiring(np.random.default_rng(seed), (60, 14, 3), 0.9)
    layers = []
    for layer in made.layers:
        first = np.zeros(layer.n_edges, bool)
        first[np.unique(layer.indices, return_index=True)[1]] = True
        layers.append(WiringLayer(layer.indptr, layer.indices, first, layer.n_lower))
    return Wiring(tuple(layers), made.names, made.link_rule)


@pytest.mark.parametrize("seed", range(2))
def test_links_of_a_network_agree_with_a_loop(seed: int) -> None:
    wiring = wiring_with_tree(seed)
    net = TSENet(wiring, 2, seed=seed)
    weights = [layer.dense_weight().detach().numpy() for layer in net.layers]
    graph = graph_of_wiring(wiring, net)
    start = [0, 60, 74]
    tree: dict[int, tuple[int, float]] = {}
    added: list[tuple[int, int, float]] = []
    for k, layer in enumerate(wiring.layers):
        for unit in range(layer.n_upper):
            for e in range(layer.indptr[unit], layer.indptr[unit + 1]):
                upper, lower = start[k + 1] + unit, start[k] + int(layer.indices[e])
                weight = float(weights[k][unit, layer.indices[e]])
                if layer.from_tree[e]:
                    tree[lower] = (upper, weight)
                else:
                    added.append((upper, lower, weight))
    for node in range(77):
        assert (graph.parent[node], graph.strength[node]) == tree.get(node, (-1, 0.0))
    kept = set()
    for side, most in ((0, 40), (1, 10)):
        for end in range(77):
            links = sorted((x for x in added if x[side] == end), key=lambda x: -abs(x[2]))
            kept |= set(links[:most])
    assert len(kept) < len(added)  # some were left out
    view = graph.links
    assert view is not None
    for unit, flat in enumerate(view["of"], start=60):
        expected = sorted((x for x in kept if x[0] == unit), key=lambda x: -abs(x[2]))
        assert flat[::2] == [lower for _, lower, _ in expected]
        assert flat[1::2] == pytest.approx([weight for *_, weight in expected], rel=5e-3)
        assert view["nBelow"][unit - 60] == sum(x[0] == unit for x in added)
    assert view["nAbove"] == [sum(x[1] == node for x in added) for node in range(77)]
