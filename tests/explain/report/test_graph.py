"""Nodes and links of the explorer, against loops over the tree and the wiring."""

from __future__ import annotations

import math

import numpy as np
import pytest

from tests.builders import random_tree
from tests.explain.report.corpus import classifier
from tests.network.wirings import random_wiring
from tsenet.expansion.wiring import Wiring, WiringLayer
from tsenet.explain.report.graph import (
    graph_of_tree,
    graph_of_wiring,
    place_by_strength,
)
from tsenet.network.tsenet import TSENet


def wiring_with_tree(seed: int) -> Wiring:
    """Random links, of which each lower unit calls its first one the tree's."""
    rng = np.random.default_rng(seed)
    made = random_wiring(rng, (12, 5, 3), 0.7)
    layers = []
    for layer in made.layers:
        first = np.zeros(layer.n_edges, bool)
        first[np.unique(layer.indices, return_index=True)[1]] = True
        layers.append(WiringLayer(layer.indptr, layer.indices, first, layer.n_lower))
    return Wiring(tuple(layers), made.names, made.link_rule)


class TestTree:
    def test_parents_lie_above_and_the_top_has_none(self) -> None:
        tree = random_tree(np.random.default_rng(1), (12, 4, 2), n_constant=1)
        found = graph_of_tree(tree)
        for node, above in enumerate(found.parent.tolist()):
            expected = tree.parent[node] if tree.level[node] < 2 else -1
            assert above == expected
        assert found.parent[11] == -1  # constant
        assert (found.names, found.layer_sizes) == (tree.names, (12, 4, 2))

    def test_strength_is_the_difference_of_log_odds(self) -> None:
        tree = random_tree(np.random.default_rng(2), (6, 2))
        found = graph_of_tree(tree)
        for node in range(6):
            off, on = tree.cpt[node, :, 1]
            expected = math.log(on / (1 - on)) - math.log(off / (1 - off))
            assert found.strength[node] == pytest.approx(expected)
        assert (found.strength[6:] == 0).all()
        assert found.kind == "log-odds"

    def test_certain_tables_have_finite_strength(self) -> None:
        tree = random_tree(np.random.default_rng(3), (20, 4), certain=1.0)
        assert np.isfinite(graph_of_tree(tree).strength).all()


class TestPlace:
    @pytest.mark.parametrize("seed", range(5))
    def test_agrees_with_sorting_each_group(self, seed: int) -> None:
        rng = np.random.default_rng(seed)
        end = rng.integers(4, size=30)
        strength = np.round(rng.normal(size=30), 1)  # with ties
        place = place_by_strength(end, strength)
        for group in range(4):
            members = np.flatnonzero(end == group).tolist()
            ranked = sorted(members, key=lambda k: (-abs(strength[k]), k))
            assert [place[k] for k in ranked] == list(range(len(members)))

    def test_no_links(self) -> None:
        assert place_by_strength(np.array([], np.int64), np.array([])).size == 0


class TestWiring:
    @pytest.mark.parametrize("seed", range(4))
    def test_agrees_with_a_loop_over_the_links(self, seed: int) -> None:
        wiring = wiring_with_tree(seed)
        net = TSENet(wiring, 2, seed=seed)
        weights = [layer.dense_weight().detach().numpy() for layer in net.layers]
        found = graph_of_wiring(wiring, net, per_unit=3, per_node=1)
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
            assert (found.parent[node], found.strength[node]) == tree.get(node, (-1, 0.0))
        kept = set()
        for side, most in ((0, 3), (1, 1)):
            for end in range(20):
                links = sorted((x for x in added if x[side] == end), key=lambda x: -abs(x[2]))
                kept |= set(links[:most])
        links = found.added
        assert links is not None
        shown = list(zip(links.unit, links.lower, links.strength, strict=True))
        assert {(int(u), int(v), float(s)) for u, v, s in shown} == kept
        assert len(kept) < len(added)  # some were left out
        assert shown == sorted(shown, key=lambda x: (x[0], -abs(x[2])))
        for node in range(20):
            assert links.n_below[node] == sum(x[0] == node for x in added)
            assert links.n_above[node] == sum(x[1] == node for x in added)

    def test_a_trained_network_lends_its_weights(self) -> None:
        model = classifier()
        found = graph_of_wiring(model.wiring_, model.net_, 10**6, 1)
        assert found.kind == "weight"
        sizes = np.cumsum((0, *model.wiring_.layer_sizes))
        dense = [layer.dense_weight().detach().numpy() for layer in model.net_.layers]
        for node in np.flatnonzero(found.parent >= 0):
            k = int(np.searchsorted(sizes, node, side="right")) - 1
            weight = dense[k][found.parent[node] - sizes[k + 1], node - sizes[k]]
            assert found.strength[node] == pytest.approx(weight)
        assert found.added is not None
        assert found.added.unit.size == int(
            sum((~layer.from_tree).sum() for layer in model.wiring_.layers)
        )
        for unit, node, strength in zip(
            found.added.unit, found.added.lower, found.added.strength, strict=True
        ):
            k = int(np.searchsorted(sizes, node, side="right")) - 1
            assert strength == pytest.approx(dense[k][unit - sizes[k + 1], node - sizes[k]])
