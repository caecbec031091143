"""The topics of a fitted model: which are shown and what they are called; rename, merge and reduce them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from numbers import Integral
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted

from tsenet.data.rows import BinaryRows
from tsenet.data.table import Table
from tsenet.data.text import rows_of_texts, splitter
from tsenet.errors import DataError
from tsenet.estimators import topic_facts
from tsenet.estimators.texts import are_texts
from tsenet.explain.presence import topic_probabilities, topics_above
from tsenet.explain.topic_view import TopicView, choose_topics, view_topics
from tsenet.explain.topics import Topic, every_topic, topic_tree, with_coherence
from tsenet.skeleton.tree import LatentTree

if TYPE_CHECKING:
    import pandas as pd
    from sklearn.feature_extraction.text import CountVectorizer

__all__ = ["FittedTopics"]


class FittedTopics(BaseEstimator):
    """A tree over words, and what is shown of it. Subclasses learn them and have the parameters."""

    top_words: int
    min_size: float
    min_coherence: float
    n_jobs: int | None

    tree_: LatentTree
    vectorizer_: CountVectorizer | None
    n_documents_: int
    _facts: topic_facts.Facts
    _labels: dict[str, str]  # that the user gave, by the ids of topics
    _seeded: tuple[str, ...]  # the ids of the topics of seed words, which are always shown
    _selection: tuple[str, ...] | None  # the ids of the topics that reduce() chose
    _rows: BinaryRows | None  # the documents; a model from a file has none
    _probabilities: Any  # of the topics in these documents; None until they are needed

    def set_params(self, **params: Any) -> Self:
        """Set parameters; those of what is shown, such as ``min_size``, take effect at once.

        Parameters
        ----------
        **params
            Values by name.

        Returns
        -------
        TopicModel
            The model itself.
        """
        super().set_params(**params)
        self._forget()
        return self

    @property
    def topics_(self) -> pd.DataFrame:
        """The topics shown; see the class."""
        check_is_fitted(self, "tree_")
        return self._frame

    @property
    def vocabulary_(self) -> tuple[str, ...]:
        """The words."""
        check_is_fitted(self, "tree_")
        return tuple(self.tree_.names[: self.tree_.n_observed])

    @property
    def ungrouped_(self) -> tuple[str, ...]:
        """The words in no topic of ``topics_``, most frequent first."""
        check_is_fitted(self, "tree_")
        shown = [self._column(topic.name) for topic in self._shown]
        alone = np.flatnonzero(~np.isin(topics_above(self.tree_), shown).any(axis=0))
        order = np.argsort(-self._facts.presence.word[alone], kind="stable")
        return tuple(self.tree_.names[v] for v in alone[order])

    @cached_property
    def view_(self) -> TopicView:
        """The topics as nested :class:`tsenet.explain.Topic`, and those that are not shown, with the reasons."""
        check_is_fitted(self, "tree_")
        scores = {
            name: float(score)
            for name, score in zip(self.tree_.latent_names, self._facts.coherence, strict=True)
            if not np.isnan(score)
        }
        topics = topic_tree(
            self.tree_,
            n_words=self.top_words,
            titles=self._labels,
            presence=self._facts.presence,
        )
        least = self.min_size
        if isinstance(least, int) and not isinstance(least, bool):
            least = least / max(1, self.n_documents_)
        return view_topics(
            with_coherence(topics, scores),
            min_size=least,
            min_coherence=self.min_coherence,
            keep=self._seeded,
        )

    @cached_property
    def _chosen(self) -> list[Topic]:
        """The topics of ``topics_``, nested; those that :meth:`reduce` chose are not nested."""
        if self._selection is None:
            return list(self.view_.topics)
        known = {topic.name: topic for topic in every_topic(self.view_.topics)}
        chosen = [known[name] for name in self._selection if name in known]
        return [replace(topic, children=()) for topic in chosen]

    @cached_property
    def _shown(self) -> list[Topic]:
        """The topics of ``topics_``, in its order."""
        return list(every_topic(self._chosen))

    @cached_property
    def _frame(self) -> pd.DataFrame:
        return topic_facts.frame_of(self._chosen, self._facts, self.tree_)

    def rename(self, labels: Mapping[str, str]) -> Self:
        """Give topics labels of your own.

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
        check_is_fitted(self, "tree_")
        for name in labels:
            self._column(name)
        self._labels = self._labels | {name: str(label) for name, label in labels.items()}
        self._forget()
        return self

    def merge(self, topics: Sequence[str], texts: Any = None) -> Self:
        """Merge topics of one level into the first of them, which is then on where any of them was.

        The new probabilities follow exactly from the old ones.

        Parameters
        ----------
        topics : sequence of str
            Ids of two or more topics.
        texts : sequence of str, Documents, or table, optional
            Documents from which to describe the topics; needed for a model from a file, which holds no documents.

        Returns
        -------
        TopicModel
            The model itself.

        Raises
        ------
        DataError
            If there is no topic of an id, or the topics are of different levels.
        """
        from tsenet.skeleton.merge import merge_latents

        rows = self._rows_of(texts)
        for name in topics:
            self._column(name)
        before = dict(zip(self.tree_.latent_names, self._facts.coherence, strict=True))
        self.tree_ = merge_latents(self.tree_, topics)
        self._probabilities = None
        known = self._probabilities_of(None) if texts is None else None
        self._facts = topic_facts.Facts.of(self.tree_, rows, known, self.n_jobs)
        # The words of the merged topic and of those above it are others now.
        changed = {topics[0], *_above(self.tree_, topics[0])}
        self._facts.coherence[:] = [
            np.nan if name in changed else before[name] for name in self.tree_.latent_names
        ]
        self._labels = {
            name: label for name, label in self._labels.items() if name in self.tree_.names
        }
        seeded = (topics[0] if name in topics else name for name in self._seeded)
        self._seeded = tuple(dict.fromkeys(seeded))
        if self._selection is not None:
            gone = set(topics[1:])
            self._selection = tuple(name for name in self._selection if name not in gone)
        if are_texts(texts):
            self._measure(self._table(texts), texts)
        self._forget()
        return self

    def reduce(self, n_topics: int | None) -> Self:
        """Show at most so many topics, none of them above or below another: those that tell most about the words.

        Parameters
        ----------
        n_topics : int or None
            Most topics to show; None shows the whole hierarchy again.

        Returns
        -------
        TopicModel
            The model itself. The tree is not changed.
        """
        check_is_fitted(self, "tree_")
        whole = isinstance(n_topics, Integral) and not isinstance(n_topics, bool | np.bool_)
        if n_topics is not None and (not whole or n_topics < 1):
            raise DataError(f"n_topics must be a whole number from 1 on, or None, not {n_topics!r}")
        self._selection = None
        if n_topics is not None:
            chosen = choose_topics(self.view_.topics, n_topics)
            self._selection = tuple(topic.name for topic in chosen)
        self._forget()
        return self

    # ---- inside

    def _table(self, texts: Any) -> Table:
        """New documents as a table of word counts."""
        check_is_fitted(self, "tree_")
        return Table.of(rows_of_texts(texts, self.vectorizer_))

    def _rows_of(self, texts: Any) -> BinaryRows:
        """Documents as rows of the tree; by default those of ``fit``."""
        check_is_fitted(self, "tree_")
        if texts is not None:
            return self.tree_.binary(self._table(texts))
        if self._rows is None:
            raise DataError("a model from a file holds no documents: give them as texts=")
        return self._rows

    def _probabilities_of(self, texts: Any, least: float = 0.01) -> Any:
        """P(topic on | document) of topics that have a word in the document; by default the documents of ``fit``."""
        rows = self._rows_of(texts)
        if texts is not None or least < 0.01:
            return topic_probabilities(self.tree_, rows, least, self.n_jobs)
        if self._probabilities is None:
            self._probabilities = topic_probabilities(self.tree_, rows, n_jobs=self.n_jobs)
        return self._probabilities

    def _column(self, topic: str) -> int:
        """Place of a topic among the latents."""
        check_is_fitted(self, "tree_")
        try:
            return self.tree_.latent_names.index(topic)
        except ValueError:
            some = ", ".join(t.name for t in self._shown[:3])
            raise DataError(
                f"there is no topic {topic!r}; topics_ lists the ids, such as {some}"
            ) from None

    def _measure(self, table: Table, texts: Any) -> None:
        """Measure the coherence of the topics that have none yet."""
        split = None if texts is None or self.vectorizer_ is None else splitter(self.vectorizer_)
        self._facts.measure_coherence(self.tree_, table, texts, split, self.top_words)

    def _forget(self) -> None:
        """Make what is derived anew when it is next asked for."""
        for name in ("view_", "_chosen", "_shown", "_frame"):
            self.__dict__.pop(name, None)


def _above(tree: LatentTree, topic: str) -> list[str]:
    """The latents above one, up to its ancestor in the top level."""
    node, found = tree.names.index(topic), []
    while tree.level[node] < tree.n_levels:
        node = int(tree.parent[node])
        found.append(tree.names[node])
    return found
