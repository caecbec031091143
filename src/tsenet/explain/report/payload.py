"""A fitted model as the plain data that the report page shows: numbers and strings only, as JSON holds them.

Nodes are numbered layer by layer, inputs first, so that a list with one entry per *unit* starts after the inputs. Lists
of pairs are flat, ``[node, value, node, value, …]``: a page holds thousands of them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypedDict

import numpy as np

from tsenet.data.table import Table
from tsenet.errors import DataError
from tsenet.explain.bins import Bins, bins_of
from tsenet.explain.fitted import WiredNetwork, rule_of
from tsenet.explain.presence import Activity, topic_activity
from tsenet.explain.report import facts
from tsenet.explain.report.classes import ClassView, class_view
from tsenet.explain.report.feature_layer import FeatureLayerView, feature_layer_view
from tsenet.explain.report.graph import (
    Graph,
    graph_of_topics,
    graph_of_tree,
    graph_of_wiring,
)
from tsenet.explain.report.linear_skip import direct_effects
from tsenet.explain.report.views import (
    AlongView,
    RowView,
    TrainedView,
    UnitView,
    along_view,
    row_view,
    short,
    topic_units,
    trained_units,
    tree_rows,
    tree_units,
    wired_units,
)
from tsenet.explain.topics import Topic, every_topic
from tsenet.progress import Progress, as_progress
from tsenet.skeleton.tree import LatentTree

if TYPE_CHECKING:
    from tsenet.progress import ProgressCallback

__all__ = ["Payload", "ReportOptions", "report_payload"]


class LinkView(TypedDict):
    """Added links that are shown, and of how many."""

    perUnit: int
    perNode: int
    of: list[list[float]]  # for each unit, flat pairs of lower node and strength
    nBelow: list[int]  # for each unit, how many there are
    nAbove: list[int]  # for each node, how many units it feeds by added links


class Payload(TypedDict):
    """The data of a page; None for what the model alone, without rows, does not tell.

    The fields, in camel case as JavaScript has them, are those of the JSON block in the page.

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> from tsenet import learn_tree
    >>> from tsenet.explain.report import report_payload
    >>> payload = report_payload(learn_tree(load_digits().data[:300], random_state=0))
    >>> payload["kind"], payload["rows"] is None
    ('tree', True)
    """

    format: str
    formatVersion: int
    tsenet: str
    title: str
    kind: str  # "classifier", "regressor" or "tree"
    nouns: dict[str, list[str]]
    layers: list[int]
    names: list[str]
    parent: list[int]
    strength: list[float]
    strengthKind: str  # "weight" or "log-odds"
    links: LinkView | None
    units: UnitView
    trained: TrainedView | None
    featureLayer: FeatureLayerView | None
    rows: RowView | None
    classes: ClassView | None
    along: AlongView | None
    network: facts.NetworkFacts | None
    training: facts.TrainingFacts | None
    data: list[tuple[str, str]]
    settings: list[tuple[str, str]]


@dataclass(frozen=True)
class ReportOptions:
    """How much a report shows.

    Parameters
    ----------
    title : str, optional
        Title of the page; default: the kind of model.
    n_features : int, default=10
        Features listed for each unit.
    n_rows : int, default=5
        Rows listed for each unit; more rows make a larger file.
    links_per_unit : int, default=40
        Added links kept: the strongest from each unit down. Lower it for a smaller file.
    links_per_node : int, default=10
        Added links kept: the strongest from each node up.
    snippet : int, default=240
        Characters shown of a row's text.
    words : bool, optional
        Whether to call inputs words and rows documents. Default: yes if texts are given or the model was fitted on a
        column of texts.
    titles : mapping of str to str, optional
        Labels by latent name, to show instead of the words that set a topic apart.

    Raises
    ------
    DataError
        If a number is below 1.

    Examples
    --------
    >>> from tsenet.explain.report import ReportOptions
    >>> ReportOptions(title="Digits", n_rows=3).n_rows
    3
    """

    title: str | None = None
    n_features: int = 10
    n_rows: int = 5
    links_per_unit: int = 40
    links_per_node: int = 10
    snippet: int = 240
    words: bool | None = None
    titles: Mapping[str, str] | None = None

    def __post_init__(self) -> None:
        for name in ("n_features", "n_rows", "links_per_unit", "links_per_node", "snippet"):
            if getattr(self, name) < 1:
                raise DataError(f"{name} must be at least 1, not {getattr(self, name)}")


@dataclass(frozen=True)
class _Given:
    """The rows that came with the request, checked against each other."""

    table: Table | None
    y: Any
    texts: Sequence[str] | None
    bins: Bins | None
    along_name: str
    options: ReportOptions
    activity: Activity | None = None


def report_payload(
    model: Any,
    X: Any = None,
    y: Any = None,
    *,
    texts: Sequence[str] | None = None,
    along: Sequence[Any] | Bins | None = None,
    along_name: str = "label",
    topics: Sequence[Topic] | None = None,
    activity: Activity | None = None,
    options: ReportOptions | None = None,
    progress: Progress | ProgressCallback | bool | None = None,
) -> Payload:
    """Collect what a report shows.

    Parameters
    ----------
    model : LatentTree, LatentTreeTransformer, TSENetClassifier or TSENetRegressor
        A tree, or a fitted estimator: any ``WiredNetwork``, or an estimator whose ``tree_`` is a LatentTree.
    X : table (N, V), optional
        Rows from which to compute how active each unit is, with which features and in which rows. Without them the page
        shows only what the model holds.
    y : array-like, optional
        Targets of the rows, for the score and the number of rows of each class.
    texts : sequence of str, optional
        What to show of each row. The page quotes it.
    along : sequence or Bins, optional
        A date, label or number for each row; only for trees, whose topics are then shown along it.
    along_name : str, default="label"
        What ``along`` is called on the page.
    topics : sequence of Topic, optional
        Topics of the tree to show, nested; default: all latents.
    activity : Activity, optional
        What :func:`tsenet.explain.presence.topic_activity` computed for the tree's latents in the rows, with the bins
        of ``along``. Without it, it is computed from ``X``; with it, ``X`` may be left out.
    options : ReportOptions, optional
        How much to show.
    progress : None, bool, Progress or callable, default=None
        How to report progress: True draws a bar, a callable gets ``(stage, done, total)``, None is silent.

    Returns
    -------
    Payload
        A dict that ``json.dumps`` can write.

    Raises
    ------
    DataError
        If rows, texts and the rest do not have the same length, or texts or ``along`` come without rows.

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> from tsenet import learn_tree
    >>> from tsenet.explain.report import ReportOptions, report_payload
    >>> tree = learn_tree(load_digits().data[:300], random_state=0)
    >>> report_payload(tree, options=ReportOptions(title="Digits"))["title"]
    'Digits'
    """
    rule = model.rule if isinstance(model, LatentTree) else rule_of(model)
    table = None
    if X is not None:
        table = Table.of(X, missing=True, columns=None if rule is None else rule.names_in)
    given = _check(table, y, texts, along, along_name, options or ReportOptions(), activity)
    with as_progress(progress) as report:
        if isinstance(model, WiredNetwork):
            return _network_payload(model, given, report)
        tree = model if isinstance(model, LatentTree) else getattr(model, "tree_", None)
        if not isinstance(tree, LatentTree):
            raise DataError(f"a report needs a fitted model or a tree, not {type(model).__name__}")
        return _tree_payload(model, tree, topics, given, report)


def _check(
    table: Table | None,
    y: Any,
    texts: Sequence[str] | None,
    along: Any,
    along_name: str,
    options: ReportOptions,
    activity: Activity | None,
) -> _Given:
    n_rows = activity.n_rows if activity else None if table is None else table.n_rows
    along = along.of_row if isinstance(bins := along, Bins) else along
    for name, values in (("y", y), ("texts", texts), ("along", along)):
        if values is None:
            continue
        if n_rows is None:
            raise DataError(f"{name} belongs to rows: give them as X too")
        # Not np.shape: it would make one wide array of all the texts.
        n_values = values.shape[0] if hasattr(values, "shape") else len(values)
        if n_values != n_rows:
            raise DataError(f"X has {n_rows} rows, but {name} has {n_values}")
    if along is not None and not isinstance(bins, Bins):
        bins = bins_of(list(along))
    return _Given(table, y, texts, bins, along_name, options, activity)


def _tree_payload(
    model: Any, tree: LatentTree, topics: Sequence[Topic] | None, given: _Given, progress: Progress
) -> Payload:
    options, activity = given.options, given.activity
    if activity is None and given.table is not None and tree.n_levels:
        rows = tree.binary(given.table)
        activity = topic_activity(
            tree, rows, n_best=options.n_rows, bins=given.bins, progress=progress
        )
    graph = graph_of_tree(tree) if topics is None else graph_of_topics(tree, topics)
    payload = _plain_payload(model, graph, tree.rule, given, _nouns(given, model, "topic"))
    if topics is None:
        presence = None if activity is None else activity.presence
        payload["units"] = tree_units(tree, presence, options.n_features, options.titles)
    else:
        by_name = {topic.name: topic for topic in every_topic(topics)}
        ordered = [by_name[name] for name in graph.names[graph.n_inputs :]]
        labels = [topic.title for topic in ordered]
        payload["units"] = topic_units(tree, ordered, labels, options.n_features)
        if activity is not None:
            column = {name: k for k, name in enumerate(tree.latent_names)}
            activity = activity.of([column[topic.name] for topic in ordered])
    _add_rows(payload, activity, given)
    return payload


def _add_rows(payload: Payload, activity: Activity | None, given: _Given) -> None:
    """Add the rows of each topic, and its shares along a column."""
    if activity is None:
        return
    rows = tree_rows(activity)
    payload["rows"] = row_view("posterior", rows, given.texts, given.options.snippet)
    if given.bins is not None:
        payload["along"] = along_view(given.along_name, given.bins, activity)


def _network_payload(model: WiredNetwork, given: _Given, progress: Progress) -> Payload:
    if given.bins is not None:
        raise DataError(
            "along shows the topics of a tree: for a network give the labels as y, "
            "or make the report of its tree_"
        )
    options = given.options
    graph = graph_of_wiring(
        model.wiring_, model.net_, options.links_per_unit, options.links_per_node
    )
    nouns = _nouns(given, model, "unit")
    payload = _plain_payload(model, graph, model.binary_rule_, given, nouns)
    payload["kind"] = "classifier" if hasattr(model, "classes_") else "regressor"
    payload["links"] = _link_view(graph, options)
    payload["network"] = facts.network_facts(model.net_.summary())
    if model.history_.n_epochs:
        payload["training"] = facts.training_facts(model.history_)
    else:
        payload["data"].append(("Training", "no epochs: the first weights were kept"))
    tree = model.tree_
    payload["units"] = (
        tree_units(
            tree,
            None,
            options.n_features,
            titles=options.titles,
            latents=graph.names[graph.n_inputs :],
        )
        if tree is not None and tree.n_levels
        else wired_units(graph_of_wiring(model.wiring_, model.net_), options.n_features)
    )
    if given.table is None:
        return payload
    from tsenet.explain.units import describe_units

    found = describe_units(
        model,
        given.table,
        n_features=options.n_features,
        n_rows=options.n_rows,
        feature_names=graph.names[: graph.n_inputs],
        order="signed",
        progress=progress,
    )
    latents = [found.latent(name) for name in graph.names[graph.n_inputs :]]
    features = found.level(len(graph.layer_sizes))
    payload["trained"], rows = trained_units(latents, graph)
    trained, feature_rows = trained_units(features, graph)
    known = {"model": model, "table": given.table, "y": given.y}
    shown = row_view("activation", [*rows, *feature_rows], given.texts, options.snippet, **known)
    payload["rows"] = RowView(**{**shown, "of": rows})
    multilabel = np.ndim(model.predict(given.table.take(slice(0, 1)))) == 2
    view, feature_effects = class_view(
        latents,
        features,
        direct_effects(model, given.table),
        model,
        graph,
        given.y,
        names=found.class_names,
        multilabel=multilabel,
    )
    payload["classes"] = view
    payload["featureLayer"] = feature_layer_view(
        features, graph, trained, feature_rows, feature_effects
    )
    if given.y is not None:
        measure = "Accuracy" if payload["kind"] == "classifier" else "R²"
        score = f"{float(model.score(given.table, given.y)):.4g}"
        payload["data"].insert(1, (f"{measure} on these {payload['nouns']['row'][1]}", score))
    return payload


def _plain_payload(
    model: Any, graph: Graph, rule: Any, given: _Given, nouns: dict[str, list[str]]
) -> Payload:
    """What every model has."""
    from tsenet import __version__

    plural = nouns["input"][1], nouns["row"][1]
    return Payload(
        format="tsenet-explorer",
        formatVersion=1,
        tsenet=__version__,
        title=given.options.title or type(model).__name__,
        kind="tree",
        nouns=nouns,
        layers=list(graph.layer_sizes),
        names=list(graph.names),
        parent=graph.parent.tolist(),
        strength=short(graph.strength),
        strengthKind=graph.kind,
        links=None,
        units=UnitView(label=[], share=[], interest=[], fields=[], features=[]),
        trained=None,
        featureLayer=None,
        rows=None,
        classes=None,
        along=None,
        network=None,
        training=None,
        data=facts.data_facts(
            graph, rule, given.table, getattr(model, "source_", None), plural, given.activity
        ),
        settings=facts.settings_of(model),
    )


def _nouns(given: _Given, model: Any, units: str) -> dict[str, list[str]]:
    """What inputs, rows and units are called, singular and plural."""
    words = given.options.words
    if words is None:
        words = given.texts is not None or bool((getattr(model, "source_", None) or {}).get("text"))
    input_, row = ("word", "document") if words else ("input", "row")
    return {
        key: [noun, f"{noun}s"] for key, noun in (("input", input_), ("row", row), ("unit", units))
    }


def _link_view(graph: Graph, options: ReportOptions) -> LinkView | None:
    """Added links by unit, as flat pairs."""
    added = graph.added
    if added is None:
        return None
    n_inputs = graph.n_inputs
    of: list[list[float]] = [[] for _ in graph.names[n_inputs:]]
    strength = short(added.strength)
    for unit, lower, value in zip(added.unit.tolist(), added.lower.tolist(), strength, strict=True):
        of[unit - n_inputs] += [lower, value]
    return LinkView(
        perUnit=options.links_per_unit,
        perNode=options.links_per_node,
        of=of,
        nBelow=added.n_below[n_inputs:].tolist(),
        nAbove=added.n_above.tolist(),
    )
