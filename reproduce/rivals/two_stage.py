"""``TwoStage``: features learned from all rows, a classifier from those that have labels."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.utils.validation import check_is_fitted

__all__ = ["TwoStage"]


class TwoStage(ClassifierMixin, BaseEstimator):
    """A transformer and a classifier; the transformer may be fitted on rows without labels too.

    Parameters
    ----------
    transformer : estimator with ``fit`` and ``transform``
        Fitted without labels.
    classifier : estimator with ``fit`` and ``predict``

    Attributes
    ----------
    transformer_, classifier_
        The same, fitted.
    classes_ : ndarray
    """

    classes_: NDArray[Any]

    def __init__(self, transformer: Any, classifier: Any) -> None:
        self.transformer = transformer
        self.classifier = classifier

    def fit(self, X: Any, y: Any, *, unlabelled: Any = None) -> Self:
        """Fit the transformer on ``unlabelled`` rows, then the classifier on the labelled ones.

        Parameters
        ----------
        X : (N, V)
            Rows with labels.
        y : (N,)
        unlabelled : (M, V), optional
            All rows, usually including those of ``X``. Default: ``X``.
        """
        self.transformer_ = clone(self.transformer).fit(X if unlabelled is None else unlabelled)
        self.classifier_ = clone(self.classifier).fit(self.transformer_.transform(X), y)
        self.classes_ = self.classifier_.classes_
        return self

    def predict(self, X: Any) -> NDArray[Any]:
        """The most probable class: (N,)."""
        features = self.transform(X)
        answer: NDArray[Any] = self.classifier_.predict(features)
        return answer

    def predict_proba(self, X: Any) -> NDArray[np.float64]:
        """Probability of each class: (N, classes)."""
        features = self.transform(X)
        shares: NDArray[np.float64] = self.classifier_.predict_proba(features)
        return shares

    def decision_function(self, X: Any) -> NDArray[np.float64]:
        """Scores of the classifier: (N,) for two classes, else (N, classes)."""
        features = self.transform(X)
        scores: NDArray[np.float64] = self.classifier_.decision_function(features)
        return scores

    def transform(self, X: Any) -> Any:
        """The features that the classifier reads."""
        check_is_fitted(self)
        return self.transformer_.transform(X)

    @property
    def n_features_in_(self) -> int:
        """Number of columns V."""
        return int(self.transformer_.n_features_in_)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags
