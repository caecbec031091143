"""Documents in, topics out."""

from __future__ import annotations

import warnings
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from functools import cached_property
from itertools import combinations, pairwise
from numbers import Integral, Real
from os import PathLike
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, Self

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from sklearn.base import TransformerMixin, clone
from sklearn.utils._param_validation import (
    Interval,
    StrOptions,
    validate_parameter_constraints,
)
from sklearn.utils.validation import check_is_fitted

from tsenet.data.binary import BinaryRule
from tsenet.data.rows import BinaryRows
from tsenet.data.table import Table
from tsenet.data.text import (
    are_texts,
    checked_vectorizer,
    rows_of_texts,
    vectorize,
    word_vectorizer,
)
from tsenet.errors import DataError
from tsenet.estimators.base import TREE_CONSTRAINTS, as_json, fill_vectorizer, vectorizer_parts
from tsenet.estimators.outside_memory import (
    WithoutDisplay,
    drawn_documents,
    folder_of,
    is_outside_memory,
    tables_of,
)
from tsenet.explain.presence import PRESENT, bins_of, topic_activity
from tsenet.explain.scores import coherence, hierarchy_scores
from tsenet.explain.topic_words import (
    Topic,
    TopicView,
    TopicWord,
    choose_topics,
    every_topic,
    view_topics,
)
from tsenet.progress import as_progress
from tsenet.scale.blocks import in_blocks
from tsenet.skeleton.hierarchy import TopicDescription, TopicHierarchy, describe, learn_hierarchy
from tsenet.skeleton.tree import LatentTree
from tsenet.store.files import arrays_under

if TYPE_CHECKING:
    import pandas as pd
    from sklearn.feature_extraction.text import CountVectorizer

__all__ = ["TopicModel", "learn_words"]

_MIN_GROUPED = 0.05  # fit() warns if a smaller share of the words is in topics
_N_TYPICAL = 3  # typical documents of a topic
_LABEL_WORDS = 3
_STORED_WORDS = 30  # words that are kept for each topic, of which top_words are shown


