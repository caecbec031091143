"""The topic view, against enumeration of the whole joint distribution."""

from __future__ import annotations

import itertools
import json
import math
from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import numpy.typing as npt
import pytest

from tsenet.data import BinaryRule, Table
from tsenet.explain import (
    Topic,
    TopicWord,
    choose_topics,
    every_topic,
    to_json,
    to_markdown,
    topic_tree,
    view_topics,
)
from tsenet.skeleton.tree import LatentTree

WORDS = ("ball", "goal", "vote", "law", "tax", "alone")


def make_tree(
    seed: int = 0, words: tuple[str, ...] = WORDS, *, positive: bool = False
) -> LatentTree:
    """Five words under three latents under two linked ones; the sixth word is constant.

    ``positive``: every node is likelier when its parent is on.
    """
    rng = np.random.default_rng(seed)
    parent = np.array([6, 6, 7, 7, 8, -1, 9, 10, 10, 10, -1], dtype=np.int32)
    level = np.array([0] * 6 + [1] * 3 + [2] * 2, dtype=np.int32)
    on = rng.uniform(0.05, 0.95, size=(11, 2))
    if positive:
        on.sort(axis=1)
    on[parent < 0, 0] = on[parent < 0, 1]
    cpt = np.stack([1 - on, on], axis=-1)
    rule = BinaryRule.learn(Table.of(np.tile(np.eye(6), (2, 1)), names=list(words)))
    names = (*words, "Z1.0", "Z1.1", "Z1.2", "Z2.0", "Z2.1")
    return LatentTree(parent, level, cpt, names, rule)


def joint(tree: LatentTree) -> npt.NDArray[np.float64]:
    """P of every state of all nodes, one axis per node."""
    table = np.zeros((2,) * tree.n_nodes)
    for state in itertools.product((0, 1), repeat=tree.n_nodes):
        table[state] = math.prod(
            tree.cpt[v, state[tree.parent[v]] if tree.parent[v] >= 0 else 0, state[v]]
            for v in range(tree.n_nodes)
        )
    return table


def pair(table: npt.NDArray[np.float64], v: int, w: int) -> npt.NDArray[np.float64]:
    """P(v, w), shape (2, 2), for v < w."""
    return table.sum(axis=tuple(axis for axis in range(table.ndim) if axis not in (v, w)))


def information(cells: npt.NDArray[np.float64]) -> float:
    outer = cells.sum(1, keepdims=True) * cells.sum(0, keepdims=True)
    return float((cells * np.log(cells / outer)).sum())


def every(topics: Sequence[Topic]) -> list[Topic]:
    return list(every_topic(topics))


@pytest.mark.parametrize("seed", range(5))
def test_words_sizes_and_strengths_by_enumeration(seed: int) -> None:
    tree = make_tree(seed)
    table = joint(tree)
    subtree = {6: [0, 1], 7: [2, 3], 8: [4], 9: [0, 1], 10: [2, 3, 4]}
    found = {topic.name: topic for topic in every(topic_tree(tree, min_share=0))}
    assert sorted(found) == sorted(tree.names[6:])
    for z, below in subtree.items():
        topic = found[tree.names[z]]
        on = table.sum(axis=tuple(axis for axis in range(table.ndim) if axis != z))[1]
        assert topic.size == pytest.approx(on, abs=1e-12)
        assert topic.level == tree.level[z]
        expected = []
        for w in below:
            cells = pair(table, w, z)
            inside, outside = cells[1, 1] / cells[:, 1].sum(), cells[1, 0] / cells[:, 0].sum()
            if inside > outside:
                weight = information(cells) * cells[1, 1] / cells[1].sum()
                expected.append((weight, information(cells), inside, outside, WORDS[w]))
        expected.sort(reverse=True)
        assert [word.word for word in topic.words] == [word for *_, word in expected]
        for word, (weight, strength, inside, outside, _) in zip(topic.words, expected, strict=True):
            assert word.weight == pytest.approx(weight, abs=1e-12)
            assert word.information == pytest.approx(strength, abs=1e-12)
            assert word.inside == pytest.approx(inside, abs=1e-12)
            assert word.outside == pytest.approx(outside, abs=1e-12)


def test_figures_from_data_are_shares_of_documents() -> None:
    tree = make_tree(1)
    X = (np.random.default_rng(0).random((57, 6)) < 0.4).astype(float)
    topics = every(topic_tree(tree, Table.of(X, names=WORDS), min_share=0))
    posterior = tree.posterior(Table.of(X, names=WORDS))
    below = {"Z1.0": [0, 1], "Z1.1": [2, 3], "Z1.2": [4], "Z2.0": [0, 1], "Z2.1": [2, 3, 4]}
    for topic in topics:
        on = posterior[:, tree.latent_names.index(topic.name)] >= 0.5
        present = on & X[:, below[topic.name]].any(axis=1)
        assert topic.size == present.mean()
        for word in topic.words:
            column = X[:, WORDS.index(word.word)]
            assert word.inside == pytest.approx(column[present].mean() if present.any() else 0)
            assert word.outside == pytest.approx(column[~present].mean())
    # which words describe a topic does not depend on the documents
    by_model = every(topic_tree(tree, min_share=0))
    names = {topic.name: [word.word for word in topic.words] for topic in by_model}
    assert {topic.name: [word.word for word in topic.words] for topic in topics} == names


def test_titles() -> None:
    tree = make_tree(3, positive=True)
    for topic in every(topic_tree(tree)):
        assert topic.title == ", ".join(word.word for word in topic.words[:3])


