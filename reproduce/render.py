"""Write reports: Markdown pages, CSV tables, PNG figures."""

from __future__ import annotations

import csv
import io
import json
import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from reproduce.files import write_whole
from reproduce.runs import Result, Settings
from reproduce.stats import Spread

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from reproduce.cells import Measured

__all__ = [
    "ExperimentReport",
    "chosen_table",
    "counted",
    "difference",
    "filled",
    "markdown_table",
    "origin",
    "p_in_text",
    "p_value",
    "provenance",
    "runs_csv",
    "shown",
    "told",
    "validation_provenance",
    "write",
]

Row = Sequence[Any]
_NAME = re.compile(r"\{([^{}\s]+)\}")
_NUMBER = re.compile(
    r"[−+<]?\s?\d|–|not run"
)  # what a cell with a number, or without one, begins with


@dataclass(frozen=True)
class ExperimentReport:
    """An experiment's results, ready to be written.

    Attributes
    ----------
    name : str
        Of the files, without suffix.
    title : str
    paragraphs : tuple of str
        Markdown: text and tables, in order.
    csv : mapping of str to (head, rows)
        Tables by the end of the file's name; ``""`` is the main one.
    figures : mapping of str to matplotlib Figure or None
        Pictures by the end of the file's name; None leaves the file as it is.
    values : mapping of str to str
        Figures by name, as the texts of notes may refer to them.
    lead : tuple of str
        Markdown that comes first, or next to the conclusion.
    results : tuple of Result
        What was measured; the page says with which recipe and commit.
    """

    name: str
    title: str
    paragraphs: tuple[str, ...]
    csv: Mapping[str, tuple[Row, Sequence[Row]]] = field(default_factory=dict)
    figures: Mapping[str, Figure | None] = field(default_factory=dict)
    values: Mapping[str, str] = field(default_factory=dict)
    lead: tuple[str, ...] = ()
    results: tuple[Result, ...] = ()

    @property
    def markdown(self) -> str:
        """The page; what was measured and the pictures come first."""
        top = [f"# {self.title}", *_measured_with(self.results)]
        pictures = [f"![{self.title}]({self.name}{end}.png)" for end in self.figures]
        return "\n\n".join([*top, *pictures, *self.lead, *self.paragraphs]) + "\n"

    def with_notes(self, notes: str) -> ExperimentReport:
        """The report with a text of conclusions above its tables, whose ``{names}`` are filled in.

        The text's first paragraph is the conclusion; the lead follows it. What comes after ``<!-- tables -->`` ends
        the page.
        """
        above, _, below = filled(notes, self.values).partition("<!-- tables -->")
        conclusion, *more = above.strip().split("\n\n", 1)
        end = [below.strip()] if below.strip() else []
        text = (conclusion, *self.lead, *more, *self.paragraphs, *end)
        return replace(self, paragraphs=text, lead=())


def _measured_with(results: Iterable[Result]) -> list[str]:
    """A sentence that names the recipes and commits of results; none without results."""
    runs: dict[int, list[Result]] = {}
    for result in results:
        runs.setdefault(result.recipe, []).append(result)
    told = []
    for recipe, own in sorted(runs.items()):
        commits = sorted({result.versions.get("commit") or "unknown" for result in own})
        count = f"{len(own):,} runs, " if len(runs) > 1 else ""
        label = "commit" if len(commits) == 1 else "commits"
        told.append(f"recipe {recipe} ({count}{label} {', '.join(commits)})")
    return [f"Measured with {' and '.join(told)}."] if told else []


def write(report: ExperimentReport, folder: Path) -> list[Path]:
    """Write a report's files, each whole or not at all; return their paths, the page first."""
    folder.mkdir(parents=True, exist_ok=True)
    page = folder / f"{report.name}.md"
    paths = [page]
    for end, picture in report.figures.items():
        if picture is None:
            continue
        paths.append(folder / f"{report.name}{end}.png")
        drawn = io.BytesIO()
        # Without the program's name and version the bytes depend on the figures alone.
        picture.savefig(drawn, format="png", dpi=130, metadata={"Software": None})
        write_whole(paths[-1], drawn.getvalue())
    for end, (head, rows) in report.csv.items():
        paths.append(folder / f"{report.name}{end}.csv")
        write_whole(paths[-1], _csv(head, rows))
    write_whole(page, report.markdown)  # last: it links to the others
    return paths


def filled(text: str, values: Mapping[str, str]) -> str:
    """A text with the figures that its ``{names}`` stand for; one that was not measured is *not run*."""
    return _NAME.sub(lambda found: values.get(found[1], "*not run*"), text)


def markdown_table(head: Row, body: Iterable[Row]) -> str:
    """A table that also reads well as plain text; columns of numbers to the right."""
    first, *rows = [[str(cell).replace("|", "\\|") for cell in row] for row in (head, *body)]
    columns = range(len(first))
    widths = [max(3, *(len(row[k]) for row in (first, *rows))) for k in columns]
    right = [all(_NUMBER.match(row[k]) for row in rows) for k in columns]

    def line(cells: Sequence[str]) -> str:
        padded = (
            c.rjust(widths[k]) if right[k] else c.ljust(widths[k]) for k, c in enumerate(cells)
        )
        return f"| {' | '.join(padded)} |"

    rule = ["-" * (widths[k] - 1) + (":" if right[k] else "-") for k in columns]
    return "\n".join([line(first), line(rule), *map(line, rows)])


def shown(found: Spread | None, metric: str) -> str:
    """Mean ± sd as the paper writes it: ``91.61 % ± 0.01``, or ``0.8010 ± 0.0017`` for areas."""
    if found is None:
        return "–"
    percent = metric == "accuracy"
    mean = f"{100 * found.mean:.2f} %" if percent else f"{found.mean:.4f}"
    if found.sd is None:
        return mean
    return f"{mean} ± {100 * found.sd:.2f}" if percent else f"{mean} ± {found.sd:.4f}"


