"""Control wirings keep what they promise to keep and change the rest."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp

import tsenet
from reproduce.wirings import CONTROLS, pivot_wiring, random_wiring, shuffled_wiring


@pytest.fixture(scope="module")
def rows() -> sp.csr_array:
    rng = np.random.default_rng(0)
    groups = rng.random((400, 8)) < 0.3
    words = np.repeat(groups, 5, axis=1) & (rng.random((400, 40)) < 0.8)
    return sp.csr_array((words | (rng.random((400, 40)) < 0.05)).astype(np.float32))


@pytest.fixture(scope="module")
def wiring(rows: sp.csr_array) -> tsenet.Wiring:
    tree = tsenet.learn_tree(rows, max_top=3, random_state=0)
    return tsenet.expand(tree, rows, density=0.3, random_state=0)


def links(wiring: tsenet.Wiring, layer: int = 0) -> set[tuple[int, int]]:
    one = wiring.layers[layer]
    units = np.repeat(np.arange(one.n_upper), np.diff(one.indptr))
    return set(zip(units.tolist(), one.indices.tolist(), strict=True))


def test_random_links_keep_the_number_of_each_unit(wiring: tsenet.Wiring) -> None:
    drawn = random_wiring(wiring, None, seed=1)
    for before, after in zip(wiring.layers, drawn.layers, strict=True):
        assert np.array_equal(before.indptr, after.indptr)
    assert len(links(drawn)) == wiring.layers[0].n_edges
    assert links(drawn) != links(wiring)
    assert links(random_wiring(wiring, None, seed=1)) == links(drawn)


def test_shuffled_links_also_keep_the_number_of_each_column(wiring: tsenet.Wiring) -> None:
    shuffled = shuffled_wiring(wiring, None, seed=1)
    for before, after in zip(wiring.layers, shuffled.layers, strict=True):
        assert np.array_equal(before.indptr, after.indptr)
        assert np.array_equal(
            np.bincount(before.indices, minlength=before.n_lower),
            np.bincount(after.indices, minlength=before.n_lower),
        )
    shared = len(links(shuffled) & links(wiring)) / len(links(wiring))
    assert shared < 0.6


@pytest.mark.parametrize("name", CONTROLS)
def test_every_control_trains(name: str, wiring: tsenet.Wiring, rows: sp.csr_array) -> None:
    changed = CONTROLS[name](wiring, rows, 0)
    y = np.asarray(rows[:, [0]].todense()).ravel()
    model = tsenet.TSENetClassifier(wiring=changed, max_epochs=2, random_state=0).fit(rows, y)
    assert model.score(rows, y) > 0.7


def test_pivot_links_follow_lift(wiring: tsenet.Wiring, rows: sp.csr_array) -> None:
    changed = pivot_wiring(wiring, rows, seed=0)
    present = rows.toarray() > 0
    n_links = round(wiring.layers[0].n_edges / 40)
    pivots = np.sort(np.random.default_rng(0).choice(40, changed.layers[0].n_upper, replace=False))
    count = present.sum(axis=0)
    lift = np.array(
        [
            [
                np.log(
                    ((present[:, i] & present[:, j]).sum() + 0.5)
                    / (count[i] * count[j] / 400 + 0.5)
                )
                for j in pivots
            ]
            for i in range(40)
        ]
    )
    for word in range(40):
        linked = sorted(unit for unit, column in links(changed) if column == word)
        best = np.sort(lift[word])[::-1][:n_links]
        assert np.allclose(np.sort(lift[word, linked])[::-1], best)
