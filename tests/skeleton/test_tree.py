"""LatentTree: structure, display, file form, order of states, and what is no tree or no distribution."""

from __future__ import annotations

import copy
import json
import pickle
import sys
from collections.abc import Callable
from dataclasses import FrozenInstanceError, replace

import networkx
import numpy as np
import pytest

from tests.builders import all_states, cpt_of, draw_rows, presence_rule, random_tree
from tests.skeleton.example_tree import CONSTANT, LEVEL, NAMES, PARENT, ROOT, example
from tsenet.data.binary import BinaryRows, BinaryRule
from tsenet.data.table import Table
from tsenet.errors import DataError, MissingDependencyError
from tsenet.skeleton.hlta import in_order
from tsenet.skeleton.tree import LatentTree

# ---- structure


def test_sizes() -> None:
    tree = example()

    assert (tree.n_nodes, tree.n_observed, tree.n_latents, tree.n_levels) == (12, 6, 6, 2)
    assert tree.layer_sizes == (6, 3, 3)
    assert tree.latent_names == NAMES[6:]
    assert tree.n_parameters == 2 * 10 + 2  # the root and the constant have one each


def test_layers() -> None:
    tree = example()

    assert [tree.layer(level) for level in range(3)] == [slice(0, 6), slice(6, 9), slice(9, 12)]
    for level in (-1, 3):
        with pytest.raises(ValueError, match=f"level {level} does not exist"):
            tree.layer(level)


def test_groups_are_positions_in_the_layer_below() -> None:
    tree = example()

    assert [g.tolist() for g in tree.groups(1)] == [[0, 2], [1, 5], [4]]
    assert [g.tolist() for g in tree.groups(2)] == [[0, 1], [], [2]]
    for level in (0, -1):
        with pytest.raises(ValueError, match="from 1 up"):
            tree.groups(level)
    with pytest.raises(ValueError, match="level 3"):
        tree.groups(3)


def test_ancestors() -> None:
    tree = example()

    assert tree.ancestors(0).tolist() == [0, 1, 2, 3, 4, 5]
    assert tree.ancestors(1).tolist() == [0, 1, 0, -1, 2, 1]
    assert tree.ancestors(2).tolist() == [0, 0, 0, -1, 2, 0]
    with pytest.raises(ValueError, match="level 3"):
        tree.ancestors(3)


@pytest.mark.parametrize("sizes", [(3, 1), (9, 4), (20, 6, 2), (20, 8, 4, 2)])
def test_groups_children_and_ancestors_agree(sizes: tuple[int, ...]) -> None:
    tree = random_tree(np.random.default_rng(1), sizes, n_constant=sizes[0] > 5)

    for level in range(1, tree.n_levels + 1):
        here, below = tree.layer(level), tree.layer(level - 1)
        for z, group in enumerate(tree.groups(level)):
            children = tree.children(here.start + z)
            assert children[children < below.stop].tolist() == (group + below.start).tolist()
        members = np.concatenate(tree.groups(level))
        assert np.unique(members).size == members.size
    top = tree.ancestors(tree.n_levels)
    for v in range(tree.n_observed):
        node = v
        for _ in range(tree.n_levels):
            node = tree.parent[node] if node >= 0 else -1
        assert top[v] == (node - tree.layer(tree.n_levels).start if node >= 0 else -1)


# ---- immutability, equality, display


def test_arrays_are_frozen_and_its_own() -> None:
    parent, level = PARENT.copy(), LEVEL.copy()
    cpt = example().cpt.copy()
    tree = LatentTree(parent, level, cpt, NAMES, presence_rule(6))
    parent[0], level[0], cpt[:] = 8, 5, 0.5

    assert tree == example()
    for array in (tree.parent, tree.level, tree.cpt):
        with pytest.raises(ValueError, match="read-only"):
            array[0] = 0
    with pytest.raises(FrozenInstanceError):
        tree.cpt = cpt  # type: ignore[misc]  # writing to a frozen field is the point
    assert (tree.parent.dtype, tree.level.dtype, tree.cpt.dtype) == (np.int32, np.int32, np.float64)


def test_equality_is_of_every_part() -> None:
    tree = example()
    swapped = tree.parent.copy()
    swapped[0] = 8
    other_cpt = tree.cpt.copy()
    other_cpt[0, 0] = np.nextafter(other_cpt[0, 0], 1)

    assert tree == example()
    assert tree != replace(tree, parent=swapped)
    assert tree != replace(tree, cpt=other_cpt)
    assert tree != replace(tree, names=(*NAMES[:-1], "top"))
    assert tree != "a tree"
    bigger = presence_rule(7)
    assert tree.rule != bigger
    with pytest.raises(TypeError, match="unhashable"):
        hash(tree)


