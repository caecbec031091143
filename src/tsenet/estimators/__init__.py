"""The scikit-learn face: thin estimators over the stages, no maths here. torch is loaded by the first fit."""

from __future__ import annotations

from tsenet.estimators.network import TSENetClassifier, TSENetRegressor
from tsenet.estimators.topic_model import TopicModel
from tsenet.estimators.tree_transformer import LatentTreeTransformer

__all__ = ["LatentTreeTransformer", "TSENetClassifier", "TSENetRegressor", "TopicModel"]
