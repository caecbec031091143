"""``python -m reproduce.pages``: all pages of ``docs/results`` that stored runs give, written anew; nothing is run.

The runs are files of ``docs/results/runs``: JSON lines, one for each run, with its settings, seed, commit, seconds,
and the outcome on every test row or the area of every task. The conclusions are texts of ``reproduce/notes``, which
name figures instead of holding them: ``{ag_news/tsenet-paper}`` is the score of a row of table 3.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Annotated

import typer

from reproduce import figure_parameters, interpretability, render, table3
from reproduce.console import plain_errors
from reproduce.experiment import Request
from reproduce.runner import CountsRunner

__all__ = ["pages", "write_pages"]

FOLDER = Path("docs/results")
#: What the pages of table 3 show; the paper's other text sets are not at hand.
_DATASETS = ("ag_news", "20newsgroups", "tox21", table3.SMALL_MNIST)
_NOT_RUN = (*table3.TASKS, "yelp_review_full", "dbpedia", "sogou_news", "yahoo_answers")
_COMMAND = "python -m reproduce table3 --small-grid"
#: Pages that are texts with figures of table 3: file, and heading.
_TEXTS = {
    "verdict": "What was reproduced of the paper",
    "differences": "What differs from the paper",
}


def pages(folder: Path) -> list[render.Report]:
    """The reports, with their notes, from the runs in a folder."""
    runner = CountsRunner(folder, seeds=3, execute=False)
    table = table3.make(runner, Request((*_DATASETS, *_NOT_RUN), None, None, _COMMAND, True))
    size = figure_parameters.make(runner, Request(_DATASETS, None, None, _COMMAND, True))
    words = interpretability.make(
        runner,
        Request(("ag_news",), None, None, _COMMAND.replace("table3", "interpretability"), True),
    )
    known = {**table.values, **words.values}
    texts = [
        render.Report(name, title, (render.filled(_notes(name), known).strip(),))
        for name, title in _TEXTS.items()
    ]
    with_notes = [
        report.with_notes(_notes(report.name)) for report in (table, _valued(size, known), words)
    ]
    return [*with_notes, *texts]


def _valued(report: render.Report, values: Mapping[str, str]) -> render.Report:
    """A report whose notes may name another one's figures."""
    return render.Report(
        report.name, report.title, report.paragraphs, report.csv, report.figures, values
    )


def _notes(name: str) -> str:
    return (Path(__file__).parent / "notes" / f"{name}.md").read_text("utf-8")


def write_pages(folder: Path) -> list[Path]:
    """Write them; return the paths."""
    return [path for report in pages(folder) for path in render.write(report, folder)]


app = typer.Typer(add_completion=False, pretty_exceptions_enable=False)


@app.command()
def main(
    folder: Annotated[
        Path, typer.Option(help="Has the runs in runs/; the pages go there.")
    ] = FOLDER,
) -> None:
    """Write the results pages anew from the stored runs."""
    with plain_errors(False):
        for path in write_pages(folder):
            typer.echo(path)


if __name__ == "__main__":
    app(prog_name="python -m reproduce.pages")
