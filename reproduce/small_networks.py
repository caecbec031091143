"""Accuracy against parameters, from 20 thousand to 5 million: pruned, dynamically sparse and dense networks."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from reproduce import figures, render
from reproduce.cells import Cell, Measured, results_of
from reproduce.experiment import Experiment, Request, wanted_cells
from reproduce.methods import PRUNING
from reproduce.runner import CountsRunner, Runner
from reproduce.runs import Settings
from reproduce.stats import Spread
from reproduce.summary import CellSummary, by_dataset, summarise

__all__ = ["SMALL_NETWORKS", "cells"]

NAME = "small-networks"
BUDGETS = (20_000, 50_000, 100_000, 200_000, 500_000, 1_000_000, 2_000_000, 5_000_000)
_QUICK_BUDGETS = (20_000, 100_000, 500_000)
_LARGEST_LINEAR = 100_000  # more than a linear model of ten thousand words and a few classes has


def cells(dataset: str, n_labels: int | None = None, quick: bool = False) -> list[Cell]:
    """All points of the picture for one data set."""
    short: Settings = {"max_epochs": 30} if quick else {}
    budgets = [{"n_parameters": n} for n in (_QUICK_BUDGETS if quick else BUDGETS)]
    # with all labels the way of pruning is chosen; few leave none to choose by
    thresholds = PRUNING[-1:] if quick or n_labels is not None else PRUNING

    def curve(
        name: str, title: str, method: str, points: Sequence[Settings], *rounds: Any
    ) -> list[Cell]:
        return [
            Cell(NAME, dataset, name, title, method, point, rounds, n_labels=n_labels)
            for point in points
        ]

    from_tsenet = [{**budget, "start": short} for budget in budgets]
    from_random = [{**point, "of": "random"} for point in from_tsenet]
    from_fnn = [{**budget, "start": {**short, "hidden": [512]}} for budget in budgets]
    small = [budget for budget in budgets if budget["n_parameters"] <= _LARGEST_LINEAR]
    dynamic = [{**short, **budget, "hidden": [512]} for budget in budgets]
    return [
        *curve("tsenet-pruned", "TSE-Net, pruned", "tsenet-pruned", from_tsenet),
        *curve("random-pruned", "TSE-Net, random wiring, pruned", "tsenet-pruned", from_random),
        *curve("pruned", "FNN 512, pruned", "pruned", from_fnn, thresholds),
        *curve("fnn", "FNN", "fnn-of-size", [{**short, **budget} for budget in budgets]),
        *curve("logistic", "Logistic regression", "logistic", [{}]),
        *curve("pruned-logistic", "Logistic regression, pruned", "pruned-logistic", small),
        *curve("set", "SET, 512 units", "set", dynamic),
        *curve("rigl", "RigL, 512 units", "rigl", dynamic),
    ]


def make(runner: Runner, request: Request, progress: Any = None) -> render.ExperimentReport:
    """Measure the points and render them."""
    quick = runner.quick is not None
    wanted = wanted_cells(request, (None,), lambda name, n_labels: cells(name, n_labels, quick))
    measured = runner.measure_all(wanted, progress)
    paragraphs, rows = [_INTRODUCTION], []
    panels: dict[str, list[figures.Curve]] = {}
    values: dict[str, str] = {}
    for name, own in by_dataset(measured).items():
        for n_labels in dict.fromkeys(one.cell.n_labels for one in own):
            lines = _summaries([one for one in own if one.cell.n_labels == n_labels])
            values |= _named(lines)
            lines = sorted(lines, key=lambda line: (line.measured.cell.title, line.n_parameters))
            title = name if n_labels is None else f"{name}, {n_labels:,} labels"
            paragraphs += [f"## {title}", render.markdown_table(_HEAD, map(_page_row, lines))]
            rows += [_file_row(line) for line in lines]
            panels[title] = _curves(lines, [one.cell.title for one in own])
    paragraphs += [
        "## Chosen on validation rows",
        render.chosen_table(measured),
        "## Where the figures come from",
        render.provenance(measured, request.command, runner.skipped),
    ]
    return render.ExperimentReport(
        name=NAME + ("-quick" if quick else ""),
        title="Small networks: accuracy against parameters"
        + (" (quick look: small data)" if quick else ""),
        paragraphs=tuple(paragraphs),
        csv={"": (_CSV_HEAD, rows), "-runs": render.runs_csv(measured)},
        figures={"": figures.curves(panels, "parameters", "test accuracy")} if panels else {},
        values=values,
        results=results_of(measured),
    )


_INTRODUCTION = (
    "Test accuracy, mean ± standard deviation over seeds, and the number of trained parameters. Networks are made to "
    "20 thousand … 5 million parameters, or the nearest they can have. *Difference* is the method minus the pruned "
    "TSE-Net made to the same number, in points, with its two-sided p-value, paired over test rows and seeds together "
    "and not corrected for the number of comparisons."
)
REFERENCE = "tsenet-pruned"
_HEAD = ("method", "parameters", "score", "difference", "p", "settings", "CPU s")
_CSV_HEAD = (
    "dataset", "n_labels", "method", "n_parameters", "seeds", "mean", "sd", "difference", "p", "cpu_seconds",
)  # fmt: skip


def _budget(cell: Cell) -> int | None:
    """The number of parameters that a cell's network is made to."""
    assert not callable(cell.settings)
    return cell.settings.get("n_parameters")


