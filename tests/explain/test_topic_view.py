"""What is shown of topics, and what is folded away."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest

from tsenet.explain import (
    Topic,
    TopicWord,
    choose_topics,
    every_topic,
    to_json,
    to_markdown,
    view_topics,
    with_coherence,
)

WORDS = (TopicWord("a", 0.1, 0.4, 0.1), TopicWord("b", 0.1, 0.4, 0.1))


def topic(name: str, size: float, *children: Topic, information: float = 1.0) -> Topic:
    level = int(name[1])
    return Topic(name, level, name, size, WORDS, children, information)


def nested(topics: tuple[Topic, ...]) -> dict[str, list[str]]:
    return {t.name: [child.name for child in t.children] for t in every_topic(topics)}


def test_a_topic_larger_than_the_one_above_moves_up_beside_it() -> None:
    tree = [topic("Z3.0", 0.3, topic("Z2.0", 0.1, topic("Z1.0", 0.2), topic("Z1.1", 0.05)))]
    view = view_topics(tree)
    assert nested(view.topics) == {
        **{"Z3.0": ["Z2.0", "Z1.0"], "Z2.0": ["Z1.1"]},
        **{"Z1.0": [], "Z1.1": []},
    }
    higher = [topic("Z2.0", 0.1, topic("Z1.0", 0.2))]
    assert nested(view_topics(higher).topics) == {"Z2.0": [], "Z1.0": []}


@pytest.mark.parametrize(
    ("size", "coherence", "reason"),
    [
        (0.0001, 0.5, "in too few documents"),
        (0.95, 0.5, "in nearly all documents"),
        (0.1, 0.01, "its words hardly occur together"),
        (0.1, None, ""),
        (0.1, 0.06, ""),
    ],
)
def test_unsound_topics_are_folded(size: float, coherence: float | None, reason: str) -> None:
    below = topic("Z1.0", size)
    scores = {} if coherence is None else {"Z1.0": coherence}
    view = view_topics(with_coherence([topic("Z2.0", 0.5, below)], scores))
    assert [why for _, why in view.folded] == ([reason] if reason else [])
    assert ("Z1.0" in nested(view.topics)) is (not reason)


def test_topics_below_a_folded_one_take_its_place() -> None:
    view = view_topics([topic("Z3.0", 0.5, topic("Z2.0", 0.99, topic("Z1.0", 0.2)))])
    assert nested(view.topics) == {"Z3.0": ["Z1.0"], "Z1.0": []}
    alone = Topic("Z1.0", 1, "a", 0.2, WORDS[:1])
    assert view_topics([alone]).folded == ((alone, "fewer than two words"),)


def test_files_of_a_view() -> None:
    view = view_topics([topic("Z2.0", 0.5, topic("Z1.0", 0.95), topic("Z1.1", 0.2))])
    text = to_markdown(view, ungrouped=["lonely", "words"])
    assert "1 of 3 topics are folded away: 1 in nearly all documents." in text
    assert "2 words are in no topic: lonely, words." in text
    read = json.loads(to_json(view, ungrouped=["lonely"]))
    assert [found["name"] for found in read["folded"]] == ["Z1.0"]
    assert read["folded"][0]["reason"] == "in nearly all documents"
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


def test_a_large_family_needs_a_large_gain() -> None:
    many = topic("Z2.0", 0.3, *(topic(f"Z1.{k}", 0.1, information=0.4) for k in range(5)))
    two = topic("Z2.1", 0.3, *(topic(f"Z1.{k}", 0.1, information=0.6) for k in (7, 8)))
    many, two = replace(many, information=0.5), replace(two, information=0.5)
    # 1.5 nats for four topics more, 0.7 for one more: the second split first, though room is for either.
    assert [t.name for t in choose_topics((many, two), 6)] == ["Z2.0", "Z1.7", "Z1.8"]
    assert len(choose_topics((many, two), 7)) == 7
