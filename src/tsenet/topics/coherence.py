"""NPMI: how often two words occur together, compared with what their frequencies explain."""

from __future__ import annotations

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from tsenet.data.binary import BinaryRows

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]


def npmi(joint: Floats, by_chance: Floats, added: float = 0.0) -> Floats:
    """NPMI of pairs of words: −1 if they never occur together, 0 if they are independent, 1 if never apart.

    Words that are in every window tell nothing of each other: they are independent, and have 0.

    Parameters
    ----------
    joint : float64 (...)
        Share of the windows, such as documents, with both words.
    by_chance : float64 (...)
        The same if the words were independent: the product of the shares of the windows with each.
    added : float, default=0.0
        What to add to ``joint``, for scores that others have defined so; words that never occur together then have
        more than −1.
    """
    together = joint + added
    score = np.full(joint.shape, -1.0)
    score[together >= 1.0] = 0.0
    known = (together > 0.0) & (together < 1.0) & (by_chance > 0.0)
    information = np.log(together[known] / by_chance[known])
    # Rounding and what is added would exceed 1.
    score[known] = np.clip(information / -np.log(together[known]), -1.0, 1.0)
    return score


def mean_of_pairs(scores: Floats) -> float:
    """Mean of a square of scores, (K, K), over the pairs of different words; NaN without any."""
    pairs = scores[np.triu_indices(len(scores), 1)]
    return float(pairs.mean()) if pairs.size else float("nan")


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
        scores[topic] = mean_of_pairs(npmi(joint, np.outer(alone, alone)))
    return scores
