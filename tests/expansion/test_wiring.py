"""Wiring: refuses broken patterns, compares and describes itself."""

from __future__ import annotations

import numpy as np
import pytest

from tsenet.expansion.wiring import Wiring, WiringLayer

GOOD = {
    "indptr": [0, 2, 3],
    "indices": [0, 2, 1],
    "from_tree": [True, False, True],
    "n_lower": 3,
}
NAMES = (("a", "b", "c"), ("Z1.0", "Z1.1"))


def wiring(**changes: object) -> Wiring:
    return Wiring((WiringLayer(**{**GOOD, **changes}),), NAMES, "balanced")


def test_describes_itself() -> None:
    good = wiring()
    assert good.layer_sizes == (3, 2)
    assert good.n_edges == 3
    assert repr(good) == "Wiring(3-2, 3 links, density 50 %, link_rule 'balanced')"
    assert repr(good.layers[0]) == "WiringLayer(3→2, 3 links, 1 added, density 50 %)"
    assert good.layers[0].upper_ends().tolist() == [0, 0, 1]


def test_is_frozen() -> None:
    with pytest.raises(ValueError, match="read-only"):
        wiring().layers[0].indices[0] = 1


def test_equality() -> None:
    assert wiring() == wiring()
    assert wiring() != "wiring"
    assert Wiring(wiring().layers, NAMES, "top-k") != wiring()


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"indptr": [0, 2, 2]}, "number of links"),
        ({"indptr": [0, 4, 3]}, "falls"),
        ({"indptr": [0, 2**63 - 1, -(2**63) + 4, 3], "n_lower": 3}, "falls"),  # differences wrap
        ({"indptr": [0.0, 1.5, 3.0]}, "indptr holds values that int64"),
        ({"indices": [0, 2**32 + 2, 1]}, "indices holds values that int32"),
        ({"indices": [0, np.nan, 1]}, "indices holds values that int32"),
        ({"indices": [0, 3, 1]}, "outside"),
        ({"indices": [2, 0, 1]}, "ascending"),
        ({"indices": [0, 0, 1]}, "ascending"),
        ({"indices": [1, 2, 1]}, "two tree links"),
        ({"from_tree": [True, True]}, "one entry per link"),
        ({"n_lower": 4}, "named"),
        ({"log_odds": [1.0, 2.0]}, "log_odds needs one"),
        ({"log_odds": [1.0, np.inf, 2.0]}, "log_odds needs one"),
    ],
)
def test_broken_patterns_are_refused(changes: dict[str, object], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        wiring(**changes)


def test_layers_that_do_not_fit_the_names_are_told_apart() -> None:
    upper = WiringLayer([0, 1], [0], [True], 2)
    two = Wiring((wiring().layers[0], upper), (*NAMES, ("Z2.0",)), "balanced")
    assert two.layer_sizes == (3, 2, 1)
    with pytest.raises(ValueError, match="layer 2 links 2 to 1 units, but 2 and 3 are named"):
        Wiring(two.layers, (*NAMES, ("Z2.0", "Z2.1", "Z2.2")), "balanced")
    with pytest.raises(ValueError, match="layer 1 links 3 to 2 units, but 1 and 2 are named"):
        Wiring(two.layers, (("a",), *two.names[1:]), "balanced")


def test_parts_bring_it_back() -> None:
    upper = WiringLayer([0, 1], [0], [True], 2)
    two = Wiring((wiring().layers[0], upper), (*NAMES, ("Z2.0",)), "balanced")
    assert Wiring.from_parts(*two.to_parts()) == two
    with_weights = wiring(log_odds=[0.5, -1.0, 2.0])
    again = Wiring.from_parts(*with_weights.to_parts())
    assert again == with_weights != wiring()
    assert again.has_log_odds
    assert not two.has_log_odds
