"""A model as the plain data that the page shows: numbers and strings only, as JSON holds them.

The payload is a dict with these entries, in camel case as JavaScript has them; None for what is not known:

- ``format``, ``formatVersion``, ``tsenet`` (its version), ``title``, ``kind`` (``"classifier"``, ``"regressor"`` or
  ``"tree"``), ``nouns`` (what inputs, rows and units are called, singular and plural)
- ``layers`` (sizes, inputs first), ``names``, ``parent``, ``strength``, ``strengthKind``, ``links``: the nodes and
  links (:class:`tsenet.explain.report.views.Graph`)
- ``nRows``: number of rows
- ``units``: label, share, coherence, kinship with the parent and features of each unit, as the tree or the wiring has
  them
- ``trained``: label, active, mean and features of each unit, as the rows activate the trained network
- ``rows``: the most active rows of each unit as flat pairs of row and activation (``of``), and by row number ``texts``,
  ``truth`` and ``predicted``
- ``classes``: effects of units and inputs on the outputs
- ``documents``: the lowest topics of some rows, as flat pairs of node and strength (``of``), with their numbers
  (``rows``) and ``texts``, None without
- ``along``: share of the rows of each bin in which each topic is present, in units of 1/10,000
- ``network``, ``training``: compared with a dense network; the series of the history
- ``data``, ``settings``: pairs of a name and a text to show
"""

from __future__ import annotations

import math
import re
from collections import defaultdict
from collections.abc import Sequence, Set
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from tsenet.data.table import Table
from tsenet.errors import DataError
from tsenet.explain.bins import Bins, bins_of, shares_of_bins
from tsenet.explain.report import views
from tsenet.explain.report.views import Graph, short
from tsenet.explain.units import Unit, describe_units, is_network, rule_of, table_for, tree_of
from tsenet.progress import Progress, as_progress
from tsenet.topics.describe import TopicDescription, describe_tree
from tsenet.topics.presence import PRESENT, presence, shares, strongest_rows, tree_strengths
from tsenet.topics.topic import Topic

if TYPE_CHECKING:
    from tsenet.data.binary import BinaryRule
    from tsenet.network.tsenet import TSENet
    from tsenet.progress import ProgressCallback
    from tsenet.training.history import History

Payload = dict[str, Any]
Fact = tuple[str, str]

_SHOWN_OUTLIERS = 10  # rows without a topic whose numbers are listed
_SHOWN_NAMES = 12
_SNIPPET = 320  # characters shown of a row's text
# Rows on the map of documents, the topics of each that draw it, and characters of its text: 200 KB of a page.
_MAPPED_ROWS = 1_000
_MAPPED_TOPICS = 3
_MAPPED_TEXT = 140
# Shares along a column are whole numbers in units of 1/10,000: short to write, exact enough to draw.
_SHARE_UNIT = 10_000


@dataclass(frozen=True)
class _Request:
    """A model, and the rows to describe it by, checked against each other."""

    model: Any
    table: Table | None
    y: Any
    texts: Sequence[str] | None
    bins: Bins | None
    along_name: str
    title: str | None
    n_features: int
    n_rows: int
    words: bool | None
    kinship: Any = None

    @property
    def source(self) -> dict[str, Any]:
        """The columns of the file that ``tsenet fit`` noted."""
        return getattr(self.model, "source_", None) or {}


