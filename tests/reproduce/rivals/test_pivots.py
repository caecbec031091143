"""Wirings around words drawn at random, against their definition."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from numpy.typing import NDArray

from reproduce.rivals import pivot_wiring
from tsenet import BinaryRule, DataError, Table, TSENetClassifier, Wiring

Floats = NDArray[np.float64]
QUICK: dict[str, Any] = {"random_state": 0, "max_epochs": 3, "skip_units": 5, "feature_units": 5}


def links_of(wiring: Wiring) -> set[tuple[int, int]]:
    links = wiring.layers[0]
    return set(zip(links.upper_ends().tolist(), links.indices.tolist(), strict=True))


def lifts(on: NDArray[np.bool_], smoothing: float) -> Floats:
    """Smoothed log-lift of all pairs of columns, by definition."""
    n_rows, n_columns = on.shape
    answer = np.empty((n_columns, n_columns))
    for i in range(n_columns):
        for j in range(n_columns):
            both = (on[:, i] & on[:, j]).sum()
            expected = on[:, i].sum() * on[:, j].sum() / n_rows
            answer[i, j] = np.log((both + smoothing) / (expected + smoothing))
    return answer


@pytest.mark.parametrize("form", [sp.csr_array, np.asarray])
@pytest.mark.parametrize("links_per_word", [1, 3, 50])
def test_pivot_words_against_brute_force(
    form: Any, links_per_word: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("reproduce.rivals.pivots._WORDS", 7)  # several blocks of words
    rng = np.random.default_rng(2)
    on = rng.random((80, 30)) < rng.uniform(0.01, 0.6, 30)
    on[:, 4] = False  # a word nobody uses
    on[:, 5] = True  # and one everybody does
    table = Table.of(form(on * 2.5))
    on = BinaryRule.learn(table).apply(table).to_dense()  # a dense constant column is off
    wiring = pivot_wiring(table, 6, links_per_word, 3, min_count=4, smoothing=0.7)
    wiring.validate()
    assert wiring.layer_sizes == (30, 6)
    assert wiring.link_rule == "pivot"
    layer = wiring.layers[0]
    pivots = [wiring.names[0].index(name.removeprefix("pivot ")) for name in wiring.names[1]]
    count = on.sum(axis=0)
    assert pivots == sorted(set(pivots))
    assert (count[pivots] >= 4).all()
    assert 5 not in pivots
    lift = lifts(on, 0.7)
    for word in range(30):
        meets = [u for u, j in enumerate(pivots) if (on[:, word] & on[:, j]).any()]
        best = sorted(meets, key=lambda u: (-lift[word, pivots[u]], u))[:links_per_word]
        mine = {u for u, j in links_of(wiring) if j == word}
        assert mine == set(best), word
    assert not layer.from_tree.any()
    assert {(u, j) for u, j in enumerate(pivots)} <= links_of(wiring)  # each with its own unit


def test_pivots_are_drawn_alike() -> None:
    rng = np.random.default_rng(0)
    rows = sp.csr_array((rng.random((200, 20)) < np.linspace(0.1, 0.9, 20)).astype(float))
    drawn = [pivot_wiring(rows, 5, 2, seed).names[1] for seed in range(200)]
    share = np.array([sum(f"pivot x{j}" in names for names in drawn) for j in range(20)]) / 200
    assert np.abs(share - 0.25).max() < 0.12
    assert pivot_wiring(rows, 5, 2, 3) == pivot_wiring(rows, 5, 2, 3)


def test_a_network_of_pivot_words(rows: Floats, classes: NDArray[Any]) -> None:
    for form in (sp.csr_array(rows), pd.DataFrame(rows, columns=[f"w{j}" for j in range(12)])):
        wiring = pivot_wiring(form, 6, 3, 0)
        options = {**QUICK, "max_epochs": 40, "learning_rate": 1e-2}
        model = TSENetClassifier(**options, wiring=wiring).fit(form, classes)
        assert model.wiring_ is wiring
        assert model.score(form, classes) > 0.8


def test_wrong_wishes_are_refused(rows: Floats) -> None:
    with pytest.raises(DataError, match="13 pivots are wanted, but only 12 columns"):
        pivot_wiring(rows, 13, 2)
    with pytest.raises(DataError, match="min_count"):
        pivot_wiring(rows, 12, 2, min_count=300)
    for wrong in ((0, 1, 0.5), (1, 0, 0.5), (1, 1, 0.0)):
        with pytest.raises(ValueError, match="at least 1"):
            pivot_wiring(rows, *wrong[:2], smoothing=wrong[2])
