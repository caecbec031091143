"""Titles of topics: a few of the words that describe each."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from tsenet.topics.topic import TopicWord

TITLE_WORDS = 3


def titles(words: Sequence[Sequence[TopicWord]], parent: Sequence[int]) -> list[str]:
    """The first words of each topic that no topic next to it has.

    Parameters
    ----------
    words : sequence of sequences of TopicWord
        The words of each topic, best first.
    parent : sequence of int
        The number of the topic above each; −1 for none.
    """
    n_topics = Counter(
        (above, word.word)
        for above, of_topic in zip(parent, words, strict=True)
        for word in of_topic
    )
    found = []
    for above, of_topic in zip(parent, words, strict=True):
        own_first = sorted(of_topic, key=lambda word: n_topics[above, word.word] > 1)
        found.append(", ".join(word.word for word in own_first[:TITLE_WORDS]))
    return found
