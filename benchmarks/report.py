"""How figures are shown: Markdown tables, printed beside their targets, and kept in the documentation without them."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

PAGES = Path(__file__).parents[1] / "docs" / "results"


@dataclass(frozen=True)
class Figure:
    """One measured figure; ``at_least`` says on which side of the target is good, None that there is no target."""

    what: str
    measured: float
    target: float | None = None
    at_least: bool = False
    form: str = "{:.2f}"
    compared: str = ""

    @property
    def met(self) -> bool | None:
        if self.target is None:
            return None
        return self.measured >= self.target if self.at_least else self.measured <= self.target

    def cells(self) -> list[str]:
        goal, verdict = "", ""
        if self.target is not None:
            goal = f"{'≥' if self.at_least else '≤'} {signed(self.form, self.target)}"
            verdict = "met" if self.met else "**not met**"
        return [self.what, self.compared, signed(self.form, self.measured), goal, verdict]


def signed(form: str, value: float) -> str:
    """A number with a true minus sign."""
    return form.format(value).replace("-", "−")


def figures(rows: Sequence[Figure], compared: str = "Java") -> str:
    """Figures as a table: what, the one compared with, measured, target, met or not."""
    return table(["", compared, "measured", "target", ""], [row.cells() for row in rows])


def table(head: Sequence[str], body: Iterable[Sequence[object]]) -> str:
    """A Markdown table, padded so that it also reads well in a terminal; numbers to the right."""
    rows = [[str(cell) for cell in row] for row in body]
    widths = [max(3, *(len(row[k]) for row in [list(head), *rows])) for k in range(len(head))]
    number = re.compile(r"[−+-]?[\d.,]+( %)?|–")
    numeric = [all(number.fullmatch(row[k]) for row in rows) for k in range(len(head))]

    def line(cells: Sequence[str]) -> str:
        padded = (
            cell.rjust(width) if right else cell.ljust(width)
            for cell, width, right in zip(cells, widths, numeric, strict=True)
        )
        return f"| {' | '.join(padded)} |"

    rule = [
        "-" * (w - 1) + (":" if right else "-") for w, right in zip(widths, numeric, strict=True)
    ]
    return "\n".join([line(list(head)), line(rule), *map(line, rows)])


def without_targets(text: str) -> str:
    """Markdown whose tables have neither the column ``target`` nor the verdict right of it."""
    lines: list[str] = []
    dropped: int | None = None
    for line in text.split("\n"):
        cells = line.split("|")
        if not line.startswith("|"):
            dropped = None
        elif not (lines and lines[-1].startswith("|")):  # the head of a table
            heads = [cell.strip() for cell in cells]
            dropped = heads.index("target") if "target" in heads else None
        if dropped is not None:
            del cells[dropped : dropped + 2]
        lines.append("|".join(cells))
    return "\n".join(lines)


def write_block(page: str, name: str, text: str) -> None:
    """Put text between ``<!-- name -->`` and ``<!-- /name -->`` of a page of results, without targets.

    Targets are for those who change the code; readers of the page want the figures.
    """
    text = without_targets(text)
    path = PAGES / page
    before = path.read_text("utf-8")
    pattern = re.compile(
        rf"(<!-- {re.escape(name)} -->\n).*?(<!-- /{re.escape(name)} -->)", re.DOTALL
    )
    after, found = pattern.subn(lambda match: f"{match[1]}\n{text}\n\n{match[2]}", before)
    if found != 1:
        raise SystemExit(f"{page} has no place for {name!r}")
    path.write_text(after, "utf-8")
