"""Scores of topics: coherence (NPMI), in documents or in sliding windows, and how well levels fit."""

from __future__ import annotations

from array import array
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from tsenet.data.table import Table, is_frame
from tsenet.errors import DataError
from tsenet.topics.coherence import mean_of_pairs, npmi
from tsenet.topics.topic import Topic, every_topic

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

_TOPMOSTS = 1e-10  # what TopMost adds to joint probabilities


@dataclass(frozen=True)
class Coherence:
    """Coherence of topics in a corpus.

    Attributes
    ----------
    score : float
        Mean over the topics that have a score; NaN if none has.
    per_topic : tuple of float
        Score of each topic; NaN for a topic with fewer than two words that occur in the corpus.
    missing : tuple of str
        Words that do not occur in the corpus, which were ignored.
    window : int or None
        Number of words of the sliding window; None for whole documents.

    Examples
    --------
    >>> from tsenet.explain import Coherence
    >>> Coherence(0.1, (0.1,), (), 10).window
    10
    """

    score: float
    per_topic: tuple[float, ...]
    missing: tuple[str, ...]
    window: int | None


def coherence(
    topics: Sequence[Sequence[str]],
    corpus: Any,
    *,
    window: int | None = None,
    feature_names: Sequence[str] | None = None,
    n_words: int = 10,
) -> Coherence:
    """Score topics by how often their words occur together: NPMI, from −1 to 1.

    The score of a topic is the mean over pairs of its words of the normalised pointwise mutual information.

    Parameters
    ----------
    topics : sequence of sequences of str
        Words, strongest first.
    corpus : iterable of token lists, or table (N, V)
        Tokens in the order of the text, read once; or counts of words, dense or sparse, whose columns are named by
        ``feature_names`` (or by a dataframe or Table). Use documents the topics were not learned from.
    window : int or None, default=None
        Words occur together if they are within a sliding window of this many words (10 is usual), or in the same
        document (None). Scores with different windows cannot be compared.
    feature_names : sequence of str, optional
        Names of a table's columns.
    n_words : int, default=10
        Number of words per topic that count, from the first on.

    Returns
    -------
    Coherence
        The mean score, the score of each topic, and the words that do not occur.

    Raises
    ------
    DataError
        If there are no topics or no documents, or a window is asked of a table.
    ValueError
        If ``window`` is below 2.

    Notes
    -----
    The formula is gensim's, and so are the values, with two differences. A pair that never occurs together has −1;
    gensim adds 1e-12 to its probability, which gives −0.83 to words in a tenth of the windows and −0.5 to words in a
    thousandth. And if a word occurs twice within a window, gensim 4 drops it when its first occurrence leaves the
    window; here it counts as long as it is inside.

    Examples
    --------
    >>> from tsenet.explain import coherence
    >>> corpus = [["goal", "team"], ["goal", "team"], ["tax"], ["tax", "law"]]
    >>> scores = coherence([["goal", "team"], ["goal", "tax"]], corpus)
    >>> [round(score, 2) for score in scores.per_topic]
    [1.0, -1.0]
    """
    if window is not None and window < 2:
        raise ValueError(f"a window must hold at least 2 words, not {window}")
    if n_words < 1:
        raise DataError(f"n_words must be at least 1, not {n_words}")
    if not topics:
        raise DataError("there are no topics to score")
    if any(isinstance(topic, str) for topic in topics):
        raise DataError("each topic must be a list of words, not a string")

    chosen = [list(dict.fromkeys(topic))[:n_words] for topic in topics]  # each word once
    every_word = dict.fromkeys(word for topic in chosen for word in topic)
    index = {word: k for k, word in enumerate(every_word)}
    if not _is_table(corpus):
        occurrences = _in_documents(corpus, index, window)
    elif window is None:
        occurrences = _in_table(Table.of(corpus, feature_names), index)
    else:
        raise DataError(
            f"a window of {window} words needs the words in order: "
            "pass lists of tokens, or window=None for whole documents"
        )
    if occurrences.n_windows == 0:
        raise DataError("the corpus holds no documents")

    occurs = np.isin(np.arange(len(index)), occurrences.word)
    scores: list[float] = []
    for topic in chosen:
        words = [index[word] for word in topic if occurs[index[word]]]
        joint = _joint_shares(occurrences, words)
        alone = np.diagonal(joint)
        scores.append(mean_of_pairs(npmi(joint, np.outer(alone, alone))))

    missing = tuple(word for word, k in index.items() if not occurs[k])
    known = [score for score in scores if not np.isnan(score)]
    return Coherence(_mean(known), tuple(scores), missing, window)


