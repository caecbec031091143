"""Kernels of topics: one tells which words are tied, one divides the words of documents among topics."""

from __future__ import annotations

import numpy as np

from tsenet._system.jit import Array, Int, sum_kernel
from tsenet.skeleton.kernels.csr import Csr


@sum_kernel
def compare_with_chance(
    joint: Csr,
    seen: Array,
    first: Int,
    n: Array,
    rate: Array,
    by_chance: Array,
    gain: Array,
) -> None:
    """Fill the gain of ties between words: 0 of pairs that occur together once, or no more often than by chance.

    The gain is the deviance of a Poisson count, at most that of a normal one (see :mod:`tsenet.topics.ties`).

    Parameters
    ----------
    joint : the words that each word of a block occurs with.
    seen : float64 (P,), in how many documents each pair of words does.
    first : int, the number of the first word of the block.
    n : float64 (B,), documents of each class of lengths.
    rate : float64 (V, B), how likely each word is in them.
    by_chance, gain : float64 (P,), filled: expected documents of each pair, and the gain of the tie.
    """
    for i in range(joint.start.size - 1):
        own = rate[first + i]
        for p in range(joint.start[i], joint.start[i + 1]):
            gain[p] = 0.0
            if seen[p] < 2.0 or joint.items[p] == first + i:
                continue

            other = rate[joint.items[p]]
            expected, variance = 0.0, 1e-12
            for b in range(n.size):
                both = n[b] * own[b] * other[b]
                expected += both
                variance += both * (1.0 - own[b]) * (1.0 - other[b])

            excess = seen[p] - expected
            by_chance[p] = expected
            if excess > 0.0 and expected > 0.0:
                of_count = seen[p] * np.log(seen[p] / expected) - excess
                gain[p] = min(of_count, excess * excess / (2.0 * variance))


@sum_kernel
def divide_words(
    rows: Csr,
    weight: Array,
    topics: Csr,
    topic_of: Array,
    counts: Array,
    background: Array,
    size: Array,
    sparsity: float,
    n_steps: Int,
    out: Array,
) -> None:
    """Add the expected occurrences of each word in each topic, over all rows, to ``out``.

    The mixture of a row starts from the mean of P(topic | word) over its words. Each EM step then takes ``sparsity``
    occurrences from every topic, so that few topics remain. The work grows with the topics of a row's words, not with
    all of them. P(word | topic) is (counts + background) / size.

    Parameters
    ----------
    rows : N rows of V words.
    weight : float64 (V,), occurrences that each word counts for.
    topics : V rows of the topics that each word starts from.
    topic_of : float64 (their number,), P(topic | word).
    counts : float64 (V, K), occurrences of each word in each topic.
    background : float64 (V,), added to the counts of every topic.
    size : float64 (K,), occurrences in each topic.
    sparsity, n_steps : float, at least 0, and int, at least 1.
    out : float64 (V, K), added to.
    """
    n_topics = counts.shape[1]
    longest = 0
    for row in range(rows.start.size - 1):
        longest = max(longest, rows.start[row + 1] - rows.start[row])

    # how likely a row's words are in the topics that are left, side by side in memory
    likely = np.empty((longest, n_topics))
    mixture, total = np.zeros(n_topics), np.empty(n_topics)
    active = np.empty(n_topics, np.int64)  # the topics that are left
    left = np.empty(n_topics)  # their shares
    for row in range(rows.start.size - 1):
        first, last = rows.start[row], rows.start[row + 1]
        for e in range(first, last):
            word = rows.items[e]
            for t in range(topics.start[word], topics.start[word + 1]):
                mixture[topics.items[t]] += weight[word] * topic_of[t]

        n_active = 0
        for k in range(n_topics):
            if mixture[k] > 0.0:
                active[n_active] = k
                left[n_active] = mixture[k]
                mixture[k] = 0.0
                n_active += 1

        for step in range(n_steps):
            is_last = step == n_steps - 1
            for a in range(n_active):
                total[a] = 0.0
                left[a] /= size[active[a]]

            for e in range(first, last):
                word, of_word = rows.items[e], likely[e - first]
                if step == 0:
                    for a in range(n_active):
                        of_word[a] = counts[word, active[a]] + background[word]

                norm = 0.0
                for a in range(n_active):
                    norm += left[a] * of_word[a]

                if norm <= 0.0:
                    continue
                scale = weight[word] / norm
                for a in range(n_active):
                    total[a] += scale * of_word[a]

                if is_last:
                    for a in range(n_active):
                        out[word, active[a]] += scale * left[a] * of_word[a]

            best = 0
            for a in range(n_active):
                total[a] *= left[a]
                if total[a] > total[best]:
                    best = a

            n_left = 0
            for a in range(n_active):
                if total[a] > sparsity or a == best:
                    left[n_left] = max(total[a] - sparsity, 1e-9)
                    active[n_left] = active[a]
                    if n_left < a:
                        for e in range(last - first):
                            likely[e, n_left] = likely[e, a]
                    n_left += 1

            n_active = n_left
