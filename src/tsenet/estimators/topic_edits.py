"""How people change the topics of a fitted model: other labels, other topics, fewer of them."""

from __future__ import annotations

from collections.abc import Callable, Container, Iterable, Mapping, Sequence
from itertools import count
from typing import Any, Self

import numpy as np
from sklearn.utils.validation import check_is_fitted

from tsenet._system.threads import blas_threads
from tsenet.errors import DataError
from tsenet.estimators.base import POSITIVE
from tsenet.estimators.shown_topics import ShownTopics
from tsenet.topics.describe import N_TYPICAL
from tsenet.topics.presence import strongest_rows
from tsenet.topics.split import split
from tsenet.topics.starts import Start
from tsenet.topics.topic import choose_topics


class TopicEdits(ShownTopics):
    """Changes of the topics of a fitted model, in place; those that are pinned survive the next ``fit``."""

    def rename(self, labels: Mapping[str, str]) -> Self:
        """Give topics labels of your own; they stay when the model is fitted again (see :meth:`pin`).

        Parameters
        ----------
        labels : mapping of str to str
            New labels by the id of the topic.

        Returns
        -------
        TopicModel
            The model itself.

        Raises
        ------
        DataError
            If there is no topic of an id.
        """
        check_is_fitted(self, "binary_rule_")
        self._labels = self._labels | {name: str(label) for name, label in labels.items()}
        self._clear_cache()
        return self.pin(labels)

    def label_with(
        self,
        function: Callable[[list[str], list[str]], str],
        texts: Sequence[str] | None = None,
        *,
        embeddings: Any = None,
        n_documents: int = N_TYPICAL,
    ) -> Self:
        """Title the topics shown with a function of yours, such as one that asks a language model; no topic is pinned.

        Parameters
        ----------
        function : callable
            Takes the words of a topic, best first, and its typical documents; returns a title. An empty title leaves
            the topic its own.
        texts : sequence of str, optional
            Texts among which the typical documents are; without them the function gets none.
        embeddings : array-like (N, d), optional
            Vectors of ``texts``, for a model that was fitted with some.
        n_documents : int, default=3
            Maximum number of typical documents.

        Returns
        -------
        TopicModel
            The model itself.
        """
        check_is_fitted(self, "binary_rule_")
        typical: dict[str, list[str]] = {topic.name: [] for topic in self._shown}
        if texts is not None:
            texts = list(texts)
            strengths = self._strengths_of(self._rows_of(texts, embeddings))
            rows, _ = strongest_rows(strengths, n_documents)
            for name in typical:
                of_topic = rows[self._column(name)]
                typical[name] = [texts[row] for row in of_topic.tolist() if row >= 0]

        for topic in self._shown:
            title = function([word.word for word in topic.words], typical[topic.name])
            if not isinstance(title, str):
                raise DataError(
                    f"the function must return a title, not {title!r}, for {topic.title!r}"
                )
            if title.strip():
                self._labels[topic.name] = title.strip()

        self._clear_cache()
        return self

    def pin(self, topics: Iterable[str]) -> Self:
        """Keep topics when the model is fitted again: their words then start a topic of the same level.

        Topics that were renamed or merged are pinned, too.

        Parameters
        ----------
        topics : iterable of str
            Ids of topics.

        Returns
        -------
        TopicModel
            The model itself.

        Raises
        ------
        DataError
            If there is no topic of an id.
        """
        for name in topics:
            column = self._column(name)
            words = self._description.words_of(column, self.top_words)
            known = tuple(word.word for word in words)
            level = int(self._description.level[column])
            self._pins = [pin for pin in self._pins if (pin.level, pin.words) != (level, known)]
            self._pins.append(Start(level, self._labels.get(name, ""), known))
        return self

    def merge(self, topics: Sequence[str], texts: Any = None, *, embeddings: Any = None) -> Self:
        """Merge topics of one level into the first of them, which takes over the words and topics below the others.

        Parameters
        ----------
        topics : sequence of str
            Ids of two or more topics.
        texts : sequence of str or table, optional
            Documents from which to describe the topics; needed for a model from a file, which holds no documents.
        embeddings : array-like (N, d), optional
            Vectors of ``texts``, for a model that was fitted with some.

        Returns
        -------
        TopicModel
            The model itself.

        Raises
        ------
        DataError
            If there is no topic of an id, or the topics are of different levels.
        """
        check_is_fitted(self, "binary_rule_")
        columns = [self._column(name) for name in dict.fromkeys(topics)]
        if len(columns) < 2:
            raise DataError("merging needs at least two different topics")
        levels = np.unique(self._description.level[columns]).tolist()
        if len(levels) > 1:
            raise DataError(
                f"only topics of one level can be merged, but these are of levels {levels}"
            )

        rows = self._rows_of(texts, embeddings)
        self._hierarchy, moved = self._hierarchy.merged(columns)
        names = [name for name, k in zip(self._description.ids, moved, strict=True) if k >= 0]
        self._strengths = None
        self._description = self._describe(rows, names)

        # What belongs to the topics: labels, seed words, whether they are shown.
        self._labels = {name: label for name, label in self._labels.items() if name in names}
        of_merged = [word for name in topics for word in self._seed_words.pop(name, ())]
        if of_merged:
            self._seed_words[topics[0]] = tuple(dict.fromkeys(of_merged))

        if self._selection is not None:
            self._selection = tuple(name for name in self._selection if name in names)

        self._clear_cache()
        return self.pin(topics[:1])

    def split(self, topic: str, texts: Any = None, *, embeddings: Any = None) -> Self:
        """Split a topic in two: the subjects of its own documents. The first half keeps its id, both are pinned.

        Topics below it join the half whose words they have.

        Parameters
        ----------
        topic : str
            Id of the topic.
        texts : sequence of str or table, optional
            Documents to learn from; needed for a model from a file, which holds no documents.
        embeddings : array-like (N, d), optional
            Vectors of ``texts``, for a model that was fitted with some.

        Returns
        -------
        TopicModel
            The model itself.

        Raises
        ------
        DataError
            If there is no topic of the id, or its documents have no two subjects.
        """
        column = self._column(topic)
        rows = self._rows_of(texts, embeddings)
        with blas_threads(1):
            self._hierarchy, old = split(self._hierarchy, column, rows)

        # If it was pinned, it is no more: its halves are.
        level = int(self._description.level[column])
        words = self._description.words_of(column, self.top_words)
        known = tuple(word.word for word in words)
        self._pins = [pin for pin in self._pins if (pin.level, pin.words) != (level, known)]

        ids = list(self._description.ids)
        new_id = _free_id(topic, {*ids, *self.vocabulary_})
        new_column = int(np.flatnonzero(old == column)[1])
        ids = [ids[k] for k in old]
        ids[new_column] = new_id
        self._seed_words.pop(topic, None)
        self._labels.pop(topic, None)
        if self._selection is not None and topic in self._selection:
            self._selection = (*self._selection, new_id)

        self._strengths = None
        self._description = self._describe(rows, ids)
        self._clear_cache()
        return self.pin([topic, new_id])

    def reduce(self, n_topics: int | None) -> Self:
        """Show at most this many topics, none of them above or below another: the most informative ones.

        Parameters
        ----------
        n_topics : int or None
            Maximum number of topics to show; None shows the whole hierarchy again.

        Returns
        -------
        TopicModel
            The model itself. The hierarchy is not changed.
        """
        check_is_fitted(self, "binary_rule_")
        if n_topics is not None and (n_topics is True or not POSITIVE.is_satisfied_by(n_topics)):
            raise DataError(f"n_topics must be a whole number from 1 on, or None, not {n_topics!r}")
        self._selection = None
        self._clear_cache()
        if n_topics is not None:
            chosen = choose_topics(self.view_.topics, n_topics)
            self._selection = tuple(topic.name for topic in chosen)
            self._clear_cache()
        return self


def _free_id(topic: str, taken: Container[str]) -> str:
    """A new id of the level of a topic: ``Z1.7`` after ``Z1.6``, if no topic has it."""
    stem, _, _ = topic.rpartition(".")
    return next(name for k in count() if (name := f"{stem}.{k}") not in taken)
