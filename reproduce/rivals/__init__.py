"""Models that TSE-Net is compared with, beside :mod:`tsenet.baselines`: linear models, PPMI vectors, pivot wirings."""

from __future__ import annotations

from reproduce.rivals.by_label import ByLabel, by_label
from reproduce.rivals.em_bayes import EMNaiveBayes
from reproduce.rivals.linear import TunedLogisticRegression
from reproduce.rivals.parameters import n_parameters
from reproduce.rivals.pipelines import (
    logistic_regression,
    nmf_logistic_regression,
    ppmi_logistic_regression,
    scaled_logistic_regression,
    svd_logistic_regression,
)
from reproduce.rivals.pivots import pivot_wiring
from reproduce.rivals.ppmi import PPMIVectors
from reproduce.rivals.pruned_linear import PrunedLogisticRegression
from reproduce.rivals.semi_supervised import SelfTraining, StartAlone
from reproduce.rivals.tfidf import OfTfidf
from reproduce.rivals.two_stage import TwoStage

__all__ = [
    "ByLabel",
    "EMNaiveBayes",
    "OfTfidf",
    "PPMIVectors",
    "PrunedLogisticRegression",
    "SelfTraining",
    "StartAlone",
    "TunedLogisticRegression",
    "TwoStage",
    "by_label",
    "logistic_regression",
    "n_parameters",
    "nmf_logistic_regression",
    "pivot_wiring",
    "ppmi_logistic_regression",
    "scaled_logistic_regression",
    "svd_logistic_regression",
]
