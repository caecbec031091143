"""How likely documents are in a hierarchy of topics, and which ones fit none of its topics.

A word w of a document d has the probability P(w) · Σ_k P(k | the other words of d) P(k | w) / P(k): its rate in all
documents, times what the topics of the document's other words make of it. A word explains nothing of itself. Words that
a model does not know are as likely as one that is in a single document.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from tsenet.data.binary import BinaryRows
from tsenet.errors import DataError
from tsenet.topics.hierarchy import Bools, Floats, Ints, TopicHierarchy, proportions
from tsenet.topics.limits import FINITE, Limits
from tsenet.topics.settings import SETTINGS

_BLOCK_ROWS = 1024
_LEAST_GAIN = 0.01  # a word is not less likely than this share of its rate, whatever the others are
_MOST_DOCUMENTS = 1 << 53  # in a model file: a float holds them exactly


def log_likelihoods(
    hierarchy: TopicHierarchy,
    n_documents: Floats,
    n_all: int,
    rows: BinaryRows,
    are_new: bool = True,
) -> Floats:
    """Sum of the log-probabilities of the words of each document, each given the document's other words: (N,).

    Parameters
    ----------
    hierarchy : TopicHierarchy
    n_documents : float64 (V,)
        Documents of the fit with each word, at least 1.
    n_all : int
        Documents of the fit.
    rows : BinaryRows
        N documents.
    are_new : bool, default=True
        False for documents of the fit: each is judged as if it had not been one of them.
    """
    topic_of, of_topic = _topics_of_words(hierarchy, n_documents)
    lift = sp.csr_array(topic_of / np.maximum(of_topic, 1e-12))  # P(w | k) / P(w)
    is_in_topics = np.asarray(topic_of.any(axis=1))
    weight = np.where(is_in_topics, hierarchy.weight, 0.0)
    others = n_documents if are_new else np.maximum(n_documents - 1.0, 1.0)
    log_share = np.log(others / n_all)
    total = np.zeros(rows.n_rows)

    for start in range(0, rows.n_rows, _BLOCK_ROWS):
        block = rows.take(slice(start, min(start + _BLOCK_ROWS, rows.n_rows)))
        words = block.indices
        document = np.repeat(np.arange(block.n_rows), np.diff(block.indptr))
        weighted = sp.csr_array(block.to_csr().astype(np.float64)) * weight
        evidence = weighted @ topic_of  # (B, K)
        amount = np.asarray(weighted.sum(axis=1)).ravel()

        # P(k | the other words), to which one word of all topics is added; for each word and each of its topics
        of_words = lift[words]
        entry = np.repeat(np.arange(words.size), np.diff(of_words.indptr))
        topic = of_words.indices
        ratio = of_words.data
        itself = weight[words[entry]] * ratio * of_topic[topic]
        mixture = evidence[document[entry], topic] - itself + of_topic[topic]
        mixture = mixture / (amount[document] - weight[words] + 1.0)[entry]
        gain = np.bincount(entry, mixture * ratio, words.size)

        if not are_new:
            # P(k | w) without this document's own occurrence, which was divided as P(k | w, the other words)
            own = np.bincount(entry, mixture**2 * ratio / of_topic[topic], words.size)
            n_words = n_documents[words]
            of_others = (n_words * gain - own / np.maximum(gain, 1e-12)) / np.maximum(
                n_words - 1, 1
            )
            gain = np.where(n_words > 1, of_others, 1)

        at_least = np.where(is_in_topics[words], np.maximum(gain, _LEAST_GAIN), 1.0)
        logs = np.log(at_least) + log_share[words]
        total[start : start + block.n_rows] = np.bincount(document, logs, block.n_rows)

    return total


def mean_log_likelihood(
    hierarchy: TopicHierarchy, n_documents: Floats, n_all: int, rows: BinaryRows
) -> float:
    """Mean log-probability of the words of documents, each given the others of its document.

    Parameters
    ----------
    hierarchy, n_documents, n_all, rows
        Of :func:`log_likelihoods`.

    Raises
    ------
    DataError
        If no document has two known words.
    """
    several = rows.take(np.diff(rows.indptr) >= 2)
    if not several.n_rows:
        raise DataError("no document has two words that the model knows: there is nothing to score")

    scale = np.log(n_documents.sum() / n_all)  # the shares of all words are to add up to 1
    total = log_likelihoods(hierarchy, n_documents, n_all, several).sum()
    return float(total / several.nnz - scale)


def _topics_of_words(hierarchy: TopicHierarchy, n_documents: Floats) -> tuple[Floats, Floats]:
    """P(topic of level 1 | word), rows of 0 for words in none: (V, K); and P(topic): (K,)."""
    topic_of = proportions(hierarchy.counts[:, hierarchy.levels[0]].toarray())
    n_words = n_documents @ topic_of  # the weights of words do not count here
    return topic_of, np.asarray(n_words / max(float(n_words.sum()), 1e-12))


def _has_main_topic(
    hierarchy: TopicHierarchy, n_documents: Floats, rows: BinaryRows, n_words: Ints
) -> Bools:
    """Which documents have half of their ``n_words`` words, beyond chance, in one topic: (N,)."""
    topic_of, of_topic = _topics_of_words(hierarchy, n_documents)
    has_main = np.zeros(rows.n_rows, bool)
    for start in range(0, rows.n_rows, _BLOCK_ROWS):
        block = slice(start, min(start + _BLOCK_ROWS, rows.n_rows))
        matrix = sp.csr_array(rows.take(block).to_csr().astype(np.float64))
        share = (matrix @ topic_of) / np.maximum(n_words[block], 1)[:, None]  # (B, K)
        has_main[block] = (share - of_topic >= (1.0 - of_topic) / 2).any(axis=1)
    return has_main & (n_words > 0)


@dataclass(frozen=True, eq=False)
class DocumentFit:
    """Which documents fit a model.

    Those do of which half of the words, beyond chance, are of one topic, and those whose words are not less likely
    than the words of nearly all documents of the fit, or than random words.

    Attributes
    ----------
    n_documents : float64 (V,)
        Documents of the fit with each word, at least 1.
    n_all : int
        Documents of the fit. A word that the model does not know is as likely as a word of one of them.
    least : float
        Mean log-probability of the words of a document from which on it fits.
    """

    n_documents: Floats
    n_all: int
    least: float

    @classmethod
    def of(cls, hierarchy: TopicHierarchy, rows: BinaryRows, n_unknown: Ints) -> Self:
        """Find out how likely the documents are that a model was learned from.

        Parameters
        ----------
        hierarchy : TopicHierarchy
        rows : BinaryRows
            Its N documents.
        n_unknown : int64 (N,)
            Different words of each document that are not among the V known ones.
        """
        n_documents = np.maximum(rows.counts(), 1).astype(np.float64)
        n_all = max(2, rows.n_rows)
        n_known = np.diff(rows.indptr)
        n_words = np.maximum(n_known + n_unknown, 1)
        of_unknown = n_unknown * np.log(n_all)

        # Below nearly all of these documents, …
        total = log_likelihoods(hierarchy, n_documents, n_all, rows, are_new=False) - of_unknown
        of_word = (total / n_words)[n_known > 0]
        lowest = float(np.quantile(of_word, SETTINGS.outliers)) if of_word.size else 0.0

        # … and below random words.
        by_chance = np.log(np.maximum(n_documents - 1.0, 1.0) / n_all)[rows.indices]
        of_random_words = float((by_chance.sum() - of_unknown.sum()) / n_words.sum())
        return cls(n_documents, n_all, min(lowest, of_random_words))

    def fits(self, hierarchy: TopicHierarchy, rows: BinaryRows, n_unknown: Ints) -> Bools:
        """Which documents fit; those without a known word do not: (N,)."""
        n_known = np.diff(rows.indptr)
        n_words = n_known + n_unknown
        total = log_likelihoods(hierarchy, self.n_documents, self.n_all, rows)
        total -= n_unknown * np.log(self.n_all)
        is_likely = total >= self.least * n_words
        has_main = _has_main_topic(hierarchy, self.n_documents, rows, n_words)
        return np.asarray((is_likely | has_main) & (n_known > 0))

    # ---- file form

    def to_parts(self) -> dict[str, NDArray[Any]]:
        """The arrays that a model file stores."""
        return {
            "documents": self.n_documents,
            "n_all": np.array([self.n_all]),
            "least": np.array([self.least]),
        }

    @classmethod
    def from_parts(cls, arrays: Mapping[str, NDArray[Any]], n_words: int) -> Self:
        """Rebuild it from :meth:`to_parts`, checked.

        Raises
        ------
        ValueError
            If an array does not fit.
        """
        (n_all,) = Limits(np.int64, (1,), 2, _MOST_DOCUMENTS).check("n_all", arrays["n_all"])
        documents = Limits(np.float64, (n_words,), 1, n_all).check("documents", arrays["documents"])
        (least,) = Limits(np.float64, (1,), -FINITE, 0).check("least", arrays["least"])
        return cls(documents, int(n_all), float(least))
