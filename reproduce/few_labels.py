"""Accuracy on text with 100, 400 and 1,600 labels; wirings and several rivals also learn from the other rows."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from typing import Any

from reproduce import figures, render
from reproduce.cells import Cell, Measured, results_of
from reproduce.experiment import Experiment, Request, wanted_cells
from reproduce.runner import CountsRunner, Runner
from reproduce.runs import Settings
from reproduce.stats import Spread, compare
from reproduce.summary import CellSummary, by_dataset, summarise

__all__ = ["FEW_LABELS", "cells"]

NAME = "few-labels"
LABELS: tuple[int | None, ...] = (100, 400, 1_600)
#: Networks over random links, and the learned ones of the same kind.
_LEARNED = {
    "random": "tsenet",
    "backbone-random": "backbone",
    "backbone-plain-random": "backbone-plain",
}


def cells(dataset: str, n_labels: int | None, quick: bool = False) -> list[Cell]:
    """The methods at one number of labels. All run with their defaults: few labels leave none to choose by."""
    short: Settings = {"max_epochs": 30} if quick else {}
    backbone = {**short, "skip_units": 0, "linear_skip": False}

    def cell(name: str, title: str, method: str, settings: Settings) -> Cell:
        return Cell(NAME, dataset, name, title, method, settings, n_labels=n_labels)

    plain = {**backbone, "init": "random"}
    return [
        cell("tsenet", "TSE-Net", "tsenet", short),
        cell("random", "TSE-Net, random wiring", "random", short),
        cell("pivot", "TSE-Net, pivot words", "pivot", short),
        cell("backbone", "Backbone", "tsenet", backbone),
        cell("backbone-random", "Backbone, random wiring", "random", backbone),
        cell("backbone-plain", "Backbone, plain start", "tsenet", plain),
        cell("backbone-plain-random", "Backbone, plain start, random wiring", "random", plain),
        cell("fnn-512", "FNN, 512 units", "fnn", {**short, "hidden": [512]}),
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
    wanted = wanted_cells(request, LABELS, lambda name, n_labels: cells(name, n_labels, quick))
    measured = runner.measure_all(wanted, progress)
    paragraphs, rows = [_INTRODUCTION], []
    panels: dict[str, list[figures.Curve]] = {}
    values: dict[str, str] = {}
    for name, own in by_dataset(measured).items():
        lines = _summaries(own)
        rows += [_file_row(line) for line in lines]
        every = [one.cell for one in measured if one.cell.dataset == name]
        paragraphs += [f"## {name}", *_tables(lines, every)]
        values |= _named(lines)
        panels[name] = _curves(lines)
    paragraphs += [
        "## Where the figures come from",
        render.provenance(measured, request.command, runner.skipped),
    ]
    return render.ExperimentReport(
        name=NAME + ("-quick" if quick else ""),
        title=_TITLE + (" (quick look: small data)" if quick else ""),
        paragraphs=tuple(paragraphs),
        csv={"": (_CSV_HEAD, rows), "-runs": render.runs_csv(measured)},
        figures={"": figures.curves(panels, "labels", "test accuracy")} if panels else {},
        values=values,
        results=results_of(measured),
    )


_TITLE = "Few labels: rivals that learn from rows without labels too"
_INTRODUCTION = (
    "Test accuracy, mean ± standard deviation over seeds; a seed draws which rows keep their labels, each class in its "
    "share, and larger numbers of labels contain the smaller ones. Wirings and SVDs see all training rows, without "
    "their labels. No setting was chosen by labels that a method does not have: all run with fixed settings. The "
    "second table has TSE-Net minus the method in points and the two-sided p-value, paired over test rows and seeds."
)
_CSV_HEAD = (
    "dataset", "method", "n_labels", "seeds", "mean", "sd", "n_parameters", "tsenet_minus_method",
    "p", "cpu_seconds",
)  # fmt: skip


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
    every = [cell.name for cell in cells("", None)]  # a method looks the same in all panels
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


FEW_LABELS = Experiment(NAME, "Few labels", ("ag_news", "20newsgroups"), make, runner=CountsRunner)
