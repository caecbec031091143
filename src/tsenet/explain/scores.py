"""Scores of topics and of hidden units: the paper's interpretability, coherence, diversity."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Literal, get_args

import numpy as np
from numpy.typing import NDArray

from tsenet.errors import DataError
from tsenet.explain._cooccurrence import Counts, Tokens, count_words, is_table
from tsenet.explain.vectors import WordVectors

__all__ = [
    "Coherence",
    "Interpretability",
    "coherence",
    "interpretability_score",
    "topic_diversity",
]

Measure = Literal["npmi", "umass", "c_v"]
Floats = NDArray[np.float64]

#: The windows that Röder et al. (2015) and gensim use.
_USUAL_WINDOW: dict[str, int | None] = {"npmi": 10, "umass": None, "c_v": 110}
# Added to joint probabilities before a logarithm, as gensim does.
_EPSILON = 1e-12


@dataclass(frozen=True)
class Interpretability:
    """The paper's interpretability score.

    Attributes
    ----------
    score : float
        Mean over the topics that have a score; NaN if none has.
    per_topic : tuple of float
        Mean cosine over the pairs of a topic's words; NaN for a topic with fewer than two words that have a vector.
    missing : tuple of str
        Words without a vector, which were left out.

    Examples
    --------
    >>> from tsenet.explain import Interpretability
    >>> Interpretability(0.3, (0.2, 0.4), ()).score
    0.3
    """

    score: float
    per_topic: tuple[float, ...]
    missing: tuple[str, ...]


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
        Words that do not occur in the corpus, which were left out.
    measure : str
        ``"npmi"``, ``"umass"`` or ``"c_v"``.
    window : int or None
        Number of words of the sliding window; None for whole documents.

    Examples
    --------
    >>> from tsenet.explain import Coherence
    >>> Coherence(0.1, (0.1,), (), "npmi", 10).window
    10
    """

    score: float
    per_topic: tuple[float, ...]
    missing: tuple[str, ...]
    measure: str
    window: int | None


def interpretability_score(
    topics: Sequence[Sequence[str]], vectors: WordVectors, *, n_words: int = 10
) -> Interpretability:
    """Score topics as the paper scores hidden units (§6): by how similar the meanings of their words are.

    Parameters
    ----------
    topics : sequence of sequences of str
        Words, strongest first. For a network: ``describe_units(…, order="signed").words(level)`` of its top level.
    vectors : WordVectors
        Word vectors, as ``load_vectors`` reads them; the paper's are word2vec's, of Google News.
    n_words : int, default=10
        Number of first words of each topic that count; 10 is the paper's.

    Returns
    -------
    Interpretability
        The mean score, the score of each topic, and the words without a vector.

    Raises
    ------
    DataError
        If there are no topics, a topic is a string, or ``n_words`` is below 1.

    Examples
    --------
    >>> import numpy as np
    >>> from tsenet.explain import WordVectors, interpretability_score
    >>> vectors = WordVectors(("cat", "dog", "tax"), np.eye(3, dtype=np.float32)[[0, 0, 1]])
    >>> interpretability_score([["cat", "dog"], ["cat", "tax", "vat"]], vectors)
    Interpretability(score=0.5, per_topic=(1.0, 0.0), missing=('vat',))
    """
    chosen = _first_words(topics, n_words)
    scores = []
    for words in chosen:
        found = np.array([vectors[word] for word in words if word in vectors], np.float64)
        n = len(found)
        # The sum over all pairs is |sum of vectors|² less the n squares, which are 1.
        squares = float(np.square(found).sum()) if n else 0.0
        total = float(np.square(found.sum(axis=0)).sum()) - squares if n else 0.0
        scores.append(total / (n * (n - 1)) if n > 1 else np.nan)
    missing = tuple(dict.fromkeys(w for words in chosen for w in words if w not in vectors))
    return Interpretability(_mean(scores), tuple(scores), missing)


