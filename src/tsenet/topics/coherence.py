"""NPMI: how often two words occur together, compared with what their frequencies explain."""

from __future__ import annotations

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from tsenet.data.binary import BinaryRows

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

#: Added to joint probabilities before a logarithm, as gensim does.
EPSILON = 1e-12


def npmi(
    joint: Floats, first: Floats, second: Floats, epsilon: float = EPSILON, always: float = 0.0
) -> Floats:
    """NPMI of pairs of words, (K, L), from the shares of windows with both, with the first and with the second.

    ``epsilon`` is added to the former; pairs that are in every window have ``always``, words that are in none 0. Words
    that never occur without each other have 1, which rounding and ``epsilon`` would exceed.
    """
    expected = np.outer(first, second)
    together = joint + epsilon
    score = np.full(joint.shape, always)
    with np.errstate(divide="ignore"):
        information = np.log(together / expected)
    np.divide(information, -np.log(together), out=score, where=joint < 1.0)
    return np.where(expected > 0, np.clip(score, -1.0, 1.0), 0.0)


def topic_coherence(words: Ints, rows: BinaryRows) -> Floats:
    """Mean NPMI of the pairs of words of each topic in whole documents, NaN for fewer than two that occur: (L,).

    Parameters
    ----------
    words : int64 (L, W)
        Words of the topics; −1 where there are fewer.
    rows : BinaryRows
        Documents.
    """
    documents = sp.csc_array(rows.to_csr().astype(np.float64))
    occurs = np.append(np.diff(documents.indptr) > 0, False)
    scores = np.full(len(words), np.nan)
    for topic, of_topic in enumerate(words):
        known = of_topic[occurs[of_topic]]
        if known.size < 2:
            continue
        joint = (documents[:, known].T @ documents[:, known]).toarray() / rows.n_rows  # (W, W)
        alone = np.diagonal(joint)
        scores[topic] = npmi(joint, alone, alone)[np.triu_indices(known.size, 1)].mean()
    return scores
