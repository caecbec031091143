"""How topics divide documents: each topic's own words, and the mixture of topics that explains a document's words best.

A latent is on or off, and many can be on at once. If topics are not nested, a document can also be divided among them:
with φ_k(w), the share of word w among the words of topic k's documents, its shares θ come from ten steps of EM for
Σ_w ln Σ_k θ_k φ_k(w) over the words of the document (plus a small Dirichlet prior), begun with equal shares. The
maximum itself gives all of a document to one of several similar topics, which tells less about it: see decision 17.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from tsenet.data.rows import BinaryRows

__all__ = ["WordProfiles", "document_shares", "word_profiles"]

Floats = NDArray[np.float64]

_TOPICS = 64  # profiles are made of so many topics at a time
_ROWS = 512  # documents are divided in blocks
_STEPS = 10  # more bring the maximum, which tells less about a document
_COUNT = 3.0  # a word counts from so many documents of a topic on
_PRIOR = 1.0  # pseudo-words in each document, spread over the topics


@dataclass(frozen=True)
class WordProfiles:
    """Which words are more or less frequent in the documents of each topic than in all documents.

    Attributes
    ----------
    rate : float64 (V,)
        Share of all documents with each word.
    inside : csr_array (K, V)
        Share of each topic's documents with a word, for the words that are more or less frequent there; corrected for
        the length of these documents, so that it is about ``rate`` for a word that has nothing to do with the topic.
    """

    rate: Floats
    inside: Any

    def distributions(self, topics: NDArray[np.intp]) -> Floats:
        """φ of some topics: (k, V), each row sums to 1."""
        dense = np.repeat(self.rate[None, :], topics.size, axis=0)
        chosen = self.inside[topics].tocoo()
        dense[chosen.row, chosen.col] = chosen.data
        distributions: Floats = dense / dense.sum(axis=1, keepdims=True)
        return distributions


def word_profiles(rows: BinaryRows, posterior: Any) -> WordProfiles:
    """Find the words that tell a topic's documents from others.

    A word is kept if its number of documents in the topic is more than a standard deviation from what the topic's size
    and the lengths of its documents give, and one of the two numbers is at least 3.

    Parameters
    ----------
    rows : BinaryRows
        N documents of V words.
    posterior : csr_array (N, K)
        P(topic on | document).
    """
    present = rows.to_csr().astype(np.float64)
    n_rows = max(rows.n_rows, 1)
    rate: Floats = (rows.counts() + 0.5) / np.float64(n_rows + 1.0)
    by_topic = sp.csc_array(posterior)
    parts = []
    for start in range(0, by_topic.shape[1], _TOPICS):
        block = by_topic[:, start : start + _TOPICS]
        size = np.asarray(block.sum(axis=0)).ravel()  # (k,)
        found = (present.T @ block.toarray()).T  # (k, V): documents of the topic with the word
        length = (found.sum(axis=1) + 1.0) / (
            size * rate.sum() + 1.0
        )  # of documents, 1 is the mean
        weight = (size * length)[:, None]
        expected = weight * rate
        differs = np.abs(found - expected) > np.sqrt(expected)
        differs &= np.maximum(found, expected) >= _COUNT
        share = np.minimum((found + rate) / (weight + 1.0), 1.0)
        parts.append(sp.csr_array(np.where(differs, share, 0.0).astype(np.float32)))
    inside = sp.csr_array(sp.vstack(parts)) if parts else sp.csr_array((0, rows.n_columns))
    inside.sort_indices()
    return WordProfiles(rate, inside)


def document_shares(
    rows: BinaryRows, distributions: Floats, min_share: float = 0.01, *, steps: int = _STEPS
) -> Any:
    """Divide documents among topics.

    Parameters
    ----------
    rows : BinaryRows
        N documents of V words.
    distributions : (k, V)
        φ of each topic.
    min_share : float, default=0.01
        Smaller shares are left out, and the others made to sum to 1.
    steps : int, default=10
        Steps of EM from equal shares.

    Returns
    -------
    csr_array (N, k)
        A document with none of the words is divided equally, as nothing is known about it.
    """
    by_word = np.ascontiguousarray(distributions.T)
    parts = []
    for start in range(0, rows.n_rows, _ROWS):
        block = rows.take(slice(start, min(start + _ROWS, rows.n_rows)))
        likely = by_word[block.indices]  # (nnz, k)
        likely /= likely.max(axis=1, keepdims=True)
        nnz = block.indices.size
        summed = sp.csr_array(
            (np.ones(nnz), np.arange(nnz), block.indptr), shape=(block.n_rows, nnz)
        )
        owner = np.repeat(np.arange(block.n_rows), np.diff(block.indptr))
        share = np.full((block.n_rows, by_word.shape[1]), 1.0 / by_word.shape[1])
        for _ in range(steps):
            part = share[owner] * likely
            part /= part.sum(axis=1, keepdims=True)
            share = summed @ part + _PRIOR / by_word.shape[1]
            share /= share.sum(axis=1, keepdims=True)
        share[(share < min_share) & (share < share.max(axis=1, keepdims=True))] = 0.0
        share /= share.sum(axis=1, keepdims=True)
        parts.append(sp.csr_array(share))
    if not parts:
        return sp.csr_array((0, by_word.shape[1]))
    return sp.csr_array(sp.vstack(parts))
