"""The class as one more latent of the model: words given the class, by EM over rows without labels.

The class is a parent of all words (multinomial naive Bayes). Its states are known on the labelled rows; on the others a
first guess is refined by a few steps of EM (Nigam et al., 2000). The result is linear in the words.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array, diags_array
from scipy.special import softmax

from tsenet.training.linear_fit import Linear

__all__ = ["ClassModel"]

_STEPS = 3
# A row counts as so many words, however long it is: words of a row repeat each other, and a class that is sure of
# every row learns nothing from them.
_SHARPNESS = 3.0
_PSEUDO_COUNT = 0.25  # of a word in every class, in units of a typical entry


class ClassModel:
    """Rows to learn from: all that there are, N × D, sparse and not negative; each brought to length 1."""

    def __init__(self, rows: csr_array) -> None:
        length = np.sqrt(np.asarray(rows.multiply(rows).sum(axis=1), np.float64).ravel())
        scale = np.divide(1.0, length, out=np.zeros_like(length), where=length > 0)
        self.rows: Any = csr_array(diags_array(scale) @ rows)
        self.words: Any = self.rows.T.tocsr()
        self.pseudo = _PSEUDO_COUNT * (float(self.rows.data.mean()) if self.rows.nnz else 1.0)

    def learn(
        self,
        guess: NDArray[np.float64],
        known: NDArray[np.int64],
        classes: NDArray[np.int64],
        left_out: NDArray[np.int64] | None = None,
    ) -> Linear:
        """Refine a guess P(class | row), (N, K), true on the ``known`` rows: log P(word | class) as (D, K).

        Rows that are ``left_out`` have no say: the model errs about them as it does about new rows. Outputs are for
        rows of length 1; those of other rows grow with their length.
        """
        share = guess.copy()
        for _ in range(_STEPS):
            if left_out is not None:
                share[left_out] = 0.0
            share[known] = 0.0
            share[known, classes] = 1.0
            found = self._from_shares(share)
            share = softmax(_SHARPNESS * found(self.rows), axis=1)
        return found

    def _from_shares(self, share: NDArray[np.float64]) -> Linear:
        """The M-step."""
        counts = np.asarray(self.words @ share) + self.pseudo  # (D, K)
        logarithm = np.log(counts) - np.log(counts.sum(axis=0))
        prior = np.log(share.sum(axis=0) + 1.0)
        # Only differences between classes matter: centred, the weights of common words are near 0.
        weight = logarithm - logarithm.mean(axis=1, keepdims=True)
        return Linear(weight, (prior - prior.mean()) / _SHARPNESS)
