"""Documents in, topics out."""

from __future__ import annotations

import warnings
from collections import Counter, defaultdict
from collections.abc import Callable, Container, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from itertools import combinations, count, pairwise
from numbers import Integral, Real
from os import PathLike
from typing import TYPE_CHECKING, Any, NamedTuple, Self

import numpy as np
import pandas as pd
import scipy.sparse as sp
from numpy.typing import NDArray
from sklearn.base import clone
from sklearn.utils._param_validation import Interval
from sklearn.utils._set_output import _get_output_config
from sklearn.utils.validation import check_is_fitted

from tsenet._system.seeds import seed_sequence
from tsenet._system.threads import blas_threads
from tsenet.data.binary import BinaryRows, BinaryRule
from tsenet.data.blocks import in_blocks, is_outside_memory
from tsenet.data.table import Table
from tsenet.data.text import are_texts, as_counts, vectorize, word_vectorizer
from tsenet.data.words import language_of, stop_words_of
from tsenet.errors import DataError, count_of, listed
from tsenet.estimators.base import (
    POSITIVE,
    SavedEstimator,
    as_json,
    fill_vectorizer,
    folder_of,
    tables_of,
    vectorizer_parts,
)
from tsenet.explain.bins import calendar_periods, round_step
from tsenet.explain.scores import hierarchy_scores
from tsenet.progress import as_progress
from tsenet.skeleton.tree import LatentTree, latent_names
from tsenet.store.files import arrays_under
from tsenet.topics.describe import N_TYPICAL, TopicDescription, describe_hierarchy
from tsenet.topics.hierarchy import TopicHierarchy
from tsenet.topics.likelihood import log_likelihood
from tsenet.topics.listing import to_text
from tsenet.topics.mixture import learn_hierarchy, update
from tsenet.topics.presence import PRESENT, shares, strongest_rows
from tsenet.topics.split import split
from tsenet.topics.ties import contradicted
from tsenet.topics.titles import count_phrases
from tsenet.topics.topic import Topic, TopicView, choose_topics, every_topic, view_topics

if TYPE_CHECKING:
    from sklearn.feature_extraction.text import CountVectorizer

_MIN_GROUPED = 0.05  # fit() warns if a smaller share of the words is in topics
_LEAST = 0.01  # smaller strengths of topics are left out
_PHRASE_TEXTS = 5_000  # texts in which phrases are looked for: a second where all would take ten
_DRAWN = 20_000  # documents of a folder that topics are learned from
# fit() warns of documents with a median of this many known words, if there are many different ones.
_SHORT, _MANY_WORDS = 4, 300
_LANGUAGE_WORDS = 50  # the most frequent words, by which a language is recognised


