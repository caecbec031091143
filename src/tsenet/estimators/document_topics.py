"""Which topics documents have: each of them, the documents of a class or of a time, or all of them on a page."""

from __future__ import annotations

from collections.abc import Sequence
from os import PathLike
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from sklearn.base import TransformerMixin
from sklearn.utils.validation import check_is_fitted

from tsenet.data.rows import BinaryRows
from tsenet.data.table import Table
from tsenet.errors import DataError
from tsenet.estimators import topic_facts
from tsenet.estimators.fitted_topics import FittedTopics
from tsenet.estimators.outside_memory import is_outside_memory, tables_of
from tsenet.estimators.texts import are_texts
from tsenet.explain.shares import document_shares
from tsenet.explain.topics import every_topic

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
        output: Literal["auto", "probability", "share"] = "auto",
        min_probability: float = 0.01,
    ) -> Any:
        """Say which topics documents have.

        Parameters
        ----------
        texts : sequence of str, Documents, table, or a folder of shards
            The documents.
        level : int, optional
            Only the topics of this level; default: all of ``topics_``.
        output : {"auto", "probability", "share"}, default="auto"
            "probability": P(topic on | document), exact in the model; a document can have many topics. "share": the
            document divided among the topics, so that rows sum to 1. "auto": shares if the topics are not nested
            (after :meth:`reduce`, or with ``level``), else probabilities.
        min_probability : float, default=0.01
            Smaller values are left out. 0 keeps all.

        Returns
        -------
        csr_array, shape (documents, topics)
            Columns in the order of :meth:`get_feature_names_out`.
        """
        if is_outside_memory(texts):
            found = [
                self._transform(self.tree_.binary(table), level, output, min_probability)
                for table in tables_of(texts, self.vocabulary_)
            ]
            return sp.vstack(found, format="csr")
        table = self._table(texts)
        return self._transform(self.tree_.binary(table), level, output, min_probability)

    def get_feature_names_out(self, input_features: Any = None) -> NDArray[np.object_]:
        """Ids of the topics, one for each column that :meth:`transform` gives without ``level``."""
        check_is_fitted(self, "tree_")
        return np.array(self._names(None), dtype=object)

    def topics_of(self, text: str, *, min_probability: float = 0.1) -> pd.DataFrame:
        """Return the topics of one document, the most probable first.

        Parameters
        ----------
        text : str
            The document.
        min_probability : float, default=0.1
            Leave out topics that are less probable.

        Returns
        -------
        pandas.DataFrame
            Columns id, level, label and probability.
        """
        pandas = topic_facts.pandas()
        row = self.transform([text], min_probability=min_probability).toarray()[0]
        order = [
            k for k in np.argsort(-row, kind="stable") if row[k] >= max(min_probability, 1e-300)
        ]
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
        """Return the documents that are most about a topic.

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
        on = topic_facts.posterior(self.tree_, self._rows_of(texts), self.n_jobs)[:, [column]]
        on = on.toarray().ravel()
        order = np.argsort(-on, kind="stable")[:n_documents]
        return pandas.DataFrame({"document": order, "probability": on[order]})

    def per_class(
        self, labels: Sequence[Any], texts: Any = None, *, level: int | None = None
    ) -> pd.DataFrame:
        """Return how much of each class is about each topic.

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
            A row for each class, a column for each topic: the mean of :meth:`transform` over the class.
        """
        pandas = topic_facts.pandas()
        return self._means(pandas.Series(list(labels), name="class"), texts, level)

    def over_time(
        self,
        timestamps: Sequence[Any],
        texts: Any = None,
        *,
        n_bins: int | None = 20,
        level: int | None = None,
    ) -> pd.DataFrame:
        """Return how much of the documents of each time is about each topic.

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
            A row for each time (the start of the part), in order, and a column for each topic: the mean of
            :meth:`transform` over its documents.
        """
        return self._means(_parts_of_time(timestamps, n_bins), texts, level)

    def report(
        self, path: str | PathLike[str], texts: Any = None, *, quote: bool = True, **options: Any
    ) -> None:
        """Write the topics as one HTML page to explore.

        The page shows the whole tree, with the labels of ``topics_``. Topics that ``topics_`` leaves out come last.

        Parameters
        ----------
        path : path
            The file to write; one of that name is replaced.
        texts : sequence of str, Documents, or table, optional
            Documents from which to compute sizes and typical documents; default: those the model was fitted on.
        quote : bool, default=True
            Whether the page quotes ``texts``.
        **options
            ``along`` (a date, label or number for each document) and ``along_name``, ``progress``, and those of
            :class:`tsenet.explain.report.ReportOptions`.
        """
        from tsenet.explain.report import write_report

        check_is_fitted(self, "tree_")
        known = self._rows if texts is None else self.tree_.binary(self._table(texts))
        X = None if known is None else Table.of(known.to_csr(), names=self.vocabulary_)
        quoted = list(getattr(texts, "texts", texts)) if are_texts(texts) and quote else None
        titles = {topic.name: topic.title for topic in every_topic(self.view_.topics)}
        chosen = {
            "title": "Topics",
            "words": True,
            "titles": titles | self._labels,
            "folded": {topic.name: reason for topic, reason in self.view_.folded},
        }
        write_report(path, self.tree_, X, texts=quoted, **{**chosen, **options})

    def _transform(self, rows: BinaryRows, level: int | None, output: str, least: float) -> Any:
        """Probabilities or shares of the topics of a level, or of all, in the rows."""
        names = self._names(level)
        if not names:
            raise DataError(f"no topic of level {level} is shown" if level else "no topic is shown")
        if output not in ("auto", "probability", "share"):
            raise ValueError(f"output must be 'auto', 'probability' or 'share', not {output!r}")
        columns = np.array([self._column(name) for name in names])
        flat = level is not None or self._selection is not None
        if output == "share" or (output == "auto" and flat):
            return document_shares(rows, self._facts.profiles.distributions(columns), least)
        return topic_facts.posterior(self.tree_, rows, self.n_jobs, columns, least)

    def _names(self, level: int | None) -> list[str]:
        """Ids of the topics of a level, or of all, that are shown."""
        return [topic.name for topic in self._shown if level is None or topic.level == level]

    def _means(self, groups: pd.Series, texts: Any, level: int | None) -> pd.DataFrame:
        """Mean of the transformed documents in each group."""
        rows = self._rows_of(texts)
        if len(groups) != rows.n_rows:
            raise DataError(f"{len(groups)} values for {rows.n_rows} documents")
        values = self._transform(rows, level, "auto", 0.0).toarray()
        frame = topic_facts.pandas().DataFrame(values, columns=self._names(level))
        return frame.groupby(groups).mean()


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