class TopicModel(WithoutDisplay, TransformerMixin):
    """A hierarchy of topics, learned from documents.

    A topic is a latent of a tree over the words (:class:`tsenet.LatentTree`). Topics of level 1 are directly above the
    words; each topic of a higher level has at least two below it, with which it shares documents. Topics are
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
    vectorizer : CountVectorizer or None, default=None
        Any other choice of words, such as n-grams: scikit-learn's own, or :func:`tsenet.data.word_vectorizer`. The
        three parameters above then have no effect.
    select : {"frequency", "tfidf"}, default="frequency"
        Which ``n_words`` words to keep, or ``max_features`` of the vectorizer: the most frequent ones, or those with
        the highest mean tf-idf, as in the HLTA papers (arXiv 1605.06650).
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
    n_jobs : int or None, default=None
        Threads that count words and read a folder; None for all cores. The result does not depend on it.
    progress : bool, callable, Progress or None, default=None
        Whether to show progress.


    Attributes
    ----------
    tree_ : LatentTree
        The model itself, with all topics, also those that are not shown.
    topics_ : pandas.DataFrame
        The topics shown, one in each row, in the order of the columns of :meth:`transform`: id, level, parent, label,
        words, share (of the documents) and n_documents in which it is *present*, members (the words that belong to it
        more than to other topics), coherence and documents (typical ones). Words describe a topic compared with the
        others of its level, and are not repeated below it; see :meth:`transform` for presence.
    vocabulary_ : tuple of str
        The words.
    ungrouped_ : tuple of str
        The words in no topic shown, most frequent first: they have no significant tie to other words.
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
        "n_words": [Interval(Integral, 1, None, closed="left"), None],
        "min_documents": [Interval(Integral, 1, None, closed="left")],
        "select": [StrOptions({"frequency", "tfidf"})],
        "top_words": [Interval(Integral, 1, None, closed="left")],
        "levels": ["array-like", None],
        "n_topics": [Interval(Integral, 1, None, closed="left"), None],
        "min_size": [Interval(Real, 0, None, closed="left")],
        "min_coherence": [Interval(Real, -1, 1, closed="both")],
        "n_jobs": TREE_CONSTRAINTS["n_jobs"],
    }

    tree_: LatentTree
    vectorizer_: CountVectorizer | None
    n_documents_: int
    _stats: _TopicStats
    _labels: dict[str, str]  # chosen by the user, by topic id
    _seeded: tuple[str, ...]  # ids of the topics of seed words and pins, which are always shown
    _pins: list[_Pin]  # topics that fit keeps
    _selection: tuple[str, ...] | None  # ids of the topics that reduce() chose
    _rows: BinaryRows | None  # the documents of fit; None in a model from a file
    _strengths: Any  # of the topics in these documents; None until they are needed
    _hierarchy: TopicHierarchy

    def __init__(
        self,
        *,
        n_words: int | None = 10_000,
        stop_words: Any = "english",
        min_documents: int = 2,
        vectorizer: CountVectorizer | None = None,
        select: Literal["frequency", "tfidf"] = "frequency",
        seed_words: Mapping[str, Sequence[str]] | Sequence[Sequence[str]] | None = None,
        top_words: int = 10,
        levels: Sequence[int] | None = None,
        n_topics: int | None = None,
        min_size: float = 0,
        min_coherence: float = -1,
        random_state: Any = None,
        n_jobs: int | None = None,
        progress: Any = None,
    ) -> None:
        self.n_words = n_words
        self.stop_words = stop_words
        self.min_documents = min_documents
        self.vectorizer = vectorizer
        self.select = select
        self.seed_words = seed_words
        self.top_words = top_words
        self.levels = levels
        self.n_topics = n_topics
        self.min_size = min_size
        self.min_coherence = min_coherence
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.progress = progress

    # ---- learning

    def fit(self, texts: Any, y: Any = None) -> Self:
        """Learn the topics of documents.

        Parameters
        ----------
        texts : sequence of str, Documents, table, or a folder of shards
            The documents; or a sparse table of word counts whose columns have names (a :class:`tsenet.Table`). Of a
            folder that need not fit into memory (path, ``ShardFolder`` or :class:`tsenet.scale.Blocks`), the
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
                described = drawn_documents(blocks, self.random_state, report)
                self.vectorizer_ = folder_of(blocks).vectorizer()
                return self._fit_counts(described, blocks.n_rows)
        texts = list(texts) if isinstance(texts, Iterator) else texts
        vectorizer = self.vectorizer
        if vectorizer is None:
            vectorizer = word_vectorizer(
                n_words=self.n_words, stop_words=self.stop_words, min_documents=self.min_documents
            )
        self.vectorizer_, table = learn_words(texts, vectorizer, self.select, self.progress)
        return self._fit_counts(table)

    def _fit_counts(self, table: Table, n_documents: int | None = None) -> Self:
        """Learn from word counts of documents, which were drawn from ``n_documents``."""
        seeds = _seed_groups(self.seed_words, table.names)
        column = {word: k for k, word in enumerate(table.names)}
        rule = BinaryRule.learn(table)
        rows = self._rows = rule.apply(table)
        if rows.n_rows < 2:
            raise DataError(f"at least two documents are needed to learn topics, not {rows.n_rows}")
        pins = _known_pins(getattr(self, "_pins", ()), column)
        groups: dict[int, list[list[int]]] = {
            1: [[column[word] for word in group] for _, group in seeds]
        }
        for pin in pins:
            groups.setdefault(pin.level, []).append([column[word] for word in pin.words])
        with as_progress(self.progress) as report:
            report.start("topics", None)
            self._hierarchy = learn_hierarchy(rows, self._level_sizes(), groups)
            report.finish(f"{'-'.join(map(str, self._hierarchy.sizes))} topics")
        self.tree_ = self._hierarchy.latent_tree(rows, rule)
        self.n_documents_ = rows.n_rows if n_documents is None else n_documents
        self._warn_about_unused_words()
        ids = [
            self.tree_.names[k]
            for k in range(self.tree_.n_observed, self.tree_.n_observed + len(seeds))
        ]
        self._labels = {name: label for name, (label, _) in zip(ids, seeds, strict=True) if label}
        self._pins = [pin for pin in pins if pin.level <= self.tree_.n_levels]
        if len(self._pins) < len(pins):
            warnings.warn(
                f"{len(pins) - len(self._pins)} pinned topics of higher levels are not kept: the hierarchy now has "
                f"{self.tree_.n_levels} levels. Set levels to keep their number",
                stacklevel=3,  # where fit() was called
            )
        n_before = {1: len(seeds)}
        for pin in self._pins:
            place = n_before.get(pin.level, 0)
            n_before[pin.level] = place + 1
            ids.append(self.tree_.names[self.tree_.layer(pin.level).start + place])
            if pin.label:
                self._labels[ids[-1]] = pin.label
        self._seeded = tuple(ids)
        self._selection = None
        self._strengths = None
        self._stats = _TopicStats.of(
            self._hierarchy, rows, self._strengths_of(None), self.top_words
        )
        self._stats.measure_coherence(table, self.top_words)
        self._clear_cache()
        return self

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
        n_words, n_unused = self.tree_.n_observed, len(self.tree_.ungrouped)
        if n_words - n_unused < _MIN_GROUPED * n_words:
            warnings.warn(
                f"only {n_words - n_unused:,} of {n_words:,} words are in a topic; the others have no significant tie "
                f"to any word in these {self.n_documents_:,} documents. More documents give more topics; a smaller "
                "vocabulary (n_words, min_documents) leaves out words that are too rare",
                stacklevel=4,  # where fit() was called
            )

    def partial_fit(self, texts: Any, y: Any = None) -> Self:
        """Update the topics with new documents; vocabulary, levels and the words that describe topics stay.

        Each document weighs as much as each document before. Shares follow; coherence and the typical documents stay
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
        rows = self.tree_.binary(self._table(texts))
        if not rows.n_rows:
            return self
        self._hierarchy = self._hierarchy.updated(rows)
        old, new = self.tree_, self._hierarchy.latent_tree(rows, self.tree_.rule)
        weight = rows.n_rows / (self.n_documents_ + rows.n_rows)
        below = slice(0, old.layer(old.n_levels).start)  # links inside the top level stay
        same = np.flatnonzero(old.parent[below] == new.parent[below])
        cpt = old.cpt.copy()
        cpt[same] = (1.0 - weight) * old.cpt[same] + weight * new.cpt[same]
        self.tree_ = replace(old, cpt=cpt)
        share = (1.0 - weight) * self._stats.share + weight * _shares(
            self._hierarchy.strengths(rows)
        )
        self._stats = replace(self._stats, share=share)
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
        return self._strengths_of(None)[:, self._columns(None)]

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
        check_is_fitted(self, "tree_")
        parent = {below.name: topic.name for topic in self._shown for below in topic.children}
        columns = [self._column(topic.name) for topic in self._shown]
        share, typical = self._stats.share[columns], self._stats.typical[columns]
        members = self._members()
        import pandas

        return pandas.DataFrame(
            {
                "id": [topic.name for topic in self._shown],
                "level": [topic.level for topic in self._shown],
                "parent": [parent.get(topic.name) for topic in self._shown],
                "label": [topic.title for topic in self._shown],
                "words": [[(word.word, word.weight) for word in t.words] for t in self._shown],
                "share": share,
                "n_documents": np.rint(share * self.n_documents_).astype(np.int64),
                "members": [members[column] for column in columns],
                "coherence": self._stats.coherence[columns],
                "documents": [documents[documents >= 0].tolist() for documents in typical],
            }
        )

    def _members(self) -> list[list[str]]:
        """The words that belong to each latent, most frequent first."""
        order = np.argsort(-self._stats.word_share, kind="stable")
        order = order[self._hierarchy.main_topic[order] >= 0]
        members: list[list[str]] = [[] for _ in self.tree_.latent_names]
        above = [self._hierarchy.ancestors(topic) for topic in range(self._hierarchy.sizes[0])]
        for word in order.tolist():
            topic = self._hierarchy.main_topic[word]
            for column in (topic, *above[topic]):
                members[column].append(self.tree_.names[word])
        return members

    @property
    def vocabulary_(self) -> tuple[str, ...]:
        """The words."""
        check_is_fitted(self, "tree_")
        return tuple(self.tree_.names[: self.tree_.n_observed])

    @property
    def ungrouped_(self) -> tuple[str, ...]:
        """The words in no topic of ``topics_``, most frequent first."""
        check_is_fitted(self, "tree_")
        members = self._members()
        shown = {w for topic in self._shown for w in members[self._column(topic.name)]}
        order = np.argsort(-self._stats.word_share, kind="stable")
        return tuple(self.tree_.names[v] for v in order if self.tree_.names[v] not in shown)

    @cached_property
    def view_(self) -> TopicView:
        """The topics as nested :class:`tsenet.explain.Topic`, and those that are not shown, with the reasons."""
        check_is_fitted(self, "tree_")
        topics = self._nested()
        least = self.min_size
        if isinstance(least, int) and not isinstance(least, bool):
            least = least / max(1, self.n_documents_)
        return view_topics(
            topics,
            min_size=least,
            min_coherence=self.min_coherence,
            keep=self._seeded if least > 0 or self.min_coherence > -1 else self._described,
        )

    @property
    def _described(self) -> list[str]:
        """Ids of the topics that have words."""
        names = zip(self.tree_.latent_names, self._stats.words, strict=True)
        return [name for name, words in names if (words >= 0).any()]

    def _nested(self) -> list[Topic]:
        """All topics, nested; the label of a topic avoids words of its siblings."""
        stats, tree = self._stats, self.tree_
        described = [
            tuple(
                TopicWord(
                    tree.names[word],
                    float(tree_weight),
                    inside=float(shares[1]),
                    outside=float(shares[0]),
                    weight=float(tree_weight),
                )
                for word, tree_weight, shares in zip(
                    *(stats.words[k], stats.score[k], stats.word_shares[k]), strict=True
                )
                if word >= 0
            )[: self.top_words]
            for k in range(tree.n_latents)
        ]
        start = tree.n_observed

        def topic_of(node: int, siblings: Sequence[int]) -> Topic:
            k = node - start
            words = [word.word for word in described[k]]
            others = {word.word for v in siblings if v != node for word in described[v - start]}
            label = [word for word in words if word not in others][:_LABEL_WORDS]
            label += [word for word in words if word not in label][: _LABEL_WORDS - len(label)]
            below = [] if tree.level[node] == 1 else children[node]
            topics = [topic_of(child, below) for child in below]
            score = stats.coherence[k]
            return Topic(
                name=tree.names[node],
                level=int(tree.level[node]),
                title=self._labels.get(tree.names[node]) or ", ".join(label),
                size=float(stats.share[k]),
                words=described[k],
                children=tuple(sorted(topics, key=lambda topic: (-topic.size, topic.name))),
                information=float(stats.information[k]),
                coherence=None if np.isnan(score) else float(score),
            )

        children: dict[int, list[int]] = defaultdict(list)
        for node in range(start, tree.layer(tree.n_levels).start):
            children[int(tree.parent[node])].append(node)
        top = range(*tree.layer(tree.n_levels).indices(tree.n_nodes))
        topics = [topic_of(node, top) for node in top]
        return sorted(topics, key=lambda topic: (-topic.size, topic.name))

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
        check_is_fitted(self, "tree_")
        self._labels = self._labels | {name: str(label) for name, label in labels.items()}
        self._clear_cache()
        return self.pin(labels)

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
            words = self._stats.words[column][: self.top_words]
            known = tuple(self.vocabulary_[word] for word in words if word >= 0)
            level = int(self.tree_.level[self.tree_.n_observed + column])
            self._pins = [pin for pin in self._pins if (pin.level, pin.words) != (level, known)]
            self._pins.append(_Pin(level, self._labels.get(name, ""), known))
        return self

    def merge(self, topics: Sequence[str], texts: Any = None) -> Self:
        """Merge topics of one level into the first of them, which takes over the words and topics below the others.

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
        check_is_fitted(self, "tree_")
        columns = [self._column(name) for name in dict.fromkeys(topics)]
        if len(columns) < 2:
            raise DataError("merging needs at least two different topics")
        levels = {int(self.tree_.level[self.tree_.n_observed + column]) for column in columns}
        if len(levels) > 1:
            raise DataError(
                f"only topics of one level can be merged, but these are of levels {sorted(levels)}"
            )
        texts = list(texts) if isinstance(texts, Iterator) else texts
        table = None if texts is None else self._table(texts)
        rows = self._rows_of(table)
        before = dict(zip(self.tree_.latent_names, self._stats.coherence, strict=True))
        self._hierarchy, moved = self._hierarchy.merged(columns)
        names = [name for name, k in zip(self.tree_.latent_names, moved, strict=True) if k >= 0]
        self.tree_ = self._hierarchy.latent_tree(rows, self.tree_.rule, names)
        self._strengths = None
        strengths = self._strengths_of(table)
        self._stats = _TopicStats.of(self._hierarchy, rows, strengths, self.top_words)
        # The words of the merged topic and of those above it have changed.
        changed = {topics[0], *_above(self.tree_, topics[0])}
        self._stats.coherence[:] = [
            np.nan if name in changed else before[name] for name in self.tree_.latent_names
        ]
        if table is not None:
            self._stats.measure_coherence(table, self.top_words)
        self._labels = {name: label for name, label in self._labels.items() if name in names}
        seeded = (topics[0] if name in topics else name for name in self._seeded)
        self._seeded = tuple(dict.fromkeys(seeded))
        if self._selection is not None:
            self._selection = tuple(name for name in self._selection if name in names)
        self._clear_cache()
        return self.pin(topics[:1])

    def reduce(self, n_topics: int | None) -> Self:
        """Show at most this many topics, none of them above or below another: the most informative ones.

        Parameters
        ----------
        n_topics : int or None
            Maximum number of topics to show; None shows the whole hierarchy again.

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
        self._clear_cache()
        return self

    # ---- topics of documents

    def transform(
        self,
        texts: Any,
        *,
        level: int | None = None,
        min_strength: float = 0.01,
    ) -> Any:
        """Return the strength of each topic in each document, from 0 to 1.

        The evidence for a topic is the share of the document's words that belong to it, weighted by how much each word
        tells about topics, as far as it exceeds the topic's mean share. If it is at least half that of the document's
        main topic of that level, the topic is *present*: its strength is 0.5 plus half its share. Otherwise the
        strength is the ratio to the main topic. A topic is at least as strong as those below it. So every document
        with a word of a topic has topics at each level; others, such as an empty one, have none.

        Parameters
        ----------
        texts : sequence of str, Documents, table, or a folder of shards
            The documents.
        level : int, optional
            Only the topics of this level; default: all of ``topics_``.
        min_strength : float, default=0.01
            Leave out smaller strengths.

        Returns
        -------
        csr_array, shape (documents, topics)
            Columns in the order of :meth:`get_feature_names_out`.
        """
        check_is_fitted(self, "tree_")
        columns = self._columns(level)
        if is_outside_memory(texts):
            blocks = [
                self._strengths_of(table, min_strength)[:, columns]
                for table in tables_of(texts, self.vocabulary_)
            ]
            return sp.vstack(blocks, format="csr")
        return self._strengths_of(self._table(texts), min_strength)[:, columns]

    def get_feature_names_out(self, input_features: Any = None) -> NDArray[np.object_]:
        """Ids of the topics, one for each column that :meth:`transform` gives without ``level``."""
        check_is_fitted(self, "tree_")
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
        import pandas

        row = self.transform([text], min_strength=min_strength).toarray()[0]
        order = np.argsort(-row, kind="stable")[: np.count_nonzero(row)]
        chosen = [self._shown[k] for k in order]
        return pandas.DataFrame(
            {
                "id": [topic.name for topic in chosen],
                "level": [topic.level for topic in chosen],
                "label": [topic.title for topic in chosen],
                "strength": row[order],
            }
        )

    def documents_of(self, topic: str, texts: Any = None, *, n_documents: int = 10) -> pd.DataFrame:
        """Return the documents in which a topic is present, the strongest first.

        Parameters
        ----------
        topic : str
            Id of the topic.
        texts : sequence of str, Documents, or table, optional
            The documents; default: those the model was fitted on. A model from a file holds none.
        n_documents : int, default=10
            Maximum number of documents to return.

        Returns
        -------
        pandas.DataFrame
            Columns document (its number, from 0) and strength.
        """
        import pandas

        column = self._column(topic)
        on = self._strengths_of(texts)[:, [column]].toarray().ravel()
        order = np.argsort(-on, kind="stable")[: np.count_nonzero(on >= PRESENT)][:n_documents]
        return pandas.DataFrame({"document": order, "strength": on[order]})

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
        import pandas

        return self._group_shares(pandas.Series(list(labels), name="class"), texts, level)

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
            Divide the time into this many bins of equal length if there are more distinct dates; None keeps every
            date separate.
        level : int, optional
            Only the topics of this level.

        Returns
        -------
        pandas.DataFrame
            A row for each time (the start of the bin), in order, and a column for each topic.
        """
        return self._group_shares(_time_bins(timestamps, n_bins), texts, level)

    # ---- how good the topics are

    def evaluate(self, texts: Any = None) -> pd.DataFrame:
        """Score the topics of each level on documents, at best on some that the model has not seen.

        Parameters
        ----------
        texts : sequence of str, Documents, or table, optional
            The documents; default: those the model was fitted on.

        Returns
        -------
        pandas.DataFrame
            A row for each level, the top one first, with the scores that :func:`tsenet.explain.hierarchy_scores`
            describes (``npmi_window`` for texts), and ``word_coverage``, the share of the words in a topic.
        """
        texts = list(texts) if isinstance(texts, Iterator) else texts
        counts = None if texts is None else self._table(texts)
        tokens = None
        if are_texts(texts) and self.vectorizer_ is not None:
            clean, split = self.vectorizer_.build_preprocessor(), self.vectorizer_.build_tokenizer()
            tokens = (split(clean(text or "")) for text in getattr(texts, "texts", texts))
        present = self._strengths_of(counts)[:, self._columns(None)] >= PRESENT
        table = Table.of(self._rows_of(counts).to_csr(), names=self.vocabulary_)
        import pandas

        scores = hierarchy_scores(self._chosen, table, present, tokens=tokens)
        frame = pandas.DataFrame(scores)
        frame["word_coverage"] = 1.0 - len(self.ungrouped_) / max(1, self.tree_.n_observed)
        return frame

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
        texts = list(texts) if isinstance(texts, Iterator) else texts
        vectorizer = self.vectorizer or word_vectorizer(
            n_words=self.n_words, stop_words=self.stop_words, min_documents=self.min_documents
        )
        _, table = learn_words(texts, vectorizer, self.select)
        rows = BinaryRule.learn(table).apply(table)
        main: list[
            list[NDArray[np.int64]]
        ] = []  # of each model, its strongest topics, top level first
        for seed in range(n_seeds):
            drawn = np.random.default_rng(seed).permutation(rows.n_rows)[
                : -(-9 * rows.n_rows // 10)
            ]
            hierarchy = learn_hierarchy(rows.take(np.sort(drawn)), self._level_sizes())
            strengths = hierarchy.strengths(rows)
            levels = [strengths[:, level].toarray() for level in reversed(hierarchy.levels)]
            main.append([np.where(level.any(axis=1), level.argmax(axis=1), -1) for level in levels])
        scores = [
            np.mean([adjusted_mutual_info_score(*pair) for pair in combinations(level, 2)])
            for level in zip(*main, strict=False)
        ]
        import pandas

        return pandas.DataFrame({"level": range(len(scores), 0, -1), "ami": scores})

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
        from tsenet.explain.report import ReportOptions, write_report

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
                    self._hierarchy.strengths(rows)
                    if texts is not None
                    else self._strengths_of(None),
                    n_best=settings.n_rows,
                    bins=bins,
                    n_jobs=self.n_jobs,
                    progress=report,
                )
        if activity is not None and texts is not None:  # the same topics, in these documents
            topics = _with_sizes(
                topics, dict(zip(self.tree_.latent_names, activity.size, strict=True))
            )
        write_report(
            *(path, self.tree_, table),
            texts=quotes,
            along=bins,
            along_name=along_name,
            topics=topics,
            activity=activity,
            **{"title": "Topics", "words": True, **options},
        )

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
        params = {name: as_json(value) for name, value in self.get_params(deep=False).items()}
        meta = {
            # How it was run is no part of the model: the same topics are the same file.
            "params": {**params, "n_jobs": None, "progress": None},
            "tree": tree,
            **vectorizer_parts(self, self.vocabulary_),
            "labels": dict(self._labels),
            "pins": [[pin.level, pin.label, list(pin.words)] for pin in self._pins],
            "seeded": list(self._seeded),
            "selection": None if self._selection is None else list(self._selection),
            "n_documents": int(self.n_documents_),
        }
        arrays = {f"tree.{name}": array for name, array in arrays.items()}
        counts = self._hierarchy.counts
        topics = {
            "topics.weight": self._hierarchy.weight,
            "topics.parent": self._hierarchy.parent,
            "topics.usual": self._hierarchy.usual,
            "topics.counts": counts.data,
            "topics.columns": counts.indices.astype(np.int64),
            "topics.starts": counts.indptr.astype(np.int64),
        }
        return meta, {**arrays, **topics, **self._stats.to_arrays()}

    @classmethod
    def from_parts(cls, meta: dict[str, Any], arrays: dict[str, NDArray[Any]]) -> Self:
        """Rebuild a model from :meth:`to_parts`."""
        validate_parameter_constraints(cls._parameter_constraints, meta["params"], cls.__name__)
        model = cls(**meta["params"])
        tree = model.tree_ = LatentTree.from_parts(meta["tree"], arrays_under("tree", arrays))
        fill_vectorizer(model, meta, model.vocabulary_)
        chosen = meta["selection"]
        model._labels = {str(name): str(label) for name, label in meta["labels"].items()}
        model._seeded = tuple(meta["seeded"])
        model._pins = [
            _Pin(int(level), str(label), tuple(map(str, words)))
            for level, label, words in meta["pins"]
        ]
        model._selection = None if chosen is None else tuple(chosen)
        model.n_documents_ = int(meta["n_documents"])
        model._rows = model._strengths = None
        model._hierarchy = _checked_hierarchy(arrays_under("topics", arrays), tree)
        model._stats = _TopicStats.from_arrays(arrays, tree)
        unknown = {*model._labels, *model._seeded, *(model._selection or ())} - set(
            tree.latent_names
        )
        if unknown:
            raise ValueError(f"there is no topic {sorted(unknown)[0]!r}")
        return model

    # ---- private

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

    def _strengths_of(self, texts: Any, least: float = 0.01) -> Any:
        """Strength of all topics in documents; by default those of ``fit``."""
        rows = self._rows_of(texts)
        if texts is not None or least < 0.01:
            return self._hierarchy.strengths(rows, least)
        if self._strengths is None:
            self._strengths = self._hierarchy.strengths(rows)
        return self._strengths

    def _column(self, topic: str) -> int:
        """Column of a topic among the latents."""
        check_is_fitted(self, "tree_")
        try:
            return self.tree_.latent_names.index(topic)
        except ValueError:
            some = ", ".join(t.name for t in self._shown[:3])
            raise DataError(
                f"there is no topic {topic!r}; topics_ lists the ids, such as {some}"
            ) from None

    def _names(self, level: int | None) -> list[str]:
        """Ids of the topics shown, of one level or of all."""
        return [topic.name for topic in self._shown if level is None or topic.level == level]

    def _columns(self, level: int | None) -> list[int]:
        """Columns among the latents of the topics shown, of one level or of all."""
        names = self._names(level)
        if level is not None and not names:
            raise DataError(f"no topic of level {level} is shown")
        return [self._column(name) for name in names]

    def _group_shares(self, groups: pd.Series, texts: Any, level: int | None) -> pd.DataFrame:
        """Share of the documents of each group in which each topic is present."""
        columns = self._columns(level)
        present = self._strengths_of(texts)[:, columns] >= PRESENT
        if len(groups) != present.shape[0]:
            raise DataError(f"{len(groups)} values for {present.shape[0]} documents")
        import pandas

        number, values = pandas.factorize(groups, sort=True)  # −1 for a document without a value
        known = np.flatnonzero(number >= 0)
        member = sp.csr_array(
            (np.ones(known.size), (number[known], known)), shape=(len(values), len(number))
        )
        shares = (member @ present).toarray() / np.bincount(number[known])[:, None]
        index = pandas.Index(values, name=groups.name)
        return pandas.DataFrame(shares, index=index, columns=self._names(level))

    def _clear_cache(self) -> None:
        """Forget what is derived from the tree, the labels and the parameters."""
        for name in ("view_", "_chosen", "_shown"):
            self.__dict__.pop(name, None)


