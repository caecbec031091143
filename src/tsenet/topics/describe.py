"""What documents say about topics: how many have them, and which words describe them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp

from tsenet.data.binary import BinaryRows
from tsenet.skeleton.tree import PRESENT, strongest_rows
from tsenet.topics.hierarchy import Floats, Ints, TopicHierarchy

#: Words that are kept for each topic, and typical documents.
STORED_WORDS, N_TYPICAL = 30, 3

_COMPETITION = 0.6  # a word describes topics of a level that score this share of its best one
_MIN_LIFT, _MIN_SCORE = 0.2, 0.05  # of words, the latter as a share of the first word's
_MIN_WORDS = 3  # of a topic, even if they repeat words of one above it
# How much a word counts more if it occurs in the documents of its topic's others, and the NPMI that is enough: words
# that always occur together are fixed phrases and signatures, not better words.
_COHERENCE, _ENOUGH = 4.0, 0.3


@dataclass(frozen=True, eq=False)
class TopicDescription:
    """What documents say about the L topics of a hierarchy; W words describe each.

    Attributes
    ----------
    share : float64 (L,)
        Share of the documents in which each topic is present.
    information : float64 (L,)
        What each topic tells about the words, in nats for each document.
    coherence : float64 (L,)
        NPMI of its words; NaN where it was not measured.
    words : int64 (L, W)
        The words that describe each topic, best first; −1 where there are fewer. They are frequent in the documents of
        the topic, less so elsewhere, common to the topics below it if there are any, and occur in the same documents as
        each other and as the words of the topic above. No topic repeats a word of one above it, and topics of a level
        compete for words.
    score : float64 (L, W)
        By which the words shown are ranked.
    word_shares : float64 (L, W, 2)
        Share of the documents without and with the topic in which the word occurs.
    word_share : float64 (V,)
        Share of the documents in which each word occurs.
    typical : int64 (L, 3)
        The documents in which each topic is strongest; −1 where there are fewer.
    """

    share: Floats
    information: Floats
    coherence: Floats
    words: Ints
    score: Floats
    word_shares: Floats
    word_share: Floats
    typical: Ints


def describe(  # noqa: PLR0915 -- its steps become functions next
    hierarchy: TopicHierarchy,
    rows: BinaryRows,
    n_shown: int = 10,
    n_words: int = STORED_WORDS,
    seeds: Mapping[int, Sequence[int]] | None = None,
) -> TopicDescription:
    """Describe topics by documents; no topic repeats the first words of those above it.

    Parameters
    ----------
    hierarchy : TopicHierarchy
    rows : BinaryRows
        Documents.
    n_shown : int, default=10
        How many words of a topic are not repeated below it.
    n_words : int, default=30
        Maximum number of words of a topic.
    seeds : mapping of int to sequence of int, optional
        Words that topics have in any case, first.

    Returns
    -------
    TopicDescription
        Without coherence.
    """
    n_topics = sum(hierarchy.sizes)
    mass, n_documents = np.zeros(n_topics), np.zeros(n_topics, np.int64)
    with_topic, together = np.zeros((2, rows.n_columns, n_topics))
    strengths = [sp.csr_array((0, n_topics))]
    for block, shares, strength in hierarchy.strength_blocks(rows):
        present = strength >= PRESENT
        strengths.append(sp.csr_array(np.where(present, strength, 0.0)))
        with_topic += block.T @ shares
        mass += shares.sum(axis=0)
        together += block.T @ present.astype(np.float64)
        n_documents += present.sum(axis=0)
    rate = with_topic / np.maximum(mass, 1e-12)
    documents = sp.csc_array(rows.to_csr().astype(np.float64))
    words = np.full((n_topics, n_words), -1)
    score, information = np.zeros((n_topics, n_words)), np.zeros(n_topics)
    for level in reversed(hierarchy.levels):
        base = with_topic[:, level].sum(axis=1) / max(mass[level].sum(), 1e-12)
        lift = np.log(np.maximum(rate[:, level], 1e-12) / np.maximum(base, 1e-12)[:, None])
        told = (rate[:, level] * lift).sum(axis=0) * mass[level]
        information[level] = np.maximum(told, 0.0) / max(1, rows.n_rows)
        if level.stop - level.start == 1:  # nothing to compare with
            lift = hierarchy.weight[:, None]
        value = np.where(lift > _MIN_LIFT, rate[:, level] * lift, 0.0)
        value[with_topic[:, level] < 2] = 0.0
        if level.start:
            value *= _evenness(hierarchy, level, rate + 0.1 * base[:, None], mass)
        raw = value.copy()
        value[value < _COMPETITION * value.max(axis=1, keepdims=True)] = 0.0
        for topic in range(level.start, level.stop):
            mine, any_word = value[:, topic - level.start], raw[:, topic - level.start]
            if not any_word.any():  # the main topic of hardly any document
                mine = any_word = hierarchy.counts[:, [topic]].toarray().ravel()
            above = words[hierarchy.ancestors(topic), :n_shown]
            mine[above[above >= 0]] = 0.0
            best = np.argsort(-mine, kind="stable")[:n_words]
            best = best[mine[best] > _MIN_SCORE * mine[best[0]]]
            if best.size < _MIN_WORDS:  # a small vocabulary: repeat words
                others = np.argsort(-any_word, kind="stable")[:_MIN_WORDS]
                others = others[(any_word[others] > 0) & ~np.isin(others, best)]
                best = np.concatenate([best, others])[:_MIN_WORDS]
            parent = above[0][above[0] >= 0] if len(above) else best[:0]
            value_of = _with_coherence(documents, best, any_word[best], parent, n_shown)
            ranked = _ranked(value_of, hierarchy.weight[best], n_shown)
            value_of = value_of * hierarchy.weight[best]
            best, value_of = best[ranked], value_of[ranked]
            if seeds and topic in seeds:
                best, value_of = _with_seeds(best, value_of, seeds[topic], n_words)
            words[topic, : best.size] = best
            score[topic, : best.size] = value_of
    counts = rows.counts()
    both = together[words, np.arange(n_topics)[:, None]]
    outside = np.maximum(rows.n_rows - n_documents, 1)[:, None]
    inside = np.maximum(n_documents, 1)[:, None]
    shares = np.stack([(counts[words] - both) / outside, both / inside], axis=2)
    shares[words < 0] = 0.0
    return TopicDescription(
        share=n_documents / rows.n_rows,
        information=information,
        coherence=np.full(n_topics, np.nan),
        words=words,
        score=score,
        word_shares=shares,
        word_share=counts / rows.n_rows,
        typical=strongest_rows(sp.vstack(strengths), N_TYPICAL)[0],
    )


def _with_coherence(
    documents: sp.csc_array, words: Ints, value: Floats, parent: Ints, n_shown: int
) -> Floats:
    """Values of a topic's words that are larger for words in the same documents as the others: (W,).

    They grow with the mean NPMI with the ``n_shown`` best words and with those of the parent, in which the number of
    documents with both words counts one standard deviation less.
    """
    others = np.concatenate([words, parent])
    together = (documents[:, words].T @ documents[:, others]).toarray()
    n_documents, alone = documents.shape[0], np.maximum(np.diff(documents.indptr), 1)
    joint = np.maximum(together - np.sqrt(together), 1e-9) / n_documents
    npmi = np.log(joint * n_documents**2 / np.outer(alone[words], alone[others])) / -np.log(joint)
    npmi = np.minimum(npmi, _ENOUGH)
    own, above = npmi[:, : words.size], npmi[:, words.size :]
    np.fill_diagonal(own, 0.0)
    best = value
    for _ in range(2):
        shown = np.zeros(words.size)
        shown[np.argsort(-best, kind="stable")[:n_shown]] = 1.0
        fit = own @ shown / np.maximum(shown.sum() - shown, 1.0)
        if parent.size:
            fit = (fit + above.mean(axis=1)) / 2
        best = value * np.exp(_COHERENCE * fit)
    return best


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


def _ranked(value: Floats, weight: Floats, n_shown: int) -> Ints:
    """The order of a topic's words, best first; of those shown, words of general language (low weight) come last."""
    order = np.argsort(-value, kind="stable")
    shown = order[:n_shown]
    order[:n_shown] = shown[np.argsort(-(value * weight)[shown], kind="stable")]
    return order


def _evenness(hierarchy: TopicHierarchy, level: slice, rate: Floats, mass: Floats) -> Floats:
    """How evenly each word is spread over the topics directly below each topic, 0 to 1: (V, topics)."""
    below = np.flatnonzero(np.isin(hierarchy.parent, np.arange(level.start, level.stop)))
    group = np.zeros((below.size, level.stop - level.start))
    above = hierarchy.parent[below] - level.start
    group[np.arange(below.size), above] = np.maximum(mass[below], 1e-12)
    group /= group.sum(axis=0)
    of_child = np.maximum(rate[:, below], 1e-300)
    return np.asarray(np.exp(np.log(of_child) @ group) / (of_child @ group))
