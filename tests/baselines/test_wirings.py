"""Wirings to compare with: random links, the bare tree."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

import tsenet
from tests.network.wirings import random_wiring as some_wiring
from tsenet import TSENetClassifier, Wiring
from tsenet.baselines import bare_tree, random_wiring

Floats = NDArray[np.float64]
QUICK: dict[str, Any] = {"random_state": 0, "max_epochs": 3, "skip_units": 5, "feature_units": 5}


@pytest.fixture(scope="module")
def learned(rows: Floats) -> Wiring:
    return tsenet.expand(tsenet.learn_tree(rows, max_top=2, random_state=0), rows, density=0.5)


def links_of(wiring: Wiring, layer: int = 0) -> set[tuple[int, int]]:
    links = wiring.layers[layer]
    return set(zip(links.upper_ends().tolist(), links.indices.tolist(), strict=True))


# ---- random


def test_random_links_keep_sizes_and_degrees() -> None:
    wiring = some_wiring(np.random.default_rng(1), (60, 20, 8), 0.3)
    drawn = random_wiring(wiring, 7)
    drawn.validate()
    assert (drawn.names, drawn.link_rule) == (wiring.names, "random")
    for old, new in zip(wiring.layers, drawn.layers, strict=True):
        assert np.array_equal(old.indptr, new.indptr)
        assert not new.from_tree.any()
    assert links_of(wiring) != links_of(drawn)
    assert random_wiring(wiring, 7) == drawn
    assert random_wiring(wiring, 8) != drawn


def test_every_lower_unit_is_drawn_equally_often() -> None:
    wiring = some_wiring(np.random.default_rng(1), (12, 30), 0.4)
    count = np.zeros(12)
    for seed in range(60):
        count += np.bincount(random_wiring(wiring, seed).layers[0].indices, minlength=12)
    expected = 60 * wiring.n_edges / 12
    assert np.abs(count / expected - 1).max() < 0.15


def test_a_network_with_random_links(learned: Wiring, rows: Floats, kinds: NDArray[Any]) -> None:
    model = TSENetClassifier(**QUICK, wiring=random_wiring(learned, 0)).fit(rows, kinds)
    plain = TSENetClassifier(**QUICK, wiring=learned).fit(rows, kinds)
    assert model.n_parameters_ == plain.n_parameters_


# ---- tree


def test_the_bare_tree_is_that_of_expand(learned: Wiring, rows: Floats) -> None:
    tree = tsenet.learn_tree(rows, max_top=2, random_state=0)
    assert bare_tree(learned) == tsenet.expand(tree, rows, link_rule="tree")
    assert bare_tree(learned).n_edges < learned.n_edges
    assert bare_tree(bare_tree(learned)) == bare_tree(learned)


def test_a_wiring_without_a_tree_has_no_bare_one(learned: Wiring) -> None:
    with pytest.raises(ValueError, match="layer 1 of the wiring has no link of a tree"):
        bare_tree(random_wiring(learned, 0))