def report_payload(
    model: Any,
    X: Any = None,
    y: Any = None,
    *,
    texts: Sequence[str] | None = None,
    along: Sequence[Any] | None = None,
    along_name: str = "label",
    description: TopicDescription | None = None,
    topics: Sequence[Topic] | None = None,
    strengths: Any = None,
    kinship: Any = None,
    title: str | None = None,
    n_features: int = 10,
    n_rows: int = 5,
    words: bool | None = None,
    progress: Progress | ProgressCallback | bool | None = None,
) -> Payload:
    """Collect what a report shows; the parameters are those of :func:`tsenet.explain.report.write_report`.

    Parameters
    ----------
    model : LatentTree, LatentTreeTransformer, TSENetClassifier or TSENetRegressor
    X : table (N, V), optional
    y : array-like, optional
    texts : sequence of str, optional
    along : sequence, optional
    along_name : str, default="label"
    description : TopicDescription, optional
    topics : sequence of Topic, optional
    strengths : csr_array (N, L), optional
    kinship : array-like (L,), optional
    title : str, optional
    n_features : int, default=10
    n_rows : int, default=5
    words : bool, optional
    progress : None, bool, Progress or callable, default=None

    Returns
    -------
    dict
        As ``json.dumps`` can write it; its entries are described in ``tsenet/explain/report/payload.py``.

    Raises
    ------
    DataError
        If rows, texts and the rest do not have the same length, texts or ``along`` come without rows, ``kinship`` has
        not one finite number for each topic, or a number is below 1.

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> from tsenet import learn_tree
    >>> from tsenet.explain.report import report_payload
    >>> tree = learn_tree(load_digits().data[:300], random_state=0)
    >>> payload = report_payload(tree, title="Digits")
    >>> payload["title"], payload["kind"], payload["rows"] is None
    ('Digits', 'tree', True)
    """
    if min(n_features, n_rows) < 1:
        raise DataError(f"n_features and n_rows must be at least 1, not {n_features} and {n_rows}")

    table = None if X is None else table_for(model, X)
    for name, values in (("y", y), ("texts", texts), ("along", along)):
        if values is None:
            continue
        if table is None:
            raise DataError(f"{name} belongs to rows: give them as X too")
        # Not np.shape: it would make one wide array of all the texts.
        n_values = values.shape[0] if hasattr(values, "shape") else len(values)
        if n_values != table.n_rows:
            raise DataError(f"X has {table.n_rows} rows, but {name} has {n_values}")

    request = _Request(
        model=model,
        table=table,
        y=y,
        texts=texts,
        bins=None if along is None else bins_of(list(along)),
        along_name=along_name,
        title=title,
        n_features=n_features,
        n_rows=n_rows,
        words=words,
        kinship=kinship,
    )

    with as_progress(progress) as report:
        if is_network(model):
            return _network_payload(request, report)
        if description is None:
            description, strengths = _described_tree(model, request, strengths, report)
        return _topics_payload(request, description, topics or description.topics(), strengths)


def _described_tree(
    model: Any, request: _Request, strengths: Any, progress: Progress
) -> tuple[TopicDescription, Any]:
    """The topics of a tree, and their strengths in the rows, if there are any."""
    tree = tree_of(model)
    if request.table is None or not tree.n_levels:
        return describe_tree(tree, n_words=request.n_features), None

    rows = tree.binary(request.table)
    if strengths is None:
        strengths = tree_strengths(tree, rows, progress)
    described = describe_tree(tree, rows, strengths=strengths, n_words=request.n_features)
    return described, strengths