def _above(tree: LatentTree, topic: str) -> list[str]:
    """The latents above one, up to its ancestor in the top level."""
    node, ancestors = tree.names.index(topic), []
    while tree.level[node] < tree.n_levels:
        node = int(tree.parent[node])
        ancestors.append(tree.names[node])
    return ancestors


def _with_sizes(topics: Sequence[Topic], sizes: Mapping[str, float]) -> list[Topic]:
    """Nested topics with other sizes, by name."""
    return [
        replace(
            topic,
            size=float(sizes[topic.name]),
            children=tuple(_with_sizes(topic.children, sizes)),
        )
        for topic in topics
    ]


def _time_bins(timestamps: Sequence[Any], n_bins: int | None) -> pd.Series:
    """Dates or numbers; if there are more than ``n_bins`` distinct ones, the start of the bin that each is in."""
    import pandas

    times = pandas.Series(list(timestamps), name="time")
    if not pandas.api.types.is_numeric_dtype(times):
        times = pandas.to_datetime(times)
    if n_bins is None or times.nunique() <= n_bins:
        return times
    starts = pandas.Series(pandas.cut(times, n_bins, retbins=True)[1][:-1], name="time")
    starts.iloc[0] = times.min()
    bin_of = np.searchsorted(starts.to_numpy(), times.to_numpy(), side="right") - 1
    known = times.notna().to_numpy()
    return starts.iloc[np.maximum(bin_of, 0)].reset_index(drop=True).where(known)


