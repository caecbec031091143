"""Documents in, topics out."""

from __future__ import annotations

import warnings
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import combinations, pairwise
from numbers import Integral, Real
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.utils._param_validation import Interval
from sklearn.utils.validation import check_is_fitted

from tsenet._system.seeds import seed_sequence
from tsenet._system.threads import blas_threads
from tsenet.data.binary import BinaryRows, BinaryRule
from tsenet.data.blocks import folder_of, in_blocks, is_outside_memory
from tsenet.data.cells import Cells, Floats
from tsenet.data.table import Table
from tsenet.errors import DataError
from tsenet.estimators import topic_parts
from tsenet.estimators.base import POSITIVE
from tsenet.estimators.checked_rows import checked_embeddings
from tsenet.estimators.shown_topics import DocumentRows
from tsenet.estimators.topic_edits import TopicEdits
from tsenet.estimators.topic_words import learn_words, phrases_in
from tsenet.estimators.topics_of_documents import NO_FOLDERS, TopicsOfDocuments
from tsenet.progress import as_progress
from tsenet.skeleton.tree import latent_names
from tsenet.topics.likelihood import DocumentFit
from tsenet.topics.mixture import learn_hierarchy, update
from tsenet.topics.presence import shares
from tsenet.topics.starts import known_starts, seeds_of, warn_if_contradicted

if TYPE_CHECKING:
    import pandas as pd
    from sklearn.feature_extraction.text import CountVectorizer

_MIN_GROUPED = 0.05  # fit() warns if a smaller share of the words is in topics
_DRAWN = 20_000  # documents of a folder that topics are learned from
# fit() warns of documents with a median of this many known words, if there are many different ones.
_SHORT = 4
_MANY_WORDS = 300


