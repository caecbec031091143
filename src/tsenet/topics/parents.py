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
    with_topic = np.zeros((n_words, n_topics))
    mass = np.zeros(n_topics)
    n_main = np.zeros(n_topics, np.int64)
    for block, shares in topics.evidence(rows):  # (B, words), (B, K)
        with_topic += block[:, :n_words].T @ shares
        mass += shares.sum(axis=0)
        has_topic = shares.any(axis=1)
        n_main += np.bincount(shares[has_topic].argmax(axis=1), minlength=n_topics)

    # What topics lack does not make them alike: it is most words, for each of them.
    rate = (with_topic / np.maximum(mass, 1e-12)).T  # (K, V)
    rate_of_all = rows.counts()[:n_words] / max(1, rows.n_rows)
    more = np.maximum(np.sqrt(rate) - np.sqrt(rate_of_all), 0.0)
    profile = unit_rows(more * np.sqrt(topics.weight[:n_words]))
    return profile, with_topic, mass, n_main


def sizes_above(n_topics: int) -> list[int]:
    """Numbers of topics of the levels above level 1, from level 2 up: up to 20 on top, and one level more for many."""
    if n_topics < SETTINGS.least_top:
        return []

    most = min(SETTINGS.largest_top, n_topics // 2)
    least = min(most, SETTINGS.least_top)
    top = int(np.clip(round(1.3 * np.sqrt(n_topics)), least, most))
    if n_topics < 9 * top:
        return [top]
    return [round(np.sqrt(top * n_topics)), top]


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
    levels = [leaves.counts.toarray()]  # (V, K) of each
    parents = []
    ties = []
    for number, size in enumerate(sizes, start=2):
        of_seeds = seeds.get(number, ())
        if len(of_seeds) > levels[-1].shape[1]:
            break

        # Groups of topics whose documents have the same words.
        below = TopicHierarchy.flat(leaves.weight, levels[-1], rows)
        profile = profiles(below, rows, n_words)[0]
        n_groups = min(max(size, len(of_seeds)), len(profile))
        group = np.zeros(1, np.int64)
        if len(profile) > 1:
            group = cut_tree(ward(profile), n_groups)[:, 0].astype(np.int64)

        if may_be_alone and not of_seeds:
            group = _of_clear_parents(profile, group)
            n_groups = int(group.max()) + 1
            if n_groups < 2:  # nothing is alike, or everything
                break
        else:
            group = _filled(profile, group, n_groups)

        order = _seeds_first(levels[-1], group, n_groups, of_seeds)
        group = np.where(group >= 0, order[group], -1)
        kinship = _kinship(profile, group, n_groups)
        parents.append(group)
        ties.append(np.where(group >= 0, kinship[np.arange(group.size), group], 0.0))

        # A topic has the words of those below it.
        has_parent = np.flatnonzero(group >= 0)
        ones = np.ones(has_parent.size)
        onto = sp.csr_array((ones, (has_parent, group[has_parent])), (group.size, n_groups))
        levels.append(np.asarray(levels[-1] @ onto))

    # All levels as one hierarchy: topics are numbered level by level, from the lowest up.
    counts = [leaves.sizes[0], *(level.shape[1] for level in levels[1:])]
    starts = list(accumulate(counts))
    parent = [np.where(p >= 0, p + start, -1) for p, start in zip(parents, starts, strict=False)]
    flat = [TopicHierarchy.flat(leaves.weight, level, rows) for level in levels]
    n_top = counts[-1]
    return TopicHierarchy(
        leaves.weight,
        sp.csr_array(sp.hstack([level.counts for level in flat])),
        np.concatenate([*parent, np.full(n_top, -1)]),
        np.concatenate([level.usual for level in flat]),
        tuple(counts),
        np.concatenate([*ties, np.zeros(n_top)]),
    )


def _kinship(profile: Floats, group: Ints, n_groups: int) -> Floats:
    """The cosine of the profile of each topic with that of the others in each group, 0 if there are none: (K, G)."""
    has_group = np.flatnonzero(group >= 0)
    own_group = group[has_group]
    own_profile = profile[has_group]
    total = np.zeros((n_groups, profile.shape[1]))
    np.add.at(total, own_group, own_profile)
    cosine = profile @ unit_rows(total).T  # (K, G)

    # With the others of its own group only.
    others = unit_rows(total[own_group] - own_profile)
    cosine[has_group, own_group] = (own_profile * others).sum(axis=1)
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

        # Groups of two topics or more, numbered anew.
        stays = np.bincount(best[best >= 0], minlength=kinship.shape[1]) >= 2
        number = np.where(stays, np.cumsum(stays) - 1, -1)
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

        smallest = n_members.argmin()
        kinship = _kinship(profile, group, n_groups)
        free = np.flatnonzero(n_members[group] > 2)
        loss = kinship[free, group[free]] - kinship[free, smallest]
        group[free[loss.argmin()]] = smallest


def _seeds_first(
    counts: Floats, group: Ints, n_groups: int, seeds: Sequence[Sequence[int]]
) -> Ints:
    """New numbers of groups of topics: those with most occurrences of groups of seed words come first: (G,)."""
    if not seeds:
        return np.arange(n_groups)

    of_group = np.stack([counts[:, group == g].sum(axis=1) for g in range(n_groups)], axis=1)
    of_seeds = np.stack([of_group[list(words)].sum(axis=0) for words in seeds])  # (S, G)

    # A group for each set of seed words, such that all have the most occurrences together.
    chosen = linear_sum_assignment(-of_seeds)[1]
    others = np.setdiff1d(np.arange(n_groups), chosen)
    order = np.empty(n_groups, np.int64)
    order[np.concatenate([chosen, others])] = np.arange(n_groups)
    return order
