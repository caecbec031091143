"""Learns a hierarchy of topics from whole documents, given their length. Nothing is random.

Words that occur together more often than documents of their length explain are tied (:mod:`tsenet.topics.ties`). Words
that are little tied to each other start a topic each, with the words tied to them, and a mixture model of the documents
then moves the words: its components are the topics of level 1. How many there are, the documents say
(:mod:`tsenet.topics.number`), unless the user does. Those whose documents have the same words are joined to the topics
of the levels above (:mod:`tsenet.topics.parents`).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Self

import numpy as np
import scipy.sparse as sp

from tsenet.data.binary import BinaryRows
from tsenet.data.scaling import unit_rows
from tsenet.errors import DataError
from tsenet.skeleton.kernels.csr import Csr
from tsenet.topics.copies import counted
from tsenet.topics.hierarchy import Floats, TopicHierarchy, proportions
from tsenet.topics.number import whole_topics
from tsenet.topics.parents import joined, sizes_above
from tsenet.topics.settings import SETTINGS
from tsenet.topics.ties import WordTies

# Of a word's occurrences, those that any topic might explain: P(word | topic) is never 0.
_BACKGROUND = 0.01
# Sparsities to try, one after the other, if fewer topics remain than were asked for: short documents have less evidence
# to take from.
_SPARSITIES = (SETTINGS.sparsity, 0.1, 0.0)

# Words start in the topics whose first word they are at least this much as near to as to the nearest one.
_LEAST_ALIKE = 0.5

Groups = Sequence[Sequence[int]]


def learn_hierarchy(
    rows: BinaryRows,
    sizes: Sequence[int] | int | None = None,
    seed_groups: Mapping[int, Groups] | None = None,
    n_words: int | None = None,
) -> TopicHierarchy:
    """Learn a hierarchy of topics from documents; nothing in it is random.

    Parameters
    ----------
    rows : BinaryRows
        N documents of V words.
    sizes : sequence of int, int or None, default=None
        Numbers of topics of the levels, from the top down, each at least twice the one before; or the number of
        topics of level 1. What is not given is found from the documents.
    seed_groups : mapping of int to sequence of sequences of int, optional
        By level, words that start a topic each and stay in it: the first topics of that level.
    n_words : int, optional
        Columns after so many are hidden words, which readers do not see: topics need not cohere in them. Default: none
        is hidden.

    Returns
    -------
    TopicHierarchy

    Raises
    ------
    DataError
        If no words are tied, or there are too few for the levels asked for.
    """
    seeds = dict(seed_groups or {})
    n_topics = sizes if isinstance(sizes, int) else sizes[-1] if sizes else None
    n_seeds = len(seeds.get(1, ()))
    if n_topics is not None and n_topics < n_seeds:
        raise DataError(f"{n_seeds} groups of seed words need as many topics, not {n_topics}")

    mixture = Mixture.of(rows, seeds, rows.n_columns if n_words is None else n_words)
    if not mixture.ties.n_tied and not n_seeds and n_topics is None:
        return mixture.flat(np.zeros((rows.n_columns, 1)))

    counts = mixture.exactly(n_topics) if n_topics else whole_topics(mixture)
    leaves = mixture.flat(np.where(proportions(counts) >= SETTINGS.membership, counts, 0.0))
    upper = sizes[-2::-1] if isinstance(sizes, Sequence) else sizes_above(leaves.sizes[0])
    return joined(
        leaves,
        mixture.rows,
        upper,
        seeds,
        may_be_alone=n_topics is None,
        n_words=mixture.n_words,
    )


def update(hierarchy: TopicHierarchy, rows: BinaryRows) -> TopicHierarchy:
    """The same topics after more documents; each document weighs as much as each one before."""
    new = [
        occurrences(rows, hierarchy.weight, hierarchy.counts[:, level].toarray())
        for level in hierarchy.levels
    ]
    return replace(hierarchy, counts=sp.csr_array(hierarchy.counts + sp.csr_array(np.hstack(new))))


@dataclass(frozen=True, eq=False)
class Mixture:
    """A mixture of topics, learned from documents.

    Attributes
    ----------
    rows : BinaryRows
        Documents to learn from, with few copies of each.
    ties : WordTies
        Of the words of all documents.
    weight : float64 (V,)
        Of the words; 1 for seed words.
    seeds : sequence of sequences of int
        Words that stay in a topic: the first topics.
    n_words : int
        Number of words that readers see; hidden ones come after them.
    """

    rows: BinaryRows
    ties: WordTies
    weight: Floats
    seeds: Groups
    n_words: int

    @classmethod
    def of(cls, rows: BinaryRows, seeds: Mapping[int, Groups], n_words: int) -> Self:
        """Measure the ties of the words, and choose which documents to learn from."""
        rows = rows.take(counted(rows.first_columns(n_words)))
        ties = WordTies.of(rows)
        weight = ties.weight.copy()
        weight[[word for groups in seeds.values() for group in groups for word in group]] = 1.0
        step = max(1, round(rows.nnz / SETTINGS.most_entries))
        sample = rows if step == 1 else rows.take(slice(0, rows.n_rows, step))
        return cls(sample, ties, weight, seeds.get(1, ()), n_words)

    @property
    def most(self) -> int:
        """The most topics that the ties allow."""
        return max(1, self.ties.n_tied // 3, len(self.seeds))

    def start(self, n_topics: int) -> Floats:
        """Topics that start from up to ``n_topics`` frequent words that are little tied to each other: (V, K).

        Each word belongs to those near it, the more, the more of its ties it shares with the word that a topic starts
        from.
        """
        ties = self.ties.directions()
        by_tie = sp.csr_array(ties.T)  # a word's row meets only the words that share a tie with it
        influence = np.where(self.ties.is_tied, self.weight * np.sqrt(self.ties.counts), 0.0)
        nearest = np.zeros(ties.shape[0])
        alike = []

        for k in range(n_topics):
            if k < len(self.seeds):
                group = list(self.seeds[k])
                first = unit_rows(sp.csr_array(np.ones((1, len(group))) @ ties[group]))
            else:
                group = [int(np.argmax(influence * (1.0 - nearest)))]
                if influence[group[0]] * (1.0 - nearest[group[0]]) <= 0.0:
                    break  # every word is in a topic
                first = ties[group]

            alike.append((first @ by_tie).toarray()[0])  # (V,) cosines
            alike[-1][group] = 1.0
            nearest = np.maximum(nearest, alike[-1])

        if not alike:  # no word is tied
            return np.zeros((ties.shape[0], 1))
        cosine = np.stack(alike, axis=1)  # (V, K)
        largest = cosine.max(axis=1, keepdims=True)
        share = cosine / np.maximum(largest, 1e-12)
        # What is near none of them is equally near.
        share[self.ties.is_tied & (largest[:, 0] <= 0.0)] = 1.0
        counts = (self.weight * self.ties.counts)[:, None] * np.exp(SETTINGS.concentration * share)
        counts[share < _LEAST_ALIKE] = 0.0
        return np.asarray(counts)

    def passes(self, counts: Floats, n: int, sparsity: float = SETTINGS.sparsity) -> Floats:
        """Topics after ``n`` EM passes over the documents; those without an occurrence are gone: (V, K)."""
        for _ in range(n):
            counts = self.seeded(occurrences(self.rows, self.weight, counts, sparsity))
            is_kept = counts.sum(axis=0) >= 1.0
            is_kept[: len(self.seeds)] = True
            if is_kept.any():
                counts = counts[:, is_kept]
        return counts

    def seeded(self, counts: Floats) -> Floats:
        """Topics whose seed words are in no other, and that have only words tied to these."""
        for k, group in enumerate(self.seeds):
            # Without this a topic of rare seeds would drift to the larger subject next to it.
            is_near = np.diff(self.ties.tie[:, list(group)].tocsr().indptr) > 0
            counts[~is_near, k] = 0.0
            counts[list(group)] = 0.0
            counts[list(group), k] = np.maximum(1.0, self.ties.counts[list(group)])
        return counts

    def exactly(self, n_topics: int) -> Floats:
        """Expected occurrences of each word in each of ``n_topics`` topics: (V, K).

        Raises
        ------
        DataError
            If there are fewer.
        """
        n_start = min(round(SETTINGS.spare * n_topics), self.most)
        start = self.start(n_start)
        for sparsity in _SPARSITIES:
            counts = self.passes(start, SETTINGS.passes, sparsity)
            counts = self._largest(counts, (n_topics + n_start) // 2)
            if counts.shape[1] < n_topics:
                continue  # topics only ever go

            counts = self.passes(counts, SETTINGS.passes // 4, sparsity)
            counts = self._largest(counts, n_topics)
            counts = self.passes(counts, SETTINGS.passes // 4, sparsity)
            if self._largest(counts, n_topics).shape[1] == n_topics:
                return counts

        raise DataError(
            f"{n_topics} topics were asked for, but these {self.rows.n_rows:,} documents, in which "
            f"{self.ties.n_tied:,} words occur together with others, have only {counts.shape[1]}: ask for fewer, or "
            "give more documents"
        )

    def _largest(self, counts: Floats, n_topics: int) -> Floats:
        """The largest topics with a word of their own; those of seed words always."""
        size = counts.sum(axis=0)
        main = counts.argmax(axis=1)[counts.any(axis=1)]
        size[~np.isin(np.arange(size.size), main)] = 0.0
        size[: len(self.seeds)] = np.inf
        best = np.argsort(-size, kind="stable")[:n_topics]
        return counts[:, np.sort(best[size[best] > 0])] if size.any() else counts[:, :1]

    def flat(self, counts: Floats) -> TopicHierarchy:
        """One level of topics."""
        return TopicHierarchy.flat(self.weight, counts, self.rows)


def occurrences(
    rows: BinaryRows, weight: Floats, counts: Floats, sparsity: float = SETTINGS.sparsity
) -> Floats:
    """One EM pass: expected occurrences of the words in the topics, given those of the last pass: (V, K)."""
    from tsenet.topics.topic_kernels import divide_words  # numba: .4 seconds, for those who learn

    counts = np.ascontiguousarray(counts)  # the kernel is compiled for one layout only
    of_word = counts.sum(axis=1)
    least = SETTINGS.membership * of_word[:, None]
    members = sp.csr_array(np.where(counts >= least, counts, 0.0))
    topic_of = members.data / np.repeat(of_word, np.diff(members.indptr))
    topics = Csr(
        members.indptr.astype(rows.indptr.dtype), members.indices.astype(rows.indices.dtype)
    )
    background = _BACKGROUND * of_word / max(float(of_word.sum()), 1e-12)
    size = counts.sum(axis=0) + _BACKGROUND

    out = np.zeros_like(counts)
    divide_words(
        Csr(rows.indptr, rows.indices),
        weight,
        topics,
        topic_of,
        counts,
        background,
        size,
        sparsity,
        SETTINGS.steps,
        out,
    )
    return out
