"""Kernel that divides the words of documents among topics (see :mod:`tsenet.topics.mixture`)."""

from __future__ import annotations

import numpy as np

from tsenet._system.jit import Array, Int, kernel
from tsenet.skeleton.kernels.csr import Csr


@kernel
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
    mixture, total = np.zeros(n_topics), np.empty(n_topics)
    active = np.empty(n_topics, np.int64)
    for row in range(rows.start.size - 1):
        first, last = rows.start[row], rows.start[row + 1]
        n_active = 0
        for e in range(first, last):
            word = rows.items[e]
            for t in range(topics.start[word], topics.start[word + 1]):
                k = topics.items[t]
                if mixture[k] == 0.0:
                    active[n_active] = k
                    n_active += 1
                mixture[k] += weight[word] * topic_of[t]

        for step in range(n_steps):
            is_last = step == n_steps - 1
            for a in range(n_active):
                total[active[a]] = 0.0
                mixture[active[a]] /= size[active[a]]

            for e in range(first, last):
                word = rows.items[e]
                norm = 0.0
                for a in range(n_active):
                    norm += mixture[active[a]] * (counts[word, active[a]] + background[word])

                if norm <= 0.0:
                    continue
                scale = weight[word] / norm
                for a in range(n_active):
                    k = active[a]
                    share = scale * mixture[k] * (counts[word, k] + background[word])
                    total[k] += share
                    if is_last:
                        out[word, k] += share

            best = active[0] if n_active else 0
            for a in range(n_active):
                if total[active[a]] > total[best]:
                    best = active[a]

            n_left = 0
            for a in range(n_active):
                k = active[a]
                if total[k] > sparsity or k == best:
                    mixture[k] = max(total[k] - sparsity, 1e-9)
                    active[n_left] = k
                    n_left += 1
                else:
                    mixture[k] = 0.0

            n_active = n_left

        for a in range(n_active):
            mixture[active[a]] = 0.0