def _summaries(group: Sequence[Measured]) -> list[CellSummary]:
    """Each point beside the pruned TSE-Net made to the same size."""
    reference = {_budget(one.cell): one for one in group if one.cell.name == REFERENCE}
    return [summarise(one, reference.get(_budget(one.cell))) for one in group]


def _named(lines: Sequence[CellSummary]) -> dict[str, str]:
    """Figures by name, for texts: ``ag_news/set@20000`` is the score of SET with 20 thousand parameters."""
    values = {}
    for line in lines:
        cell = line.measured.cell
        budget = _budget(cell)
        if line.test is None:
            continue
        labels = "" if cell.n_labels is None else f"@{cell.n_labels} labels"
        key = f"small:{cell.dataset}{labels}/{cell.name}" + (f"@{budget}" if budget else "")
        values[key] = render.shown(Spread(line.test.mean, None, line.test.n), line.metric)
        values[f"{key}:parameters"] = render.counted(line.n_parameters)
        if line.against is not None:
            values[f"{key}:difference"] = render.difference(line.against.difference, line.metric)
            values[f"{key}:p"] = render.p_in_text(line.against.p)
            values[f"{key}:is"] = line.standing
    return values


def _page_row(line: CellSummary) -> render.Row:
    return [
        line.measured.cell.title,
        render.counted(line.n_parameters),
        render.shown(line.test, line.metric),
        "–" if line.against is None else render.difference(line.against.difference, line.metric),
        "–" if line.against is None else render.p_value(line.against.p),
        render.told(line.measured.settings(0)),
        f"{line.cpu_seconds:.1f}",
    ]


def _file_row(line: CellSummary) -> render.Row:
    cell = line.measured.cell
    values = [
        cell.dataset,
        "all" if cell.n_labels is None else cell.n_labels,
        cell.name,
        round(line.n_parameters),
        len(line.measured.results),
        *((None, None) if line.test is None else line.test[:2]),
        *((None, None) if line.against is None else line.against[:2]),
        round(line.cpu_seconds, 1),
    ]
    return ["" if value is None else value for value in values]


def _curves(lines: list[CellSummary], titles: list[str]) -> list[figures.Curve]:
    return [
        figures.Curve(
            title,
            [
                figures.Point(line.n_parameters, line.test.mean, line.test.sd)
                for line in lines
                if line.measured.cell.title == title and line.test is not None
            ],
            look,
        )
        for look, title in enumerate(dict.fromkeys(titles))
    ]


SMALL_NETWORKS = Experiment(
    NAME, "Accuracy against parameters", ("ag_news",), make, runner=CountsRunner
)
