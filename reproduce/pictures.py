"""Pictures of the results pages, drawn from the stored runs."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.figure import Figure

from reproduce.analysis import TOPICS, Results, compare, estimate
from reproduce.data import DATA
from reproduce.experiments import DENSITIES, EXPERIMENTS, LINK_RULES, TEXT
from reproduce.grid import resolved
from reproduce.paper import PUBLISHED, TABLE3
from reproduce.rivals import title_of
from reproduce.runs import RUNS

__all__ = ["OF_THE_PAPER", "PICTURES", "write_pictures"]

#: Pictures of the paper's own figures and tables; the others are of experiments that it does not have.
OF_THE_PAPER = ("paper", "parameters")

#: Okabe and Ito's colours, which people with any colour vision can tell apart.
COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#555555")
DPI = 110
MOST_POINTS = 8  # shown of Table 3: the interval of two seeds, one of which did not learn, has 300


def _figure(width: float, height: float, n_panels: int = 1, **shared: Any) -> tuple[Figure, Any]:
    """Return a figure and its panels side by side, without frames and with light grid lines."""
    figure = Figure(figsize=(width, height), layout="constrained")
    panels = figure.subplots(1, n_panels, squeeze=False, **shared)[0]
    for axes in panels:
        axes.spines[["top", "right"]].set_visible(False)
        axes.grid(color="#e6e6e6", linewidth=0.8)
        axes.set_axisbelow(True)
    return figure, panels


def _few_labels(results: Results, data: str, labels: int | None, rival: str) -> list[Any]:
    """The runs of the seeds that every rival has."""
    experiment = "few-labels" if labels else "all-labels"
    runs = results.runs(experiment, data, labels, rival)
    return [run for run in runs if run["seed"] < EXPERIMENTS[experiment].n_seeds]


def _legend(figure: Figure, axes: Any, n_columns: int = 4) -> None:
    handles, labels = axes.get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside lower center", ncols=n_columns, frameon=False)


def _dots(
    axes: Any, rows: Sequence[str], series: Sequence[str], at: Callable[[str, str], Any]
) -> None:
    """Draw a dot with its 95 % interval, in points, for each row and series; ``at`` returns an Estimate or None."""
    for k, name in enumerate(series):
        found = [(row, value) for row in range(len(rows)) if (value := at(rows[row], name))]
        places = [row + (k - (len(series) - 1) / 2) * 0.8 / len(series) for row, _ in found]
        means = np.array([value.value for _, value in found])
        reach = np.array([value.high - value.value for _, value in found])
        axes.errorbar(
            100 * means,
            places,
            xerr=100 * reach,
            fmt="o",
            markersize=4,
            color=COLOURS[k % len(COLOURS)],
            label=title_of(name),
        )
    axes.set_yticks(range(len(rows)), rows)
    axes.invert_yaxis()
    axes.grid(axis="y", visible=False)


def summary(results: Results) -> Figure:
    """Accuracy with 100 labels on the text sets."""
    titles = {DATA[name].title: name for name in TEXT}
    rivals = ("tsenet", "tsenet-minilm", "teacher", "em-bayes", "minilm", "logistic")

    def accuracy(title: str, rival: str) -> Any:
        runs = results.runs("few-labels", titles[title], 100, rival)
        return estimate(runs) if runs else None

    figure, (axes,) = _figure(8, 4.2)
    _dots(axes, list(titles), rivals, accuracy)
    axes.set_xlabel("accuracy with 100 labels, %; bars are 95 % intervals")
    _legend(figure, axes, 3)
    return figure


def text(results: Results) -> Figure:
    """Accuracy against the number of labels, a panel for each text set."""
    figure, panels = _figure(13, 3.6, len(TEXT))
    rivals = ("tsenet", "tsenet-minilm", "teacher", "em-bayes", "minilm", "logistic", "linear-svc")
    counts = (100, 400, None)
    for axes, data in zip(panels, TEXT, strict=True):
        for colour, rival in zip(COLOURS, rivals, strict=True):
            cells = [_few_labels(results, data, count, rival) for count in counts]
            scores = [100 * estimate(runs).value if runs else np.nan for runs in cells]
            axes.plot(scores, "o-", color=colour, markersize=3.5, label=title_of(rival))
        axes.set_xticks(range(len(counts)), [str(count or "all") for count in counts])
        axes.set(title=DATA[data].title, xlabel="labels")
    panels[0].set_ylabel("accuracy, %")
    _legend(figure, panels[0])
    return figure


def _runs_of(results: Results, data: str, rival: str) -> list[Any]:
    """The runs of a rival of Table 3 on a data set; ``best`` is the dense shape that was chosen for it."""
    name = resolved(rival, data, results.stored_runs())
    return results.cells.get((data, name, None, "test", "score"), [])


def _paper_texts(results: Results) -> list[str]:
    """The text sets of Table 3 of which there are runs: with the documented rows, else with any."""
    table3 = EXPERIMENTS["table3"]
    cells = dict.fromkeys(data for data, rival, *_ in results.cells if rival == table3.reference)
    known = {name.partition("@")[0] for name in table3.data}
    return [name for name in table3.data if name in cells] or [
        name for name in cells if name.partition("@")[0] in known
    ]


def paper(results: Results) -> Figure:
    """Table 3: networks of the paper's recipe and its rivals, minus the paper's TSE-Net."""
    rivals = {
        "tsenet-paper-random": "TSE-Net, random links",
        "backbone-paper": "Backbone",
        "backbone-paper-random": "Backbone, random links",
        "fnn:best:weighting=counts": "FNN",
        "pruned:best:weighting=counts:rounds=1@tsenet-paper": "Pruned FNN",
    }
    reference = EXPERIMENTS["table3"].reference
    names = _paper_texts(results) or ["paper-ag_news@12000"]
    figure, panels = _figure(12, 3.2, len(names), sharey=True)
    for axes, data in zip(panels, names, strict=True):
        published = TABLE3.get(PUBLISHED.get(data.partition("@")[0], ""), {})
        for row, rival in enumerate(rivals):
            runs = _runs_of(results, data, rival)
            if runs and (lead := compare(runs, _runs_of(results, data, reference))) is not None:
                colour = COLOURS[1 if "random" in rival else 0]
                reach = 100 * (lead.high - lead.value)
                axes.errorbar(100 * lead.value, row, xerr=reach, fmt="o", color=colour)
            paper_name = {"fnn": "fnn", "pruned": "pruned@tsenet-paper"}.get(
                rival.partition(":")[0], rival
            )
            if paper_name in published:
                theirs = published[paper_name].score - published[reference].score
                axes.plot(100 * theirs, row, "D", color=COLOURS[6], markerfacecolor="none")
        axes.axvline(0, color=COLOURS[6], linewidth=1)
        left, right = axes.get_xlim()
        axes.set_xlim(max(left, -MOST_POINTS), min(right, MOST_POINTS))
        axes.set(title=DATA[data.partition("@")[0]].title, xlabel="points above TSE-Net")
        axes.set_yticks(range(len(rivals)), list(rivals.values()))
    panels[0].invert_yaxis()
    for number, label in enumerate(("ours", "ours, random links")):
        panels[0].plot([], [], "o", color=COLOURS[number], label=label)
    panels[0].plot(
        [], [], "D", color=COLOURS[6], markerfacecolor="none", label="the paper's figure"
    )
    _legend(figure, panels[0])
    return figure


def parameters(results: Results) -> Figure:
    """Parameters of TSE-Nets by the paper's recipe and of dense networks, as in the paper's figure."""
    tox21, table3 = EXPERIMENTS["tox21"], EXPERIMENTS["table3"]
    tasks = [name for name in tox21.data if _runs_of(results, name, tox21.dense)]
    texts = _paper_texts(results)
    groups = {title: names for title, names in (("Tox21", tasks), ("Text", texts)) if names}
    widths = [len(names) + 1 for names in groups.values()]
    figure, panels = _figure(12, 3.8, len(groups), width_ratios=widths)
    for axes, (group, names) in zip(panels, groups.items(), strict=True):
        dense = (table3 if names is texts else tox21).dense
        for k, (rival, title) in enumerate({dense: "FNN", "tsenet-paper": "TSE-Net"}.items()):
            cells = [_runs_of(results, name, rival) for name in names]
            millions = [runs[0]["parameters"] / 1e6 if runs else np.nan for runs in cells]
            places = np.arange(len(names)) + 0.4 * k
            axes.bar(places, millions, 0.4, color=COLOURS[1 - k], label=title)
        labels = [name.partition("/")[2] or DATA[name.partition("@")[0]].title for name in names]
        axes.set_title(group)
        axes.set_xticks(
            np.arange(len(names)) + 0.2, labels, rotation=40, ha="right", rotation_mode="anchor"
        )
        axes.grid(axis="x", visible=False)
    panels[0].set_ylabel("million parameters")
    _legend(figure, panels[0])
    return figure


def controls(results: Results) -> Figure:
    """Accuracy of Backbones with different links against their density."""
    reference = EXPERIMENTS["controls"].reference
    names = [name for name in TEXT if results.runs("controls", name, 100, reference)]
    rules = {
        "context": "tree and context (default)",
        "balanced": "tree and CMI, balanced",
        "k-means": "k-means of word vectors",
        "pivot": "random pivot words",
        "shuffle": "shuffled, same degrees",
        "random": "random",
    }
    figure, panels = _figure(4 + 4 * len(names), 4.2, len(names))
    for axes, data in zip(panels, names, strict=True):
        for colour, (rule, label) in zip(COLOURS, rules.items(), strict=False):
            learned = rule in LINK_RULES
            base = f"backbone:link_rule={rule}" if learned else f"backbone-{rule}"
            cells = [results.runs("controls", data, 100, f"{base}:density={d}") for d in DENSITIES]
            scores = [100 * estimate(runs).value if runs else np.nan for runs in cells]
            axes.plot(DENSITIES, scores, "o-", color=colour, markersize=4, label=label)
        if tree := results.runs("controls", data, 100, "backbone:link_rule=tree"):
            level = 100 * estimate(tree).value
            axes.axhline(level, color=COLOURS[6], linestyle="--", label="the bare tree")
        axes.set(title=f"{DATA[data].title}, 100 labels", xscale="log")
        axes.set_xlabel("share of the layer below that a unit reads")
        axes.set_xticks(DENSITIES, [f"{d:.1%}" for d in DENSITIES])
        axes.minorticks_off()
    panels[0].set_ylabel("accuracy, %")
    _legend(figure, panels[0], 3)
    return figure


def tables(results: Results) -> Figure:
    """Rivals minus TSE-Net on tables and images."""
    names = [name for name in EXPERIMENTS["tables"].data if name not in ("tecator", "ames")]
    rivals = ("tsenet-random", "linear", "mlp", "boosting", "forest")

    def difference(data: str, rival: str) -> Any:
        ours, theirs = (results.runs("tables", data, None, name) for name in ("tsenet", rival))
        return compare(theirs, ours) if ours and theirs else None

    figure, (axes,) = _figure(8, 6)
    _dots(axes, [n for n in names if difference(n, "linear")], rivals, difference)
    axes.axvline(0, color=COLOURS[6], linewidth=1)
    axes.set(xlabel="points above TSE-Net; bars are 95 % intervals", xlim=(-25, 12))
    _legend(figure, axes, 3)
    return figure


def topics(results: Results) -> Figure:
    """Scores of hierarchies of topics on test documents."""
    del results
    scores = pd.read_csv(TOPICS)
    scores = scores[scores["corpus"].isin(DATA) & (scores["corpus"] != "nyt")]
    corpora = list(dict.fromkeys(scores["corpus"]))
    models = list(dict.fromkeys(scores["model"]))
    lowest = scores[scores["level"] == 1]
    top = scores.sort_values("level").drop_duplicates(["corpus", "model"], keep="last")
    panels_of = (
        (lowest, "npmi_zero", "coherence of ten words\n(NPMI (0), lowest level)"),
        (lowest, "pccx", "words of parents and children\n(NPMI)"),
        (top, "nmi", "agreement with labels\n(NMI, top level)"),
        (lowest, "nmi", "agreement with labels\n(NMI, lowest level)"),
    )
    figure, panels = _figure(13, 5, len(panels_of), sharey=True)
    for axes, (rows, column, title) in zip(panels, panels_of, strict=True):
        for k, model in enumerate(models):
            found = rows[rows["model"] == model].set_index("corpus")[column].reindex(corpora)
            places = np.arange(len(corpora)) + (k - (len(models) - 1) / 2) * 0.8 / len(models)
            axes.barh(places, found, 0.8 / len(models), color=COLOURS[k], label=model)
        axes.set_title(title, fontsize=10)
        axes.set_yticks(range(len(corpora)), [DATA[name].title for name in corpora])
        axes.grid(axis="y", visible=False)
    panels[0].invert_yaxis()
    _legend(figure, panels[0])
    return figure


def speed(results: Results) -> Figure:
    """Accuracy with 100 labels against CPU seconds of the fit, means of the text sets."""
    figure, (axes,) = _figure(7.2, 4.4)
    for rival in ("tsenet", "teacher", "em-bayes", "svd", "logistic"):
        cells = [_few_labels(results, data, 100, rival) for data in TEXT]
        accuracy = 100 * np.mean([estimate(runs).value for runs in cells])
        seconds = np.mean([np.mean([run["cpu"] for run in runs]) for runs in cells])
        axes.plot(seconds, accuracy, "o", color=COLOURS[0 if rival == "tsenet" else 6])
        axes.annotate(title_of(rival), (seconds, accuracy), (6, 4), textcoords="offset points")
    axes.set(xscale="log", xlabel="CPU seconds of a fit", ylabel="accuracy with 100 labels, %")
    axes.set_title("Means of five text sets")
    axes.margins(x=0.3)
    return figure


PICTURES: dict[str, Callable[[Results], Figure]] = {
    "summary": summary,
    "text": text,
    "tables": tables,
    "topics": topics,
    "paper": paper,
    "parameters": parameters,
    "controls": controls,
    "speed": speed,
}


def write_pictures(
    results: Results, folder: Path = RUNS.parent, names: Iterable[str] = PICTURES
) -> list[Path]:
    """Draw pictures into a folder, all unless they are named; return their files."""
    paths = []
    for name in names:
        paths.append(folder / f"{name}.png")
        PICTURES[name](results).savefig(paths[-1], dpi=DPI)
    return paths
