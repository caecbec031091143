"""Topics as JSON and Markdown."""

from __future__ import annotations

import json
from dataclasses import replace

from tests.topics.test_topic import topic
from tests.topics.trees import make_tree
from tsenet.topics.describe import topic_tree
from tsenet.topics.listing import to_json, to_markdown, to_text
from tsenet.topics.topic import every_topic, view_topics


def test_markdown_is_a_nested_list() -> None:
    topics = topic_tree(make_tree(3, positive=True))
    topics[0] = replace(topics[0], title="Politics")
    lines = to_markdown(topics).splitlines()
    items = [line for line in lines if line.lstrip().startswith("- ")]
    assert len(items) == 5
    depth = {line.rsplit("`")[1]: (len(line) - len(line.lstrip())) // 2 for line in items}
    assert depth == {"Z2.0": 0, "Z2.1": 0, "Z1.0": 1, "Z1.1": 1, "Z1.2": 1}
    for listed in every_topic(topics):
        (line,) = (line for line in items if f"`{listed.name}`" in line)
        assert f"{100 * listed.size:.1f} %" in line
        assert ", ".join(word.word for word in listed.words) in line
    assert sum("**Politics**" in line for line in items) == 1


def test_no_topics() -> None:
    assert "No topics" in to_markdown([])


def test_markdown_shows_words_as_they_are() -> None:
    words = ("*b*", "_i_", "<script>", "a`b", "new\nline", "f")
    text = to_markdown(topic_tree(make_tree(3, words, positive=True)))
    assert "\\*b\\*" in text
    assert "\\_i\\_" in text
    assert "\\<script\\>" in text
    assert "a\\`b" in text
    assert "new line" in text
    assert len(text.splitlines()) == 2 + 5


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


def test_json_has_all_fields() -> None:
    topics = topic_tree(make_tree(3, ("é", '"b"', "c", "d", "e", "f"), positive=True))
    document = json.loads(to_json(topics))
    assert document["format"] == "tsenet-topics"
    read = document["topics"][0]
    assert read["words"] == [vars(word) for word in topics[0].words]
    assert (read["size"], read["coherence"]) == (topics[0].size, None)
    assert [child["name"] for child in read["children"]] == [c.name for c in topics[0].children]


def test_the_tree_for_a_terminal() -> None:
    low = [topic(f"Z1.{k}", 0.1 * (k + 1)) for k in range(3)]
    nested = [topic("Z2.0", 0.5, *low[:2]), topic("Z2.1", 0.4, low[2])]
    assert to_text(nested).splitlines() == [
        "50.0 %  Z2.0  Z2.0",
        "├─ 10.0 %  Z1.0  Z1.0",
        "└─ 20.0 %  Z1.1  Z1.1",
        "40.0 %  Z2.1  Z2.1",
        "└─ 30.0 %  Z1.2  Z1.2",
    ]
    # the topics of higher levels come first, then the largest
    assert to_text(nested, max_lines=4).splitlines() == [
        "50.0 %  Z2.0  Z2.0",
        "└─ 20.0 %  Z1.1  Z1.1",
        "40.0 %  Z2.1  Z2.1",
        "└─ 30.0 %  Z1.2  Z1.2",
        "and 1 more",
    ]
    deep = [topic("Z3.0", 0.5, topic("Z2.0", 0.4, topic("Z1.0", 0.3)), topic("Z2.1", 0.2))]
    assert to_text(deep).splitlines()[2].startswith("│  └─ 30.0 %")
    assert to_text([]) == ""
