"""``tsenet reproduce``: the paper's tables and figures, and those beyond it. A thin call into the library."""

from __future__ import annotations

import shlex
import sys
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from tsenet.cli._console import remember_debug, shown_progress

if TYPE_CHECKING:
    from reproduce.experiment import Experiment
    from reproduce.lab import Lab

__all__ = ["reproduce"]


class Name(StrEnum):
    """Which table or figure."""

    table3 = "table3"
    interpretability = "interpretability"
    figure_mnist = "figure-mnist"
    figure_parameters = "figure-parameters"
    frontier = "frontier"
    label_efficiency = "label-efficiency"
    structure = "structure"


def reproduce(
    experiment: Annotated[Name, typer.Argument(metavar="NAME", help="Which table or figure.")],
    datasets: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NAMES", help="Data sets, with commas or repeated; tox21/* is all of a kind."
        ),
    ] = None,
    methods: Annotated[
        list[str] | None,
        typer.Option(metavar="NAMES", help="Only these methods, and those they need."),
    ] = None,
    labels: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NUMBERS",
            help="frontier, label-efficiency, structure: numbers of labels, or all.",
        ),
    ] = None,
    seeds: Annotated[
        int | None,
        typer.Option(metavar="N", min=1, help="Runs of each figure; default 3, with --quick 2."),
    ] = None,
    quick: Annotated[
        bool, typer.Option("--quick", help="A small version of everything, in minutes.")
    ] = False,
    small_grid: Annotated[
        bool,
        typer.Option(
            "--small-grid", help="table3: 4 shapes and 2 settings to choose from, not 21 and 4."
        ),
    ] = False,
    out: Annotated[
        Path, typer.Option(metavar="DIR", help="Folder of the runs, tables and figures.")
    ] = Path("tsenet-results"),
    resume: Annotated[
        bool,
        typer.Option("--resume/--fresh", help="Go on from the runs in the folder, or begin anew."),
    ] = True,
    render_only: Annotated[
        bool, typer.Option("--render-only", help="Do no run; show those that are done.")
    ] = False,
    jobs: Annotated[int | None, typer.Option(metavar="N", min=1, help="Threads.")] = None,
    quiet: Annotated[bool, typer.Option("--quiet", help="No progress.")] = False,
    debug: Annotated[
        bool,
        typer.Option("--debug", help="Show the traceback of an error.", callback=remember_debug),
    ] = False,
) -> None:
    """Run an experiment of the paper, or beyond it, and write its tables and figures.

    Every run is stored when it ends. After Ctrl-C or a crash the same command goes on where it was.
    """
    from reproduce.bench import QuickSize
    from reproduce.definitions import EXPERIMENTS
    from reproduce.experiment import Request, expand_names
    from reproduce.figures import require_matplotlib
    from reproduce.lab import Lab
    from reproduce.render import write
    from tsenet.datasets import names

    require_matplotlib()
    wanted = EXPERIMENTS[experiment.value]
    request = Request(
        expand_names(datasets, names()) if datasets else wanted.datasets,
        None if methods is None else tuple(_parts(methods)),
        None if labels is None else tuple(_number_of_labels(text) for text in _parts(labels)),
        "tsenet " + shlex.join(sys.argv[1:]),
        small_grid,
    )
    lab = Lab(
        out,
        seeds=seeds or (2 if quick else 3),
        quick=QuickSize() if quick else None,
        n_jobs=jobs,
        execute=not render_only,
    )
    if not resume:
        _set_aside(lab, wanted)
    try:
        with shown_progress(quiet) as progress:
            report = wanted.make(lab, request, progress)
    except KeyboardInterrupt:
        typer.echo(
            f"interrupted; {lab.n_executed} runs were done and are kept in {out}. The same command goes on from "
            "there; --render-only shows what there is",
            err=True,
        )
        raise typer.Exit(130) from None
    paths = write(report, out)
    typer.echo(report.markdown)
    typer.echo(f"{lab.n_executed} runs done; written: {', '.join(map(str, paths))}")
    if lab.skipped:
        raise typer.Exit(1)


def _parts(given: list[str]) -> list[str]:
    return [part.strip() for text in given for part in text.split(",") if part.strip()]


def _number_of_labels(text: str) -> int | None:
    if text == "all":
        return None
    if not text.isdigit() or int(text) < 1:
        raise typer.BadParameter(f"a number of labels, or all, not {text!r}", param_hint="--labels")
    return int(text)


def _set_aside(lab: Lab, experiment: Experiment) -> None:
    aside = lab.store(experiment.name).set_aside()
    if aside is not None:
        typer.echo(f"the runs so far are kept as {aside}", err=True)
