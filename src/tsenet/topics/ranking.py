"""The words that describe the topics of a hierarchy.

They are frequent in the documents of the topic, less so elsewhere, common to the topics below it if there are any, and
occur in the same documents as each other and as the words of the topic above. Topics of a level compete for words. No
topic repeats a word of one above it, unless documents are short: then those words are all that names it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp

from tsenet.topics.coherence import npmi
from tsenet.topics.hierarchy import Floats, Ints, TopicHierarchy
from tsenet.topics.settings import SETTINGS

_COMPETITION = 0.6  # a word describes topics of a level that score this share of its best one
_MIN_LIFT = 0.2  # of words
_MIN_SCORE = 0.05  # of words, as a share of the first word's
_MIN_WORDS = 3  # of a topic, even if they repeat words of one above it
# How much a word counts more if it occurs in the documents of its topic's others, and the NPMI that is enough: words
# that always occur together are fixed phrases and signatures, not better words.
_COHERENCE = 4.0
_ENOUGH = 0.3
_JOINT_FLOOR = 1e-9  # documents that words that never meet are taken to share: a finite logarithm
_EVENNESS_PRIOR = 0.1  # of a word's rate in the level, added to its rates in the topics below


@dataclass(frozen=True, eq=False)
class WordMass:
    """How much of each topic, and of each word in it, some documents hold.

    Attributes
    ----------
    documents : csc_array (N, V)
        Which words occur in which documents.
    with_topic : float64 (V, L)
        Sum of the shares of each topic in the documents with each word.
    mass : float64 (L,)
        Sum of the shares of each topic in all documents.
    """

    documents: sp.csc_array
    with_topic: Floats
    mass: Floats

    @property
    def rate(self) -> Floats:
        """How frequent each word is in each topic: (V, L)."""
        return np.asarray(self.with_topic / np.maximum(self.mass, 1e-12))

    def base(self, level: slice) -> Floats:
        """How frequent each word is in all topics of a level: (V,)."""
        total = self.with_topic[:, level].sum(axis=1)
        return np.asarray(total / max(self.mass[level].sum(), 1e-12))

    def lift(self, level: slice) -> Floats:
        """Logarithm of how much more frequent each word is in each topic than in all of its level: (V, K)."""
        rate = np.maximum(self.rate[:, level], 1e-12)
        return np.asarray(np.log(rate / np.maximum(self.base(level), 1e-12)[:, None]))


def rank_words(
    hierarchy: TopicHierarchy,
    words_of: WordMass,
    n_shown: int,
    n_words: int,
    seeds: Mapping[int, Sequence[int]],
) -> tuple[Ints, Floats]:
    """The words of each topic, best first, −1 where there are fewer, and by what they are ranked: (L, W) each.

    Parameters
    ----------
    hierarchy : TopicHierarchy
    words_of : WordMass
    n_shown : int
        How many words of a topic are not repeated below it, unless documents are short.
    n_words : int
        Maximum number of words of a topic, W.
    seeds : mapping of int to sequence of int
        Words that topics have in any case, first.
    """
    n_topics = sum(hierarchy.sizes)
    words = np.full((n_topics, n_words), -1)
    score = np.zeros((n_topics, n_words))
    are_short = np.median(np.diff(words_of.documents.tocsr().indptr)) < SETTINGS.short

    for level in reversed(hierarchy.levels):  # from the top down: no topic repeats one above it
        fit = word_fit(hierarchy, words_of, level)
        contested = np.where(fit < _COMPETITION * fit.max(axis=1, keepdims=True), 0.0, fit)

        for topic in range(level.start, level.stop):
            of_topic = fit[:, topic - level.start]
            own = contested[:, topic - level.start].copy()
            if not of_topic.any():  # the main topic of hardly any document
                of_topic = hierarchy.counts[:, [topic]].toarray().ravel()
                own = of_topic.copy()

            # The words of the topics above are not repeated; those of the parent should fit.
            above = words[hierarchy.ancestors(topic), :n_shown]  # (levels above, W)
            if not are_short:
                own[above[above >= 0]] = 0.0
            parent = np.empty(0, np.int64)
            if len(above):
                parent = above[0][above[0] >= 0]

            best = _candidates(own, of_topic, n_words)
            value = _with_coherence(words_of.documents, best, of_topic[best], parent, n_shown)
            weight = hierarchy.weight[best]
            order = _ranked(value, weight, n_shown)
            best = best[order]
            value = (value * weight)[order]
            if topic in seeds:
                best, value = _with_seeds(best, value, seeds[topic], n_words)

            words[topic, : best.size] = best
            score[topic, : best.size] = value

    return words, score


def word_fit(hierarchy: TopicHierarchy, words_of: WordMass, level: slice) -> Floats:
    """How well each word describes each topic of a level, compared with the others; 0 for not at all: (V, K)."""
    lift = words_of.lift(level)
    if level.stop - level.start == 1:  # nothing to compare with
        lift = hierarchy.weight[:, None]

    rate = words_of.rate
    fit = np.where(lift > _MIN_LIFT, rate[:, level] * lift, 0.0)
    fit[words_of.with_topic[:, level] < 2] = 0.0

    if level.start:
        smooth = rate + _EVENNESS_PRIOR * words_of.base(level)[:, None]
        fit *= _evenness(hierarchy, level, smooth, words_of.mass)
    return fit


def _evenness(hierarchy: TopicHierarchy, level: slice, rate: Floats, mass: Floats) -> Floats:
    """How evenly each word is spread over the topics directly below each topic, 0 to 1: (V, topics)."""
    below = np.flatnonzero(np.isin(hierarchy.parent, np.arange(level.start, level.stop)))

    # The share of each topic below in the one above it.
    group = np.zeros((below.size, level.stop - level.start))
    above = hierarchy.parent[below] - level.start
    group[np.arange(below.size), above] = np.maximum(mass[below], 1e-12)
    group /= group.sum(axis=0)

    # The geometric mean of the rates over their arithmetic mean.
    of_child = np.maximum(rate[:, below], 1e-300)
    return np.asarray(np.exp(np.log(of_child) @ group) / (of_child @ group))


def _candidates(own: Floats, of_topic: Floats, n_words: int) -> Ints:
    """The best words of a topic; in a small vocabulary also words that other topics have."""
    best = np.argsort(-own, kind="stable")[:n_words]
    best = best[own[best] > _MIN_SCORE * own[best[0]]]
    if best.size < _MIN_WORDS:
        others = np.argsort(-of_topic, kind="stable")[:_MIN_WORDS]
        others = others[(of_topic[others] > 0) & ~np.isin(others, best)]
        best = np.concatenate([best, others])[:_MIN_WORDS]
    return best


def _with_coherence(
    documents: sp.csc_array, words: Ints, value: Floats, parent: Ints, n_shown: int
) -> Floats:
    """Values of a topic's words that are larger for words in the same documents as the others: (W,).

    They grow with the mean NPMI with the ``n_shown`` best words and with those of the parent, in which the number of
    documents with both words counts one standard deviation less.
    """
    others = np.concatenate([words, parent])
    together = (documents[:, words].T @ documents[:, others]).toarray()  # (W, W + P)
    n_documents = documents.shape[0]
    alone = np.maximum(np.diff(documents.indptr), 1) / n_documents
    joint = np.maximum(together - np.sqrt(together), _JOINT_FLOOR) / n_documents
    tie = np.minimum(npmi(joint, np.outer(alone[words], alone[others])), _ENOUGH)

    own = tie[:, : words.size]
    above = tie[:, words.size :]
    np.fill_diagonal(own, 0.0)

    best = value
    for _ in range(2):  # which words are shown depends on the values, and these on them
        shown = np.zeros(words.size)
        shown[np.argsort(-best, kind="stable")[:n_shown]] = 1.0
        fit = own @ shown / np.maximum(shown.sum() - shown, 1.0)
        if parent.size:
            fit = (fit + above.mean(axis=1)) / 2
        best = value * np.exp(_COHERENCE * fit)

    return best


def _ranked(value: Floats, weight: Floats, n_shown: int) -> Ints:
    """The order of a topic's words, best first; of those shown, words of general language (low weight) come last."""
    order = np.argsort(-value, kind="stable")
    shown = order[:n_shown]
    order[:n_shown] = shown[np.argsort(-(value * weight)[shown], kind="stable")]
    return order


def _with_seeds(
    words: Ints, value: Floats, seeds: Sequence[int], n_words: int
) -> tuple[Ints, Floats]:
    """The words of a topic with its seed words first, and their values."""
    first = np.concatenate([words[np.isin(words, seeds)], np.setdiff1d(seeds, words)])
    others = ~np.isin(words, seeds)
    top = np.full(first.size, value.max(initial=0.0))  # they lead, whatever the documents say
    return (
        np.concatenate([first, words[others]])[:n_words],
        np.concatenate([top, value[others]])[:n_words],
    )
