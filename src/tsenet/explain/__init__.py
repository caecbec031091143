"""What the parts of a model mean: topics of a tree, units of a network, reasons of a prediction, scores, pictures."""

from __future__ import annotations

from tsenet.explain.correlation import correlations
from tsenet.explain.prediction import PredictionExplanation, explain_prediction
from tsenet.explain.scores import coherence, interpretability_score, topic_diversity
from tsenet.explain.topics import Topic, TopicWord, to_json, to_markdown, topic_tree
from tsenet.explain.units import ActiveRow, Feature, Unit, Units, describe_units
from tsenet.explain.vectors import WordVectors, load_vectors

__all__ = [
    "ActiveRow",
    "Feature",
    "PredictionExplanation",
    "Topic",
    "TopicWord",
    "Unit",
    "Units",
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