class TopicModel(SavedEstimator):
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

    binary_rule_: BinaryRule
    vectorizer_: CountVectorizer | None
    n_documents_: int
    _hierarchy: TopicHierarchy  # all topics, also those that are not shown
    _description: TopicDescription  # what the documents say about them
    _labels: dict[str, str]  # chosen by the user, by topic id
    _seed_words: dict[str, tuple[str, ...]]  # of each topic that words started, by its id
    _pins: list[_Start]  # topics that fit keeps
    _selection: tuple[str, ...] | None  # ids of the topics that reduce() chose
    _rows: BinaryRows | None  # the documents of fit; None in a model from a file
    _phrases: dict[tuple[int, int], int]  # pairs of words that are phrases in the texts
    _strengths: Any  # of the topics in these documents; None until they are needed

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

    def __str__(self) -> str:
        """The topics shown as a tree of lines; the parameters of a model that is not fitted."""
        if not hasattr(self, "binary_rule_"):
            return repr(self)
        n_documents = count_of(self.n_documents_, "document")
        head = f"{len(self._shown):,} topics of {n_documents}, {len(self.vocabulary_):,} words"
        return f"{head}\n{to_text(self.view_.topics)}"

    # ---- learning

    def fit(self, texts: Any, y: Any = None) -> Self:
        """Learn the topics of documents.

        Parameters
        ----------
        texts : sequence of str, table, or a folder of shards
            The documents; or a sparse table of word counts whose columns have names (a :class:`tsenet.Table`). Of a
            folder that need not fit into memory (path, ``ShardFolder`` or :class:`tsenet.data.Blocks`), the
            topics are learned from 20,000 documents, drawn at random.
        y : ignored

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
            with in_blocks(texts) as blocks, as_progress(self.progress) as report:
                drawn = blocks.sample(_DRAWN, seed_sequence(self.random_state), report)
                self.vectorizer_ = folder_of(blocks).vectorizer()
                self._phrases = {}
                return self._fit_counts(drawn, blocks.n_rows)
        texts = list(texts) if isinstance(texts, Iterator) else texts
        self.vectorizer_, table = self._learn_words(texts)
        self._phrases = self._phrases_in(texts)
        return self._fit_counts(table)

    def _learn_words(self, texts: Any) -> tuple[CountVectorizer | None, Table]:
        """A vectorizer fitted to documents, and their counts; None for a table of counts, which stays as it is."""
        if are_texts(texts):
            if self.vectorizer is not None:
                fitted = clone(self.vectorizer, safe=False)
                return fitted, vectorize(texts, fitted, progress=self.progress)

            fitted, table = self._counted(texts, self.stop_words)
            if isinstance(self.stop_words, str) and self.stop_words == "english":
                # Without this, texts in other languages would have topics of function words.
                count = np.asarray(table.values.sum(axis=0)).ravel()
                frequent = np.argsort(-count, kind="stable")[:_LANGUAGE_WORDS]
                language = language_of([table.names[k] for k in frequent])
                if language is not None:
                    warnings.warn(
                        f"the texts look {language.capitalize()}: its stop words are left out too. Give "
                        f"stop_words={language!r} to do without this warning, or a vectorizer to keep them",
                        stacklevel=3,  # where fit() was called
                    )
                    both = {*stop_words_of("english"), *stop_words_of(language)}
                    return self._counted(texts, both)

            return fitted, table

        expected = "expected documents: a list of strings, or a sparse table of word counts"
        if isinstance(texts, list | tuple):
            first = f"the first is {texts[0]!r}" if texts else "there is none"
            raise DataError(f"{expected}; {first}")

        table = Table.of(texts)
        if not table.is_sparse:
            if hasattr(texts, "columns"):
                expected += f"; of a data frame give one column, such as frame[{table.names[0]!r}]"
            raise DataError(expected)

        return None, table

    def _phrases_in(self, texts: Any) -> dict[tuple[int, int], int]:
        """Pairs of words that are phrases in texts, by their columns; none of a table of counts."""
        if not are_texts(texts) or self.vectorizer_ is None:
            return {}
        step = -(-len(texts) // _PHRASE_TEXTS)
        return count_phrases(self._split(list(texts)[::step]), self.vectorizer_.vocabulary_)

    def _split(self, texts: Iterable[Any]) -> Iterator[list[str]]:
        """The words of texts, in order."""
        assert self.vectorizer_ is not None
        clean = self.vectorizer_.build_preprocessor()
        split = self.vectorizer_.build_tokenizer()
        return (split(clean(text if isinstance(text, str) else "")) for text in texts)

    def _counted(self, texts: Any, stop_words: Any) -> tuple[CountVectorizer, Table]:
        vectorizer = word_vectorizer(
            n_words=self.n_words,
            stop_words=stop_words,
            min_documents=self.min_documents,
            keep_urls=self.keep_urls,
        )
        return vectorizer, vectorize(texts, vectorizer, progress=self.progress)

    def _fit_counts(self, table: Table, n_documents: int | None = None) -> Self:
        """Learn from word counts of documents, which were drawn from ``n_documents``."""
        with blas_threads(1):  # a product's sums must not depend on threads
            return self._learn(table, n_documents)

    def _learn(self, table: Table, n_documents: int | None) -> Self:
        column = {word: k for k, word in enumerate(table.names)}
        seeds = _known_starts(_seeds_of(self.seed_words), column, seeds=True)
        pins = _known_starts(getattr(self, "_pins", ()), column, seeds=False)
        self.binary_rule_ = BinaryRule.learn(table)
        rows = self._rows = self.binary_rule_.apply(table)
        if rows.n_rows < 2:
            raise DataError(f"at least two documents are needed to learn topics, not {rows.n_rows}")
        length = float(np.median(np.diff(rows.indptr)))
        if length <= _SHORT and rows.n_columns >= _MANY_WORDS:
            warnings.warn(
                f"half of the documents have at most {length:g} known words: topics of so short texts are poor. "
                "Longer texts help (a title with its abstract, the messages of a thread together), and rare words "
                "(min_documents=1)",
                stacklevel=4,  # where fit() was called
            )

        groups: dict[int, list[list[int]]] = defaultdict(list)
        for start in (*seeds, *pins):
            groups[start.level].append([column[word] for word in start.words])

        with as_progress(self.progress) as report:
            report.start("topics", None)
            self._hierarchy = learn_hierarchy(rows, self._level_sizes(), groups)
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
        self._warn_about_contradicted_seeds(rows, seeds)
        self._labels = {name: label for name, label in started.items() if label}
        self._selection = self._strengths = None
        self._description = self._describe(rows, ids)
        self._clear_cache()
        return self

    def _new_ids(self) -> list[str]:
        """Names for the topics of a new hierarchy: ``Z1.0``, ``Z1.1`` and so on."""
        sizes = self._hierarchy.sizes
        level = np.repeat(np.arange(len(sizes) + 1), [len(self.vocabulary_), *sizes])
        return latent_names(level.astype(np.int32), set(self.vocabulary_))

    def _describe(self, rows: BinaryRows, ids: Sequence[str]) -> TopicDescription:
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
        )

    def _warn_about_contradicted_seeds(self, rows: BinaryRows, seeds: Sequence[_Start]) -> None:
        column = {word: k for k, word in enumerate(self.vocabulary_)}
        for start in seeds:
            alone = contradicted(rows, [column[word] for word in start.words])
            if alone:
                words = ", ".join(self.vocabulary_[k] for k in alone)
                warnings.warn(
                    f"the documents contradict the seed words {listed(start.words)}: {words} hardly ever occur with "
                    "the others. They stay together, but the topic may be of several subjects",
                    stacklevel=5,  # where fit() was called
                )

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
        n_unused = int((self._hierarchy.main_topic < 0).sum())
        if n_words - n_unused < _MIN_GROUPED * n_words:
            warnings.warn(
                f"only {n_words - n_unused:,} of {n_words:,} words are in a topic; the others have no significant tie "
                f"to any word in these {self.n_documents_:,} documents. More documents give more topics; a smaller "
                "vocabulary (n_words, min_documents) leaves out words that are too rare",
                stacklevel=5,  # where fit() was called
            )

    def partial_fit(self, texts: Any, y: Any = None) -> Self:
        """Update the topics with new documents; vocabulary, levels and the words that describe topics stay.

        Each document weighs as much as each document before. Shares follow; coherence and the typical documents stay
        those of ``fit``.

        Parameters
        ----------
        texts : sequence of str or table
            The new documents. A model that is not fitted yet is fitted on them.
        y : ignored

        Returns
        -------
        TopicModel
            The model itself.
        """
        if not hasattr(self, "binary_rule_"):
            return self.fit(texts)
        rows = self._rows_of(texts)
        if not rows.n_rows:
            return self
        self._hierarchy = update(self._hierarchy, rows)
        weight = rows.n_rows / (self.n_documents_ + rows.n_rows)
        share = shares(self._hierarchy.strengths(rows))
        self._description = replace(
            self._description,
            member_of=self._hierarchy.main_topic,
            share=(1.0 - weight) * self._description.share + weight * share,
        )
        self.n_documents_ += rows.n_rows
        self._strengths = None
        if self._rows is not None:
            self._rows = BinaryRows.concatenate([self._rows, rows])

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

    # ---- topics shown

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
        check_is_fitted(self, "binary_rule_")
        parent = {below.name: topic.name for topic in self._shown for below in topic.children}
        columns = self._columns(None)
        described = self._description
        share = described.share[columns]
        members = described.members()
        return pd.DataFrame(
            {
                "id": [topic.name for topic in self._shown],
                "level": [topic.level for topic in self._shown],
                "parent": [parent.get(topic.name) for topic in self._shown],
                "kinship": self._hierarchy.kinship[columns],
                "label": [topic.title for topic in self._shown],
                "words": [[(word.word, word.weight) for word in t.words] for t in self._shown],
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
            rows, _ = strongest_rows(self._strengths_of(self._rows_of(texts)), n_documents)
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
            self._pins.append(_Start(level, self._labels.get(name, ""), known))
        return self

    def merge(self, topics: Sequence[str], texts: Any = None) -> Self:
        """Merge topics of one level into the first of them, which takes over the words and topics below the others.

        Parameters
        ----------
        topics : sequence of str
            Ids of two or more topics.
        texts : sequence of str or table, optional
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
        check_is_fitted(self, "binary_rule_")
        columns = [self._column(name) for name in dict.fromkeys(topics)]
        if len(columns) < 2:
            raise DataError("merging needs at least two different topics")
        levels = np.unique(self._description.level[columns]).tolist()
        if len(levels) > 1:
            raise DataError(
                f"only topics of one level can be merged, but these are of levels {levels}"
            )

        rows = self._rows_of(texts)
        self._hierarchy, moved = self._hierarchy.merged(columns)
        names = [name for name, k in zip(self._description.ids, moved, strict=True) if k >= 0]
        self._strengths = None
        self._description = self._describe(rows, names)
        self._labels = {name: label for name, label in self._labels.items() if name in names}
        of_merged = [word for name in topics for word in self._seed_words.pop(name, ())]
        if of_merged:
            self._seed_words[topics[0]] = tuple(dict.fromkeys(of_merged))

        if self._selection is not None:
            self._selection = tuple(name for name in self._selection if name in names)

        self._clear_cache()
        return self.pin(topics[:1])

    def split(self, topic: str, texts: Any = None) -> Self:
        """Split a topic in two: the subjects of its own documents. The first half keeps its id, both are pinned.

        Topics below it join the half whose words they have.

        Parameters
        ----------
        topic : str
            Id of the topic.
        texts : sequence of str or table, optional
            Documents to learn from; needed for a model from a file, which holds no documents.

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
        rows = self._rows_of(texts)
        with blas_threads(1):
            self._hierarchy, old = split(self._hierarchy, column, rows)

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

    # ---- topics of documents

    def transform(
        self, texts: Any = None, *, level: int | None = None, min_strength: float = _LEAST
    ) -> Any:
        """Return the strength of each topic in each document, from 0 to 1.

        The evidence for a topic is the share of the document's words that belong to it, weighted by how much each word
        tells about topics, as far as it exceeds the topic's mean share. If it is at least half that of the document's
        main topic of that level, the topic is *present*: its strength is 0.5 plus half its share. Otherwise the
        strength is the ratio to the main topic. A topic is at least as strong as those below it. So every document
        with a word of a topic has topics at each level; others, such as an empty one, have none.

        Parameters
        ----------
        texts : sequence of str, table, or a folder of shards, optional
            The documents; default: those the model was fitted on.
        level : int, optional
            Only the topics of this level; default: all of ``topics_``.
        min_strength : float, default=0.01
            Leave out smaller strengths.

        Returns
        -------
        csr_array, shape (documents, topics)
            Columns in the order of :meth:`get_feature_names_out`; a data frame after :meth:`set_output`.
        """
        strengths = self._shown_strengths(texts, level, min_strength)
        if _get_output_config("transform", self)["dense"] == "pandas":
            names = self._names(level)
            return pd.DataFrame.sparse.from_spmatrix(strengths, columns=names)
        return strengths

    def _shown_strengths(self, texts: Any, level: int | None, min_strength: float) -> Any:
        check_is_fitted(self, "binary_rule_")
        columns = self._columns(level)
        if is_outside_memory(texts):
            tables = tables_of(texts, self.vocabulary_)
            blocks = [self._shown_strengths(table, level, min_strength) for table in tables]
            return sp.vstack(blocks, format="csr")
        rows = self._rows_of(texts)
        if min_strength == _LEAST:
            return self._strengths_of(rows)[:, columns]
        return self._hierarchy.strengths(rows, min_strength)[:, columns]

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

    def topics_of(self, text: str, *, min_strength: float = PRESENT) -> pd.DataFrame:
        """Return the topics that are present in one document, the strongest first.

        Parameters
        ----------
        text : str
            The document.
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
        strength = self._shown_strengths([text], None, min_strength).toarray()[0]
        found = self.topics_[["id", "level", "label"]].assign(strength=strength)[strength > 0]
        return found.sort_values("strength", ascending=False, kind="stable", ignore_index=True)

    def documents_of(self, topic: str, texts: Any = None, *, n_documents: int = 10) -> pd.DataFrame:
        """Return the documents in which a topic is present, the strongest first.

        Parameters
        ----------
        topic : str
            Id of the topic.
        texts : sequence of str or table, optional
            The documents; default: those the model was fitted on. A model from a file holds none.
        n_documents : int, default=10
            Maximum number of documents to return.

        Returns
        -------
        pandas.DataFrame
            Columns document (its number, from 0) and strength.
        """
        column = self._column(topic)
        on = self._strengths_of(self._rows_of(texts))[:, [column]].toarray().ravel()
        order = np.argsort(-on, kind="stable")[: np.count_nonzero(on >= PRESENT)][:n_documents]
        return pd.DataFrame({"document": order, "strength": on[order]})

    def per_class(
        self, labels: Sequence[Any], texts: Any = None, *, level: int | None = None
    ) -> pd.DataFrame:
        """Return the share of the documents of each class in which each topic is present.

        Parameters
        ----------
        labels : sequence
            The class of each document.
        texts : sequence of str or table, optional
            The documents; default: those the model was fitted on.
        level : int, optional
            Only the topics of this level.

        Returns
        -------
        pandas.DataFrame
            A row for each class, a column for each topic, under its label (and its id, if several have that label).
        """
        return self._group_shares(pd.Series(list(labels), name="class"), texts, level)

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
        texts : sequence of str or table, optional
            The documents; default: those the model was fitted on.
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
        return self._group_shares(_time_bins(timestamps, n_bins), texts, level)

    # ---- how good the topics are

    def evaluate(self, texts: Any = None) -> pd.DataFrame:
        """Score the topics of each level on documents, at best on some that the model has not seen.

        Parameters
        ----------
        texts : sequence of str or table, optional
            The documents; default: those the model was fitted on.

        Returns
        -------
        pandas.DataFrame
            A row for each level, the top one first, with the scores that :func:`tsenet.explain.hierarchy_scores`
            describes (``npmi_window`` for texts), and ``word_coverage``, the share of the words in a topic.
        """
        texts = list(texts) if isinstance(texts, Iterator) else texts
        rows, tokens = self._rows_of(texts), None
        if are_texts(texts) and self.vectorizer_ is not None:
            tokens = self._split(texts)
        present = self._strengths_of(rows)[:, self._columns(None)] >= PRESENT
        scores = hierarchy_scores(self.view_.topics, self._word_table(rows), present, tokens=tokens)
        frame = pd.DataFrame(scores)
        frame["word_coverage"] = 1.0 - len(self.ungrouped_) / max(1, len(self.vocabulary_))
        return frame

    def score(self, texts: Any, y: Any = None) -> float:
        """Score the model on documents that it has not seen, as ``GridSearchCV`` and ``cross_val_score`` need.

        Half of the words of each document tell its topics; the score is the mean logarithm of the probability of each
        word of the other half, given these. Words of no topic are as likely as in all documents. Only models of the
        same words can be compared: the more words, the less likely each is.

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
        rows = self._rows_of(texts)
        return log_likelihood(self._hierarchy, self._description.word_share, rows)

    def stability(self, texts: Any, *, n_seeds: int = 3) -> pd.DataFrame:
        """Measure how much the topics depend on which documents they are learned from.

        Models are learned from random nine tenths of the documents. For each pair of them, the strongest topics of all
        documents are compared by adjusted mutual information: 1 if the topics divide the documents alike, 0 by chance.

        Parameters
        ----------
        texts : sequence of str, or table
            The documents.
        n_seeds : int, default=3
            Number of models, at least 2.

        Returns
        -------
        pandas.DataFrame
            A row for each level, the top one first: ``level`` and ``ami``, the mean over pairs.
        """
        from sklearn.metrics import adjusted_mutual_info_score

        if n_seeds < 2:
            raise DataError(f"n_seeds must be at least 2, not {n_seeds}")
        self._validate_params()
        _, table = self._learn_words(list(texts) if isinstance(texts, Iterator) else texts)
        rows = BinaryRule.learn(table).apply(table)
        n_drawn = -(-9 * rows.n_rows // 10)
        main: list[list[NDArray[np.int64]]] = []  # of each model, the strongest topics by level

        for seed in range(n_seeds):
            drawn = np.random.default_rng(seed).permutation(rows.n_rows)[:n_drawn]
            hierarchy = learn_hierarchy(rows.take(np.sort(drawn)), self._level_sizes())
            strengths = hierarchy.strengths(rows)
            levels = [strengths[:, level].toarray() for level in reversed(hierarchy.levels)]
            main.append([np.where(level.any(axis=1), level.argmax(axis=1), -1) for level in levels])

        scores = [
            np.mean([adjusted_mutual_info_score(*pair) for pair in combinations(level, 2)])
            for level in zip(*main, strict=False)
        ]
        return pd.DataFrame({"level": range(len(scores), 0, -1), "ami": scores})

    # ---- page and files

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
        texts : sequence of str or table, optional
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
            ``title``, ``n_features`` and ``n_rows`` of :func:`tsenet.explain.report.write_report`.
        """
        from tsenet.explain.report import write_report

        check_is_fitted(self, "binary_rule_")
        rows = self._rows if texts is None else self._rows_of(texts)
        quotes = None if isinstance(quote, bool) else quote
        if quote is True and are_texts(texts):
            quotes = list(texts)

        strengths = table = None
        if rows is not None:
            table, strengths = self._word_table(rows), self._strengths_of(rows)

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

    def to_tree(self, texts: Any = None) -> LatentTree:
        """The topics as a latent tree, for programs that read one: its probabilities are the rates in documents.

        Parameters
        ----------
        texts : sequence of str or table, optional
            The documents; default: those the model was fitted on.

        Returns
        -------
        LatentTree
            A latent for each topic, also for those that are not shown, of the same name. It is a description, not a
            model of the documents that was fitted to them: see :func:`tsenet.learn_tree` for one.
        """
        rows = self._rows_of(texts)
        return self._hierarchy.latent_tree(rows, self.binary_rule_, self._description.ids)

    def to_parts(self) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
        """The file form: parameters, words, labels, the topics and what describes them."""
        check_is_fitted(self, "binary_rule_")
        meta = {
            # How it was run is no part of the model: the same topics are the same file.
            "params": as_json({**self.get_params(deep=False), "progress": None}),
            "rule": self.binary_rule_.to_dict(),
            **vectorizer_parts(self, self.vocabulary_),
            "ids": list(self._description.ids),
            "titles": list(self._description.title),
            "phrases": [[*pair, count] for pair, count in self._phrases.items()],
            "labels": dict(self._labels),
            "pins": [[pin.level, pin.label, list(pin.words)] for pin in self._pins],
            "seeded": {name: list(words) for name, words in self._seed_words.items()},
            "selection": None if self._selection is None else list(self._selection),
            "n_documents": int(self.n_documents_),
        }
        topics = {f"topics.{name}": array for name, array in self._hierarchy.to_parts().items()}
        facts = {f"facts.{name}": array for name, array in self._description.to_parts().items()}
        return meta, {**topics, **facts}

    @classmethod
    def from_parts(cls, meta: dict[str, Any], arrays: dict[str, NDArray[Any]]) -> Self:
        """Rebuild a model from :meth:`to_parts`."""
        model = cls._with_params(meta["params"])
        model.binary_rule_ = BinaryRule.from_dict(meta["rule"], arrays["topics.weight"].size)
        fill_vectorizer(model, meta, model.vocabulary_)
        ids = [str(name) for name in meta["ids"]]
        known = {*ids, *model.vocabulary_}
        if len(known) < len(ids) + len(model.vocabulary_):
            raise ValueError("names of topics and words must be unique")
        model._hierarchy = TopicHierarchy.from_parts(
            arrays_under("topics", arrays), len(model.vocabulary_)
        )
        model._description = TopicDescription.from_parts(
            arrays_under("facts", arrays),
            model._hierarchy,
            model.vocabulary_,
            ids,
            [str(title) for title in meta["titles"]],
        )
        model._phrases = {(int(a), int(b)): int(count) for a, b, count in meta["phrases"]}
        if not {word for pair in model._phrases for word in pair} <= set(
            range(len(model.vocabulary_))
        ):
            raise ValueError("a phrase has a word that is not in the vocabulary")

        chosen = meta["selection"]
        model._labels = {str(name): str(label) for name, label in meta["labels"].items()}
        model._seed_words = {
            str(name): tuple(map(str, words)) for name, words in meta["seeded"].items()
        }
        model._pins = [
            _Start(int(level), str(label), tuple(map(str, words)))
            for level, label, words in meta["pins"]
        ]
        model._selection = None if chosen is None else tuple(chosen)
        model.n_documents_ = int(meta["n_documents"])
        model._rows = model._strengths = None
        unknown = {*model._labels, *model._seed_words, *(model._selection or ())} - set(ids)
        if unknown:
            raise ValueError(f"there is no topic {sorted(unknown)[0]!r}")
        return model

    # ---- private

    def _rows_of(self, texts: Any) -> BinaryRows:
        """Which words occur in documents; by default those of ``fit``."""
        check_is_fitted(self, "binary_rule_")
        if texts is not None:
            table = Table.of(as_counts(texts, self.vectorizer_), columns=self.binary_rule_.names_in)
            return self.binary_rule_.apply(table)
        if self._rows is None:
            raise DataError("a model from a file holds no documents: give them as texts=")
        return self._rows

    def _word_table(self, rows: BinaryRows) -> Table:
        """Which words occur in documents."""
        return Table.of(rows.to_csr(), names=self.vocabulary_)

    def _strengths_of(self, rows: BinaryRows) -> Any:
        """Strength of all topics in documents; that of the documents of ``fit`` is computed once."""
        if rows is not self._rows:
            return self._hierarchy.strengths(rows, _LEAST)
        if self._strengths is None:
            self._strengths = self._hierarchy.strengths(rows, _LEAST)
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

    def _group_shares(self, groups: pd.Series, texts: Any, level: int | None) -> pd.DataFrame:
        """Share of the documents of each group in which each topic is present."""
        columns = self._columns(level)
        present = self._strengths_of(self._rows_of(texts))[:, columns] >= PRESENT
        if len(groups) != present.shape[0]:
            raise DataError(f"{len(groups)} values for {present.shape[0]} documents")
        number, values = pd.factorize(groups, sort=True)  # −1 for a document without a value
        known = np.flatnonzero(number >= 0)
        member = sp.csr_array(
            (np.ones(known.size), (number[known], known)), shape=(len(values), len(number))
        )
        shares = (member @ present).toarray() / np.bincount(number[known])[:, None]
        index = pd.Index(values, name=groups.name)
        return pd.DataFrame(shares, index=index, columns=self._column_titles(level))

    def _column_titles(self, level: int | None) -> list[str]:
        """Labels of the topics shown, with the id where several have the same."""
        topics = [topic for topic in self._shown if level is None or topic.level == level]
        count = Counter(topic.title for topic in topics)
        return [t.title if count[t.title] == 1 else f"{t.title} ({t.name})" for t in topics]

    def _clear_cache(self) -> None:
        """Forget what is derived from the topics, the labels and the parameters."""
        for name in ("view_", "_shown"):
            self.__dict__.pop(name, None)


