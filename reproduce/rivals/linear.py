"""``TunedLogisticRegression``: logistic regression with C chosen by cross-validation."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV, StratifiedKFold, StratifiedShuffleSplit
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted, validate_data

__all__ = ["TunedLogisticRegression"]

STRENGTHS = (0.01, 0.1, 1.0, 10.0, 100.0)
FOLDS = 5
FEWEST_ROWS = 3  # of the rarest class, to be split at all
MANY_ROWS = 20_000  # from here on one held-out tenth is accurate enough
_TYPES = [np.float64, np.float32]


class TunedLogisticRegression(ClassifierMixin, BaseEstimator):
    """Logistic regression whose C is the best of 0.01, 0.1, 1, 10, 100 in cross-validation, by default.

    There are five folds, or as many as the rarest class has rows; with 20,000 rows or more, one tenth of them is held
    out instead. If the rarest class has fewer than three rows, C = 1. Of equally
    good values the smallest is taken. More than two classes: one softmax.

    Parameters
    ----------
    strengths : sequence of float, optional
        Other values of C to choose from, ascending.
    random_state : int, RandomState or None
        Of the folds.

    Attributes
    ----------
    classes_ : ndarray
    model_ : LogisticRegression
        Fitted on all rows with the C chosen.
    n_features_in_ : int
    """

    classes_: NDArray[Any]
    model_: LogisticRegression

    def __init__(
        self,
        *,
        strengths: Sequence[float] | None = None,
        random_state: Any = None,
    ) -> None:
        self.strengths = strengths
        self.random_state = random_state

    def fit(self, X: Any, y: Any) -> Self:
        """Choose C and fit on all rows (N, V), sparse or dense, with classes (N,)."""
        X, y = validate_data(self, X, y, accept_sparse="csr", dtype=_TYPES)
        check_classification_targets(y)
        model = LogisticRegression(C=1.0, max_iter=1000)
        _, counts = np.unique(y, return_counts=True)
        if counts.size > 1 and counts.min() >= FEWEST_ROWS:
            strengths = STRENGTHS if self.strengths is None else self.strengths
            search = GridSearchCV(model, {"C": strengths}, cv=self._split(counts)).fit(X, y)
            self.model_ = search.best_estimator_
        else:
            self.model_ = model.fit(X, y)
        self.classes_ = self.model_.classes_
        return self

    def _split(self, counts: NDArray[np.int64]) -> Any:
        if counts.sum() >= MANY_ROWS:
            return StratifiedShuffleSplit(1, test_size=0.1, random_state=self.random_state)
        folds = min(FOLDS, int(counts.min()))
        return StratifiedKFold(folds, shuffle=True, random_state=self.random_state)

    def predict(self, X: Any) -> NDArray[Any]:
        """The most probable class: (N,)."""
        rows = self._read(X)
        answer: NDArray[Any] = self.model_.predict(rows)
        return answer

    def predict_proba(self, X: Any) -> NDArray[np.float64]:
        """Probability of each class: (N, classes)."""
        rows = self._read(X)
        shares: NDArray[np.float64] = self.model_.predict_proba(rows)
        return shares

    def decision_function(self, X: Any) -> NDArray[np.float64]:
        """Log-odds of the second of two classes (N,), or a score for each of more (N, classes)."""
        rows = self._read(X)
        scores: NDArray[np.float64] = self.model_.decision_function(rows)
        return scores

    def _read(self, X: Any) -> Any:
        check_is_fitted(self)
        return validate_data(self, X, reset=False, accept_sparse="csr", dtype=_TYPES)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags
