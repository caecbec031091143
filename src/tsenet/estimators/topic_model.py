"""Documents in, topics out."""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from functools import cached_property
from numbers import Integral
from os import PathLike
from typing import TYPE_CHECKING, Any, Literal, Self

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.utils.validation import check_is_fitted

from tsenet.data.rows import BinaryRows
from tsenet.data.table import Table
from tsenet.data.text import WordCounter
from tsenet.errors import DataError
from tsenet.estimators import topic_facts
from tsenet.estimators.outside_memory import (
    UsesCluster,
    is_outside_memory,
    opened,
    tables_of,
)
from tsenet.estimators.parameters import check_parameters
from tsenet.estimators.texts import are_texts
from tsenet.explain.shares import WordProfiles, document_shares
from tsenet.explain.topic_view import TopicView, choose_topics, view_topics
from tsenet.explain.topics import Topic, every_topic, topic_tree, with_coherence
from tsenet.memory import check_memory, topics_need
from tsenet.progress import as_progress
from tsenet.skeleton.hlta import learn_tree
from tsenet.skeleton.tree import LatentTree

if TYPE_CHECKING:
    import pandas as pd


__all__ = ["TopicModel"]

_TREE_OPTIONS = (
    *("max_island", "max_top", "ud_threshold", "correlation_test", "structure_samples"),
    *("refine_steps", "em_restarts", "piece_size", "leftovers", "full_depth"),
)
_WORD_OPTIONS = (
    *("n_words", "stop_words", "min_documents", "max_df", "tokenizer", "ngrams", "lowercase"),
    "select",
)


