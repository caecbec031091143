"""What people ask a fitted topic model of documents: which topics they have, where, when, and how good these are."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from os import PathLike
from typing import TYPE_CHECKING, Any, Self

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from sklearn.utils._set_output import _get_output_config
from sklearn.utils.validation import check_is_fitted

from tsenet.data.blocks import is_outside_memory, tables_of
from tsenet.data.text import are_texts
from tsenet.errors import DataError
from tsenet.estimators.shown_topics import LEAST, DocumentRows, ShownTopics
from tsenet.estimators.topic_words import split_words
from tsenet.explain.bins import calendar_periods, round_step
from tsenet.explain.topic_scores import hierarchy_scores
from tsenet.skeleton.tree import LatentTree
from tsenet.topics.likelihood import mean_log_likelihood
from tsenet.topics.presence import PRESENT

if TYPE_CHECKING:
    import pandas as pd

#: Why rows outside of memory have no embeddings.
NO_FOLDERS = "embeddings are not supported for a folder: load the documents, or leave them out"


class TopicsOfDocuments(ShownTopics):
    """The topics of documents, those of ``fit`` or others."""

    def transform(
        self,
        texts: Any = None,
        *,
        embeddings: Any = None,
        level: int | None = None,
        min_strength: float = LEAST,
    ) -> Any:
        """Return the strength of each topic in each document, from 0 to 1.

        The evidence for a topic is the share of the document's words that belong to it, weighted by how much each word
        tells about topics, as far as it exceeds the topic's mean share. If it is at least half that of the document's
        main topic of that level, the topic is *present*: its strength is 0.5 plus half its share. Otherwise the
        strength is the ratio to the main topic. A topic is at least as strong as those below it. Outliers, whose words
        are less likely in the model than those of nearly all documents of the fit, have no topics (see
        :meth:`predict`).

        Parameters
        ----------
        texts : sequence of str, table, or a folder of shards, optional
            The documents; default: those the model was fitted on.
        embeddings : array-like (N, d), optional
            Vectors of ``texts``, for a model that was fitted with some. Without them the words alone tell the topics,
            and a warning says so.
        level : int, optional
            Only the topics of this level; default: all of ``topics_``.
        min_strength : float, default=0.01
            Leave out smaller strengths.

        Returns
        -------
        csr_array, shape (documents, topics)
            Columns in the order of :meth:`get_feature_names_out`; a data frame after :meth:`set_output`.
        """
        strengths = self._shown_strengths(texts, embeddings, level, min_strength)
        if _get_output_config("transform", self)["dense"] == "pandas":
            import pandas as pd

            names = self._names(level)
            return pd.DataFrame.sparse.from_spmatrix(strengths, columns=names)
        return strengths

    def _shown_strengths(
        self, texts: Any, embeddings: Any, level: int | None, min_strength: float
    ) -> Any:
        check_is_fitted(self, "binary_rule_")
        columns = self._columns(level)
        if is_outside_memory(texts):
            if embeddings is not None:
                raise DataError(NO_FOLDERS)
            tables = tables_of(texts, self.vocabulary_)
            blocks = [self._shown_strengths(table, None, level, min_strength) for table in tables]
            return sp.vstack(blocks, format="csr")
        return self._strengths_of(self._rows_of(texts, embeddings), min_strength)[:, columns]

    def predict(
        self, texts: Any = None, *, embeddings: Any = None, level: int | None = None
    ) -> NDArray[np.int64]:
        """Return the main topic of each document, and −1 for outliers, which fit none.

        A document fits if its words, given the topics of its other words, are not less likely than those of nearly all
        documents of the fit, or if half of its words are of one topic. About 2 % of the documents of the fit are
        outliers, and many of another kind. Words of a text that the model does not know count too. With embeddings a
        document fits if its vector is about as near to others as the vectors of the fit are.

        Parameters
        ----------
        texts : sequence of str, table, or a folder of shards, optional
            The documents; default: those the model was fitted on.
        embeddings : array-like (N, d), optional
            Vectors of ``texts``, for a model that was fitted with some.
        level : int, optional
            Only topics of this level; default: those of ``topics_`` that have none below them.

        Returns
        -------
        ndarray of int64, shape (documents,)
            Rows of ``topics_``, from 0; −1 where no topic is present.
        """
        return self._main_topics(self._shown_strengths(texts, embeddings, None, LEAST), level)

    def assign_outliers(
        self, texts: Any = None, *, embeddings: Any = None, level: int | None = None
    ) -> NDArray[np.int64]:
        """Return the main topic of each document as :meth:`predict` does, for outliers the nearest one.

        Parameters
        ----------
        texts : sequence of str or table, optional
            The documents; default: those the model was fitted on.
        embeddings : array-like (N, d), optional
            Vectors of ``texts``, for a model that was fitted with some.
        level : int, optional
            Only topics of this level; default: those of ``topics_`` that have none below them.

        Returns
        -------
        ndarray of int64, shape (documents,)
            Rows of ``topics_``, from 0; −1 only for documents without a word of a topic.
        """
        strengths = self._hierarchy.strengths(self._rows_of(texts, embeddings), LEAST)
        return self._main_topics(strengths[:, self._columns(None)], level)

    def _main_topics(self, strengths: Any, level: int | None) -> NDArray[np.int64]:
        """The strongest of the topics shown in each document, if it is present: (N,)."""
        is_asked = [
            not topic.children if level is None else topic.level == level for topic in self._shown
        ]
        asked = np.flatnonzero(is_asked)
        if not asked.size:
            self._columns(level)  # raises
            return np.full(strengths.shape[0], -1)

        of_asked = sp.csr_array(strengths)[:, asked]
        is_present = of_asked.max(axis=1).toarray().ravel() >= PRESENT
        return np.where(is_present, asked[of_asked.argmax(axis=1).ravel()], -1)

    def set_output(self, *, transform: str | None = None) -> Self:
        """Choose what :meth:`transform` returns.

        Parameters
        ----------
        transform : {"default", "pandas"}, optional
            A sparse array, or a data frame of sparse columns named by the ids of the topics; None changes nothing.

        Returns
        -------
        TopicModel
            The model itself.

        Raises
        ------
        DataError
            For another kind of output.
        """
        if transform not in (None, "default", "pandas"):
            raise DataError(f"set_output takes transform='default' or 'pandas', not {transform!r}")
        if transform is not None:
            self._sklearn_output_config = {"transform": transform}
        return self

    def get_feature_names_out(self, input_features: Any = None) -> NDArray[np.object_]:
        """Ids of the topics, one for each column that :meth:`transform` gives without ``level``."""
        check_is_fitted(self, "binary_rule_")
        return np.array(self._names(None), dtype=object)

    def topics_of(
        self, text: str, *, embedding: Any = None, min_strength: float = PRESENT
    ) -> pd.DataFrame:
        """Return the topics that are present in one document, the strongest first.

        Parameters
        ----------
        text : str
            The document.
        embedding : array-like (d,), optional
            Its vector, for a model that was fitted with some.
        min_strength : float, default=0.5
            Leave out weaker topics.

        Returns
        -------
        pandas.DataFrame
            Columns id, level, label and strength.
        """
        if not isinstance(text, str):
            raise DataError(
                f"topics_of takes one text, not a {type(text).__name__}: use transform for several"
            )
        vectors = None if embedding is None else [embedding]
        strength = self._shown_strengths([text], vectors, None, min_strength).toarray()[0]
        found = self.topics_[["id", "level", "label"]].assign(strength=strength)[strength > 0]
        return found.sort_values("strength", ascending=False, kind="stable", ignore_index=True)

    def documents_of(
        self, topic: str, texts: Any = None, *, embeddings: Any = None, n_documents: int = 10
    ) -> pd.DataFrame:
        """Return the documents in which a topic is present, the strongest first.

        Parameters
        ----------
        topic : str
            Id of the topic.
        texts : sequence of str or table, optional
            The documents; default: those the model was fitted on. A model from a file holds none.
        embeddings : array-like (N, d), optional
            Vectors of ``texts``, for a model that was fitted with some.
        n_documents : int, default=10
            Maximum number of documents to return.

        Returns
        -------
        pandas.DataFrame
            Columns document (its number, from 0) and strength.
        """
        import pandas as pd

        column = self._column(topic)
        strengths = self._strengths_of(self._rows_of(texts, embeddings))
        on = strengths[:, [column]].toarray().ravel()
        order = np.argsort(-on, kind="stable")[: np.count_nonzero(on >= PRESENT)][:n_documents]
        return pd.DataFrame({"document": order, "strength": on[order]})

    def per_class(
        self,
        labels: Sequence[Any],
        texts: Any = None,
        *,
        embeddings: Any = None,
        level: int | None = None,
    ) -> pd.DataFrame:
        """Return the share of the documents of each class in which each topic is present.

        Parameters
        ----------
        labels : sequence
            The class of each document.
        texts : sequence of str or table, optional
            The documents; default: those the model was fitted on.
        embeddings : array-like (N, d), optional
            Vectors of ``texts``, for a model that was fitted with some.
        level : int, optional
            Only the topics of this level.

        Returns
        -------
        pandas.DataFrame
            A row for each class, a column for each topic, under its label (and its id, if several have that label).
        """
        import pandas as pd

        groups = pd.Series(list(labels), name="class")
        return self._group_shares(groups, self._rows_of(texts, embeddings), level)

    def over_time(
        self,
        timestamps: Sequence[Any],
        texts: Any = None,
        *,
        embeddings: Any = None,
        n_bins: int | None = 20,
        level: int | None = None,
    ) -> pd.DataFrame:
        """Return the share of the documents of each time in which each topic is present.

        Parameters
        ----------
        timestamps : sequence
            The date of each document, or a number such as a year.
        texts : sequence of str or table, optional
            The documents; default: those the model was fitted on.
        embeddings : array-like (N, d), optional
            Vectors of ``texts``, for a model that was fitted with some.
        n_bins : int or None, default=20
            If there are more distinct dates, put them into this many calendar periods at most (days, weeks, months,
            quarters, years or several years), and numbers into ranges of a round length; None keeps all separate.
        level : int, optional
            Only the topics of this level.

        Returns
        -------
        pandas.DataFrame
            A row for each time (the start of the period), in order, and a column for each topic, under its label (and
            its id, if several have that label).
        """
        rows = self._rows_of(texts, embeddings)
        return self._group_shares(_time_bins(timestamps, n_bins), rows, level)

    def _group_shares(
        self, groups: pd.Series, rows: DocumentRows, level: int | None
    ) -> pd.DataFrame:
        """Share of the documents of each group in which each topic is present."""
        import pandas as pd

        columns = self._columns(level)
        present = self._strengths_of(rows)[:, columns] >= PRESENT
        if len(groups) != present.shape[0]:
            raise DataError(f"{len(groups)} values for {present.shape[0]} documents")

        group, values = pd.factorize(groups, sort=True)  # −1 for a document without a value
        known = np.flatnonzero(group >= 0)
        ones = np.ones(known.size)
        of_group = sp.csr_array((ones, (group[known], known)), shape=(len(values), len(group)))
        n_documents = np.bincount(group[known])
        shares = (of_group @ present).toarray() / n_documents[:, None]
        index = pd.Index(values, name=groups.name)
        return pd.DataFrame(shares, index=index, columns=self._column_titles(level))

    def evaluate(self, texts: Any = None, *, embeddings: Any = None) -> pd.DataFrame:
        """Score the topics of each level on documents, at best on some that the model has not seen.

        Parameters
        ----------
        texts : sequence of str or table, optional
            The documents; default: those the model was fitted on.
        embeddings : array-like (N, d), optional
            Vectors of ``texts``, for a model that was fitted with some.

        Returns
        -------
        pandas.DataFrame
            A row for each level, the top one first, with the scores that :func:`tsenet.explain.hierarchy_scores`
            describes (``npmi_window`` for texts), and ``word_coverage``, the share of the words in a topic.
        """
        import pandas as pd

        texts = list(texts) if isinstance(texts, Iterator) else texts
        rows = self._rows_of(texts, embeddings)
        tokens = None
        if are_texts(texts) and self.vectorizer_ is not None:
            tokens = split_words(texts, self.vectorizer_)
        present = self._strengths_of(rows)[:, self._columns(None)] >= PRESENT
        scores = hierarchy_scores(self.view_.topics, self._word_table(rows), present, tokens=tokens)
        frame = pd.DataFrame(scores)
        frame["word_coverage"] = 1.0 - len(self.ungrouped_) / max(1, len(self.vocabulary_))
        return frame

    def score(self, texts: Any, y: Any = None) -> float:
        """Score the model on documents that it has not seen, as ``GridSearchCV`` and ``cross_val_score`` need.

        The score is the mean logarithm of the probability of each word, given the topics of the document's other
        words. Words of no topic are as likely as in all documents. Only models of the same words can be compared: the
        more words, the less likely each is. Embeddings, which know the whole document, are not read, so that models
        learned with and without them can be compared.

        Parameters
        ----------
        texts : sequence of str or table
            The documents.
        y : ignored

        Returns
        -------
        float
            In nats for each word, below 0; higher is better.
        """
        texts = list(texts) if isinstance(texts, Iterator) else texts
        fit = self._fit
        rows = self._words_of(texts)
        of_words = self._hierarchy.of_words(rows.n_columns)
        return mean_log_likelihood(of_words, fit.n_documents, fit.n_all, rows)

    def report(
        self,
        path: str | PathLike[str],
        texts: Any = None,
        *,
        embeddings: Any = None,
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
        texts : sequence of str or table, optional
            Documents from which to compute sizes and typical documents; default: those the model was fitted on.
        embeddings : array-like (N, d), optional
            Vectors of ``texts``, for a model that was fitted with some.
        quote : bool or sequence of str, default=True
            Whether the page quotes ``texts``, if they are texts; or what it quotes of each document instead.
        along : sequence, optional
            A date, label or number for each document; the page then shows the topics along it.
        along_name : str, default="label"
            What ``along`` is called on the page.
        progress : bool, callable, Progress or None, default=None
            Whether to show progress.
        **options
            ``title``, ``n_features`` and ``n_rows`` of :func:`tsenet.explain.report.write_report`.
        """
        from tsenet.explain.report import write_report

        check_is_fitted(self, "binary_rule_")
        has_rows = self._rows is not None or texts is not None
        rows = self._rows_of(texts, embeddings) if has_rows else None
        quotes = None if isinstance(quote, bool) else quote
        if quote is True and are_texts(texts):
            quotes = list(texts)

        strengths = table = None
        if rows is not None:
            table = self._word_table(rows)
            strengths = self._strengths_of(rows)

        write_report(
            path,
            self,
            table,
            description=self._description,
            texts=quotes,
            along=along,
            along_name=along_name,
            topics=self.view_.topics,
            strengths=strengths,
            kinship=self._hierarchy.kinship,
            progress=progress,
            **{"title": "Topics", "words": True, **options},
        )

    def to_tree(self, texts: Any = None, *, embeddings: Any = None) -> LatentTree:
        """The topics as a latent tree, for programs that read one: its probabilities are the rates in documents.

        Parameters
        ----------
        texts : sequence of str or table, optional
            The documents; default: those the model was fitted on.
        embeddings : array-like (N, d), optional
            Vectors of ``texts``, for a model that was fitted with some.

        Returns
        -------
        LatentTree
            A latent for each topic, also for those that are not shown, of the same name. It is a description, not a
            model of the documents that was fitted to them: see :func:`tsenet.learn_tree` for one.
        """
        rows = self._rows_of(texts, embeddings)
        ids = self._description.ids
        return self._hierarchy.latent_tree(rows, self.binary_rule_, ids, self._fits(rows))


def _time_bins(timestamps: Sequence[Any], n_bins: int | None) -> pd.Series:
    """Dates or numbers; if there are more than ``n_bins`` distinct ones, the start of the period that each is in."""
    import pandas as pd

    times = pd.Series(list(timestamps), name="time")
    is_number = pd.api.types.is_numeric_dtype(times)
    if not is_number:
        try:
            times = pd.to_datetime(times).dt.tz_localize(None)
        except (ValueError, TypeError) as error:
            raise DataError(f"timestamps must be dates or numbers: {error}") from error

    if n_bins is None or times.nunique() <= n_bins:
        return times

    if is_number:
        is_whole = bool((times.dropna() % 1 == 0).all())
        step = round_step(float(times.max() - times.min()), n_bins, least=1.0 if is_whole else 0.0)
        start = times // step * step
        return start.astype(times.dtype) if is_whole else start

    return calendar_periods(times, n_bins).dt.start_time.rename("time")