def _time_bins(timestamps: Sequence[Any], n_bins: int | None) -> pd.Series:
    """Dates or numbers; if there are more than ``n_bins`` distinct ones, the start of the period that each is in."""
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


def _free_id(topic: str, taken: Container[str]) -> str:
    """A new id of the level of a topic: ``Z1.7`` after ``Z1.6``, if no topic has it."""
    stem, _, _ = topic.rpartition(".")
    return next(name for k in count() if (name := f"{stem}.{k}") not in taken)


# ---- words that start topics


class _Start(NamedTuple):
    """Words that start a topic, which is always shown: its level, a label or "", and the words."""

    level: int
    label: str
    words: tuple[str, ...]


def _seeds_of(
    seed_words: Mapping[str, Sequence[str]] | Sequence[Sequence[str]] | None,
) -> list[_Start]:
    """The groups of seed words, with or without labels."""
    if isinstance(seed_words, Mapping):
        return [_Start(1, label, tuple(words)) for label, words in seed_words.items()]
    return [_Start(1, "", tuple(words)) for words in seed_words or ()]


def _known_starts(
    starts: Sequence[_Start], vocabulary: Container[str], *, seeds: bool
) -> list[_Start]:
    """Seed words or pinned topics with the words that are in the vocabulary, at least two each.

    Raises
    ------
    DataError
        If a group of seed words has fewer; a pinned topic is then left out, with a warning.
    """
    known = []
    for start in starts:
        words = tuple(word for word in start.words if word in vocabulary)
        if len(words) >= 2:
            known.append(start._replace(words=words))
            continue

        found = f"only {words[0]!r}" if words else "none of them"
        message = f"it needs two words that are in the vocabulary, which has {found}"
        if seeds:
            raise DataError(
                f"a topic cannot be learned from the seed words {listed(start.words) or '(none)'}: {message}. "
                "Add more frequent words, or enlarge the vocabulary (n_words, min_documents)"
            )

        warnings.warn(
            f"the pinned topic {start.label or ', '.join(start.words[:3])!r} is not kept: {message}",
            stacklevel=5,  # where fit() was called
        )

    missing = [word for start in starts for word in start.words if word not in vocabulary]
    if seeds and missing:
        warnings.warn(
            f"seed words that are not in the vocabulary are left out: {', '.join(missing)}",
            stacklevel=5,  # where fit() was called
        )

    return known
