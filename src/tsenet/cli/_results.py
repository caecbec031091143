"""What commands print: lines to read, or JSON for other programs; and csv that spreadsheets do not run."""

from __future__ import annotations

import csv
import json
import math
from collections.abc import Mapping, Sequence
from typing import IO, Any

import typer

__all__ = ["say", "write_csv", "write_json_lines"]

# A spreadsheet takes a cell that begins so for a formula.
_FORMULA = ("=", "+", "-", "@", "\t", "\r")


def say(as_json: bool, fields: Mapping[str, Any], *lines: str) -> None:
    """Print a result: its fields as one JSON object, or the lines."""
    typer.echo(json.dumps(_plain(fields), ensure_ascii=False) if as_json else "\n".join(lines))


def write_csv(stream: IO[str], names: Sequence[str], columns: Sequence[Sequence[Any]]) -> None:
    """Write columns as csv; texts that a spreadsheet would run as a formula get a leading ``'``.

    Without names there is no line of them: the columns continue a file.
    """
    writer = csv.writer(stream, lineterminator="\n")
    if names:
        writer.writerow([_safe(name) for name in names])
    writer.writerows([_safe(cell) for cell in row] for row in zip(*columns, strict=True))


def write_json_lines(
    stream: IO[str], names: Sequence[str], columns: Sequence[Sequence[Any]]
) -> None:
    """Write one JSON object for each row."""
    for row in zip(*columns, strict=True):
        record = dict(zip(names, row, strict=True))
        stream.write(json.dumps(_plain(record), ensure_ascii=False) + "\n")


def _safe(cell: Any) -> Any:
    if not isinstance(cell, str) or not cell.startswith(_FORMULA):
        return cell
    try:
        float(cell)  # -1.5 is a number, not a formula
    except ValueError:
        return f"'{cell}"
    return cell


def _plain(value: Any) -> Any:
    """A value as JSON has it: no NaN, no infinity, no path."""
    if isinstance(value, Mapping):
        return {str(name): _plain(part) for name, part in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(part) for part in value]
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    return value if isinstance(value, str | int | bool | None) else str(value)
