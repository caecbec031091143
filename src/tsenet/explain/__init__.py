"""What the parts of a model mean: topics of a tree, units of a network, reasons of a prediction, scores.

``tsenet.explain.plots`` draws them, ``tsenet.explain.report`` writes them as one HTML page.
"""

from __future__ import annotations

from tsenet.explain.prediction import (
    FeatureContribution,
    PredictionExplainer,
    PredictionExplanation,
    Reason,
    explain_prediction,
)
from tsenet.explain.topic_scores import Coherence, coherence, hierarchy_scores
from tsenet.explain.units import ActiveRow, Feature, Unit, Units, describe_units
from tsenet.topics.describe import topic_tree
from tsenet.topics.listing import to_json, to_markdown, to_text
from tsenet.topics.topic import (
    Topic,
    TopicView,
    TopicWord,
    choose_topics,
    every_topic,
    view_topics,
)

__all__ = [
    "ActiveRow",
    "Coherence",
    "Feature",
    "FeatureContribution",
    "PredictionExplainer",
    "PredictionExplanation",
    "Reason",
    "Topic",
    "TopicView",
    "TopicWord",
    "Unit",
    "Units",
    "choose_topics",
    "coherence",
    "describe_units",
    "every_topic",
    "explain_prediction",
    "hierarchy_scores",
    "to_json",
    "to_markdown",
    "to_text",
    "topic_tree",
    "view_topics",
]
