"""The topics of a fitted model: which are shown and what they are called; rename, merge and reduce them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
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
    _selection: tuple[str, ...] | None  # the ids of the topics that reduce() chose
    _rows: BinaryRows | None  # the documents; a model from a file has none

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
        """The words in no topic, most frequent first."""
        check_is_fitted(self, "tree_")
        alone = self.tree_.ungrouped
        order = np.argsort(-self.tree_.cpt[alone, 0, 1], kind="stable")
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
            self.tree_, n_words=self.top_words, titles=self._labels, sizes=self._facts.sizes
        )
        least = self.min_size
        if isinstance(least, int) and not isinstance(least, bool):
            least = least / max(1, self.n_documents_)
        return view_topics(
            with_coherence(topics, scores), min_size=least, min_coherence=self.min_coherence
        )

    @cached_property
    def _shown(self) -> list[Topic]:
        """The topics of ``topics_``, in its order."""
        topics = list(every_topic(self.view_.topics))
        if self._selection is None:
            return topics
        known = {topic.name: topic for topic in topics}
        return [known[name] for name in self._selection if name in known]

    @cached_property
    def _frame(self) -> pd.DataFrame:
        return topic_facts.frame_of(self.view_, self._shown, self._facts, self.tree_)

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
        self._facts = topic_facts.describe(self.tree_, rows, self.n_jobs)
        # The words of the merged topic and of those above it are others now.
        changed = {topics[0], *_above(self.tree_, topics[0])}
        self._facts.coherence[:] = [
            np.nan if name in changed else before[name] for name in self.tree_.latent_names
        ]
        self._labels = {
            name: label for name, label in self._labels.items() if name in self.tree_.names
        }
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
        for name in ("view_", "_shown", "_frame"):
            self.__dict__.pop(name, None)


def _above(tree: LatentTree, topic: str) -> list[str]:
    """The latents above one, up to its ancestor in the top level."""
    node, found = tree.names.index(topic), []
    while tree.level[node] < tree.n_levels:
        node = int(tree.parent[node])
        found.append(tree.names[node])
    return found
