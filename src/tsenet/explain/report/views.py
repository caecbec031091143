"""What the page shows of each unit: label and features, rows, and shares along a column."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, TypedDict

import numpy as np
from numpy.typing import NDArray

from tsenet.explain.presence import Activity
from tsenet.explain.report.graph import Graph
from tsenet.explain.report.interest import interest, label_of
from tsenet.explain.topics import Topic, every_topic, topic_tree

if TYPE_CHECKING:
    from tsenet.data.table import Table
    from tsenet.explain.bins import Bins
    from tsenet.explain.presence import Presence
    from tsenet.explain.units import Unit
    from tsenet.skeleton.tree import LatentTree

__all__ = [
    "AlongView",
    "RowView",
    "TrainedView",
    "UnitView",
    "along_view",
    "row_view",
    "short",
    "topic_units",
    "trained_units",
    "tree_rows",
    "tree_units",
    "wired_units",
]

_LABEL_WORDS = 3
_CANDIDATES = 20  # words of a topic among which to look for its label
# Shares along a column are whole numbers in units of 1/10,000: short to write, exact enough to draw.
_SHARE_UNIT = 10_000


class UnitView(TypedDict):
    """Units as the tree or the wiring has them, one entry each; ``share`` is empty where it is not known.

    ``features`` is flat: for each feature its node, then one number for each of ``fields``.
    """

    label: list[str]
    share: list[float]
    interest: list[float]  # order of the units: the highest first; empty where it is not known
    fields: list[str]
    features: list[list[float]]


class TrainedView(TypedDict):
    """Units after training, which may differ from the tree: flat triples of node, correlation and weight."""

    label: list[str]
    active: list[float]
    mean: list[float]
    features: list[list[float | None]]


class RowView(TypedDict):
    """Most active rows of a unit, as flat pairs of row and activation; texts, truth and prediction by row number."""

    kind: str
    of: list[list[float]]
    texts: dict[str, str]
    truth: dict[str, str]
    predicted: dict[str, str]


class AlongView(TypedDict):
    """Share of rows in which each unit is on, by bins of a column, in units of 1/10,000."""

    name: str
    kind: str
    bins: list[str]
    counts: list[int]
    of: list[list[int]]


def short(values: Iterable[float], digits: int = 3) -> list[float]:
    """Round to a few significant digits, which keeps the page small."""
    return [float(f"{value:.{digits}g}") for value in np.asarray(values, np.float64).tolist()]


# ---- units


def tree_units(
    tree: LatentTree,
    presence: Presence | None,
    n_features: int,
    titles: Mapping[str, str] | None = None,
    latents: Sequence[str] | None = None,
) -> UnitView:
    """Latents of a tree as units, each called by the words that set it apart.

    Parameters
    ----------
    presence : Presence, optional
        Shares of the rows; default: the model's own.
    titles : mapping of str to str, optional
        Labels by latent name, instead of the words that set a topic apart.
    latents : sequence of str, optional
        Which latents to show, in this order; default: all. A pruned network has some of its tree's only.
    """
    topics = topic_tree(tree, n_words=max(n_features, _CANDIDATES), presence=presence)
    known = {topic.name: topic for topic in every_topic(topics)}
    ordered = [known[name] for name in (tree.latent_names if latents is None else latents)]
    labels = [
        (titles or {}).get(topic.name) or label
        for topic, label in zip(ordered, _labels(tree, ordered), strict=True)
    ]
    return topic_units(tree, ordered, labels, n_features)


def topic_units(
    tree: LatentTree, topics: Sequence[Topic], labels: Sequence[str], n_features: int
) -> UnitView:
    """Topics of a tree with their words, by mutual information, and how often these occur with and without them."""
    number = {name: node for node, name in enumerate(tree.names)}
    features: list[list[float]] = []
    for topic in topics:
        flat: list[float] = []
        for word in topic.words[:n_features]:
            flat += [number[word.word], *short([word.information, word.inside, word.outside])]
        features.append(flat)
    return UnitView(
        label=list(labels),
        share=short([topic.size for topic in topics]),
        interest=short([interest(topic) for topic in topics]),
        fields=["information", "inside", "outside"],
        features=features,
    )


def _labels(tree: LatentTree, topics: Sequence[Topic]) -> list[str]:
    """A label for each topic, of words from different subtopics."""
    place = {name: k for k, name in enumerate(tree.names[: tree.n_observed])}
    # For each level, the node of that level above each word.
    above = [tree.ancestors(level) + tree.layer(level).start for level in range(tree.n_levels)]
    return [
        label_of(
            topic,
            {w.word: tree.names[above[topic.level - 1][place[w.word]]] for w in topic.words},
        )
        for topic in topics
    ]


def wired_units(graph: Graph, n_features: int) -> UnitView:
    """Units known by their links alone: the inputs below each by the weakest link on the way to them."""
    n_inputs = graph.n_inputs
    best: dict[int, list[tuple[float, int]]] = defaultdict(list)
    for node in range(n_inputs):
        weakest, at = np.inf, node
        while graph.parent[at] >= 0:
            weakest = min(weakest, abs(float(graph.strength[at])))
            at = int(graph.parent[at])
            best[at].append((-weakest, node))
    labels: list[str] = []
    features: list[list[float]] = []
    for unit in range(n_inputs, len(graph.names)):
        chosen = sorted(best[unit])[:n_features]
        labels.append(", ".join(graph.names[node] for _, node in chosen[:_LABEL_WORDS]))
        flat: list[float] = []
        for strength, node in chosen:
            flat += [node, *short([-strength])]
        features.append(flat)
    return UnitView(label=labels, share=[], interest=[], fields=["path"], features=features)


def trained_units(units: Sequence[Unit], graph: Graph) -> tuple[TrainedView, list[list[float]]]:
    """Units as the rows activate them, and for each its most active rows, as flat pairs of row and activation."""
    number = {name: node for node, name in enumerate(graph.names[: graph.n_inputs])}
    features: list[list[float | None]] = []
    for unit in units:
        flat: list[float | None] = []
        for feature in unit.features:
            weight = None if feature.weight is None else short([feature.weight])[0]
            flat += [number[feature.name], *short([feature.correlation]), weight]
        features.append(flat)
    rows = [
        [part for row in unit.rows for part in (row.row, *short([row.activation]))]
        for unit in units
    ]
    view = TrainedView(
        label=[unit.label for unit in units],
        active=short([unit.active for unit in units]),
        mean=short([unit.mean for unit in units]),
        features=features,
    )
    return view, rows


# ---- rows


def tree_rows(activity: Activity) -> list[list[float]]:
    """The rows of each topic, as flat pairs of row and P(on | row)."""
    return [
        [
            part
            for row, value in zip(rows.tolist(), probability.tolist(), strict=True)
            if row >= 0
            for part in (row, *short([value]))
        ]
        for rows, probability in zip(activity.rows, activity.probability, strict=True)
    ]


def row_view(
    kind: str,
    of: list[list[float]],
    texts: Sequence[str] | None,
    snippet: int,
    *,
    model: Any = None,
    table: Table | None = None,
    y: Any = None,
) -> RowView:
    """Rows with what is known of those that are shown: a piece of their text, their truth and prediction."""
    shown = sorted({int(row) for flat in of for row in flat[::2]})
    view = RowView(kind=kind, of=of, texts={}, truth={}, predicted={})
    if texts is not None:
        view["texts"] = {str(row): snippet_of(str(texts[row]), snippet) for row in shown}
    if model is None or table is None or not shown:
        return view
    if y is not None:
        view["truth"] = _answers(shown, np.asarray(y)[shown])
    predicted = np.asarray(model.predict(table.take(np.array(shown))))
    view["predicted"] = _answers(shown, predicted)
    return view


def snippet_of(text: str, length: int) -> str:
    """The beginning of a text on one line, cut between words."""
    plain = " ".join(text[: 20 * length].split())
    if len(plain) <= length:
        return plain
    cut = plain[:length]
    return (cut.rpartition(" ")[0] or cut) + " …"


def _answers(rows: list[int], values: NDArray[Any]) -> dict[str, str]:
    """Classes or numbers as text; several labels of a row are not shown, nor are missing ones."""
    if values.ndim != 1:
        return {}
    return {
        str(row): f"{value:.4g}" if isinstance(value, float) else str(value)
        for row, value in zip(rows, values.tolist(), strict=True)
        if value is not None and not (isinstance(value, float) and math.isnan(value))
    }


# ---- along a column


def along_view(name: str, bins: Bins, activity: Activity) -> AlongView | None:
    """Shares of the topics in each bin."""
    if activity.along is None:
        return None
    return AlongView(
        name=name,
        kind=bins.kind,
        bins=list(bins.names),
        counts=list(bins.counts),
        of=np.rint(_SHARE_UNIT * activity.along).astype(int).tolist(),
    )
