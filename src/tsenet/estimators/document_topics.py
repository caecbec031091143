"""Which topics documents have: each of them, the documents of a class or of a time, or all of them on a page."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from os import PathLike
from typing import TYPE_CHECKING, Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from sklearn.base import TransformerMixin
from sklearn.utils.validation import check_is_fitted

from tsenet.data.table import Table
from tsenet.errors import DataError
from tsenet.estimators import topic_facts
from tsenet.estimators.fitted_topics import FittedTopics
from tsenet.estimators.outside_memory import is_outside_memory, tables_of
from tsenet.estimators.texts import are_texts
from tsenet.explain.presence import PRESENT, topic_activity
from tsenet.explain.topics import Topic, every_topic, topic_tree
from tsenet.progress import as_progress

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["DocumentTopics"]


class DocumentTopics(TransformerMixin, FittedTopics):
    """Fitted topics that are asked about documents."""

    def transform(
        self,
        texts: Any,
        *,
        level: int | None = None,
        min_probability: float = 0.01,
    ) -> Any:
        """Return the probability of each topic in each document.

        It is P(topic on | document), exact in the model, and 0 for a topic that has no word in the document; so an
        empty document has no topic. A topic is present in a document if it has a probability of at least 0.5.

        Parameters
        ----------
        texts : sequence of str, Documents, table, or a folder of shards
            The documents.
        level : int, optional
            Only the topics of this level; default: all of ``topics_``.
        min_probability : float, default=0.01
            Leave out smaller probabilities.

        Returns
        -------
        csr_array, shape (documents, topics)
            Columns in the order of :meth:`get_feature_names_out`.
        """
        check_is_fitted(self, "tree_")
        columns = self._columns(level)
        if is_outside_memory(texts):
            found = [
                self._probabilities_of(table, min_probability)[:, columns]
                for table in tables_of(texts, self.vocabulary_)
            ]
            return sp.vstack(found, format="csr")
        return self._probabilities_of(self._table(texts), min_probability)[:, columns]

    def fit_transform(self, texts: Any, y: Any = None, **fit_params: Any) -> Any:
        """Learn the topics of documents, and return their probabilities in these documents.

        The same as :meth:`fit` and :meth:`transform` in turn, but the words are counted and the probabilities computed
        only once.

        Parameters
        ----------
        texts : sequence of str, Documents, table, or a folder of shards
            The documents.
        y : ignored
        **fit_params
            Further arguments of :meth:`fit`.

        Returns
        -------
        csr_array, shape (documents, topics)
            As :meth:`transform` returns it.
        """
        self.fit(texts, **fit_params)
        if is_outside_memory(texts):
            return self.transform(texts)
        return self._probabilities_of(None)[:, self._columns(None)]

    def get_feature_names_out(self, input_features: Any = None) -> NDArray[np.object_]:
        """Ids of the topics, one for each column that :meth:`transform` gives without ``level``."""
        check_is_fitted(self, "tree_")
        return np.array(self._names(None), dtype=object)

    def topics_of(self, text: str, *, min_probability: float = PRESENT) -> pd.DataFrame:
        """Return the topics that are present in one document, the most probable first.

        Parameters
        ----------
        text : str
            The document.
        min_probability : float, default=0.5
            Leave out topics that are less probable.

        Returns
        -------
        pandas.DataFrame
            Columns id, level, label and probability.
        """
        if not isinstance(text, str):
            raise DataError(
                f"topics_of takes one text, not a {type(text).__name__}: use transform for several"
            )
        pandas = topic_facts.pandas()
        row = self.transform([text], min_probability=min_probability).toarray()[0]
        order = np.argsort(-row, kind="stable")[: np.count_nonzero(row)]
        chosen = [self._shown[k] for k in order]
        return pandas.DataFrame(
            {
                "id": [topic.name for topic in chosen],
                "level": [topic.level for topic in chosen],
                "label": [topic.title for topic in chosen],
                "probability": row[order],
            }
        )

    def documents_of(self, topic: str, texts: Any = None, *, n_documents: int = 10) -> pd.DataFrame:
        """Return the documents in which a topic is present, the most probable first.

        Parameters
        ----------
        topic : str
            Id of the topic.
        texts : sequence of str, Documents, or table, optional
            The documents; default: those the model was fitted on. A model from a file holds none.
        n_documents : int, default=10
            Most documents to return.

        Returns
        -------
        pandas.DataFrame
            Columns document (its number, from 0) and probability.
        """
        pandas = topic_facts.pandas()
        column = self._column(topic)
        on = self._probabilities_of(texts)[:, [column]].toarray().ravel()
        order = np.argsort(-on, kind="stable")[: np.count_nonzero(on >= PRESENT)][:n_documents]
        return pandas.DataFrame({"document": order, "probability": on[order]})

    def per_class(
        self, labels: Sequence[Any], texts: Any = None, *, level: int | None = None
    ) -> pd.DataFrame:
        """Return the share of the documents of each class in which each topic is present.

        Parameters
        ----------
        labels : sequence
            The class of each document.
        texts : sequence of str, Documents, or table, optional
            The documents; default: those the model was fitted on.
        level : int, optional
            Only the topics of this level.

        Returns
        -------
        pandas.DataFrame
            A row for each class, a column for each topic.
        """
        pandas = topic_facts.pandas()
        return self._shares_of(pandas.Series(list(labels), name="class"), texts, level)

    def over_time(
        self,
        timestamps: Sequence[Any],
        texts: Any = None,
        *,
        n_bins: int | None = 20,
        level: int | None = None,
    ) -> pd.DataFrame:
        """Return the share of the documents of each time in which each topic is present.

        Parameters
        ----------
        timestamps : sequence
            The date of each document, or a number such as a year.
        texts : sequence of str, Documents, or table, optional
            The documents; default: those the model was fitted on.
        n_bins : int or None, default=20
            Divide the time into so many parts of equal length if there are more different dates; None keeps every
            date apart.
        level : int, optional
            Only the topics of this level.

        Returns
        -------
        pandas.DataFrame
            A row for each time (the start of the part), in order, and a column for each topic.
        """
        return self._shares_of(_parts_of_time(timestamps, n_bins), texts, level)

    def report(
        self,
        path: str | PathLike[str],
        texts: Any = None,
        *,
        quote: bool | Sequence[str] = True,
        along: Sequence[Any] | None = None,
        along_name: str = "label",
        progress: Any = None,
        **options: Any,
    ) -> None:
        """Write the topics of ``topics_`` as one HTML page to explore.

        Parameters
        ----------
        path : path
            The file to write; one of that name is replaced.
        texts : sequence of str, Documents, or table, optional
            Documents from which to compute sizes and typical documents; default: those the model was fitted on.
        quote : bool or sequence of str, default=True
            Whether the page quotes ``texts``, if they are texts; or what it quotes of each document instead.
        along : sequence, optional
            A date, label or number for each document; the page then shows the topics along it.
        along_name : str, default="label"
            What ``along`` is called on the page.
        progress : bool, callable, Progress or None, default=None
            Whether to show progress.
        **options
            Those of :class:`tsenet.explain.report.ReportOptions`.
        """
        from tsenet.explain.report.along import bins_of
        from tsenet.explain.report.page import write_page
        from tsenet.explain.report.payload import ReportOptions, topics_payload

        check_is_fitted(self, "tree_")
        rows = self._rows if texts is None else self._rows_of(texts)
        quotes = None if isinstance(quote, bool) else quote
        if quote is True and are_texts(texts):
            quotes = list(getattr(texts, "texts", texts))
        for name, values in (("quote", quotes), ("along", along)):
            n_rows = 0 if rows is None else rows.n_rows
            if values is not None and len(values) != n_rows:
                raise DataError(f"{name} has {len(values)} values for {n_rows} documents")
        topics, activity, table = self._chosen, None, None
        bins = None if along is None else bins_of(list(along))
        settings = ReportOptions(**{"title": "Topics", "words": True, **options})
        if rows is not None:
            table = Table.of(rows.to_csr(), names=self.vocabulary_)
            with as_progress(progress) as report:
                activity = topic_activity(
                    self.tree_,
                    rows,
                    self._probabilities_of(None) if texts is None else None,
                    n_best=settings.n_rows,
                    bins=bins,
                    n_jobs=self.n_jobs,
                    progress=report,
                )
        if activity is not None and texts is not None:  # the same topics, in these documents
            known = topic_tree(
                self.tree_,
                n_words=self.top_words,
                titles=self._labels,
                presence=activity.presence,
            )
            topics = _with_figures_of(topics, {topic.name: topic for topic in every_topic(known)})
        payload = topics_payload(
            *(self.tree_, topics, table, activity),
            texts=quotes,
            bins=bins,
            along_name=along_name,
            options=settings,
        )
        write_page(path, payload)

    def _names(self, level: int | None) -> list[str]:
        """Ids of the topics of a level, or of all, that are shown."""
        return [topic.name for topic in self._shown if level is None or topic.level == level]

    def _columns(self, level: int | None) -> list[int]:
        """Places among the latents of the topics of a level, or of all, that are shown."""
        names = self._names(level)
        if level is not None and not names:
            raise DataError(f"no topic of level {level} is shown")
        return [self._column(name) for name in names]

    def _shares_of(self, groups: pd.Series, texts: Any, level: int | None) -> pd.DataFrame:
        """Share of the documents of each group in which each topic is present."""
        columns = self._columns(level)
        present = self._probabilities_of(texts)[:, columns] >= PRESENT
        if len(groups) != present.shape[0]:
            raise DataError(f"{len(groups)} values for {present.shape[0]} documents")
        pandas = topic_facts.pandas()
        number, values = pandas.factorize(groups, sort=True)  # −1 for a document without a value
        known = np.flatnonzero(number >= 0)
        member = sp.csr_array(
            (np.ones(known.size), (number[known], known)), shape=(len(values), len(number))
        )
        shares = (member @ present).toarray() / np.bincount(number[known])[:, None]
        index = pandas.Index(values, name=groups.name)
        return pandas.DataFrame(shares, index=index, columns=self._names(level))


def _with_figures_of(topics: Sequence[Topic], known: Mapping[str, Topic]) -> list[Topic]:
    """Nested topics with the sizes and words that they have in ``known``."""
    return [
        replace(
            topic,
            size=known[topic.name].size,
            words=known[topic.name].words,
            children=tuple(_with_figures_of(topic.children, known)),
        )
        for topic in topics
    ]


def _parts_of_time(timestamps: Sequence[Any], n_bins: int | None) -> pd.Series:
    """Dates or numbers; if more than ``n_bins`` differ, the start of the part of the time that each is in."""
    pandas = topic_facts.pandas()
    times = pandas.Series(list(timestamps), name="time")
    if not pandas.api.types.is_numeric_dtype(times):
        times = pandas.to_datetime(times)
    if n_bins is None or times.nunique() <= n_bins:
        return times
    starts = pandas.Series(pandas.cut(times, n_bins, retbins=True)[1][:-1], name="time")
    starts.iloc[0] = times.min()
    place = np.searchsorted(starts.to_numpy(), times.to_numpy(), side="right") - 1
    known = times.notna().to_numpy()
    return starts.iloc[np.maximum(place, 0)].reset_index(drop=True).where(known)
