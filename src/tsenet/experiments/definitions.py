"""All experiments by name."""

from __future__ import annotations

from tsenet.experiments.experiment import Experiment
from tsenet.experiments.figure_mnist import FIGURE_MNIST
from tsenet.experiments.figure_parameters import FIGURE_PARAMETERS
from tsenet.experiments.frontier import FRONTIER
from tsenet.experiments.interpretability import INTERPRETABILITY
from tsenet.experiments.label_efficiency import LABEL_EFFICIENCY
from tsenet.experiments.structure import STRUCTURE
from tsenet.experiments.table3 import TABLE3

__all__ = ["EXPERIMENTS"]

EXPERIMENTS: dict[str, Experiment] = {
    experiment.name: experiment
    for experiment in (
        TABLE3,
        INTERPRETABILITY,
        FIGURE_MNIST,
        FIGURE_PARAMETERS,
        FRONTIER,
        LABEL_EFFICIENCY,
        STRUCTURE,
    )
}
