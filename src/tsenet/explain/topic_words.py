"""The topic view of a latent tree: every latent is a topic with its words and its size.

A latent variable splits the documents softly into those that are about something (state 1) and
the rest (state 0). Its words are those of its subtree that separate the two best: the exact mutual
information between word and latent in the tree model (HLTA, arXiv 1605.06650, section 6) times
P(topic on | word present), and only those that state 1 makes more likely. The second factor keeps
frequent words that are mostly used outside the topic from its title.
"""

from __future__ import annotations

import json
from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from tsenet.errors import DataError
from tsenet.skeleton.chow_liu import binary_information

if TYPE_CHECKING:
    from tsenet.explain.presence import Activity
    from tsenet.skeleton.tree import LatentTree

_FloatArray = NDArray[np.float64]

_TITLE_WORDS = 3
_LISTED = 200  # words in no topic that the Markdown page lists


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
        The label that :meth:`tsenet.TopicModel.rename` gave it, or the first words.
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
    min_share: float = 0.1,
    activity: Activity | None = None,
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
    activity : Activity, optional
        Statistics of the documents, if they were computed before; then ``X`` is not used.

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
    if n_words < 1:
        raise DataError(f"n_words must be at least 1, not {n_words}")
    n_observed = tree.n_observed
    if activity is None and X is not None:
        from tsenet.explain.presence import topic_activity

        activity = topic_activity(tree, tree.binary(X), n_best=1)
    size = tree.marginals()
    if activity is not None:
        size[n_observed:] = activity.size
    words, information = _top_words(tree, n_words, min_share, activity)

    latents = range(n_observed, tree.n_nodes)
    listed = [words.get(v, ()) for v in latents]
    titles = [", ".join(word.word for word in best[:_TITLE_WORDS]) for best in listed]
    return nest_topics(tree, size[n_observed:], listed, titles, information[n_observed:])


def parents_above(tree: LatentTree) -> NDArray[np.int64]:
    """The parent of each node, without the links inside the top level, which carry no hierarchy: (M,)."""
    parent = tree.parent.astype(np.int64)
    return np.where((parent >= 0) & (tree.level[parent] > tree.level), parent, -1)


def nest_topics(
    tree: LatentTree,
    size: _FloatArray,
    words: Sequence[Sequence[TopicWord]],
    titles: Sequence[str],
    information: _FloatArray,
    coherence: _FloatArray | None = None,
) -> list[Topic]:
    """The L latents of a tree as nested topics, the largest first.

    Parameters
    ----------
    tree : LatentTree
    size, information, coherence : float64 (L,)
        Coherence is NaN where it was not measured.
    words : sequence of sequences of TopicWord
        Of each latent.
    titles : sequence of str
    """
    below: dict[int, list[Topic]] = defaultdict(list)

    def largest_first(node: int) -> list[Topic]:
        return sorted(below[node], key=lambda topic: (-topic.size, topic.name))

    tops = tree.layer(tree.n_levels).start if tree.n_levels else tree.n_nodes
    for k, node in enumerate(range(tree.n_observed, tree.n_nodes)):  # children come first
        score = None if coherence is None or np.isnan(coherence[k]) else float(coherence[k])
        topic = Topic(
            name=tree.names[node],
            level=int(tree.level[node]),
            title=titles[k],
            size=float(size[k]),
            words=tuple(words[k]),
            children=tuple(largest_first(node)),
            information=float(information[k]),
            coherence=score,
        )
        below[int(tree.parent[node]) if node < tops else -1].append(topic)
    return largest_first(-1)


