"""``python -m reproduce.pages``: all pages of ``docs/results`` that stored runs give, written anew; nothing is run.

The runs are files of ``docs/results/runs``: JSON lines, one for each run, with its settings, seed, commit, seconds,
and the outcome on every test row or the area of every task. The conclusions are texts of ``reproduce/notes``, which
name figures instead of holding them: ``{ag_news/tsenet-paper}`` is the score of a row of table 3.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Annotated

import typer

from reproduce import (
    differences,
    few_labels,
    figure_mnist,
    figure_parameters,
    interpretability,
    render,
    scoreboard,
    small_networks,
    table3,
)
from reproduce.console import plain_errors
from reproduce.experiment import Request
from reproduce.files import write_whole
from reproduce.runner import CountsRunner, Runner
from reproduce.runs import RunStore, line_of
from reproduce.tox21_folds import FOLDS
from reproduce.verdicts import verdicts
from tsenet.errors import DataError

__all__ = ["pages", "take_runs", "write_pages"]

FOLDER = Path("docs/results")
#: What the pages of table 3 show; the paper's other text sets are not at hand.
_DATASETS = ("ag_news", "20newsgroups", "tox21", table3.SMALL_MNIST)
_MORE = (*table3.TASKS, *FOLDS, "yelp_review_full", "dbpedia", "sogou_news", "yahoo_answers")
_TEXT_SETS = ("ag_news", "20newsgroups")
_FEW = "python -m reproduce few-labels"
_SIZES = "python -m reproduce small-networks"
_PIXELS = "python -m reproduce figure-mnist --datasets mnist"
_BOARD = "python -m reproduce scoreboard --part test"
#: Of the suite: those that are not in table 3.
_SUITE = (
    "stackoverflow", "dbpedia", "subj", "dna", "spam", "satellite", "sonar", "vowel", "acsf1", "tecator", "digits",
    "mnist",
)  # fmt: skip
_CHANGES = "python -m reproduce differences"
_COMMAND = "python -m reproduce table3 --small-grid"
#: Pages that are texts with figures of table 3: file, and heading.
_TEXTS = {"verdict": "What was reproduced of the paper"}


def pages(folder: Path) -> list[render.ExperimentReport]:
    """The reports, with their notes, from the runs in a folder."""
    runner = CountsRunner(folder, seeds=3, execute=False)
    table = table3.make(runner, Request((*_DATASETS, *_MORE), None, None, _COMMAND, True))
    size = figure_parameters.make(runner, Request(_DATASETS, None, None, _COMMAND, True))
    words = interpretability.make(
        runner,
        Request(_TEXT_SETS, None, None, _COMMAND.replace("table3", "interpretability"), True),
    )
    few = few_labels.make(runner, Request(_TEXT_SETS, None, None, _FEW))
    small = small_networks.make(runner, Request(("ag_news",), None, None, _SIZES))
    changes = differences.make(runner, Request(_TEXT_SETS, None, None, _CHANGES))
    board = replace(
        scoreboard.make(
            scoreboard.SuiteRunner(folder, seeds=3, execute=False),
            Request(_SUITE, None, None, _BOARD, part="test"),
        ),
        name="scoreboard",
    )
    pixels = figure_mnist.make(
        Runner(folder, seeds=3, execute=False), Request(("mnist",), None, None, _PIXELS)
    )
    known = {
        **board.values,
        **table.values,
        **words.values,
        **few.values,
        **small.values,
        **changes.values,
    }
    known |= verdicts(known)
    every = tuple(
        result for report in (board, table, words, few, small, changes) for result in report.results
    )
    texts = [
        render.ExperimentReport(
            name, title, (render.filled(_notes(name), known).strip(),), results=every
        )
        for name, title in _TEXTS.items()
    ]
    with_notes = [
        _valued(report, known).with_notes(_notes(report.name))
        for report in (
            table,
            size,
            words,
            changes,
            board,
            *(one for one in (few, small) if one.values),  # no page of what was not run
            *([pixels] if pixels.figures else []),
        )
    ]
    return [*with_notes, *texts]


def _valued(report: render.ExperimentReport, values: Mapping[str, str]) -> render.ExperimentReport:
    """A report whose notes may name another one's figures."""
    return replace(report, values=values)


def _notes(name: str) -> str:
    return (Path(__file__).parent / "notes" / f"{name}.md").read_text("utf-8")


def write_pages(folder: Path) -> list[Path]:
    """Write them; return the paths."""
    return [path for report in pages(folder) for path in render.write(report, folder)]


def take_runs(source: Path, folder: Path) -> int:
    """Take the runs of another folder over, each instead of an earlier one of the same settings; return how many.

    Raises
    ------
    DataError
        If one comes from a tree that was not clean: nobody could run it again.
    """
    n_taken = 0
    for path in sorted((source / "runs").glob("*.jsonl")):
        new = RunStore(path).items()
        dirty = [run for run, result in new if result.versions.get("commit", "+").endswith("+")]
        if dirty:
            raise DataError(f"{path}: {dirty[0]} is of a tree that differed from its commit")
        target = folder / "runs" / path.name
        kept = {run.key: (run, result) for run, result in RunStore(target).items()}
        kept |= {run.key: (run, result) for run, result in new}
        write_whole(target, "".join(line_of(*pair) for pair in kept.values()))
        n_taken += len(new)
    return n_taken


app = typer.Typer(add_completion=False, pretty_exceptions_enable=False)


@app.command()
def main(
    folder: Annotated[
        Path, typer.Option(help="Has the runs in runs/; the pages go there.")
    ] = FOLDER,
    runs_from: Annotated[
        Path | None,
        typer.Option(metavar="DIR", help="Take the runs over from this --out of reproduce first."),
    ] = None,
) -> None:
    """Write the results pages anew from the stored runs."""
    with plain_errors(False):
        if runs_from is not None:
            typer.echo(f"{take_runs(runs_from, folder)} runs taken over from {runs_from}")
        for path in write_pages(folder):
            typer.echo(path)


if __name__ == "__main__":
    app(prog_name="python -m reproduce.pages")
