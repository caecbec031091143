"""In which rows the topics of a tree are present.

A topic is *present* in a row if it is more likely on than off, P(topic on | row) ≥ .5, and at least one of the words
below it occurs there. The probability alone is not enough: a latent may be likely on in the model as such, and would
then be on in rows without any of its words, even in an empty one.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from tsenet.progress import Progress

if TYPE_CHECKING:
    from tsenet.data.rows import BinaryRows
    from tsenet.explain.bins import Bins
    from tsenet.skeleton.tree import LatentTree

__all__ = [
    "PRESENT",
    "Activity",
    "Presence",
    "TopRows",
    "topic_activity",
    "topic_probabilities",
    "topics_above",
]

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

#: A topic whose words occur is present from this probability on.
PRESENT = 0.5

# Posteriors are dense: about this many numbers at a time (8 MB).
_BLOCK = 1 << 20


@dataclass(frozen=True, eq=False)
class Presence:
    """Shares of rows, for the L latents and V words of a tree.

    Attributes
    ----------
    size : float64 (L,)
        Share of the rows in which each topic is present.
    word : float64 (V,)
        Share of the rows in which each word occurs.
    both : float64 (levels, V)
        Share of the rows in which a word occurs and the topic above it is present, for each level from 1 on; 0 for
        words in no group.
    """

    size: Floats
    word: Floats
    both: Floats

    def word_shares(self, words: Ints, topics: Ints, level: int) -> Floats:
        """Share of the rows without and with a topic in which a word below it occurs: (W, 2).

        Parameters
        ----------
        words, topics : int64 (W,)
            The words, and the latent of that level above each.
        level : int
            Level of the topics.
        """
        size, both = self.size[topics], self.both[level - 1, words]
        without = np.maximum(self.word[words] - both, 0.0)
        shares = np.stack([_ratio(without, 1.0 - size), _ratio(both, size)], axis=1)
        return np.minimum(shares, 1.0)


@dataclass(frozen=True, eq=False)
class Activity:
    """The L topics of a tree in some rows.

    Attributes
    ----------
    n_rows : int
        Number of rows.
    presence : Presence
        Share of the rows that have each topic.
    rows : int64 (L, R)
        The rows in which each topic is most certainly present, the first of equals first; −1 where there are fewer.
    probability : float64 (L, R)
        P(topic on | row) there; 0 where there is no row.
    along : float64 (L, B) or None
        Share of the rows of each bin in which the topic is present; 0 in an empty bin.
    """

    n_rows: int
    presence: Presence
    rows: Ints
    probability: Floats
    along: Floats | None = None

    def of(self, topics: Sequence[int]) -> Activity:
        """The rows of some of the topics, in the given order; ``presence`` stays that of all topics."""
        chosen = np.array(topics, np.int64)
        along = None if self.along is None else self.along[chosen]
        rows, probability = self.rows[chosen], self.probability[chosen]
        return replace(self, rows=rows, probability=probability, along=along)


def topic_probabilities(
    tree: LatentTree, rows: BinaryRows, least: float = 0.01, n_jobs: int | None = None
) -> Any:
    """P(topic on | row) of the topics that have a word in the row: csr_array (N, L).

    Parameters
    ----------
    tree : LatentTree
    rows : BinaryRows
        N rows of the tree's variables.
    least : float, default=0.01
        Leave out smaller probabilities.
    n_jobs : int or None, default=None
        Threads; None for all cores.
    """
    parts = [on for _, on in _blocks(tree, rows, None, least, n_jobs)]
    return sp.csr_array(sp.vstack(parts)) if parts else sp.csr_array((0, tree.n_latents))


def topic_activity(
    tree: LatentTree,
    rows: BinaryRows,
    probabilities: Any = None,
    *,
    n_best: int,
    bins: Bins | None = None,
    n_jobs: int | None = None,
    progress: Progress | None = None,
) -> Activity:
    """Find how many rows have each topic, and which have it most certainly, in one pass over the rows.

    Parameters
    ----------
    tree : LatentTree
    rows : BinaryRows
        N rows of the tree's variables.
    probabilities : csr_array (N, L), optional
        What :func:`topic_probabilities` returned for these rows; computed block by block if it is not given.
    n_best : int
        Rows to name for each topic.
    bins : Bins, optional
        The bin of each row, to find the shares of each.
    n_jobs : int or None, default=None
        Threads; None for all cores.
    progress : Progress, optional
    """
    progress = progress or Progress()
    above = topics_above(tree)
    n_latents, n_rows = tree.n_latents, max(1, rows.n_rows)
    size = np.zeros(n_latents)
    both = np.zeros(above.shape)
    along = None if bins is None else np.zeros((len(bins.names), n_latents))
    best = TopRows(n_latents, n_best)
    progress.start("rows of each topic", -(-rows.n_rows // _step(tree)))
    start = 0
    for part, on in _blocks(tree, rows, probabilities, PRESENT, n_jobs):
        row, topic = on.nonzero()
        size += np.bincount(topic, minlength=n_latents)
        is_present = np.zeros(on.shape, bool)
        is_present[row, topic] = True
        of_row = np.repeat(np.arange(part.n_rows), np.diff(part.indptr))
        for k, topic_above in enumerate(above):
            with_topic = is_present[of_row, topic_above[part.indices]]
            with_topic &= topic_above[part.indices] >= 0
            both[k] += np.bincount(part.indices[with_topic], minlength=tree.n_observed)
        if bins is not None and along is not None:
            bin_of = bins.of_row[start + row]
            cell = (bin_of * n_latents + topic)[bin_of >= 0]
            along += np.bincount(cell, minlength=along.size).reshape(along.shape)
        best.add(topic, start + row, on.data)
        start += part.n_rows
        progress.advance()
    progress.finish()
    if bins is not None and along is not None:
        along /= np.maximum(1, bins.counts)[:, None]
    shares = Presence(size / n_rows, rows.counts() / np.float64(n_rows), both / n_rows)
    return Activity(rows.n_rows, shares, *best.table(), None if along is None else along.T)


class TopRows:
    """The rows with the highest values of each unit or topic, kept while batches pass by.

    Parameters
    ----------
    n_units : int
    n_rows : int
        Rows to keep for each.
    """

    def __init__(self, n_units: int, n_rows: int) -> None:
        self._shape = n_units, n_rows
        self._unit, self._row = np.empty(0, np.int64), np.empty(0, np.int64)
        self._value = np.empty(0)

    def add(self, unit: Ints, row: Ints, value: NDArray[Any]) -> None:
        """Include some values, each with its unit and row."""
        unit, row = np.concatenate([self._unit, unit]), np.concatenate([self._row, row])
        value = np.concatenate([self._value, value])
        order = np.lexsort((row, -value, unit))
        order = order[_rank_in_run(unit[order]) < self._shape[1]]
        self._unit, self._row, self._value = unit[order], row[order], value[order]

    def table(self) -> tuple[Ints, Floats]:
        """Rows and values (n_units, n_rows), highest first; −1 and 0 where there are fewer."""
        rows, values = np.full(self._shape, -1, np.int64), np.zeros(self._shape)
        cell = self._unit, _rank_in_run(self._unit)
        rows[cell], values[cell] = self._row, self._value
        return rows, values


def _rank_in_run(values: Ints) -> Ints:
    """Number of each of some sorted values among its equals."""
    rank: Ints = np.arange(values.size) - np.searchsorted(values, values)
    return rank


def topics_above(tree: LatentTree) -> Ints:
    """For each level of latents, the column of the latent above each word, or −1: (levels, V)."""
    columns = [np.empty((0, tree.n_observed), np.int64)]
    for level in range(1, tree.n_levels + 1):
        ancestor = tree.ancestors(level)
        start = tree.layer(level).start - tree.n_observed
        columns.append(np.where(ancestor >= 0, ancestor + start, -1)[None])
    return np.concatenate(columns)


def _step(tree: LatentTree) -> int:
    """Rows in a block."""
    return max(1, _BLOCK // max(1, tree.n_latents))


def _blocks(
    tree: LatentTree, rows: BinaryRows, probabilities: Any, least: float, n_jobs: int | None
) -> Iterator[tuple[BinaryRows, Any]]:
    """Blocks of rows, and the probabilities from ``least`` on of the topics that have a word in them."""
    above, step = topics_above(tree), _step(tree)
    for start in range(0, rows.n_rows, step):
        part = rows.take(slice(start, min(start + step, rows.n_rows)))
        if probabilities is not None:
            on = probabilities[start : start + step]
            kept = on.copy()
            kept.data[kept.data < least] = 0.0
            kept.eliminate_zeros()
            yield part, kept
            continue
        on = tree.posterior(part, n_jobs=n_jobs)
        occurs = np.zeros(on.shape, bool)
        of_row = np.repeat(np.arange(part.n_rows), np.diff(part.indptr))
        for topic_above in above:
            topic = topic_above[part.indices]
            occurs[of_row[topic >= 0], topic[topic >= 0]] = True
        yield part, sp.csr_array(np.where(occurs & (on >= least), on, 0.0))


def _ratio(part: Floats, whole: Floats) -> Floats:
    """``part / whole``; 0 where the whole is 0."""
    return np.divide(part, whole, out=np.zeros_like(part), where=whole > 0)
