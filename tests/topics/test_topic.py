"""Topics, and which of them are shown."""

from __future__ import annotations

from dataclasses import replace

import pytest

from tsenet.topics.topic import Topic, TopicWord, choose_topics, every_topic, view_topics

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