def _topics_payload(
    request: _Request, described: TopicDescription, topics: Sequence[Topic], strengths: Any
) -> Payload:
    """Topics, whatever they come from; ``strengths`` are those in the rows of the request."""
    graph = views.graph_of_topics(described, topics)
    payload = _common(request, graph, "topic")
    ids = graph.names[graph.n_inputs :]
    units = views.topic_units(described, topics, ids, request.n_features)
    payload["units"] = units
    if request.kinship is not None:
        kinship = _checked_kinship(request.kinship, len(described.ids))
        units["kinship"] = views.kinship_shown(graph, described, kinship)
    if strengths is None:
        return payload

    outliers = np.setdiff1d(np.arange(strengths.shape[0]), presence(strengths)[0])
    if outliers.size:
        nouns = payload["nouns"]["row"]
        shown = ", ".join(f"{row:,}" for row in outliers[:_SHOWN_OUTLIERS].tolist())
        more = outliers.size - _SHOWN_OUTLIERS
        shown += f" and {more:,} more" if more > 0 else ""
        title = f"{nouns[1].capitalize()} without a topic (outliers)"
        payload["data"].append((title, f"{outliers.size:,}: {nouns[outliers.size > 1]} {shown}"))

    column = {name: k for k, name in enumerate(described.ids)}
    columns = [column[name] for name in ids]
    units["share"] = short(shares(strengths)[columns])

    # The strongest rows of each topic, and the words for which they are shown.
    rows, strength = strongest_rows(strengths, request.n_rows)  # (L, R) each
    of = []
    for k in columns:
        pairs = zip(rows[k].tolist(), strength[k].tolist(), strict=True)
        of.append(views.flat((row, value) for row, value in pairs if row >= 0))
    words = []
    for features in units["features"]:
        nodes = features[::4]  # each is followed by three numbers
        words.append({graph.names[node].lower() for node in nodes})

    payload["rows"] = {
        "kind": "strength",
        "of": of,
        "texts": _excerpts(request.texts, of, words),
        "truth": {},
        "predicted": {},
    }
    payload["documents"] = _documents(request, graph, strengths[:, columns], words)
    if request.bins is not None:
        along = shares_of_bins(strengths, request.bins)[columns]
        payload["along"] = {
            "name": request.along_name,
            "kind": request.bins.kind,
            "bins": list(request.bins.names),
            "counts": list(request.bins.counts),
            "of": np.rint(_SHARE_UNIT * along).astype(int).tolist(),
        }
    return payload


def _checked_kinship(kinship: Any, n_topics: int) -> NDArray[np.float64]:
    """One finite number for each topic of the description."""
    values = np.asarray(kinship, np.float64)
    if values.shape != (n_topics,):
        raise DataError(
            f"kinship must have a number for each of the {n_topics} topics: its shape is {values.shape}"
        )
    is_finite = np.isfinite(values)
    if not is_finite.all():
        first = np.flatnonzero(~is_finite)[0]
        raise DataError(f"kinship must be finite: it is not for topic {first}")
    return values


def _network_payload(request: _Request, progress: Progress) -> Payload:
    """A network: its nodes and links, its tree, and with rows what these make of its units."""
    if request.kinship is not None:
        raise DataError("kinship is that of topics: leave it out for a network")
    if request.bins is not None:
        raise DataError(
            "along shows the topics of a tree: for a network give the labels as y, "
            "or make the report of its tree_"
        )

    model = request.model
    graph = views.graph_of_wiring(model.wiring_, model.net_)
    payload = _common(request, graph, "unit")
    payload["kind"] = "classifier" if hasattr(model, "classes_") else "regressor"
    payload["links"] = graph.links
    payload["network"] = _network_facts(model.net_)
    if model.history_.n_epochs:
        payload["training"] = _training_facts(model.history_)
    else:
        payload["data"].append(("Training", "no epochs: the initial weights were kept"))

    latent_names = graph.names[graph.n_inputs :]
    tree = model.tree_
    if tree is not None and tree.n_levels:
        described = describe_tree(tree, n_words=request.n_features)
        payload["units"] = views.topic_units(
            described, described.topics(), latent_names, request.n_features
        )
    else:
        payload["units"] = {
            "label": list(latent_names),
            "share": [],
            "coherence": [],
            "kinship": [],
            "fields": [],
            "features": [[] for _ in latent_names],
        }

    if request.table is not None:
        _add_rows_of_network(payload, request, request.table, graph, progress)
    return payload


