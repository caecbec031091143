"""How much the wiring, learned from rows without labels, saves in labels: scores at 100, 400, 1,600, … labels.

On text the rivals are those for words, on tables those for columns.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from reproduce import figures, render
from reproduce.cells import Cell, Measured
from reproduce.experiment import Experiment, Request, wanted_cells
from reproduce.runner import CountsRunner, Runner
from reproduce.runs import Settings
from reproduce.scoring import Metric
from reproduce.stats import Spread, compare
from reproduce.summary import CellSummary, by_dataset, summarise
from reproduce.table3 import MEAN, TASKS, mean_of_tasks

__all__ = ["LABEL_EFFICIENCY", "cells"]

NAME = "label-efficiency"
LABELS: tuple[int | None, ...] = (100, 400, 1_600, 6_400, None)
#: Networks over random links, and the learned ones of the same kind.
_LEARNED = {
    "random": "tsenet",
    "backbone-random": "backbone",
    "backbone-plain-random": "backbone-plain",
}
_QUICK_LABELS: tuple[int | None, ...] = (100, 400, 1_600, None)


def cells(dataset: str, n_labels: int | None, quick: bool = False, text: bool = True) -> list[Cell]:
    """The methods at one number of labels. All run with their defaults: few labels leave none to choose by."""
    short: Settings = {"max_epochs": 30} if quick else {}
    backbone = {**short, "skip_units": 0, "linear_skip": False}

    def cell(name: str, title: str, method: str, settings: Settings) -> Cell:
        return Cell(NAME, dataset, name, title, method, settings, n_labels=n_labels)

    plain = {**backbone, "init": "fan-in"}
    networks = [
        cell("tsenet", "TSE-Net", "tsenet", short),
        cell("random", "TSE-Net, random wiring", "random", short),
        cell("backbone", "Backbone", "tsenet", backbone),
        cell("backbone-random", "Backbone, random wiring", "random", backbone),
        cell("backbone-plain", "Backbone, plain start", "tsenet", plain),
        cell("backbone-plain-random", "Backbone, plain start, random wiring", "random", plain),
        cell("fnn-512", "FNN, 512 units", "fnn", {**short, "hidden": [512]}),
    ]
    if not text:
        return [
            *networks,
            cell("logistic", "Logistic regression", "scaled-logistic", {}),
            cell("pca", "PCA + logistic regression", "scaled-logistic", {"n_components": 50}),
            cell("boosting", "Gradient boosting", "boosting", {}),
        ]
    return [
        *networks[:2],
        cell("pivot", "TSE-Net, pivot words", "pivot", short),
        *networks[2:],
        cell("start", "The linear start alone", "start", {}),
        cell("logistic", "Logistic regression", "logistic", {}),
        cell("self-training", "Self-training", "self-training", {}),
        cell("em-bayes", "EM naive Bayes", "em-bayes", {}),
        cell("linear-svc", "Linear SVM", "linear-svc", {}),
        cell("complement-nb", "Complement naive Bayes", "complement-nb", {}),
        cell("svd", "SVD + logistic regression", "svd", {"n_components": 200}),
        cell("ppmi", "PPMI-SVD + logistic regression", "ppmi", {"n_components": 200}),
    ]


def make(runner: Runner, request: Request, progress: Any = None) -> render.ExperimentReport:
    """Measure the curves and render them."""
    quick = runner.quick is not None
    counts = _QUICK_LABELS if quick else LABELS
    wanted = wanted_cells(
        request, counts, lambda name, n: cells(name, n, quick, runner.is_text(name))
    )
    measured = runner.measure_all(wanted, progress)
    means = _means(measured)
    paragraphs, rows = [_INTRODUCTION], []
    panels: dict[Metric, dict[str, list[figures.Curve]]] = {"accuracy": {}, "auc": {}}
    values: dict[str, str] = {}
    for name, own in by_dataset([*measured, *means]).items():
        lines = _summaries(own)
        rows += [_file_row(line) for line in lines]
        if means and name in TASKS:
            continue  # the page has their mean, the file each of them
        note = [_OF_TASKS] if name.endswith(MEAN) else []
        every = [one.cell for one in (*measured, *means) if one.cell.dataset == name]
        paragraphs += [f"## {name}", *note, *_tables(lines, every)]
        values |= _named(lines)
        metric: Metric = "auc" if any(line.metric == "auc" for line in lines) else "accuracy"
        panels[metric][name] = _curves(lines)
    paragraphs += [
        "## Where the figures come from",
        render.provenance(measured, request.command, runner.skipped),
    ]
    return render.ExperimentReport(
        name=NAME + ("-quick" if quick else ""),
        title="Label efficiency" + (" (quick look: small data)" if quick else ""),
        paragraphs=tuple(paragraphs),
        csv={"": (_CSV_HEAD, rows), "-runs": render.runs_csv(measured)},
        figures=_figures(panels),
        values=values,
    )


_INTRODUCTION = (
    "Test accuracy (area under the ROC curve for Tox21), mean ± standard deviation over seeds; a seed draws which rows "
    "keep their labels, each class in its share, and more labels are the same ones and others. Wirings, SVDs and PCAs "
    "see all training rows, without their labels. No setting was chosen by labels that a method does not have: all run "
    "as they are. The second table has TSE-Net minus the method, accuracies in points, and the two-sided p-value: "
    "paired over test rows and seeds for accuracy, Wilcoxon's test over the tasks for mean areas, paired over seeds "
    "for a single area."
)
_OF_TASKS = "Means over the tasks; those of each task are in the CSV file beside this page."
_CSV_HEAD = (
    "dataset", "method", "n_labels", "seeds", "mean", "sd", "n_parameters", "tsenet_minus_method",
    "p", "cpu_seconds",
)  # fmt: skip


def _means(measured: Sequence[Measured]) -> list[Measured]:
    """The mean of the Tox21 tasks for each method and number of labels that has them all."""
    counts = dict.fromkeys(one.cell.n_labels for one in measured)
    return [
        mean
        for count in counts
        for mean in mean_of_tasks([one for one in measured if one.cell.n_labels == count])
    ]


def _figures(panels: Mapping[Metric, Mapping[str, list[figures.Curve]]]) -> dict[str, Any]:
    """A picture of accuracies and one of areas, where there are such."""
    drawn = {}
    if panels["accuracy"]:
        drawn[""] = figures.curves(panels["accuracy"], "labels", "test accuracy")
    if panels["auc"]:
        label = "test area under the ROC curve"
        drawn["-areas"] = figures.curves(panels["auc"], "labels", label, percent=False)
    return drawn


def _summaries(group: Sequence[Measured]) -> list[CellSummary]:
    reference = {one.cell.n_labels: one for one in group if one.cell.name == "tsenet"}
    return [summarise(one, reference.get(one.cell.n_labels)) for one in group]


def _labels(n_labels: int | None) -> str:
    return "all" if n_labels is None else f"{n_labels:,}"


def _by_place(
    lines: Sequence[CellSummary],
) -> tuple[dict[str, str], list[int | None], dict[Any, CellSummary]]:
    """Titles by method, label counts, and the lines by both."""
    titles = {line.measured.cell.name: line.measured.cell.title for line in lines}
    counts = list(dict.fromkeys(line.measured.cell.n_labels for line in lines))
    return titles, counts, {(x.measured.cell.name, x.measured.cell.n_labels): x for x in lines}


def _tables(lines: Sequence[CellSummary], every: Sequence[Cell]) -> tuple[str, str]:
    """Scores, and differences from TSE-Net; what was to be run and was not is there too."""
    titles = {cell.name: cell.title for cell in every}
    counts = list(dict.fromkeys(cell.n_labels for cell in every))
    at = {(x.measured.cell.name, x.measured.cell.n_labels): x for x in lines}

    def table(corner: str, show: Callable[[CellSummary | None], str], names: Iterable[str]) -> str:
        body = [[titles[name], *(show(at.get((name, n))) for n in counts)] for name in names]
        return render.markdown_table([corner, *map(_labels, counts)], body)

    others = [name for name in titles if name != "tsenet"]
    return table("labels", _score, titles), table("TSE-Net minus …", _difference, others)


def _score(line: CellSummary | None) -> str:
    return "not run" if line is None else render.shown(line.test, line.metric)


def _difference(line: CellSummary | None) -> str:
    if line is None or line.against is None:
        return "–"
    text = render.difference(0.0 - line.against.difference, line.metric)  # and no −0.00
    return f"{text} ({render.p_value(line.against.p)})"


def _named(lines: Sequence[CellSummary]) -> dict[str, str]:
    """Figures by name, for texts: ``ag_news@100/svd`` is a score, ``ag_news@100/svd:behind`` TSE-Net's lead."""
    values = {}
    for line in lines:
        cell = line.measured.cell
        key = f"{cell.dataset}@{cell.n_labels or 'all'}/{cell.name}"
        values[key] = _score(
            replace(line, test=line.test and Spread(line.test.mean, None, line.test.n))
        )
        if line.against is not None:
            values[f"{key}:behind"] = render.difference(0.0 - line.against.difference, line.metric)
            values[f"{key}:p"] = render.p_in_text(line.against.p)
            values[f"{key}:is"] = line.standing
    return values | _beside_learned(lines)