def test_a_tree_without_latents() -> None:
    rule = BinaryRule.learn(Table.of(np.eye(2), names=["a", "b"]))
    tree = LatentTree(
        np.array([-1, -1]), np.array([0, 0]), np.full((2, 2, 2), 0.5), ("a", "b"), rule
    )
    assert topic_tree(tree) == []
    assert topic_tree(tree, np.eye(2)) == []
    assert "No topics" in to_markdown([])


def test_markdown_is_a_nested_list() -> None:
    topics = topic_tree(make_tree(3, positive=True))
    topics[0] = replace(topics[0], title="Politics")
    lines = to_markdown(topics).splitlines()
    items = [line for line in lines if line.lstrip().startswith("- ")]
    assert len(items) == 5
    depth = {line.rsplit("`")[1]: (len(line) - len(line.lstrip())) // 2 for line in items}
    assert depth == {"Z2.0": 0, "Z2.1": 0, "Z1.0": 1, "Z1.1": 1, "Z1.2": 1}
    for topic in every(topics):
        (line,) = (line for line in items if f"`{topic.name}`" in line)
        assert f"{100 * topic.size:.1f} %" in line
        assert ", ".join(word.word for word in topic.words) in line
    assert sum("**Politics**" in line for line in items) == 1


def test_markdown_shows_words_as_they_are() -> None:
    words = ("*b*", "_i_", "<script>", "a`b", "new\nline", "f")
    text = to_markdown(topic_tree(make_tree(3, words, positive=True)))
    assert "\\*b\\*" in text
    assert "\\_i\\_" in text
    assert "\\<script\\>" in text
    assert "a\\`b" in text
    assert "new line" in text
    assert len(text.splitlines()) == 2 + 5


# ---- what is shown

TWO_WORDS = (TopicWord("a", 0.1, 0.4, 0.1), TopicWord("b", 0.1, 0.4, 0.1))


def topic(name: str, size: float, *children: Topic, information: float = 1.0) -> Topic:
    level = int(name[1])
    return Topic(name, level, name, size, TWO_WORDS, children, information)


def nested(topics: tuple[Topic, ...]) -> dict[str, list[str]]:
    return {t.name: [child.name for child in t.children] for t in every_topic(topics)}


@pytest.mark.parametrize(
    ("size", "coherence", "reason"),
    [
        (0.0001, 0.5, "in too few documents"),
        (0.1, 0.01, "its words hardly occur together"),
        (0.1, None, ""),
        (0.1, 0.06, ""),
    ],
)
def test_unsound_topics_are_folded(size: float, coherence: float | None, reason: str) -> None:
    below = replace(topic("Z1.0", size), coherence=coherence)
    view = view_topics([topic("Z2.0", 0.5, below)])
    assert [why for _, why in view.folded] == ([reason] if reason else [])
    assert ("Z1.0" in nested(view.topics)) is (not reason)


def test_topics_below_a_folded_one_take_its_place() -> None:
    tree = [topic("Z3.0", 0.5, topic("Z2.0", 0.0001, topic("Z1.0", 0.2)))]
    view = view_topics(tree)
    assert nested(view.topics) == {"Z3.0": ["Z1.0"], "Z1.0": []}
    assert view_topics(tree, keep=("Z2.0",)).topics == tuple(tree)
    alone = Topic("Z1.0", 1, "a", 0.2, TWO_WORDS[:1])
    assert view_topics([alone]).folded == ((alone, "fewer than two words"),)


def test_files_of_a_view() -> None:
    view = view_topics([topic("Z2.0", 0.5, topic("Z1.0", 0.0001), topic("Z1.1", 0.2))])
    text = to_markdown(view, ungrouped=["lonely", "words"])
    assert "1 of 3 topics are folded away: 1 in too few documents." in text
    assert "2 words are in no topic: lonely, words." in text
    read = json.loads(to_json(view, ungrouped=["lonely"]))
    assert [found["name"] for found in read["folded"]] == ["Z1.0"]
    assert read["folded"][0]["reason"] == "in too few documents"
    assert read["ungrouped"] == ["lonely"]
    many = to_markdown([], ungrouped=[f"w{k}" for k in range(300)])
    assert "w199, and 100 more." in many


def test_chosen_topics() -> None:
    left = topic("Z2.0", 0.3, topic("Z1.0", 0.1), topic("Z1.1", 0.1), information=1.5)
    right = topic("Z2.1", 0.3, topic("Z1.2", 0.1), topic("Z1.3", 0.1), information=0.1)
    moved = topic("Z1.9", 0.6, information=9.0)
    chosen = {
        n: [t.name for t in choose_topics((left, right, moved), n)] for n in (1, 2, 3, 4, 5, 9)
    }
    assert chosen == {
        1: ["Z2.0"],
        2: ["Z2.0", "Z2.1"],
        3: ["Z2.0", "Z1.2", "Z1.3"],  # 1.9 more nats than 0.5
        4: ["Z1.0", "Z1.1", "Z1.2", "Z1.3"],
        5: ["Z1.0", "Z1.1", "Z1.2", "Z1.3", "Z1.9"],
        9: ["Z1.0", "Z1.1", "Z1.2", "Z1.3", "Z1.9"],
    }
    assert choose_topics((), 3) == []


def test_json_has_all_fields() -> None:
    topics = topic_tree(make_tree(3, ("é", '"b"', "c", "d", "e", "f"), positive=True))
    document = json.loads(to_json(topics))
    assert document["format"] == "tsenet-topics"
    read = document["topics"][0]
    assert read["words"] == [vars(word) for word in topics[0].words]
    assert (read["size"], read["coherence"]) == (topics[0].size, None)
    assert [child["name"] for child in read["children"]] == [c.name for c in topics[0].children]
