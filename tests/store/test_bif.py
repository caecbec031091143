"""BIF export, read back by a strict parser that shares no code with the writer."""

from __future__ import annotations

import re
import warnings
from collections.abc import Callable
from pathlib import Path
from urllib.parse import unquote

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from tsenet.skeleton.tree import LatentTree
from tsenet.store import write_bif
from tsenet.store.bif import bif_names

MakeTree = Callable[..., LatentTree]

IDENTIFIER = r"[A-Za-z][A-Za-z0-9_]*"
NUMBER = r"[0-9]+(?:\.[0-9]+)?(?:e-?[0-9]+)?"
TOKEN = re.compile(rf"\s*({NUMBER}|{IDENTIFIER}|[{{}}()\[\]|,;=]|%[0-9A-F]{{2}}|[-.~%_])")


class Network:
    """A recursive-descent parser of BIF 0.15 that accepts nothing it does not know."""

    def __init__(self, text: str) -> None:
        text.encode("ascii")
        self.text = text
        self.at = 0
        self.properties: dict[str, dict[str, str]] = {}
        self.parents: dict[str, list[str]] = {}
        self.tables: dict[str, list[list[float]]] = {}
        self.take("network"), self.identifier(), self.take("{"), self.take("}")
        while self.peek() == "variable":
            self.variable()
        while self.peek() == "probability":
            self.probability()
        assert self.text[self.at :].strip() == "", f"left over: {self.text[self.at :][:50]!r}"
        assert self.properties.keys() == self.tables.keys()

    def peek(self) -> str:
        found = TOKEN.match(self.text, self.at)
        return found.group(1) if found else ""

    def take(self, expected: str) -> None:
        assert self.peek() == expected, f"{expected!r} expected at {self.text[self.at :][:50]!r}"
        self.match(re.escape(expected))

    def match(self, pattern: str) -> str:
        found = re.compile(rf"\s*({pattern})").match(self.text, self.at)
        assert found, f"{pattern} expected at {self.text[self.at :][:50]!r}"
        self.at = found.end()
        return found.group(1)

    def identifier(self) -> str:
        return self.match(rf"{IDENTIFIER}(?![A-Za-z0-9_])")

    def numbers(self) -> list[float]:
        found = [float(self.match(NUMBER))]
        while self.peek() == ",":
            self.take(",")
            found.append(float(self.match(NUMBER)))
        self.take(";")
        return found

    def variable(self) -> None:
        self.take("variable")
        name = self.identifier()
        assert name.lower() not in {known.lower() for known in self.properties}, f"{name} twice"
        for word in ("{", "type", "discrete", "[", "2", "]", "{", "s0", ",", "s1", "}", ";"):
            self.take(word)
        self.properties[name] = {}
        while self.peek() == "property":
            self.take("property")
            key = self.identifier()
            self.take("=")
            self.properties[name][key] = self.match(r"[A-Za-z0-9_.~%-]*")
            self.take(";")
        self.take("}")

    def probability(self) -> None:
        self.take("probability")
        self.take("(")
        name = self.identifier()
        assert name in self.properties
        assert name not in self.tables
        self.parents[name] = []
        if self.peek() == "|":
            self.take("|")
            self.parents[name].append(self.identifier())
        self.take(")"), self.take("{")
        if self.parents[name]:
            self.tables[name] = []
            for state in ("s0", "s1"):
                self.take("("), self.take(state), self.take(")")
                self.tables[name].append(self.numbers())
        else:
            self.take("table")
            self.tables[name] = [self.numbers()]
        self.take("}")


def read(path: Path) -> Network:
    return Network(path.read_bytes().decode("ascii"))


def assert_same_model(tree: LatentTree, network: Network) -> None:
    original = {
        name: unquote(p["original_name"], errors="surrogatepass")
        for name, p in network.properties.items()
    }
    assert list(original.values()) == list(tree.names)
    for v, name in enumerate(network.properties):
        assert int(network.properties[name]["level"]) == tree.level[v]
        parents = [original[parent] for parent in network.parents[name]]
        assert parents == ([] if tree.parent[v] < 0 else [tree.names[tree.parent[v]]])
        rows = tree.cpt[v, :1] if tree.parent[v] < 0 else tree.cpt[v]
        assert network.tables[name] == rows.tolist()  # bit for bit


def test_the_model_comes_back_exactly(tree: LatentTree, tmp_path: Path) -> None:
    write_bif(tree, tmp_path / "tree.bif")
    assert_same_model(tree, read(tmp_path / "tree.bif"))


def test_tiny_and_extreme_probabilities(make_tree: MakeTree, tmp_path: Path) -> None:
    tree = make_tree()
    cpt = tree.cpt.copy()
    cpt[0, 0] = [1 - 1e-12, 1e-12]
    cpt[1, 0] = [0, 1]
    cpt[2, 0] = [1.0, 5e-324]
    extreme = LatentTree(tree.parent, tree.level, cpt, tree.names, tree.rule)
    write_bif(extreme, tmp_path / "tree.bif")
    assert_same_model(extreme, read(tmp_path / "tree.bif"))


def test_words_that_bif_could_not_hold(make_tree: MakeTree, tmp_path: Path) -> None:
    words = (
        "table",
        "Table",
        "a;b",
        "a b",
        "a_b",
        "été",
        "",
        "3d",
        "//x",
        "}\n",
        '"q"',
        "=",
        "Z1_0",
        "\ud800",
    )
    tree = make_tree(words)
    write_bif(tree, tmp_path / "tree.bif")
    assert_same_model(tree, read(tmp_path / "tree.bif"))


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