def hierarchy_scores(
    topics: Sequence[Topic],
    table: Table,
    present: Any,
    *,
    n_words: int = 10,
    tokens: Iterable[Iterable[str]] | None = None,
) -> dict[str, list[float]]:
    """Score the levels of a hierarchy of topics on documents.

    The scores of pairs of topics are those of TopMost (Wu et al. 2024; TraCo, AAAI 2024), level by level; TopMost
    reports their means over the levels.

    Parameters
    ----------
    topics : sequence of Topic
        Nested topics, such as ``TopicModel.view_.topics``.
    table : Table
        The documents, as counts of words; its columns are named after the words.
    present : csr_array of bool, shape (documents, topics)
        In which documents topics are present, in the order of :func:`every_topic`.
    n_words : int, default=10
        Words of each topic to compare.
    tokens : iterable of token lists, optional
        The words of the documents in order, for ``npmi_window``.

    Returns
    -------
    dict of str to list
        A value for each level, the top one first:

        - ``level``, ``n_topics``
        - ``npmi``: mean NPMI of the pairs of words of a topic in whole documents; −1 for those never together
        - ``npmi_window``: the mean of :func:`coherence` within 10 words of text; only with ``tokens``
        - ``diversity``: share of the words of all topics that are different
        - ``coverage``: share of the documents in which a topic is present
        - ``pcc``: NPMI of words of a topic with those of the one above, over all pairs of words of the level; a pair of
          words that are in both counts as −1. As TopMost does, 1e-10 is added to the share of the documents with two
          words, so that a pair that never occurs together has more than −1, and a word that no document has counts 0
        - ``pccx``: the same without the words in both
        - ``pcd``, ``pncd``: share of the words of a topic and of the one above (``pncd``: of any other of that
          level) that are in one of them only
        - ``sibling_diversity``: share of the words of the topics below one, or of the top level, that occur in one of
          them only
        - ``negative_edges``: share of the topics that are less often present with the one above than without it

        For the top level, the scores of pairs of levels are NaN.

    Examples
    --------
    >>> import scipy.sparse as sp
    >>> from tsenet import Table
    >>> from tsenet.explain import Topic, TopicWord, hierarchy_scores
    >>> words = [TopicWord(word, 1.0, 1.0, 0.0) for word in ("goal", "team")]
    >>> topic = Topic("Z1.0", level=1, title="goal", size=0.5, words=tuple(words))
    >>> table = Table.of(sp.csr_array([[1, 1], [1, 1], [0, 0], [0, 0]]), names=["goal", "team"])
    >>> present = sp.csr_array([[True], [True], [False], [False]])
    >>> round(hierarchy_scores([topic], table, present)["npmi"][0], 3)
    1.0
    """
    hierarchy = _Hierarchy.of(topics, table, n_words)
    on = sp.csc_array(present)
    windows = None
    if tokens is not None and hierarchy.words:
        listed = [[table.names[word] for word in of_topic] for of_topic in hierarchy.words]
        windows = coherence(listed, tokens, window=10, n_words=n_words).per_topic

    result: dict[str, list[float]] = defaultdict(list)
    for level in sorted(set(hierarchy.level), reverse=True):
        scores = {
            "level": level,
            "n_topics": hierarchy.level.count(level),
            **_scores_within(hierarchy, level, on),
            **_scores_of_edges(hierarchy, level, on),
        }
        if windows is not None:
            of_level = [windows[topic] for topic in hierarchy.of_level(level)]
            scores["npmi_window"] = _mean([score for score in of_level if not np.isnan(score)])
        for name, value in scores.items():
            result[name].append(value)

    return dict(result)


