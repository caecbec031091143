"""Table 3 of the paper: TSE-Net beside dense, pruned and randomly wired networks, on all 17 tasks."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from reproduce import figures, paper, render
from reproduce.cells import Cell, Found, Measured, results_of
from reproduce.experiment import Experiment, Request, select
from reproduce.methods import PAPER_SHAPES, PRUNING
from reproduce.overview import default_beside, overview
from reproduce.runner import CountsRunner, Runner
from reproduce.runs import Result, Run, Settings
from reproduce.stats import Spread
from reproduce.summary import CellSummary, summarise
from reproduce.task_table import task_table
from reproduce.tox21_folds import FOLDS
from tsenet.datasets import names
from tsenet.datasets.catalog import TOX21_LABELS

__all__ = ["TABLE3", "cells", "mean_of_tasks"]

NAME = "table3"
TASKS = tuple(f"tox21/{label}" for label in TOX21_LABELS)

PLAIN: Settings = {"dropout": 0.5, "learning_rate": 1e-3}  # the paper's
#: Every network that is validated chooses among as many, so that none is better tuned than another.
TRAINING: tuple[Settings, ...] = (
    PLAIN,
    {"dropout": 0.5, "learning_rate": 3e-3},
    {"dropout": 0.5, "learning_rate": 3e-4},
    {"dropout": 0.2, "learning_rate": 1e-3},
    {"dropout": 0.2, "learning_rate": 3e-3},
)
_SMALL_TRAINING = (TRAINING[0], TRAINING[2], TRAINING[4])
#: The paper states the dropout of its networks and not the learning rate.
RATES: tuple[Settings, ...] = (
    {"learning_rate": 1e-3},
    {"learning_rate": 3e-3},
    {"learning_rate": 3e-4},
)
#: Words as tf-idf, or their counts as in the paper: a validated network chooses.
_WEIGHTINGS: tuple[Settings, ...] = ({}, {"weighting": "counts"})
#: Where a further row chooses among all of the paper's shapes, also with a small grid.
_ALL_SHAPES = ("ag_news", "tox21")
_SMALL_GRID = ("rectangle 512×1", "rectangle 1024×1", "rectangle 512×2", "rectangle 1024×2")
_SHARE = 0.15  # of the dense network's parameters, for a TSE-Net that is pruned
_RETRAINING: tuple[Settings, ...] = ({"learning_rate_factor": 0.1}, {"learning_rate_factor": 1.0})
#: The networks whose sizes the others are made to, by the names of their rows.
SIZES = {
    "tsenet-paper": "TSE-Net (paper)",
    "backbone-paper": "Backbone (paper)",
    "tsenet": "TSE-Net (default)",
    "backbone": "Backbone (default)",
}
#: A random wiring is compared with the learned one of the same recipe, everything else with REFERENCE.
TWINS = {
    "random-paper": "tsenet-paper",
    "backbone-paper-random": "backbone-paper",
    "random": "tsenet",
    "backbone-random": "backbone",
}
REFERENCE = "tsenet-paper"
#: Rows of the picture, in its order; a panel of a few is left out beside fuller ones.
_DRAWN = (
    *("tsenet-paper", "random-paper", "backbone-paper", "backbone-paper-random"),
    *("tsenet", "random", "backbone", "backbone-random"),
    *("fnn", "equal-size", "pruned-paper", "set-paper", "rigl-paper"),
    *("logistic", "forest", "boosting"),
)
_FEW = 3


def cells(
    dataset: str, quick: bool = False, small_grid: bool = False, text: bool = True
) -> list[Cell]:
    """The rows of the table for one data set; a small grid has 4 shapes and 3 settings instead of 21 and 5.

    Those of the paper's recipe come first, then what is compared with it, then the default recipe.
    """
    short: Settings = {"max_epochs": 10} if quick else {}
    small = quick or small_grid
    training = _SMALL_TRAINING if small else TRAINING
    thresholds = PRUNING
    rates = RATES[:1] if small else RATES  # the first is Adam's usual one
    names = _SMALL_GRID if small_grid else tuple(PAPER_SHAPES)
    if quick:
        names = ("rectangle 512×1", "rectangle 512×2")
        training, thresholds = training[:1], PRUNING[-1:]
    shapes: tuple[Settings, ...] = tuple({"shape": name} for name in names)
    retraining = _RETRAINING[:1] if small else _RETRAINING

    def settings_of(name: str) -> Any:
        return lambda found, seed: found[name].settings(seed)

    def size_of(name: str) -> Any:
        return lambda found, seed: {
            **short,
            **_weighting(found["fnn"].settings(seed)),
            "n_parameters": found[name].results[seed].n_parameters,
        }

    def pruned(name: str) -> Any:
        return lambda found, seed: {
            "start": found["fnn"].settings(seed),
            "n_parameters": found[name].results[seed].n_parameters,
            "learning_rate_factor": 0.1,
        }

    def dynamic(name: str) -> Any:
        return lambda found, seed: {
            **short,
            **_weighting(found["fnn"].settings(seed)),
            "n_parameters": found[name].results[seed].n_parameters,
            "hidden": found["fnn"].results[seed].extra["hidden"],
        }

    def compact(found: Found, seed: int) -> Settings:
        size = round(_SHARE * found["fnn"].results[seed].n_parameters)
        return {"start": found["tsenet"].settings(seed), "n_parameters": size}

    def cell(name: str, title: str, method: str, settings: Any, *rounds: Any, **more: Any) -> Cell:
        return Cell(NAME, dataset, name, title, method, settings, rounds, **more)

    def learned_and_random(
        name: str, method: str, control: str, settings: Settings, *rounds: Any
    ) -> list[Cell]:
        """A learned network and the same over random links."""
        twin = next(twin for twin, learned in TWINS.items() if learned == name)
        title = f"{SIZES[name]}, random wiring"
        return [
            cell(name, SIZES[name], method, settings, *rounds),
            cell(twin, title, control, settings_of(name), needs=(name,)),
        ]

    def made_to_size(name: str) -> list[Cell]:
        """Other networks of the size of one."""
        end = "" if name == "tsenet" else f"-{name.removeprefix('tsenet-')}"
        needs = ("fnn", name)
        size = f"size of {SIZES[name]}"
        rows = [
            cell(
                *(f"pruned{end}", f"Pruned FNN, {size}", "pruned", pruned(name), thresholds),
                retraining,
                needs=needs,
            ),
            cell(
                *(f"equal-size{end}", f"FNN, {size}", "fnn-of-size", size_of(name), training),
                needs=needs,
            ),
        ]
        if name.endswith("paper"):
            for method, title in (("set", "SET"), ("rigl", "RigL")):
                named = (f"{method}{end}", f"{title}, {size}", method, dynamic(name), rates)
                rows.append(cell(*named, needs=needs))
        return rows

    backbone = {**short, "skip_units": 0}
    weightings = (_WEIGHTINGS,) if text and not quick else ()
    every = tuple({"shape": name} for name in PAPER_SHAPES)
    grid = (every, *weightings, training)
    return [
        cell("fnn", "FNN (validated)", "fnn", {**short, **PLAIN}, shapes, *weightings, training, keep=True),
        *learned_and_random("tsenet-paper", "tsenet-paper", "random-paper", short, rates),
        *learned_and_random("backbone-paper", "tsenet-paper", "random-paper", backbone, rates),
        cell("logistic", "Logistic regression", "logistic", {}),
        *(
            []
            if text
            else [
                cell("forest", "Random forest", "forest", {"n_estimators": 300}),
                cell("boosting", "Gradient boosting", "boosting", {}),
            ]
        ),
        *made_to_size("tsenet-paper"),
        *made_to_size("backbone-paper"),
        cell("fnn-100", "FNN, 100 units", "fnn", {**short, "hidden": [100]}, training),
        *(
            [cell("fnn-21", "FNN (validated, 21 shapes)", "fnn", PLAIN, *grid)]
            if small_grid and not quick and dataset in _ALL_SHAPES
            else []
        ),
        *learned_and_random("tsenet", "tsenet", "random", short),
        *learned_and_random("backbone", "tsenet", "random", {**backbone, "linear_skip": False}),
        *made_to_size("tsenet"),
        *made_to_size("backbone"),
        cell(
            "tsenet-pruned",
            f"TSE-Net (default), pruned to {100 * _SHARE:.0f} % of FNN",
            "tsenet-pruned",
            compact,
            needs=("fnn", "tsenet"),
        ),
    ]  # fmt: skip


def _weighting(settings: Settings) -> Settings:
    """How a dense network weighs words, for others like it."""
    return {name: settings[name] for name in ("weighting",) if name in settings}


def measure(runner: Runner, request: Request, progress: Any = None) -> list[Measured]:
    """Do the runs of the table that are not done."""
    quick = runner.quick is not None
    wanted = [
        c
        for name in request.datasets
        for c in select(
            cells(name, quick, request.small_grid, runner.is_text(name)), request.methods
        )
    ]
    return runner.measure_all(wanted, progress)


def make(runner: Runner, request: Request, progress: Any = None) -> render.ExperimentReport:
    """Measure the table and render it; rows that are not measured are there too."""
    measured = measure(runner, request, progress)
    started = {one.cell.dataset for one in measured if one.results}
    averages = mean_of_tasks([one for one in measured if one.cell.dataset in started])
    several = len(started.intersection(TASKS)) > 1
    paragraphs, rows, panels = [_INTRODUCTION + (_QUICK if runner.quick else "")], [], {}
    values: dict[str, str] = {}
    summaries: dict[str, dict[str, CellSummary]] = {}
    missing = []
    for name in dict.fromkeys(one.cell.dataset for one in [*measured, *averages]):
        own = [one for one in [*measured, *averages] if one.cell.dataset == name]
        if not any(one.results for one in own):
            missing.append(name)
            continue
        lines = _summaries(own)
        dense = lines.get("fnn")
        if (
            several and name in TASKS
        ) or name in FOLDS:  # in a table of their own; the file has each
            rows += [_file_row(line, dense, {}) for line in lines.values()]
            continue
        beside = paper.TABLE3.get(paper_name(name), {})
        table = [_page_row(one, lines.get(one.cell.name), dense, beside) for one in own]
        paragraphs += [f"## {name}", render.markdown_table(_HEAD, table)]
        rows += [_file_row(line, dense, beside) for line in lines.values()]
        shown = _DRAWN if request.methods is None else lines
        panels[name] = [
            _dot(lines[row], beside)
            for row in shown
            if row in lines and lines[row].test is not None
        ]
        values |= _named(name, lines, dense)
        summaries[name] = lines
    by_task = [task_table(measured, TASKS, REFERENCE)] if several else []
    for text, wins in (*by_task, task_table(measured, FOLDS, REFERENCE, "folds")):
        paragraphs += text
        values |= wins
    if missing:
        paragraphs.append(f"Not run: {', '.join(missing)}.")
    paragraphs += ["## Chosen on validation rows", render.chosen_table(measured)]
    paragraphs += [
        "## Where the figures come from",
        render.provenance(measured, request.command, runner.skipped),
    ]
    drawn = {name: own for name, own in panels.items() if len(own) > _FEW}
    drawn = drawn or {name: own for name, own in panels.items() if own}
    beside_default, more = default_beside(summaries)
    values |= more
    return render.ExperimentReport(
        name=NAME + ("-quick" if runner.quick else ""),
        title="Table 3: classification" + (" (quick look: small data)" if runner.quick else ""),
        paragraphs=tuple(paragraphs),
        lead=(*overview(summaries), *beside_default),
        csv={"": (_CSV_HEAD, rows), "-runs": render.runs_csv(measured)},
        figures={"": figures.dots(drawn, "test score")} if drawn else {},
        values=values,
        results=results_of(measured),
    )


_INTRODUCTION = (
    "Test accuracy (area under the ROC curve for Tox21), mean ± standard deviation over seeds, beside the paper's. "
    "*(paper)* is the paper's own recipe, `TSENetClassifier.paper()`; *(default)* is `TSENetClassifier()`. "
    "Parameters are trained numbers; *of FNN* is their share of the validated dense network's. *Difference* is the "
    "method minus the one *against* which it is compared, the learned wiring for a random one, else TSE-Net "
    "(paper), with its two-sided p-value: paired over test rows and seeds together for accuracy, Wilcoxon's test "
    "over the tasks for mean areas (of one network with 12 outputs, or of 12 networks), paired over seeds for a "
    "single area; *p, seeds* is that of the paired t-test over the seeds alone. p-values are not corrected for "
    "their number. CPU seconds include the structure and the network a method starts from, but not the choice of "
    "settings. Networks that are validated choose one setting after the other on validation rows (shape, weighting "
    "of words, then training), not from a full grid."
)
_QUICK = " This is a quick look: fewer rows and words than the paper's, whose figures are of the whole data."
_HEAD = (
    "method", "score", "seeds", "paper", "parameters", "of FNN", "paper's", "difference", "against", "p",
    "p, seeds", "without duplicates", "CPU s",
)  # fmt: skip
_CSV_HEAD = (
    "dataset", "method", "seeds", "mean", "sd", "paper_mean", "paper_sd", "n_parameters",
    "share_of_fnn", "paper_share_of_fnn", "difference", "p", "test", "p_over_seeds", "mean_without_duplicates",
    "cpu_seconds", "commit",
)  # fmt: skip
PaperColumn = Mapping[str, paper.PaperFigure]


def _summaries(group: Sequence[Measured]) -> dict[str, CellSummary]:
    """The methods that have results, each with the one it is compared with."""
    found = {one.cell.name: one for one in group if one.results}
    return {
        name: summarise(one, found.get(TWINS.get(name, REFERENCE))) for name, one in found.items()
    }


def _named(
    dataset: str, lines: Mapping[str, CellSummary], dense: CellSummary | None
) -> dict[str, str]:
    """Figures by name, for texts: ``ag_news/fnn`` is a score, ``ag_news/fnn:p`` its p-value.

    ``ag_news/fnn:is`` says in words whether it is ahead of the method it is compared with.
    """
    values = {}
    for name, line in lines.items():
        key = f"{dataset}/{name}"
        if line.test is not None:
            values[key] = render.shown(Spread(line.test.mean, None, line.test.n), line.metric)
            values[f"{key}:sd"] = render.shown(line.test, line.metric)
        values[f"{key}:seeds"] = str(len(line.measured.results))
        values[f"{key}:cpu"] = f"{line.cpu_seconds:.0f}"
        values[f"{key}:parameters"] = render.counted(line.n_parameters)
        if dense is not None:
            values[f"{key}:share"] = f"{100 * line.n_parameters / dense.n_parameters:.1f} %"
        if line.against is not None:
            values[f"{key}:difference"] = render.difference(line.against.difference, line.metric)
            values[f"{key}:p"] = render.p_in_text(line.against.p)
            values[f"{key}:p-seeds"] = render.p_in_text(line.p_over_seeds)
            values[f"{key}:is"] = line.standing
    return values


def _page_row(
    one: Measured, line: CellSummary | None, dense: CellSummary | None, beside: PaperColumn
) -> render.Row:
    """A method's row for the page."""
    figure = paper_figure(beside, one.cell.name)
    theirs = (
        "–"
        if figure is None
        else render.shown(
            Spread(figure.score, figure.sd, 3),
            "auc" if beside is paper.TABLE3["tox21"] else "accuracy",
        )
    )
    if line is None:
        return [one.cell.title, "not run", "–", theirs, *["–"] * (len(_HEAD) - 4)]
    share, paper_share = _shares(line, dense, beside)
    against = line.against
    other = TWINS.get(one.cell.name, REFERENCE)
    return [
        one.cell.title,
        render.shown(line.test, line.metric),
        len(one.results),
        theirs,
        render.counted(line.n_parameters),
        "–" if share is None else f"{100 * share:.1f} %",
        "–" if paper_share is None else f"{100 * paper_share:.1f} %",
        "–" if against is None else render.difference(against.difference, line.metric),
        "–" if against is None else SIZES[other],
        "–" if against is None else render.p_value(against.p),
        "–" if against is None else render.p_value(line.p_over_seeds),
        render.shown(line.clean, line.metric),
        f"{line.cpu_seconds:.1f}",
    ]


