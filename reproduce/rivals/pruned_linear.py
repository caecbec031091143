"""``PrunedLogisticRegression``: logistic regression on the columns with the largest weights."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils.validation import check_is_fitted

from reproduce.rivals.linear import TunedLogisticRegression

__all__ = ["PrunedLogisticRegression"]


class PrunedLogisticRegression(ClassifierMixin, BaseEstimator):
    """Logistic regression whose columns with the smallest weights are removed, and which is fitted again.

    Parameters
    ----------
    n_parameters : int
        Weights and biases that may be left; at least one column stays.
    random_state : int or None
        Of the folds that choose C.

    Attributes
    ----------
    columns_ : int64 (k,)
        The columns that are left.
    model_ : TunedLogisticRegression
        Fitted to them.
    """

    columns_: NDArray[np.int64]
    model_: TunedLogisticRegression

    def __init__(self, n_parameters: int, random_state: int | None = None) -> None:
        self.n_parameters = n_parameters
        self.random_state = random_state

    def fit(self, X: Any, y: Any) -> Self:
        """Fit to rows (N, V) with classes (N,)."""
        whole = TunedLogisticRegression(random_state=self.random_state).fit(X, y)
        weights = whole.model_.coef_  # (C, V)
        n_outputs = weights.shape[0]
        n_kept = min(max(1, (self.n_parameters - n_outputs) // n_outputs), weights.shape[1])
        size = np.square(weights).sum(axis=0)
        self.columns_ = np.sort(np.argsort(-size, kind="stable")[:n_kept])
        kept = TunedLogisticRegression(random_state=self.random_state)
        self.model_ = kept.fit(X[:, self.columns_], y)
        self.classes_ = self.model_.classes_
        return self

    def predict(self, X: Any) -> Any:
        """The class of each row: (N,)."""
        check_is_fitted(self)
        return self.model_.predict(X[:, self.columns_])

    def predict_proba(self, X: Any) -> Any:
        """Probability of each class: (N, classes)."""
        check_is_fitted(self)
        return self.model_.predict_proba(X[:, self.columns_])