@pytest.mark.parametrize("used", [False, True])
def test_copies_and_pickles_are_equal(used: bool) -> None:
    tree = example()
    rows = BinaryRows.of_dense(all_states(6))
    expected = example().log_likelihood(rows)
    if used:
        tree.log_likelihood(rows)

    for other in (copy.copy(tree), copy.deepcopy(tree), pickle.loads(pickle.dumps(tree))):
        assert other == tree
        np.testing.assert_array_equal(other.log_likelihood(rows), expected)


def test_repr_is_short_and_says_it_all() -> None:
    assert repr(example()) == "LatentTree(6-3-3, 22 parameters, 1 in no group)"
    plain = random_tree(np.random.default_rng(2), (5, 2))
    assert repr(plain) == "LatentTree(5-2, 13 parameters)"


def test_to_networkx() -> None:
    tree = example()

    graph = tree.to_networkx()

    assert list(graph) == list(NAMES)
    assert set(graph.edges) == {
        (NAMES[p], NAMES[v]) for v, p in enumerate(PARENT.tolist()) if p >= 0
    }
    assert graph.nodes["Z1.2"]["level"] == 1
    np.testing.assert_array_equal(graph.nodes["Z1.2"]["cpt"], tree.cpt[8])
    assert networkx.is_arborescence(graph.subgraph(set(NAMES) - {"x3"}))
    json.dumps(networkx.node_link_data(graph, edges="edges"))  # plain numbers only


def test_to_networkx_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "networkx", None)

    with pytest.raises(MissingDependencyError, match="pip install networkx"):
        example().to_networkx()


# ---- file form


@pytest.mark.parametrize("sizes", [(3, 1), (9, 3, 2)])
def test_parts_make_the_same_tree(sizes: tuple[int, ...]) -> None:
    tree = random_tree(np.random.default_rng(3), sizes, n_constant=sizes[0] > 5)

    meta, arrays = tree.to_parts()
    again = LatentTree.from_parts(json.loads(json.dumps(meta)), arrays)

    assert again == tree


def test_parts_of_a_broken_tree_are_refused() -> None:
    meta, arrays = example().to_parts()
    arrays = {**arrays, "parent": np.where(np.arange(12) == 4, 0, arrays["parent"])}

    with pytest.raises(ValueError, match="x4"):
        LatentTree.from_parts(meta, arrays)


# ---- rows


def test_tables_and_binary_rows_give_the_same() -> None:
    tree = example()
    dense = draw_rows(tree, 50, np.random.default_rng(4)).astype(float)
    rows = BinaryRows.of_dense(dense)

    np.testing.assert_array_equal(tree.log_likelihood(dense), tree.log_likelihood(rows))
    np.testing.assert_array_equal(tree.posterior(dense), tree.posterior(rows))
    assert tree.binary(dense) == rows
    assert tree.binary(rows) is rows


@pytest.mark.parametrize("n_columns", [5, 7])
def test_rows_of_another_width_are_refused(n_columns: int) -> None:
    tree = example()

    with pytest.raises(DataError, match=f"{n_columns}.*6"):
        tree.log_likelihood(BinaryRows.of_dense(np.eye(n_columns)))
    with pytest.raises(DataError, match=f"{n_columns}"):
        tree.posterior(np.eye(n_columns))


# ---- order of states


def observed_distribution(tree: LatentTree) -> np.ndarray:
    return tree.log_likelihood(BinaryRows.of_dense(all_states(tree.n_observed)))


@pytest.mark.parametrize("sizes", [(5, 1), (6, 3), (8, 4, 2), (7, 3, 2, 1)])
@pytest.mark.parametrize("seed", range(4))
def test_ordered_states_turn_the_layer_below_on(sizes: tuple[int, ...], seed: int) -> None:
    tree = random_tree(np.random.default_rng([seed, *sizes]), sizes, n_constant=sizes[0] > 5)
    before = tree.cpt.copy()

    cpt = in_order(tree.parent, tree.level, tree.cpt, positive=False)

    np.testing.assert_array_equal(tree.cpt, before)
    ordered = replace(tree, cpt=cpt)
    for z in range(tree.n_observed, tree.n_nodes):
        below = [c for c in tree.children(z) if tree.level[c] < tree.level[z]]
        assert (cpt[below, 1, 1] - cpt[below, 0, 1]).sum() >= 0
    np.testing.assert_allclose(
        observed_distribution(ordered), observed_distribution(tree), rtol=0, atol=1e-12
    )
    np.testing.assert_array_equal(in_order(tree.parent, tree.level, cpt, positive=False), cpt)


# ---- latentTree refuses what is no tree or no distribution, by the name of the node


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