# ---- words


def learn_words(
    texts: Any, vectorizer: CountVectorizer, select: str = "frequency", progress: Any = None
) -> tuple[CountVectorizer | None, Table]:
    """Choose and count the words of documents in one pass.

    Returns
    -------
    CountVectorizer or None
        A fitted copy of ``vectorizer``; None if ``texts`` is a table of counts, which stays as it is.
    Table
        The counts.
    """
    if are_texts(texts):
        fitted = clone(checked_vectorizer(vectorizer))
        if select == "tfidf":
            fitted.set_params(max_features=None)
        table = vectorize(texts, fitted, progress=progress)
        if select == "tfidf":
            table = _keep_highest_tfidf(fitted, table, vectorizer.max_features)
        return fitted, table
    expected = "expected documents: a list of strings, or a sparse table of word counts"
    if isinstance(texts, list | tuple):
        raise DataError(f"{expected}; {f'the first is {texts[0]!r}' if texts else 'there is none'}")
    table = Table.of(texts)
    if not table.is_sparse:
        if hasattr(texts, "columns"):
            expected += f"; of a data frame give one column, such as frame[{table.names[0]!r}]"
        raise DataError(expected)
    return None, table


def _keep_highest_tfidf(vectorizer: CountVectorizer, table: Table, n_words: int | None) -> Table:
    """Keep the words with the highest mean of count · ln(documents / documents with the word); ties by alphabet."""
    counts = table.values
    n_with = np.bincount(counts.indices, minlength=table.n_columns)
    score = np.asarray(counts.sum(axis=0)).ravel() * np.log(table.n_rows / np.maximum(n_with, 1))
    best = np.sort(np.argsort(-score, kind="stable")[:n_words])
    names = [table.names[k] for k in best]
    vectorizer.vocabulary_ = {name: column for column, name in enumerate(names)}
    return Table.of(counts[:, best], names=names)


