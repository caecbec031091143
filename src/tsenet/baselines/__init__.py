"""What TSE-Net is compared with (paper §6): dense and pruned networks, other wirings, linear models."""

from __future__ import annotations

from tsenet.baselines.dense import DenseClassifier, DenseRegressor
from tsenet.baselines.grid import hidden_for, paper_grid
from tsenet.baselines.linear import TunedLogisticRegression
from tsenet.baselines.pipelines import (
    chi2_fnn,
    logistic_regression,
    n_parameters,
    ppmi_logistic_regression,
    scaled_logistic_regression,
    svd_logistic_regression,
)
from tsenet.baselines.ppmi import PPMIVectors
from tsenet.baselines.pruning import prune
from tsenet.baselines.two_stage import TwoStage
from tsenet.baselines.wirings import bare_tree, pivot_wiring, random_wiring

__all__ = [
    "DenseClassifier",
    "DenseRegressor",
    "PPMIVectors",
    "TunedLogisticRegression",
    "TwoStage",
    "bare_tree",
    "chi2_fnn",
    "hidden_for",
    "logistic_regression",
    "n_parameters",
    "paper_grid",
    "pivot_wiring",
    "ppmi_logistic_regression",
    "prune",
    "random_wiring",
    "scaled_logistic_regression",
    "svd_logistic_regression",
]