class TopicModel(UsesCluster, TransformerMixin, BaseEstimator):
    """A hierarchy of topics, learned from documents.

    A topic is a latent of the tree (:class:`tsenet.LatentTree`): it is on in some documents and makes its words more
    likely there. Topics of level 1 are directly above the words; each higher level groups topics that occur together.
    The number of topics is found, not given. The same ``random_state`` gives the same topics, on any number of
    threads.

    Parameters
    ----------
    n_words : int or None, default=10_000
        Size of the vocabulary; None keeps all words.
    stop_words : str, collection of str, or None, default="english"
        Words to leave out, as for :func:`tsenet.data.vectorize`.
    min_documents : int, default=2
        Leave out words that occur in fewer documents.
    max_df : float, default=1.0
        Leave out words that occur in a larger share of the documents.
    tokenizer : str or callable, default="unicode"
        How to split text into words, as for :class:`tsenet.data.WordCounter`.
    ngrams : int, default=1
        Longest n-gram: 2 also counts pairs of neighbouring words.
    lowercase : bool, default=True
        Whether to lower-case the words.
    select : {"frequency", "tfidf"}, default="frequency"
        Which ``n_words`` words to keep.
    seed_words : mapping of str to list of str, or list of lists of str, optional
        Guided topics: words that shall be in one topic of level 1. The keys of a mapping become the labels of these
        topics. The other topics are found as usual.
    top_words : int, default=10
        Most words that describe a topic.
    min_size : int or float, default=0.001
        Do not show topics that are on in fewer documents: a number of documents (int) or a share (float).
    min_coherence : float, default=0.05
        Do not show topics of level 1 whose words hardly occur together (NPMI within 10 words of text); −1 shows all.
    max_island : int, default=15
        Most words in a group.
    max_top : int, default=30
        Levels are added until one has at most so many topics.
    ud_threshold : float, default=3.0
        How much better two topics must be than one for a group to be split. Raise it for larger groups.
    correlation_test : bool, default=True
        Let a word join a group only if they correlate significantly.
    structure_samples : int or None, default=None
        Learn the structure from so many documents, drawn at random; None takes all.
    refine_steps : int, default=100
        Steps of stepwise EM over all parameters at the end.
    em_restarts : int, default=3
        Starts of each local EM.
    piece_size : int, None or "auto", default="auto"
        Cut longer documents into pieces of at most this many words, from which the tree is learned.
    leftovers : {"auto", "leave", "attach"}, default="auto"
        Whether words without a significant tie to a group stay in none or are attached to the closest one.
    full_depth : bool or "auto", default="auto"
        Whether to add levels down to ``max_top`` even if their topics are hardly correlated.
    random_state : int, Generator, RandomState, SeedSequence or None, default=None
        Seed.
    n_jobs : int or None, default=None
        Threads; None for all cores. The result does not depend on it.
    progress : bool, callable, Progress or None, default=None
        Whether to show progress.
    client : distributed.Client, str or None, default=None
        Dask cluster, or the address of its scheduler, whose workers do the passes over the data if :meth:`fit` is given
        a folder of shards or a Dask collection. Copies share it; files and pickles do not hold it.
    memory_limit : int, str or None, default=None
        Most memory that this process may use, the table and the libraries included: bytes, or an amount such as
        ``"2GB"``. A fit that is estimated to need more raises :class:`tsenet.errors.TooLargeError` before any work,
        and says what would fit.

    Attributes
    ----------
    tree_ : LatentTree
        The model itself, with all topics, also those that are not shown.
    topics_ : pandas.DataFrame
        The topics shown, one in each row: id, level, parent, label, words, size, coherence, documents.
    vocabulary_ : tuple of str
        The words.
    ungrouped_ : tuple of str
        The words in no topic, because they have no significant tie to any; most frequent first.
    word_counter_ : WordCounter or None
        How texts are split into words and counted; None if ``fit`` was given a table.
    n_documents_ : int
        Documents seen.

    See Also
    --------
    tsenet.learn_tree : Learns the tree.
    tsenet.explain.topic_tree : Describes the topics of any tree.

    Examples
    --------
    >>> import numpy as np
    >>> from tsenet import TopicModel
    >>> rng = np.random.default_rng(0)
    >>> sport, space = ["goal", "team", "referee"], ["orbit", "moon", "rocket"]
    >>> texts = [
    ...     " ".join(rng.choice(sport if i % 2 else space, 2, replace=False)) for i in range(300)
    ... ]
    >>> model = TopicModel(random_state=0).fit(texts)
    >>> sorted(" ".join(sorted(word for word, _ in words)) for words in model.topics_["words"])
    ['goal referee team', 'moon orbit rocket']
    >>> model.topics_of("the moon and the orbit")["label"].tolist() == [
    ...     label for label in model.topics_["label"] if "moon" in label
    ... ]
    True
    """

    word_counter_: WordCounter | None

    def __init__(
        self,
        *,
        n_words: int | None = 10_000,
        stop_words: Any = "english",
        min_documents: int = 2,
        max_df: float = 1.0,
        tokenizer: Any = "unicode",
        ngrams: int = 1,
        lowercase: bool = True,
        select: Literal["frequency", "tfidf"] = "frequency",
        seed_words: Mapping[str, Sequence[str]] | Sequence[Sequence[str]] | None = None,
        top_words: int = 10,
        min_size: float = 0.001,
        min_coherence: float = 0.05,
        max_island: int = 15,
        max_top: int = 30,
        ud_threshold: float = 3.0,
        correlation_test: bool = True,
        structure_samples: int | None = None,
        refine_steps: int = 100,
        em_restarts: int = 3,
        piece_size: int | Literal["auto"] | None = "auto",
        leftovers: Literal["auto", "leave", "attach"] = "auto",
        full_depth: bool | Literal["auto"] = "auto",
        random_state: Any = None,
        n_jobs: int | None = None,
        progress: Any = None,
        client: Any = None,
        memory_limit: int | str | None = None,
    ) -> None:
        self.n_words = n_words
        self.stop_words = stop_words
        self.min_documents = min_documents
        self.max_df = max_df
        self.tokenizer = tokenizer
        self.ngrams = ngrams
        self.lowercase = lowercase
        self.select = select
        self.seed_words = seed_words
        self.top_words = top_words
        self.min_size = min_size
        self.min_coherence = min_coherence
        self.max_island = max_island
        self.max_top = max_top
        self.ud_threshold = ud_threshold
        self.correlation_test = correlation_test
        self.structure_samples = structure_samples
        self.refine_steps = refine_steps
        self.em_restarts = em_restarts
        self.piece_size = piece_size
        self.leftovers = leftovers
        self.full_depth = full_depth
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.progress = progress
        self.client = client
        self.memory_limit = memory_limit

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

    # ---- learning

    def fit(
        self, texts: Any, y: Any = None, *, checkpoint: str | PathLike[str] | None = None
    ) -> Self:
        """Learn the topics of documents.

        Parameters
        ----------
        texts : sequence of str, Documents, table, or a folder of shards
            The documents; or a sparse table of word counts whose columns have names (a :class:`tsenet.Table`). Of a
            folder that need not fit into memory (path, URL, ``ShardFolder`` or :class:`tsenet.scale.Shards`), the
            topics are learned from all documents and described by 20,000 of them, drawn at random.
        y : ignored
        checkpoint : path, optional
            Folder for what is finished, as for :func:`tsenet.learn_tree`.

        Returns
        -------
        TopicModel
            The model itself.

        Raises
        ------
        DataError
            If there are no documents, or no words remain.
        """
        check_parameters(self.get_params(deep=False))
        if is_outside_memory(texts):
            with opened(self, texts) as shards, as_progress(self.progress) as report:
                described = shards.drawn_documents(self.random_state, report)
                self.word_counter_ = shards.word_counter()
                return self.fit_counts(described, checkpoint=checkpoint, data=shards)
        with as_progress(self.progress) as report:
            report.start("counting words", None)
            table = self._learn_words(texts)
            report.finish(f"{table.n_columns:,} words")
        return self.fit_counts(table, texts if are_texts(texts) else None, checkpoint=checkpoint)

    def fit_counts(
        self,
        table: Table,
        texts: Any = None,
        *,
        checkpoint: str | PathLike[str] | None = None,
        data: Any = None,
    ) -> Self:
        """Learn the topics of documents whose words are counted by ``word_counter_``, which has to be set.

        Parameters
        ----------
        table : Table
            The counts.
        texts : sequence of str, optional
            The documents, for the coherence of the topics; without them it is of whole documents.
        checkpoint : path, optional
            As for :meth:`fit`.
        data : Shards, optional
            All documents, from which the tree is learned. ``table`` is then a part of them that fits into memory,
            from which the topics are described: sizes, coherence and typical documents.

        Returns
        -------
        TopicModel
            The model itself.
        """
        from tsenet.skeleton.pieces import automatic_size, cut_into_pieces, size_for

        check_parameters(self.get_params(deep=False))
        if data is None:  # which has a limit of its own
            check_memory(
                *(self.memory_limit, table, topics_need, self.structure_samples),
                columns="words (n_words)",
                otherwise="`tsenet shard` writes a folder that `tsenet topics` reads in parts",
            )
        groups, names = self._seeds(table.names)
        options = {name: getattr(self, name) for name in _TREE_OPTIONS}
        if data is not None:
            options["structure_samples"] = data.structure_rows(self.structure_samples)
        self.tree_ = learn_tree(
            table if data is None else data,
            **options,
            seed_groups=groups,
            random_state=self.random_state,
            n_jobs=self.n_jobs,
            progress=self.progress,
            checkpoint=checkpoint,
        )
        rows = self.tree_.binary(table)
        size = self.piece_size
        if size == "auto":
            bag = table.is_sparse and self.correlation_test
            size = None
            if bag and data is None:
                size = automatic_size(rows)
            elif bag and data is not None:
                size = size_for(data.lengths(), data.n_columns)
        self._piece_size = size
        if data is None:
            self._n_pieces = cut_into_pieces(rows, size, 0).n_rows
            self.n_documents_ = rows.n_rows
        else:
            self._n_pieces = data.pieces(size, 0).n_rows
            self.n_documents_ = data.n_rows
        self._labels = {
            self.tree_.names[self.tree_.parent[table.names.index(group[0])]]: name
            for group, name in zip(groups, names, strict=True)
            if name and self.tree_.parent[table.names.index(group[0])] >= 0
        }
        self._selection: tuple[str, ...] | None = None
        self._rows: BinaryRows | None = rows
        self._facts = topic_facts.describe(self.tree_, rows, self.n_jobs)
        self._measure(table, texts)
        self._forget()
        return self

    def partial_fit(self, texts: Any, y: Any = None) -> Self:
        """Update the probabilities with new documents; vocabulary and topics stay.

        Each document weighs as much as each document before. Sizes follow; coherence and the typical documents stay
        those of ``fit``.

        Parameters
        ----------
        texts : sequence of str, Documents, or table
            The new documents. A model that is not fitted yet is fitted on them.
        y : ignored

        Returns
        -------
        TopicModel
            The model itself.
        """
        if not hasattr(self, "tree_"):
            return self.fit(texts)
        from tsenet.skeleton.update import update_tree

        rows = self.tree_.binary(self._table(texts))
        self.tree_, self._n_pieces = update_tree(
            self.tree_,
            rows,
            n_seen=self._n_pieces,
            piece_size=self._piece_size,
            n_jobs=self.n_jobs,
        )
        new = topic_facts.describe(self.tree_, rows, self.n_jobs)
        weight = rows.n_rows / max(1, self.n_documents_ + rows.n_rows)
        self._facts = self._facts.mixed_with(new, weight)
        self.n_documents_ += rows.n_rows
        if self._rows is not None:
            self._rows = BinaryRows.concatenate([self._rows, rows])
        self._forget()
        return self

    # ---- topics

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
        for name in labels:
            self._column(name)
        self._labels = {**self._labels, **{name: str(label) for name, label in labels.items()}}
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
        changed = {topics[0], *self._above(topics[0])}
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
        if n_topics is not None and (not isinstance(n_topics, Integral) or n_topics < 1):
            raise DataError(f"n_topics must be a whole number from 1 on, or None, not {n_topics!r}")
        self._selection = None
        if n_topics is not None:
            chosen = choose_topics(self.view_.topics, n_topics)
            self._selection = tuple(topic.name for topic in chosen)
        self._forget()
        return self

    # ---- documents

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
            check_is_fitted(self, "tree_")
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
        return np.array([topic.name for topic in self._shown], dtype=object)

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
        pandas = topic_facts.pandas()
        times = pandas.Series(list(timestamps), name="time")
        if not pandas.api.types.is_numeric_dtype(times):
            times = pandas.to_datetime(times)
        if n_bins is not None and times.nunique() > n_bins:
            edges = pandas.cut(times, n_bins, retbins=True)[1][:-1]
            starts = pandas.Series(edges)
            starts.iloc[0] = times.min()
            place = np.searchsorted(starts.to_numpy(), times.to_numpy(), side="right") - 1
            known = times.notna().to_numpy()
            times = starts.iloc[np.maximum(place, 0)].reset_index(drop=True).where(known)
            times.name = "time"
        return self._means(times, texts, level)

    # ---- files

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

        known = self._rows if texts is None else self.tree_.binary(self._table(texts))
        X = None
        if known is not None:
            X = Table.of(known.to_csr(), names=self.vocabulary_)
        quoted = list(getattr(texts, "texts", texts)) if are_texts(texts) and quote else None
        view = self.view_
        chosen = {
            "title": "Topics",
            "words": True,
            "titles": {topic.name: topic.title for topic in every_topic(view.topics)}
            | self._labels,
            "folded": {topic.name: reason for topic, reason in view.folded},
        }
        write_report(path, self.tree_, X, texts=quoted, **{**chosen, **options})

    def save(self, path: str | PathLike[str]) -> None:
        """Write the model to a ``.tsenet`` file, which :func:`tsenet.load` reads. The file holds no documents.

        Parameters
        ----------
        path : path
            The file; an existing one is replaced.
        """
        from tsenet.store import save

        save(self, path)

    def to_parts(self) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
        """The file form: parameters, tree, words, labels and the description of the topics."""
        check_is_fitted(self, "tree_")
        tree, arrays = self.tree_.to_parts()
        facts = self._facts
        counter = None if self.word_counter_ is None else self.word_counter_.to_dict()
        params = topic_facts.plain_parameters(self.get_params(deep=False))
        del params["client"]
        meta = {
            # How it was run is no part of the model: the same topics are the same file.
            "params": {**params, "n_jobs": None, "progress": None, "memory_limit": None},
            "tree": tree,
            "counter": counter,
            "labels": dict(self._labels),
            "selection": None if self._selection is None else list(self._selection),
            "n_documents": int(self.n_documents_),
            "n_pieces": int(self._n_pieces),
            "piece_size": self._piece_size,
        }
        arrays = {f"tree.{name}": array for name, array in arrays.items()}
        return meta, {**arrays, **facts.to_arrays()}

    @classmethod
    def from_parts(cls, meta: dict[str, Any], arrays: dict[str, NDArray[Any]]) -> Self:
        """Rebuild a model from :meth:`to_parts`."""
        model = cls(**meta["params"])
        own = {
            name.removeprefix("tree."): array
            for name, array in arrays.items()
            if name.startswith("tree.")
        }
        model.tree_ = LatentTree.from_parts(meta["tree"], own)
        counter = meta["counter"]
        model.word_counter_ = None if counter is None else WordCounter.from_dict(counter)
        known = model.word_counter_
        if known is not None and known.words != model.vocabulary_:
            raise ValueError("the vocabulary is not that of the tree")
        model._labels = {str(name): str(label) for name, label in meta["labels"].items()}
        chosen = meta["selection"]
        model._selection = None if chosen is None else tuple(chosen)
        model.n_documents_ = int(meta["n_documents"])
        model._n_pieces = int(meta["n_pieces"])
        model._piece_size = meta["piece_size"]
        model._rows = None
        model._facts = topic_facts.Facts.from_arrays(arrays, model.tree_)
        names = {*model._labels, *(model._selection or ())}
        unknown = names - set(model.tree_.latent_names)
        if unknown:
            raise ValueError(f"there is no topic {sorted(unknown)[0]!r}")
        return model

    # ---- inside

    def _learn_words(self, texts: Any) -> Table:
        """The word counts of the documents; sets the word counter."""
        if are_texts(texts):
            options = {name: getattr(self, name) for name in _WORD_OPTIONS}
            counter, table = WordCounter.learn(texts, **options)
            self.word_counter_ = counter
            return table
        expected = "expected documents: a list of strings, or a sparse table of word counts"
        if isinstance(texts, list | tuple):
            found = f"the first is {texts[0]!r}" if texts else "there is none"
            raise DataError(f"{expected}; {found}")
        table = Table.of(texts)
        if not table.is_sparse:
            if hasattr(texts, "columns"):
                expected += f"; of a data frame give one column, such as frame[{table.names[0]!r}]"
            raise DataError(expected)
        self.word_counter_ = None
        return table

    def _seeds(self, words: Sequence[str]) -> tuple[list[list[str]], list[str]]:
        """Groups of seed words that are in the vocabulary, and their labels."""
        if self.seed_words is None:
            return [], []
        given = self.seed_words
        pairs = list(given.items()) if isinstance(given, Mapping) else [("", w) for w in given]
        known = set(words)
        missing = [word for _, group in pairs for word in group if word not in known]
        if missing:
            warnings.warn(
                f"seed words that are not in the vocabulary are left out: {', '.join(missing)}",
                stacklevel=4,
            )
        kept = [(name, [word for word in group if word in known]) for name, group in pairs]
        kept = [(name, group) for name, group in kept if len(group) > 1]
        return [group for _, group in kept], [name for name, _ in kept]

    def _measure(self, table: Table, texts: Any) -> None:
        """Measure the coherence of the topics that have none yet."""
        split = None if texts is None or self.word_counter_ is None else self.word_counter_.split
        self._facts.measure_coherence(self.tree_, table, texts, split, self.top_words)

    def _table(self, texts: Any) -> Table:
        """New documents as a table of word counts."""
        check_is_fitted(self, "tree_")
        if not are_texts(texts):
            return Table.of(texts)
        if self.word_counter_ is None:
            raise DataError("the model was fitted on word counts: give word counts, not texts")
        return self.word_counter_.count(texts)

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

    def _above(self, topic: str) -> list[str]:
        """The latents above one, up to its ancestor in the top level."""
        tree = self.tree_
        node, found = tree.names.index(topic), []
        while tree.level[node] < tree.n_levels:
            node = int(tree.parent[node])
            found.append(tree.names[node])
        return found

    def _transform(self, rows: BinaryRows, level: int | None, output: str, least: float) -> Any:
        shown = [topic for topic in self._shown if level is None or topic.level == level]
        if not shown:
            raise DataError(f"no topic of level {level} is shown" if level else "no topic is shown")
        if output not in ("auto", "probability", "share"):
            raise ValueError(f"output must be 'auto', 'probability' or 'share', not {output!r}")
        columns = np.array([self._column(topic.name) for topic in shown])
        flat = level is not None or self._selection is not None
        if output == "share" or (output == "auto" and flat):
            profiles: WordProfiles = self._facts.profiles
            return document_shares(rows, profiles.distributions(columns), least)
        return topic_facts.posterior(self.tree_, rows, self.n_jobs, columns, least)

    def _means(self, groups: Any, texts: Any, level: int | None) -> pd.DataFrame:
        """Mean of the transformed documents in each group."""
        pandas = topic_facts.pandas()
        rows = self._rows_of(texts)
        if len(groups) != rows.n_rows:
            raise DataError(f"{len(groups)} values for {rows.n_rows} documents")
        values = self._transform(rows, level, "auto", 0.0).toarray()
        shown = [topic.name for topic in self._shown if level is None or topic.level == level]
        return pandas.DataFrame(values, columns=shown).groupby(groups).mean()

    def _forget(self) -> None:
        """Make what is derived anew when it is next asked for."""
        for name in ("view_", "_shown", "_frame"):
            self.__dict__.pop(name, None)
