"""How likely documents are in a hierarchy of topics."""

from __future__ import annotations

import numpy as np
import scipy.sparse as sp

from tsenet.data.binary import BinaryRows
from tsenet.errors import DataError
from tsenet.topics.hierarchy import Floats, TopicHierarchy


def log_likelihood(hierarchy: TopicHierarchy, word_share: Floats, rows: BinaryRows) -> float:
    """Mean log-probability of the words of one half of documents, given the words of the other half.

    A word w of a document d has the probability Σ_k a_dk φ_kw + (1 − Σ_k a_dk) β_w. φ_k are the words of topic k of
    level 1, β those of all documents, and a_dk is the share of topic k among the document's other words, of which one
    more is taken to belong to no topic, as it is for the strengths of topics.

    Parameters
    ----------
    hierarchy : TopicHierarchy
    word_share : float64 (V,)
        Share of the documents of the fit with each word.
    rows : BinaryRows
        Documents.

    Raises
    ------
    DataError
        If no document has two known words.
    """
    told, asked = _halves(rows)
    if not asked.nnz:
        raise DataError("no document has two words that the model knows: there is nothing to score")

    lowest = hierarchy.levels[0]
    topics = hierarchy.of_words(word_share.size).counts[:, lowest].toarray()  # (V, K)
    topics /= np.maximum(topics.sum(axis=0), 1e-12)
    background = np.maximum(word_share, 1e-12)
    background = background / background.sum()  # (V,)

    total, start = 0.0, 0
    for block, shares in hierarchy.evidence(told):
        weight = block @ hierarchy.weight
        amount = shares[:, lowest] * (weight / (weight + 1.0))[:, None]  # (B, K)
        words = asked[start : start + block.shape[0]].tocoo()
        of_topics = (amount[words.row] * topics[words.col]).sum(axis=1)
        rest = 1.0 - amount.sum(axis=1)
        total += float(np.log(of_topics + rest[words.row] * background[words.col]).sum())
        start += block.shape[0]

    return float(total / asked.nnz)


def _halves(rows: BinaryRows) -> tuple[BinaryRows, sp.csr_array]:
    """Every other word of each document, beginning with the first, and the others."""
    matrix = sp.csr_array(rows.to_csr().astype(np.float64))
    place = np.arange(matrix.nnz) - np.repeat(matrix.indptr[:-1], np.diff(matrix.indptr))
    halves = []
    for rest in (0, 1):
        half = matrix.copy()
        half.data = (place % 2 == rest).astype(np.float64)
        half.eliminate_zeros()
        halves.append(half)
    return BinaryRows.of_csr(halves[0]), halves[1]
