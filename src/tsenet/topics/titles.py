"""Titles of topics: a few of the words that describe each, chosen to name its documents.

A title takes, one after the other, the word that adds most documents of the topic, less three times its rate in the
other documents, and never two words of one stem. Where two words of a topic are a phrase in the texts, such as "middle
east", it shows the phrase.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import takewhile
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tsenet.topics.presence import presence

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

TITLE_WORDS = 3

# A word that is as frequent elsewhere as in a third of the topic's documents names nothing.
_ELSEWHERE = 3.0
# Two words are of one stem if they begin alike for four letters and this share of the longer one, or differ by an
# ending of at most two letters: "ischemia" and "ischemic", "election" and "elected", "car" and "cars".
_STEM_LETTERS = 4
_STEM_SHARE = 0.6
_ENDING = 2
# Two words are a phrase if the one directly follows the other this often, and in this share of the geometric mean of
# their occurrences ("supreme court", but not "ftp cica", where only the rarer word needs the other), and that many
# times more often than the other way round: words that are next to each other by chance have no order.
_PHRASE_COUNT = 5
_PHRASE_SHARE = 0.25
_PHRASE_ORDER = 4


def titles(
    vocabulary: Sequence[str],
    words: Ints,
    word_shares: Floats,
    n_shown: int,
    *,
    documents: Any = None,
    strengths: Any = None,
    phrases: Mapping[tuple[int, int], int] | None = None,
) -> tuple[str, ...]:
    """A title for each of L topics.

    Parameters
    ----------
    vocabulary : sequence of str
    words : int64 (L, W)
        The words of each topic, best first; −1 where there are fewer.
    word_shares : float64 (L, W, 2)
        Share of the documents without and with the topic in which the word occurs.
    n_shown : int
        A title has words of the first so many.
    documents, strengths : csc_array (N, V) and csr_array (N, L), optional
        Documents, and the strengths of the topics in them. Without documents the words of a topic are taken to be
        independent where it is present, as in a model.
    phrases : mapping of (int, int) to int, optional
        Pairs of words that are phrases in the texts, with how often they occur.
    """
    phrases_of = defaultdict(list)
    for pair, count in (phrases or {}).items():
        for word in pair:
            phrases_of[word].append((count, pair))

    # The documents in which each topic is present: those of topic k from first[k] on.
    row = topic = np.empty(0, np.int64)
    if documents is not None:
        row, topic = presence(strengths)
    order = np.argsort(topic, kind="stable")
    first = np.searchsorted(topic[order], np.arange(len(words) + 1))

    found = []
    for k, of_topic in enumerate(words):
        shown = of_topic[:n_shown]
        shown = shown[shown >= 0]
        outside, inside = word_shares[k, : shown.size].T
        if documents is None:
            adds = _added_in_model(inside)
        else:
            with_topic = row[order[first[k] : first[k + 1]]]
            has_word = documents[:, shown].tocsr()[with_topic].toarray() > 0  # (D, W)
            adds = _added_in_documents(has_word)

        chosen = title_words([vocabulary[word] for word in shown], outside, adds)
        known = set(of_topic[of_topic >= 0].tolist())
        found.append(_shown(shown[chosen].tolist(), known, vocabulary, phrases_of))

    return tuple(found)


def title_words(
    words: Sequence[str], elsewhere: Floats, added: Callable[[list[int]], Floats]
) -> list[int]:
    """Which words make the title of a topic, in order.

    Parameters
    ----------
    words : sequence of str
        The W words of the topic.
    elsewhere : float64 (W,)
        Share of the documents without the topic that have each word.
    added : callable
        Takes the words chosen so far; returns the share of the documents with the topic that have each word, but none
        of those: (W,).
    """
    chosen: list[int] = []
    while len(chosen) < TITLE_WORDS:
        free = []
        for k, word in enumerate(words):
            if not any(are_of_one_stem(word, words[other]) for other in chosen):
                free.append(k)
        if not free:
            break

        gain = added(chosen) - _ELSEWHERE * elsewhere
        chosen.append(max(free, key=lambda k: (gain[k], -k)))
    return chosen


def _added_in_documents(has_word: NDArray[np.bool_]) -> Callable[[list[int]], Floats]:
    """For the documents with a topic, and which words they have: (D, W)."""

    def added(chosen: list[int]) -> Floats:
        is_covered = has_word[:, chosen].any(axis=1)
        return np.asarray(has_word[~is_covered].sum(axis=0) / max(1, len(has_word)))

    return added


def _added_in_model(inside: Floats) -> Callable[[list[int]], Floats]:
    """For words of these probabilities where the topic is present: (W,)."""

    def added(chosen: list[int]) -> Floats:
        return np.asarray(inside * np.prod(1.0 - inside[chosen]))

    return added


def are_of_one_stem(first: str, second: str) -> bool:
    """Whether two words are forms of one, by how they begin."""
    pairs = zip(first, second, strict=False)
    alike = sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], pairs))
    shorter, longer = sorted((len(first), len(second)))
    if alike == shorter and longer - shorter <= _ENDING:
        return True
    return alike >= _STEM_LETTERS and alike >= _STEM_SHARE * longer


# ---- phrases


def count_phrases(
    texts: Iterable[Sequence[str]], column: Mapping[str, int]
) -> dict[tuple[int, int], int]:
    """Pairs of words that are phrases in texts, with how often the second directly follows the first.

    Parameters
    ----------
    texts : iterable of sequences of str
        The words of each text, in order.
    column : mapping of str to int
        The known words.
    """
    ids: list[int] = []
    for words in texts:
        ids.extend(column.get(word, -1) for word in words)
        ids.append(-1)  # no phrase goes on in the next text

    word = np.array(ids, np.int64)
    n_occurrences = np.bincount(word[word >= 0], minlength=len(column))

    # How often each known word directly follows each other one; a pair is one number.
    follows = (word[:-1] >= 0) & (word[1:] >= 0) & (word[:-1] != word[1:])
    pairs = word[:-1][follows] * len(column) + word[1:][follows]
    pair, count = np.unique(pairs, return_counts=True)
    first, second = np.divmod(pair, max(1, len(column)))

    mean = np.sqrt(n_occurrences[first].astype(np.float64) * n_occurrences[second])
    other_way_round = _counts_of(second * len(column) + first, pair, count)
    is_phrase = (count >= _PHRASE_COUNT) & (count >= _PHRASE_SHARE * mean)
    is_phrase &= count >= _PHRASE_ORDER * other_way_round

    phrases = zip(first[is_phrase].tolist(), second[is_phrase].tolist(), strict=True)
    return dict(zip(phrases, count[is_phrase].tolist(), strict=True))


def _counts_of(asked: Ints, pair: Ints, count: Ints) -> Ints:
    """The counts of some pairs, 0 for those that are not among the ascending ones counted."""
    if not pair.size:
        return np.zeros(asked.size, np.int64)
    place = np.minimum(np.searchsorted(pair, asked), pair.size - 1)
    return np.where(pair[place] == asked, count[place], 0)


def _shown(
    title: Sequence[int],
    words: set[int],
    vocabulary: Sequence[str],
    phrases_of: Mapping[int, list[tuple[int, tuple[int, int]]]],
) -> str:
    """The words of a title; each as its most frequent phrase with another word of the topic, if there is one."""
    parts: list[str] = []
    used: set[int] = set()
    for word in title:
        if word in used:  # in a phrase already
            continue

        others = {other for other in (*title, *used) if other != word}
        free = []
        for count, pair in phrases_of.get(word, ()):
            if not words.issuperset(pair) or not used.isdisjoint(pair):
                continue
            beside = [(k, other) for k in pair for other in others - set(pair)]
            if not any(are_of_one_stem(vocabulary[k], vocabulary[other]) for k, other in beside):
                free.append((count, pair))

        _, phrase = max(free, default=(0, (word,)))
        parts.append(" ".join(vocabulary[k] for k in phrase))
        used.update(phrase)

    return ", ".join(parts)