def _top_words(
    tree: LatentTree, n_words: int, min_share: float, activity: Activity | None
) -> tuple[dict[int, tuple[TopicWord, ...]], _FloatArray]:
    """Return the best words of every latent that has any, and what each node tells about all words under it (M,).

    One pass per level: with ``conditional[w, t] = P(w = 1 | ancestor of w = t)`` at one level,
    ``conditional'[w, t] = sum_s P(ancestor = s | its parent = t) conditional[w, s]`` is that of the next. So
    the work is O(V log V) per level, however many latents there are.
    """
    marginal, level, upward = tree.marginals(), tree.level, parents_above(tree)
    words = np.flatnonzero((level == 0) & (upward >= 0))
    ancestor = upward[words]
    conditional = tree.cpt[words, :, 1]  # (W, 2)
    result: dict[int, list[TopicWord]] = {}
    total = np.zeros(level.size)
    while words.size:
        on = marginal[ancestor]
        inside = on * conditional[:, 1]
        present = inside + (1 - on) * conditional[:, 0]  # P(word present)
        information = binary_information(inside, on, present)
        total += np.bincount(ancestor, weights=information, minlength=level.size)
        shares = conditional
        if activity is not None:
            above = ancestor - tree.n_observed
            shares = activity.word_shares(words, above, int(level[ancestor[0]]))
        weight = information * np.divide(inside, present, out=np.zeros_like(on), where=present > 0)
        for i in np.lexsort((words, -weight, ancestor)).tolist():
            ranked = result.setdefault(int(ancestor[i]), [])
            if conditional[i, 1] <= conditional[i, 0] or len(ranked) == n_words:
                continue
            if not ranked or weight[i] >= min_share * ranked[0].weight:
                without, with_topic = shares[i].tolist()
                ranked.append(
                    TopicWord(
                        tree.names[words[i]],
                        float(information[i]),
                        inside=with_topic,
                        outside=without,
                        weight=float(weight[i]),
                    )
                )
        higher = upward[ancestor] >= 0
        words, ancestor, conditional = words[higher], ancestor[higher], conditional[higher]
        conditional = np.einsum("wts,ws->wt", tree.cpt[ancestor], conditional)
        ancestor = upward[ancestor]
    return {node: tuple(best) for node, best in result.items()}, total


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


# ---- what a reader is shown


@dataclass(frozen=True)
class TopicView:
    """Topics to show, and those folded away.

    Attributes
    ----------
    topics : tuple of Topic
        The topics shown, nested.
    folded : tuple of (Topic, str)
        The topics that are not shown, each with the reason.

    Examples
    --------
    >>> from tsenet.explain import TopicView
    >>> TopicView((), ()).topics
    ()
    """

    topics: tuple[Topic, ...]
    folded: tuple[tuple[Topic, str], ...]


def view_topics(
    topics: Sequence[Topic],
    *,
    min_size: float = 0.001,
    min_coherence: float = 0.05,
    keep: Collection[str] = (),
) -> TopicView:
    """Fold small and incoherent topics away; the topics below a folded one take its place.

    Parameters
    ----------
    topics : sequence of Topic
        As ``topic_tree`` returns them.
    min_size : float, default=0.001
        Fold topics that are present in a smaller share of the documents.
    min_coherence : float, default=0.05
        Fold topics of level 1 of lower coherence, where it is known; −1 folds none. A higher topic brings several
        groups together, whose words need not stand close to each other.
    keep : collection of str, default=()
        Names of topics that are shown in any case.

    Returns
    -------
    TopicView

    Examples
    --------
    >>> from tsenet.explain import Topic, TopicWord, view_topics
    >>> words = (TopicWord("use", 0.1, 0.4, 0.1), TopicWord("used", 0.1, 0.4, 0.1))
    >>> view = view_topics([Topic("Z1.0", 1, "use, used", size=0.0005, words=words)])
    >>> [(topic.title, reason) for topic, reason in view.folded]
    [('use, used', 'in too few documents')]
    """
    folded: list[tuple[Topic, str]] = []

    def shown(topics: Sequence[Topic]) -> list[Topic]:
        found: list[Topic] = []
        for topic in topics:
            below = tuple(sorted(shown(topic.children), key=lambda child: -child.size))
            low = topic.coherence is not None and topic.coherence < min_coherence
            reason = ""
            if topic.size < min_size:
                reason = "in too few documents"
            elif len(topic.words) < 2:
                reason = "fewer than two words"
            elif low and topic.level == 1:
                reason = "its words hardly occur together"
            if reason and topic.name not in keep:
                folded.append((replace(topic, children=()), reason))
                found += below
            else:
                found.append(replace(topic, children=below))
        return found

    # Those of the highest level first, so that topics that moved up come last.
    ordered = sorted(shown(topics), key=lambda topic: (-topic.level, -topic.size))
    return TopicView(tuple(ordered), tuple(folded))


