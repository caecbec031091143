"""The number of parameters of any model; a file of its own, as every stored run depends on it."""

from __future__ import annotations

from typing import Any

from sklearn.decomposition import NMF, PCA, TruncatedSVD
from sklearn.ensemble import HistGradientBoostingClassifier, RandomForestClassifier
from sklearn.feature_selection import SelectKBest
from sklearn.linear_model import LogisticRegression
from sklearn.naive_bayes import ComplementNB
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import Normalizer, StandardScaler
from sklearn.svm import LinearSVC
from sklearn.utils.validation import check_is_fitted

from reproduce.rivals.by_label import ByLabel
from reproduce.rivals.em_bayes import EMNaiveBayes
from reproduce.rivals.linear import TunedLogisticRegression
from reproduce.rivals.ppmi import PPMIVectors
from reproduce.rivals.pruned_linear import PrunedLogisticRegression
from reproduce.rivals.semi_supervised import SelfTraining
from reproduce.rivals.tfidf import OfTfidf
from reproduce.rivals.two_stage import TwoStage

__all__ = ["n_parameters"]

#: Steps that only choose or rescale columns: as with the scaling in TSE-Net, nothing of them is counted.
_WITHOUT_PARAMETERS = (SelectKBest, Normalizer, StandardScaler)


def n_parameters(model: Any) -> int:
    """Number of learned parameters of a fitted model: weights and biases, components of an SVD, word vectors.

    It accepts the models of this package, tsenet's estimators, pipelines of them, and scikit-learn's boosted trees and
    forests (a threshold for each split, a value for each leaf). Scaling and the selection of columns are not counted.

    Raises
    ------
    TypeError
        For any other model.
    """
    if isinstance(model, Pipeline):
        return sum(n_parameters(step) for _, step in model.steps)
    if isinstance(model, _WITHOUT_PARAMETERS) or model in (None, "passthrough"):
        return 0
    check_is_fitted(model)
    if hasattr(model, "n_parameters_"):  # tsenet's networks, sparse and dense
        return int(model.n_parameters_)
    if isinstance(model, ByLabel):
        return sum(n_parameters(one) for one in model.models_)
    if isinstance(model, TwoStage):
        return n_parameters(model.transformer_) + n_parameters(model.classifier_)
    if isinstance(
        model, OfTfidf | SelfTraining | PrunedLogisticRegression | TunedLogisticRegression
    ):
        return n_parameters(model.model_)
    if isinstance(model, EMNaiveBayes | ComplementNB):
        return int(model.feature_log_prob_.size)
    if isinstance(model, LogisticRegression | LinearSVC):
        return int(model.coef_.size + model.intercept_.size)
    if isinstance(model, NMF | PCA | TruncatedSVD):
        return int(model.components_.size)
    if isinstance(model, PPMIVectors):
        return int(model.vectors_.size)
    if isinstance(model, HistGradientBoostingClassifier):
        # scikit-learn has no public way to its trees
        return sum(len(tree.nodes) for stage in model._predictors for tree in stage)
    if isinstance(model, RandomForestClassifier):
        return sum(int(tree.tree_.node_count) for tree in model.estimators_)
    raise TypeError(f"the parameters of a {type(model).__name__} cannot be counted")
