"""What each deviation of the default from the paper does: the default with one thing at a time as in the paper.

Scores are those of validation rows: who wants to change the default chooses by them, so no run looks at test rows.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from reproduce import figures, render
from reproduce.cells import Cell, Measured, results_of
from reproduce.experiment import Experiment, Request, wanted_cells
from reproduce.runner import CountsRunner, Runner
from reproduce.runs import Result, Settings
from reproduce.scoring import kept, score_on, unpack
from reproduce.stats import PairedComparison, Spread, paired_rows, spread, standing
from reproduce.summary import by_dataset

if TYPE_CHECKING:
    from reproduce.run_context import RunContext

__all__ = ["CHANGES", "DIFFERENCES", "Change", "cells"]

NAME = "differences"
REFERENCE = "default"
ALL = "paper"  # every change at once


@dataclass(frozen=True)
class Change:
    """A line of the table: the default with ``settings`` as in the paper; ``method`` of :mod:`reproduce.methods`."""

    name: str
    title: str
    settings: Settings = field(default_factory=dict)
    method: str = "tsenet"


CHANGES = (
    Change(REFERENCE, "the default"),
    Change("counts", "raw word counts", {"weighting": "counts"}),
    Change("groups", "groups without a significance test", {"tree_options": {"correlation_test": False}}),
    Change("attached", "every word in a group", {"leftovers": "attach"}),
    Change("whole-documents", "structure from whole documents", {"piece_size": None}),
    Change("sample", "structure from 10,000 rows", {"tree_options": {"structure_samples": 10_000}}),
    Change("top-k", "links by top-k", {"link_rule": "top-k"}),
    Change("density", "density 5 %", {"density": 0.05}),
    Change("one-unit", "one unit for each latent", {"units_per_latent": 1}),
    Change("skip-paths", "skip paths of 100 units", {"skip_units": 100}),
    Change("no-linear-part", "no linear part", {"linear_skip": False}),
    Change("dropout", "dropout 0.5", {"dropout": 0.5}),
    # with this start the estimator takes the paper's other values too, which have lines of their own
    Change(
        "plain", "random first weights, plain training",
        {"init": "random", "skip_units": 0, "dropout": 0.3, "units_per_latent": 2},
    ),
    Change(ALL, "all of these: the paper's recipe", {}, "tsenet-paper"),
)  # fmt: skip


def cells(dataset: str, n_labels: int | None = None, quick: bool = False) -> list[Cell]:
    """The lines of the table for one data set."""
    short: Settings = {"max_epochs": 30} if quick else {}
    return [
        Cell(
            *(NAME, dataset, change.name, change.title, change.method),
            {**short, **change.settings},
            n_labels=n_labels,
            probe=_probe,
            final=False,
        )
        for change in CHANGES
    ]


def _probe(model: Any, context: RunContext) -> Mapping[str, Any]:
    """Which validation rows a network got right, for p-values."""
    score = score_on(model, context.dataset.validation, context.dataset)
    return {"on_validation": dict(kept(score))}


def make(runner: Runner, request: Request, progress: Any = None) -> render.ExperimentReport:
    """Measure the changes and render them."""
    quick = runner.quick is not None
    wanted = wanted_cells(request, (None,), lambda name, n_labels: cells(name, n_labels, quick))
    measured = runner.measure_all(wanted, progress)
    lines = [
        line
        for name, own in by_dataset(measured).items()
        for n_labels in dict.fromkeys(one.cell.n_labels for one in own)
        for line in _lines(name, [one for one in own if one.cell.n_labels == n_labels])
    ]
    tables: dict[str, list[_Line]] = {}
    for line in lines:
        tables.setdefault(line.place, []).append(line)
    paragraphs = [_INTRODUCTION]
    for place, own in tables.items():
        paragraphs += [f"## {place}", render.markdown_table(_HEAD, map(_page_row, own))]
    origin = render.validation_provenance(measured, request.command, runner.skipped)
    panels = {place: [line.dot for line in own] for place, own in tables.items()}
    return render.ExperimentReport(
        name=NAME + ("-quick" if quick else ""),
        title="What differs from the paper" + (" (quick look: small data)" if quick else ""),
        paragraphs=(*paragraphs, "## Where the figures come from", origin),
        csv={"": (_CSV_HEAD, [_file_row(line) for line in lines])},
        figures={"": figures.dots(panels, "validation accuracy, %")} if panels else {},
        values=_values(tables),
        results=results_of(measured),
    )


_INTRODUCTION = (
    "Each line is the default network with one thing as the paper has it; the last is the paper's recipe whole. "
    "Accuracy on validation rows, mean ± standard deviation over seeds; *difference* is the line minus the default, "
    "in points, with its two-sided p-value, paired over rows and seeds together and not corrected for the number of "
    "lines. No run has seen the test rows."
)
_HEAD = ("the default with …", "score", "difference", "p", "parameters", "CPU s")
_CSV_HEAD = (
    "dataset", "n_labels", "change", "seeds", "mean", "sd", "difference", "p", "n_parameters", "cpu_seconds",
)  # fmt: skip


@dataclass(frozen=True)
class _Line:
    """A change on a data set: its measured runs, and how it differs from the default (None for the default)."""

    dataset: str
    measured: Measured
    reference: Measured | None

    @property
    def place(self) -> str:
        n_labels = self.measured.cell.n_labels
        return self.dataset if n_labels is None else f"{self.dataset}, {n_labels:,} labels"

    @property
    def score(self) -> Spread:
        found = spread([r.validation for r in self.measured.results if r.validation is not None])
        assert found is not None  # a change without a score has no line
        return found

    @property
    def against(self) -> PairedComparison | None:
        if self.reference is None or self.measured is self.reference:
            return None
        return _compare(self.measured.results, self.reference.results)

    @property
    def points(self) -> str:
        """The difference as pages show it."""
        found = self.against
        return "–" if found is None else render.difference(found.difference, "accuracy")

    @property
    def n_parameters(self) -> float:
        sizes = [result.n_parameters for result in self.measured.results]
        return sum(sizes) / len(sizes)

    @property
    def cpu_seconds(self) -> float:
        seconds = [result.cpu_seconds for result in self.measured.results]
        return sum(seconds) / len(seconds)

    @property
    def dot(self) -> figures.Dot:
        found = self.score
        sd = None if found.sd is None else 100 * found.sd
        return figures.Dot(self.measured.cell.title, 100 * found.mean, sd)

    @property
    def where(self) -> str:
        """Data set and number of labels as names of figures have them."""
        count = self.measured.cell.n_labels
        return self.dataset if count is None else f"{self.dataset}@{count}"

    @property
    def key(self) -> str:
        return f"change:{self.where}/{self.measured.cell.name}"

    @property
    def values(self) -> dict[str, str]:
        """Figures by name, for texts: ``change:ag_news/counts`` is ``−0.12 (p = 0.310)``."""
        key = self.key
        values = {f"{key}:score": render.shown(self.score, "accuracy")}
        if (found := self.against) is not None:
            values[key] = f"{self.points} (p {render.p_in_text(found.p)})"
            values[f"{key}:is"] = standing(found.difference, found.p)
        return values


def _compare(one: Sequence[Result], reference: Sequence[Result]) -> PairedComparison | None:
    """Difference of two networks on the validation rows; None if no seed has a score of both."""
    both = [
        (_right(a), _right(b))
        for a, b in zip(one, reference, strict=False)
        if a.validation is not None and b.validation is not None
    ]
    return paired_rows(*(np.stack(side) for side in zip(*both, strict=True))) if both else None


def _right(result: Result) -> Any:
    """Which validation rows a network got right: (N,) bool."""
    stored = result.extra["on_validation"]
    return unpack(stored["right"], stored["n_rows"])


def _lines(dataset: str, group: Sequence[Measured]) -> list[_Line]:
    reference = next((one for one in group if one.cell.name == REFERENCE), None)
    scored = [one for one in group if any(r.validation is not None for r in one.results)]
    return [_Line(dataset, one, reference) for one in scored]


def _values(tables: Mapping[str, Sequence[_Line]]) -> dict[str, str]:
    """Figures by name, and which changes leave a network behind or ahead: ``change:ag_news:behind``."""
    values = {
        name: text for own in tables.values() for line in own for name, text in line.values.items()
    }
    for own in tables.values():
        for outcome in ("behind", "ahead of"):
            titles = [
                f"{line.measured.cell.title} ({line.points})"
                for line in own
                if line.measured.cell.name != ALL and values.get(f"{line.key}:is") == outcome
            ]
            values[f"change:{own[0].where}:{outcome.split()[0]}"] = ", ".join(titles) or "nothing"
    return values


def _page_row(line: _Line) -> render.Row:
    against = line.against
    return [
        line.measured.cell.title,
        render.shown(line.score, "accuracy"),
        line.points,
        "–" if against is None else render.p_value(against.p),
        render.counted(line.n_parameters),
        f"{line.cpu_seconds:.1f}",
    ]


def _file_row(line: _Line) -> render.Row:
    count, against = line.measured.cell.n_labels, line.against
    values = [
        line.dataset,
        "all" if count is None else count,
        line.measured.cell.name,
        line.score.n,
        *line.score[:2],
        *((None, None) if against is None else (against.difference, against.p)),
        round(line.n_parameters),
        round(line.cpu_seconds, 1),
    ]
    return ["" if value is None else value for value in values]


DIFFERENCES = Experiment(
    NAME, "What differs from the paper", ("ag_news", "20newsgroups"), make, runner=CountsRunner
)