def _seed_groups(
    seed_words: Mapping[str, Sequence[str]] | Sequence[Sequence[str]] | None, words: Sequence[str]
) -> list[tuple[str, list[str]]]:
    """Label and words of each group of seed words, without those that are not in the vocabulary.

    Raises
    ------
    DataError
        If fewer than two words of a group are in the vocabulary: they are no topic.
    """
    groups = () if seed_words is None else seed_words
    pairs = list(groups.items()) if isinstance(groups, Mapping) else [("", g) for g in groups]
    vocabulary = set(words)
    missing = [word for _, group in pairs for word in group if word not in vocabulary]
    kept = [(label, [word for word in group if word in vocabulary]) for label, group in pairs]
    for (label, known), (_, group) in zip(kept, pairs, strict=True):
        if len(known) < 2:
            raise DataError(
                f"a topic cannot be learned from the seed words {', '.join(map(repr, group)) or '(none)'}"
                f"{f' ({label})' if label else ''}: it needs two that are in the vocabulary, which has "
                f"{'only ' + repr(known[0]) if known else 'none of them'}. Add more frequent words, or enlarge the "
                "vocabulary (n_words, min_documents)"
            )
    if missing:
        warnings.warn(
            f"seed words that are not in the vocabulary are left out: {', '.join(missing)}",
            stacklevel=4,  # where fit() was called
        )
    return kept


