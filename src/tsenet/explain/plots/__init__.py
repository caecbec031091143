"""Plots of models and results with matplotlib (extra ``plot``): each draws on one Axes and returns it."""

from __future__ import annotations

from tsenet.explain.plots.calibration import Calibration, calibration_of, plot_calibration
from tsenet.explain.plots.pixel_plot import (
    PALETTE,
    connected_share,
    group_colours,
    pixel_groups,
    plot_pixel_groups,
)
from tsenet.explain.plots.receptive_field import plot_receptive_field
from tsenet.explain.plots.results import (
    frontier_of,
    plot_frontier,
    plot_history,
    plot_parameters,
)
from tsenet.explain.plots.tree_plot import plot_tree

__all__ = [
    "PALETTE",
    "Calibration",
    "calibration_of",
    "connected_share",
    "frontier_of",
    "group_colours",
    "pixel_groups",
    "plot_calibration",
    "plot_frontier",
    "plot_history",
    "plot_parameters",
    "plot_pixel_groups",
    "plot_receptive_field",
    "plot_tree",
]
