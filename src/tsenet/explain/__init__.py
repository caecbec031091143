"""What the parts of a model mean: topics of a tree, units of a network, reasons of a prediction, scores.

``tsenet.explain.plots`` draws them, ``tsenet.explain.report`` writes them as one HTML page.
"""

from __future__ import annotations

from tsenet.explain.correlation import correlations
from tsenet.explain.fitted import FittedNetwork, WiredNetwork
from tsenet.explain.prediction import (
    FeatureContribution,
    PredictionExplanation,
    UnitContribution,
    explain_prediction,
)
from tsenet.explain.scores import (
    Coherence,
    Interpretability,
    coherence,
    interpretability_score,
    topic_diversity,
)
from tsenet.explain.topic_files import to_json, to_markdown
from tsenet.explain.topic_view import TopicView, choose_topics, view_topics
from tsenet.explain.topics import Topic, TopicWord, every_topic, topic_tree, with_coherence
from tsenet.explain.units import ActiveRow, Feature, Unit, Units, describe_units
from tsenet.explain.vectors import WordVectors, load_vectors

__all__ = [
    "ActiveRow",
    "Coherence",
    "Feature",
    "FeatureContribution",
    "FittedNetwork",
    "Interpretability",
    "PredictionExplanation",
    "Topic",
    "TopicView",
    "TopicWord",
    "Unit",
    "UnitContribution",
    "Units",
    "WiredNetwork",
    "WordVectors",
    "choose_topics",
    "coherence",
    "correlations",
    "describe_units",
    "every_topic",
    "explain_prediction",
    "interpretability_score",
    "load_vectors",
    "to_json",
    "to_markdown",
    "topic_diversity",
    "topic_tree",
    "view_topics",
    "with_coherence",
]
