"""The levels above level 1: topics whose documents have the same words are joined by Ward's method."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import accumulate

import numpy as np
import scipy.sparse as sp
from scipy.cluster.hierarchy import cut_tree, ward
from scipy.optimize import linear_sum_assignment

from tsenet.data.binary import BinaryRows
from tsenet.data.scaling import unit_rows
from tsenet.topics.hierarchy import Floats, Ints, TopicHierarchy
from tsenet.topics.settings import SETTINGS

# Rounds in which topics move to the parent they are most akin to. With ten, all reviews end below one.
_MOVES = 2


def profiles(
    topics: TopicHierarchy, rows: BinaryRows, n_words: int
) -> tuple[Floats, Floats, Floats, Ints]:
    """What the documents of the K topics of one level have in common, in their V words that are not hidden.

    Returns
    -------
    float64 (K, V)
        How frequent words are in the documents of each topic, compared with all documents: unit rows of what
        is more frequent.
    float64 (V, K)
        Sum of the shares of each topic in the documents with each word.
    float64 (K,)
        Sum of the shares of each topic in all documents.
    int64 (K,)
        Documents of which each topic is the main one.
    """
    n_topics = topics.counts.shape[1]
    with_topic, mass = np.zeros((n_words, n_topics)), np.zeros(n_topics)
    n_main = np.zeros(n_topics, np.int64)
    for block, shares in topics.evidence(rows):
        with_topic += block[:, :n_words].T @ shares
        mass += shares.sum(axis=0)
        has_topic = shares.any(axis=1)
        n_main += np.bincount(shares[has_topic].argmax(axis=1), minlength=n_topics)
    rate = (with_topic / np.maximum(mass, 1e-12)).T
    # What topics lack does not make them alike: it is most words, for each of them.
    of_all = rows.counts()[:n_words] / max(1, rows.n_rows)
    profile = np.maximum(np.sqrt(rate) - np.sqrt(of_all), 0.0)
    return unit_rows(profile * np.sqrt(topics.weight[:n_words])), with_topic, mass, n_main


def sizes_above(n_topics: int) -> list[int]:
    """Numbers of topics of the levels above level 1, from level 2 up: up to 20 on top, and one level more for many."""
    if n_topics < SETTINGS.least_top:
        return []
    most = min(SETTINGS.largest_top, n_topics // 2)
    top = int(np.clip(round(1.3 * np.sqrt(n_topics)), min(most, SETTINGS.least_top), most))
    return [round(np.sqrt(top * n_topics)), top] if n_topics >= 9 * top else [top]


def joined(
    leaves: TopicHierarchy,
    rows: BinaryRows,
    sizes: Sequence[int],
    seeds: Mapping[int, Sequence[Sequence[int]]],
    may_be_alone: bool,
    n_words: int,
) -> TopicHierarchy:
    """Put levels of topics above others.

    Parameters
    ----------
    leaves : TopicHierarchy
        Level 1.
    rows : BinaryRows
        Documents.
    sizes : sequence of int
        Numbers of topics of the levels above, from level 2 up.
    seeds : mapping of int to sequence of sequences of int
        By level, words whose topics come first.
    may_be_alone : bool
        Whether topics without a clear parent have none, and a level may have fewer topics.
    n_words : int
        Words after so many are hidden. They say nothing of kinship: of titles of questions, 14 of 22 topics are then
        without a parent, not 8.
    """
    levels, parents, ties = [leaves.counts.toarray()], [], []
    for number, size in enumerate(sizes, start=2):
        of_seeds = seeds.get(number, ())
        if len(of_seeds) > levels[-1].shape[1]:
            break
        below = TopicHierarchy.flat(leaves.weight, levels[-1], rows)
        profile = profiles(below, rows, n_words)[0]
        n_groups = min(max(size, len(of_seeds)), len(profile))
        group = cut_tree(ward(profile), n_groups)[:, 0] if len(profile) > 1 else np.zeros(1, int)
        group = group.astype(np.int64)

        if may_be_alone and not of_seeds:
            group = _of_clear_parents(profile, group)
            n_groups = int(group.max()) + 1
            if n_groups < 2:  # nothing is alike, or everything
                break
        else:
            group = _filled(profile, group, n_groups)

        order = _seeds_first(levels[-1], group, n_groups, of_seeds)
        group = np.where(group >= 0, order[group], -1)
        has_parent = np.flatnonzero(group >= 0)
        onto = sp.csr_array(
            (np.ones(has_parent.size), (has_parent, group[has_parent])),
            shape=(group.size, n_groups),
        )
        levels.append(np.asarray(levels[-1] @ onto))
        parents.append(group)
        tie = _kinship(profile, group, n_groups)
        ties.append(np.where(group >= 0, tie[np.arange(group.size), group], 0.0))

    counts = [leaves.sizes[0], *(level.shape[1] for level in levels[1:])]
    starts = list(accumulate(counts))
    top = np.full(counts[-1], -1)
    parent = [np.where(p >= 0, p + start, -1) for p, start in zip(parents, starts, strict=False)]
    flat = [TopicHierarchy.flat(leaves.weight, level, rows) for level in levels]
    return TopicHierarchy(
        leaves.weight,
        sp.csr_array(sp.hstack([level.counts for level in flat])),
        np.concatenate([*parent, top]),
        np.concatenate([level.usual for level in flat]),
        tuple(counts),
        np.concatenate([*ties, np.zeros(counts[-1])]),
    )


def _kinship(profile: Floats, group: Ints, n_groups: int) -> Floats:
    """The cosine of the profile of each topic with that of the others in each group, 0 if there are none: (K, G)."""
    has_group = np.flatnonzero(group >= 0)
    total = np.zeros((n_groups, profile.shape[1]))
    np.add.at(total, group[has_group], profile[has_group])
    cosine = profile @ unit_rows(total).T
    others = unit_rows(total[group[has_group]] - profile[has_group])
    cosine[has_group, group[has_group]] = (profile[has_group] * others).sum(axis=1)
    return np.asarray(np.clip(cosine, -1.0, 1.0))


def _of_clear_parents(profile: Floats, group: Ints) -> Ints:
    """The group that each topic is most akin to, −1 if to none clearly; each group has two or more topics: (K,)."""
    first = _kinship(profile, group, int(group.max()) + 1)
    usual = float(np.median(first[np.arange(group.size), group]))
    least = max(SETTINGS.kinship, SETTINGS.share_of_kinship * usual)
    for _ in range(_MOVES):
        kinship = _kinship(profile, group, int(group.max()) + 1)
        best = kinship.argmax(axis=1)
        best[kinship.max(axis=1) <= least] = -1
        n_members = np.bincount(best[best >= 0], minlength=kinship.shape[1])
        number = np.where(n_members >= 2, np.cumsum(n_members >= 2) - 1, -1)
        moved = np.where(best >= 0, number[best], -1)
        if np.array_equal(moved, group) or moved.max() < 0:
            return moved
        group = moved

    return group


def _filled(profile: Floats, group: Ints, n_groups: int) -> Ints:
    """The same groups, none with fewer than two topics if there are enough: those that lose least move: (K,)."""
    while True:
        n_members = np.bincount(group, minlength=n_groups)
        if n_members.min() >= min(2, len(group) // n_groups):
            return group
        kinship = _kinship(profile, group, n_groups)
        free = np.flatnonzero(n_members[group] > 2)
        loss = kinship[free, group[free]] - kinship[free, n_members.argmin()]
        group[free[loss.argmin()]] = n_members.argmin()


def _seeds_first(
    counts: Floats, group: Ints, n_groups: int, seeds: Sequence[Sequence[int]]
) -> Ints:
    """New numbers of groups of topics: those with most occurrences of groups of seed words come first: (G,)."""
    if not seeds:
        return np.arange(n_groups)
    of_group = np.stack([counts[:, group == g].sum(axis=1) for g in range(n_groups)], axis=1)
    of_seeds = np.stack([of_group[list(words)].sum(axis=0) for words in seeds])  # (S, G)
    chosen = linear_sum_assignment(-of_seeds)[1]
    others = np.setdiff1d(np.arange(n_groups), chosen)
    order = np.empty(n_groups, np.int64)
    order[np.concatenate([chosen, others])] = np.arange(n_groups)
    return order
