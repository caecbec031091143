"""What commands print: lines to read, or JSON for other programs; and csv that spreadsheets do not run."""

from __future__ import annotations

import csv
import json
import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

import typer

from tsenet.cli._console import STDOUT

if TYPE_CHECKING:
    from tsenet.data.shards import ShardFolder
    from tsenet.data.table import Table
    from tsenet.training.history import History

__all__ = ["by_key", "say", "say_fitted", "write_csv", "write_json_lines"]

# A spreadsheet takes a cell that begins so for a formula.
_FORMULA = ("=", "+", "-", "@", "\t", "\r")


def say(as_json: bool, fields: Mapping[str, Any], *lines: str) -> None:
    """Print a result: its fields as one JSON object, or the lines; to stderr if the output went to stdout."""
    text = json.dumps(_plain(fields), ensure_ascii=False) if as_json else "\n".join(lines)
    typer.echo(text, err=STDOUT in (fields.get("out"), fields.get("model")))


def by_key(figures: Mapping[str, float]) -> dict[str, float]:
    """Figures under names without spaces, for JSON."""
    return {name.replace(" ", "_"): value for name, value in figures.items()}


def say_fitted(
    model: Any, table: Table | ShardFolder, n_unlabelled: int | None, out: Path, as_json: bool
) -> None:
    """Say what a model was fitted to, how large it is, and its cross-validated score."""
    history = model.history_
    fields = {
        "model": out,
        "rows": table.n_rows,
        "unlabelled": n_unlabelled,
        "columns": table.n_columns,
        "layers": model.wiring_.layer_sizes,
        "parameters": model.n_parameters_,
        "epochs": history.n_epochs,
        "stopped": history.stopped,
        "validation_loss": _best_loss(history),
        "cross_validated": None if model.cv_score_ is None else model.cv_score_._asdict(),
    }
    from tsenet.data.columns import count_of

    sizes = "-".join(map(str, model.wiring_.layer_sizes))
    lines = [
        f"{table.n_rows:,} rows, {table.n_columns:,} {'words' if model.vectorizer_ else 'columns'}; "
        f"network {sizes}, {model.n_parameters_:,} parameters"
    ]
    if n_unlabelled:
        names = " and ".join(map(repr, model.source_["targets"]))
        lines.append(
            f"{n_unlabelled:,} of {table.n_rows:,} rows have no {names}: they are unlabelled rows"
        )
    best = ""
    if history.best_epoch is not None:
        best = f", best validation loss {_best_loss(history):.4f} in epoch {history.best_epoch + 1}"
    lines.append(f"{count_of(history.n_epochs, 'epoch')}{best}; written to {out}")
    if model.cv_score_ is None:
        lines.append("no cross-validated score; tsenet evaluate scores the model on other rows")
    else:
        n_scored = count_of(model.cv_score_.n_rows, "labelled row")
        lines.append(f"cross-validated on {n_scored}: {model.cv_score_}")
    say(as_json, fields, *lines)


def _best_loss(history: History) -> float | None:
    """Validation loss of the best epoch, if validation rows chose one."""
    return None if history.best_epoch is None else history.validation_loss[history.best_epoch]


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