def coherence(
    topics: Sequence[Sequence[str]],
    corpus: Any,
    measure: Measure = "npmi",
    *,
    window: int | Literal["usual"] | None = "usual",
    feature_names: Sequence[str] | None = None,
    n_words: int = 10,
) -> Coherence:
    """Score topics by how often their words occur together in a corpus.

    Parameters
    ----------
    topics : sequence of sequences of str
        Words, strongest first.
    corpus : iterable of token lists, or table (N, V)
        Tokens in the order of the text, read once; or counts of words, dense or sparse, whose columns
        ``feature_names`` (or a dataframe or Table) names. Take documents the topics were not learned from.
    measure : {"npmi", "umass", "c_v"}, default="npmi"
        Mean over pairs of the normalised pointwise mutual information, from −1 to 1; mean log P(word | stronger word),
        at most 0; or the cosine measure C_V of Röder et al. (2015), from 0 to 1 in practice.
    window : int, None or "usual", default="usual"
        Words occur together if they are within a sliding window of this many words, or (None) in the same document.
        Usual: 10 words for NPMI, 110 for C_V, documents for UMass and for tables, which have no order.
    feature_names : sequence of str, optional
        Names of a table's columns.
    n_words : int, default=10
        Number of first words of each topic that count.

    Returns
    -------
    Coherence
        The mean score, the score of each topic, and the words that do not occur.

    Raises
    ------
    DataError
        If there are no topics or no documents, or a window is asked of a table.
    ValueError
        If ``measure`` is unknown or ``window`` is below 2.

    Notes
    -----
    Formulas and constants are gensim's, and so are the values, with one difference: where a word occurs twice within a
    window, gensim 4 drops it when its first occurrence leaves the window; here it counts as long as it is there.

    Examples
    --------
    >>> from tsenet.explain import coherence
    >>> corpus = [["goal", "team"], ["goal", "team"], ["tax"], ["tax", "law"]]
    >>> found = coherence([["goal", "team"], ["goal", "tax"]], corpus, window=None)
    >>> [round(score, 2) for score in found.per_topic]
    [1.0, -0.95]
    """
    if measure not in get_args(Measure):
        raise ValueError(f"measure must be one of {', '.join(get_args(Measure))}, not {measure!r}")
    if isinstance(window, int) and window < 2:
        raise ValueError(f"a window must hold at least 2 words, not {window}")
    chosen = _first_words(topics, n_words)
    size: int | None = None
    if window != "usual":
        size = window
    elif measure == "c_v" or not is_table(corpus):  # C_V of whole documents has to be asked for
        size = _USUAL_WINDOW[measure]
    if not is_table(corpus):  # any iterable, which may be readable only once
        corpus = Tokens.of(corpus, dict.fromkeys(word for topic in chosen for word in topic))
    scores: list[float] = []
    missing: dict[str, None] = {}
    for part in _parts(chosen):
        words = list(dict.fromkeys(word for topic in part for word in topic))
        counts = count_words(words, corpus, size, feature_names)
        place = {word: k for k, word in enumerate(words)}
        missing.update((word, None) for word in words if counts.alone[place[word]] == 0)
        for topic in part:
            places = [place[word] for word in topic if counts.alone[place[word]] > 0]
            scores.append(_SCORES[measure](counts.of(places)) if len(places) > 1 else np.nan)
    return Coherence(_mean(scores), tuple(scores), tuple(missing), measure, size)


def topic_diversity(topics: Sequence[Sequence[str]], *, n_words: int = 25) -> float:
    """Share of different words among all topics' first words (Dieng et al., 2020): 1 if no two topics share any.

    Parameters
    ----------
    topics : sequence of sequences of str
        Words, strongest first.
    n_words : int, default=25
        Number of first words of each topic that count.

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


# ---- measures: of a topic's words, most important first


def _npmi(counts: Counts) -> float:
    pairs = _pair_npmi(counts)
    return float(pairs[~np.eye(len(pairs), dtype=bool)].mean())


def _umass(counts: Counts) -> float:
    """Mean of log P(w_i | w_j) over the words w_j before w_i."""
    joint = counts.together / counts.total + _EPSILON
    ratio = np.log(joint / (counts.alone / counts.total)[None, :])
    return float(ratio[np.tril_indices(len(ratio), -1)].mean())


def _c_v(counts: Counts) -> float:
    """Mean cosine between each word's vector of NPMI with all words, itself included, and the sum of these vectors."""
    vectors = _pair_npmi(counts)
    whole = vectors.sum(axis=0)
    lengths = np.linalg.norm(vectors, axis=1) * np.linalg.norm(whole)
    cosines = np.divide(vectors @ whole, lengths, out=np.zeros(len(vectors)), where=lengths > 0)
    return float(cosines.mean())


_SCORES = {"npmi": _npmi, "umass": _umass, "c_v": _c_v}


def _pair_npmi(counts: Counts) -> Floats:
    """NPMI of all pairs (k, k), a word with itself too."""
    alone = counts.alone / counts.total
    joint = counts.together / counts.total + _EPSILON
    information = np.log(joint / np.outer(alone, alone))
    surprise = -np.log(joint)
    # Words that are in every window tell nothing about each other.
    always = counts.together == counts.total
    return np.divide(information, surprise, out=np.zeros_like(joint), where=~always)


# ---- topics


def _first_words(topics: Sequence[Sequence[str]], n_words: int) -> list[list[str]]:
    """The first words of each topic, each word once."""
    if n_words < 1:
        raise DataError(f"n_words must be at least 1, not {n_words}")
    if not topics:
        raise DataError("there are no topics to score")
    if any(isinstance(topic, str) for topic in topics):
        raise DataError("each topic must be a list of words, not a string")
    return [list(dict.fromkeys(topic))[:n_words] for topic in topics]


# Pairs of words are counted in a dense square of this side at most (128 MB).
_MOST_WORDS = 4096


def _parts(topics: Sequence[Sequence[str]]) -> Iterable[list[Sequence[str]]]:
    """Cut the topics into parts that have few enough words; each part is counted in a pass of its own."""
    part: list[Sequence[str]] = []
    words: set[str] = set()
    for topic in topics:
        if part and len(words | set(topic)) > _MOST_WORDS:
            yield part
            part, words = [], set()
        part.append(topic)
        words |= set(topic)
    yield part


def _mean(scores: Sequence[float]) -> float:
    """Mean of those that are numbers; NaN if none is."""
    known = [score for score in scores if not np.isnan(score)]
    return float(np.mean(known)) if known else float("nan")