def _file_row(line: CellSummary, dense: CellSummary | None, beside: PaperColumn) -> render.Row:
    """The same for programs; an empty field is a figure that is not known."""
    figure = paper_figure(beside, line.measured.cell.name)
    against = line.against
    values = [
        line.measured.cell.dataset,
        line.measured.cell.name,
        len(line.measured.results),
        *((None, None) if line.test is None else line.test[:2]),
        *((None, None) if figure is None else figure[:2]),
        round(line.n_parameters),
        *_shares(line, dense, beside),
        *((None, None, None) if against is None else against),
        line.p_over_seeds,
        None if line.clean is None else line.clean.mean,
        round(line.cpu_seconds, 1),
        ", ".join(dict.fromkeys(r.versions.get("commit", "") for r in line.measured.results)),
    ]
    return ["" if value is None else value for value in values]


def _dot(line: CellSummary, beside: PaperColumn) -> figures.Dot:
    figure = paper_figure(beside, line.measured.cell.name)
    assert line.test is not None
    theirs = None if figure is None else figure.score
    name = line.measured.cell.name
    return figures.Dot(
        line.measured.cell.title, line.test.mean, line.test.sd, theirs, kind_of_wiring(name)
    )


def kind_of_wiring(name: str) -> figures.Kind:
    """Whether a row is a learned wiring, a random one, or something else."""
    if name in TWINS:
        return "random wiring"
    return "learned wiring" if name in (*SIZES, "tsenet-pruned", "tsenet-plain") else "others"


