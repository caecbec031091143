"""Learns a hierarchy of topics: levels of a requested size, from whole documents given their length.

Words that occur together more often than documents of their length explain are tied. The leading eigenvectors of the
ties, rotated so that each has few large entries (varimax), start a mixture model of the documents, whose components
are the topics of one level; every level has a mixture of its own. Words that are tied to everything alike count little,
so that general language does not become a topic. Each topic then belongs to the topic of the level above with which it
shares most of its documents. Nothing is random.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import pairwise

import numpy as np
import scipy.sparse as sp
from scipy.cluster.hierarchy import ward
from scipy.sparse.linalg import eigsh

from tsenet.data.binary import BinaryRows
from tsenet.data.scaling import unit_rows
from tsenet.errors import DataError
from tsenet.skeleton.kernels.csr import Csr
from tsenet.topics.hierarchy import Floats, Ints, TopicHierarchy, proportions

# Documents are counted by length, with this many classes for each factor of e: each is 13 % longer than the last.
_BINS_PER_E = 8
_NEWTON_STEPS = 12
# Two words are tied if they occur together this many standard deviations more often than expected, with this gain in
# nats (a test at the level 0.025).
_MIN_Z, _MIN_GAIN = 2.5, 2.5
# Documents added to both sides of a tie, and power of a word's frequency by which its ties count: without them, words
# of a few odd documents, such as names, take whole topics.
_PRIOR, _FREQUENCY = 3.0, 0.5
_CONCENTRATION = 5.0  # how closely the first topics follow their groups of words
_SPARSITY = 1.0  # occurrences taken from every topic of a document in each step
_SPARE = 1.25  # topics to start with for each topic wanted: the smallest are dropped
_N_PASSES = 16
_ROTATIONS = 40  # most steps of varimax
_N_STEPS = 6  # EM steps on the mixture of each document
_MAX_ENTRIES = 1_000_000  # words of documents that topics are learned from
_MIN_MEMBERSHIP = 0.02  # smaller P(topic | word) are set to 0
_MIN_SHARE = 0.004  # of the documents have a topic of level 1 as their main one, unless its number was asked for
_BLOCK_WORDS = 128
_CLEAR_GAP = 1.8  # ratio of merge heights from which a number of top topics is clear


def learn_hierarchy(
    rows: BinaryRows,
    sizes: Sequence[int] | int | None = None,
    seed_groups: Mapping[int, Sequence[Sequence[int]]] | None = None,
) -> TopicHierarchy:
    """Learn a hierarchy of topics from documents; nothing in it is random.

    Parameters
    ----------
    rows : BinaryRows
        N documents of V words.
    sizes : sequence of int, int or None, default=None
        Numbers of topics of the levels, from the top down, each at least twice the one before; or the number of
        topics of level 1. What is not given is chosen from the documents.
    seed_groups : mapping of int to sequence of sequences of int, optional
        By level, words that start a topic each and stay in it: the first topics of that level.

    Returns
    -------
    TopicHierarchy

    Raises
    ------
    DataError
        If no words are tied, or there are too few for the levels asked for.
    """
    seeds = dict(seed_groups or {})
    n_seeds = len(seeds.get(1, ()))
    n_topics = sizes if isinstance(sizes, int) else sizes[-1] if sizes else None
    if n_topics is not None and n_topics < n_seeds:
        raise DataError(f"{n_seeds} groups of seed words need as many topics, not {n_topics}")
    learner = _Learner.of(
        rows, n_topics or 0, [w for groups in seeds.values() for g in groups for w in g]
    )
    if not learner.n_tied and not n_seeds and n_topics is None:
        none = sp.csr_array((rows.n_columns, 1))
        return TopicHierarchy(learner.weight, none, np.array([-1]), np.zeros(1), (1,))
    if n_topics is None:
        most = max(_usual_number(rows, learner.n_tied), n_seeds, 1)
        counts = [learner.without_small(learner.topics(most, seeds.get(1, ())), n_seeds)]
    else:
        counts = [learner.topics(n_topics, seeds.get(1, ()), exact=True)]
    upper = sizes[:-1] if isinstance(sizes, Sequence) else _automatic_sizes(learner, counts[0])
    for number, size in enumerate(reversed(upper), start=2):
        groups = seeds.get(number, ())
        topics = learner.topics(size, groups, exact=True)
        if not isinstance(sizes, Sequence):
            topics = learner.with_children(topics, counts[-1], len(groups))
        counts.append(topics)
    return learner.joined(counts)


def update(hierarchy: TopicHierarchy, rows: BinaryRows) -> TopicHierarchy:
    """The same topics after more documents; each document weighs as much as each one before."""
    new = [
        _occurrences(rows, hierarchy.weight, hierarchy.counts[:, level].toarray())
        for level in hierarchy.levels
    ]
    return replace(hierarchy, counts=sp.csr_array(hierarchy.counts + sp.csr_array(np.hstack(new))))


def contradicted(rows: BinaryRows, seeds: Sequence[int]) -> list[int]:
    """The seed words of a topic that occur with the others in significantly fewer documents than by chance."""
    documents = sp.csc_array(rows.to_csr().astype(np.float64))[:, list(seeds)]
    joint = (documents.T @ documents).toarray()
    rate, n = _rates(rows)
    rate = rate[:, list(seeds)]
    expected = (n * rate).T @ rate
    np.fill_diagonal(joint, 0.0)
    np.fill_diagonal(expected, 0.0)
    lacking = expected.sum(axis=1) - joint.sum(axis=1)
    is_lacking = lacking > _MIN_Z * np.sqrt(expected.sum(axis=1))
    return [word for word, lacks in zip(seeds, is_lacking.tolist(), strict=True) if lacks]


def _usual_number(rows: BinaryRows, n_tied: int) -> int:
    """Topics of level 1 to look for in documents, before the smallest are left out."""
    evidence = min(rows.n_rows, rows.nnz / 30)  # titles tell less than articles
    return min(n_tied // 3, max(2, rows.n_rows // 10), round(0.8 * math.sqrt(evidence)), 200)


@dataclass(frozen=True, eq=False)
class _Learner:
    """What the mixtures of all levels share.

    Attributes
    ----------
    rows : BinaryRows
        Documents to learn from.
    weight : float64 (V,)
        Of the words.
    vector : float64 (V, D)
        Eigenvectors of the words' ties with positive eigenvalues, largest first, times the roots of these.
    ties : csr_array (V, V)
        How strongly words are tied to each other.
    """

    rows: BinaryRows
    weight: Floats
    vector: Floats
    ties: sp.csr_array

    @cached_property
    def n_tied(self) -> int:
        """Words that are tied to others."""
        return int((np.diff(self.ties.indptr) > 0).sum())

    @classmethod
    def of(cls, rows: BinaryRows, n_topics: int, seeds: Sequence[int]) -> _Learner:
        """Measure the ties of words, for up to ``n_topics`` topics in a level; 0: the usual number."""
        ties, weight = _word_ties(rows)
        weight[list(seeds)] = 1.0
        n_tied = int((np.diff(ties.indptr) > 0).sum())
        size = (weight * rows.counts()) ** _FREQUENCY
        ties.data *= np.repeat(size, np.diff(ties.indptr)) * size[ties.indices]
        n_vectors = round(_SPARE * (n_topics or _usual_number(rows, n_tied))) + 1
        if not n_tied:
            value, vector = np.zeros(1), np.zeros((ties.shape[0], 1))
        elif ties.shape[0] <= max(500, 3 * n_vectors):
            value, vector = np.linalg.eigh(ties.toarray())
        else:
            value, vector = eigsh(ties, k=n_vectors, which="LA", v0=np.ones(ties.shape[0]))
        order = np.argsort(-value, kind="stable")[:n_vectors]
        order = order[value[order] > 1e-9]
        step = max(1, round(rows.nnz / _MAX_ENTRIES))
        sample = rows if step == 1 else rows.take(slice(0, rows.n_rows, step))
        return cls(sample, weight, vector[:, order] * np.sqrt(value[order]), ties)

    def topics(self, n_topics: int, seeds: Sequence[Sequence[int]], exact: bool = False) -> Floats:
        """Expected occurrences of each word in each of up to ``n_topics`` topics of a level: (V, K).

        Raises
        ------
        DataError
            If there are fewer, and ``exact``.
        """
        enough = n_topics if exact else n_topics // 2
        most = min(n_topics, max(1, self.n_tied // 3, len(seeds)))
        for sparsity in (_SPARSITY, 0.1, 0.0):  # short documents have less evidence to take from
            counts = self._mixture(most, seeds, sparsity)
            if counts.shape[1] >= enough:
                return counts
        if exact:
            raise DataError(
                f"{n_topics} topics were asked for, but these {self.rows.n_rows:,} documents, in which {self.n_tied:,} "
                f"words occur together with others, have only {counts.shape[1]}: ask for fewer, or give more documents"
            )
        return counts

    def without_small(self, counts: Floats, n_seeded: int) -> Floats:
        """Leave out topics of few documents, but not those of seed words; their words go to the others."""
        n_main = np.zeros(counts.shape[1])
        for _, shares in self._flat(counts).evidence(self.rows):
            n_main += np.bincount(shares.argmax(axis=1), minlength=n_main.size)
        is_kept = n_main >= max(2, _MIN_SHARE * self.rows.n_rows)
        is_kept[:n_seeded] = True
        if is_kept.all() or not is_kept.any():
            return counts
        return _without_traces(_occurrences(self.rows, self.weight, counts[:, is_kept]))

    def _mixture(self, n_topics: int, seeds: Sequence[Sequence[int]], sparsity: float) -> Floats:
        frequency = self.weight * self.rows.counts()
        n_start = max(n_topics, min(round(_SPARE * n_topics), self.n_tied // 3))
        vectors, centre = self._centres(n_start, seeds)
        counts = frequency[:, None] * np.exp(_CONCENTRATION * (vectors @ centre.T))
        counts[~vectors.any(axis=1)] = 0.0
        for done in range(_N_PASSES):
            counts = _occurrences(self.rows, self.weight, counts, sparsity)
            for k, group in enumerate(seeds):
                # Without this a topic of rare seeds would drift to the larger subject next to it.
                is_near = np.diff(self.ties[:, list(group)].tocsr().indptr) > 0
                counts[~is_near, k] = 0.0
                counts[list(group)] = 0.0
                counts[list(group), k] = np.maximum(1.0, frequency[list(group)])
            if done == _N_PASSES // 2:  # half of the spare topics go, the others at the end
                counts = _largest(counts, (n_topics + n_start) // 2, len(seeds))
            if done == _N_PASSES - 2:
                counts = _largest(counts, n_topics, len(seeds))
        return _without_traces(_largest(counts, n_topics, len(seeds)))

    def _centres(self, n: int, seeds: Sequence[Sequence[int]]) -> tuple[Floats, Floats]:
        """Unit vectors of the words, and of the centres of ``n`` groups of them, those of the seed words first."""
        vectors = self.vector[:, :n]
        length = np.linalg.norm(vectors, axis=1, keepdims=True)
        vectors = np.where(length > 1e-6, unit_rows(vectors), 0.0)
        influence = self.weight * np.sqrt(self.rows.counts()) * vectors.any(axis=1)
        rotated = _varimax(vectors * np.sqrt(influence)[:, None])
        loading = np.maximum(rotated * np.sign((rotated**3).sum(axis=0)), 0.0) ** 2
        centre = unit_rows(loading.T @ vectors)
        if seeds:  # the centres next to those of the seed words are the same topics
            seeded = np.stack([unit_rows(vectors[list(group)].sum(axis=0)) for group in seeds])
            order = np.argsort((centre @ seeded.T).max(axis=1), kind="stable")
            centre = np.vstack([seeded, centre[np.sort(order[: n - len(seeds)])]])
        while len(centre) < n:  # fewer dimensions than topics: words far from all centres
            far = influence * (1.0 - (vectors @ centre.T).max(axis=1, initial=0.0))
            centre = np.vstack([centre, vectors[np.argmax(far)]])
        return vectors, centre

    def with_children(self, counts: Floats, below: Floats, n_seeded: int) -> Floats:
        """Leave out topics to which fewer than two of the level below belong, but not those of seed words."""
        lower = self._flat(below)
        while True:
            parent = self._shared(lower, self._flat(counts)).argmax(axis=1)
            is_kept = np.bincount(parent, minlength=counts.shape[1]) >= 2
            is_kept[:n_seeded] = True
            if is_kept.all() or is_kept.sum() < 2:
                return counts
            counts = _without_traces(_occurrences(self.rows, self.weight, counts[:, is_kept]))

    def joined(self, counts: Sequence[Floats]) -> TopicHierarchy:
        """Levels of topics, from level 1 up, joined by their documents."""
        levels = [self._flat(of_level) for of_level in counts]
        sizes = tuple(flat.sizes[0] for flat in levels)
        parent, start = [], 0
        for lower, upper in pairwise(levels):
            start += lower.sizes[0]
            parent.append(start + _assign(self._shared(lower, upper)))
        parent.append(np.full(sizes[-1], -1))
        return TopicHierarchy(
            self.weight,
            sp.csr_array(sp.hstack([flat.counts for flat in levels])),
            np.concatenate(parent),
            np.concatenate([flat.usual for flat in levels]),
            sizes,
        )

    def _flat(self, counts: Floats) -> TopicHierarchy:
        """One level of topics."""
        n = counts.shape[1]
        flat = TopicHierarchy(self.weight, sp.csr_array(counts), np.full(n, -1), np.zeros(n), (n,))
        if n == 1:
            return flat
        share = sum(shares.sum(axis=0) for _, shares in flat.evidence(self.rows))
        return replace(flat, usual=np.asarray(share / self.rows.n_rows))

    def _shared(self, lower: TopicHierarchy, upper: TopicHierarchy) -> Floats:
        """Documents of each topic of a level that are also those of each topic of the level above: (K, P)."""
        shared = np.zeros((lower.sizes[0], upper.sizes[0]))
        blocks = zip(lower.evidence(self.rows), upper.evidence(self.rows), strict=True)
        for (_, below), (_, above) in blocks:
            shared += below.T @ above
        return shared


def _assign(shared: Floats) -> Ints:
    """Give each topic the one above with which it shares most documents, and each of these at least two: (K,).

    Parameters
    ----------
    shared : float64 (K, P)
        Documents of each topic that are also those of each topic above it.
    """
    likely = proportions(shared)
    parent = likely.argmax(axis=1)
    while True:
        n_children = np.bincount(parent, minlength=shared.shape[1])
        if n_children.min() >= min(2, len(parent) // shared.shape[1]):
            return np.asarray(parent, np.int64)
        free = np.flatnonzero(n_children[parent] > 2)
        loss = likely[free, parent[free]] - likely[free, n_children.argmin()]
        parent[free[loss.argmin()]] = n_children.argmin()


def _varimax(loadings: Floats) -> Floats:
    """Rotate columns so that each has few large entries (Kaiser 1958): (V, D)."""
    rotation, last = np.eye(loadings.shape[1]), 0.0
    for _ in range(_ROTATIONS):
        turned = loadings @ rotation
        target = turned**3 - turned * (turned**2).mean(axis=0)
        left, size, right = np.linalg.svd(loadings.T @ target)
        rotation = left @ right
        if size.sum() < last * (1 + 1e-5):
            break
        last = size.sum()
    return np.asarray(loadings @ rotation)


def _automatic_sizes(learner: _Learner, leaves: Floats) -> list[int]:
    """Sizes of the levels above level 1, from the top down: up to 20 topics on top, and one level more for many."""
    n_topics = leaves.shape[1]
    if n_topics < 6:
        return []
    # height[k − 1] joins k + 1 groups into k
    height = ward(_profiles(learner._flat(leaves), learner.rows))[::-1, 2]
    largest = min(20, n_topics // 2)
    least = min(largest, max(6, min(8, n_topics // 5)))
    top = int(np.clip(round(1.3 * np.sqrt(n_topics)), least, largest))
    gaps = height[1 : largest - 1] / np.maximum(height[2:largest], 1e-12)  # of 3, 4, … groups
    if gaps.size and gaps.max() > _CLEAR_GAP:
        top = int(np.argmax(gaps)) + 3
    return [top, round(np.sqrt(top * n_topics))] if n_topics >= 9 * top else [top]


def _profiles(leaves: TopicHierarchy, rows: BinaryRows) -> Floats:
    """Words of the documents of each topic, compared with all documents: unit rows (K, V)."""
    blocks = [(block.T @ shares, shares.sum(axis=0)) for block, shares in leaves.evidence(rows)]
    with_topic, mass = (sum(part) for part in zip(*blocks, strict=True))
    rate = (with_topic / np.maximum(mass, 1e-12)).T
    profile = np.sqrt(rate) - np.sqrt(rows.counts() / max(1, rows.n_rows))
    return np.asarray(unit_rows(profile * np.sqrt(leaves.weight)))


def _without_traces(counts: Floats) -> Floats:
    """Leave out topics of which a word is hardly a member."""
    return np.where(proportions(counts) >= _MIN_MEMBERSHIP, counts, 0.0)


def _largest(counts: Floats, n_topics: int, n_seeded: int) -> Floats:
    """The largest topics with a word of their own; those of seed words always."""
    size = counts.sum(axis=0)
    main = counts.argmax(axis=1)[counts.any(axis=1)]
    size[(size < 1.0) | ~np.isin(np.arange(size.size), main)] = 0.0
    size[:n_seeded] = np.inf
    best = np.argsort(-size, kind="stable")[:n_topics]
    return counts[:, np.sort(best[size[best] > 0])] if size.any() else counts[:, :1]


def _word_ties(rows: BinaryRows) -> tuple[sp.csr_array, Floats]:
    """How much more often words occur together than documents of their length explain, and what each word tells.

    Returns the logarithms of observed over expected documents, a few added to both, of pairs that occur together
    significantly more often than :func:`_rates` makes them, as csr_array (V, V); and the weights of the words (V,): the
    deviance of a word's ties for each of its occurrences, in proportion to that of the upper quarter of the words, at
    most 1, its root. Words of general language are tied a little to everything, and have low weights.
    """
    documents = sp.csr_array(rows.to_csr().astype(np.float64))
    rate, n = _rates(rows)  # (B, V), (B, 1)
    spread = rate * (1.0 - rate)
    by_word = sp.csr_array(documents.T)
    deviance = np.zeros(rows.n_columns)
    parts = []
    for start in range(0, rows.n_columns, _BLOCK_WORDS):
        words = slice(start, min(start + _BLOCK_WORDS, rows.n_columns))
        joint = (by_word[words] @ documents).toarray()
        expected = (n * rate[:, words]).T @ rate
        variance = 1e-12 + (n * spread[:, words]).T @ spread
        tied = (joint >= 2) & (joint - expected > _MIN_Z * np.sqrt(variance)) & (expected > 0)
        itself = np.arange(words.start, words.stop)
        tied[itself - start, itself] = False
        i, j = tied.nonzero()
        seen, by_chance = joint[i, j], expected[i, j]
        log_ratio = np.log(seen / by_chance)
        gain = np.minimum(
            seen * log_ratio - (seen - by_chance), (seen - by_chance) ** 2 / variance[i, j] / 2
        )
        clear = gain > _MIN_GAIN
        i, j, gain = i[clear], j[clear], gain[clear]
        deviance[words] = np.bincount(i, weights=gain - 2.0, minlength=itself.size)
        tie = np.log((seen[clear] + _PRIOR) / (by_chance[clear] + _PRIOR))
        parts.append(sp.csr_array((tie.astype(np.float32), (i, j)), shape=joint.shape))
    per_occurrence = deviance / np.maximum(rows.counts(), 1)
    positive = per_occurrence[per_occurrence > 0]
    scale = np.quantile(positive, 0.75) if positive.size else 1.0
    weight = np.maximum(np.sqrt(np.minimum(1.0, per_occurrence / scale)), 0.02)
    return sp.csr_array(sp.vstack(parts)), weight


def _rates(rows: BinaryRows) -> tuple[Floats, Floats]:
    """How likely words are in documents of a length if they depend on nothing else: (B, V), and the documents (B, 1).

    A word w is in a document of n words with the probability 1 − exp(−λ n), where λ makes the number of its documents
    right. It is not the rate among the documents of that length: many copies of one text would then explain each other.
    """
    length = np.maximum(np.diff(rows.indptr), 1)
    bin_of = np.round(_BINS_PER_E * np.log(length)).astype(np.int64)
    n = np.bincount(bin_of).astype(np.float64)
    mean_length = np.bincount(bin_of, length) / np.maximum(n, 1.0)
    mean_length, n = mean_length[n > 0][:, None], n[n > 0][:, None]
    total = np.clip(rows.counts(), 0.5, rows.n_rows - 0.5)
    slope = total / (n * mean_length).sum()
    for _ in range(_NEWTON_STEPS):  # convex: from below the steps never go too far
        missing = n * np.exp(-slope * mean_length)  # (B, V)
        error = total - (rows.n_rows - missing.sum(axis=0))
        slope = slope + error / (mean_length * missing).sum(axis=0)
    return 1.0 - np.exp(-slope * mean_length), n


def _occurrences(
    rows: BinaryRows, weight: Floats, counts: Floats, sparsity: float = _SPARSITY
) -> Floats:
    """One EM pass: expected occurrences of the words in the topics, given those of the last pass: (V, K)."""
    from tsenet.topics.kernels import divide_words  # numba: .4 seconds, for those who learn

    counts = np.ascontiguousarray(counts)  # the kernel is compiled for one layout only
    of_word = counts.sum(axis=1, keepdims=True)
    topic_of = counts / np.maximum(of_word, 1e-12)
    given = counts + 0.01 * of_word / max(of_word.sum(), 1e-12)
    given /= np.maximum(given.sum(axis=0), 1e-12)
    out = np.zeros_like(counts)
    divide_words(Csr(rows.indptr, rows.indices), weight, topic_of, given, sparsity, _N_STEPS, out)
    return out
