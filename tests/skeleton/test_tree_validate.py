"""LatentTree refuses what is no tree or no distribution, by the name of the node."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest

from tests.builders import cpt_of, presence_rule
from tests.skeleton.example_tree import CONSTANT, LEVEL, NAMES, PARENT, ROOT, example
from tsenet.data.binary import BinaryRule
from tsenet.data.table import Table
from tsenet.skeleton.tree import LatentTree

Change = Callable[[dict[str, np.ndarray]], None]


def changed(change: Change) -> LatentTree:
    """The example with its arrays changed before it is made."""
    tree = example()
    arrays = {"parent": tree.parent.copy(), "level": tree.level.copy(), "cpt": tree.cpt.copy()}
    change(arrays)
    return LatentTree(arrays["parent"], arrays["level"], arrays["cpt"], tree.names, tree.rule)


def put(array: str, where: int | tuple[int, ...], value: object) -> Change:
    def change(arrays: dict[str, np.ndarray]) -> None:
        arrays[array][where] = value

    return change


@pytest.mark.parametrize(
    ("change", "node"),
    [
        pytest.param(put("parent", 2, 99), "x2", id="parent beyond the last node"),
        pytest.param(put("parent", 2, -2), "x2", id="parent before the first node"),
        pytest.param(put("parent", 1, 9), "x1", id="parent two levels up"),
        pytest.param(put("parent", 4, 5), "x4", id="observed parent"),
        pytest.param(put("parent", 7, 6), "Z1.1", id="parent in the same level below the top"),
        pytest.param(put("parent", 9, 6), "Z2.0", id="parent one level down"),
        pytest.param(put("parent", 8, 8), "Z1.2", id="its own parent, below the top"),
        pytest.param(put("parent", 11, 11), "Z2.2", id="its own parent, at the top"),
        pytest.param(put("parent", ROOT, 9), "Z2.[01]", id="no root, a ring"),
        pytest.param(put("cpt", (4, 1, 0), np.nan), "x4", id="nan"),
        pytest.param(put("cpt", (7, 0), [np.inf, 0.5]), "Z1.1", id="inf"),
        pytest.param(put("cpt", (2, 1), [-0.25, 1.25]), "x2", id="negative probability"),
        pytest.param(put("cpt", (9, 0), [0.5, 0.4]), "Z2.0", id="sum below one"),
        pytest.param(put("cpt", (9, 1), [0.5, 0.50001]), "Z2.0", id="sum above one"),
        pytest.param(put("cpt", (ROOT, 1), [0.25, 0.75]), "Z2.1", id="root with two rows"),
        pytest.param(put("cpt", (CONSTANT, 1), [0.25, 0.75]), "x3", id="constant with two rows"),
        pytest.param(put("level", 7, 0), "Z1.1", id="levels fall"),
        pytest.param(put("level", slice(9, 12), 3), "Z2.0", id="a level is left out"),
        pytest.param(put("level", slice(0, 6), 1), "x0", id="no level 0"),
    ],
)
def test_broken_trees_are_refused_by_name(change: Change, node: str) -> None:
    with pytest.raises(ValueError, match=rf"\b{node}\b"):
        changed(change)


def test_a_ring_beside_the_root_is_refused() -> None:
    parent = np.array([2, 3, -1, 4, 5, 3])  # x0, x1; Z1.0 the root; Z1.1, Z1.2 and Z1.3 in a ring
    cpt = cpt_of(parent, np.full((6, 2), 0.5))
    names = ("x0", "x1", "Z1.0", "Z1.1", "Z1.2", "Z1.3")

    with pytest.raises(ValueError, match=r"cycle.*Z1\.[123]|Z1\.[123].*cycle"):
        LatentTree(parent, np.array([0, 0, 1, 1, 1, 1]), cpt, names, presence_rule(2))


def test_equal_names_are_refused() -> None:
    with pytest.raises(ValueError, match=r"unique.*x1|x1.*unique"):
        replace(example(), names=("x1", *NAMES[1:]))


def test_links_between_observed_variables_are_refused() -> None:
    parent = np.array([-1, 0])

    with pytest.raises(ValueError, match="b"):
        LatentTree(
            parent, np.zeros(2), cpt_of(parent, np.full((2, 2), 0.5)), ("a", "b"), presence_rule(2)
        )


@pytest.mark.parametrize(
    "change",
    [
        {"parent": PARENT[:-1]},
        {"parent": PARENT.reshape(3, 4)},
        {"level": LEVEL[:-1]},
        {"cpt": np.full((12, 2), 0.5)},
        {"cpt": np.full((11, 2, 2), 0.5)},
        {"names": NAMES[:-1]},
    ],
)
def test_arrays_of_different_sizes_are_refused(change: dict[str, object]) -> None:
    with pytest.raises(ValueError, match="number of nodes"):
        replace(example(), **change)


def test_a_rule_for_another_number_of_variables_is_refused() -> None:
    with pytest.raises(ValueError, match="not named as the rule names them"):
        replace(example(), rule=presence_rule(5))


def test_an_empty_tree_is_refused() -> None:
    with pytest.raises(ValueError, match="node"):
        LatentTree(np.empty(0), np.empty(0), np.empty((0, 2, 2)), (), presence_rule(1))


def test_a_long_chain_is_checked() -> None:
    """20,000 latents one above the other at the top; time must not grow with their square."""
    n_latents = 20_000
    parent = np.concatenate([[1], np.arange(2, n_latents + 1), [-1]])
    level = np.minimum(np.arange(n_latents + 1), 1)
    cpt = cpt_of(parent, np.full((n_latents + 1, 2), 0.5))
    names = ("x0", *(f"Z1.{k}" for k in range(n_latents)))
    rule = BinaryRule.learn(Table.of([[0], [1]]))
    tree = LatentTree(parent, level, cpt, names, rule)
    assert np.allclose(tree.marginals(), 0.5)
    with pytest.raises(ValueError, match="cycle"):
        LatentTree(np.append(parent[:-1], 5), level, cpt, names, rule)


def test_a_parent_that_32_bits_cannot_hold_is_refused() -> None:
    tree = example()
    parent = tree.parent.astype(np.int64)
    parent[0] += 2**32
    with pytest.raises(ValueError, match="parent holds values that int32 cannot hold"):
        LatentTree(parent, tree.level, tree.cpt, tree.names, tree.rule)
