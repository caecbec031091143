"""Nodes and links of the page against loops over the tree and the network; which topics it puts first."""

from __future__ import annotations

import math

import numpy as np
import pytest

from tests.builders import random_tree
from tests.explain.report import newswire
from tests.network.wirings import random_wiring
from tsenet.expansion.wiring import Wiring, WiringLayer
from tsenet.explain import Topic, TopicWord, topic_tree
from tsenet.explain.report import report_payload
from tsenet.explain.report.views import gain, graph_of_tree, graph_of_wiring, interest, label_of
from tsenet.network.tsenet import TSENet


class TestTree:
    def test_parents_are_above_and_the_top_has_none(self) -> None:
        tree = random_tree(np.random.default_rng(1), (12, 4, 2), n_constant=1)
        graph = graph_of_tree(tree)
        for node, above in enumerate(graph.parent.tolist()):
            assert above == (tree.parent[node] if tree.level[node] < 2 else -1)
        assert graph.parent[11] == -1  # constant
        assert (graph.names, graph.layer_sizes) == (tree.names, (12, 4, 2))

    def test_strength_is_the_difference_of_log_odds(self) -> None:
        tree = random_tree(np.random.default_rng(2), (6, 2))
        graph = graph_of_tree(tree)
        for node in range(6):
            off, on = tree.cpt[node, :, 1]
            expected = math.log(on / (1 - on)) - math.log(off / (1 - off))
            assert graph.strength[node] == pytest.approx(expected)
        assert (graph.strength[6:] == 0).all()

    def test_certain_tables_have_finite_strength(self) -> None:
        tree = random_tree(np.random.default_rng(3), (20, 4), certain=1.0)
        assert np.isfinite(graph_of_tree(tree).strength).all()


def wiring_with_tree(seed: int) -> Wiring:
    """Random links, of which each lower unit calls its first one the tree's."""
    made = random_wiring(np.random.default_rng(seed), (12, 5, 3), 0.7)
    layers = []
    for layer in made.layers:
        first = np.zeros(layer.n_edges, bool)
        first[np.unique(layer.indices, return_index=True)[1]] = True
        layers.append(WiringLayer(layer.indptr, layer.indices, first, layer.n_lower))
    return Wiring(tuple(layers), made.names, made.link_rule)


@pytest.mark.parametrize("seed", range(3))
def test_links_of_a_network_agree_with_a_loop(seed: int) -> None:
    wiring = wiring_with_tree(seed)
    net = TSENet(wiring, 2, seed=seed)
    weights = [layer.dense_weight().detach().numpy() for layer in net.layers]
    graph = graph_of_wiring(wiring, net, per_unit=3, per_node=1)
    start = [0, 12, 17]
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
    for node in range(20):
        assert (graph.parent[node], graph.strength[node]) == tree.get(node, (-1, 0.0))
    kept = set()
    for side, most in ((0, 3), (1, 1)):
        for end in range(20):
            links = sorted((x for x in added if x[side] == end), key=lambda x: -abs(x[2]))
            kept |= set(links[:most])
    assert len(kept) < len(added)  # some were left out
    view = graph.links
    assert view is not None
    for unit, flat in enumerate(view["of"], start=12):
        expected = sorted((x for x in kept if x[0] == unit), key=lambda x: -abs(x[2]))
        assert flat[::2] == [lower for _, lower, _ in expected]
        assert flat[1::2] == pytest.approx([weight for *_, weight in expected], rel=5e-3)
        assert view["nBelow"][unit - 12] == sum(x[0] == unit for x in added)
    assert view["nAbove"] == [sum(x[1] == node for x in added) for node in range(20)]


SAID = TopicWord("said", information=0.3, inside=0.95, outside=0.35)
OIL = TopicWord("oil", information=0.05, inside=0.5, outside=0.01)


def topic(words: tuple[TopicWord, ...], size: float) -> Topic:
    return Topic("Z1.0", 1, "", size, words)


class TestInterest:
    def test_it_weighs_words_and_size(self) -> None:
        assert gain(SAID, 0.75) < 0.3 < gain(OIL, 0.1)  # a common word gains less
        assert interest(topic((OIL,), 0.1)) > interest(topic((SAID,), 0.75))
        assert interest(topic((OIL,), 0.1)) > interest(topic((OIL,), 0.0005))  # hardly ever on
        assert interest(topic((), 0.1)) == interest(topic((OIL,), 1.0)) == 0.0

    def test_a_label_takes_from_each_subtopic_before_it_takes_twice(self) -> None:
        inside = {"a": 0.6, "b": 0.5, "c": 0.4}
        made = topic(tuple(TopicWord(name, 0.1, p, 0.01) for name, p in inside.items()), 0.2)
        assert label_of(made, {"a": "x", "b": "x", "c": "y"}) == "a, c, b"
        assert label_of(made, {}) == "a, b, c"
        assert label_of(topic((), 0.2), {}) == ""

    def test_newswire_opens_on_other_topics_than_said(self) -> None:
        """By size and information "said" comes first in this corpus, on every level."""
        first = topic_tree(newswire.tree())[0]
        assert first.words[0].word == first.children[0].words[0].word == "said"
        payload = report_payload(newswire.tree(), titles={"Z3.1": "Energy"})
        units, n_top = payload["units"], payload["layers"][-1]
        top = sorted(zip(units["interest"][-n_top:], units["label"][-n_top:], strict=True))
        assert top[0][1].startswith("said")  # the least interesting
        assert not any("said" in label for _, label in top[1:])
        labels = units["label"][-n_top:]
        assert labels[1] == "Energy"
        assert labels[3] == "wheat, coffee, cattle"  # one word from each subject
