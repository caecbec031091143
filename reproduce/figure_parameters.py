"""The paper's figure of parameters: TSE-Net beside the best dense network, from the runs of table 3."""

from __future__ import annotations

from typing import Any

from reproduce import figures, paper, render, table3
from reproduce.cells import results_of
from reproduce.experiment import Experiment, Request
from reproduce.runner import CountsRunner, Runner
from reproduce.summary import by_dataset, summarise

__all__ = ["FIGURE_PARAMETERS"]

NAME = "figure-parameters"
_METHODS = ("fnn", "tsenet-paper", "backbone-paper", "tsenet", "backbone")


def make(runner: Runner, request: Request, progress: Any = None) -> render.ExperimentReport:
    """Count the parameters of table 3 and draw them."""
    wanted = Request(
        request.datasets,
        request.methods or _METHODS,
        command=request.command,
        small_grid=request.small_grid,
    )
    measured = table3.measure(runner, wanted, progress)
    groups = by_dataset([*measured, *table3.mean_of_tasks(measured)])
    rows: list[tuple[str, str, float, float | None]] = []
    panels: dict[str, dict[str, dict[str, float]]] = {"Tox21": {}, "Other data sets": {}}
    for name, own in groups.items():
        beside = paper.TABLE3.get(table3.paper_name(name), {})
        panel = panels["Tox21" if name.startswith("tox21") else "Other data sets"]
        for one in own:
            size = summarise(one).n_parameters
            figure = table3.paper_figure(beside, one.cell.name)
            theirs = None if figure is None else figure.n_parameters
            rows.append((name, one.cell.title, size, theirs))
            if not name.endswith(table3.MEAN):
                label = name.removeprefix("tox21/")
                panel.setdefault(one.cell.title, {})[label] = size / 1e6
    drawn = {title: own for title, own in panels.items() if own}
    page = [(*row[:2], render.counted(row[2]), render.counted(row[3])) for row in rows]
    return render.ExperimentReport(
        name=NAME + ("-quick" if runner.quick else ""),
        title="Parameters of TSE-Nets and dense networks",
        paragraphs=(
            "Trained numbers, mean over seeds, of the networks of table 3.",
            render.markdown_table(("data set", "method", "parameters", "paper"), page),
            render.provenance(measured, request.command, runner.skipped),
        ),
        csv={
            "": (
                ("dataset", "method", "n_parameters", "paper_n_parameters"),
                [["" if value is None else value for value in row] for row in rows],
            )
        },
        figures={"": figures.bars(drawn, "million parameters")} if drawn else {},
        results=results_of(measured),
    )


FIGURE_PARAMETERS = Experiment(
    NAME,
    "Parameters of TSE-Nets and dense networks",
    table3.TABLE3.datasets,
    make,
    known=table3.TABLE3.known,
    runner=CountsRunner,
)