def _beside_learned(lines: Sequence[CellSummary]) -> dict[str, str]:
    """The lead of learned over random links in a network: ``ag_news@100/random:lead`` is ``+1.20, p = 0.012``."""
    _, _, at = _by_place(lines)
    values = {}
    for (name, count), line in at.items():
        learned = at.get((_LEARNED.get(name, ""), count))
        found = learned and compare(learned.measured.results, line.measured.results)
        if found:
            text = render.difference(found.difference, line.metric)
            key = f"{line.measured.cell.dataset}@{count or 'all'}/{name}"
            values[f"{key}:lead"] = f"{text}, p {render.p_in_text(found.p)}"
    return values


def _file_row(line: CellSummary) -> render.Row:
    cell, against = line.measured.cell, line.against
    values = [
        cell.dataset,
        cell.name,
        "all" if cell.n_labels is None else cell.n_labels,
        len(line.measured.results),
        *((None, None) if line.test is None else line.test[:2]),
        round(line.n_parameters),
        *((None, None) if against is None else (0.0 - against.difference, against.p)),
        round(line.cpu_seconds, 1),
    ]
    return ["" if value is None else value for value in values]


def _curves(lines: Sequence[CellSummary]) -> list[figures.Curve]:
    titles, counts, at = _by_place(lines)
    # a method looks the same in the panels of text and of tables
    every = list(
        dict.fromkeys(c.name for text in (True, False) for c in cells("", None, text=text))
    )
    curves = []
    for name, title in titles.items():
        points = []
        for line in (at.get((name, count)) for count in counts):
            if line is not None and line.test is not None:
                n_labels = line.measured.cell.n_labels
                # a run that diverged knows no number of rows
                sizes = [r.extra["n_train"] for r in line.measured.results if "n_train" in r.extra]
                x = sizes[0] if n_labels is None else n_labels
                points.append(figures.Point(x, line.test.mean, line.test.sd))
        curves.append(figures.Curve(title, points, every.index(name)))
    return curves


LABEL_EFFICIENCY = Experiment(
    NAME, "Label efficiency", ("ag_news", "20newsgroups"), make, runner=CountsRunner
)
