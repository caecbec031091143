"""Topics as text: JSON for programs, Markdown to read, and a tree for the terminal."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import asdict

from tsenet.topics.topic import Topic, TopicView, every_topic

_LISTED = 200  # words in no topic that the Markdown page lists


def to_json(topics: Iterable[Topic] | TopicView, *, ungrouped: Sequence[str] = ()) -> str:
    """Write topics as JSON text: nested objects with name, level, title, size, coherence, words, children.

    Parameters
    ----------
    topics : iterable of Topic, or TopicView
        As ``topic_tree`` or ``view_topics`` returns them.
    ungrouped : sequence of str, default=()
        The words in no topic.

    Returns
    -------
    str
        A JSON object with ``format``, ``format_version``, ``topics``, ``folded`` (a flat list; each topic has a
        ``reason``) and ``ungrouped``.

    Examples
    --------
    >>> import json
    >>> from tsenet.explain import Topic, to_json
    >>> json.loads(to_json([Topic("Z1.0", 1, "goal", 0.2, ())]))["topics"][0]["title"]
    'goal'
    """
    view = topics if isinstance(topics, TopicView) else TopicView(tuple(topics), ())
    document = {
        "format": "tsenet-topics",
        "format_version": 2,
        "topics": [asdict(topic) for topic in view.topics],
        "folded": [{**asdict(topic), "reason": reason} for topic, reason in view.folded],
        "ungrouped": list(ungrouped),
    }
    return json.dumps(document, indent=1, ensure_ascii=False, allow_nan=False) + "\n"


def to_markdown(topics: Iterable[Topic] | TopicView, *, ungrouped: Sequence[str] = ()) -> str:
    """Write topics as a nested Markdown list: share of documents, title, top words.

    Parameters
    ----------
    topics : iterable of Topic, or TopicView
        As ``topic_tree`` or ``view_topics`` returns them.
    ungrouped : sequence of str, default=()
        The words in no topic, most frequent first; the first 200 are listed.

    Returns
    -------
    str
        Markdown text; words are escaped.

    Examples
    --------
    >>> from tsenet.explain import Topic, TopicWord, to_markdown
    >>> word = TopicWord("goal", 0.1, 0.4, 0.01)
    >>> print(to_markdown([Topic("Z1.0", 1, "goal", 0.2, (word,))]).splitlines()[2])
    - 20.0 % **goal**: goal `Z1.0`
    """
    lines = ["# Topics", ""]
    view = topics if isinstance(topics, TopicView) else TopicView(tuple(topics), ())
    shown = view.topics
    folded = view.folded
    for topic in shown:
        _append_markdown(topic, 0, lines)

    if not shown:
        none = "all topics are folded away" if folded else "the tree has no latent variables"
        lines.append(f"No topics: {none}.")

    if folded:
        counts = Counter(reason for _, reason in folded)
        reasons = "; ".join(f"{counts[reason]} {reason}" for reason in sorted(counts))
        lines += [
            "",
            f"{len(folded)} of {len(folded) + len(list(every_topic(shown)))} topics are folded away: {reasons}.",
        ]

    if len(ungrouped):
        words = ", ".join(_escape(word) for word in ungrouped[:_LISTED])
        more = len(ungrouped) - _LISTED
        lines += [
            "",
            "# Words in no topic",
            "",
            f"{len(ungrouped)} words are in no topic: {words}"
            + (f", and {more} more." if more > 0 else "."),
        ]

    return "\n".join(lines) + "\n"


def to_text(topics: Iterable[Topic], max_lines: int | None = None) -> str:
    """Write topics as a tree of lines: share of the documents, title, id.

    Parameters
    ----------
    topics : iterable of Topic
        Nested.
    max_lines : int, optional
        Of more topics than this, leave out those of the lowest levels first, then the smallest.

    Returns
    -------
    str
        Lines without a line end at the end.

    Examples
    --------
    >>> from tsenet.explain import Topic, to_text
    >>> goal = Topic("Z1.0", 1, "goal, team", 0.2, ())
    >>> print(to_text([Topic("Z2.0", 2, "sport", 0.25, (), (goal,))]))
    25.0 %  sport  Z2.0
    └─ 20.0 %  goal, team  Z1.0
    """
    nested = list(topics)
    every = list(every_topic(nested))
    most_important = sorted(every, key=lambda topic: (-topic.level, -topic.size))
    shown = {topic.name for topic in most_important[:max_lines]}
    lines: list[str] = []

    def append(siblings: Sequence[Topic], indent: str, is_top: bool) -> None:
        visible = [topic for topic in siblings if topic.name in shown]
        for topic in visible:
            is_last = topic is visible[-1]
            branch = "" if is_top else "└─ " if is_last else "├─ "
            title = " ".join(topic.title.split())
            lines.append(f"{indent}{branch}{100 * topic.size:.1f} %  {title}  {topic.name}")
            below = "" if is_top else "   " if is_last else "│  "
            append(topic.children, indent + below, is_top=False)

    append(nested, "", is_top=True)
    n_more = len(every) - len(lines)
    if n_more:
        lines.append(f"and {n_more:,} more")

    return "\n".join(lines)


def _append_markdown(topic: Topic, depth: int, lines: list[str]) -> None:
    words = ", ".join(_escape(word.word) for word in topic.words) or "(no typical words)"
    title = f"**{_escape(topic.title)}**: " if topic.title else ""
    name = " ".join(topic.name.split()).replace("`", "'")
    lines.append(f"{'  ' * depth}- {100 * topic.size:.1f} % {title}{words} `{name}`")
    for child in topic.children:
        _append_markdown(child, depth + 1, lines)


def _escape(text: str) -> str:
    """Keep a word from being read as Markdown or HTML."""
    plain = " ".join(text.split())
    for character in "\\`*_[]<>&#|~":
        plain = plain.replace(character, f"\\{character}")
    return plain
