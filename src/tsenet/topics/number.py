"""How many topics of level 1 documents have.

A mixture of many more topics than there can be starts from words. Two topics that are one subject are joined, and a
topic that is small or whose words do not cohere is joined to the nearest one if the words of both then cohere better:
the smallest first and few at a time, so that it meets what the others have become. Of what is left, topics whose words
meet in few documents only, such as the cast of one film, join the nearest, too.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import scipy.sparse as sp

from tsenet.topics.coherence import npmi
from tsenet.topics.hierarchy import Bools, Floats, Ints, TopicHierarchy
from tsenet.topics.parents import profiles
from tsenet.topics.ranking import WordMass, word_fit
from tsenet.topics.settings import SETTINGS

if TYPE_CHECKING:
    from tsenet.topics.mixture import Mixture

_FEWEST = 2  # documents of which a topic is the main one
# Topics that are joined at once because they are small or do not cohere, as a share of all. If all are, half of 300
# topics are joined to what is nearest before there is anything to be near to: NMI of newsgroups falls by .015.
_AT_ONCE = 0.15
_LEAST_SHARE = 0.0005  # of the documents that a topic leads: less is shown as 0.0 %


def whole_topics(mixture: Mixture) -> Floats:
    """Expected occurrences of each word in the topics that the documents have: (V, K)."""
    n_seeds = len(mixture.seeds)
    n_documents = mixture.rows.n_rows
    n_start = min(SETTINGS.most_topics, max(2, n_documents // SETTINGS.documents_per_topic))
    n_start = max(n_seeds, min(n_start, mixture.most))
    counts = mixture.passes(mixture.start(n_start), SETTINGS.passes)  # (V, K)

    while counts.shape[1] > max(1, n_seeds):
        found = FoundTopics(mixture.flat(counts), mixture)
        topics = np.arange(len(found.words))
        into = found.into(n_seeds)
        if np.array_equal(into, topics):
            into = found.sources_into(n_seeds)
        is_kept = into == topics
        if is_kept.all():
            break

        ones = np.ones(into.size)
        onto = sp.csr_array((ones, (topics, into)), (into.size, into.size))
        counts = mixture.passes((counts @ onto)[:, is_kept], SETTINGS.passes // 4)

    counts = mixture.passes(counts, SETTINGS.passes // 2)

    # What leads hardly any document is of no use to readers.
    n_main = profiles(mixture.flat(counts), mixture.rows, mixture.n_words)[3]
    is_kept = n_main >= max(1.0, _LEAST_SHARE * n_documents)
    is_kept[:n_seeds] = True
    return counts[:, is_kept] if is_kept.any() else counts


class FoundTopics:
    """K topics, their words, and how often these U words occur together in documents."""

    def __init__(self, topics: TopicHierarchy, mixture: Mixture) -> None:
        rows = mixture.rows
        n_visible = mixture.n_words
        self.profile, with_topic, self.mass, self.n_main = profiles(topics, rows, n_visible)

        # What each word says about each topic.
        documents = sp.csc_array(rows.first_columns(n_visible).to_csr().astype(np.float32))
        words_of = WordMass(documents, with_topic, self.mass)
        value = word_fit(topics, words_of, topics.levels[0]) * mixture.weight[:n_visible, None]

        # The best words of each topic, as places among the U that are one of any.
        n_words = min(SETTINGS.words, len(value))
        best = np.argpartition(-value, n_words - 1, axis=0)[:n_words]  # (W, K)
        used, places = np.unique(best, return_inverse=True)
        self.value = value[used]  # (U, K)
        self.words: list[Ints] = []
        for k, of_topic in enumerate(places.reshape(best.shape).T):
            self.words.append(of_topic[self.value[of_topic, k] > 0])

        self.documents = documents[:, used]  # (N, U)
        self.joint = np.asarray((self.documents.T @ self.documents).toarray())  # (U, U)
        self.alone = np.diff(self.documents.indptr).astype(np.float64)
        self.n_documents = rows.n_rows
        self.is_short = (
            float(np.median(np.diff(rows.first_columns(n_visible).indptr))) < SETTINGS.short
        )
        self.cosine = self.profile @ self.profile.T
        np.fill_diagonal(self.cosine, -1.0)

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
        nearest = self.cosine.argmax(axis=1)
        within = np.array([self.lift(k, k) for k in range(into.size)])
        score = np.array([self._coherence(words) for words in self.words])

        # a small topic is junk too, unless it has nothing in common with any other
        fewest = max(SETTINGS.share * self.n_documents, SETTINGS.documents_per_topic)
        is_small = (self.n_main < fewest) & self.is_akin
        is_small |= self.n_main < _FEWEST
        score[is_small] = -1.0

        # The smallest come first, then the least coherent, of equals those most akin to another.
        size = np.where(is_small, self.n_main, self.n_documents)
        is_free = np.ones(into.size, bool)
        n_left = max(1, round(_AT_ONCE * into.size))
        for a in np.lexsort((-self.cosine[into, nearest], score, size)).tolist():
            b = int(nearest[a])
            if not (is_free[a] and is_free[b] and max(a, b) >= n_seeds):
                continue

            is_one = self.lift(a, b) >= SETTINGS.same * max(within[a], within[b]) > 0.0
            if not is_one and score[a] < SETTINGS.coherence and n_left:
                is_one = self._coherence(self._words_of_both(a, b)) >= (score[a] + score[b]) / 2
                n_left -= is_one
            if is_one:
                into[max(a, b)] = min(a, b)
                is_free[[a, b]] = False

        return into

    @property
    def is_akin(self) -> Bools:
        """Which topics have something in common with another: (K,)."""
        return np.asarray(self.cosine.max(axis=1) > SETTINGS.kinship)

    def sources_into(self, n_seeds: int) -> Ints:
        """The topic that each becomes, where those whose words meet in few documents become the nearest: (K,).

        Of documents with p pairs of a topic's words, (Σ p)² / Σ p² hold them: as many as there are, if all hold as
        many pairs; few, if the pairs are those of a few documents, whatever others have one of the words.
        """
        member = np.zeros((self.alone.size, len(self.words)), np.float32)
        for k, words in enumerate(self.words):
            member[words, k] = 1.0

        n_words = self.documents @ member  # (N, K)
        pairs = n_words * (n_words - 1.0) / 2.0
        holders = pairs.sum(axis=0) ** 2 / np.maximum((pairs**2).sum(axis=0), 1e-12)

        into = np.arange(len(self.words))
        is_source = (holders < SETTINGS.source * self.n_documents) & self.is_akin
        is_source[:n_seeds] = False
        few = np.argsort(np.where(is_source, holders, np.inf), kind="stable")
        few = few[: min(int(is_source.sum()), max(1, round(_AT_ONCE * into.size)))]

        others = self.cosine.copy()
        others[:, few] = -2.0
        others[:, :n_seeds] = -2.0
        if few.size + n_seeds < into.size:
            into[few] = others[few].argmax(axis=1)
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
