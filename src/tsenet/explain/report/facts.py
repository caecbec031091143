"""Facts of a report: the network compared with a dense one, how training went, what the data were."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, TypedDict

import numpy as np

if TYPE_CHECKING:
    from tsenet.data.binary import BinaryRule
    from tsenet.data.table import Table
    from tsenet.explain.presence import Activity
    from tsenet.explain.report.graph import Graph
    from tsenet.network.summary import Summary
    from tsenet.training.history import History

__all__ = [
    "LayerFacts",
    "NetworkFacts",
    "TrainingFacts",
    "data_facts",
    "network_facts",
    "settings_of",
    "training_facts",
]

_SHOWN_NAMES = 12

Fact = tuple[str, str]


class LayerFacts(TypedDict):
    """A layer, and the links a dense one would have."""

    name: str
    units: int
    links: int
    dense: int


class NetworkFacts(TypedDict):
    """A network and the dense one of the same layers; bytes in float32, FLOPs for one row without zeros."""

    layers: list[LayerFacts]
    parameters: int
    denseParameters: int
    bytes: int
    denseBytes: int
    flops: int
    denseFlops: int


class TrainingFacts(TypedDict):
    """The series of a history; None for what is not a finite number."""

    trainLoss: list[float | None]
    validationLoss: list[float | None]
    validationScore: list[float | None]
    learningRate: list[float | None]
    seconds: list[float | None]
    best: int | None
    stopped: str | None


def network_facts(summary: Summary) -> NetworkFacts:
    """Compare a network with the dense network of the same layers."""
    layers = [
        LayerFacts(
            name=row.name, units=row.units, links=row.links, dense=round(row.links / row.share)
        )
        for row in summary.layers
        if row.links
    ]
    more = sum(layer["dense"] - layer["links"] for layer in layers)
    links = sum(layer["links"] for layer in layers)
    return NetworkFacts(
        layers=layers,
        parameters=summary.n_parameters,
        denseParameters=summary.n_parameters + more,
        bytes=4 * summary.n_parameters,
        denseBytes=4 * (summary.n_parameters + more),
        flops=2 * links,
        denseFlops=2 * (links + more),
    )


def training_facts(history: History) -> TrainingFacts:
    """The series, to draw."""
    return TrainingFacts(
        trainLoss=_finite(history.train_loss),
        validationLoss=_finite(history.validation_loss),
        validationScore=_finite(history.validation_score),
        learningRate=_finite(history.learning_rate),
        seconds=_finite(history.seconds),
        best=history.best_epoch,
        stopped=history.stopped,
    )


def _finite(series: tuple[float, ...]) -> list[float | None]:
    return [float(f"{value:.5g}") if math.isfinite(value) else None for value in series]


def data_facts(
    graph: Graph,
    rule: BinaryRule | None,
    table: Table | None,
    source: dict[str, Any] | None,
    nouns: tuple[str, str],
    activity: Activity | None,
) -> list[Fact]:
    """What is known of the data: names and values to show in two columns.

    Parameters
    ----------
    graph : Graph
    rule : BinaryRule or None
        How columns became inputs.
    table : Table or None
        The rows given for the report.
    source : dict or None
        The file's columns that ``tsenet fit`` noted.
    nouns : (str, str)
        What inputs and rows are called, in the plural.
    activity : Activity or None
        What was computed from the rows beforehand.
    """
    inputs, rows = nouns
    facts: list[Fact] = []
    n_rows = activity.n_rows if activity else 0 if table is None else table.n_rows
    if n_rows:
        facts.append((f"{rows.capitalize()} in this report", f"{n_rows:,}"))
    facts.append((inputs.capitalize(), f"{graph.n_inputs:,}"))
    if rule is not None and rule.n_columns_in != graph.n_inputs:
        facts.append(("Columns of the table", f"{rule.n_columns_in:,}"))
    if rule is not None:
        facts += _kinds(rule)
    if table is not None and table.is_sparse:
        n_stored = int(table.values.nnz)
        cells = max(1, table.n_rows * table.n_columns)
        facts.append(("Non-zero cells", f"{n_stored:,} ({100 * n_stored / cells:.3g} %)"))
        facts.append(("Non-zeros per row", f"{n_stored / max(1, table.n_rows):.3g} on average"))
    alone = np.flatnonzero(graph.parent[: graph.n_inputs] < 0).tolist()
    if alone:
        shown = ", ".join(graph.names[k] for k in alone[:_SHOWN_NAMES])
        more = f" and {len(alone) - _SHOWN_NAMES:,} more" if len(alone) > _SHOWN_NAMES else ""
        facts.append((f"{inputs.capitalize()} in no group", f"{len(alone):,}: {shown}{more}"))
    for key, title in (("text", "Column of the text"), ("targets", "Target")):
        value = (source or {}).get(key)
        if value:
            facts.append((title, value if isinstance(value, str) else ", ".join(map(str, value))))
    return facts


def _kinds(rule: BinaryRule) -> list[Fact]:
    """How many columns are read as present or absent, cut at a threshold, or split into categories."""
    category = np.array([levels is not None for levels in rule.levels])
    presence = np.asarray(rule.presence) & ~category
    counts = (
        ("Present or absent", int(presence.sum())),
        ("Numbers cut at a threshold", int((~presence & ~category).sum())),
        ("Categories", int(category.sum())),
    )
    return [(name, f"{count:,} columns") for name, count in counts if count]


def settings_of(model: Any) -> list[Fact]:
    """The estimator's parameters that are plain values, as they were given."""
    if not hasattr(model, "get_params"):
        return []
    params = model.get_params(deep=False)
    return [
        (name, f"{value:g}" if isinstance(value, float) else str(value))
        for name, value in sorted(params.items())
        if isinstance(value, bool | int | float | str)
    ]
