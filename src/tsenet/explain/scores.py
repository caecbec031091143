"""Scores of topics: coherence (NPMI), in documents or in sliding windows, diversity, and how well levels fit."""

from __future__ import annotations

from array import array
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from tsenet.data.table import Table, is_frame
from tsenet.errors import DataError
from tsenet.explain.topic_words import Topic, every_topic

__all__ = ["Coherence", "coherence", "hierarchy_scores", "topic_diversity"]

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

# Added to joint probabilities before a logarithm, as gensim does.
_EPSILON = 1e-12
_WINDOW = 10


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
    Formulas and constants are gensim's, and so are the values, with one difference: if a word occurs twice within a
    window, gensim 4 drops it when its first occurrence leaves the window; here it counts as long as it is inside.

    Examples
    --------
    >>> from tsenet.explain import coherence
    >>> corpus = [["goal", "team"], ["goal", "team"], ["tax"], ["tax", "law"]]
    >>> scores = coherence([["goal", "team"], ["goal", "tax"]], corpus)
    >>> [round(score, 2) for score in scores.per_topic]
    [1.0, -0.95]
    """
    if window is not None and window < 2:
        raise ValueError(f"a window must hold at least 2 words, not {window}")
    chosen = _first_words(topics, n_words)
    index = {word: k for k, word in enumerate(dict.fromkeys(w for topic in chosen for w in topic))}
    if not _is_table(corpus):
        occurrences = _in_documents(corpus, index)
    elif window is None:
        occurrences = _in_table(Table.of(corpus, feature_names), index)
    else:
        raise DataError(
            f"a window of {window} words needs the words in order: "
            "pass lists of tokens, or window=None for whole documents"
        )
    if occurrences.lengths.size == 0:
        raise DataError("the corpus holds no documents")
    occurs = np.diff(occurrences.starts) > 0
    scores: list[float] = []
    for topic in chosen:
        words = [index[word] for word in topic if occurs[index[word]]]
        joint = _joint_shares(occurrences, words, window)
        alone = np.diagonal(joint)
        npmi = _npmi(joint, alone, alone, epsilon=_EPSILON, always=0.0)
        pairs = npmi[np.triu_indices(len(words), 1)]
        scores.append(float(pairs.mean()) if pairs.size else np.nan)
    missing = tuple(word for word, k in index.items() if not occurs[k])
    known = [score for score in scores if not np.isnan(score)]
    return Coherence(_mean(known), tuple(scores), missing, window)


def topic_diversity(topics: Sequence[Sequence[str]], *, n_words: int = 25) -> float:
    """Share of different words among all topics' first words (Dieng et al., 2020): 1 if no two topics share any.

    Parameters
    ----------
    topics : sequence of sequences of str
        Words, strongest first.
    n_words : int, default=25
        Number of words per topic that count, from the first on.

    Returns
    -------
    float
        Between 0 and 1.

    Raises
    ------
    DataError
        If the topics hold no words.

    Examples
    --------
    >>> from tsenet.explain import topic_diversity
    >>> topic_diversity([["goal", "team"], ["team", "tax"]])
    0.75
    """
    words = [word for topic in _first_words(topics, n_words) for word in topic]
    if not words:
        raise DataError("the topics hold no words")
    return len(set(words)) / len(words)


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
        - ``npmi``: mean NPMI of the pairs of words of a topic in whole documents; 0 for words that never occur together
        - ``npmi_window``: the mean of :func:`coherence` within 10 words of text; only with ``tokens``
        - ``diversity``: share of the words of all topics that are different
        - ``coverage``: share of the documents in which a topic is present
        - ``pcc``: NPMI of words of a topic with those of the one above, over all pairs of words of the level; a pair of
          words that are in both counts as −1
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
    shown = list(every_topic(topics))
    column = {name: k for k, name in enumerate(table.names)}
    words = [[column[w.word] for w in topic.words[:n_words] if w.word in column] for topic in shown]
    above = {id(child): k for k, topic in enumerate(shown) for child in topic.children}
    parent = [above.get(id(topic), -1) for topic in shown]
    documents = sp.csc_array(table.values != 0).astype(np.float64)
    alone = np.asarray(documents.sum(axis=0)).ravel() / documents.shape[0]
    on = sp.csc_array(present)
    windows = None
    if tokens is not None and shown:
        listed = [[table.names[w] for w in of_topic] for of_topic in words]
        windows = coherence(listed, tokens, window=_WINDOW, n_words=n_words).per_topic

    def npmi(first: list[int], second: list[int]) -> tuple[Floats, Floats]:
        """NPMI of pairs of words, as TopMost computes it, and the share of the documents with both."""
        joint = (documents[:, first].T @ documents[:, second]).toarray() / documents.shape[0]
        return _npmi(joint, alone[first], alone[second], epsilon=1e-10, always=1.0), joint

    def within(topic: list[int]) -> float:
        score, joint = npmi(topic, topic)
        pairs = np.where(joint > 0, score, 0.0)[np.triu_indices(len(topic), 1)]
        return float(pairs.mean()) if pairs.size else 0.0

    result: dict[str, list[float]] = defaultdict(list)
    for level in sorted({topic.level for topic in shown}, reverse=True):
        here = [k for k, topic in enumerate(shown) if topic.level == level]
        used = [w for k in here for w in words[k]]
        edges = [(parent[k], k) for k in here if parent[k] >= 0]
        siblings: dict[int, list[int]] = defaultdict(list)
        for k in here:
            siblings[parent[k]].append(k)
        upper = [p for p in siblings if p >= 0]
        pcc, pccx = [], []
        for p, k in edges:
            both = set(words[p]) & set(words[k])
            different = ([w for w in words[node] if w not in both] for node in (p, k))
            pccx.append(npmi(*different)[0].ravel())
            pcc.append(np.concatenate([pccx[-1], np.full(len(both) ** 2, -1.0)]))
        scores = {
            "level": level,
            "n_topics": len(here),
            "npmi": _mean([within(words[k]) for k in here]),
            "diversity": len(set(used)) / max(1, len(used)),
            "coverage": _mean((on[:, here].sum(axis=1) > 0).tolist()),
            "pcc": _mean(np.concatenate([[], *pcc])),
            "pccx": _mean(np.concatenate([[], *pccx])),
            "pcd": _mean([_once(words[p], words[k]) for p, k in edges]),
            "pncd": _mean(
                [_once(words[p], words[k]) for p in upper for k in here if parent[k] != p]
            ),
            "sibling_diversity": _mean(
                [_once(*(words[k] for k in group)) for group in siblings.values()]
            ),
            "negative_edges": _mean([_is_negative(on[:, [p]], on[:, [k]]) for p, k in edges]),
        }
        if windows is not None:
            known = [windows[k] for k in here if not np.isnan(windows[k])]
            scores["npmi_window"] = _mean(known)
        for name, value in scores.items():
            result[name].append(value)
    return dict(result)


def _mean(values: Any) -> float:
    """Mean; NaN of nothing."""
    return float(np.mean(values)) if len(values) else float("nan")


def _once(*topics: Sequence[int]) -> float:
    """Share of the words of some topics that occur in one of them only."""
    counts = Counter(word for topic in topics for word in topic)
    return sum(n == 1 for n in counts.values()) / max(1, sum(map(len, topics)))


def _is_negative(upper: Any, lower: Any) -> bool:
    """Whether a topic is less often present with the one above than without it."""
    n, n_upper, n_lower = upper.shape[0], upper.sum(), lower.sum()
    return bool(upper.multiply(lower).sum() * n < n_upper * n_lower)


def _first_words(topics: Sequence[Sequence[str]], n_words: int) -> list[list[str]]:
    """The first words of each topic, each word once."""
    if n_words < 1:
        raise DataError(f"n_words must be at least 1, not {n_words}")
    if not topics:
        raise DataError("there are no topics to score")
    if any(isinstance(topic, str) for topic in topics):
        raise DataError("each topic must be a list of words, not a string")
    return [list(dict.fromkeys(topic))[:n_words] for topic in topics]


def _npmi(joint: Floats, first: Floats, second: Floats, epsilon: float, always: float) -> Floats:
    """NPMI of pairs of words, (K, L), from the shares of windows with both, with the first and with the second.

    ``epsilon`` is added to the former; pairs that are in every window have ``always``, words that are in none 0.
    """
    expected, together = np.outer(first, second), joint + epsilon
    score = np.full(joint.shape, always)
    varies = joint < 1.0
    with np.errstate(divide="ignore"):
        information = np.log(together / expected)
    np.divide(information, -np.log(together), out=score, where=varies)
    return np.where(expected > 0, score, 0.0)


# ---- counting


@dataclass(frozen=True)
class _Occurrences:
    """Where K chosen words occur.

    Attributes
    ----------
    position, document : int64 (T,)
        Of each occurrence, sorted by word.
    starts : int64 (K + 1,)
        First occurrence of each word.
    lengths : int64 (N,)
        Number of tokens of each document.
    """

    position: Ints
    document: Ints
    starts: Ints
    lengths: Ints

    @classmethod
    def of(cls, n_words: int, word: Any, position: Any, document: Any, lengths: Any) -> Self:
        """From occurrences in any order."""
        by_word, place, found, size = (
            np.asarray(part, np.int64) for part in (word, position, document, lengths)
        )
        order = np.argsort(by_word, kind="stable")
        starts = np.searchsorted(by_word[order], np.arange(n_words + 1))
        return cls(place[order], found[order], starts, size)


def _is_table(corpus: Any) -> bool:
    """Whether the corpus is a table of counts, not lists of tokens."""
    if isinstance(corpus, Table) or sp.issparse(corpus) or is_frame(corpus):
        return True
    return isinstance(corpus, np.ndarray) and corpus.ndim == 2 and corpus.dtype.kind in "fiub"


def _in_table(table: Table, index: Mapping[str, int]) -> _Occurrences:
    column = {name: j for j, name in enumerate(table.names)}
    known = [word for word in index if word in column]
    document, place = table.values[:, [column[word] for word in known]].nonzero()
    word = np.array([index[word] for word in known], np.int64)[place]
    lengths = np.zeros(table.n_rows)  # only windows need them
    return _Occurrences.of(len(index), word, np.zeros_like(word), document, lengths)


def _in_documents(corpus: Iterable[Iterable[str]], index: Mapping[str, int]) -> _Occurrences:
    word, position, document, lengths = (array("q") for _ in range(4))
    for tokens in corpus:
        if isinstance(tokens, str):
            raise DataError(
                "each document must be a list of tokens, not a string: split the texts into words"
            )
        last = -1
        for last, token in enumerate(tokens):
            number = index.get(token)
            if number is not None:
                word.append(number)
                position.append(last)
                document.append(len(lengths))
        lengths.append(last + 1)
    return _Occurrences.of(len(index), word, position, document, lengths)


def _joint_shares(occurrences: _Occurrences, words: Sequence[int], window: int | None) -> Floats:
    """Share of the windows in which each pair of K words occurs, (K, K).

    A document counts as one without a window; else one of n words has max(1, n − window + 1).
    """
    parts = [slice(*occurrences.starts[word : word + 2]) for word in words]
    if not parts:
        return np.zeros((0, 0))
    document = np.concatenate([occurrences.document[part] for part in parts])
    column = np.repeat(np.arange(len(parts)), [part.stop - part.start for part in parts])
    n_windows, weight = np.ones_like(occurrences.lengths), None
    row = document
    if window is not None:
        n_windows = np.maximum(occurrences.lengths - window + 1, 1)
        position = np.concatenate([occurrences.position[part] for part in parts])
        row, column, weight = _runs_of_windows(document, position, column, n_windows, window)
    presence = sp.csr_array((np.ones(row.size, np.int64), (row, column)))
    presence.data[:] = 1
    weighted = presence if weight is None else sp.diags_array(weight, dtype=np.int64) @ presence
    return np.asarray((presence.T @ weighted).toarray() / n_windows.sum())


def _runs_of_windows(
    document: Ints, position: Ints, column: Ints, n_windows: Ints, window: int
) -> tuple[Ints, Ints, Ints]:
    """Rows, columns and weights of the presence of words in windows.

    Consecutive windows with the same words are one row with a weight: there are at most two such runs per token,
    however long the window.
    """
    first_window = (np.cumsum(n_windows) - n_windows)[document]
    start = first_window + np.maximum(position - window + 1, 0)
    stop = first_window + np.minimum(position, n_windows[document] - 1) + 1
    edges = np.unique(np.concatenate([start, stop]))
    first, last = np.searchsorted(edges, start), np.searchsorted(edges, stop)
    n_runs = last - first
    before = np.cumsum(n_runs) - n_runs
    row = np.arange(n_runs.sum()) - np.repeat(before - first, n_runs)
    return row, np.repeat(column, n_runs), np.diff(edges)
