"""What a fitted topic model holds, and which of its topics it shows."""

from __future__ import annotations

import warnings
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from tsenet.data.binary import BinaryRows, BinaryRule
from tsenet.data.cells import Cells
from tsenet.data.table import Table
from tsenet.data.text import WordCounts, as_counts
from tsenet.errors import DataError, count_of
from tsenet.estimators.base import SavedEstimator
from tsenet.estimators.checked_rows import checked_embeddings
from tsenet.topics.describe import TopicDescription, describe_hierarchy
from tsenet.topics.hierarchy import TopicHierarchy
from tsenet.topics.likelihood import DocumentFit
from tsenet.topics.listing import to_text
from tsenet.topics.starts import Start
from tsenet.topics.topic import Topic, TopicView, every_topic, view_topics

if TYPE_CHECKING:
    import pandas as pd
    from sklearn.feature_extraction.text import CountVectorizer

LEAST = 0.01  # smaller strengths of topics are left out


@dataclass(frozen=True, eq=False)
class DocumentRows(BinaryRows):
    """Which words occur in documents, and how many more.

    Attributes
    ----------
    n_unknown : int64 (N,)
        Different words of each document that are not in the vocabulary; 0 in a table of counts.
    distance : float32 (N,)
        How far each document's vector is from the nearest cell; NaN without a vector.
    """

    n_unknown: NDArray[np.int64]
    distance: NDArray[np.float32]

    @classmethod
    def of_counts(cls, table: Table, rule: BinaryRule) -> Self:
        """Rows of word counts."""
        rows = rule.apply(table)
        n_unknown = np.zeros(rows.n_rows, np.int64)
        if isinstance(table, WordCounts):
            n_unknown = table.n_unknown
        return cls.of(rows, n_unknown)

    @classmethod
    def of(
        cls,
        rows: BinaryRows,
        n_unknown: NDArray[np.int64],
        distance: NDArray[np.float32] | None = None,
    ) -> Self:
        """The same rows, with the numbers of their unknown words and the distances of their vectors, if any."""
        if distance is None:
            distance = np.full(rows.n_rows, np.nan, np.float32)
        return cls(rows.indptr, rows.indices, rows.n_columns, n_unknown, distance)

    def beside(self, cells: Cells, vectors: Any) -> DocumentRows:
        """The documents with the cells of their vectors as hidden words."""
        distance = None if vectors is None else cells.distances(vectors)
        return DocumentRows.of(cells.beside(self, vectors), self.n_unknown, distance)


