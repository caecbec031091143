"""BIF export, read back by another program."""

from __future__ import annotations

import re
import warnings
from collections.abc import Callable
from pathlib import Path

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from tsenet.skeleton.tree import LatentTree
from tsenet.store import write_bif
from tsenet.store.bif import bif_names

MakeTree = Callable[..., LatentTree]

IDENTIFIER = r"[A-Za-z][A-Za-z0-9_]*"


def test_probabilities_are_written_to_the_last_bit(make_tree: MakeTree, tmp_path: Path) -> None:
    tree = make_tree()
    cpt = tree.cpt.copy()
    cpt[0, 0], cpt[1, 0], cpt[2, 0] = [1 - 1e-12, 1e-12], [0, 1], [1.0, 5e-324]
    extreme = LatentTree(tree.parent, tree.level, cpt, tree.names, tree.rule)
    write_bif(extreme, tmp_path / "tree.bif")
    text = (tmp_path / "tree.bif").read_text("ascii")
    rows = re.findall(r"^ *(?:table|\(s[01]\)) +(\S+), (\S+);$", text, re.MULTILINE)
    expected = [
        row
        for v, p in enumerate(tree.parent)
        for row in (cpt[v].tolist() if p >= 0 else cpt[v, :1].tolist())
    ]
    assert [[float(part) for part in row] for row in rows] == expected


def test_another_program_reads_the_same_model(make_tree: MakeTree, tmp_path: Path) -> None:
    """pyagrum computes the joint distribution by its own means; it keeps numbers as float32."""
    with warnings.catch_warnings():
        # its SWIG types warn while they load, and that as an error crashes the interpreter
        warnings.simplefilter("ignore", DeprecationWarning)
        import pyagrum

    tree = make_tree(("table", "a b", "a_b", "été", "", "Z1.0 ", "property"))
    path = tmp_path / "tree.bif"
    write_bif(tree, path)
    network = pyagrum.loadBN(str(path))
    names = bif_names(tree.names)
    assert sorted(network.names()) == sorted(names)
    for v, name in enumerate(names):
        assert network.variable(name).labels() == ("s0", "s1")
        parents = [network.variable(parent).name() for parent in network.parents(name)]
        assert parents == ([] if tree.parent[v] < 0 else [names[tree.parent[v]]])
        expected = tree.cpt[v] if parents else tree.cpt[v, 0]
        np.testing.assert_allclose(network.cpt(name).toarray(), expected, atol=1e-6)
    posterior = pyagrum.getPosterior(network, target=names[-1], evs={}).toarray()
    np.testing.assert_allclose(posterior[1], tree.marginals()[-1], atol=1e-6)


@settings(max_examples=200, deadline=None)
@given(
    st.lists(
        st.text(max_size=6) | st.sampled_from(["a", "A", "a.b", "a_b", "a_b_2", "table"]),
        unique=True,
    )
)
def test_names_are_safe_and_distinct(names: list[str]) -> None:
    safe = bif_names(names)
    assert len(safe) == len(names)
    assert all(re.fullmatch(IDENTIFIER, name) for name in safe)
    assert len({name.lower() for name in safe}) == len(names)
    assert not {"table", "default", "variable"} & {name.lower() for name in safe}