@dataclass(frozen=True)
class _Hierarchy:
    """L topics in levels, as numbers, and the documents that they are scored on.

    Attributes
    ----------
    words : list of list of int
        Columns of the first words of each topic.
    level, parent : list of int
        Of each topic; −1 for no parent.
    documents : csc_array (N, V)
        1 where a word occurs.
    word_share : float64 (V,)
        Share of the documents with each word.
    """

    words: list[list[int]]
    level: list[int]
    parent: list[int]
    documents: sp.csc_array
    word_share: Floats

    @classmethod
    def of(cls, topics: Sequence[Topic], table: Table, n_words: int) -> _Hierarchy:
        """Number the words and topics; words that are no column of the table are left out."""
        shown = list(every_topic(topics))
        column = {name: k for k, name in enumerate(table.names)}
        words = []
        for topic in shown:
            names = [word.word for word in topic.words[:n_words]]
            words.append([column[name] for name in names if name in column])

        above = {id(child): k for k, topic in enumerate(shown) for child in topic.children}
        parent = [above.get(id(topic), -1) for topic in shown]
        level = [topic.level for topic in shown]

        documents = sp.csc_array(table.values != 0).astype(np.float64)
        word_share = np.asarray(documents.sum(axis=0)).ravel() / documents.shape[0]
        return cls(words, level, parent, documents, word_share)

    def of_level(self, level: int) -> list[int]:
        """The topics of a level."""
        return [topic for topic, of_topic in enumerate(self.level) if of_topic == level]

    def shares(self, first: list[int], second: list[int]) -> tuple[Floats, Floats]:
        """Shares of the documents with each pair of words, (K, L), and what these would be by chance."""
        joint = (self.documents[:, first].T @ self.documents[:, second]).toarray()
        by_chance = np.outer(self.word_share[first], self.word_share[second])
        return joint / self.documents.shape[0], by_chance

    def coherence(self, topic: int) -> float:
        """Mean NPMI of the pairs of words of a topic; 0 for a single word."""
        words = self.words[topic]
        return mean_of_pairs(npmi(*self.shares(words, words))) if len(words) > 1 else 0.0

    def coherence_of(self, upper: list[int], lower: list[int]) -> Floats:
        """NPMI of words of a topic with those of the one above, as TopMost computes it: (K · L,)."""
        joint, by_chance = self.shares(upper, lower)
        scores = np.where(by_chance > 0, npmi(joint, by_chance, added=_TOPMOSTS), 0.0)
        return scores.ravel()


def _scores_within(hierarchy: _Hierarchy, level: int, on: Any) -> dict[str, float]:
    """Scores of the topics of a level, and of those next to each other."""
    topics = hierarchy.of_level(level)
    words = [word for topic in topics for word in hierarchy.words[topic]]
    words_of_siblings: dict[int, list[list[int]]] = defaultdict(list)
    for topic in topics:
        words_of_siblings[hierarchy.parent[topic]].append(hierarchy.words[topic])

    return {
        "npmi": _mean([hierarchy.coherence(topic) for topic in topics]),
        "diversity": len(set(words)) / max(1, len(words)),
        "coverage": _mean((on[:, topics].sum(axis=1) > 0).tolist()),
        "sibling_diversity": _mean([_once(*siblings) for siblings in words_of_siblings.values()]),
    }


def _scores_of_edges(hierarchy: _Hierarchy, level: int, on: Any) -> dict[str, float]:
    """Scores of the topics of a level with those above them; NaN for the top level."""
    words = hierarchy.words
    parent = hierarchy.parent
    topics = hierarchy.of_level(level)
    edges = [(parent[k], k) for k in topics if parent[k] >= 0]
    uppers = sorted({upper for upper, _ in edges})
    strangers = [(upper, k) for upper in uppers for k in topics if parent[k] != upper]

    pcc = [np.empty(0)]
    pccx = [np.empty(0)]
    for upper, lower in edges:
        both = set(words[upper]) & set(words[lower])
        only_upper = [word for word in words[upper] if word not in both]
        only_lower = [word for word in words[lower] if word not in both]
        scores = hierarchy.coherence_of(only_upper, only_lower)
        pccx.append(scores)
        pcc += [scores, np.full(len(both) ** 2, -1.0)]

    negative = [_is_negative(on[:, [upper]], on[:, [lower]]) for upper, lower in edges]
    return {
        "pcc": _mean(np.concatenate(pcc)),
        "pccx": _mean(np.concatenate(pccx)),
        "pcd": _mean([_once(words[upper], words[lower]) for upper, lower in edges]),
        "pncd": _mean([_once(words[upper], words[lower]) for upper, lower in strangers]),
        "negative_edges": _mean(negative),
    }


def _mean(values: Any) -> float:
    """Mean; NaN of nothing."""
    return float(np.mean(values)) if len(values) else float("nan")


