"""Markdown tables that also read well as text."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

__all__ = ["table"]

_NUMBER = re.compile(r"[−+]?\d.*|–")


def table(head: Sequence[str], body: Iterable[Sequence[object]]) -> str:
    """Format a table; columns that hold numbers alone are aligned to the right."""
    rows = [[str(cell) for cell in row] for row in body]
    rows = [
        [f"−{cell[1:]}" if re.fullmatch(r"-[\d.,]+", cell) else cell for cell in row]
        for row in rows
    ]
    columns = range(len(head))
    widths = [max(3, *(len(row[k]) for row in [list(head), *rows])) for k in columns]
    right = [all(_NUMBER.fullmatch(row[k]) for row in rows) for k in columns]

    def line(cells: Sequence[str]) -> str:
        padded = [
            cells[k].rjust(widths[k]) if right[k] else cells[k].ljust(widths[k]) for k in columns
        ]
        return f"| {' | '.join(padded)} |"

    rule = ["-" * (widths[k] - 1) + (":" if right[k] else "-") for k in columns]
    return "\n".join([line(list(head)), line(rule), *map(line, rows)])
