"""Models without a learned structure, ready to fit."""

from __future__ import annotations

from typing import Any

from sklearn.decomposition import NMF, TruncatedSVD
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import Normalizer, StandardScaler

from reproduce.rivals.linear import STRENGTHS, TunedLogisticRegression
from reproduce.rivals.ppmi import PPMIVectors
from reproduce.rivals.two_stage import TwoStage

__all__ = [
    "logistic_regression",
    "nmf_logistic_regression",
    "ppmi_logistic_regression",
    "scaled_logistic_regression",
    "svd_logistic_regression",
]


def logistic_regression(random_state: Any = None) -> TunedLogisticRegression:
    """Logistic regression on the columns unchanged (tf-idf, for example); C by cross-validation.

    How C is chosen, and what it is when there are too few rows: :class:`TunedLogisticRegression`.
    """
    return TunedLogisticRegression(random_state=random_state)


def scaled_logistic_regression(random_state: Any = None) -> TwoStage:
    """Dense columns of mean 0 and deviation 1 over all rows, then logistic regression on the labelled ones.

    Many columns of deviation 1 and few labels need a smaller C than tf-idf: 0.0001 and 0.001 are candidates too.
    """
    strengths = (1e-4, 1e-3, *STRENGTHS)
    classifier = TunedLogisticRegression(strengths=strengths, random_state=random_state)
    return TwoStage(StandardScaler(), classifier)


def svd_logistic_regression(n_components: int = 100, *, random_state: Any = None) -> TwoStage:
    """Truncated SVD of all rows, brought to length 1, then logistic regression on the labelled ones.

    Rows are brought to length 1, and columns are not brought to deviation 1: that would weight the last component like
    the first, which costs many points when labels are few (docs/guide/reproduce.md).
    """
    svd = TruncatedSVD(n_components, random_state=random_state)
    return TwoStage(make_pipeline(svd, Normalizer()), logistic_regression(random_state))


def nmf_logistic_regression(n_components: int = 100, *, random_state: Any = None) -> TwoStage:
    """Topics of all rows by non-negative matrix factorization, then logistic regression on their weights."""
    topics = NMF(n_components, init="nndsvda", tol=1e-3, max_iter=200, random_state=random_state)
    return TwoStage(topics, logistic_regression(random_state))


def ppmi_logistic_regression(n_components: int = 100, *, random_state: Any = None) -> TwoStage:
    """Word vectors learned from all rows, documents as their means, then logistic regression on the labelled ones.

    See :class:`PPMIVectors`. The documents are centred and brought to length 1, for the same reason as in
    :func:`svd_logistic_regression`.
    """
    vectors = PPMIVectors(n_components, random_state=random_state)
    features = make_pipeline(vectors, StandardScaler(with_std=False), Normalizer())
    return TwoStage(features, logistic_regression(random_state))
