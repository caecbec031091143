"""HTML of objects shown in a notebook: small tables, escaped, legible on light and dark pages.

Colours are the notebook's own, or translucent: nothing has to know the theme. There are no classes, styles or scripts
outside the elements, so a saved notebook shows the same.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from html import escape

__all__ = ["Bar", "Cell", "paragraph", "table", "titled"]

_FAINT = "opacity:.7"
_LINE = "border-bottom:1px solid rgba(128,128,128,.25)"
_POSITIVE, _NEGATIVE = "rgba(30,125,190,.75)", "rgba(215,110,30,.75)"


@dataclass(frozen=True)
class Bar:
    """A bar for a value, out of the largest size in its column; negative values have the other colour."""

    value: float
    most: float

    def html(self) -> str:
        """The bar, 6 em wide at most."""
        share = min(1.0, abs(self.value) / self.most) if self.most > 0 else 0.0
        colour = _NEGATIVE if self.value < 0 else _POSITIVE
        return (
            f'<div style="width:{6 * share:.2f}em;height:.6em;border-radius:.15em;'
            f'background:{colour}"></div>'
        )


Cell = str | int | float | Bar


def table(heads: Sequence[str], rows: Iterable[Sequence[Cell]], note: str = "") -> str:
    """A table: texts to the left, numbers to the right; ``note`` is the line below it."""
    lines = [list(row) for row in rows]
    head = ""
    if any(heads):
        numeric = [bool(lines) and isinstance(lines[0][k], int | float) for k in range(len(heads))]
        cells = (
            f'<th style="{_style(right)};font-weight:normal;{_FAINT}">{escape(text)}</th>'
            for text, right in zip(heads, numeric, strict=True)
        )
        head = f"<tr>{''.join(cells)}</tr>"
    body = "".join(f"<tr>{''.join(_cell(cell) for cell in line)}</tr>" for line in lines)
    below = paragraph(note) if note else ""
    style = "border-collapse:collapse;margin:.2em 0;background:transparent"
    return f'<table style="{style}">{head}{body}</table>{below}'


def paragraph(text: str) -> str:
    """A line of smaller text."""
    return f'<div style="font-size:90%;{_FAINT}">{escape(text)}</div>'


def titled(title: str, subtitle: str, *parts: str) -> str:
    """A titled block of parts that are HTML already."""
    head = f"<strong>{escape(title)}</strong>"
    if subtitle:
        head += f' <span style="{_FAINT}">{escape(subtitle)}</span>'
    return f'<div style="line-height:1.4;max-width:60em"><div>{head}</div>{"".join(parts)}</div>'


def _cell(cell: Cell) -> str:
    if isinstance(cell, Bar):
        return f'<td style="{_style(False)}">{cell.html()}</td>'
    if isinstance(cell, str):
        return f'<td style="{_style(False)}">{escape(cell)}</td>'
    text = f"{cell:,}" if isinstance(cell, int) else f"{cell:.4g}".replace("-", "−")
    return f'<td style="{_style(True)};font-variant-numeric:tabular-nums">{text}</td>'


def _style(right: bool) -> str:
    align = "right" if right else "left"
    return f"text-align:{align};padding:.15em .8em .15em 0;{_LINE};background:transparent"