class TopicModel(TopicEdits, TopicsOfDocuments):
    """A hierarchy of topics, learned from documents.

    Topics of level 1 are directly above the words; each topic of a higher level has at least two below it, with which
    it shares documents. Topics are
    learned from whole documents: words are tied if they occur together more often than documents of their length
    explain, and words of general language count little. Nothing is random: the same documents give the same topics.

    Parameters
    ----------
    n_words : int or None, default=10_000
        Size of the vocabulary; None keeps all words.
    stop_words : str, collection of str, or None, default="english"
        Words to leave out, as for :func:`tsenet.data.word_vectorizer`; None or "none" keeps all.
    min_documents : int, default=2
        Leave out words that occur in fewer documents.
    keep_urls : bool, default=False
        Whether words of web and mail addresses, names of accounts (``@name``), hashtags and headers of mail count.
    vectorizer : CountVectorizer or None, default=None
        Any other choice of words, such as n-grams: scikit-learn's own, or :func:`tsenet.data.word_vectorizer`. The
        four parameters above then have no effect.
    seed_words : mapping of str to list of str, or list of lists of str, optional
        Guided topics: words that start one topic of level 1, at least two for each. The keys of a mapping become
        the labels of these topics, which are always shown. The other topics are found as usual.
    top_words : int, default=10
        Maximum number of words that describe a topic.
    levels : sequence of int, optional
        Numbers of topics of the levels, from the top down, such as ``(8, 40, 200)``: each at least twice the one
        before. Default: chosen from the documents; two or three levels, up to 20 topics on top.
    n_topics : int, optional
        Number of topics of level 1; the levels above are chosen. Not with ``levels``.
    min_size : int or float, default=0
        Do not show topics that are present in fewer documents: a number of documents (int) or a share (float).
    min_coherence : float, default=-1
        Do not show topics of level 1 whose words hardly occur in the same documents (NPMI); −1 shows all.
    random_state : int, Generator, RandomState, SeedSequence or None, default=None
        Seed of the documents drawn from a folder that does not fit into memory; nothing else depends on it.
    progress : bool, callable, Progress or None, default=None
        Whether to show progress; a callable gets ``(stage, done, total)``.

    Attributes
    ----------
    topics_ : pandas.DataFrame
        The topics shown, one in each row, in the order of the columns of :meth:`transform`: id, level, parent, kinship
        (how strong the tie to the parent is, up to 1; 0 without one), label, words, share (of the documents) and
        n_documents in which it is *present*, members (the words that belong to it
        more than to other topics), coherence and documents (typical ones). Words describe a topic compared with the
        others of its level, and are not repeated below it; see :meth:`transform` for presence.
    vocabulary_ : tuple of str
        The words.
    ungrouped_ : tuple of str
        The words in no topic shown, most frequent first: they hardly tell which words occur with them.
    vectorizer_ : CountVectorizer or None
        The fitted vectorizer that counts the words of texts; None if ``fit`` was given a table.
    n_documents_ : int
        Documents seen.
    n_outliers_ : int
        Those that fit no topic: their words are less likely in the model than those of nearly all of its documents.
        ``numpy.flatnonzero(model.predict() < 0)`` lists them.

    See Also
    --------
    tsenet.learn_tree : Learns a tree that is the likeliest model of the data.

    Examples
    --------
    >>> import numpy as np
    >>> from tsenet import TopicModel
    >>> rng = np.random.default_rng(0)
    >>> subjects = ["goal team referee", "orbit moon rocket", "senate ballot voters"]
    >>> texts = [
    ...     " ".join(word for word in subjects[i % 3].split() if rng.random() < 0.8)
    ...     for i in range(300)
    ... ]
    >>> model = TopicModel(random_state=0).fit(texts)
    >>> sorted(" ".join(sorted(word for word, _ in words)) for words in model.topics_["words"])
    ['ballot senate voters', 'goal referee team', 'moon orbit rocket']
    >>> model.topics_of("the moon and the orbit")["label"].tolist() == [
    ...     label for label in model.topics_["label"] if "moon" in label
    ... ]
    True
    """

    _parameter_constraints = {  # noqa: RUF012
        "n_words": [POSITIVE, None],
        "min_documents": [POSITIVE],
        "keep_urls": ["boolean"],
        "top_words": [POSITIVE],
        "levels": ["array-like", None],
        "n_topics": [POSITIVE, None],
        "min_size": [Interval(Real, 0, None, closed="left")],
        "min_coherence": [Interval(Real, -1, 1, closed="both")],
    }

    def __init__(
        self,
        *,
        n_words: int | None = 10_000,
        stop_words: Any = "english",
        min_documents: int = 2,
        keep_urls: bool = False,
        vectorizer: CountVectorizer | None = None,
        seed_words: Mapping[str, Sequence[str]] | Sequence[Sequence[str]] | None = None,
        top_words: int = 10,
        levels: Sequence[int] | None = None,
        n_topics: int | None = None,
        min_size: float = 0,
        min_coherence: float = -1,
        random_state: Any = None,
        progress: Any = None,
    ) -> None:
        self.n_words = n_words
        self.stop_words = stop_words
        self.min_documents = min_documents
        self.keep_urls = keep_urls
        self.vectorizer = vectorizer
        self.seed_words = seed_words
        self.top_words = top_words
        self.levels = levels
        self.n_topics = n_topics
        self.min_size = min_size
        self.min_coherence = min_coherence
        self.random_state = random_state
        self.progress = progress

    def fit(self, texts: Any, y: Any = None, *, embeddings: Any = None) -> Self:
        """Learn the topics of documents.

        Parameters
        ----------
        texts : sequence of str, table, or a folder of shards
            The documents; or a sparse table of word counts whose columns have names (a :class:`tsenet.Table`). Of a
            folder that need not fit into memory (path, ``ShardFolder`` or :class:`tsenet.data.Blocks`), the
            topics are learned from 20,000 documents, drawn at random.
        y : ignored
        embeddings : array-like (N, d), default=None
            Vectors of the documents from a pretrained encoder, such as :func:`tsenet.data.embed`. They are divided into
            up to 300 cells, and the nearest four of each document count as further words of it, which are not shown:
            titles and other short texts, which share few words, get better topics. Methods that take documents then
            take their embeddings, too.

        Returns
        -------
        TopicModel
            The model itself.

        Raises
        ------
        DataError
            If there are no documents, or no words remain, or seed words cannot form a topic.
        """
        self._validate_params()
        if is_outside_memory(texts):
            if embeddings is not None:
                raise DataError(NO_FOLDERS)
            with in_blocks(texts) as blocks, as_progress(self.progress) as report:
                drawn = blocks.sample(_DRAWN, seed_sequence(self.random_state), report)
                self.vectorizer_ = folder_of(blocks).vectorizer()
                self._phrases = {}
                return self._fit_counts(drawn, blocks.n_rows)
        texts = list(texts) if isinstance(texts, Iterator) else texts
        self.vectorizer_, table = self._learn_words(texts)
        self._phrases = phrases_in(texts, self.vectorizer_)
        vectors = None
        if embeddings is not None:
            vectors = checked_embeddings(embeddings, table.n_rows, np.float32)
        return self._fit_counts(table, vectors=vectors)

    def _learn_words(self, texts: Any) -> tuple[CountVectorizer | None, Table]:
        """A vectorizer fitted to documents, and their counts; None for a table of counts, which stays as it is."""
        return learn_words(
            texts,
            self.vectorizer,
            n_words=self.n_words,
            stop_words=self.stop_words,
            min_documents=self.min_documents,
            keep_urls=self.keep_urls,
            progress=self.progress,
        )

    def _fit_counts(
        self, table: Table, n_documents: int | None = None, vectors: Floats | None = None
    ) -> Self:
        """Learn from word counts of documents, which were drawn from ``n_documents``, and from their vectors."""
        with blas_threads(1):  # a product's sums must not depend on threads
            return self._learn(table, n_documents, vectors)

    def _learn(self, table: Table, n_documents: int | None, vectors: Floats | None) -> Self:
        column = {word: k for k, word in enumerate(table.names)}
        seeds = known_starts(seeds_of(self.seed_words), column, seeds=True)
        pins = known_starts(getattr(self, "_pins", ()), column, seeds=False)
        self.binary_rule_ = BinaryRule.learn(table)
        rows = DocumentRows.of_counts(table, self.binary_rule_)
        if rows.n_rows < 2:
            raise DataError(f"at least two documents are needed to learn topics, not {rows.n_rows}")
        length = float(np.median(np.diff(rows.indptr)))
        if length <= _SHORT and rows.n_columns >= _MANY_WORDS and vectors is None:
            warnings.warn(
                f"half of the documents have at most {length:g} known words: topics of so short texts are poor. "
                "Longer texts help (a title with its abstract, the messages of a thread together), embeddings of an "
                "encoder (embeddings=), and rare words (min_documents=1)",
                stacklevel=4,  # where fit() was called
            )

        self._cells = None if vectors is None else Cells.learn(vectors)
        if self._cells is not None:
            rows = rows.beside(self._cells, vectors)
        self._rows = rows

        groups: dict[int, list[list[int]]] = defaultdict(list)
        for start in (*seeds, *pins):
            groups[start.level].append([column[word] for word in start.words])

        with as_progress(self.progress) as report:
            report.start("topics", None)
            self._hierarchy = learn_hierarchy(
                rows, self._level_sizes(), groups, self.binary_rule_.n_variables
            )
            report.finish(f"{'-'.join(map(str, self._hierarchy.sizes))} topics")

        self.n_documents_ = rows.n_rows if n_documents is None else n_documents
        self._warn_about_unused_words()
        n_levels = len(self._hierarchy.sizes)
        self._pins = [pin for pin in pins if pin.level <= n_levels]
        if len(self._pins) < len(pins):
            warnings.warn(
                f"{len(pins) - len(self._pins)} pinned topics of higher levels are not kept: the hierarchy now has "
                f"{n_levels} levels. Set levels to keep their number",
                stacklevel=4,  # where fit() was called
            )

        # The first topics of a level are those that its groups of words started.
        ids = self._new_ids()
        first = {
            number: iter(ids[level]) for number, level in enumerate(self._hierarchy.levels, start=1)
        }
        started = {next(first[start.level]): start.label for start in (*seeds, *self._pins)}
        self._seed_words = {
            name: start.words for name, start in zip(started, (*seeds, *self._pins), strict=True)
        }
        warn_if_contradicted(seeds, rows, self.vocabulary_)
        self._labels = {name: label for name, label in started.items() if label}
        self._selection = self._strengths = None
        n_words = len(self.vocabulary_)
        self._fit = DocumentFit.of(
            self._hierarchy.of_words(n_words), rows.first_columns(n_words), rows.n_unknown
        )
        self._description = self._describe(rows, ids)
        share_out = np.count_nonzero(~self._fits(rows)) / rows.n_rows
        self._n_outliers = round(share_out * self.n_documents_)
        self._clear_cache()
        return self

    def _new_ids(self) -> list[str]:
        """Names for the topics of a new hierarchy: ``Z1.0``, ``Z1.1`` and so on."""
        sizes = self._hierarchy.sizes
        level = np.repeat(np.arange(len(sizes) + 1), [len(self.vocabulary_), *sizes])
        return latent_names(level.astype(np.int32), set(self.vocabulary_))

    def _level_sizes(self) -> tuple[int, ...] | int | None:
        """Numbers of topics asked for, checked."""
        if self.levels is None:
            return None if self.n_topics is None else int(self.n_topics)
        if self.n_topics is not None:
            raise DataError("levels includes the number of topics of level 1: leave out n_topics")
        sizes = tuple(self.levels)
        whole = all(isinstance(size, Integral) and size >= 1 for size in sizes)
        if not sizes or not whole or any(b < 2 * a for a, b in pairwise(sizes)):
            raise DataError(
                "levels are numbers of topics from the top down, each at least twice the one before, such as "
                f"(8, 40, 200); not {self.levels!r}"
            )
        return tuple(int(size) for size in sizes)

    def _warn_about_unused_words(self) -> None:
        """Warn if nearly all words are in no group, as with few documents."""
        n_words = len(self.vocabulary_)
        n_unused = int((self._hierarchy.main_topic[:n_words] < 0).sum())
        if n_words - n_unused < _MIN_GROUPED * n_words:
            warnings.warn(
                f"only {n_words - n_unused:,} of {n_words:,} words are in a topic; the others have no significant tie "
                f"to any word in these {self.n_documents_:,} documents. More documents give more topics; a smaller "
                "vocabulary (n_words, min_documents) leaves out words that are too rare",
                stacklevel=5,  # where fit() was called
            )

    def partial_fit(self, texts: Any, y: Any = None, *, embeddings: Any = None) -> Self:
        """Update the topics with new documents; vocabulary, levels and the words that describe topics stay.

        Each document weighs as much as each document before. Shares follow; coherence and the typical documents stay
        those of ``fit``.

        Parameters
        ----------
        texts : sequence of str or table
            The new documents. A model that is not fitted yet is fitted on them.
        y : ignored
        embeddings : array-like (N, d), default=None
            Their vectors, for a model that was fitted with some.

        Returns
        -------
        TopicModel
            The model itself.
        """
        if not hasattr(self, "binary_rule_"):
            return self.fit(texts, embeddings=embeddings)
        rows = self._rows_of(texts, embeddings)
        if not rows.n_rows:
            return self
        self._hierarchy = update(self._hierarchy, rows)
        weight = rows.n_rows / (self.n_documents_ + rows.n_rows)
        share = shares(self._strengths_of(rows))
        self._description = replace(
            self._description,
            member_of=self._hierarchy.main_topic[: len(self.vocabulary_)],
            share=(1.0 - weight) * self._description.share + weight * share,
        )
        self.n_documents_ += rows.n_rows
        self._n_outliers += int(np.count_nonzero(~self._fits(rows)))
        self._strengths = None
        if self._rows is not None:
            n_unknown = np.concatenate([self._rows.n_unknown, rows.n_unknown])
            both = BinaryRows.concatenate([self._rows, rows])
            distance = np.concatenate([self._rows.distance, rows.distance])
            self._rows = DocumentRows.of(both, n_unknown, distance)

        self._clear_cache()
        return self

    def fit_transform(self, texts: Any, y: Any = None, **fit_params: Any) -> Any:
        """Learn the topics of documents, and return their strengths in these documents.

        The same as :meth:`fit` and :meth:`transform` in turn, but the words are counted and the strengths computed
        only once.

        Parameters
        ----------
        texts : sequence of str, table, or a folder of shards
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
        return self.transform(texts if is_outside_memory(texts) else None)

    def stability(self, texts: Any, *, embeddings: Any = None, n_seeds: int = 3) -> pd.DataFrame:
        """Measure how much the topics depend on which documents they are learned from.

        Models are learned from random nine tenths of the documents. For each pair of them, the strongest topics of all
        documents are compared by adjusted mutual information: 1 if the topics divide the documents alike, 0 by chance.

        Parameters
        ----------
        texts : sequence of str, or table
            The documents.
        embeddings : array-like (N, d), default=None
            Their vectors, if topics are learned with some.
        n_seeds : int, default=3
            Number of models, at least 2.

        Returns
        -------
        pandas.DataFrame
            A row for each level, the top one first: ``level`` and ``ami``, the mean over pairs.
        """
        import pandas as pd
        from sklearn.metrics import adjusted_mutual_info_score

        if n_seeds < 2:
            raise DataError(f"n_seeds must be at least 2, not {n_seeds}")
        self._validate_params()
        _, table = self._learn_words(list(texts) if isinstance(texts, Iterator) else texts)
        rows = BinaryRule.learn(table).apply(table)
        n_words = rows.n_columns
        if embeddings is not None:
            vectors = checked_embeddings(embeddings, rows.n_rows, np.float32)
            rows = Cells.learn(vectors).beside(rows, vectors)
        n_drawn = -(-9 * rows.n_rows // 10)
        main: list[list[NDArray[np.int64]]] = []  # of each model, the strongest topics by level

        for seed in range(n_seeds):
            drawn = np.random.default_rng(seed).permutation(rows.n_rows)[:n_drawn]
            part = rows.take(np.sort(drawn))
            hierarchy = learn_hierarchy(part, self._level_sizes(), n_words=n_words)
            strengths = hierarchy.strengths(rows)
            levels = [strengths[:, level].toarray() for level in reversed(hierarchy.levels)]
            main.append([np.where(level.any(axis=1), level.argmax(axis=1), -1) for level in levels])

        scores = [
            np.mean([adjusted_mutual_info_score(*pair) for pair in combinations(level, 2)])
            for level in zip(*main, strict=False)
        ]
        return pd.DataFrame({"level": range(len(scores), 0, -1), "ami": scores})

    # ---- files

    def to_parts(self) -> tuple[dict[str, Any], topic_parts.Arrays]:
        """The file form: parameters, words, labels, the topics and what describes them."""
        check_is_fitted(self, "binary_rule_")
        return topic_parts.to_parts(self)

    @classmethod
    def from_parts(cls, meta: dict[str, Any], arrays: topic_parts.Arrays) -> Self:
        """Rebuild a model from :meth:`to_parts`."""
        model = cls._with_params(meta["params"])
        topic_parts.fill(model, meta, arrays)
        return model
