"""The topic view of a latent tree: every latent is a topic with its words and its size.

A latent variable splits the documents softly into those that are about something (state 1) and
the rest (state 0). Its words are those of its subtree that tell most about that split, measured
by the exact mutual information between word and latent in the tree model (HLTA, arXiv
1605.06650, section 6), and only those that state 1 makes more likely.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from tsenet.errors import DataError

if TYPE_CHECKING:
    from tsenet.skeleton.tree import LatentTree

__all__ = ["Topic", "TopicWord", "to_json", "to_markdown", "topic_tree"]

_FloatArray = npt.NDArray[np.float64]
_IntArray = npt.NDArray[np.int64]

# Posteriors are averaged over blocks of about this many numbers (32 MB), never all at once.
_BLOCK = 1 << 22
_TITLE_WORDS = 3


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
        P(word present | topic on).
    outside : float
        P(word present | topic off); below ``inside``.

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
        Expected share of documents in which the topic is on.
    words : tuple of TopicWord
        Most informative first; empty if no word becomes more likely when the topic is on.
    children : tuple of Topic
        The topics one level below, largest first.

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


def topic_tree(
    tree: LatentTree,
    X: Any = None,
    n_words: int = 10,
    titles: Mapping[str, str] | None = None,
    min_share: float = 0.1,
) -> list[Topic]:
    """Describe the tree's latents as nested topics.

    Parameters
    ----------
    tree : LatentTree
        A tree over the words of documents, or over any other columns.
    X : table, optional
        Documents from which to take the sizes, as mean posterior P(topic on | document). Without
        it the sizes are the model's marginals. The words always come from the model.
    n_words : int, default=10
        Largest number of words per topic.
    titles : mapping of str to str, optional
        Titles by latent name, to use instead of the first three words.
    min_share : float, default=0.1
        Leave out words that tell less than this share of what a topic's first word tells about it. Raise it for
        cleaner topics, set it to 0 to see every word of the group.

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
    sizes = _sizes(tree, X, n_observed)
    words = _top_words(tree, upward, level, n_words, min_share)

    topics: dict[int, Topic] = {}
    children: dict[int, list[int]] = {}
    for v in range(n_observed, level.size):  # ordered by level, so children come first
        below = sorted(children.get(v, ()), key=lambda child: (-sizes[child], child))
        best = words.get(v, ())
        topics[v] = Topic(
            name=tree.names[v],
            level=int(level[v]),
            title=titles.get(tree.names[v]) or ", ".join(w.word for w in best[:_TITLE_WORDS]),
            size=float(sizes[v]),
            words=best,
            children=tuple(topics[child] for child in below),
        )
        if upward[v] >= 0:
            children.setdefault(int(upward[v]), []).append(v)
    roots = [v for v in topics if upward[v] < 0]
    return [topics[v] for v in sorted(roots, key=lambda v: (-sizes[v], v))]


def _hierarchy(parent: _IntArray, level: _IntArray) -> _IntArray:
    """Return the parents (M,) with the links inside the top level removed (-1)."""
    return np.where((parent >= 0) & (level[parent] > level), parent, -1)