class _Pin(NamedTuple):
    """A topic that the user wants to keep: its level, a label or "", and the words that describe it."""

    level: int
    label: str
    words: tuple[str, ...]


def _known_pins(pins: Sequence[_Pin], vocabulary: Mapping[str, int]) -> list[_Pin]:
    """Pins with the words that are in a vocabulary; those with fewer than two are left out, with a warning."""
    known = [
        pin._replace(words=tuple(word for word in pin.words if word in vocabulary)) for pin in pins
    ]
    for pin, kept in zip(pins, known, strict=True):
        if len(kept.words) < 2:
            warnings.warn(
                f"the topic {pin.label or ', '.join(pin.words[:_LABEL_WORDS])!r} cannot be kept: fewer than two of its "
                "words occur in these documents",
                stacklevel=4,  # where fit() was called
            )
    return [pin for pin in known if len(pin.words) >= 2]


# ---- statistics of topics


def _checked_hierarchy(arrays: Mapping[str, NDArray[Any]], tree: LatentTree) -> TopicHierarchy:
    """The hierarchy in a file, checked against its tree."""
    weight, parent, usual, data, columns, starts = (
        np.array(arrays[name])
        for name in ("weight", "parent", "usual", "counts", "columns", "starts")
    )
    n_words, n_topics, sizes = tree.n_observed, tree.n_latents, tuple(tree.layer_sizes[1:])
    expected = np.where(tree.level[n_words:] < tree.n_levels, tree.parent[n_words:] - n_words, -1)
    fits = (
        weight.shape == (n_words,)
        and usual.shape == (n_topics,)
        and starts.shape == (n_words + 1,)
        and all(array.dtype == np.int64 for array in (parent, columns, starts))
        and all(array.dtype == np.float64 for array in (weight, usual, data))
        and columns.shape == data.shape == (starts[-1],)
        and starts[0] == 0
        and bool((np.diff(starts) >= 0).all())
        and bool(((columns >= 0) & (columns < n_topics)).all())
        and np.array_equal(parent, expected)
    )
    if not fits or not all(np.isfinite(a).all() and (a >= 0).all() for a in (weight, usual, data)):
        raise ValueError("the hierarchy of topics does not fit the tree")
    counts = sp.csr_array((data, columns, starts), shape=(n_words, n_topics))
    return TopicHierarchy(weight, counts, parent, usual, sizes)


