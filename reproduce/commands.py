"""The command of ``python -m reproduce``: run an experiment, or continue it, and write its report."""

from __future__ import annotations

import shlex
import sys
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from reproduce.console import plain_errors, shown_progress

if TYPE_CHECKING:
    from reproduce.experiment import Experiment, Request
    from reproduce.runner import Runner

__all__ = ["app"]

app = typer.Typer(add_completion=False, pretty_exceptions_enable=False, rich_markup_mode=None)


class Name(StrEnum):
    """The experiments, in the order of the documentation."""

    table3 = "table3"
    interpretability = "interpretability"
    figure_mnist = "figure-mnist"
    figure_parameters = "figure-parameters"
    small_networks = "small-networks"
    few_labels = "few-labels"
    differences = "differences"
    scoreboard = "scoreboard"


class PartName(StrEnum):
    """The rows that the scoreboard scores."""

    validation = "validation"
    test = "test"


def _list(value: bool) -> None:
    """Print the experiments, their titles and default data sets; the callback of ``--list``."""
    if not value:
        return
    from reproduce.definitions import EXPERIMENTS

    for name in Name:
        experiment = EXPERIMENTS[name.value]
        typer.echo(
            f"{name.value:<18} {experiment.title}\n{'':<18} {', '.join(experiment.datasets)}"
        )
    raise typer.Exit


@app.command()
def reproduce(
    experiment: Annotated[
        Name, typer.Argument(metavar="NAME", help="One of the experiments above.")
    ],
    datasets: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NAMES",
            help="Data sets, separated by commas; 'tox21/*' stands for all that match.",
        ),
    ] = None,
    methods: Annotated[
        list[str] | None,
        typer.Option(metavar="NAMES", help="Only these rows of the table, and those they need."),
    ] = None,
    labels: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NUMBERS",
            help="Numbers of labels, or all (small-networks, few-labels, differences, scoreboard).",
        ),
    ] = None,
    seeds: Annotated[
        int | None,
        typer.Option(
            metavar="N", min=1, help="Seeds of each final run. [default: 3; with --quick 2]"
        ),
    ] = None,
    quick: Annotated[
        bool,
        typer.Option("--quick", help="Fewer rows, words, candidates and seeds: takes minutes."),
    ] = False,
    part: Annotated[
        PartName,
        typer.Option(help="Rows that the scoreboard scores; test is for final figures."),
    ] = PartName.validation,
    small_grid: Annotated[
        bool,
        typer.Option(
            "--small-grid",
            help="Choose among 4 dense shapes and 2 settings instead of 21 and 4 (table3 and what uses it).",
        ),
    ] = False,
    out: Annotated[
        Path, typer.Option(metavar="DIR", help="Folder for runs, structures, tables and figures.")
    ] = Path("tsenet-results"),
    resume: Annotated[
        bool,
        typer.Option(
            "--resume/--fresh",
            help="Continue from the runs in the folder, or start again (the old runs are kept).",
        ),
    ] = True,
    keep_stale: Annotated[
        bool,
        typer.Option(
            "--keep-stale",
            help="Keep results of another recipe; default: run them again.",
        ),
    ] = False,
    render_only: Annotated[
        bool,
        typer.Option(
            "--render-only", help="Start no run; write the tables from those that are done."
        ),
    ] = False,
    show_list: Annotated[
        bool,
        typer.Option(
            "--list",
            help="List the experiments and their data sets.",
            callback=_list,
            is_eager=True,
        ),
    ] = False,
    jobs: Annotated[int | None, typer.Option(metavar="N", min=1, help="Threads.")] = None,
    quiet: Annotated[bool, typer.Option("--quiet", help="No progress.")] = False,
    debug: Annotated[
        bool,
        typer.Option("--debug", help="Show the traceback of an error."),
    ] = False,
) -> None:
    """Run an experiment of the paper, or one beyond it, and write its tables and figures.

    \b
    table3             accuracy and parameters of TSE-Net and its rivals
    interpretability   table 4: how well the words of the top units go together
    figure-mnist       which pixels each level of the skeleton groups
    figure-parameters  parameters of the networks of table3, as bars
    small-networks     accuracy against parameters
    few-labels         accuracy against the number of labels
    differences        the default with one thing at a time as in the paper
    scoreboard         defaults, Backbone, controls and rivals on the whole suite

    Every run is stored when it ends: after Ctrl-C or a crash the same command continues. A first look:

    \b
    python -m reproduce table3 --datasets digits --quick
    """
    from reproduce.dataset_context import QuickSize
    from reproduce.definitions import EXPERIMENTS
    from reproduce.experiment import Request, expand_names
    from tsenet.datasets import names

    with plain_errors(debug):
        wanted = EXPERIMENTS[experiment.value]
        request = Request(
            expand_names(datasets, wanted.known or names()) if datasets else wanted.datasets,
            None if methods is None else tuple(_parts(methods)),
            None if labels is None else tuple(_number_of_labels(text) for text in _parts(labels)),
            "python -m reproduce " + shlex.join(sys.argv[1:]),
            small_grid,
            part.value,
        )
        runner = wanted.runner(
            out,
            seeds=seeds or (2 if quick else 3),
            quick=QuickSize() if quick else None,
            n_jobs=jobs,
            execute=not render_only,
            keep_stale=keep_stale,
        )
        if not resume:
            _set_aside(runner, wanted)
        _run(wanted, runner, request, quiet)


def _run(experiment: Experiment, runner: Runner, request: Request, quiet: bool) -> None:
    """Do what is not done yet, then write and print the report."""
    from reproduce.figures import require_matplotlib
    from reproduce.render import write

    require_matplotlib()
    try:
        with shown_progress(quiet) as progress:
            report = experiment.make(runner, request, progress)
    except KeyboardInterrupt:
        typer.echo(
            f"interrupted; {runner.n_executed} runs were done and are kept in {runner.folder}. The same command "
            "continues from there; --render-only shows what is done",
            err=True,
        )
        raise typer.Exit(130) from None
    paths = write(report, runner.folder)
    typer.echo(report.markdown)
    typer.echo(f"{runner.n_executed} runs done; written: {', '.join(map(str, paths))}")
    if runner.skipped:
        raise typer.Exit(1)


def _parts(given: list[str]) -> list[str]:
    return [part.strip() for text in given for part in text.split(",") if part.strip()]


def _number_of_labels(text: str) -> int | None:
    if text == "all":
        return None
    if not text.isdigit() or int(text) < 1:
        raise typer.BadParameter(f"a number of labels, or all, not {text!r}", param_hint="--labels")
    return int(text)


def _set_aside(runner: Runner, experiment: Experiment) -> None:
    aside = runner.store(experiment.name).set_aside()
    if aside is not None:
        typer.echo(f"the runs so far are kept as {aside}", err=True)
