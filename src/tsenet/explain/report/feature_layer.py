"""The units of the feature layer, which stand above the tree: the skip groups and the group of the top level."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, TypedDict

if TYPE_CHECKING:
    from tsenet.explain.report.graph import Graph
    from tsenet.explain.report.views import TrainedView
    from tsenet.explain.units import Unit

__all__ = ["FeatureLayerView", "feature_layer_view"]


class FeatureLayerView(TypedDict):
    """Units of the feature layer, one entry each."""

    names: list[str]
    reads: list[int]  # the layer that a unit reads: 0 for the inputs
    trained: TrainedView
    rows: list[list[float]]  # flat pairs of row and activation
    effects: list[list[float]]  # flat pairs of class and effect


def feature_layer_view(
    units: Sequence[Unit],
    graph: Graph,
    trained: TrainedView,
    rows: list[list[float]],
    effects: list[list[float]],
) -> FeatureLayerView | None:
    """Collect what is known of the feature layer; None if it has no units."""
    if not units:
        return None
    top = len(graph.layer_sizes) - 1
    groups = [unit.name.partition(".")[0] for unit in units]  # "skip0", "skip1", …, "top"
    return FeatureLayerView(
        names=[unit.name for unit in units],
        reads=[top if group == "top" else int(group.removeprefix("skip")) for group in groups],
        trained=trained,
        rows=rows,
        effects=effects,
    )
