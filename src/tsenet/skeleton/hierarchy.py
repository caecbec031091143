"""A hierarchy of topics: levels of a requested size, learned from whole documents given their length.

Words that occur together more often than documents of their length explain are tied. Groups of tied words start a
mixture model of the documents, whose components are the topics of the first level. Words that are tied to everything
alike count little, so that general language does not become a topic. Topics whose documents use the same words are
then joined, level by level. Every topic is a latent of a :class:`tsenet.LatentTree`: each word belongs to the
topic it occurs in most, each topic to one topic of the level above.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import pairwise

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from scipy.cluster.hierarchy import cut_tree, ward
from scipy.sparse.linalg import eigsh

from tsenet.data.binary import BinaryRule
from tsenet.data.rows import BinaryRows
from tsenet.errors import DataError
from tsenet.skeleton.chow_liu import binary_information, chow_liu_parents
from tsenet.skeleton.hlta import latent_names
from tsenet.skeleton.kernels.pair_kernels import Csr
from tsenet.skeleton.kernels.topic_kernels import divide_words
from tsenet.skeleton.tree import LatentTree

__all__ = ["PRESENT", "TopicDescription", "TopicHierarchy", "describe", "learn_hierarchy"]

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

#: A topic is present in a document from this strength on.
PRESENT = 0.5

_STRATA = 20  # classes of document length
# Two words are tied if they occur together this many standard deviations more often than expected, with this gain in
# nats (a test at the level 0.025).
_MIN_Z, _MIN_GAIN = 2.5, 2.5
_DIMENSIONS = 100  # of the word vectors
_CONCENTRATION = 5.0  # how closely the first topics follow their groups of words
_SPARSITY = 0.4  # occurrences taken from every topic of a document in each step
_SPARE = 1.25  # topics to start with for each topic wanted: the smallest are dropped
_N_PASSES = 20
_N_STEPS = 6  # EM steps on the mixture of each document
_N_STARTS = 3
_MAX_ENTRIES = 1_000_000  # words of documents that topics are learned from
_MIN_MEMBERSHIP = 0.02  # smaller P(topic | word) are set to 0
_FREQUENCY = (
    0.85  # power of a word's rate in a topic against its lift, for the words that describe it
)
_COMPETITION = 0.7  # a word describes topics of a level that score this share of its best one
_MIN_LIFT, _MIN_SCORE = 0.2, 0.1  # of words, the latter as a share of the first word's
_MIN_WORDS = 3  # of a topic, even if they repeat words of one above it
_BLOCK_ROWS = 4096
_BLOCK_WORDS = 128
_CLEAR_GAP = 1.45  # ratio of merge heights from which a number of top topics is clear


@dataclass(frozen=True, eq=False)
class TopicHierarchy:
    """Topics in levels, and how words belong to them.

    Attributes
    ----------
    weight : float64 (V,)
        How much an occurrence of a word counts as evidence for its topics, from 0 (none) to 1.
    counts : csr_array (V, K)
        Expected occurrences of each word in each topic of level 1.
    paths : int64 (levels, K)
        The topic of each level, from level 1 up, that each topic of level 1 belongs to.
    usual : float64 (K,)
        Mean share of each topic of level 1 in a document. Only what exceeds it is evidence, so that topics of general
        language, which are spread evenly over all documents, are not the main topic of most.
    """

    weight: Floats
    counts: sp.csr_array
    paths: Ints
    usual: Floats

    @cached_property
    def sizes(self) -> tuple[int, ...]:
        """Number of topics of each level, from level 1 up."""
        return tuple((self.paths.max(axis=1) + 1).tolist())

    @cached_property
    def parents(self) -> list[Ints]:
        """For each level but the top one, the topic above each of its topics."""
        found = []
        for here, above in pairwise(self.paths):
            parent = np.empty(int(here.max()) + 1, np.int64)
            parent[here] = above
            found.append(parent)
        return found

    @cached_property
    def membership(self) -> sp.csr_array:
        """P(topic of level 1 | word): (V, K); rows of words in no topic are 0."""
        total = np.maximum(self.counts.sum(axis=1), 1e-12)
        return sp.csr_array(sp.diags_array(1.0 / total) @ self.counts)

    @cached_property
    def main_topic(self) -> Ints:
        """The topic of level 1 in which each word occurs most; −1 for words in none: (V,)."""
        dense = self.counts.toarray()
        return np.where(dense.any(axis=1), dense.argmax(axis=1), -1)

    def strengths(self, rows: BinaryRows, least: float = 0.01) -> sp.csr_array:
        """Strength of every topic in every document, from 0 to 1: csr_array (N, L), levels from 1 up.

        The evidence for a topic is the weighted share of the document's words that belong to it, as far as it exceeds
        the topic's mean share. If it is at least half that of the document's main topic of that level, the topic is
        present: its strength is 0.5 plus half its share, where one word of no topic is added to each document.
        Otherwise the strength is the ratio to the main topic. A topic is at least as strong as those below it.

        Parameters
        ----------
        rows : BinaryRows
            N documents.
        least : float, default=0.01
            Leave out smaller strengths.
        """
        blocks = [
            sp.csr_array(np.where(s >= least, s, 0.0)) for _, s in self._strength_blocks(rows)
        ]
        return sp.csr_array(sp.vstack(blocks)) if blocks else sp.csr_array((0, sum(self.sizes)))

    def evidence(self, rows: BinaryRows) -> Iterator[tuple[sp.csr_array, Floats]]:
        """Blocks of documents, and the share of each topic of level 1 in each of them; 0 in one without topics."""
        links = sp.csr_array(sp.diags_array(self.weight) @ self.membership)
        for start in range(0, rows.n_rows, _BLOCK_ROWS):
            block = rows.take(slice(start, min(start + _BLOCK_ROWS, rows.n_rows))).to_csr()
            block = sp.csr_array(block.astype(np.float64))
            shares = _proportions((block @ links).toarray())
            yield block, _proportions(np.maximum(shares - self.usual, 0.0))

    def _strength_blocks(self, rows: BinaryRows) -> Iterator[tuple[sp.csr_array, Floats]]:
        for block, evidence in self.evidence(rows):
            total = block @ self.weight
            shares = evidence * (total / (total + 1.0))[:, None]
            levels: list[Floats] = []
            for level, topic in enumerate(self.paths):
                amount = shares @ np.eye(self.sizes[level])[topic]
                relative = amount / np.maximum(amount.max(axis=1, keepdims=True), 1e-12)
                strength = np.where(relative >= 0.5, 0.5 + amount / 2, relative)
                if level:
                    below = np.zeros_like(strength)
                    np.maximum.at(below.T, self.parents[level - 1], levels[-1].T)
                    strength = np.maximum(strength, below)
                levels.append(strength)
            yield block, np.hstack(levels)

    def updated(self, rows: BinaryRows) -> TopicHierarchy:
        """The same topics after more documents; each document weighs as much as each one before."""
        new = _occurrences(rows, self.weight, self.counts.toarray())
        return replace(self, counts=sp.csr_array(self.counts + sp.csr_array(new)))

    def merged(self, level: int, topics: Sequence[int]) -> tuple[TopicHierarchy, Ints]:
        """Merge topics of a level into the first of them, which takes over what is below the others.

        Parameters
        ----------
        level : int
            From 1 up.
        topics : sequence of int
            Two or more topics of this level.

        Returns
        -------
        TopicHierarchy
            Topics of higher levels that lose their last topic are gone.
        int64 (L,)
            The new column of each old topic, levels from 1 up; −1 for topics that are gone.
        """
        paths = self.paths.copy()
        inside = np.isin(paths[level - 1], topics)
        first = np.flatnonzero(paths[level - 1] == topics[0])[0]
        paths[level - 1 :, inside] = paths[level - 1 :, [first]]
        columns: list[Ints] = []
        for here, size in enumerate(self.sizes):
            used, paths[here] = np.unique(paths[here], return_inverse=True)
            new = np.full(size, -1)
            new[used] = sum(int(p.max()) + 1 for p in paths[:here]) + np.arange(used.size)
            columns.append(new)
        _, leaf = np.unique(paths[0], return_index=True)
        counts = sp.csr_array(self.counts @ sp.csr_array(np.eye(leaf.size)[paths[0]]))
        usual = np.asarray(np.bincount(paths[0], weights=self.usual), np.float64)
        return TopicHierarchy(self.weight, counts, paths[:, leaf], usual), np.concatenate(columns)

    # ---- the same as a latent tree

    def latent_tree(
        self, rows: BinaryRows, rule: BinaryRule, topics: Sequence[str] | None = None
    ) -> LatentTree:
        """The topics as latents of a tree whose probabilities are the rates in documents.

        Parameters
        ----------
        rows : BinaryRows
            Documents.
        rule : BinaryRule
            How tables become such rows.
        topics : sequence of str, optional
            Names of the topics, levels from 1 up; default: ``Z1.0``, ``Z1.1`` and so on.
        """
        n_words, sizes = self.counts.shape[0], self.sizes
        starts = n_words + np.cumsum([0, *sizes])
        level = np.repeat(np.arange(len(sizes) + 1, dtype=np.int32), [n_words, *sizes])
        parent = np.full(level.size, -1, np.int64)
        parent[:n_words] = np.where(self.main_topic >= 0, self.main_topic + n_words, -1)
        for here, above in enumerate(self.parents):
            parent[starts[here] : starts[here + 1]] = above + starts[here + 1]
        on = np.zeros(level.size)
        on[:n_words] = rows.counts()
        with_parent = np.zeros(level.size)
        top = np.zeros((sizes[-1], sizes[-1]))
        below = np.arange(n_words, int(starts[-2]))  # topics that have one above
        for block, strength in self._strength_blocks(rows):
            present = (strength >= PRESENT).astype(np.float64)
            on[n_words:] += present.sum(axis=0)
            top += present[:, -sizes[-1] :].T @ present[:, -sizes[-1] :]
            with_parent[:n_words] += _joint_counts(block, present, self.main_topic)
            pairs = present[:, below - n_words] * present[:, parent[below] - n_words]
            with_parent[below] += pairs.sum(axis=0)
        n_rows = rows.n_rows
        tops = slice(int(starts[-2]), level.size)
        rate = on[tops] / n_rows
        together = top / n_rows
        information = np.stack(
            [binary_information(t, r, rate) for t, r in zip(together, rate, strict=True)]
        )
        link = chow_liu_parents(information)
        parent[tops] = np.where(link >= 0, link + starts[-2], -1)
        with_parent[tops] = top[np.arange(link.size), link]
        parent_on = on[parent]
        chance = np.stack(
            [
                (on - with_parent + 0.5) / (n_rows - parent_on + 1),
                (with_parent + 0.5) / (parent_on + 1),
            ],
            axis=1,
        )
        alone = parent < 0
        chance[alone] = ((on[alone] + 0.5) / (n_rows + 1))[:, None]
        cpt = np.stack([1.0 - chance, chance], axis=2)
        names = (*rule.names, *(topics or latent_names(level, set(rule.names))))
        return LatentTree(parent.astype(np.int32), level, cpt, names, rule)


def _proportions(values: Floats) -> Floats:
    """Rows that sum to 1; rows of 0 stay."""
    return np.asarray(values / np.maximum(values.sum(axis=1, keepdims=True), 1e-12))


def _joint_counts(block: sp.csr_array, present: Floats, topic: Ints) -> Floats:
    """In how many documents each word occurs with its own topic present: (V,)."""
    of_row = np.repeat(np.arange(block.shape[0]), np.diff(block.indptr))
    above = topic[block.indices]
    both = np.where(above >= 0, present[of_row, above], 0.0)
    return np.asarray(
        np.bincount(block.indices, weights=both, minlength=block.shape[1]), np.float64
    )


# ---- words that describe topics


@dataclass(frozen=True, eq=False)
class TopicDescription:
    """What documents say about the L topics of a hierarchy, levels from 1 up.

    Attributes
    ----------
    n_documents : int64 (L,)
        Documents in which each topic is present.
    word_documents : int64 (V,)
        Documents in which each word occurs.
    words : int64 (L, W)
        The words that describe each topic, best first; −1 where there are fewer. They are frequent in the documents of
        the topic, less so elsewhere and, above level 1, common to the topics below it. No topic repeats a word of one
        above it, and topics of a level compete for words.
    score : float64 (L, W)
        By which they are ranked.
    shares : float64 (L, W, 2)
        Share of the documents without and with the topic in which the word occurs.
    information : float64 (L,)
        What each topic tells about the words, in nats for each document.
    """

    n_documents: Ints
    word_documents: Ints
    words: Ints
    score: Floats
    shares: Floats
    information: Floats


def describe(hierarchy: TopicHierarchy, rows: BinaryRows, n_words: int) -> TopicDescription:
    """Describe topics by documents, with up to ``n_words`` words each."""
    sizes = hierarchy.sizes
    n_topics = sum(sizes)
    with_leaf = np.zeros((rows.n_columns, sizes[0]))
    together = np.zeros((rows.n_columns, n_topics))
    leaf_mass, n_documents = np.zeros(sizes[0]), np.zeros(n_topics, np.int64)
    for (block, shares), (_, strength) in zip(
        hierarchy.evidence(rows), hierarchy._strength_blocks(rows), strict=True
    ):
        present = strength >= PRESENT
        with_leaf += block.T @ shares
        leaf_mass += shares.sum(axis=0)
        together += block.T @ present.astype(np.float64)
        n_documents += present.sum(axis=0)
    words = np.full((n_topics, n_words), -1)
    score = np.zeros((n_topics, n_words))
    information = np.zeros(n_topics)
    base = with_leaf.sum(axis=1) / max(leaf_mass.sum(), 1e-12)
    starts = np.cumsum([0, *sizes])
    for level in reversed(range(len(sizes))):
        path = hierarchy.paths[level]
        onto = np.eye(sizes[level])[path]
        mass = leaf_mass @ onto
        rate = (with_leaf @ onto) / np.maximum(mass, 1e-12)
        lift = np.log(np.maximum(rate, 1e-12) / np.maximum(base, 1e-12)[:, None])
        here = slice(starts[level], starts[level + 1])
        information[here] = np.maximum((rate * lift).sum(axis=0) * mass, 0.0) / max(1, rows.n_rows)
        if sizes[level] == 1:  # nothing to compare with
            lift = hierarchy.weight[:, None]
        value = np.where(lift > _MIN_LIFT, rate**_FREQUENCY * lift, 0.0)
        value[with_leaf @ onto < 2] = 0.0
        if level:
            value *= _evenness(hierarchy, level, with_leaf, leaf_mass, base)
        raw = value.copy()
        value[value < _COMPETITION * value.max(axis=1, keepdims=True)] = 0.0
        for topic in range(sizes[level]):
            mine = value[:, topic]
            for above in range(level + 1, len(sizes)):
                taken = words[starts[above] + hierarchy.paths[above][path == topic][0]]
                mine[taken[taken >= 0]] = 0.0
            best = np.argsort(-mine, kind="stable")[:n_words]
            best = best[mine[best] > _MIN_SCORE * mine[best[0]]]
            if best.size < _MIN_WORDS:  # a small vocabulary: repeat words
                others = np.argsort(-raw[:, topic], kind="stable")[:_MIN_WORDS]
                others = others[(raw[others, topic] > 0) & ~np.isin(others, best)]
                best = np.concatenate([best, others])[:_MIN_WORDS]
            words[starts[level] + topic, : best.size] = best
            score[starts[level] + topic, : best.size] = raw[best, topic]
    counts = rows.counts()
    both = together[words, np.arange(n_topics)[:, None]]
    outside = np.maximum(rows.n_rows - n_documents, 1)[:, None]
    inside = np.maximum(n_documents, 1)[:, None]
    shares = np.stack([(counts[words] - both) / outside, both / inside], axis=2)
    shares[words < 0] = 0.0
    return TopicDescription(n_documents, counts, words, score, shares, information)


def _evenness(
    hierarchy: TopicHierarchy, level: int, with_leaf: Floats, leaf_mass: Floats, base: Floats
) -> Floats:
    """How evenly each word is spread over the topics directly below each topic, from 0 to 1: (V, topics)."""
    below = hierarchy.paths[level - 1]
    onto = np.eye(hierarchy.sizes[level - 1])[below]
    mass = np.maximum(leaf_mass @ onto, 1e-12)
    rate = (with_leaf @ onto) / mass + 0.1 * base[:, None]
    group = np.eye(hierarchy.sizes[level])[hierarchy.parents[level - 1]] * mass[:, None]
    group /= group.sum(axis=0)
    mean = rate @ group
    with np.errstate(divide="ignore"):
        geometric = np.exp(np.log(np.maximum(rate, 1e-300)) @ group)
    return np.asarray(np.where(mean > 0, geometric / np.maximum(mean, 1e-300), 0.0))


# ---- learning


def learn_hierarchy(
    rows: BinaryRows,
    sizes: Sequence[int] | int | None = None,
    seed_groups: Sequence[Sequence[int]] = (),
) -> TopicHierarchy:
    """Learn a hierarchy of topics from documents; nothing in it is random.

    Parameters
    ----------
    rows : BinaryRows
        N documents of V words.
    sizes : sequence of int, int or None, default=None
        Numbers of topics of the levels, from the top down, each at least twice the one before; or the number of
        topics of level 1. What is not given is chosen from the documents.
    seed_groups : sequence of sequences of int, default=()
        Words that start a topic of level 1 each and stay in it.

    Returns
    -------
    TopicHierarchy

    Raises
    ------
    DataError
        If no words are tied, or there are too few for the levels asked for.
    """
    ties, weight = _word_ties(rows)
    tied = np.flatnonzero(np.diff(ties.indptr) > 0)
    for group in seed_groups:
        weight[list(group)] = 1.0
    room = max(1, tied.size // 3, len(seed_groups))
    n_topics = sizes if isinstance(sizes, int) else sizes[-1] if sizes else None
    is_fixed = n_topics is not None
    if n_topics is None:
        evidence = min(rows.n_rows, rows.nnz / 30)  # titles tell less than articles
        n_topics = min(room, max(2, rows.n_rows // 10), round(0.8 * np.sqrt(evidence)), 200)
        n_topics = max(n_topics, len(seed_groups), 1)
    if n_topics < len(seed_groups):
        raise DataError(
            f"{len(seed_groups)} groups of seed words need as many topics, not {n_topics}"
        )
    if not tied.size and not seed_groups and not is_fixed:
        none = sp.csr_array((rows.n_columns, 1))
        return TopicHierarchy(weight, none, np.zeros((1, 1), np.int64), np.zeros(1))
    step = max(1, round(rows.nnz / _MAX_ENTRIES))
    sample = rows if step == 1 else rows.take(slice(0, rows.n_rows, step))
    enough = n_topics if is_fixed else 0.7 * n_topics
    for sparsity in (_SPARSITY, 0.1, 0.0):  # small vocabularies have less evidence to take from
        counts = _mixture(sample, ties, weight, min(n_topics, room), seed_groups, sparsity)
        if not is_fixed:
            counts = _without_small(counts, len(seed_groups))
        if counts.shape[1] >= enough:
            break
    if is_fixed and counts.shape[1] < n_topics:
        raise DataError(
            f"{n_topics} topics were asked for, but these {rows.n_rows:,} documents, in which {tied.size:,} words "
            f"occur together with others, have only {counts.shape[1]}: ask for fewer, or give more documents"
        )
    n_leaves = counts.shape[1]
    leaves = TopicHierarchy(weight, counts, np.arange(n_leaves)[None], np.zeros(n_leaves))
    if n_leaves > 1:
        usual = sum(shares.sum(axis=0) for _, shares in leaves.evidence(sample)) / sample.n_rows
        leaves = replace(leaves, usual=usual)
    paths = _levels(leaves, sample, sizes if isinstance(sizes, Sequence) else None)
    return replace(leaves, paths=paths)


def _word_ties(rows: BinaryRows) -> tuple[sp.csr_array, Floats]:
    """How much more often words occur together than documents of their length explain, and what each word tells.

    Returns the logarithms of observed over expected documents, of pairs that occur together significantly more often
    (Cochran–Mantel–Haenszel over classes of length), as csr_array (V, V); and the weights of the words (V,): the
    deviance of a word's ties for each of its occurrences, in proportion to that of the upper quarter of the words, at
    most 1, its root. Words of general language are tied a little to everything, and have low weights.
    """
    length = np.diff(rows.indptr)
    cuts = np.unique(np.quantile(length, np.linspace(0, 1, _STRATA + 1)[1:-1]))
    stratum = np.digitize(length, cuts)
    n = np.bincount(stratum).astype(np.float64)
    documents = sp.csr_array(rows.to_csr().astype(np.float64))
    member = sp.csr_array((np.ones(length.size), (stratum, np.arange(length.size))))
    on = (member @ documents).toarray()
    used = n >= 3
    on, n = on[used], n[used][:, None]
    spread = on * (n - on)
    by_word = sp.csr_array(documents.T)
    deviance = np.zeros(rows.n_columns)
    parts = []
    for start in range(0, rows.n_columns, _BLOCK_WORDS):
        words = slice(start, min(start + _BLOCK_WORDS, rows.n_columns))
        joint = (by_word[words] @ documents).toarray()
        expected = (on[:, words] / n).T @ on
        variance = 1e-12 + (spread[:, words] / (n * n * (n - 1.0))).T @ spread
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
        i, j, log_ratio, gain = i[clear], j[clear], log_ratio[clear], gain[clear]
        deviance[words] = np.bincount(i, weights=gain - 2.0, minlength=itself.size)
        parts.append(sp.csr_array((log_ratio, (i, j)), shape=joint.shape))
    per_occurrence = deviance / np.maximum(rows.counts(), 1)
    positive = per_occurrence[per_occurrence > 0]
    scale = np.quantile(positive, 0.75) if positive.size else 1.0
    weight = np.maximum(np.sqrt(np.minimum(1.0, per_occurrence / scale)), 0.02)
    return sp.csr_array(sp.vstack(parts)), weight


def _word_vectors(ties: sp.csr_array) -> Floats:
    """Unit vectors of the words from the positive eigenvalues of their ties: (V, D); 0 for words without ties."""
    n_words = ties.shape[0]
    if n_words <= 2 * _DIMENSIONS:
        value, vector = np.linalg.eigh(ties.toarray())
        value, vector = value[-_DIMENSIONS:], vector[:, -_DIMENSIONS:]
    else:
        value, vector = eigsh(ties, k=_DIMENSIONS, v0=np.ones(n_words))
    kept = value > 1e-9
    vectors = vector[:, kept] * np.sqrt(value[kept])
    return np.where(np.linalg.norm(vectors, axis=1, keepdims=True) > 1e-6, _unit(vectors), 0.0)


def _centres(
    vectors: Floats, weight: Floats, n: int, seed_groups: Sequence[Sequence[int]]
) -> Floats:
    """Centres of groups of words by spherical k-means: (n, D) unit vectors, those of the seed groups first."""
    weight = weight * vectors.any(axis=1)
    seeds = [_unit(vectors[list(group)].sum(axis=0)) for group in seed_groups]
    random = np.random.default_rng(0)  # the same start for every seed of the model
    best, best_fit = np.empty((0, vectors.shape[1])), -1.0
    for _ in range(_N_STARTS):
        centre = np.array(seeds).reshape(-1, vectors.shape[1])
        while len(centre) < n:  # k-means++: far words are likelier
            far = weight * np.maximum(1.0 - (vectors @ centre.T).max(axis=1, initial=0.0), 0.0)
            word = random.choice(far.size, p=far / far.sum()) if far.any() else np.argmax(weight)
            centre = np.vstack([centre, vectors[word]])
        for _ in range(20):
            likeness = vectors @ centre.T
            nearest = likeness.argmax(axis=1)
            member = sp.csr_array(
                (weight, (nearest, np.arange(weight.size))), shape=(n, weight.size)
            )
            total = member @ vectors
            moved = np.where(total.any(axis=1, keepdims=True), _unit(total), centre)
            moved[: len(seeds)] = centre[: len(seeds)]
            if np.allclose(moved, centre):
                break
            centre = moved
        fit = float(weight @ likeness.max(axis=1))
        if fit > best_fit:
            best, best_fit = centre, fit
    return best


def _unit(vectors: Floats) -> Floats:
    """Vectors of length 1; 0 stays 0."""
    length = np.linalg.norm(vectors, axis=-1, keepdims=True)
    return np.asarray(vectors / np.maximum(length, 1e-12))


def _mixture(
    rows: BinaryRows,
    ties: sp.csr_array,
    weight: Floats,
    n_topics: int,
    seed_groups: Sequence[Sequence[int]],
    sparsity: float,
) -> sp.csr_array:
    """Expected occurrences of each word in each of up to ``n_topics`` topics: csr_array (V, K)."""
    vectors = _word_vectors(ties)
    frequency = rows.counts().astype(np.float64)
    n_tied = int(vectors.any(axis=1).sum())
    n_start = max(n_topics, min(round(_SPARE * n_topics), n_tied // 3))
    centre = _centres(vectors, weight * np.sqrt(frequency), n_start, seed_groups)
    counts = (weight * frequency)[:, None] * np.exp(_CONCENTRATION * (vectors @ centre.T))
    counts[~vectors.any(axis=1)] = 0.0
    fixed = [(word, k) for k, group in enumerate(seed_groups) for word in group]
    for done in range(_N_PASSES + 1):
        for word, k in fixed:
            counts[word] = 0.0
            counts[word, k] = max(1.0, weight[word] * frequency[word])
        if done == _N_PASSES // 2:
            size = counts.sum(axis=0)
            size[: len(seed_groups)] = np.inf
            counts = counts[:, np.sort(np.argsort(-size, kind="stable")[:n_topics])]
        if done < _N_PASSES:
            counts = _occurrences(rows, weight, counts, sparsity)
    n_members = np.bincount(counts.argmax(axis=1)[counts.any(axis=1)], minlength=counts.shape[1])
    is_alive = (counts.sum(axis=0) >= 1.0) & (n_members >= 1)
    is_alive[: len(seed_groups)] = True
    counts = counts[:, is_alive] if is_alive.any() else counts[:, :1]
    share = counts / np.maximum(counts.sum(axis=1, keepdims=True), 1e-12)
    return sp.csr_array(np.where(share >= _MIN_MEMBERSHIP, counts, 0.0))


def _without_small(counts: sp.csr_array, n_seeded: int) -> sp.csr_array:
    """Leave out topics of less than a quarter of the mean size, but not those of seed words."""
    size = np.asarray(counts.sum(axis=0))
    kept = size >= size.mean() / 4
    kept[:n_seeded] = True
    return sp.csr_array(counts[:, np.flatnonzero(kept)])


def _occurrences(
    rows: BinaryRows, weight: Floats, counts: Floats, sparsity: float = _SPARSITY
) -> Floats:
    """One EM pass: expected occurrences of the words in the topics, given those of the last pass: (V, K)."""
    of_word = counts.sum(axis=1, keepdims=True)
    topic_of = counts / np.maximum(of_word, 1e-12)
    given = counts + 0.01 * of_word / max(of_word.sum(), 1e-12)
    given /= given.sum(axis=0)
    out = np.zeros_like(counts)
    divide_words(Csr(rows.indptr, rows.indices), weight, topic_of, given, sparsity, _N_STEPS, out)
    return out


# ---- levels


def _levels(leaves: TopicHierarchy, rows: BinaryRows, sizes: Sequence[int] | None) -> Ints:
    """Join topics whose documents use the same words, level by level: paths (levels, K)."""
    n_topics = leaves.sizes[0]
    paths = [np.arange(n_topics)]
    profile, mass = _profiles(leaves, rows)
    chosen = _automatic_sizes(profile, n_topics) if sizes is None else list(sizes[:-1])
    for size in reversed(chosen):
        group = _join(profile, mass, size)
        paths.append(group[paths[-1]])
        total = np.zeros((size, profile.shape[1]))
        np.add.at(total, group, profile * mass[:, None])
        profile = _unit(total)
        mass = np.asarray(np.bincount(group, weights=mass), np.float64)
    return np.stack(paths)


def _profiles(leaves: TopicHierarchy, rows: BinaryRows) -> tuple[Floats, Floats]:
    """Words of the documents of each topic, compared with all documents: unit rows (K, V); and the topics' sizes."""
    with_topic, mass = 0.0, 0.0
    for block, shares in leaves.evidence(rows):
        with_topic = with_topic + (block.T @ shares)
        mass = mass + shares.sum(axis=0)
    rate = (with_topic / np.maximum(mass, 1e-12)).T
    profile = np.sqrt(rate) - np.sqrt(rows.counts() / max(1, rows.n_rows))
    return _unit(profile * np.sqrt(leaves.weight)), np.maximum(mass, 1e-9)


