"""Models without a learned structure, ready to fit."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from sklearn.decomposition import NMF, PCA, TruncatedSVD
from sklearn.feature_selection import SelectKBest, chi2
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import Normalizer, StandardScaler

from reproduce.rivals.linear import STRENGTHS, TunedLogisticRegression
from reproduce.rivals.ppmi import PPMIVectors
from reproduce.rivals.two_stage import TwoStage
from tsenet.baselines import DenseClassifier

__all__ = [
    "chi2_fnn",
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


def scaled_logistic_regression(
    n_components: int | None = None, *, scoring: str = "accuracy", random_state: Any = None
) -> TwoStage:
    """Dense columns of mean 0 and deviation 1 over all rows, then logistic regression on the labelled ones.

    Many columns of deviation 1 and few labels need a smaller C than tf-idf: 0.0001 and 0.001 are candidates too.

    Parameters
    ----------
    n_components : int, optional
        Of a principal component analysis of the scaled columns, also by all rows. Default: none.
    scoring : str, default "accuracy"
        As in :class:`TunedLogisticRegression`.
    random_state : int, RandomState or None
    """
    features = [StandardScaler()]
    if n_components is not None:
        features.append(PCA(n_components, random_state=random_state))
    classifier = TunedLogisticRegression(
        strengths=(1e-4, 1e-3, *STRENGTHS), scoring=scoring, random_state=random_state
    )
    return TwoStage(make_pipeline(*features), classifier)


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


def chi2_fnn(n_features: int, hidden: Sequence[int] = (512,), **options: Any) -> Pipeline:
    """The columns with the highest χ² against the classes, then a dense network on them.

    Parameters
    ----------
    n_features : int
        Columns to keep; their values must not be negative.
    hidden, **options
        As for :class:`DenseClassifier`.
    """
    return make_pipeline(SelectKBest(chi2, k=n_features), DenseClassifier(hidden=hidden, **options))