def _shares(strengths: Any) -> NDArray[np.float64]:
    """Share of the documents in which each topic is present."""
    n_present = (strengths >= PRESENT).sum(axis=0)
    return np.asarray(n_present / max(1, strengths.shape[0]), np.float64)


@dataclass(frozen=True, eq=False)
class _TopicStats:
    """Statistics of the L topics of a hierarchy in documents; W words describe each.

    Attributes
    ----------
    share, information, coherence : float64 (L,)
        Share of the documents in which it is present, what it tells about words, and the NPMI of its words (NaN where
        not measured).
    words, score, word_shares : int64 (L, W), float64 (L, W) and (L, W, 2)
        See :class:`tsenet.skeleton.hierarchy.TopicDescription`.
    word_share : float64 (V,)
        Share of the documents in which each word occurs.
    typical : int64 (L, 3)
        The documents in which it is strongest; −1 where there are fewer.
    """

    share: NDArray[np.float64]
    information: NDArray[np.float64]
    coherence: NDArray[np.float64]
    words: NDArray[np.int64]
    score: NDArray[np.float64]
    word_shares: NDArray[np.float64]
    word_share: NDArray[np.float64]
    typical: NDArray[np.int64]

    @classmethod
    def of(
        cls, hierarchy: TopicHierarchy, rows: BinaryRows, strengths: Any, n_shown: int
    ) -> _TopicStats:
        """Statistics without coherence, which stays NaN."""
        described: TopicDescription = describe(hierarchy, rows, _STORED_WORDS, n_shown)
        by_topic = strengths.tocsc()
        typical = np.full((by_topic.shape[1], _N_TYPICAL), -1)
        for topic, (start, stop) in enumerate(pairwise(by_topic.indptr.tolist())):
            strength, row = by_topic.data[start:stop], by_topic.indices[start:stop]
            best = np.lexsort((row, -strength))[:_N_TYPICAL]
            best = best[strength[best] >= PRESENT]
            typical[topic, : best.size] = row[best]
        return cls(
            share=described.n_documents / rows.n_rows,
            information=described.information,
            coherence=np.full(typical.shape[0], np.nan),
            words=described.words,
            score=described.score,
            word_shares=described.shares,
            word_share=described.word_documents / rows.n_rows,
            typical=typical,
        )

    def measure_coherence(self, table: Table, n_words: int) -> None:
        """Fill in the coherence where it is NaN: how often the words occur in the same documents."""
        missing = np.isnan(self.coherence) & ((self.words[:, :n_words] >= 0).sum(axis=1) > 1)
        topics = np.flatnonzero(missing)
        if topics.size:
            words = [[table.names[w] for w in self.words[k, :n_words] if w >= 0] for k in topics]
            self.coherence[topics] = coherence(words, table, n_words=n_words).per_topic

    def to_arrays(self) -> dict[str, NDArray[Any]]:
        """The file form."""
        return {f"facts.{field.name}": getattr(self, field.name) for field in fields(self)}

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, NDArray[Any]], tree: LatentTree) -> _TopicStats:
        """Rebuild and check the statistics of a tree's topics."""
        n_latents, n_words = tree.n_latents, tree.n_observed
        listed = n_latents, _STORED_WORDS
        shapes = {
            "share": (n_latents,),
            "information": (n_latents,),
            "coherence": (n_latents,),
            "words": listed,
            "score": listed,
            "word_shares": (*listed, 2),
            "word_share": (n_words,),
            "typical": (n_latents, _N_TYPICAL),
        }
        stats = {name: np.array(arrays[f"facts.{name}"]) for name in shapes}
        for name, shape in shapes.items():
            kind = np.int64 if name in ("words", "typical") else np.float64
            if stats[name].shape != shape or stats[name].dtype != kind:
                raise ValueError("the statistics of the topics do not fit the tree")
        for name in ("share", "word_share", "word_shares"):
            if not ((stats[name] >= 0) & (stats[name] <= 1)).all():
                raise ValueError("a share of documents in the file is not between 0 and 1")
        if not ((stats["words"] >= -1) & (stats["words"] < n_words)).all():
            raise ValueError("a topic in the file has a word that is not in the vocabulary")
        return cls(**stats)
