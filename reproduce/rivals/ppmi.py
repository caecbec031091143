"""``PPMIVectors``: word vectors from co-occurrence in documents, and documents as means of their words."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.utils import check_random_state
from sklearn.utils.extmath import randomized_svd
from sklearn.utils.validation import check_is_fitted, check_non_negative, validate_data

__all__ = ["PPMIVectors", "positive_pmi"]

_WORDS = 1024  # whose counts with all words are in memory at a time


class PPMIVectors(TransformerMixin, BaseEstimator):
    """Documents as weighted means of word vectors that truncated SVD finds in positive pointwise information.

    With n_i of N documents holding word i, and n_ij both words, ``fit`` takes the matrix of
    max(0, ln(n_ij·N / (n_i·n_j))) for i ≠ j, approximates it by U·S·Vᵀ, and takes the rows of U·Sᵖ as vectors
    (Levy, Goldberg & Dagan 2015, at the level of documents). ``transform`` gives Σ_j x_j·v_j / Σ_j x_j, zeros for an
    empty document. No labels are used.

    Parameters
    ----------
    n_components : int
        Length of the vectors; at most the number of words.
    power : float
        p: how much the first directions count for more than the last ones.
    random_state : int, RandomState or None
        Of the randomised SVD.

    Attributes
    ----------
    vectors_ : ndarray (V, n_components)
    n_features_in_ : int
    """

    vectors_: NDArray[np.float64]

    def __init__(
        self, n_components: int = 100, *, power: float = 0.5, random_state: Any = None
    ) -> None:
        self.n_components = n_components
        self.power = power
        self.random_state = random_state

    def fit(self, X: Any, y: Any = None) -> Self:
        """Learn the vectors from documents (N, V), labelled or not; sparse ones stay sparse."""
        matrix = positive_pmi(self._read(X, reset=True))
        left, size, _ = randomized_svd(
            matrix,
            min(self.n_components, matrix.shape[0]),
            n_iter=7,
            random_state=check_random_state(self.random_state),
        )
        self.vectors_ = (left * size**self.power).astype(np.float64)
        return self

    def transform(self, X: Any) -> NDArray[np.float64]:
        """Documents (N, V) as means of their words' vectors: (N, n_components)."""
        check_is_fitted(self)
        documents = self._read(X, reset=False)
        total = np.asarray(documents.sum(axis=1)).ravel()
        sums: NDArray[np.float64] = documents @ self.vectors_
        return sums / np.where(total > 0, total, 1.0)[:, None]

    def _read(self, X: Any, *, reset: bool) -> sp.csr_array:
        given = validate_data(
            self, X, reset=reset, accept_sparse="csr", dtype=[np.float64, np.float32]
        )
        check_non_negative(given, type(self).__name__)
        return sp.csr_array(given)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.input_tags.positive_only = True
        tags.transformer_tags.preserves_dtype = []
        return tags


def positive_pmi(documents: sp.csr_array) -> sp.csr_array:
    """max(0, ln(n_ij·N / (n_i·n_j))) of words i ≠ j that share a document, as float32: (V, V), symmetric."""
    on = sp.csr_array(documents.astype(bool), dtype=np.int32)
    on.eliminate_zeros()
    by_word = on.T.tocsr()
    count = np.diff(by_word.indptr).astype(np.float64)  # (V,)
    blocks = []
    for start in range(0, count.size, _WORDS):
        joint = (by_word[start : start + _WORDS] @ on).tocoo()
        word, other = joint.coords
        value = np.log(joint.data * on.shape[0] / (count[word + start] * count[other]))
        keep = (value > 0) & (word + start != other)
        block = (value[keep].astype(np.float32), (word[keep], other[keep]))
        blocks.append(sp.csr_array(block, shape=joint.shape))
    return sp.csr_array(sp.vstack(blocks, format="csr"))
