"""The topics of the texts, and which texts belong to each."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

import tsenet
from tsenet.errors import DataError

__all__ = ["Topics", "learn_topics"]

# Topics for the proposals are narrower than those that people look at: so many, and none of fewer texts on average.
_NARROW = 60
_TEXTS_PER_TOPIC = 10

Ints = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class Topics:
    """The topics of N texts: T of them, those of higher levels before those below them.

    Attributes
    ----------
    ids : list of str
    parent : int64 (T,)
        The topic above each; −1 for none.
    level : int64 (T,)
        1 is the lowest.
    titles : list of str
    words : list of list of str
    strengths : csr_array (N, T)
        How strong each topic is in each text; from 0.5 on it is present.
    narrower : Topics, optional
        More topics of the same texts, of one level: typical texts of these are proposed.
    """

    ids: list[str]
    parent: Ints
    level: Ints
    titles: list[str]
    words: list[list[str]]
    strengths: sp.csr_array
    narrower: Topics | None = None
    _members: dict[int, Ints] = field(default_factory=dict, repr=False)

    @classmethod
    def none(cls, n_texts: int) -> Topics:
        """No topics, as of three texts."""
        nothing = np.empty(0, np.int64)
        return cls([], nothing, nothing, [], [], sp.csr_array((n_texts, 0)))

    @cached_property
    def by_topic(self) -> sp.csc_array:
        """The strengths by topic: (N, T)."""
        return sp.csc_array(self.strengths)

    @cached_property
    def lowest(self) -> Ints:
        """The topics of level 1."""
        return np.flatnonzero(self.level == 1)

    @cached_property
    def main(self) -> Ints:
        """The strongest topic of level 1 of each text; −1 for texts without topics: (N,)."""
        if not self.lowest.size:
            return np.full(self.strengths.shape[0], -1)

        dense = self.strengths[:, self.lowest].toarray()  # (N, lowest topics)
        return np.where(dense.any(axis=1), self.lowest[dense.argmax(axis=1)], -1)

    def texts_of(self, topic: int) -> Ints:
        """The texts in which a topic is present, the strongest first."""
        columns = self.by_topic
        column = slice(int(columns.indptr[topic]), int(columns.indptr[topic + 1]))
        texts = columns.indices[column]
        strength = columns.data[column]

        order = np.argsort(-strength, kind="stable")
        return np.asarray(texts[order][strength[order] >= 0.5], np.int64)

    def members(self, topic: int) -> Ints:
        """The texts whose main topic is this one, or one below it: those that a label of the whole topic is for."""
        if topic not in self._members:
            below = [k for k in self.lowest.tolist() if topic in self.chain(k)]
            texts = self.texts_of(topic)
            self._members[topic] = texts[np.isin(self.main[texts], below)]
        return self._members[topic]

    def chain(self, topic: int) -> list[int]:
        """A topic and those above it."""
        topics = [topic]
        while (topic := int(self.parent[topic])) >= 0:
            topics.append(topic)
        return topics

    def in_tree_order(self) -> list[int]:
        """The topics, each followed by those below it, the strongest first."""
        strength = np.asarray(self.strengths.sum(axis=0)).ravel()  # (T,)
        below: dict[int, list[int]] = {}
        for topic in np.argsort(-strength, kind="stable").tolist():
            below.setdefault(int(self.parent[topic]), []).append(topic)

        order: list[int] = []
        waiting = below.get(-1, [])[::-1]
        while waiting:
            topic = waiting.pop()
            order.append(topic)
            waiting += below.get(topic, [])[::-1]
        return order


def learn_topics(texts: Sequence[str], embeddings: NDArray[Any] | None = None) -> Topics:
    """Learn the topics of texts; none where there are too few of them or of their words.

    Parameters
    ----------
    texts : sequence of str
    embeddings : array (N, d), optional
        Vectors of the texts from a pretrained encoder: titles and other short texts get better topics.
    """
    topics = _learned(tsenet.TopicModel(), texts, embeddings)
    n_narrow = min(_NARROW, len(texts) // _TEXTS_PER_TOPIC)
    if not 0 < topics.lowest.size < n_narrow:
        return topics

    narrower = _learned(tsenet.TopicModel(levels=[n_narrow]), texts, embeddings)
    return replace(topics, narrower=narrower) if narrower.ids else topics


def _learned(
    model: tsenet.TopicModel, texts: Sequence[str], embeddings: NDArray[Any] | None
) -> Topics:
    """The topics that a model finds; none where there are too few texts or words."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # the page has no place for advice on options
        try:
            strengths = sp.csr_array(model.fit_transform(list(texts), embeddings=embeddings))
        except DataError:
            return Topics.none(len(texts))

    table = model.topics_
    number = {name: k for k, name in enumerate(table["id"])}
    return Topics(
        table["id"].tolist(),
        np.array([number.get(name, -1) for name in table["parent"]], np.int64),
        table["level"].to_numpy(np.int64),
        table["label"].tolist(),
        [[word for word, _ in words] for words in table["words"]],
        strengths,
    )
