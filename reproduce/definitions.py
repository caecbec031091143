"""All experiments by name."""

from __future__ import annotations

from reproduce.differences import DIFFERENCES
from reproduce.experiment import Experiment
from reproduce.few_labels import FEW_LABELS
from reproduce.figure_mnist import FIGURE_MNIST
from reproduce.figure_parameters import FIGURE_PARAMETERS
from reproduce.interpretability import INTERPRETABILITY
from reproduce.scoreboard import SCOREBOARD
from reproduce.small_networks import SMALL_NETWORKS
from reproduce.table3 import TABLE3

__all__ = ["EXPERIMENTS"]

EXPERIMENTS: dict[str, Experiment] = {
    experiment.name: experiment
    for experiment in (
        TABLE3,
        INTERPRETABILITY,
        FIGURE_MNIST,
        FIGURE_PARAMETERS,
        SMALL_NETWORKS,
        FEW_LABELS,
        DIFFERENCES,
        SCOREBOARD,
    )
}