class ShownTopics(SavedEstimator):
    """The topics of a fitted model: all of them, what the documents say of them, and which are shown."""

    top_words: int
    min_size: float
    min_coherence: float

    binary_rule_: BinaryRule
    vectorizer_: CountVectorizer | None
    n_documents_: int
    _hierarchy: TopicHierarchy  # all topics, also those that are not shown
    _description: TopicDescription  # what the documents say about them
    _fit: DocumentFit  # which documents fit the topics
    _n_outliers: int  # documents of n_documents_ that fit none
    _labels: dict[str, str]  # chosen by the user, by topic id
    _seed_words: dict[str, tuple[str, ...]]  # of each topic that words started, by its id
    _pins: list[Start]  # topics that fit keeps
    _selection: tuple[str, ...] | None  # ids of the topics that reduce() chose
    _cells: Cells | None  # of embeddings, as hidden words; None in a model of words alone
    _rows: DocumentRows | None  # the documents of fit; None in a model from a file
    _phrases: dict[tuple[int, int], int]  # pairs of words that are phrases in the texts
    _strengths: Any  # of the topics in these documents; None until they are needed

    def __str__(self) -> str:
        """The topics shown as a tree of lines; the parameters of a model that is not fitted."""
        if not hasattr(self, "binary_rule_"):
            return repr(self)
        n_documents = count_of(self.n_documents_, "document")
        head = f"{len(self._shown):,} topics of {n_documents}, {len(self.vocabulary_):,} words"
        if self.n_outliers_:
            head += f"; {count_of(self.n_outliers_, 'outlier')} without a topic"
        return f"{head}\n{to_text(self.view_.topics)}"

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
        self._clear_cache()
        return self

    @property
    def topics_(self) -> pd.DataFrame:
        """The topics shown; see the class."""
        import pandas as pd

        check_is_fitted(self, "binary_rule_")
        shown = self._shown
        parent = {below.name: topic.name for topic in shown for below in topic.children}
        words = [[(word.word, word.weight) for word in topic.words] for topic in shown]

        columns = self._columns(None)
        described = self._description
        share = described.share[columns]
        members = described.members()
        return pd.DataFrame(
            {
                "id": [topic.name for topic in shown],
                "level": [topic.level for topic in shown],
                "parent": [parent.get(topic.name) for topic in shown],
                "kinship": self._hierarchy.kinship[columns],
                "label": [topic.title for topic in shown],
                "words": words,
                "share": share,
                "n_documents": np.rint(share * self.n_documents_).astype(np.int64),
                "members": [members[column] for column in columns],
                "coherence": described.coherence[columns],
                "documents": [
                    documents[documents >= 0].tolist() for documents in described.typical[columns]
                ],
            }
        )

    @property
    def n_outliers_(self) -> int:
        """Documents of the fit in which no topic is present, because they fit none."""
        check_is_fitted(self, "binary_rule_")
        return self._n_outliers

    @property
    def vocabulary_(self) -> tuple[str, ...]:
        """The words."""
        check_is_fitted(self, "binary_rule_")
        return self.binary_rule_.names

    @property
    def ungrouped_(self) -> tuple[str, ...]:
        """The words that neither belong to a topic of ``topics_`` nor describe one, most frequent first."""
        topics = self.topics_
        shown = {word for members in topics["members"] for word in members}
        shown |= {word for words in topics["words"] for word, _ in words}
        order = np.argsort(-self._description.word_share, kind="stable")
        return tuple(word for word in map(self.vocabulary_.__getitem__, order) if word not in shown)

    @cached_property
    def view_(self) -> TopicView:
        """The topics of ``topics_`` as nested :class:`tsenet.explain.Topic`, and those left out, with the reasons.

        Topics that :meth:`reduce` chose are not nested.
        """
        check_is_fitted(self, "binary_rule_")
        least = self.min_size
        if isinstance(least, int) and not isinstance(least, bool):
            least = least / max(1, self.n_documents_)

        topics = self._description.topics(self.top_words, self._labels)
        keep = tuple(self._seed_words)
        if least <= 0 and self.min_coherence <= -1:  # every topic that has words
            keep = tuple(topic.name for topic in every_topic(topics) if topic.words)

        view = view_topics(topics, min_size=least, min_coherence=self.min_coherence, keep=keep)
        if self._selection is None:
            return view
        known = {topic.name: topic for topic in every_topic(view.topics)}
        chosen = [known[name] for name in self._selection if name in known]
        return replace(view, topics=tuple(replace(topic, children=()) for topic in chosen))

    @cached_property
    def _shown(self) -> list[Topic]:
        """The topics of ``topics_``, in its order."""
        return list(every_topic(self.view_.topics))

    # ---- what documents and changes need of the topics

    def _describe(self, rows: DocumentRows, ids: Sequence[str]) -> TopicDescription:
        """Words and shares of the topics; those of seed words have these."""
        column = {word: k for k, word in enumerate(self.vocabulary_)}
        topic = {name: k for k, name in enumerate(ids)}
        seeds = {
            topic[name]: [column[word] for word in words[: self.top_words]]
            for name, words in self._seed_words.items()
            if name in topic
        }
        return describe_hierarchy(
            self._hierarchy,
            rows,
            self.vocabulary_,
            ids,
            n_shown=self.top_words,
            seeds=seeds,
            phrases=self._phrases,
            fits=self._fits(rows),
        )

    def _rows_of(self, texts: Any, embeddings: Any = None) -> DocumentRows:
        """Which words occur in documents, and which hidden ones; by default those of ``fit``."""
        check_is_fitted(self, "binary_rule_")
        if texts is not None:
            rows = self._words_of(texts)
            return (
                rows
                if self._cells is None and embeddings is None
                else self._with_cells(rows, embeddings)
            )
        if embeddings is not None:
            raise DataError("embeddings need the texts that they are of")
        if self._rows is None:
            raise DataError("a model from a file holds no documents: give them as texts=")
        return self._rows

    def _words_of(self, texts: Any) -> DocumentRows:
        """Which words occur in documents."""
        check_is_fitted(self, "binary_rule_")
        table = Table.of(as_counts(texts, self.vectorizer_), columns=self.binary_rule_.names_in)
        return DocumentRows.of_counts(table, self.binary_rule_)

    def _with_cells(self, rows: DocumentRows, embeddings: Any) -> DocumentRows:
        """Words of documents with the cells that their embeddings are in."""
        if self._cells is None:
            raise DataError(
                "the topics were learned from words alone: leave out embeddings, or learn them with fit(texts, "
                "embeddings=...)"
            )
        if embeddings is None:
            warnings.warn(
                "the topics were learned with embeddings, and none are given: the words alone tell the topics of "
                "these documents, less well if they are short. Give embeddings= of the same encoder",
                stacklevel=4,  # where the method was called
            )
            return rows.beside(self._cells, None)
        return rows.beside(self._cells, checked_embeddings(embeddings, rows.n_rows, np.float32))

    def _word_table(self, rows: BinaryRows) -> Table:
        """Which words occur in documents."""
        words = rows.first_columns(len(self.vocabulary_))
        return Table.of(words.to_csr(), names=self.vocabulary_)

    def _fits(self, rows: DocumentRows) -> NDArray[np.bool_]:
        """Which documents fit the topics, by their vectors, or their words if they have none: bool (N,)."""
        n_words = len(self.vocabulary_)
        words = rows.first_columns(n_words)  # hidden ones are not asked for
        fits = self._fit.fits(self._hierarchy.of_words(n_words), words, rows.n_unknown)
        if self._cells is None:
            return fits
        return np.where(np.isnan(rows.distance), fits, rows.distance <= self._cells.radius)

    def _strengths_of(self, rows: DocumentRows, least: float = LEAST) -> Any:
        """Strength of all topics in documents; that of the documents of ``fit`` is computed once."""
        if rows is not self._rows or least != LEAST:
            return self._hierarchy.strengths(rows, least, self._fits(rows))
        if self._strengths is None:
            self._strengths = self._hierarchy.strengths(rows, LEAST, self._fits(rows))
        return self._strengths

    def _column(self, topic: str) -> int:
        """The number of a topic in the hierarchy."""
        check_is_fitted(self, "binary_rule_")
        try:
            return self._description.ids.index(topic)
        except ValueError:
            some = ", ".join(t.name for t in self._shown[:3])
            raise DataError(
                f"there is no topic {topic!r}; topics_ lists the ids, such as {some}"
            ) from None

    def _names(self, level: int | None) -> list[str]:
        """Ids of the topics shown, of one level or of all."""
        return [topic.name for topic in self._shown if level is None or topic.level == level]

    def _columns(self, level: int | None) -> list[int]:
        """Numbers in the hierarchy of the topics shown, of one level or of all."""
        names = self._names(level)
        if level is not None and not names:
            raise DataError(f"no topic of level {level} is shown")
        return [self._column(name) for name in names]

    def _column_titles(self, level: int | None) -> list[str]:
        """Labels of the topics shown, with the id where several have the same."""
        topics = [topic for topic in self._shown if level is None or topic.level == level]
        count = Counter(topic.title for topic in topics)
        return [t.title if count[t.title] == 1 else f"{t.title} ({t.name})" for t in topics]

    def _clear_cache(self) -> None:
        """Forget what is derived from the topics, the labels and the parameters."""
        for name in ("view_", "_shown"):
            self.__dict__.pop(name, None)
