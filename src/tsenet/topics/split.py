"""Splitting a topic in two: its own documents, the same learner."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from tsenet.data.binary import BinaryRows
from tsenet.errors import DataError
from tsenet.topics.hierarchy import Floats, Ints, TopicHierarchy, proportions
from tsenet.topics.mixture import learn_hierarchy
from tsenet.topics.presence import PRESENT

# Words of which a smaller share belongs to the topic are left out of its documents: they are about other topics, along
# which it would be split.
_LEAST_MEMBERSHIP = 0.1


def split(hierarchy: TopicHierarchy, topic: int, rows: BinaryRows) -> tuple[TopicHierarchy, Ints]:
    """Split a topic in two; the second half becomes the last topic of its level.

    Parameters
    ----------
    hierarchy : TopicHierarchy
    topic : int
        Its number.
    rows : BinaryRows
        Documents.

    Returns
    -------
    TopicHierarchy
    int64 (L + 1,)
        The old number of each topic of the result.

    Raises
    ------
    DataError
        If its documents have no two subjects, or the topics below it are all about one of them.
    """
    share = _halves(hierarchy, topic, rows)  # (V, 2)
    numbers = np.arange(sum(hierarchy.sizes))
    level = next(k for k, each in enumerate(hierarchy.levels) if each.start <= topic < each.stop)
    end = hierarchy.levels[level].stop
    old = np.insert(numbers, end, topic)  # the new topic is number ``end``

    counts = hierarchy.counts.toarray()
    halves = counts[:, [topic]] * share  # (V, 2)
    divided = counts[:, old]
    divided[:, topic], divided[:, end] = halves.T

    parent = hierarchy.parent[old]
    parent = np.where(parent >= end, parent + 1, parent)  # topics of higher levels moved on by one
    below = np.flatnonzero(hierarchy.parent == topic)
    if below.size:
        parent[below] = np.where(_is_of_second(counts[:, below], share), end, topic)

    weight = halves.sum(axis=0) / max(float(halves.sum()), 1e-12)
    usual = hierarchy.usual[old]
    usual[[topic, end]] *= weight
    sizes = tuple(size + (k == level) for k, size in enumerate(hierarchy.sizes))
    found = replace(
        hierarchy,
        counts=sp.csr_array(divided),
        parent=parent,
        usual=usual,
        sizes=sizes,
        kinship=hierarchy.kinship[old],
    )
    return found, old


def _halves(hierarchy: TopicHierarchy, topic: int, rows: BinaryRows) -> Floats:
    """The shares of each word of a topic in its two halves: (V, 2)."""
    level = next(each for each in hierarchy.levels if each.start <= topic < each.stop)
    membership = proportions(hierarchy.counts[:, level].toarray())[:, topic - level.start]
    is_member = membership >= _LEAST_MEMBERSHIP

    strength = hierarchy.strengths(rows)[:, [topic]].toarray().ravel()
    documents = rows.take(np.flatnonzero(strength >= PRESENT)).to_csr()
    own = sp.csr_array(documents @ sp.diags_array(is_member.astype(np.float64)))
    own.eliminate_zeros()
    try:
        halves = learn_hierarchy(BinaryRows.of_csr(own), (2,)).counts.toarray()
    except DataError as error:
        raise DataError(
            f"the {documents.shape[0]:,} documents of this topic have no two subjects to split it into"
        ) from error

    total = halves.sum(axis=0)
    share = proportions(halves)
    share[~halves.any(axis=1)] = total / max(float(total.sum()), 1e-12)
    return share


def _is_of_second(counts: Floats, share: Floats) -> NDArray[np.bool_]:
    """Which topics below belong to the second half, by their words; each half has at least one: (children,)."""
    second = proportions(counts.T @ share)[:, 1]  # (children,)
    if second.size < 2:
        raise DataError("a topic with one topic below it cannot be split: split that one")
    order = np.argsort(second, kind="stable")
    n_second = int(np.clip((second > 0.5).sum(), 1, second.size - 1))
    is_second = np.zeros(second.size, bool)
    is_second[order[-n_second:]] = True
    return is_second
