"""Which texts to label next: a mix, since no single rule is best everywhere.

Every fourth text is drawn at random: on these the estimate of accuracy rests. The others are typical of narrow topics
without a label, the largest first. Once most classes were met, every second one of these is a text about which the
model is unsure, or which it puts into another class than the labels of its topic say; and topics about whose texts the
model is sure are passed over.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import chain, islice, zip_longest

import numpy as np
from numpy.typing import NDArray

from tsenet.labelling.learner import Prediction
from tsenet.labelling.text_topics import Topics

__all__ = [
    "REASONS",
    "Proposal",
    "class_of_topics",
    "is_finding_classes",
    "propose",
    "pure_topics",
]

#: Why a text is proposed.
REASONS = ("random", "typical", "uncertain", "disagreement")

_RANDOM = 4  # every fourth
# Of so many strongest texts of a topic, the shortest: it is as typical, and read soonest; beyond so many characters,
# about a hundred words, people skim. With the linear teacher (the costs of `reproduce labelling`, training rows, six
# draws), 5 / 10 / 15 minutes gave 72.2 / 76.6 / 80.7 % in the mean of DBPedia, film reviews and AG's News; three, ten
# and the length of all of a text are level within the noise, but 5 minutes of DBPedia gain three points over three.
_TYPICAL = 5
_SKIMMED = 600
# Texts that are the only one of their class, as a share of the labels: about the chance that the next text is of a
# class that nobody has met (Good and Turing). Above this, a model knows too few classes for its doubt to tell much.
_NEW_CLASS = 0.2
# How sure the model is of the texts of a topic, on average, so that it needs no label.
_SURE = 0.6
# To label all of a topic: how many labels it must have, and the share of them that agree.
_READ = 5
_PURE = 0.8

Ints = NDArray[np.int64]
_NOTHING: Ints = np.empty(0, np.int64)
Labels = Mapping[int, tuple[str, ...]]  # the classes of labelled texts


@dataclass(frozen=True)
class Proposal:
    """A text to label, and why: one of `REASONS`."""

    text: int
    reason: str


def propose(
    n: int,
    closed: NDArray[np.bool_],
    order: Ints,
    lengths: Ints,
    topics: Topics,
    labels: Labels,
    prediction: Prediction | None = None,
    waiting: Ints = _NOTHING,
) -> list[Proposal]:
    """Choose texts to label next.

    Parameters
    ----------
    n : int
        How many.
    closed : bool (N,)
        Texts that are labelled or skipped.
    order : int64 (N,)
        All texts in the random order in which the random share is drawn.
    lengths : int64 (N,)
        Characters of each text.
    topics : Topics
    labels : mapping of int to tuple of str
        The classes of labelled texts.
    prediction : Prediction, optional
        Of the last model.
    waiting : int64 (w,), optional
        Texts that were proposed before and have no label yet: they are not proposed again, and the share drawn at
        random goes on after them.
    """
    closed = closed.copy()
    closed[waiting] = True
    begin = len(labels) + waiting.size

    random = (int(i) for i in order if not closed[i])
    others = (Proposal(int(i), "random") for i in order if not closed[i])

    is_early = prediction is None or is_finding_classes(labels)
    typical = _typical(
        closed,
        lengths,
        topics.narrower or topics,
        {*labels, *waiting.tolist()},
        None if is_early else prediction,
    )
    doubtful = _doubtful(closed, topics, labels, prediction)
    mixed = chain(typical, doubtful) if is_early else _in_turn(typical, doubtful)
    chosen = chain(mixed, others)

    found: dict[int, Proposal] = {}
    for place in range(begin, begin + n):
        if place % _RANDOM == 0:
            text = next((i for i in random if i not in found), None)
            proposal = None if text is None else Proposal(text, "random")
        else:
            proposal = next((p for p in chosen if p.text not in found), None)
        if proposal is not None:
            found[proposal.text] = proposal
    return list(found.values())


def _typical(
    closed: NDArray[np.bool_],
    lengths: Ints,
    topics: Topics,
    proposed: set[int],
    prediction: Prediction | None,
) -> Iterator[Proposal]:
    """A short typical text of each topic of level 1 of which none was proposed, largest topics first.

    Topics of which a model is sure are left out.
    """
    seen = {int(topics.main[i]) for i in proposed}
    size = np.bincount(topics.main[topics.main >= 0], minlength=len(topics.ids))  # (T,)

    for topic in topics.lowest[np.argsort(-size[topics.lowest], kind="stable")]:
        if int(topic) in seen:
            continue

        texts = topics.texts_of(int(topic))
        texts = texts[(topics.main[texts] == topic) & ~closed[texts]]
        if not texts.size:
            continue
        if prediction is not None and 1.0 - prediction.doubt(texts).mean() > _SURE:
            continue

        texts = texts[:_TYPICAL]
        to_read = np.minimum(lengths[texts], _SKIMMED)
        yield Proposal(int(texts[to_read.argmin()]), "typical")


def _in_turn(*lists: Iterator[Proposal]) -> Iterator[Proposal]:
    """One of each list in turn, until all have ended."""
    for items in zip_longest(*lists):
        yield from (item for item in items if item is not None)


def _doubtful(
    closed: NDArray[np.bool_],
    topics: Topics,
    labels: Labels,
    prediction: Prediction | None,
) -> Iterator[Proposal]:
    """In turn: a text of which the model is unsure, and one that it puts into another class than its topic."""
    if prediction is None:
        return

    unsure = (Proposal(int(i), "uncertain") for i in prediction.suggested if not closed[i])
    contrary = _contrary(closed, topics, labels, prediction)
    while True:
        pair = [*islice(unsure, 2), *islice(contrary, 1)]
        if not pair:
            return
        yield from pair


def _contrary(
    closed: NDArray[np.bool_],
    topics: Topics,
    labels: Labels,
    prediction: Prediction,
) -> Iterator[Proposal]:
    """Texts of which the model is sure, against the labels of their topic; one of each topic."""
    best = prediction.shares.argmax(axis=1)
    for topic, (chosen, share, n) in class_of_topics(topics, labels).items():
        if chosen not in prediction.ids or share < _PURE or n < 2:
            continue

        texts = np.flatnonzero((topics.main == topic) & ~closed)
        texts = texts[best[texts] != prediction.ids.index(chosen)]
        if texts.size:
            surest = prediction.shares[texts].max(axis=1).argmax()
            yield Proposal(int(texts[surest]), "disagreement")


def is_finding_classes(labels: Labels) -> bool:
    """Whether so many labels are the only one of their class that there must be classes that nobody has met."""
    counts = Counter(chosen for ids in labels.values() for chosen in ids)
    return sum(n == 1 for n in counts.values()) > _NEW_CLASS * counts.total()


def class_of_topics(topics: Topics, labels: Labels) -> dict[int, tuple[str, float, int]]:
    """Of each topic of level 1 with labels: the most frequent class, its share of the labels, and their number."""
    counts: dict[int, Counter[str]] = {}
    for text, ids in labels.items():
        if topics.main[text] >= 0:
            counts.setdefault(int(topics.main[text]), Counter()).update(ids)

    classes = {}
    for topic, counter in counts.items():
        ((chosen, most),) = counter.most_common(1)
        classes[topic] = (chosen, most / counter.total(), counter.total())
    return classes


def pure_topics(topics: Topics, labels: Labels) -> dict[int, str]:
    """Topics of which enough texts were labelled, nearly all alike: a weak label for the whole topic is worth it."""
    return {
        topic: chosen
        for topic, (chosen, share, n) in class_of_topics(topics, labels).items()
        if n >= _READ and share >= _PURE
    }
