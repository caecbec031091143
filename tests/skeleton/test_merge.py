"""Merged latents, against enumeration of the whole joint distribution."""

from __future__ import annotations

import itertools
import math

import numpy as np
import numpy.typing as npt
import pytest

from tsenet.data import BinaryRule, Table
from tsenet.errors import DataError
from tsenet.skeleton.merge import merge_latents
from tsenet.skeleton.tree import LatentTree


def make_tree(seed: int = 0) -> LatentTree:
    """Four words under four latents, these under three that are linked in a line."""
    rng = np.random.default_rng(seed)
    parent = np.array([4, 5, 6, 7, 8, 8, 9, 10, 9, -1, 9], np.int32)
    level = np.array([0] * 4 + [1] * 4 + [2] * 3, np.int32)
    on = np.sort(rng.uniform(0.05, 0.95, size=(11, 2)), axis=1)
    on[parent < 0, 0] = on[parent < 0, 1]
    rule = BinaryRule.learn(Table.of(np.tile(np.eye(4), (2, 1)), names=list("abcd")))
    names = (*"abcd", "Z1.0", "Z1.1", "Z1.2", "Z1.3", "Z2.0", "Z2.1", "Z2.2")
    return LatentTree(parent, level, np.stack([1 - on, on], axis=-1), names, rule)


def moments(tree: LatentTree, merged: tuple[str, ...] = ()) -> dict[frozenset[str], float]:
    """P(v on, w on) of all pairs of nodes; the first of ``merged`` is on where any of them is."""
    both: dict[frozenset[str], float] = {}
    for state in itertools.product((0, 1), repeat=tree.n_nodes):
        p = math.prod(
            tree.cpt[v, state[tree.parent[v]] if tree.parent[v] >= 0 else 0, state[v]]
            for v in range(tree.n_nodes)
        )
        on = {name for name, s in zip(tree.names, state, strict=True) if s}
        if on & set(merged):
            on = (on - set(merged)) | {merged[0]}
        for pair in itertools.combinations_with_replacement(sorted(on), 2):
            both[frozenset(pair)] = both.get(frozenset(pair), 0.0) + p
    return both


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize(
    ("names", "sizes"),
    [
        (("Z1.0", "Z1.1"), (4, 3, 3)),  # siblings
        (("Z1.2", "Z1.0"), (4, 3, 3)),  # of different parents
        (("Z1.0", "Z1.3"), (4, 3, 2)),  # Z2.2 loses its only child
        (("Z2.0", "Z2.2"), (4, 4, 2)),  # the top level, not neighbours
        (("Z2.1", "Z2.0"), (4, 4, 2)),  # neighbours; the first is the root
    ],
)
def test_probabilities_of_links_are_those_of_the_old_tree(
    seed: int, names: tuple[str, ...], sizes: tuple[int, ...]
) -> None:
    old = make_tree(seed)
    new = merge_latents(old, names)
    assert new.layer_sizes == sizes
    expected, found = moments(old, names), moments(new)
    for node in range(new.n_nodes):
        name = new.names[node]
        single = frozenset([name])
        # below a link whose two ends are exact, so is every marginal
        assert found[single] == pytest.approx(expected[single], abs=1e-9)
        if new.parent[node] >= 0:
            pair = frozenset([name, new.names[new.parent[node]]])
            assert found[pair] == pytest.approx(expected[pair], abs=1e-9), pair


def test_three_become_one() -> None:
    new = merge_latents(make_tree(), ["Z2.0", "Z2.1", "Z2.2"])
    assert new.layer_sizes == (4, 4, 1)
    assert new.names[-1] == "Z2.0"
    posterior: npt.NDArray[np.float64] = new.posterior(np.eye(4))
    assert np.isfinite(posterior).all()


@pytest.mark.parametrize(
    ("names", "message"),
    [
        (["Z1.0", "Z9.9"], "no topic is called 'Z9.9'"),
        (["Z1.0", "a"], "no topic is called 'a'"),
        (["Z1.0", "Z1.0"], "at least two"),
        (["Z1.0", "Z2.0"], r"levels \[1, 2\]"),
    ],
)
def test_what_cannot_be_merged(names: list[str], message: str) -> None:
    with pytest.raises(DataError, match=message):
        merge_latents(make_tree(), names)