def _once(*topics: Sequence[int]) -> float:
    """Share of the words of some topics that occur in one of them only."""
    counts = Counter(word for topic in topics for word in topic)
    return sum(n == 1 for n in counts.values()) / max(1, sum(map(len, topics)))


def _is_negative(upper: Any, lower: Any) -> bool:
    """Whether a topic is less often present with the one above than without it."""
    n_rows = upper.shape[0]
    n_both = upper.multiply(lower).sum()
    return bool(n_both * n_rows < upper.sum() * lower.sum())


# ---- counting


class _Occurrences(NamedTuple):
    """In which windows words occur; without a window, a document is one.

    Attributes
    ----------
    word : int64 (T,)
        The word of each occurrence, ascending.
    first, last : int64 (T,)
        The windows with that occurrence are ``first`` to ``last`` − 1.
    n_windows : int
    """

    word: Ints
    first: Ints
    last: Ints
    n_windows: int


def _is_table(corpus: Any) -> bool:
    """Whether the corpus is a table of counts, not lists of tokens."""
    if isinstance(corpus, Table) or sp.issparse(corpus) or is_frame(corpus):
        return True
    return isinstance(corpus, np.ndarray) and corpus.ndim == 2 and corpus.dtype.kind in "fiub"


def _in_table(table: Table, index: Mapping[str, int]) -> _Occurrences:
    """Each document of a table is a window."""
    column = {name: j for j, name in enumerate(table.names)}
    known = [word for word in index if word in column]
    place, document = table.values[:, [column[word] for word in known]].T.nonzero()
    word = np.array([index[word] for word in known], np.int64)[place]
    order = np.argsort(word, kind="stable")
    return _Occurrences(word[order], document[order], document[order] + 1, table.n_rows)


def _in_documents(
    corpus: Iterable[Iterable[str]], index: Mapping[str, int], window: int | None
) -> _Occurrences:
    """A document of n words has max(1, n − window + 1) windows."""
    words = array("q")
    positions = array("q")
    documents = array("q")
    lengths = array("q")
    for tokens in corpus:
        if isinstance(tokens, str):
            raise DataError(
                "each document must be a list of tokens, not a string: split the texts into words"
            )

        last = -1
        for last, token in enumerate(tokens):
            number = index.get(token)
            if number is not None:
                words.append(number)
                positions.append(last)
                documents.append(len(lengths))

        lengths.append(last + 1)

    order = np.argsort(np.asarray(words), kind="stable")
    word = np.asarray(words, np.int64)[order]  # (T,)
    position = np.asarray(positions, np.int64)[order]
    document = np.asarray(documents, np.int64)[order]

    length = np.asarray(lengths, np.int64)  # (N,)
    size = length if window is None else np.full_like(length, window)
    n_windows = np.maximum(length - size + 1, 1)
    before = np.cumsum(n_windows) - n_windows  # windows of earlier documents

    # Window w of a document has the positions w to w + size − 1.
    first = np.maximum(position - size[document] + 1, 0)
    last = np.minimum(position, n_windows[document] - 1) + 1
    start = before[document]
    return _Occurrences(word, start + first, start + last, int(n_windows.sum()))


def _joint_shares(occurrences: _Occurrences, words: Sequence[int]) -> Floats:
    """Share of the windows in which each pair of K words occurs, (K, K)."""
    # The occurrences of these words, T of them: they are sorted by word.
    start = np.searchsorted(occurrences.word, words)
    stop = np.searchsorted(occurrences.word, words, side="right")
    chosen = np.concatenate([np.arange(0), *map(np.arange, start, stop)])
    column = np.repeat(np.arange(len(words)), stop - start)  # (T,)

    # Each window of each occurrence, W in all.
    first = occurrences.first[chosen]
    n_windows = occurrences.last[chosen] - first
    before = np.cumsum(n_windows) - n_windows
    row = np.arange(n_windows.sum()) + np.repeat(first - before, n_windows)  # (W,)
    column = np.repeat(column, n_windows)

    # Only windows with one of the words have a row.
    used, row = np.unique(row, return_inverse=True)
    ones = np.ones(row.size, np.int64)
    presence = sp.csr_array((ones, (row, column)), shape=(used.size, len(words)))
    presence.data[:] = 1  # a word may occur several times
    joint = (presence.T @ presence).toarray()  # (K, K)
    return np.asarray(joint / occurrences.n_windows)
