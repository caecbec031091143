"""The topic view of a latent tree: every latent is a topic with its words and its size.

A latent variable splits the documents softly into those that are about something (state 1) and
the rest (state 0). Its words are those of its subtree that separate the two best: the exact mutual
information between word and latent in the tree model (HLTA, arXiv 1605.06650, section 6) times
P(topic on | word present), and only those that state 1 makes more likely. The second factor keeps
frequent words that are mostly used outside the topic from its title.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from tsenet.errors import DataError

if TYPE_CHECKING:
    from tsenet.explain.presence import Presence
    from tsenet.skeleton.tree import LatentTree

__all__ = ["Topic", "TopicWord", "every_topic", "topic_tree", "with_coherence"]

_FloatArray = npt.NDArray[np.float64]
_IntArray = npt.NDArray[np.int64]

TITLE_WORDS = 3


@dataclass(frozen=True)
class TopicWord:
    """A word that characterises a topic.

    Attributes
    ----------
    word : str
        The word, as the tree's observed variable is called.
    information : float
        Mutual information between word and topic, in nats.
    inside : float
        Share of the documents with the topic in which the word occurs; P(word present | topic on) in the model if no
        documents are given.
    outside : float
        The same for the documents without the topic.
    weight : float
        How well the word separates the topic: ``information`` times P(topic on | word present). Words are
        ranked by it.

    Examples
    --------
    >>> from tsenet.explain import TopicWord
    >>> TopicWord("goal", information=0.1, inside=0.4, outside=0.01).word
    'goal'
    """

    word: str
    information: float
    inside: float
    outside: float
    weight: float = 0.0


@dataclass(frozen=True)
class Topic:
    """One latent variable, seen as a topic.

    Attributes
    ----------
    name : str
        The latent's name in the tree, such as ``"Z2.7"``.
    level : int
        1 for latents directly above the words.
    title : str
        The user's title, or the first words.
    size : float
        Share of the documents in which the topic is present: it is more likely on than off, and a word below it
        occurs. P(topic on) in the model if no documents are given.
    words : tuple of TopicWord
        Best first; empty if no word becomes more likely when the topic is on.
    children : tuple of Topic
        The topics one level below, largest first.
    information : float
        What the topic tells about the words under it: the sum of their mutual information with it, in nats.
    coherence : float or None
        How often its words occur together (NPMI, from −1 to 1); None where it was not measured.

    Examples
    --------
    >>> from tsenet.explain import Topic
    >>> Topic("Z1.0", level=1, title="goal, team", size=0.2, words=()).children
    ()
    """

    name: str
    level: int
    title: str
    size: float
    words: tuple[TopicWord, ...]
    children: tuple[Topic, ...] = ()
    information: float = 0.0
    coherence: float | None = None


def topic_tree(
    tree: LatentTree,
    X: Any = None,
    n_words: int = 10,
    titles: Mapping[str, str] | None = None,
    min_share: float = 0.1,
    presence: Presence | None = None,
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
    titles : mapping of str to str, optional
        Titles by latent name, to use instead of the first three words.
    min_share : float, default=0.1
        Leave out words whose weight is below this share of the first word's. Raise it for cleaner topics, set it to 0
        to see every word of the group.
    presence : Presence, optional
        What is known of the documents, if it was computed before; then ``X`` is not used.

    Returns
    -------
    list of Topic
        The topics of the top level, largest first. Links between top-level latents carry no
        hierarchy and are left out.

    Raises
    ------
    DataError
        If ``n_words`` is not positive, or a title names no latent of the tree.

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
    if n_words < 1:
        raise DataError(f"n_words must be at least 1, not {n_words}")
    level = np.asarray(tree.level, dtype=np.int64)
    upward = _hierarchy(np.asarray(tree.parent, dtype=np.int64), level)
    n_observed = int(np.count_nonzero(level == 0))
    titles = titles or {}
    unknown = sorted(set(titles) - set(tree.names[n_observed:]))
    if unknown:
        raise DataError(f"titles given for {unknown[:5]}, which are no latents of this tree")
    if presence is None and X is not None:
        from tsenet.explain.presence import topic_activity

        presence = topic_activity(tree, tree.binary(X), n_best=1).presence
    size = np.array(tree.marginals(), dtype=np.float64)
    if presence is not None:
        size[n_observed:] = presence.size
    words, information = _top_words(tree, upward, level, n_words, min_share, presence)

    topics: dict[int, Topic] = {}
    children: dict[int, list[int]] = {}
    for v in range(n_observed, level.size):  # ordered by level, so children come first
        below = sorted(children.get(v, ()), key=lambda child: (-size[child], child))
        best = words.get(v, ())
        topics[v] = Topic(
            name=tree.names[v],
            level=int(level[v]),
            title=titles.get(tree.names[v]) or ", ".join(w.word for w in best[:TITLE_WORDS]),
            size=float(size[v]),
            words=best,
            children=tuple(topics[child] for child in below),
            information=float(information[v]),
        )
        if upward[v] >= 0:
            children.setdefault(int(upward[v]), []).append(v)
    roots = [v for v in topics if upward[v] < 0]
    return [topics[v] for v in sorted(roots, key=lambda v: (-size[v], v))]


def _hierarchy(parent: _IntArray, level: _IntArray) -> _IntArray:
    """Return the parents (M,) with the links inside the top level removed (-1)."""
    return np.where((parent >= 0) & (level[parent] > level), parent, -1)


def _top_words(
    tree: LatentTree,
    upward: _IntArray,
    level: _IntArray,
    n_words: int,
    min_share: float,
    presence: Presence | None,
) -> tuple[dict[int, tuple[TopicWord, ...]], _FloatArray]:
    """Return the best words of every latent that has any, and what each node tells about all words under it (M,).

    One pass per level: with ``given[w, t] = P(w = 1 | ancestor of w = t)`` at one level,
    ``given'[w, t] = sum_s P(ancestor = s | its parent = t) given[w, s]`` is that of the next. So
    the work is O(V log V) per level, however many latents there are.
    """
    marginal = np.asarray(tree.marginals(), dtype=np.float64)
    words = np.flatnonzero((level == 0) & (upward >= 0))
    ancestor = upward[words]
    given = tree.cpt[words, :, 1]  # (W, 2)
    result: dict[int, tuple[TopicWord, ...]] = {}
    total = np.zeros(level.size)
    while words.size:
        on = marginal[ancestor]
        information = word_information(given, on)
        total += np.bincount(ancestor, weights=information, minlength=level.size)
        shares = given
        if presence is not None:
            above = ancestor - tree.n_observed
            shares = presence.word_shares(words, above, int(level[ancestor[0]]))
        _rank(
            *(tree.names, words, ancestor, given, shares, on, information, n_words, min_share),
            result,
        )
        higher = upward[ancestor] >= 0
        words, ancestor, given = words[higher], ancestor[higher], given[higher]
        given = np.einsum("wts,ws->wt", tree.cpt[ancestor], given)
        ancestor = upward[ancestor]
    return result, total


def _rank(
    names: Sequence[str],
    words: _IntArray,
    ancestor: _IntArray,
    given: _FloatArray,
    shares: _FloatArray,
    on: _FloatArray,
    information: _FloatArray,
    n_words: int,
    min_share: float,
    result: dict[int, tuple[TopicWord, ...]],
) -> None:
    """Put the ``n_words`` best words of each ancestor into ``result``.

    Parameters
    ----------
    words, ancestor : (W,)
        The words that have an ancestor at this level, and that ancestor.
    given : (W, 2)
        P(word on | ancestor = 0, 1), by which words are chosen and ranked.
    shares : (W, 2)
        How often the word occurs without and with the topic, to be told.
    on : (W,)
        P(ancestor = 1).
    information : (W,)
        Mutual information of word and ancestor.
    """
    kept = np.flatnonzero(given[:, 1] > given[:, 0])
    words, ancestor, given, shares = words[kept], ancestor[kept], given[kept], shares[kept]
    on, information = on[kept], information[kept]
    inside = on * given[:, 1]
    weight = (
        information * inside / (inside + (1 - on) * given[:, 0])
    )  # inside > 0: it is above outside
    order = np.lexsort((words, -weight, ancestor))
    # Position of each word within its ancestor's run, to cut every run at n_words.
    runs = ancestor[order]
    starts = np.flatnonzero(np.r_[True, runs[1:] != runs[:-1]]) if runs.size else np.empty(0, int)
    lengths = np.diff(np.r_[starts, runs.size])
    place = np.arange(runs.size) - np.repeat(starts, lengths)
    first = np.repeat(weight[order[starts]], lengths)
    chosen = order[(place < n_words) & (weight[order] >= min_share * first)]
    grouped: dict[int, list[TopicWord]] = {}
    for i in chosen.tolist():
        word = TopicWord(
            names[words[i]],
            float(information[i]),
            inside=float(shares[i, 1]),
            outside=float(shares[i, 0]),
            weight=float(weight[i]),
        )
        grouped.setdefault(int(ancestor[i]), []).append(word)
    result.update((v, tuple(best)) for v, best in grouped.items())


def word_information(given: _FloatArray, on: _FloatArray) -> _FloatArray:
    """Return the mutual information of binary pairs, in nats, shape (W,).

    Parameters
    ----------
    given : (W, 2)
        P(word = 1 | topic = 0, 1).
    on : (W,)
        P(topic = 1).
    """
    total = np.zeros(on.size)
    word_on = (1 - on) * given[:, 0] + on * given[:, 1]
    for state, topic in ((0, 1 - on), (1, on)):
        for conditional, word in ((given[:, state], word_on), (1 - given[:, state], 1 - word_on)):
            joint = topic * conditional
            positive = joint > 0  # a cell of probability zero adds nothing
            total[positive] += joint[positive] * np.log(conditional[positive] / word[positive])
    return np.maximum(total, 0.0)  # rounding may leave -1e-17


def every_topic(topics: Sequence[Topic]) -> Iterator[Topic]:
    """Go through topics and all topics below them, parents first.

    Parameters
    ----------
    topics : sequence of Topic
        As ``topic_tree`` returns them.

    Yields
    ------
    Topic

    Examples
    --------
    >>> from tsenet.explain import Topic, every_topic
    >>> child = Topic("Z1.0", level=1, title="goal", size=0.1, words=())
    >>> parent = Topic("Z2.0", level=2, title="sport", size=0.2, words=(), children=(child,))
    >>> [topic.title for topic in every_topic([parent])]
    ['sport', 'goal']
    """
    for topic in topics:
        yield topic
        yield from every_topic(topic.children)


def with_coherence(topics: Sequence[Topic], scores: Mapping[str, float]) -> list[Topic]:
    """Give topics their coherence.

    Parameters
    ----------
    topics : sequence of Topic
        As ``topic_tree`` returns them.
    scores : mapping of str to float
        Coherence by the name of the topic; topics that are not in it get None.

    Returns
    -------
    list of Topic

    Examples
    --------
    >>> from tsenet.explain import Topic, with_coherence
    >>> with_coherence([Topic("Z1.0", 1, "goal", 0.1, ())], {"Z1.0": 0.4})[0].coherence
    0.4
    """
    return [
        replace(
            topic,
            coherence=scores.get(topic.name),
            children=tuple(with_coherence(topic.children, scores)),
        )
        for topic in topics
    ]