def _add_rows_of_network(
    payload: Payload, request: _Request, table: Table, graph: Graph, progress: Progress
) -> None:
    """Add what rows tell about the units of a network, and what it answers for them."""
    model = request.model
    y = request.y
    units = describe_units(
        model,
        table,
        n_features=request.n_features,
        n_rows=request.n_rows,
        feature_names=graph.names[: graph.n_inputs],
        order="signed",
        progress=progress,
    )
    latents = [units[name] for name in graph.names[graph.n_inputs :]]
    payload["trained"], of = views.trained_units(latents, graph)
    if not payload["units"]["fields"]:  # without a tree, known by what training made of them
        payload["units"]["label"] = payload["trained"]["label"]
    payload["classes"] = _classes(request, table, graph, latents, units.class_names)

    shown = sorted({int(row) for flat in of for row in flat[::2]})
    predicted = model.predict(table.take(np.array(shown))) if shown else []
    payload["rows"] = {
        "kind": "activation",
        "of": of,
        "texts": _excerpts(request.texts, of, [set()] * len(of)),
        "truth": {} if y is None else _answers(shown, np.asarray(y)[shown]),
        "predicted": _answers(shown, predicted),
    }

    if y is not None:
        measure = "Accuracy" if payload["kind"] == "classifier" else "R²"
        score = f"{float(model.score(table, y)):.4g}"
        payload["data"].insert(1, (f"{measure} on these {payload['nouns']['row'][1]}", score))


def _common(request: _Request, graph: Graph, unit: str) -> Payload:
    """What every model has, and None for the rest."""
    from tsenet import __version__

    words = request.words
    if words is None:
        words = request.texts is not None or bool(request.source.get("text"))
    nouns = {
        "input": "word" if words else "input",
        "row": "document" if words else "row",
        "unit": unit,
    }
    optional = (
        "links",
        "trained",
        "rows",
        "classes",
        "documents",
        "along",
        "network",
        "training",
    )
    return {
        "format": "tsenet-explorer",
        "formatVersion": 1,
        "tsenet": __version__,
        "title": request.title or type(request.model).__name__,
        "kind": "tree",
        "nRows": None if request.table is None else request.table.n_rows,
        "nouns": {key: [noun, f"{noun}s"] for key, noun in nouns.items()},
        "layers": list(graph.layer_sizes),
        "names": list(graph.names),
        "parent": graph.parent.tolist(),
        "strength": short(graph.strength),
        "strengthKind": graph.kind,
        **dict.fromkeys(optional),
        "data": _data_facts(
            request,
            graph,
            rule_of(request.model),
            inputs=f"{nouns['input']}s",
            rows=f"{nouns['row']}s",
            unit="topic" if unit == "topic" else "group",
        ),
        "settings": _settings(request.model),
    }


# ---- rows


def _documents(
    request: _Request, graph: Graph, strengths: Any, words: Sequence[Set[str]]
) -> Payload:
    """Rows for the map, evenly spaced among those with a topic, and the strongest of the lowest topics of each.

    ``strengths`` (N, L) and ``words`` are those of the topics of the graph, in its order.
    """
    strengths = strengths.tocsr()
    n_topics = strengths.shape[1]
    row_of, topic_of = presence(strengths)  # (P,) each
    strength_of = strengths.data[strengths.data >= PRESENT]  # in the same order

    # A topic is not among the lowest of a row where one right below it is present, too.
    parent = graph.parent[graph.n_inputs :]
    above = np.where(parent[topic_of] >= 0, parent[topic_of] - graph.n_inputs, -1)
    cell = row_of * n_topics + topic_of
    cell_above = row_of * n_topics + above
    is_lowest = ~np.isin(cell, cell_above[above >= 0])
    places = (row_of[is_lowest], topic_of[is_lowest])
    lowest = sp.csr_array((strength_of[is_lowest], places), shape=strengths.shape)

    rows = np.flatnonzero(np.diff(lowest.indptr))
    n_mapped = min(rows.size, _MAPPED_ROWS)
    rows = rows[np.linspace(0, rows.size - 1, n_mapped).round().astype(int)]

    of: list[list[float]] = []
    texts: list[str] = []
    for row in rows.tolist():
        cells = slice(lowest.indptr[row], lowest.indptr[row + 1])
        order = np.argsort(-lowest.data[cells], kind="stable")[:_MAPPED_TOPICS]
        topics = lowest.indices[cells][order]
        strength = lowest.data[cells][order]
        pairs = zip(topics.tolist(), strength.tolist(), strict=True)
        of.append(views.flat((graph.n_inputs + topic, value) for topic, value in pairs))
        if request.texts is not None:
            texts.append(excerpt(str(request.texts[row]), words[topics[0]], _MAPPED_TEXT))
    return {"rows": rows.tolist(), "of": of, "texts": texts or None}


