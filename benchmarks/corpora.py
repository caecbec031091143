"""Made-up corpora of any size, with Zipf's word frequencies and topics."""

from __future__ import annotations

import numpy as np

from tsenet.data.rows import BinaryRows

TOPIC_WORDS = 50  # mean number of words in a topic
TOPICS_PER_ROW = 3
ROWS_AT_ONCE = 50_000


def zipf_corpus(n_words: int, n_rows: int, row_length: int = 40, seed: int = 0) -> BinaryRows:
    """Rows of ``row_length`` distinct words; word w has frequency ∝ 1/(w+1) and belongs to one topic.

    Each row has three topics (drawn by weight) that give 70 % of its words; the others come from any topic. Rows
    are topped up until they hold ``row_length`` different words, or as many as ten rounds bring.
    """
    rng = np.random.default_rng(seed)
    weight = 1.0 / np.arange(1, n_words + 1)
    n_topics = max(2, n_words // TOPIC_WORDS)
    topic = rng.integers(0, n_topics, n_words)
    by_topic = np.argsort(topic, kind="stable")
    edge = np.concatenate([[0.0], np.cumsum(weight[by_topic])])
    start = np.searchsorted(topic[by_topic], np.arange(n_topics + 1))
    topic_edge = edge[start]

    def draw_topics(shape: tuple[int, ...]) -> np.ndarray:
        return np.searchsorted(topic_edge, rng.random(shape) * topic_edge[-1], side="right") - 1

    parts = []
    for first in range(0, n_rows, ROWS_AT_ONCE):
        n = min(ROWS_AT_ONCE, n_rows - first)
        own = draw_topics((n, TOPICS_PER_ROW))
        words = np.full((n, row_length), -1, np.int64)
        for _ in range(10):
            short = np.flatnonzero((words < 0).any(axis=1))
            if short.size == 0:
                break
            shape = (short.size, row_length)
            pick = np.take_along_axis(own[short], rng.integers(0, TOPICS_PER_ROW, shape), axis=1)
            pick = np.where(rng.random(shape) < 0.7, pick, draw_topics(shape))
            low, high = topic_edge[pick], topic_edge[pick + 1]
            place = np.searchsorted(edge, low + rng.random(shape) * (high - low), side="right") - 1
            drawn = by_topic[np.minimum(place, n_words - 1)]
            words[short] = _distinct(np.concatenate([words[short], drawn], axis=1), row_length)
        parts.append(words)
    lists = [np.sort(row[row >= 0]) for part in parts for row in part]
    indptr = np.concatenate([[0], np.cumsum([row.size for row in lists])])
    return BinaryRows(indptr, np.concatenate(lists).astype(np.int32), n_words)


def _distinct(words: np.ndarray, row_length: int) -> np.ndarray:
    """Keep each row's first ``row_length`` different words; −1 fills what is missing."""
    order = np.argsort(words, axis=1, kind="stable")
    ranked = np.take_along_axis(words, order, axis=1)
    repeat = np.zeros(words.shape, bool)
    repeat[:, 1:] = ranked[:, 1:] == ranked[:, :-1]
    seen = np.empty(words.shape, bool)
    np.put_along_axis(seen, order, repeat, axis=1)
    usable = ~seen & (words >= 0)
    front = np.argsort(~usable, axis=1, kind="stable")[:, :row_length]
    return np.where(
        np.take_along_axis(usable, front, axis=1), np.take_along_axis(words, front, axis=1), -1
    )