def choose_topics(topics: Sequence[Topic], n_topics: int) -> list[Topic]:
    """Choose the topics that tell most about the words, none of them above or below another.

    The topics of the highest level come first. As long as there is room, the chosen topic whose replacement by those
    below it adds most information per additional topic is replaced. Topics of lower levels that moved up next to them
    fill the rest.

    Parameters
    ----------
    topics : sequence of Topic
        Nested, as in ``view_topics(...).topics``.
    n_topics : int
        Most topics to choose.

    Returns
    -------
    list of Topic
        At most ``n_topics``, in the order in which they are nested.

    Examples
    --------
    >>> from tsenet.explain import Topic, choose_topics
    >>> low = [Topic(f"Z1.{k}", 1, f"low {k}", 0.1, (), information=0.4) for k in range(2)]
    >>> high = Topic("Z2.0", 2, "high", 0.2, (), children=tuple(low), information=0.5)
    >>> [[topic.title for topic in choose_topics([high], n)] for n in (1, 2)]
    [['high'], ['low 0', 'low 1']]
    """
    top = max((topic.level for topic in topics), default=0)
    best = sorted(topics, key=lambda topic: (topic.level < top, -topic.information))
    chosen = [topic for topic in best[:n_topics] if topic.level == top]

    def gain(topic: Topic) -> float:
        """Information added for each additional topic, else the topic with most children would be split first."""
        added = sum(child.information for child in topic.children) - topic.information
        return added / max(1, len(topic.children) - 1)

    while True:
        room = n_topics - len(chosen)
        open_ = [topic for topic in chosen if topic.children and len(topic.children) <= room + 1]
        if not room or not open_:
            break
        split = max(open_, key=gain)
        chosen = [t for t in chosen if t is not split] + list(split.children)
    chosen += [topic for topic in best if topic.level < top][: n_topics - len(chosen)]
    position = {topic.name: k for k, topic in enumerate(every_topic(topics))}
    return sorted(chosen, key=lambda topic: position[topic.name])


# ---- files


def to_json(topics: Iterable[Topic] | TopicView, *, ungrouped: Sequence[str] = ()) -> str:
    """Write topics as JSON text: nested objects with name, level, title, size, coherence, words, children.

    Parameters
    ----------
    topics : iterable of Topic, or TopicView
        As ``topic_tree`` or ``view_topics`` returns them.
    ungrouped : sequence of str, default=()
        The words in no topic.

    Returns
    -------
    str
        A JSON object with ``format``, ``format_version``, ``topics``, ``folded`` (a flat list; each topic has a
        ``reason``) and ``ungrouped``.

    Examples
    --------
    >>> import json
    >>> from tsenet.explain import Topic, to_json
    >>> json.loads(to_json([Topic("Z1.0", 1, "goal", 0.2, ())]))["topics"][0]["title"]
    'goal'
    """
    view = topics if isinstance(topics, TopicView) else TopicView(tuple(topics), ())
    document = {
        "format": "tsenet-topics",
        "format_version": 2,
        "topics": [asdict(topic) for topic in view.topics],
        "folded": [{**asdict(topic), "reason": reason} for topic, reason in view.folded],
        "ungrouped": list(ungrouped),
    }
    return json.dumps(document, indent=1, ensure_ascii=False, allow_nan=False) + "\n"


def to_markdown(topics: Iterable[Topic] | TopicView, *, ungrouped: Sequence[str] = ()) -> str:
    """Write topics as a nested Markdown list: share of documents, title if given, top words.

    Parameters
    ----------
    topics : iterable of Topic, or TopicView
        As ``topic_tree`` or ``view_topics`` returns them.
    ungrouped : sequence of str, default=()
        The words in no topic, most frequent first; the first 200 are listed.

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
    view = topics if isinstance(topics, TopicView) else TopicView(tuple(topics), ())
    shown, folded = view.topics, view.folded
    for topic in shown:
        _append_markdown(topic, 0, lines)
    if not shown:
        none = "all topics are folded away" if folded else "the tree has no latent variables"
        lines.append(f"No topics: {none}.")
    if folded:
        counts = Counter(reason for _, reason in folded)
        reasons = "; ".join(f"{counts[reason]} {reason}" for reason in sorted(counts))
        lines += [
            "",
            f"{len(folded)} of {len(folded) + len(list(every_topic(shown)))} topics are folded away: {reasons}.",
        ]
    if len(ungrouped):
        words = ", ".join(_escape(word) for word in ungrouped[:_LISTED])
        more = len(ungrouped) - _LISTED
        lines += [
            *("", "# Words in no topic", ""),
            f"{len(ungrouped)} words are in no topic: {words}"
            + (f", and {more} more." if more > 0 else "."),
        ]
    return "\n".join(lines) + "\n"


def _append_markdown(topic: Topic, depth: int, lines: list[str]) -> None:
    words = ", ".join(_escape(word.word) for word in topic.words) or "(no typical words)"
    own_title = topic.title != ", ".join(w.word for w in topic.words[:_TITLE_WORDS])
    title = f" **{_escape(topic.title)}**:" if own_title else ""
    name = " ".join(topic.name.split()).replace("`", "'")
    lines.append(f"{'  ' * depth}- {100 * topic.size:.1f} %{title} {words} `{name}`")
    for child in topic.children:
        _append_markdown(child, depth + 1, lines)


def _escape(text: str) -> str:
    """Keep a word from being read as Markdown or HTML."""
    plain = " ".join(text.split())
    for character in "\\`*_[]<>&#|~":
        plain = plain.replace(character, f"\\{character}")
    return plain
