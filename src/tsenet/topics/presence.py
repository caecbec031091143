"""Where topics are present, and where they are strongest; whatever model their strengths come from.

A topic has a strength from 0 to 1 in every row, and is *present* from one half on. The strengths of a topic hierarchy
are :meth:`tsenet.topics.hierarchy.TopicHierarchy.strengths`. Those of a latent tree are P(topic on | row) where at
least one of the words below the topic occurs: a latent may be likely on in the model as such, and would then be on in
rows without any of its words, even in an empty one.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from tsenet.data.ranks import ranks_in_groups
from tsenet.progress import Progress

if TYPE_CHECKING:
    from tsenet.data.binary import BinaryRows
    from tsenet.skeleton.tree import LatentTree

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

#: A topic is present in a row from this strength or probability on.
PRESENT = 0.5

_BLOCK = 1 << 20  # posteriors are dense: about this many numbers at a time (8 MB)


def tree_strengths(tree: LatentTree, rows: BinaryRows, progress: Progress | None = None) -> Any:
    """P(topic on | row) of the topics of a tree that are present in the row: csr_array (N, L).

    Parameters
    ----------
    tree : LatentTree
    rows : BinaryRows
        N rows of the tree's variables.
    progress : Progress, optional
    """
    progress = progress or Progress()
    step = max(1, _BLOCK // max(1, tree.n_latents))
    above = topics_above(tree)
    parts = [sp.csr_array((0, tree.n_latents))]

    progress.start("rows of each topic", -(-rows.n_rows // step))
    for start in range(0, rows.n_rows, step):
        block = rows.take(slice(start, min(start + step, rows.n_rows)))
        on = tree.posterior(block)  # (B, L)

        has_word = np.zeros(on.shape, bool)
        row_of = np.repeat(np.arange(block.n_rows), np.diff(block.indptr))
        for topic_above in above:
            topic = topic_above[block.indices]
            has_word[row_of[topic >= 0], topic[topic >= 0]] = True

        parts.append(sp.csr_array(np.where(has_word & (on >= PRESENT), on, 0.0)))
        progress.advance()

    progress.finish()
    return sp.csr_array(sp.vstack(parts))


def topics_above(tree: LatentTree) -> list[Ints]:
    """For each level of a tree's latents, the column of the latent above each word, or −1: (V,)."""
    columns = []
    for level in range(1, tree.n_levels + 1):
        ancestor = tree.ancestors(level)
        start = tree.layer(level).start - tree.n_observed
        columns.append(np.where(ancestor >= 0, ancestor + start, -1))
    return columns


def presence(strengths: Any) -> tuple[Ints, Ints]:
    """The row and the topic of each strength with which a topic is present."""
    entries = strengths.tocoo()
    is_present = entries.data >= PRESENT
    return entries.row[is_present].astype(np.int64), entries.col[is_present].astype(np.int64)


def shares(strengths: Any) -> Floats:
    """Share of the rows in which each topic is present: (L,)."""
    _, topic = presence(strengths)
    n_rows, n_topics = strengths.shape
    return np.asarray(np.bincount(topic, minlength=n_topics) / max(1, n_rows), np.float64)


def strongest_rows(strengths: Any, n_rows: int) -> tuple[Ints, Floats]:
    """The rows in which each topic is strongest, if it is present, and its strengths there.

    Parameters
    ----------
    strengths : sparse array (N, L)
        Strength or probability of each topic in each row.
    n_rows : int
        How many rows, R.

    Returns
    -------
    int64 (L, R), float64 (L, R)
        Of equal rows the first comes first; −1 and 0 where there are fewer.
    """
    entries = strengths.tocoo()
    is_present = entries.data >= PRESENT
    row, topic, value = (part[is_present] for part in (entries.row, entries.col, entries.data))

    rank = ranks_in_groups(topic, value, tie=row)
    is_strong = rank < n_rows
    place = topic[is_strong], rank[is_strong]

    shape = (strengths.shape[1], n_rows)
    rows = np.full(shape, -1, np.int64)
    strength = np.zeros(shape)
    rows[place] = row[is_strong]
    strength[place] = value[is_strong]
    return rows, strength
