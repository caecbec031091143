"""``EMNaiveBayes``: multinomial naive Bayes that also learns from rows without labels (Nigam et al. 2000)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Self

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from scipy.special import softmax
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils.validation import check_is_fitted

from reproduce.rivals.folds import folds_of

__all__ = ["EMNaiveBayes"]

Floats = NDArray[np.float64]
_ITERATIONS = 20
_TOLERANCE = 1e-3  # mean change of a row's posterior at which EM ends


class EMNaiveBayes(ClassifierMixin, BaseEstimator):
    """Multinomial naive Bayes, fitted by EM to rows with and without labels.

    A row without a label counts with a weight λ between 0 and 1 (Nigam, McCallum, Thrun & Mitchell 2000, §5.3). λ and
    the smoothing α are those with the best accuracy in cross-validation on the labelled rows; of equals, the first.
    Without unlabelled rows it is plain naive Bayes.

    Parameters
    ----------
    weights : sequence of float, default=(0.1, 0.3, 1.0, 0.01, 0.0)
        Candidates for λ.
    alphas : sequence of float, default=(0.1, 1.0)
        Candidates for α, added to every word count.
    random_state : int or None, default=None
        Of the folds.

    Attributes
    ----------
    classes_ : ndarray
    weight_, alpha_ : float
        What was chosen.
    feature_log_prob_ : ndarray (classes, V)
    class_log_prior_ : ndarray (classes,)
    """

    classes_: NDArray[Any]
    weight_: float
    alpha_: float
    feature_log_prob_: Floats
    class_log_prior_: Floats

    def __init__(
        self,
        *,
        weights: Sequence[float] = (0.1, 0.3, 1.0, 0.01, 0.0),
        alphas: Sequence[float] = (0.1, 1.0),
        random_state: int | None = None,
    ) -> None:
        self.weights = weights
        self.alphas = alphas
        self.random_state = random_state

    def fit(self, X: Any, y: Any) -> Self:
        """Fit to word counts (N, V), sparse or dense, with classes (N,); −1 marks rows without a label."""
        rows, y = sp.csr_array(X, dtype=np.float64), np.asarray(y)
        known = y != -1
        labelled, unlabelled = rows[np.flatnonzero(known)], rows[np.flatnonzero(~known)]
        self.classes_, code = np.unique(y[known], return_inverse=True)
        shares = np.eye(self.classes_.size)[code]
        weights = self.weights if unlabelled.shape[0] else (0.0,)
        candidates = [(weight, alpha) for weight in weights for alpha in self.alphas]
        cv = folds_of(code, self.random_state)
        scores = np.zeros(len(candidates))
        if cv is not None and len(candidates) > 1:
            for kept, held in cv.split(labelled, code):
                for k, (weight, alpha) in enumerate(candidates):
                    model = _em(labelled[kept], shares[kept], unlabelled, weight, alpha)
                    guess = _joint(labelled[held], *model).argmax(axis=1)
                    scores[k] += np.count_nonzero(guess == code[held])
        self.weight_, self.alpha_ = candidates[int(scores.argmax())]
        found = _em(labelled, shares, unlabelled, self.weight_, self.alpha_)
        self.feature_log_prob_, self.class_log_prior_ = found
        return self

    def predict(self, X: Any) -> NDArray[Any]:
        """The most probable class: (N,)."""
        found: NDArray[Any] = self.classes_[self.predict_proba(X).argmax(axis=1)]
        return found

    def predict_proba(self, X: Any) -> Floats:
        """Probability of each class: (N, classes)."""
        check_is_fitted(self)
        joint = _joint(sp.csr_array(X), self.feature_log_prob_, self.class_log_prior_)
        shares: Floats = softmax(joint, axis=1)
        return shares


def _em(
    labelled: Any, shares: Floats, unlabelled: Any, weight: float, alpha: float
) -> tuple[Floats, Floats]:
    """ln P(word | class) and ln P(class) after EM from the labelled rows; ``shares`` (N, C) are their classes."""
    words, sizes = (labelled.T @ shares).T, shares.sum(axis=0)
    model = _estimates(words, sizes, alpha)
    if weight == 0.0 or not unlabelled.shape[0]:
        return model
    before = np.zeros((unlabelled.shape[0], sizes.size))
    for _ in range(_ITERATIONS):
        posterior = softmax(_joint(unlabelled, *model), axis=1)
        added = (unlabelled.T @ posterior).T
        model = _estimates(words + weight * added, sizes + weight * posterior.sum(axis=0), alpha)
        if np.abs(posterior - before).sum(axis=1).mean() < _TOLERANCE:
            break
        before = posterior
    return model


def _estimates(words: Floats, sizes: Floats, alpha: float) -> tuple[Floats, Floats]:
    smooth = words + alpha
    with np.errstate(divide="ignore"):  # a class without rows in a fold has probability 0
        return np.log(smooth / smooth.sum(axis=1, keepdims=True)), np.log(sizes / sizes.sum())


def _joint(rows: Any, feature_log_prob: Floats, class_log_prior: Floats) -> Floats:
    joint: Floats = rows @ feature_log_prob.T + class_log_prior
    return joint