def _shares(
    line: CellSummary, dense: CellSummary | None, beside: PaperColumn
) -> tuple[float | None, float | None]:
    """Parameters as a share of the dense network's: ours and the paper's."""
    figure = paper_figure(beside, line.measured.cell.name)
    return (
        None if dense is None else line.n_parameters / dense.n_parameters,
        None if figure is None else figure.n_parameters / beside["fnn"].n_parameters,
    )


def paper_figure(beside: PaperColumn, method: str) -> paper.PaperFigure | None:
    """The paper's figure for a method: of its own recipe, and of the dense networks it was compared with."""
    if method in ("tsenet-paper", "backbone-paper", "pruned-paper"):
        return beside.get(method.removesuffix("-paper"))
    return beside.get(method) if method == "fnn" else None


MEAN = " (mean)"  # marks what is no data set but the mean of several


def paper_name(dataset: str) -> str:
    """What the paper calls it."""
    return dataset.removesuffix(MEAN)


def mean_of_tasks(measured: Sequence[Measured]) -> list[Measured]:
    """The mean of the Tox21 tasks for each method that has them all, as if it were a data set."""
    tasks = [name for name in TASKS if any(one.cell.dataset == name for one in measured)]
    averages = []
    for method in dict.fromkeys(one.cell.name for one in measured):
        own = [one for one in measured if one.cell.name == method and one.cell.dataset in tasks]
        if len(own) < 2 or any(not one.results for one in own):
            continue
        by_seed = zip(*(one.finals for one in own), strict=False)
        title = paper.TOX21_AVERAGE if len(tasks) == len(TASKS) else f"tox21, {len(tasks)} tasks"
        cell = replace(own[0].cell, dataset=title + MEAN)
        finals = tuple(map(_mean_run, by_seed))
        averages.append(Measured(cell, {}, (), finals))
    return averages


