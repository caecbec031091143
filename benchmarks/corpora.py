"""Made-up corpora of any size, with Zipf's word frequencies and topics."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from tsenet.data.binary import BinaryRows

TOPIC_WORDS = 50  # mean number of words in a topic
TOPICS_PER_ROW = 3
OWN_TOPICS = 0.7  # share of a row's draws that come from its own topics
ROUNDS = 10
ROWS_AT_ONCE = 20_000


def zipf_corpus(n_words: int, n_rows: int, row_length: int = 40, seed: int = 0) -> BinaryRows:
    """Rows of ``row_length`` distinct words; word w has frequency ∝ 1/(w+1) and belongs to one topic.

    Each row has three topics (drawn by weight) that give 70 % of its words; the others come from any topic. Rows
    are topped up until they hold ``row_length`` different words, or as many as ten rounds bring.
    """
    return BinaryRows.concatenate(zipf_blocks(n_words, n_rows, row_length, seed))


def zipf_blocks(
    n_words: int, n_rows: int, row_length: int = 40, seed: int = 0
) -> Iterator[BinaryRows]:
    """The rows of :func:`zipf_corpus` in blocks of 20,000, of which only one is in memory."""
    rng = np.random.default_rng(seed)
    topics = _Topics(n_words, rng)
    for first in range(0, n_rows, ROWS_AT_ONCE):
        n = min(ROWS_AT_ONCE, n_rows - first)
        words = np.sort(_draw_rows(topics, n, row_length, rng), axis=1)
        lengths = (words >= 0).sum(axis=1)  # −1 stands for a missing word
        ends = np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64)
        yield BinaryRows(ends, words[words >= 0], n_words)


class _Topics:
    """Words laid out topic by topic on a line, each as long as its weight: a draw is a point on the line."""

    def __init__(self, n_words: int, rng: np.random.Generator) -> None:
        n_topics = max(2, n_words // TOPIC_WORDS)
        topic = rng.integers(0, n_topics, n_words)
        self.words = np.argsort(topic, kind="stable").astype(np.int32)
        self.edge = np.concatenate([[0.0], np.cumsum(1.0 / (self.words + 1.0))])
        self.topic_edge = self.edge[np.searchsorted(topic[self.words], np.arange(n_topics + 1))]

    def draw_topics(self, rng: np.random.Generator, shape: tuple[int, ...]) -> NDArray[np.int64]:
        point = rng.random(shape) * self.topic_edge[-1]
        topic: NDArray[np.int64] = np.searchsorted(self.topic_edge, point, side="right") - 1
        return topic

    def draw_words(self, rng: np.random.Generator, topic: NDArray[np.int64]) -> NDArray[np.int32]:
        low, high = self.topic_edge[topic], self.topic_edge[topic + 1]
        place = np.searchsorted(self.edge, low + rng.random(topic.shape) * (high - low), "right")
        drawn: NDArray[np.int32] = self.words[np.minimum(place, self.words.size) - 1]
        return drawn


def _draw_rows(
    topics: _Topics, n_rows: int, row_length: int, rng: np.random.Generator
) -> NDArray[np.int32]:
    """A block of rows as words (n, row_length), −1 where ten rounds did not bring enough different ones."""
    own = topics.draw_topics(rng, (n_rows, TOPICS_PER_ROW))
    words = np.full((n_rows, row_length), -1, np.int32)
    for _ in range(ROUNDS):
        short = np.flatnonzero((words < 0).any(axis=1))
        if short.size == 0:
            break
        shape = (short.size, row_length)
        pick = np.take_along_axis(own[short], rng.integers(0, TOPICS_PER_ROW, shape), axis=1)
        pick = np.where(rng.random(shape) < OWN_TOPICS, pick, topics.draw_topics(rng, shape))
        drawn = topics.draw_words(rng, pick)
        words[short] = _distinct(np.concatenate([words[short], drawn], axis=1), row_length)
    return words


def _distinct(words: NDArray[np.int32], row_length: int) -> NDArray[np.int32]:
    """Keep each row's first ``row_length`` different words; −1 fills what is missing."""
    order = np.argsort(words, axis=1, kind="stable")
    ranked = np.take_along_axis(words, order, axis=1)
    repeat = np.zeros(words.shape, bool)
    repeat[:, 1:] = ranked[:, 1:] == ranked[:, :-1]
    seen = np.empty(words.shape, bool)
    np.put_along_axis(seen, order, repeat, axis=1)
    usable = ~seen & (words >= 0)
    front = np.argsort(~usable, axis=1, kind="stable")[:, :row_length]
    kept = np.take_along_axis(words, front, axis=1)
    return np.where(np.take_along_axis(usable, front, axis=1), kept, np.int32(-1))
