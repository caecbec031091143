"""``ByLabel``: one model for each of several labels, for classifiers that know one label at a time."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.utils.validation import check_is_fitted

__all__ = ["ByLabel", "by_label"]


class ByLabel(ClassifierMixin, BaseEstimator):
    """A copy of a classifier for each label, fitted on the rows where that label is known.

    Parameters
    ----------
    model : classifier
        With ``predict_proba``.

    Attributes
    ----------
    models_ : list of classifiers
        One for each label, fitted.
    """

    models_: list[Any]

    def __init__(self, model: Any) -> None:
        self.model = model

    def fit(self, X: Any, y: NDArray[np.float64]) -> Self:
        """Fit on rows (N, V) with labels (N, C): 0, 1, or NaN where one is not known."""
        self.models_ = []
        for label in y.T:
            known = ~np.isnan(label)
            self.models_.append(clone(self.model).fit(X[known], label[known].astype(np.int64)))
        self.classes_ = np.arange(y.shape[1])
        return self

    def predict_proba(self, X: Any) -> NDArray[np.float64]:
        """Probability of each label: (N, C)."""
        check_is_fitted(self)
        return np.column_stack([_of_one(model, X) for model in self.models_])

    def predict(self, X: Any) -> NDArray[np.int64]:
        """Whether each label is more likely than not: (N, C)."""
        return (self.predict_proba(X) > 0.5).astype(np.int64)


def by_label(model: Any, y: NDArray[Any]) -> Any:
    """The model itself for one label or class a row, :class:`ByLabel` of it for several."""
    return ByLabel(model) if y.ndim == 2 else model


def _of_one(model: Any, X: Any) -> NDArray[np.float64]:
    """Probability of class 1: (N,); a model that saw one class is sure of it."""
    shares = model.predict_proba(X)
    if shares.shape[1] == 1:
        return np.full(len(shares), float(model.classes_[0]))
    found: NDArray[np.float64] = shares[:, 1]
    return found
