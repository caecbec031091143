"""How much the wiring, learned from rows without labels, saves in labels: accuracy at 100, 400, 1,600, … labels."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tsenet.experiments import figures, render
from tsenet.experiments.cells import Cell, Measured
from tsenet.experiments.experiment import Experiment, Request, select
from tsenet.experiments.lab import Lab
from tsenet.experiments.runs import Settings
from tsenet.experiments.summary import Summary, by_dataset, summarise

__all__ = ["LABEL_EFFICIENCY", "cells"]

NAME = "label-efficiency"
LABELS: tuple[int | None, ...] = (100, 400, 1_600, 6_400, None)
_QUICK_LABELS: tuple[int | None, ...] = (100, 400, 1_600, None)


def cells(dataset: str, n_labels: int | None, quick: bool = False) -> list[Cell]:
    """The methods at one number of labels. All run as the product has them: with few labels nothing can be chosen."""
    short: Settings = {"max_epochs": 30} if quick else {}
    backbone = {**short, "skip_units": 0, "direct": False}

    def cell(name: str, title: str, method: str, settings: Settings) -> Cell:
        return Cell(NAME, dataset, name, title, method, settings, n_labels=n_labels)

    return [
        cell("tsenet", "TSE-Net", "tsenet", short),
        cell("random", "TSE-Net, random wiring", "random", short),
        cell("pivot", "TSE-Net, pivot words", "pivot", short),
        cell("backbone", "Backbone", "tsenet", backbone),
        cell("backbone-random", "Backbone, random wiring", "random", backbone),
        cell("fnn-512", "FNN, 512 units", "fnn", {**short, "hidden": [512]}),
        cell("logistic", "Logistic regression", "logistic", {}),
        cell("svd", "SVD + logistic regression", "svd", {"n_components": 200}),
        cell("ppmi", "PPMI-SVD + logistic regression", "ppmi", {"n_components": 200}),
    ]


def make(lab: Lab, request: Request, progress: Any = None) -> render.Report:
    """Measure the curves and render them."""
    quick = lab.quick is not None
    counts = request.n_labels or (_QUICK_LABELS if quick else LABELS)
    wanted = [
        cell
        for name in request.datasets
        for n_labels in counts
        for cell in select(cells(name, n_labels, quick), request.methods)
    ]
    measured = lab.measure_all(wanted, progress)
    paragraphs, rows, panels = [_INTRODUCTION], [], {}
    for name, own in by_dataset(measured).items():
        lines = _summaries(own)
        paragraphs += [f"## {name}", _score_table(lines), _difference_table(lines)]
        rows += [_file_row(line) for line in lines]
        panels[name] = _curves(lines)
    paragraphs += [
        "## Where the figures come from",
        render.provenance(measured, request.command, lab.skipped),
    ]
    return render.Report(
        name=NAME + ("-quick" if quick else ""),
        title="Label efficiency" + (" (quick look: small data)" if quick else ""),
        paragraphs=tuple(paragraphs),
        csv={"": (_CSV_HEAD, rows), "-runs": render.runs_csv(measured)},
        figures={"": figures.curves(panels, "labels", "test accuracy")} if panels else {},
    )


_INTRODUCTION = (
    "Test accuracy, mean ± standard deviation over seeds; a seed draws which rows keep their labels, each class in its "
    "share, and more labels are the same ones and others. Wirings and SVDs see all training rows, without their "
    "labels. No setting was chosen by labels that a method does not have: all run as they are. The second table has "
    "TSE-Net minus the method, in points, and the two-sided p-value (paired over test rows and seeds)."
)
_CSV_HEAD = (
    "dataset", "method", "n_labels", "seeds", "mean", "sd", "n_parameters", "tsenet_minus_method",
    "p", "cpu_seconds",
)  # fmt: skip


def _summaries(group: Sequence[Measured]) -> list[Summary]:
    reference = {one.cell.n_labels: one for one in group if one.cell.name == "tsenet"}
    return [summarise(one, reference.get(one.cell.n_labels)) for one in group]


def _labels(n_labels: int | None) -> str:
    return "all" if n_labels is None else f"{n_labels:,}"


def _by_place(
    lines: Sequence[Summary],
) -> tuple[dict[str, str], list[int | None], dict[Any, Summary]]:
    """Titles by method, label counts, and the lines by both."""
    titles = {line.measured.cell.name: line.measured.cell.title for line in lines}
    counts = list(dict.fromkeys(line.measured.cell.n_labels for line in lines))
    return titles, counts, {(x.measured.cell.name, x.measured.cell.n_labels): x for x in lines}


def _score_table(lines: Sequence[Summary]) -> str:
    titles, counts, at = _by_place(lines)
    body = [
        [title, *(_score(at.get((name, count))) for count in counts)]
        for name, title in titles.items()
    ]
    return render.markdown_table(["labels", *map(_labels, counts)], body)


def _score(line: Summary | None) -> str:
    return "–" if line is None else render.shown(line.test, line.metric)


def _difference_table(lines: Sequence[Summary]) -> str:
    titles, counts, at = _by_place(lines)
    body = [
        [title, *(_difference(at.get((name, count))) for count in counts)]
        for name, title in titles.items()
        if name != "tsenet"
    ]
    return render.markdown_table(["TSE-Net minus …", *map(_labels, counts)], body)


def _difference(line: Summary | None) -> str:
    if line is None or line.against is None:
        return "–"
    text = render.difference(-line.against.difference, line.metric)
    return f"{text} ({render.p_value(line.against.p)})"


def _file_row(line: Summary) -> render.Row:
    cell, against = line.measured.cell, line.against
    values = [
        cell.dataset,
        cell.name,
        "all" if cell.n_labels is None else cell.n_labels,
        len(line.measured.results),
        *((None, None) if line.test is None else line.test[:2]),
        round(line.n_parameters),
        *((None, None) if against is None else (-against.difference, against.p)),
        round(line.cpu_seconds, 1),
    ]
    return ["" if value is None else value for value in values]


def _curves(lines: Sequence[Summary]) -> list[figures.Curve]:
    titles, counts, at = _by_place(lines)
    curves = []
    for look, (name, title) in enumerate(titles.items()):
        points = []
        for line in (at.get((name, count)) for count in counts):
            if line is not None and line.test is not None:
                n_labels = line.measured.cell.n_labels
                x = line.measured.results[0].extra["n_train"] if n_labels is None else n_labels
                points.append(figures.Point(x, line.test.mean, line.test.sd))
        curves.append(figures.Curve(title, points, look))
    return curves


LABEL_EFFICIENCY = Experiment(NAME, "Label efficiency", ("ag_news", "20newsgroups"), make)
