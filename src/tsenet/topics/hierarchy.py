"""`TopicHierarchy`: topics in levels, how words belong to them, and how strong they are in documents."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import pairwise
from typing import Any, Self

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from tsenet.data.binary import BinaryRows, BinaryRule
from tsenet.skeleton.chow_liu import binary_information, chow_liu_parents
from tsenet.skeleton.tree import LatentTree, latent_names
from tsenet.topics.limits import FINITE, Limits
from tsenet.topics.presence import PRESENT

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Bools = NDArray[np.bool_]

_OTHER_BRANCH = 0.05  # how likely a document's topics are outside its topics of the level above
_BLOCK_ROWS = 4096


@dataclass(frozen=True, eq=False)
class TopicHierarchy:
    """L topics in levels, and how words belong to them. Topics are numbered level by level, from level 1 up.

    Attributes
    ----------
    weight : float64 (V,)
        How much an occurrence of a word counts as evidence for its topics, from 0 (none) to 1. The last words may be
        hidden ones, such as :class:`tsenet.data.cells.Cells`, which are evidence and describe nothing.
    counts : csr_array (V, L)
        Expected occurrences of each word in each topic; every level shares out all occurrences.
    parent : int64 (L,)
        The topic of the level above that each topic belongs to; −1 for none, as in the top level. A topic of a lower
        level without a parent is on top on its own.
    usual : float64 (L,)
        Mean share of each topic in a document, among those of its level. Only what exceeds it is evidence, so that
        topics of general language, which are spread evenly over all documents, are not the main topic of most.
    sizes : tuple of int
        Number of topics of each level, from level 1 up.
    kinship : float64 (L,)
        How strong the tie of each topic to its parent is, from −1 to 1: the cosine of the words of its documents,
        compared with all documents, with those of the other topics below the same parent; 0 without a parent.
    """

    weight: Floats
    counts: sp.csr_array
    parent: Ints
    usual: Floats
    sizes: tuple[int, ...]
    kinship: Floats

    @classmethod
    def flat(cls, weight: Floats, counts: Floats, rows: BinaryRows) -> Self:
        """One level of topics, in which words occur as ``counts`` (V, K) say; documents tell what is usual."""
        n = counts.shape[1]
        alone = np.full(n, -1)
        level = cls(weight, sp.csr_array(counts), alone, np.zeros(n), (n,), np.zeros(n))
        if n == 1 or not rows.n_rows:
            return level
        share = sum(shares.sum(axis=0) for _, shares in level.evidence(rows))
        return replace(level, usual=np.asarray(share / rows.n_rows))

    @cached_property
    def levels(self) -> list[slice]:
        """The topics of each level, from level 1 up."""
        ends = np.cumsum(self.sizes).tolist()
        return [slice(end - size, end) for end, size in zip(ends, self.sizes, strict=True)]

    def of_words(self, n_words: int) -> TopicHierarchy:
        """The same topics without the hidden words, which come after the words."""
        if n_words == self.weight.size:
            return self
        return replace(self, weight=self.weight[:n_words], counts=self.counts[:n_words])

    def ancestors(self, topic: int) -> list[int]:
        """The topics above one, the next first."""
        found = []
        while (topic := int(self.parent[topic])) >= 0:
            found.append(topic)
        return found

    @cached_property
    def main_topic(self) -> Ints:
        """The topic of level 1 in which each word occurs most; −1 for words in none: (V,)."""
        dense = self.counts[:, self.levels[0]].toarray()
        return np.where(dense.any(axis=1), dense.argmax(axis=1), -1)

    def strengths(
        self, rows: BinaryRows, least: float = 0.01, fits: Bools | None = None
    ) -> sp.csr_array:
        """Strength of every topic in every document, from 0 to 1: csr_array (N, L).

        The evidence for a topic is the weighted share of the document's words that belong to it, as far as it exceeds
        the topic's mean share, and mostly inside the document's topics of the level above. If it is at least half that
        of the document's main topic of that level, the topic is present: its strength is 0.5 plus half its share,
        where one word of no topic is added to each document. Otherwise the strength is the ratio to the main topic. A
        topic is at least as strong as those below it.

        Parameters
        ----------
        rows : BinaryRows
            N documents.
        least : float, default=0.01
            Leave out smaller strengths.
        fits : bool (N,), optional
            Which documents fit the topics; those that do not have none. Default: all.
        """
        blocks = []
        for _, _, strength in self.strength_blocks(rows, fits):
            blocks.append(sp.csr_array(np.where(strength >= least, strength, 0.0)))
        if not blocks:
            return sp.csr_array((0, sum(self.sizes)))
        return sp.csr_array(sp.vstack(blocks))

    def evidence(self, rows: BinaryRows) -> Iterator[tuple[sp.csr_array, Floats]]:
        """Blocks of documents, and the share of each topic of a level in each of them; 0 in one without topics."""
        for block, shares, _ in self._shares(rows):
            yield block, shares

    def _shares(self, rows: BinaryRows) -> Iterator[tuple[sp.csr_array, Floats, Floats]]:
        """Blocks of documents, their shares of each topic, and the largest of each level: (N, number of levels).

        A topic without a parent takes part in the levels above its own, too.
        """
        numbers = np.arange(sum(self.sizes))
        above = np.where(self.parent >= 0, self.parent, numbers)

        # The topics that take part in each level, and what a word adds to each: its weight, divided among them.
        members = []
        links = []
        for level in self.levels:
            lower = numbers[: level.start]
            of_level = np.concatenate([lower[self.parent[lower] < 0], numbers[level]])
            counts = sp.csr_array(self.counts[:, of_level])
            scale = self.weight / np.maximum(counts.sum(axis=1), 1e-12)
            members.append(of_level)
            links.append(sp.diags_array(scale) @ counts)

        for start in range(0, rows.n_rows, _BLOCK_ROWS):
            block = rows.take(slice(start, min(start + _BLOCK_ROWS, rows.n_rows))).to_csr()
            block = sp.csr_array(block.astype(np.float64))
            shares = np.zeros((block.shape[0], numbers.size))  # (B, L)
            most = np.zeros((block.shape[0], len(links)))
            for k in reversed(range(len(links))):  # from the top down
                of_level = members[k]
                share = proportions((block @ links[k]).toarray())
                share = np.maximum(share - self.usual[of_level], 0.0)
                if k + 1 < len(links):
                    share *= shares[:, above[of_level]] + _OTHER_BRANCH
                share = proportions(share)
                most[:, k] = share.max(axis=1)
                shares[:, of_level] = share

            yield block, shares, most

    def strength_blocks(
        self, rows: BinaryRows, fits: Bools | None = None
    ) -> Iterator[tuple[sp.csr_array, Floats, Floats]]:
        """Blocks of documents, with the shares and the strengths of the topics; 0 where a document does not fit."""
        start = 0
        for block, shares, most in self._shares(rows):
            total = block @ self.weight
            certainty = (total / (total + 1.0))[:, None]
            strength = np.empty_like(shares)
            for k, level in enumerate(self.levels):
                relative = shares[:, level] / np.maximum(most[:, [k]], 1e-12)
                present = 0.5 + shares[:, level] * certainty / 2
                strength[:, level] = np.where(relative >= 0.5, present, relative)

            # A topic is at least as strong as those below it; lower levels come first.
            for topic in np.flatnonzero(self.parent >= 0):
                above = strength[:, self.parent[topic]]
                np.maximum(above, strength[:, topic], out=above)

            if fits is not None:
                strength[~fits[start : start + block.shape[0]]] = 0.0
            start += block.shape[0]
            yield block, shares, strength

    def merged(self, topics: Sequence[int]) -> tuple[TopicHierarchy, Ints]:
        """Merge topics of one level into the first of them, which takes over what is below the others.

        Parameters
        ----------
        topics : sequence of int
            Two or more topics of one level.

        Returns
        -------
        TopicHierarchy
            Topics of higher levels that lose their last topic are gone.
        int64 (L,)
            The new number of each old topic; −1 for topics that are gone.
        """
        numbers = np.arange(sum(self.sizes))
        into = numbers.copy()
        into[list(topics)] = topics[0]
        parent = np.where(self.parent >= 0, into[self.parent], -1)

        # Those that stay, numbered anew.
        kept = into == numbers
        for level in self.levels[1:]:
            has_children = np.isin(numbers, parent[kept])
            kept[level] &= has_children[level]
        number = np.where(kept, np.cumsum(kept) - 1, -1)

        # A topic that stays has the words of those merged into it.
        stays = kept[into].astype(np.float64)
        onto = sp.csr_array((stays, (numbers, np.maximum(number[into], 0))))[:, : kept.sum()]
        above = parent[kept]
        hierarchy = TopicHierarchy(
            self.weight,
            sp.csr_array(self.counts @ onto),
            np.where(above >= 0, number[above], -1),
            np.asarray(self.usual @ onto),
            tuple(int(kept[level].sum()) for level in self.levels),
            self.kinship[kept],
        )
        return hierarchy, number

    # ---- file form

    def to_parts(self) -> dict[str, NDArray[Any]]:
        """The arrays that a model file stores."""
        return {
            "weight": self.weight,
            "parent": self.parent,
            "usual": self.usual,
            "kinship": self.kinship,
            "sizes": np.array(self.sizes, np.int64),
            "counts": self.counts.data,
            "columns": self.counts.indices.astype(np.int64),
            "starts": self.counts.indptr.astype(np.int64),
        }

    @classmethod
    def from_parts(cls, arrays: Mapping[str, NDArray[Any]], n_words: int) -> Self:
        """Rebuild a hierarchy over ``n_words`` words, hidden ones included, from :meth:`to_parts`, checked.

        Raises
        ------
        ValueError
            If an array does not fit.
        """
        sizes = tuple(np.array(arrays["sizes"]).ravel().tolist())
        n_topics = sum(sizes)
        if not sizes or min(sizes) < 1 or n_topics != arrays["parent"].size:
            raise ValueError(f"levels of {sizes} topics do not fit {arrays['parent'].size} parents")

        n_counts = arrays["counts"].size
        limits = {
            "weight": Limits(np.float64, (n_words,), 0, FINITE),
            "parent": Limits(np.int64, (n_topics,), -1, n_topics - 1),
            "usual": Limits(np.float64, (n_topics,), 0, FINITE),
            "kinship": Limits(np.float64, (n_topics,), -1, 1),
            "sizes": Limits(np.int64, (len(sizes),), 1, n_topics),
            "counts": Limits(np.float64, (n_counts,), 0, FINITE),
            "columns": Limits(np.int64, (n_counts,), 0, n_topics - 1),
            "starts": Limits(np.int64, (n_words + 1,), 0, n_counts),
        }
        stored = {name: limit.check(name, arrays[name]) for name, limit in limits.items()}

        cells = (stored["counts"], stored["columns"], stored["starts"])
        counts = sp.csr_array(cells, shape=(n_words, n_topics))
        counts.check_format(full_check=True)
        hierarchy = cls(
            weight=stored["weight"],
            counts=counts,
            parent=stored["parent"],
            usual=stored["usual"],
            sizes=sizes,
            kinship=stored["kinship"],
        )

        for lower, upper in pairwise([*hierarchy.levels, slice(0, 0)]):
            above = hierarchy.parent[lower][hierarchy.parent[lower] >= 0]
            if ((above < upper.start) | (above >= upper.stop)).any():
                raise ValueError("the parent of a topic is not one level up")

        return hierarchy

    # ---- the same as a latent tree

    def latent_tree(
        self,
        rows: BinaryRows,
        rule: BinaryRule,
        topics: Sequence[str] | None = None,
        fits: Bools | None = None,
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
        fits : bool (N,), optional
            Which documents fit the topics; default: all.
        """
        n_words = rule.n_variables
        n_topics = sum(self.sizes)
        n_rows = rows.n_rows
        tops = self.levels[-1]
        below = np.flatnonzero(self.parent >= 0)

        # The words are nodes of level 0, below the topic in which they occur most.
        level = np.repeat(np.arange(len(self.sizes) + 1, dtype=np.int32), [n_words, *self.sizes])
        above = np.concatenate([self.main_topic[:n_words], self.parent])
        parent = np.where(above >= 0, above + n_words, -1)

        # Documents in which each node is present, each with its parent, and each two topics of the highest level.
        on = np.concatenate([rows.counts()[:n_words], np.zeros(n_topics)])
        with_parent = np.zeros(level.size)
        together = np.zeros((self.sizes[-1], self.sizes[-1]))
        for block, _, strength in self.strength_blocks(rows, fits):
            present = (strength >= PRESENT).astype(np.float64)  # (B, L)
            on[n_words:] += present.sum(axis=0)
            together += present[:, tops].T @ present[:, tops]

            row_of_word = np.repeat(np.arange(block.shape[0]), np.diff(block.indptr))
            topic_of_word = self.main_topic[block.indices]
            both = np.where(topic_of_word >= 0, present[row_of_word, topic_of_word], 0.0)
            with_parent[:n_words] += np.bincount(block.indices, both, self.weight.size)[:n_words]
            pairs = present[:, below] * present[:, self.parent[below]]
            with_parent[n_words + below] += pairs.sum(axis=0)

        # The highest topics are linked to each other as a Chow–Liu tree.
        top_nodes = slice(n_words + tops.start, level.size)
        rate = on[top_nodes] / n_rows
        information = binary_information(together / n_rows, rate[:, None], rate[None, :])
        link = chow_liu_parents(information)
        parent[top_nodes] = np.where(link >= 0, link + top_nodes.start, -1)
        with_parent[top_nodes] = together[np.arange(link.size), link]

        # P(node | parent off) and P(node | parent on), (M, 2); without a parent its own rate.
        hits = np.stack([on - with_parent, with_parent], axis=1)
        n_parent = np.stack([n_rows - on[parent], on[parent]], axis=1)
        chance = (hits + 0.5) / (n_parent + 1)
        is_alone = parent < 0
        chance[is_alone] = ((on[is_alone] + 0.5) / (n_rows + 1))[:, None]
        cpt = np.stack([1.0 - chance, chance], axis=2)
        names = (*rule.names, *(topics or latent_names(level, set(rule.names))))
        return LatentTree(parent.astype(np.int32), level, cpt, names, rule)


def proportions(values: Floats) -> Floats:
    """Rows that sum to 1; rows of 0 stay."""
    return np.asarray(values / np.maximum(values.sum(axis=1, keepdims=True), 1e-12))
