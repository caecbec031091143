"""What a reader is shown of a tree of topics: the sound ones, nested by size; or the best few of them."""

from __future__ import annotations

import heapq
from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace

from tsenet.explain.topics import Topic, every_topic

__all__ = ["TopicView", "choose_topics", "view_topics"]


@dataclass(frozen=True)
class TopicView:
    """Topics to show, and those folded away.

    Attributes
    ----------
    topics : tuple of Topic
        The topics shown, nested. No topic is larger than the one above it.
    folded : tuple of (Topic, str)
        The topics that are not shown, each with the reason.

    Examples
    --------
    >>> from tsenet.explain import TopicView
    >>> TopicView((), ()).topics
    ()
    """

    topics: tuple[Topic, ...]
    folded: tuple[tuple[Topic, str], ...]


def view_topics(
    topics: Sequence[Topic],
    *,
    min_size: float = 0.001,
    max_size: float = 0.9,
    min_coherence: float = 0.05,
    keep: Collection[str] = (),
) -> TopicView:
    """Fold unsound topics away, and nest the others so that no topic is larger than the one above it.

    The topics below a folded one take its place. A topic that is larger than the one above it is no part of it, so it
    moves up beside it.

    Parameters
    ----------
    topics : sequence of Topic
        As ``topic_tree`` returns them.
    min_size : float, default=0.001
        Fold topics that are present in a smaller share of the documents.
    max_size : float, default=0.9
        Fold topics that are present in a larger share of the documents: such a latent hardly varies.
    min_coherence : float, default=0.05
        Fold topics of level 1 of lower coherence, where it is known; −1 folds none. A higher topic brings several
        groups together, whose words need not stand close to each other.
    keep : collection of str, default=()
        Names of topics that are shown in any case.

    Returns
    -------
    TopicView

    Examples
    --------
    >>> from tsenet.explain import Topic, TopicWord, view_topics
    >>> words = (TopicWord("use", 0.1, 0.4, 0.1), TopicWord("used", 0.1, 0.4, 0.1))
    >>> view = view_topics([Topic("Z1.0", 1, "use, used", size=1.0, words=words)])
    >>> [(topic.title, reason) for topic, reason in view.folded]
    [('use, used', 'in nearly all documents')]
    """
    folded: list[tuple[Topic, str]] = []

    def reason_of(topic: Topic) -> str:
        if topic.name in keep:
            return ""
        if topic.size < min_size:
            return "in too few documents"
        if topic.size > max_size:
            return "in nearly all documents"
        if len(topic.words) < 2:
            return "fewer than two words"
        low = topic.coherence is not None and topic.coherence < min_coherence
        if low and topic.level == 1:
            return "its words hardly occur together"
        return ""

    def view(topic: Topic) -> list[Topic]:
        """The topic with what stays below it, and after it what moves up beside it."""
        below = [shown for child in topic.children for shown in view(child)]
        reason = reason_of(topic)
        if reason:
            folded.append((replace(topic, children=()), reason))
            return below
        children = tuple(_ordered([child for child in below if child.size <= topic.size]))
        return [
            replace(topic, children=children),
            *(child for child in below if child.size > topic.size),
        ]

    shown = _ordered([found for topic in topics for found in view(topic)])
    return TopicView(tuple(shown), tuple(folded))


def _ordered(topics: list[Topic]) -> list[Topic]:
    """Those of the highest level first, so that general words that moved up come last; then by size."""
    return sorted(topics, key=lambda topic: (-topic.level, -topic.size, topic.name))


def choose_topics(topics: Sequence[Topic], n_topics: int) -> list[Topic]:
    """Choose the topics that tell most about the words, none of them above or below another.

    The topics of the highest level come first. As long as there is room, the chosen topic whose replacement by those
    below it adds most information for each topic more is replaced. Topics of lower levels that moved up beside them
    fill the rest.

    Parameters
    ----------
    topics : sequence of Topic
        Nested, as in ``view_topics(...).topics``.
    n_topics : int
        Most topics to choose.

    Returns
    -------
    list of Topic
        At most ``n_topics``, in the order in which they are nested.

    Examples
    --------
    >>> from tsenet.explain import Topic, choose_topics
    >>> low = [Topic(f"Z1.{k}", 1, f"low {k}", 0.1, (), information=0.4) for k in range(2)]
    >>> high = Topic("Z2.0", 2, "high", 0.2, (), children=tuple(low), information=0.5)
    >>> [[topic.title for topic in choose_topics([high], n)] for n in (1, 2)]
    [['high'], ['low 0', 'low 1']]
    """
    place = {topic.name: k for k, topic in enumerate(every_topic(topics))}
    top = max((topic.level for topic in topics), default=0)
    best = sorted(topics, key=lambda topic: (topic.level < top, -topic.information))
    chosen = {topic.name: topic for topic in best[:n_topics] if topic.level == top}
    steps: list[tuple[float, int, Topic]] = []

    def offer(topic: Topic) -> None:
        if topic.children:
            gain = sum(child.information for child in topic.children) - topic.information
            gain /= max(
                1, len(topic.children) - 1
            )  # else the topic with most children is split first
            heapq.heappush(steps, (-gain, place[topic.name], topic))

    for topic in chosen.values():
        offer(topic)
    while steps and len(chosen) < n_topics:
        _, _, topic = heapq.heappop(steps)
        if len(chosen) - 1 + len(topic.children) <= n_topics:
            del chosen[topic.name]
            for child in topic.children:
                chosen[child.name] = child
                offer(child)
    for topic in best:
        if topic.level < top and len(chosen) < n_topics:
            chosen[topic.name] = topic
    return sorted(chosen.values(), key=lambda topic: place[topic.name])