def _excerpts(
    texts: Sequence[str] | None, of: list[list[float]], words: Sequence[Set[str]]
) -> dict[str, str]:
    """Texts of the rows shown: where they have most of the words of the units that they are shown with."""
    if texts is None:
        return {}
    wanted: dict[int, set[str]] = defaultdict(set)
    for rows, of_unit in zip(of, words, strict=True):
        for row in rows[::2]:
            wanted[int(row)] |= of_unit
    return {str(row): excerpt(str(texts[row]), found) for row, found in sorted(wanted.items())}


def excerpt(text: str, words: Set[str], length: int = _SNIPPET) -> str:
    """The part of a text, on one line and cut between words, with most of some words; else its beginning."""
    plain = " ".join(text.split())
    if len(plain) <= length:
        return plain

    at = [match.start() for match in re.finditer(r"\w+", plain) if match[0].lower() in words]
    first = 0
    if at:
        # From each word, how many are within three quarters of the length: the rest shows what is before.
        reach = np.searchsorted(at, np.array(at) + 3 * length // 4)
        first = at[int(np.argmax(reach - np.arange(len(at))))]

    start = 0
    if first >= length // 4:  # after the first blank of the last quarter before the word
        start = plain.find(" ", first - length // 4, first) + 1 or first

    cut = plain[start : start + length]
    if start + length < len(plain):
        cut = (cut.rpartition(" ")[0] or cut) + " …"
    return f"… {cut}" if start else cut


def _answers(rows: list[int], values: Any) -> dict[str, str]:
    """Classes or numbers as text; several labels of a row are not shown, nor are missing ones."""
    if np.ndim(values) != 1:
        return {}

    answers = {}
    for row, value in zip(rows, np.asarray(values).tolist(), strict=True):
        if isinstance(value, float):
            if not math.isnan(value):
                answers[str(row)] = f"{value:.4g}"
        elif value is not None:
            answers[str(row)] = str(value)
    return answers


# ---- classes


def _classes(
    request: _Request,
    table: Table,
    graph: Graph,
    latents: Sequence[Unit],
    class_names: Sequence[str] | None,
) -> Payload:
    """Names, numbers of rows and effects of the classes."""
    model = request.model
    y = request.y
    classes: Any = getattr(model, "classes_", None)
    n_outputs = len(latents[0].classes or ())
    two = classes is not None and len(classes) == 2 and n_outputs == 1
    noun = "class" if classes is not None else "output"
    if noun == "class" and not two and np.ndim(model.predict(table.take(slice(0, 1)))) == 2:
        noun = "label"

    names = [str(name) for name in (classes.tolist() if two else class_names or range(n_outputs))]
    targets = request.source.get("targets") or []
    if noun != "class" and len(targets) == n_outputs:
        names = list(targets)
    elif noun == "output":
        names = [noun] if n_outputs == 1 else [f"{noun} {name}" for name in names]

    counts = None
    if y is not None and noun == "label":
        counts = [int((column == 1).sum()) for column in np.asarray(y).T]
    elif y is not None and noun == "class":
        counts = [int((np.ravel(y) == name).sum()) for name in classes]

    plural = "classes" if noun == "class" else f"{noun}s"
    effects = views.class_view(latents, _direct_effects(model, table), graph.layer_sizes, two)
    return {"noun": [noun, plural], "names": names, "counts": counts, **effects}


def _direct_effects(model: Any, table: Table) -> NDArray[np.float64] | None:
    """How far each output moves by the linear skip when an input rises by one standard deviation: (D, C).

    None without a linear skip. The deviation is that of the input as the network reads it, over these rows.
    """
    from sklearn.preprocessing import StandardScaler

    if model.net_.linear_skip is None:
        return None

    weight = model.net_.linear_skip.detach().cpu().numpy().astype(np.float64)
    moments = StandardScaler(with_mean=False)
    for inputs in model.network_inputs(table):
        moments.partial_fit(inputs.values.astype(np.float64))
    deviation = np.sqrt(moments.var_)
    effects: NDArray[np.float64] = weight * deviation[:, None] * model.targets_.output_scale
    return effects


# ---- facts


def _network_facts(net: TSENet) -> Payload:
    """A network and the dense one of the same layers; bytes in float32, FLOPs for one row without zeros."""
    layers = net.summary()
    layers = layers[layers["links"] > 0]
    layers = layers.assign(dense=layers["inputs"] * layers["units"])
    links = int(layers["links"].sum())
    dense = int(layers["dense"].sum())
    n_dense = net.n_parameters + dense - links
    shown = layers[["units", "links", "dense"]].reset_index(names="name")
    return {
        "layers": shown.to_dict("records"),
        "parameters": net.n_parameters,
        "denseParameters": n_dense,
        "bytes": 4 * net.n_parameters,
        "denseBytes": 4 * n_dense,
        "flops": 2 * links,
        "denseFlops": 2 * dense,
    }


def _training_facts(history: History) -> Payload:
    """The series of a history; None for what is not a finite number."""
    series = {
        "trainLoss": history.train_loss,
        "validationLoss": history.validation_loss,
        "validationScore": history.validation_score,
        "learningRate": history.learning_rate,
        "seconds": history.seconds,
    }
    finite = {
        name: [float(f"{value:.5g}") if math.isfinite(value) else None for value in values]
        for name, values in series.items()
    }
    return {**finite, "best": history.best_epoch, "stopped": history.stopped}


def _data_facts(
    request: _Request, graph: Graph, rule: BinaryRule, inputs: str, rows: str, unit: str
) -> list[Fact]:
    """What is known of the data: names and values to show in two columns."""
    facts: list[Fact] = []
    table = request.table
    if table is not None:
        facts.append((f"{rows.capitalize()} in this report", f"{table.n_rows:,}"))
    facts.append((inputs.capitalize(), f"{graph.n_inputs:,}"))
    if rule.n_columns_in != graph.n_inputs:
        facts.append(("Columns of the table", f"{rule.n_columns_in:,}"))
    if table is not None and table.is_sparse:
        mean = table.values.nnz / max(1, table.n_rows)
        facts.append((f"Different {inputs} per {rows[:-1]}", f"{mean:.3g} on average"))

    alone = np.flatnonzero(graph.parent[: graph.n_inputs] < 0).tolist()
    if alone:
        shown = ", ".join(graph.names[k] for k in alone[:_SHOWN_NAMES])
        if len(alone) > _SHOWN_NAMES:
            shown += f" and {len(alone) - _SHOWN_NAMES:,} more"
        facts.append((f"{inputs.capitalize()} in no {unit}", f"{len(alone):,}: {shown}"))

    for key, title in (("text", "Column of the text"), ("targets", "Target")):
        value = request.source.get(key)
        if value:
            facts.append((title, value if isinstance(value, str) else ", ".join(map(str, value))))
    return facts


def _settings(model: Any) -> list[Fact]:
    """The estimator's parameters that are plain values."""
    params = model.get_params(deep=False) if hasattr(model, "get_params") else {}
    return [
        (name, f"{value:g}" if isinstance(value, float) else str(value))
        for name, value in sorted(params.items())
        if isinstance(value, bool | int | float | str)
    ]