def _automatic_sizes(profile: Floats, n_topics: int) -> list[int]:
    """Sizes of the levels above level 1, from the top down: up to 20 topics on top, and one level more for many."""
    if n_topics < 6:
        return []
    height = ward(profile)[:, 2][::-1]  # height[k - 1] joins k + 1 groups into k
    largest = min(20, n_topics // 2)
    least = min(largest, max(6, min(8, n_topics // 5)))
    top = int(np.clip(round(np.sqrt(n_topics)), least, largest))
    gaps = height[1 : largest - 1] / np.maximum(height[2:largest], 1e-12)  # of 3, 4, … groups
    if gaps.size and gaps.max() > _CLEAR_GAP:
        top = int(np.argmax(gaps)) + 3
    return [top, round(np.sqrt(top * n_topics))] if n_topics >= 9 * top else [top]


def _join(profile: Floats, mass: Floats, size: int) -> Ints:
    """Divide topics into ``size`` groups of at least two, by Ward's method: (K,).

    Groups of one would remain if the dendrogram were cut at ``size``: it is cut lower, until there are enough groups
    of two or more, and the topics outside these join the closest.
    """
    n = profile.shape[0]
    if size == 1:
        return np.zeros(n, np.int64)
    cuts: NDArray[np.int64] = cut_tree(ward(profile))
    for n_groups in range(size, n + 1):
        label = cuts[:, n - n_groups]
        count = np.bincount(label)
        if (count >= 2).sum() >= size or n_groups == n:
            break
    large = np.flatnonzero(count >= 2)
    if large.size < size:  # as few pairs as possible: split the largest groups
        return _split_largest(cuts[:, n - size], profile)
    total = np.bincount(label, weights=mass)
    large = large[np.argsort(-total[large], kind="stable")[:size]]
    centre = np.stack(
        [np.average(profile[label == g], axis=0, weights=mass[label == g]) for g in large]
    )
    nearest = (((profile[:, None] - centre[None]) ** 2).sum(axis=2)).argmin(axis=1)
    position = {int(g): k for k, g in enumerate(large)}
    return np.array(
        [position.get(int(g), int(near)) for g, near in zip(label, nearest, strict=True)]
    )


def _split_largest(label: NDArray[np.int64], profile: Floats) -> Ints:
    """Give groups of one the closest topic of a group of three or more, until every group has two."""
    label = label.astype(np.int64).copy()
    while True:
        count = np.bincount(label)
        single = np.flatnonzero(count == 1)
        if not single.size:
            return label
        own = np.flatnonzero(label == single[0])[0]
        free = np.flatnonzero(count[label] >= 3)
        distance = ((profile[free] - profile[own]) ** 2).sum(axis=1)
        label[free[np.argmin(distance)]] = single[0]
