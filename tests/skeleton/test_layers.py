"""One layer of latents: what its last step leaves behind, and ties between latents."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy.sparse import csr_array

from tests.skeleton.learning import learn
from tsenet._system.threads import Workers
from tsenet.data.rows import BinaryRows
from tsenet.skeleton import hlta, layers
from tsenet.skeleton.completion import Layer, complete
from tsenet.skeleton.information import PairCounter
from tsenet.skeleton.islands import IslandOptions
from tsenet.skeleton.kernels.completion_kernels import best_latents
from tsenet.skeleton.kernels.pair_kernels import Csr


@pytest.mark.parametrize("seed", [154, 323])
def test_posteriors_are_those_of_the_layer_after_its_last_change(
    seed: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """In these rows the last step dissolves a group of one variable; the posteriors must follow."""
    rng = np.random.default_rng(seed)
    n_rows, n_columns = int(rng.integers(100, 400)), int(rng.integers(8, 30))
    causes, links = rng.random((n_rows, 4)) < 0.4, rng.random((4, n_columns)) < 0.35
    X = ((causes @ links) > 0) ^ (rng.random((n_rows, n_columns)) < 0.2)
    changes, checked = [], []
    reassign, learn_layer = layers._reassign, layers.learn_layer

    def watched_reassign(layer: Any, *arguments: Any, **options: Any) -> Any:
        found = reassign(layer, *arguments, **options)
        if options.get("only_alone"):
            changes.append(not np.array_equal(found[0].latent_of, layer.latent_of))
        return found

    def checked_layer(rows: Any, *arguments: Any, **options: Any) -> Any:
        found = learn_layer(rows, *arguments, **options)
        if found is not None:
            layer, soft = found
            again = complete(rows, layer, Workers(1))
            for part in ("indptr", "latent", "logodds", "base"):
                np.testing.assert_array_equal(getattr(soft, part), getattr(again, part))
            checked.append(layer)
        return found

    monkeypatch.setattr(layers, "_reassign", watched_reassign)
    monkeypatch.setattr(hlta, "learn_layer", checked_layer)
    learn(X.astype(float), max_top=10)
    assert checked
    assert any(changes)


@pytest.mark.parametrize("first_met", [0, 1])
def test_of_two_equal_latents_the_first_is_taken(first_met: int) -> None:
    """Both are on in two of four rows and once together with the variable, whichever is met first."""
    rows_of_latent = [[0, 2], [1, 3]] if first_met == 0 else [[1, 3], [0, 2]]
    by_row = sorted((row, z) for z, rows in enumerate(rows_of_latent) for row in rows)
    completed = Csr(np.arange(5), np.array([z for _, z in by_row], np.int32))
    columns = Csr(
        np.array([0, 2]), np.array([0, 1], np.int32)
    )  # the variable is on in rows 0 and 1
    n = np.arange(5.0)
    best, joint = np.empty(1, np.int32), np.empty(1, np.int64)
    best_latents(
        0,
        1,
        np.array([0], np.int32),
        columns,
        completed,
        np.array([2, 2]),
        np.array([-1], np.int32),
        n * np.log(np.maximum(n, 1.0)),
        best,
        joint,
    )
    assert (best[0], joint[0]) == (0, 1)


def test_best_latents_have_the_most_information() -> None:
    """Against contingency tables; whatever share of the rows a variable is on in."""
    rng = np.random.default_rng(0)
    states = rng.random((60, 4)) < [0.1, 0.3, 0.6, 0.9]
    X = rng.random((60, 6)) < np.where(states[:, [0, 1, 2, 3, 1, 2]], 0.8, 0.3)
    by_row, columns = rows_of(states), rows_of(X).transpose()
    n = np.arange(61.0)
    best, joint = np.empty(6, np.int32), np.empty(6, np.int64)
    best_latents(
        *(0, 6, np.arange(6, dtype=np.int32), Csr(columns.indptr, columns.indices)),
        *(Csr(by_row.indptr, by_row.indices), states.sum(axis=0), np.full(6, -1, np.int32)),
        *(n * np.log(np.maximum(n, 1.0)), best, joint),
    )
    for v in range(6):
        together = (X[:, [v]] & states).sum(axis=0)
        found = [information(X[:, v], states[:, z]) if together[z] else -1.0 for z in range(4)]
        assert best[v] == np.argmax(found)
        assert joint[v] == together[best[v]]


def test_gains_are_mutual_information() -> None:
    rng = np.random.default_rng(1)
    X, z = rng.random((50, 5)) < [0.1, 0.3, 0.5, 0.7, 0.9], rng.random(50) < 0.4
    counter = PairCounter(rows_of(X))
    joint, on = (X & z[:, None]).sum(axis=0), np.full(5, z.sum())
    gains = layers._gains(counter, np.arange(5, dtype=np.int32), joint, on)
    np.testing.assert_allclose(gains, [50 * information(X[:, v], z) for v in range(5)], atol=1e-12)


def test_states_are_swapped_where_a_group_is_rarer_when_on() -> None:
    layer = Layer(
        np.array([0, 0, 1, -1], np.int32),
        np.array([0.3, 0.2]),
        np.array([[0.8, 0.1], [0.3, 0.4], [0.1, 0.9], [0.5, 0.2]]),
    )
    found = layers._order_layer_states(layer)
    np.testing.assert_allclose(found.prior, [0.7, 0.2])
    expected = [[0.1, 0.8], [0.4, 0.3], [0.1, 0.9], [0.5, 0.2]]
    np.testing.assert_allclose(found.table, expected)


def test_variables_without_a_tie_fill_the_most_frequent_latents_with_room() -> None:
    """Three variables that meet no latent; the most frequent latent has room for two."""
    states = np.zeros((8, 2), bool)
    states[:4, 0], states[4:6, 1] = True, True
    X = np.zeros((8, 6), bool)
    X[:4, 0], X[4:6, 1], X[4:6, 2], X[6:, 3:] = True, True, True, True
    layer = Layer(
        np.array([0, 1, 1, -1, -1, -1], np.int32), np.array([0.5, 0.25]), np.full((6, 2), 0.5)
    )
    found = layers._attach_bounded(
        *(layer, np.array([3, 4, 5], np.int32), rows_of(states), PairCounter(rows_of(X))),
        *(IslandOptions(max_island=3), Workers(1)),
        may_leave=False,
    )
    assert found.latent_of.tolist() == [0, 1, 1, 0, 0, 1]


def rows_of(dense: Any) -> BinaryRows:
    found = csr_array(dense.astype(np.int8))
    return BinaryRows(found.indptr.astype(np.int64), found.indices.astype(np.int32), dense.shape[1])


def information(a: Any, b: Any) -> float:
    """Mutual information in nats of two binary columns."""
    total = 0.0
    for x in (False, True):
        for y in (False, True):
            p = ((a == x) & (b == y)).mean()
            if p:
                total += p * np.log(p / ((a == x).mean() * (b == y).mean()))
    return total