def _sizes(tree: LatentTree, X: Any, n_observed: int) -> _FloatArray:
    """Return the share of documents with each node on, (M,); observed ones are the model's."""
    sizes = np.array(tree.marginals(), dtype=np.float64)
    if X is not None and sizes.size > n_observed:
        from tsenet.data import Table

        table = Table.of(X)
        step = max(1, _BLOCK // (sizes.size - n_observed))
        total = np.zeros(sizes.size - n_observed)
        for start in range(0, table.n_rows, step):
            rows = np.arange(start, min(start + step, table.n_rows))
            total += tree.posterior(table.take(rows)).sum(axis=0)
        sizes[n_observed:] = total / table.n_rows
    return sizes


def _top_words(
    tree: LatentTree, upward: _IntArray, level: _IntArray, n_words: int, min_share: float
) -> dict[int, tuple[TopicWord, ...]]:
    """Return the best words of every latent that has any.

    One pass per level: with ``given[w, t] = P(w = 1 | ancestor of w = t)`` at one level,
    ``given'[w, t] = sum_s P(ancestor = s | its parent = t) given[w, s]`` is that of the next. So
    the work is O(V log V) per level, however many latents there are.
    """
    marginal = np.asarray(tree.marginals(), dtype=np.float64)
    words = np.flatnonzero((level == 0) & (upward >= 0))
    ancestor = upward[words]
    given = tree.cpt[words, :, 1]  # (W, 2)
    result: dict[int, tuple[TopicWord, ...]] = {}
    while words.size:
        _rank(tree.names, words, ancestor, given, marginal[ancestor], n_words, min_share, result)
        higher = upward[ancestor] >= 0
        words, ancestor, given = words[higher], ancestor[higher], given[higher]
        given = np.einsum("wts,ws->wt", tree.cpt[ancestor], given)
        ancestor = upward[ancestor]
    return result


def _rank(
    names: Sequence[str],
    words: _IntArray,
    ancestor: _IntArray,
    given: _FloatArray,
    on: _FloatArray,
    n_words: int,
    min_share: float,
    result: dict[int, tuple[TopicWord, ...]],
) -> None:
    """Put the ``n_words`` most informative words of each ancestor into ``result``.

    Parameters
    ----------
    words, ancestor : (W,)
        The words that have an ancestor at this level, and that ancestor.
    given : (W, 2)
        P(word on | ancestor = 0, 1).
    on : (W,)
        P(ancestor = 1).
    """
    kept = given[:, 1] > given[:, 0]
    words, ancestor, given, on = words[kept], ancestor[kept], given[kept], on[kept]
    information = word_information(given, on)
    order = np.lexsort((words, -information, ancestor))
    # Position of each word within its ancestor's run, to cut every run at n_words.
    runs = ancestor[order]
    starts = np.flatnonzero(np.r_[True, runs[1:] != runs[:-1]]) if runs.size else np.empty(0, int)
    lengths = np.diff(np.r_[starts, runs.size])
    place = np.arange(runs.size) - np.repeat(starts, lengths)
    first = np.repeat(information[order[starts]], lengths)
    chosen = order[(place < n_words) & (information[order] >= min_share * first)]
    grouped: dict[int, list[TopicWord]] = {}
    for i in chosen.tolist():
        word = TopicWord(
            names[words[i]], float(information[i]), float(given[i, 1]), float(given[i, 0])
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


def to_json(topics: Iterable[Topic]) -> str:
    """Write topics as JSON text: nested objects with name, level, title, size, words, children.

    Parameters
    ----------
    topics : iterable of Topic
        As ``topic_tree`` returns them.

    Returns
    -------
    str
        A JSON object with ``format``, ``format_version`` and ``topics``.

    Examples
    --------
    >>> import json
    >>> from tsenet.explain import Topic, to_json
    >>> json.loads(to_json([Topic("Z1.0", 1, "goal", 0.2, ())]))["topics"][0]["title"]
    'goal'
    """
    document = {
        "format": "tsenet-topics",
        "format_version": 1,
        "topics": [_as_dict(topic) for topic in topics],
    }
    return json.dumps(document, indent=1, ensure_ascii=False, allow_nan=False) + "\n"


def _as_dict(topic: Topic) -> dict[str, Any]:
    return {
        "name": topic.name,
        "level": topic.level,
        "title": topic.title,
        "size": topic.size,
        "words": [
            {
                "word": word.word,
                "information": word.information,
                "inside": word.inside,
                "outside": word.outside,
            }
            for word in topic.words
        ],
        "children": [_as_dict(child) for child in topic.children],
    }


def to_markdown(topics: Iterable[Topic]) -> str:
    """Write topics as a nested Markdown list: share of documents, title if given, top words.

    Parameters
    ----------
    topics : iterable of Topic
        As ``topic_tree`` returns them.

    Returns
    -------
    str
        Markdown text; words are escaped.

    Examples
    --------
    >>> from tsenet.explain import Topic, TopicWord, to_markdown
    >>> word = TopicWord("goal", 0.1, 0.4, 0.01)
    >>> print(to_markdown([Topic("Z1.0", 1, "goal", 0.2, (word,))]).splitlines()[2])
    - 20.0 % goal `Z1.0`
    """
    lines = ["# Topics", ""]
    for topic in topics:
        _append_markdown(topic, 0, lines)
    if len(lines) == 2:
        lines.append("No topics: the tree has no latent variables.")
    return "\n".join(lines) + "\n"


def _append_markdown(topic: Topic, depth: int, lines: list[str]) -> None:
    words = ", ".join(_escape(word.word) for word in topic.words) or "(no typical words)"
    own_title = topic.title != ", ".join(w.word for w in topic.words[:_TITLE_WORDS])
    title = f" **{_escape(topic.title)}**:" if own_title else ""
    lines.append(f"{'  ' * depth}- {100 * topic.size:.1f} %{title} {words} {_code(topic.name)}")
    for child in topic.children:
        _append_markdown(child, depth + 1, lines)


def _code(text: str) -> str:
    """Text as a code span, between more backticks than stand together in it."""
    plain = " ".join(text.split())
    if "`" not in plain:
        return f"`{plain}`"
    fence = "`" * (1 + max(len(run) for run in re.findall("`+", plain)))
    return f"{fence} {plain} {fence}"


def _escape(text: str) -> str:
    """Keep a word from being read as Markdown or HTML."""
    plain = " ".join(text.split())
    for character in "\\`*_[]<>&#|~":
        plain = plain.replace(character, f"\\{character}")
    return plain