def _mean_run(pairs: Sequence[tuple[Run, Result]]) -> tuple[Run, Result]:
    """One seed's runs of several tasks as one."""
    return pairs[0][0], _mean_result([result for _, result in pairs])


def _mean_result(results: Sequence[Result]) -> Result:
    """One seed's results of several tasks as one, with the versions of the first and the oldest recipe."""
    areas = [result.test for result in results]
    sizes = [result.extra["n_train"] for result in results if "n_train" in result.extra]
    return Result(
        validation=_mean([result.validation for result in results]),
        test=_mean(areas),
        n_parameters=round(np.mean([result.n_parameters for result in results])),
        cpu_seconds=sum(result.cpu_seconds for result in results),
        wall_seconds=sum(result.wall_seconds for result in results),
        versions=results[0].versions,
        extra={"areas": areas, **({"n_train": round(np.mean(sizes))} if sizes else {})},
        recipe=min(result.recipe for result in results),
    )


def _mean(values: Sequence[float | None]) -> float | None:
    known = [value for value in values if value is not None]
    return float(np.mean(known)) if len(known) == len(values) else None


#: MNIST with 5,000 of its training rows, on which the scoreboard measures too.
SMALL_MNIST = "mnist:5000"
TABLE3 = Experiment(
    NAME,
    "Table 3: classification",
    (*TASKS, *paper.TEXT_DATASETS),
    make,
    known=(*names(), SMALL_MNIST, *FOLDS),
    runner=CountsRunner,
)
