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
from tsenet.explain.topics import Topic, TopicWord, to_json, to_markdown, topic_tree
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
    "TopicWord",
    "Unit",
    "UnitContribution",
    "Units",
    "WiredNetwork",
    "WordVectors",
    "coherence",
    "correlations",
    "describe_units",
    "explain_prediction",
    "interpretability_score",
    "load_vectors",
    "to_json",
    "to_markdown",
    "topic_diversity",
    "topic_tree",
]
