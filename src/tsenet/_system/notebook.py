"""HTML of objects shown in a notebook: small tables, escaped, in the notebook's own style."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from html import escape

__all__ = ["Cell", "paragraph", "table", "titled"]

Cell = str | int | float


def table(heads: Sequence[str], rows: Iterable[Sequence[Cell]], note: str = "") -> str:
    """A table; ``note`` is the line below it."""
    lines = "".join(_line(row, "td") for row in rows)
    below = paragraph(note) if note else ""
    return f"<table>{_line(heads, 'th')}{lines}</table>{below}"


def paragraph(text: str) -> str:
    """A line of text."""
    return f"<div>{escape(text)}</div>"


def titled(title: str, subtitle: str, *parts: str) -> str:
    """A titled block of parts that are HTML already."""
    return (
        f"<div><div><strong>{escape(title)}</strong> {escape(subtitle)}</div>{''.join(parts)}</div>"
    )


def _line(cells: Sequence[Cell], tag: str) -> str:
    return f"<tr>{''.join(f'<{tag}>{escape(_text(cell))}</{tag}>' for cell in cells)}</tr>"


def _text(cell: Cell) -> str:
    if isinstance(cell, str):
        return cell
    return f"{cell:,}" if isinstance(cell, int) else f"{cell:.4g}".replace("-", "−")
