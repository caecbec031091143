"""Which topics are worth seeing first, and which of their words set them apart.

A word such as "said", which most documents have, tells much about the topics above it, and little about what they are
about. So words are ranked here by their *gain*: P(word | topic on) · log₂ of how much likelier the topic makes it.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from itertools import zip_longest

from tsenet.explain.topics import Topic, TopicWord

__all__ = ["gain", "interest", "label_of"]

_LABEL_WORDS = 3
_JUDGED_WORDS = 5


def gain(word: TopicWord, size: float) -> float:
    """How far a topic that is on in a share ``size`` of the documents sets a word apart, in bits."""
    overall = size * word.inside + (1.0 - size) * word.outside
    return word.inside * math.log2(word.inside / overall) if word.inside * overall > 0 else 0.0


def interest(topic: Topic) -> float:
    """Mean gain of the five best words, times the root of the entropy of being on.

    Topics that are on nearly always or nearly never separate few documents; topics of common words have little gain;
    a topic of one or two words, such as "new, york", is no theme: the words that it lacks count as 0.
    """
    best = sorted((gain(word, topic.size) for word in topic.words), reverse=True)[:_JUDGED_WORDS]
    rest = 1.0 - topic.size
    if not best or not 0.0 < topic.size < 1.0:
        return 0.0
    entropy = -topic.size * math.log2(topic.size) - rest * math.log2(rest)
    return max(0.0, sum(best) / _JUDGED_WORDS) * math.sqrt(entropy)


def label_of(topic: Topic, child_of: Mapping[str, str]) -> str:
    """Three words that set a topic apart: one from each of its best subtopics before two from one.

    Parameters
    ----------
    topic : Topic
    child_of : mapping of str to str
        For each word below the topic the subtopic, or any other group, that holds it.
    """
    ranked = sorted(topic.words, key=lambda word: -gain(word, topic.size))
    groups: dict[str, list[str]] = {}
    for word in ranked:
        groups.setdefault(child_of.get(word.word, word.word), []).append(word.word)
    rounds: Sequence[Sequence[str | None]] = list(zip_longest(*groups.values()))
    words = [word for words in rounds for word in words if word is not None]
    return ", ".join(words[:_LABEL_WORDS])
