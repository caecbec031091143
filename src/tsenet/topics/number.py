"""How many topics of level 1 documents have.

A mixture of many more topics than there can be starts from words. Two topics that are one subject are joined, and a
topic whose words do not cohere is joined to the nearest one if the words of both then cohere better.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import scipy.sparse as sp

from tsenet.topics.coherence import npmi
from tsenet.topics.hierarchy import Floats, Ints, TopicHierarchy
from tsenet.topics.parents import profiles
from tsenet.topics.settings import SETTINGS

if TYPE_CHECKING:
    from tsenet.topics.mixture import Mixture

_MIN_LIFT = 0.2  # logarithm of how much more frequent a word of a topic is in it
_FEWEST = 2  # documents of which a topic is the main one


def whole_topics(mixture: Mixture) -> Floats:
    """Expected occurrences of each word in the topics that the documents have: (V, K)."""
    n_seeds = len(mixture.seeds)
    n_documents = mixture.rows.n_rows
    n_start = min(SETTINGS.most_topics, max(2, n_documents // SETTINGS.documents_per_topic))
    n_start = max(n_seeds, min(n_start, mixture.most))
    counts = mixture.passes(mixture.start(n_start), SETTINGS.passes)  # (V, K)

    while counts.shape[1] > max(1, n_seeds):
        into = _Found(mixture.flat(counts), mixture).into(n_seeds)
        topics = np.arange(into.size)
        is_kept = into == topics
        if is_kept.all():
            break

        ones = np.ones(into.size)
        onto = sp.csr_array((ones, (topics, into)), (into.size, into.size))
        counts = mixture.passes((counts @ onto)[:, is_kept], SETTINGS.passes // 4)

    return mixture.passes(counts, SETTINGS.passes // 2)


class _Found:
    """K topics, their words, and how often these U words occur together in documents."""

    def __init__(self, topics: TopicHierarchy, mixture: Mixture) -> None:
        rows = mixture.rows
        n_visible = mixture.n_words
        self.profile, with_topic, self.mass, self.n_main = profiles(topics, rows, n_visible)

        # What each word says about each topic: rate · lift · weight.
        rate = with_topic / np.maximum(self.mass, 1e-12)  # (V, K)
        base = with_topic.sum(axis=1) / max(float(self.mass.sum()), 1e-12)
        lift = np.log(np.maximum(rate, 1e-12) / np.maximum(base, 1e-12)[:, None])
        weight = mixture.weight[:n_visible, None]
        value = np.where(lift > _MIN_LIFT, rate * lift, 0.0) * weight

        # The best words of each topic, as places among the U that are one of any.
        n_words = min(SETTINGS.words, len(value))
        best = np.argpartition(-value, n_words - 1, axis=0)[:n_words]  # (W, K)
        used, places = np.unique(best, return_inverse=True)
        self.value = value[used]  # (U, K)
        self.words: list[Ints] = []
        for k, of_topic in enumerate(places.reshape(best.shape).T):
            self.words.append(of_topic[self.value[of_topic, k] > 0])

        words = rows.first_columns(n_visible)
        documents = sp.csc_array(words.to_csr().astype(np.float32))[:, used]
        self.joint = np.asarray((documents.T @ documents).toarray())  # (U, U)
        self.alone = np.diff(documents.indptr).astype(np.float64)
        self.n_documents = rows.n_rows
        self.is_short = float(np.median(np.diff(words.indptr))) < SETTINGS.short

    def lift(self, first: int, second: int) -> float:
        """How much more often the words of two topics occur together than by chance."""
        one = self.words[first]
        other = self.words[second]
        different = one[:, None] != other[None, :]
        expected = np.outer(self.alone[one], self.alone[other]) / self.n_documents
        joint = self.joint[np.ix_(one, other)]
        return float(joint[different].sum() / max(float(expected[different].sum()), 1e-12))

    def into(self, n_seeds: int) -> Ints:
        """The topic that each becomes: itself, or the nearest, if the two are one subject: (K,).

        They also are if the words of one do not cohere, and those of both do at least as in the mean of the two. No
        topic takes part twice, and topics of seed words are joined to no other.
        """
        into = np.arange(len(self.words))
        cosine = self.profile @ self.profile.T
        np.fill_diagonal(cosine, -1.0)
        nearest = cosine.argmax(axis=1)
        within = np.array([self.lift(k, k) for k in range(into.size)])
        score = np.array([self._coherence(words) for words in self.words])

        # a small topic is junk too, unless it has nothing in common with any other
        is_small = self.n_main < SETTINGS.share * self.n_documents
        is_akin = cosine.max(axis=1) > SETTINGS.kinship
        score[(is_small & is_akin) | (self.n_main < _FEWEST)] = -1.0

        # The least coherent ones first, of equals those most akin to another.
        is_free = np.ones(into.size, bool)
        for a in np.lexsort((-cosine[into, nearest], score)).tolist():
            b = int(nearest[a])
            if not (is_free[a] and is_free[b] and max(a, b) >= n_seeds):
                continue

            is_one = self.lift(a, b) >= SETTINGS.same * min(within[a], within[b]) > 0.0
            if not is_one and score[a] < SETTINGS.coherence:
                is_one = self._coherence(self._words_of_both(a, b)) >= (score[a] + score[b]) / 2
            if is_one:
                into[max(a, b)] = min(a, b)
                is_free[[a, b]] = False

        return into

    def _words_of_both(self, first: int, second: int) -> Ints:
        """The best words of two topics as one."""
        words = np.union1d(self.words[first], self.words[second])
        both = self.value[words][:, [first, second]] @ self.mass[[first, second]]
        return np.asarray(words[np.argsort(-both, kind="stable")[: SETTINGS.words]])

    def _coherence(self, words: Ints) -> float:
        """The mean NPMI of pairs of words that is to be expected in fewer, other documents; −1 for a single word.

        A pair that meets in J documents does not meet at all in a share f of them with the probability exp(−f J). That
        counts as −1, in short documents as 0: most pairs of a topic never meet in documents of five words.
        """
        if words.size < 2:
            return -1.0

        one, other = np.triu_indices(words.size, 1)  # all pairs
        first = words[one]
        second = words[other]
        joint = self.joint[first, second].astype(np.float64)
        share = self.alone / self.n_documents
        together = np.maximum(joint, 1.0) / self.n_documents
        tie = npmi(together, share[first] * share[second])

        missed = np.exp(-SETTINGS.sample * joint)
        of_missed = 0.0 if self.is_short else -1.0
        return float(np.mean((1.0 - missed) * tie + missed * of_missed))
