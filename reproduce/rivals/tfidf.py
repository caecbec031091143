"""``OfTfidf``: a model of tf-idf for rows that are word counts."""

from __future__ import annotations

from typing import Any, Self

from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.feature_extraction.text import TfidfTransformer
from sklearn.utils.validation import check_is_fitted

__all__ = ["OfTfidf"]


class OfTfidf(ClassifierMixin, BaseEstimator):
    """Word counts as (1 + ln count) · idf with rows of length 1, then a classifier of these.

    Parameters
    ----------
    model : classifier
        Its ``fit`` gets ``unlabelled`` too, if that is given here.

    Attributes
    ----------
    model_ : classifier
        Fitted.
    weights_ : TfidfTransformer
        Document frequencies: of ``unlabelled`` if it is given, else of the rows with labels.
    """

    model_: Any
    weights_: TfidfTransformer

    def __init__(self, model: Any) -> None:
        self.model = model

    def fit(self, X: Any, y: Any, unlabelled: Any = None, idf_from: Any = None) -> Self:
        """Fit to counts (N, V) and classes (N,); ``unlabelled`` and ``idf_from`` are counts of all rows."""
        source = X if unlabelled is None and idf_from is None else unlabelled
        source = idf_from if source is None else source
        self.weights_ = TfidfTransformer(sublinear_tf=True).fit(source)
        more = {} if unlabelled is None else {"unlabelled": self.weights_.transform(unlabelled)}
        self.model_ = clone(self.model).fit(self.weights_.transform(X), y, **more)
        self.classes_ = self.model_.classes_
        return self

    def predict(self, X: Any) -> Any:
        """The class of each row: (N,)."""
        check_is_fitted(self)
        return self.model_.predict(self.weights_.transform(X))

    def transform(self, X: Any) -> Any:
        """The features that the classifier reads, where it learns some."""
        check_is_fitted(self)
        return self.model_.transform(self.weights_.transform(X))

    def predict_proba(self, X: Any) -> Any:
        """Probability of each class: (N, classes)."""
        check_is_fitted(self)
        return self.model_.predict_proba(self.weights_.transform(X))
