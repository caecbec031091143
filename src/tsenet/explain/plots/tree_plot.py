"""Plot of a tree of topics: levels from left to right, words beside the topics."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING

import numpy as np

from tsenet.errors import DataError
from tsenet.explain.plots._axes import COLOURS, INK, new_axes
from tsenet.explain.topics import Topic, topic_tree

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from tsenet.skeleton.tree import LatentTree

__all__ = ["plot_tree"]

_LINE = "#b4bcc6"
_MARK = 240.0  # area of a topic that is on in all rows, in square points


def plot_tree(
    tree: LatentTree | Sequence[Topic],
    ax: Axes | None = None,
    *,
    max_topics: int = 40,
    n_words: int = 4,
) -> Axes:
    """Draw an overview of a tree: its topics from the top level down as far as there is room, largest first.

    Parameters
    ----------
    tree : LatentTree, or sequence of Topic
        A tree, or topics as ``topic_tree`` returns them.
    ax : matplotlib Axes, optional
        Axes to draw on; a new figure by default.
    max_topics : int, default=40
        Levels are drawn downwards as long as each has at most this many topics; of a larger top level, the largest
        topics.
    n_words : int, default=4
        Words written beside each topic of the lowest level drawn.

    Returns
    -------
    matplotlib Axes
        The mark of a topic grows with its share of the rows.

    Raises
    ------
    DataError
        If the tree has no latents, or a number is below 1.

    Examples
    --------
    >>> from tsenet.explain import Topic, TopicWord
    >>> from tsenet.explain.plots import plot_tree
    >>> topic = Topic("Z1.0", 1, "goal", 0.2, (TopicWord("goal", 0.1, 0.4, 0.01),))
    >>> plot_tree([topic]).get_title()
    'Tree of topics: 1 of 1 drawn'
    """
    roots = list(tree) if isinstance(tree, Sequence) else topic_tree(tree)
    if not roots:
        raise DataError("the tree has no latents: there is nothing to draw")
    if max_topics < 1 or n_words < 1:
        raise DataError("max_topics and n_words must be at least 1")
    levels = [roots[:max_topics]]
    while below := [child for topic in levels[-1] for child in topic.children]:
        if len(below) > max_topics:
            break
        levels.append(below)
    height = _heights(levels)
    ax = new_axes(ax, (1.6 * len(levels) + 0.75 * n_words, 1.0 + 0.25 * (1 - min(height.values()))))
    for depth, topics in enumerate(levels):
        _draw(ax, depth, topics, height)
        for topic in topics:
            if depth == len(levels) - 1 or not topic.children:
                words = ", ".join(word.word for word in topic.words[:n_words]) or topic.name
                _write(ax, depth, height[topic.name], words)
    n_shown, n_all = sum(map(len, levels)), sum(1 for _ in _every(roots))
    ax.set_title(f"Tree of topics: {n_shown} of {n_all} drawn")
    ax.set(xlim=(-0.2, len(levels) - 1 + 0.45 * n_words), ylim=(min(height.values()) - 0.8, 0.8))
    ax.set_xticks(range(len(levels)), [f"level {topics[0].level}" for topics in levels])
    ax.set_yticks([])
    ax.xaxis.tick_top()
    ax.tick_params(length=0)
    ax.spines[:].set_visible(False)
    return ax


def _heights(levels: Sequence[Sequence[Topic]]) -> dict[str, float]:
    """Vertical positions: ends of branches one below the other, other topics at the mean of their children."""
    height: dict[str, float] = {}

    def place(topic: Topic, depth: int) -> float:
        if depth + 1 < len(levels) and topic.children:
            height[topic.name] = float(
                np.mean([place(child, depth + 1) for child in topic.children])
            )
        else:
            ended.append(topic.name)
            height[topic.name] = 1.0 - len(ended)
        return height[topic.name]

    ended: list[str] = []
    for root in levels[0]:
        place(root, 0)
    return height


def _draw(ax: Axes, depth: int, topics: Sequence[Topic], height: dict[str, float]) -> None:
    """The topics of one level, and their links to those below that are drawn."""
    for topic in topics:
        for child in topic.children:
            if child.name in height:
                _link(ax, depth, height[topic.name], height[child.name])
    ax.scatter(
        [depth] * len(topics),
        [height[topic.name] for topic in topics],
        s=[14 + _MARK * topic.size for topic in topics],
        color=COLOURS[depth % len(COLOURS)],
        edgecolors="white",
        linewidths=0.8,
        zorder=2,
    )


def _link(ax: Axes, depth: int, start: float, stop: float) -> None:
    """A curve from a topic to one of the next level."""
    from matplotlib.patches import PathPatch
    from matplotlib.path import Path

    points = [(depth, start), (depth + 0.5, start), (depth + 0.5, stop), (depth + 1, stop)]
    codes = [Path.MOVETO, Path.CURVE4, Path.CURVE4, Path.CURVE4]
    ax.add_patch(
        PathPatch(Path(points, codes), facecolor="none", edgecolor=_LINE, linewidth=1, zorder=1)
    )


def _write(ax: Axes, depth: int, height: float, text: str) -> None:
    ax.annotate(
        text,
        (depth, height),
        (11, 0),
        textcoords="offset points",
        va="center",
        fontsize=8,
        color=INK,
        parse_math=False,  # a word may hold dollar signs
    )


def _every(topics: Iterable[Topic]) -> Iterator[Topic]:
    """All topics of the tree."""
    for topic in topics:
        yield topic
        yield from _every(topic.children)
