"""`Topic`: a topic with its words and those below it, whatever model it comes from; and which topics are shown."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, replace


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
