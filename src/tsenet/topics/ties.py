"""Ties of words: how much more often they occur together than the lengths of the documents explain."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Self

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from tsenet.data.binary import BinaryRows
from tsenet.data.scaling import unit_rows
from tsenet.skeleton.kernels.csr import Csr
from tsenet.topics.hierarchy import Floats
from tsenet.topics.settings import SETTINGS

# Documents are counted by length, with this many classes for each factor of e: each is 13 % longer than the last.
_BINS_PER_E = 8
_NEWTON_STEPS = 12  # enough for the full precision of a float
_BLOCK_WORDS = 128  # compared with all words at a time
_CONTRADICTED = 2.5  # standard deviations below the expected number of documents
_ITSELF = 0.3  # a word's tie to itself, as a share of the length of its other ties


@dataclass(frozen=True, eq=False)
class WordTies:
    """How words are tied to each other, and what each tells.

    Attributes
    ----------
    counts : int64 (V,)
        Documents of each word.
    weight : float64 (V,)
        The deviance of a word's ties for each of its occurrences, in proportion to that of the upper quarter of the
        words, at most 1, its root. Words of general language are tied a little to everything, and have low weights.
    tie : csr_array (V, V)
        Logarithms of observed over expected documents, a few added to both, of the pairs that occur together
        significantly more often than expected.
    """

    counts: Floats
    weight: Floats
    tie: sp.csr_array

    @classmethod
    def of(cls, rows: BinaryRows) -> Self:
        """Measure the ties of the words of documents."""
        from tsenet.topics.topic_kernels import compare_with_chance  # numba: for those who learn

        documents = sp.csr_array(rows.to_csr().astype(np.float64))
        by_word = sp.csr_array(documents.T)
        by_class, n_of_class = _rates(rows)  # (B, V), (B, 1)
        rate = np.ascontiguousarray(by_class.T)
        n = n_of_class.ravel()
        deviance = np.zeros(rows.n_columns)
        parts = []

        for start in range(0, rows.n_columns, _BLOCK_WORDS):
            words = slice(start, min(start + _BLOCK_WORDS, rows.n_columns))
            # Documents with each of these words and each other one, where there are any: seen, and by chance.
            joint = sp.csr_array(by_word[words] @ documents)  # (W, V)
            pairs = Csr(joint.indptr.astype(np.int64), joint.indices.astype(np.int32, copy=False))
            by_chance = np.empty(joint.nnz)
            gain = np.empty(joint.nnz)
            compare_with_chance(pairs, joint.data, start, n, rate, by_chance, gain)

            # Pairs that clearly occur together more often than by chance.
            is_tied = gain > SETTINGS.gain
            i = np.repeat(np.arange(joint.shape[0]), np.diff(joint.indptr))[is_tied]
            j = joint.indices[is_tied]
            deviance[words] = np.bincount(i, weights=gain[is_tied] - 2.0, minlength=joint.shape[0])

            ratio = (joint.data[is_tied] + SETTINGS.prior) / (by_chance[is_tied] + SETTINGS.prior)
            tie = np.log(ratio).astype(np.float32)
            parts.append(sp.csr_array((tie, (i, j)), shape=joint.shape))

        per_occurrence = deviance / np.maximum(rows.counts(), 1)
        positive = per_occurrence[per_occurrence > 0]
        scale = np.quantile(positive, SETTINGS.upper_words) if positive.size else 1.0
        weight = np.sqrt(np.minimum(1.0, per_occurrence / scale))
        weight = np.maximum(weight, SETTINGS.least_weight)
        return cls(rows.counts().astype(np.float64), weight, sp.csr_array(sp.vstack(parts)))

    @cached_property
    def is_tied(self) -> NDArray[np.bool_]:
        """Which words are tied to others: bool (V,)."""
        return np.asarray(np.diff(self.tie.indptr) > 0)

    @cached_property
    def n_tied(self) -> int:
        """Number of words that are tied to others."""
        return int(self.is_tied.sum())

    def directions(self) -> sp.csr_array:
        """Ties of each word to frequent words, itself among them, as vectors of length 1: csr_array (V, V)."""
        size = np.sqrt(self.weight * self.counts)
        rows = sp.diags_array(size) @ self.tie @ sp.diags_array(size)
        length = np.sqrt(np.asarray(rows.multiply(rows).sum(axis=1)).ravel())
        return sp.csr_array(unit_rows(sp.csr_array(rows + sp.diags_array(_ITSELF * length))))


def contradicted(rows: BinaryRows, seeds: Sequence[int]) -> list[int]:
    """The seed words of a topic that occur with the others in significantly fewer documents than by chance."""
    documents = sp.csc_array(rows.to_csr().astype(np.float64))[:, list(seeds)]
    joint = (documents.T @ documents).toarray()
    rate, n = _rates(rows)
    rate = rate[:, list(seeds)]
    expected = (n * rate).T @ rate
    np.fill_diagonal(joint, 0.0)
    np.fill_diagonal(expected, 0.0)
    lacking = expected.sum(axis=1) - joint.sum(axis=1)
    is_lacking = lacking > _CONTRADICTED * np.sqrt(expected.sum(axis=1))
    return [word for word, lacks in zip(seeds, is_lacking.tolist(), strict=True) if lacks]


def _rates(rows: BinaryRows) -> tuple[Floats, Floats]:
    """How likely words are in documents of a length if they depend on nothing else: (B, V), and the documents (B, 1).

    A word w is in a document of n words with the probability 1 − exp(−λ n), where λ makes the number of its documents
    right. It is not the rate among the documents of that length: many copies of one text would then explain each other.
    """
    length = np.maximum(np.diff(rows.indptr), 1)
    bin_of = np.round(_BINS_PER_E * np.log(length)).astype(np.int64)
    n = np.bincount(bin_of).astype(np.float64)
    mean_length = np.bincount(bin_of, length) / np.maximum(n, 1.0)
    mean_length, n = mean_length[n > 0][:, None], n[n > 0][:, None]

    total = np.clip(rows.counts(), 0.5, rows.n_rows - 0.5)
    slope = total / (n * mean_length).sum()
    for _ in range(_NEWTON_STEPS):  # convex: from below the steps never go too far
        missing = n * np.exp(-slope * mean_length)  # (B, V)
        error = total - (rows.n_rows - missing.sum(axis=0))
        slope = slope + error / (mean_length * missing).sum(axis=0)
    return 1.0 - np.exp(-slope * mean_length), n