def difference(value: float, metric: str) -> str:
    """A difference with its sign: points of a hundred for accuracy."""
    text = f"{100 * value:+.2f}" if metric == "accuracy" else f"{value:+.4f}"
    return text.replace("-", "−")


def p_value(p: float | None) -> str:
    """A p-value; small ones are only said to be small."""
    if p is None:
        return "–"
    return "< 0.001" if p < 0.001 else f"{p:.3f}"


def p_in_text(p: float | None) -> str:
    """What follows the letter p in a sentence: ``= 0.012``, ``< 0.001``."""
    shown = p_value(p)
    return shown if shown[:1] in "<–" else f"= {shown}"


def counted(n_parameters: float | None) -> str:
    """A number of parameters as the paper writes it: ``338 K``, ``1.73 M``."""
    if n_parameters is None:
        return "–"
    if n_parameters < 1e4:
        return f"{n_parameters / 1e3:.1f} K"
    if n_parameters < 1e6:
        return f"{n_parameters / 1e3:.0f} K"
    return f"{n_parameters / 1e6:.2f} M"


def told(settings: Settings) -> str:
    """Settings in one line: ``dropout 0.2, hidden 512-512``."""
    parts = []
    for name, value in sorted(settings.items()):
        if isinstance(value, Mapping):
            continue  # the starting model has a line of its own
        text = "-".join(map(str, value)) if isinstance(value, list | tuple) else str(value)
        parts.append(f"{name} {text}")
    return ", ".join(parts) or "defaults"


def chosen_table(measured: Iterable[Measured]) -> str:
    """What the validation rows decided: candidates, the winner, its score there."""
    rows = []
    for one in measured:
        if one.chosen is None or not one.tried:
            continue
        scores = [score for _, score in one.tried if score is not None]
        rows.append(
            [
                one.cell.dataset,
                one.cell.title,
                len(one.tried),
                told(one.chosen),
                f"{max(scores):.4f}",
                f"{min(scores):.4f}",
            ]
        )
    if not rows:
        return "Nothing was chosen: every method ran with fixed settings."
    head = ["data set", "method", "candidates", "chosen", "best score", "worst"]
    return markdown_table(head, rows)


def provenance(measured: Sequence[Measured], command: str, skipped: Mapping[str, str]) -> str:
    """Where the figures come from: command, runs, versions, what is missing."""
    results = [result for one in measured for result in one.results]
    n_choosing = sum(len(one.tried) for one in measured)
    seconds = sum(result.cpu_seconds for result in results)
    diverged = sum(result.test is None for result in results)
    told = [
        f"{len(results)} final runs, each of which saw the test rows once; {n_choosing} runs to choose settings, by "
        "validation rows alone.",
        f"The final runs took {seconds / 3600:.2f} CPU hours, structures and starting networks included.",
    ]
    if diverged:
        told.append(f"{diverged} final runs diverged; they are left out.")
    return origin(results, told, command, skipped)


def validation_provenance(
    measured: Sequence[Measured], command: str, skipped: Mapping[str, str]
) -> str:
    """The same for runs none of which looks at the test rows."""
    results = [result for one in measured for result in one.results]
    seconds = sum(
        result.cpu_seconds - result.extra.get("shared_cpu_seconds", 0.0) for result in results
    )
    diverged = sum(result.validation is None for result in results)
    told = [
        f"{len(results)} runs; none has seen the test rows.",
        f"Training took {seconds / 3600:.2f} CPU hours, structures not included.",
    ]
    if diverged:
        told.append(f"{diverged} runs diverged; they are left out.")
    return origin(results, told, command, skipped)


def origin(
    results: Iterable[Result], told: Iterable[str], command: str, skipped: Mapping[str, str]
) -> str:
    """The same as a list: the command, what is told of the runs, their versions, what is left out."""
    lines = [*([f"Command: `{command}`"] if command else []), *told]
    kinds = Counter(json.dumps(dict(result.versions), sort_keys=True) for result in results)
    for kind, count in kinds.items():
        parts = ", ".join(f"{name} {value}" for name, value in json.loads(kind).items())
        lines.append(f"Versions: {parts}" + (f" ({count} runs)" if len(kinds) > 1 else ""))
    lines += [f"Left out: {name}: {reason}" for name, reason in skipped.items()]
    return "\n".join(f"- {line}" for line in lines)


def runs_csv(measured: Iterable[Measured]) -> tuple[Row, list[Row]]:
    """Every final run as a row."""
    head = (
        "dataset", "method", "n_labels", "seed", "validation", "test", "test_without_duplicates",
        "n_parameters", "cpu_seconds", "chosen",
    )  # fmt: skip
    rows: list[Row] = [
        [
            one.cell.dataset,
            one.cell.name,
            "" if one.cell.n_labels is None else one.cell.n_labels,
            seed,
            _number(result.validation),
            _number(result.test),
            _number(result.extra.get("test_without_duplicates")),
            result.n_parameters,
            f"{result.cpu_seconds:.1f}",
            json.dumps(one.chosen or {}, sort_keys=True),
        ]
        for one in measured
        for seed, result in enumerate(one.results)
    ]
    return head, rows


def _number(value: float | None) -> str:
    return "" if value is None else f"{value:.6f}"


def _csv(head: Row, rows: Sequence[Row]) -> str:
    stream = io.StringIO()
    writer = csv.writer(stream, lineterminator="\n")
    writer.writerow(head)
    writer.writerows(rows)
    return stream.getvalue()
