"""`TopicDescription`: what documents, or a model, say about topics. One form, whatever the topics come from.

:func:`describe_hierarchy` fills it for the hierarchy of a :class:`tsenet.TopicModel`, :func:`describe_tree` for any
:class:`tsenet.LatentTree`. Tables, pages and files read nothing else, so that they all show the same words, shares and
titles.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, NamedTuple, Self

import numpy as np
import scipy.sparse as sp
from scipy.special import logit

from tsenet.data.ranks import ranks_in_groups
from tsenet.errors import DataError
from tsenet.skeleton.chow_liu import binary_information
from tsenet.skeleton.tree import is_numbered
from tsenet.topics.coherence import topic_coherence
from tsenet.topics.hierarchy import Bools, Floats, Ints, TopicHierarchy
from tsenet.topics.limits import FINITE, Limits
from tsenet.topics.presence import (
    PRESENT,
    presence,
    shares,
    strongest_rows,
    topics_above,
    tree_strengths,
)
from tsenet.topics.ranking import WordMass, rank_words
from tsenet.topics.titles import titles
from tsenet.topics.topic import Topic, TopicWord

if TYPE_CHECKING:
    from tsenet.data.binary import BinaryRows
    from tsenet.skeleton.tree import LatentTree

#: Words that are kept for each topic, and typical documents.
STORED_WORDS = 30
N_TYPICAL = 3

# Tables may hold probabilities of exactly 0 and 1, whose log-odds are infinite.
_NEVER = 1e-6


@dataclass(frozen=True, eq=False)
class TopicDescription:
    """L topics over V words in levels, numbered level by level, from level 1 up; up to W words describe each.

    Attributes
    ----------
    vocabulary : tuple of str
        The V words.
    ids : tuple of str
        A name for each topic.
    level : int64 (L,)
        1 for topics directly above the words.
    parent : int64 (L,)
        The topic of the level above that each topic belongs to; −1 in the top level.
    member_of : int64 (V,)
        The topic of level 1 that each word belongs to; −1 for none.
    title : tuple of str
        A few of the words that describe each topic, chosen to name its documents.
    tie : float64 (V + L,)
        Log-odds of each word and each topic with the topic above it, less those without; 0 where there is none.
    share : float64 (L,)
        Share of the documents in which each topic is present; P(topic on) in a tree without documents.
    information : float64 (L,)
        What each topic tells about the words: the sum of their mutual information with it, in nats.
    coherence : float64 (L,)
        NPMI of the words that describe it; NaN where it was not measured.
    words : int64 (L, W)
        The words that describe each topic, best first; −1 where there are fewer.
    score : float64 (L, W)
        By which these words are ranked.
    word_shares : float64 (L, W, 2)
        Share of the documents without and with the topic in which the word occurs.
    word_share : float64 (V,)
        Share of the documents in which each word occurs.
    typical : int64 (L, 3)
        The documents in which each topic is strongest; −1 where there are fewer.
    """

    vocabulary: tuple[str, ...]
    ids: tuple[str, ...]
    level: Ints
    parent: Ints
    member_of: Ints
    title: tuple[str, ...]
    tie: Floats
    share: Floats
    information: Floats
    coherence: Floats
    words: Ints
    score: Floats
    word_shares: Floats
    word_share: Floats
    typical: Ints

    @property
    def n_levels(self) -> int:
        """Number of levels of topics."""
        return int(self.level.max(initial=0))

    def words_of(self, topic: int, n_words: int | None = None) -> tuple[TopicWord, ...]:
        """The words that describe a topic, best first.

        Parameters
        ----------
        topic : int
            Its number.
        n_words : int, optional
            Maximum number of words; default: all that are kept.
        """
        words = self.words[topic, :n_words]
        words = words[words >= 0]
        outside, inside = self.word_shares[topic, : words.size].T
        share = self.share[topic]
        with_word = share * inside
        information = binary_information(with_word, share, with_word + (1.0 - share) * outside)
        values = zip(
            words.tolist(),
            information.tolist(),
            inside.tolist(),
            outside.tolist(),
            self.score[topic, : words.size].tolist(),
            strict=True,
        )
        return tuple(TopicWord(self.vocabulary[word], *numbers) for word, *numbers in values)

    def members(self) -> list[list[str]]:
        """The words that belong to each topic, most frequent first."""
        members: list[list[str]] = [[] for _ in self.ids]
        for word in np.argsort(-self.word_share, kind="stable").tolist():
            topic = int(self.member_of[word])
            while topic >= 0:
                members[topic].append(self.vocabulary[word])
                topic = int(self.parent[topic])
        return members

    def topics(
        self, n_words: int | None = None, labels: Mapping[str, str] | None = None
    ) -> list[Topic]:
        """The topics as nested :class:`Topic`, the largest first; one with a name of its own is called by that.

        Parameters
        ----------
        n_words : int, optional
            Maximum number of words of a topic; default: all that are kept.
        labels : mapping of str to str, optional
            The user's titles of topics, by id.
        """
        words = [self.words_of(topic, n_words) for topic in range(len(self.ids))]
        below: dict[int, list[Topic]] = defaultdict(list)

        def largest_first(topic: int) -> list[Topic]:
            return sorted(below[topic], key=lambda child: (-child.size, child.name))

        for topic, name in enumerate(self.ids):  # those below a topic come first
            coherence = float(self.coherence[topic])
            made = Topic(
                name=name,
                level=int(self.level[topic]),
                title=(labels or {}).get(name) or self.title[topic],
                size=float(self.share[topic]),
                words=words[topic],
                children=tuple(largest_first(topic)),
                information=float(self.information[topic]),
                coherence=None if np.isnan(coherence) else coherence,
            )
            below[int(self.parent[topic])].append(made)

        return largest_first(-1)

    # ---- file form: what was measured; names and levels are those of the model

    def to_parts(self) -> dict[str, Any]:
        """What a model file stores: the arrays of what was measured."""
        return {name: getattr(self, name) for name in _limits(0, 0)}

    @classmethod
    def from_parts(
        cls,
        arrays: Mapping[str, Any],
        hierarchy: TopicHierarchy,
        vocabulary: Sequence[str],
        ids: Sequence[str],
        title: Sequence[str],
    ) -> Self:
        """Rebuild the description of a hierarchy from :meth:`to_parts`, checked.

        Raises
        ------
        ValueError
            If an array does not fit.
        """
        if len(title) != len(ids):
            raise ValueError(f"{len(title)} titles do not fit {len(ids)} topics")
        limits = _limits(len(vocabulary), len(ids))
        measured = {name: limit.check(name, arrays[name]) for name, limit in limits.items()}
        structure = _structure(hierarchy.of_words(len(vocabulary)))
        return cls(tuple(vocabulary), tuple(ids), *structure, title=tuple(title), **measured)


def _limits(n_words: int, n_topics: int) -> dict[str, Limits]:
    """The arrays that are stored of a description."""
    shown = (n_topics, STORED_WORDS)
    return {
        "tie": Limits(np.float64, (n_words + n_topics,), -FINITE, FINITE),
        "share": Limits(np.float64, (n_topics,), 0, 1),
        "information": Limits(np.float64, (n_topics,), 0, FINITE),
        "coherence": Limits(np.float64, (n_topics,), -1, 1, may_be_nan=True),
        "words": Limits(np.int64, shown, -1, n_words - 1),
        "score": Limits(np.float64, shown, -FINITE, FINITE),
        "word_shares": Limits(np.float64, (*shown, 2), 0, 1),
        "word_share": Limits(np.float64, (n_words,), 0, 1),
        "typical": Limits(np.int64, (n_topics, N_TYPICAL), -1, FINITE),
    }


# ---- from a hierarchy of topics


def describe_hierarchy(
    hierarchy: TopicHierarchy,
    rows: BinaryRows,
    vocabulary: Sequence[str],
    ids: Sequence[str],
    *,
    n_shown: int = 10,
    seeds: Mapping[int, Sequence[int]] | None = None,
    phrases: Mapping[tuple[int, int], int] | None = None,
    fits: Bools | None = None,
) -> TopicDescription:
    """Describe the topics of a hierarchy by documents; no topic repeats the first words of those above it.

    Parameters
    ----------
    hierarchy : TopicHierarchy
    rows : BinaryRows
        N documents.
    vocabulary, ids : sequence of str
        Names of the words and of the topics.
    n_shown : int, default=10
        How many words of a topic are not repeated below it; coherence is that of as many.
    seeds : mapping of int to sequence of int, optional
        Words that topics have in any case, first.
    phrases : mapping of (int, int) to int, optional
        Those of :func:`tsenet.topics.titles.count_phrases`.
    fits : bool (N,), optional
        Which documents fit the topics: in the others no topic is present. Default: all.
    """
    # What comes after the words is hidden: it tells which topics documents have, and describes none.
    counted = _count(hierarchy, rows, len(vocabulary), fits)
    hierarchy = hierarchy.of_words(len(vocabulary))
    rows = rows.first_columns(len(vocabulary))
    words, score = rank_words(hierarchy, counted.words, n_shown, STORED_WORDS, seeds or {})

    share = counted.n_present / max(1, rows.n_rows)
    word_share = rows.counts() / max(1, rows.n_rows)
    both = counted.n_both / max(1, rows.n_rows)  # (V, L)
    information = binary_information(both, word_share[:, None], share[None, :])
    word_shares = _word_shares(
        words,
        both=np.take_along_axis(counted.n_both.T, np.maximum(words, 0), axis=1),
        n_word=rows.counts()[words],
        n_topic=counted.n_present[:, None],
        n_rows=rows.n_rows,
    )

    return TopicDescription(
        tuple(vocabulary),
        tuple(ids),
        *_structure(hierarchy),
        title=titles(
            vocabulary,
            words,
            word_shares,
            n_shown,
            documents=counted.words.documents,
            strengths=counted.strengths,
            phrases=phrases,
        ),
        tie=_ties(hierarchy, counted, rows),
        share=share,
        information=information.sum(axis=0),
        coherence=topic_coherence(words[:, :n_shown], rows),
        words=words,
        score=score,
        word_shares=word_shares,
        word_share=word_share,
        typical=strongest_rows(counted.strengths, N_TYPICAL)[0],
    )


class _Counted(NamedTuple):
    """What documents hold of the topics of a hierarchy.

    Attributes
    ----------
    words : WordMass
    n_present : int64 (L,)
        Documents in which each topic is present.
    n_both : float64 (V, L)
        Documents with each word in which each topic is present.
    strengths : csr_array (N, L)
        Of the topics that are present.
    """

    words: WordMass
    n_present: Ints
    n_both: Floats
    strengths: sp.csr_array


def _count(
    hierarchy: TopicHierarchy, rows: BinaryRows, n_words: int, fits: Bools | None
) -> _Counted:
    """One pass over documents, of which the first columns are words."""
    n_topics = sum(hierarchy.sizes)
    with_topic = np.zeros((n_words, n_topics))
    n_both = np.zeros((n_words, n_topics))
    mass = np.zeros(n_topics)
    n_present = np.zeros(n_topics, np.int64)
    strengths = [sp.csr_array((0, n_topics))]

    for block, share, strength in hierarchy.strength_blocks(rows, fits):
        words = block[:, :n_words]
        is_present = strength >= PRESENT
        with_topic += words.T @ share
        mass += share.sum(axis=0)
        n_both += words.T @ is_present.astype(np.float64)
        n_present += is_present.sum(axis=0)
        strengths.append(sp.csr_array(np.where(is_present, strength, 0.0)))

    documents = sp.csc_array(rows.first_columns(n_words).to_csr().astype(np.float64))
    of_words = WordMass(documents, with_topic, mass)
    return _Counted(of_words, n_present, n_both, sp.csr_array(sp.vstack(strengths)))


def _structure(hierarchy: TopicHierarchy) -> tuple[Ints, Ints, Ints]:
    """Level and parent of each topic, and the topic of each word."""
    level = np.repeat(np.arange(1, len(hierarchy.sizes) + 1), hierarchy.sizes)
    return level, hierarchy.parent, hierarchy.main_topic


def _ties(hierarchy: TopicHierarchy, counted: _Counted, rows: BinaryRows) -> Floats:
    """Log-odds of each word and topic with the topic above it less those without, half a document added: (V + L,)."""
    above = np.concatenate([hierarchy.main_topic, hierarchy.parent])
    n_node = np.concatenate([rows.counts(), counted.n_present])
    n_above = counted.n_present[above]
    own_words = counted.n_both[np.arange(rows.n_columns), hierarchy.main_topic]
    # a topic is present wherever one below it is
    n_both = np.concatenate([own_words, counted.n_present])

    with_above = logit((n_both + 0.5) / (n_above + 1.0))
    without = logit((n_node - n_both + 0.5) / (rows.n_rows - n_above + 1.0))
    return np.where(above >= 0, with_above - without, 0.0)


def _word_shares(words: Ints, both: Any, n_word: Any, n_topic: Any, n_rows: float) -> Floats:
    """Share of the documents without and with a topic in which its words occur: (L, W, 2).

    ``both``, ``n_word`` and ``n_topic`` are documents with word and topic, with the word, with the topic.
    """
    outside = (n_word - both) / np.maximum(n_rows - n_topic, 1)
    inside = both / np.maximum(n_topic, 1)
    found = np.clip(np.stack([outside, inside], axis=2), 0.0, 1.0)
    found[words < 0] = 0.0
    return np.asarray(found)


# ---- from a latent tree


def topic_tree(
    tree: LatentTree, X: Any = None, n_words: int = 10, min_share: float = 0.1
) -> list[Topic]:
    """Describe the tree's latents as nested topics.

    Parameters
    ----------
    tree : LatentTree
        A tree over the words of documents, or over any other columns.
    X : table, optional
        Documents from which to take the sizes and how often each word occurs with a topic. Without them both are the
        model's. Which words describe a topic is always taken from the model.
    n_words : int, default=10
        Largest number of words per topic.
    min_share : float, default=0.1
        Leave out words whose weight is below this share of the first word's. Raise it for cleaner topics, set it to 0
        to see every word of the group.

    Returns
    -------
    list of Topic
        The topics of the top level, largest first. Links between top-level latents carry no
        hierarchy and are left out.

    Raises
    ------
    DataError
        If ``n_words`` is not positive.

    Examples
    --------
    >>> import numpy as np
    >>> import tsenet
    >>> from tsenet.explain import topic_tree
    >>> rng = np.random.default_rng(0)
    >>> sport = rng.random((500, 1)) < 0.5
    >>> X = rng.random((500, 6)) < np.where(sport, [0.6] * 3 + [0.1] * 3, [0.1] * 3 + [0.6] * 3)
    >>> table = tsenet.Table.of(X.astype(float), ["goal", "team", "score", "tax", "law", "vote"])
    >>> topics = topic_tree(tsenet.learn_tree(table, random_state=0))
    >>> sorted(word.word for word in topics[0].words) in (
    ...     ["goal", "score", "team"], ["law", "tax", "vote"])
    True
    """
    rows = None if X is None else tree.binary(X)
    return describe_tree(tree, rows, n_words=n_words, min_share=min_share).topics()


def describe_tree(
    tree: LatentTree,
    rows: BinaryRows | None = None,
    *,
    strengths: Any = None,
    n_words: int = 10,
    min_share: float = 0.1,
) -> TopicDescription:
    """Describe every latent of a tree as a topic.

    A latent variable splits the documents softly into those that are about something (state 1) and the rest (state 0).
    Its words are those of its subtree that separate the two best: the exact mutual information between word and latent
    in the tree model (HLTA, arXiv 1605.06650, section 6) times P(topic on | word present), and only those that state 1
    makes more likely. The second factor keeps frequent words that are mostly used outside the topic from its title.

    Parameters
    ----------
    tree : LatentTree
    rows : BinaryRows, optional
        N rows of the tree's variables, from which shares are taken; by default they are the model's.
    strengths : csr_array (N, L), optional
        Those of :func:`tsenet.topics.presence.tree_strengths` in the rows, if they are known.
    n_words : int, default=10
        Maximum number of words of a topic, W.
    min_share : float, default=0.1
        Leave out words whose score is below this share of the first word's.

    Returns
    -------
    TopicDescription
    """
    if n_words < 1:
        raise DataError(f"n_words must be at least 1, not {n_words}")
    n_observed = tree.n_observed
    marginal = tree.marginals()
    pairs = _words_below(tree)
    score = pairs.information * np.divide(
        pairs.with_word,
        marginal[pairs.word],
        out=np.zeros_like(pairs.with_word),
        where=marginal[pairs.word] > 0,
    )  # P(topic on | word present)

    best, rank = _best_pairs(pairs, score, n_words, min_share)
    shape = (tree.n_latents, n_words)
    words = np.full(shape, -1, np.int64)
    ranked_by = np.zeros(shape)
    word_shares = np.zeros((*shape, 2))
    topic = pairs.topic[best]
    words[topic, rank] = pairs.word[best]
    ranked_by[topic, rank] = score[best]
    word_shares[topic, rank] = pairs.chance[best]

    above = parents_above(tree)
    odds = logit(np.clip(tree.cpt[:, :, 1], _NEVER, 1.0 - _NEVER))  # (M, 2)
    by_model = TopicDescription(
        vocabulary=tree.names[:n_observed],
        ids=tree.latent_names,
        level=tree.level[n_observed:].astype(np.int64),
        parent=np.where(above[n_observed:] >= 0, above[n_observed:] - n_observed, -1),
        member_of=np.where(above[:n_observed] >= 0, above[:n_observed] - n_observed, -1),
        title=_names_or_titles(tree.latent_names, titles(tree.names, words, word_shares, n_words)),
        tie=np.where(above >= 0, odds[:, 1] - odds[:, 0], 0.0),
        share=marginal[n_observed:],
        information=np.bincount(pairs.topic, pairs.information, tree.n_latents).astype(np.float64),
        coherence=np.full(tree.n_latents, np.nan),
        words=words,
        score=ranked_by,
        word_shares=word_shares,
        word_share=marginal[:n_observed],
        typical=np.full((tree.n_latents, N_TYPICAL), -1, np.int64),
    )
    if rows is None:
        return by_model

    if strengths is None:
        strengths = tree_strengths(tree, rows)

    return _measured(by_model, tree, rows, strengths)


def _names_or_titles(names: Sequence[str], of_words: Sequence[str]) -> tuple[str, ...]:
    """The titles of latents: their own names, or those of their words if they are only numbered."""
    pairs = zip(names, of_words, strict=True)
    return tuple(title if is_numbered(name) else name for name, title in pairs)


def _measured(
    by_model: TopicDescription, tree: LatentTree, rows: BinaryRows, strengths: Any
) -> TopicDescription:
    """The description of a tree with the shares, the coherence and the typical documents of some rows."""
    share = shares(strengths)
    words = by_model.words
    n_both = _words_with_topics(tree, rows, strengths)  # (levels, V)
    word_shares = _word_shares(
        words,
        both=n_both[by_model.level[:, None] - 1, words],
        n_word=rows.counts()[words],
        n_topic=np.rint(share * rows.n_rows)[:, None],
        n_rows=rows.n_rows,
    )
    return replace(
        by_model,
        title=_names_or_titles(
            tree.latent_names,
            titles(
                tree.names,
                words,
                word_shares,
                words.shape[1],
                documents=sp.csc_array(rows.to_csr()),
                strengths=strengths,
            ),
        ),
        share=share,
        coherence=topic_coherence(words, rows),
        word_shares=word_shares,
        word_share=rows.counts() / max(1, rows.n_rows),
        typical=strongest_rows(strengths, N_TYPICAL)[0],
    )


def _words_with_topics(tree: LatentTree, rows: BinaryRows, strengths: Any) -> Ints:
    """Rows in which a word occurs and the topic above it is present, for each level from 1 on: (levels, V)."""
    row, topic = presence(strengths)
    present = row * tree.n_latents + topic
    row_of = np.repeat(np.arange(rows.n_rows), np.diff(rows.indptr))
    n_both = np.zeros((tree.n_levels, tree.n_observed), np.int64)
    for level, above in enumerate(topics_above(tree)):
        topic_of = above[rows.indices]
        is_present = np.isin(row_of * tree.n_latents + topic_of, present) & (topic_of >= 0)
        n_both[level] = np.bincount(rows.indices[is_present], minlength=tree.n_observed)
    return n_both


def parents_above(tree: LatentTree) -> Ints:
    """The parent of each node, without the links inside the top level, which carry no hierarchy: (M,)."""
    parent = tree.parent.astype(np.int64)
    return np.where((parent >= 0) & (tree.level[parent] > tree.level), parent, -1)


class _Pairs(NamedTuple):
    """P words and latents above them, one pair for each level.

    Attributes
    ----------
    word, topic : int64 (P,)
    chance : float64 (P, 2)
        P(word | topic off) and P(word | topic on).
    with_word : float64 (P,)
        P(topic on and word present).
    information : float64 (P,)
        Mutual information, in nats.
    """

    word: Ints
    topic: Ints
    chance: Floats
    with_word: Floats
    information: Floats


def _words_below(tree: LatentTree) -> _Pairs:
    """Every word with each of the latents above it, from the model.

    One pass per level: with ``chance[w, t] = P(w = 1 | ancestor of w = t)`` at one level,
    ``chance'[w, t] = sum_s P(ancestor = s | its parent = t) chance[w, s]`` is that of the next. So the work is
    O(V log V) per level, however many latents there are.
    """
    marginal = tree.marginals()
    upward = parents_above(tree)
    word = np.flatnonzero((tree.level == 0) & (upward >= 0))
    ancestor = upward[word]
    chance = tree.cpt[word, :, 1]  # (W, 2)

    none = np.empty(0, np.int64)
    parts = [_Pairs(none, none, np.empty((0, 2)), np.empty(0), np.empty(0))]
    while word.size:
        on = marginal[ancestor]
        with_word = on * chance[:, 1]
        present = with_word + (1.0 - on) * chance[:, 0]
        information = binary_information(with_word, on, present)
        parts.append(_Pairs(word, ancestor - tree.n_observed, chance, with_word, information))

        has_higher = upward[ancestor] >= 0
        word = word[has_higher]
        ancestor = ancestor[has_higher]
        chance = chance[has_higher]
        chance = np.einsum("wts,ws->wt", tree.cpt[ancestor], chance)
        ancestor = upward[ancestor]

    return _Pairs(*(np.concatenate(columns) for columns in zip(*parts, strict=True)))


def _best_pairs(pairs: _Pairs, score: Floats, n_words: int, min_share: float) -> tuple[Ints, Ints]:
    """The pairs that describe topics, and the rank of the word in its topic, from 0 on."""
    likelier = np.flatnonzero(pairs.chance[:, 1] > pairs.chance[:, 0])
    topic = pairs.topic[likelier]
    of_pair = score[likelier]
    highest = np.full(topic.max(initial=-1) + 1, -np.inf)  # of each topic
    np.maximum.at(highest, topic, of_pair)

    rank = ranks_in_groups(topic, of_pair, tie=pairs.word[likelier])
    is_best = (rank < n_words) & (of_pair >= min_share * highest[topic])
    return likelier[is_best], rank[is_best]
