"""``tsenet predict``: a model and rows in, predictions out."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import IO, TYPE_CHECKING, Annotated, Any

import typer

from tsenet.cli import _shared as cli
from tsenet.errors import DataError

if TYPE_CHECKING:
    import pandas as pd

    from tsenet import Table
    from tsenet.progress import Progress

# Suffixes that promise neither csv nor JSON lines.
_OTHER_FORMATS = (".json", ".ods", ".parquet", ".pq", ".tsv", ".xls", ".xlsx")


def predict(
    context: typer.Context,
    model: cli.Model,
    data: cli.Data,
    out: Annotated[
        Path,
        cli.option("FILE", "csv or jsonl file to write; default: standard output.", "--out", "-o"),
    ] = cli.STDOUT,
    id_column: cli.IdColumn = None,
    explain: Annotated[
        int | None, cli.option("N", "Add the N strongest reasons for each prediction.", min=1)
    ] = None,
    embeddings: cli.Embeddings = None,
    encoding: cli.Encoding = None,
    no_header: cli.NoHeader = False,
    max_size: cli.MaxSize = None,
    jobs: cli.Jobs = None,
    config: cli.Config = None,
    force: cli.Force = False,
    as_json: cli.AsJson = False,
    quiet: cli.Quiet = False,
) -> None:
    """Predict the target of each row.

    Writes a csv of predictions and probabilities, in the order of the rows. DATA must have the columns that the model
    was fitted on, by name, in any order; other columns are ignored.

    With --explain N, each row also has the N strongest reasons for its prediction: topics with their words, or columns,
    and what they add to the predicted number, or to the probability of the predicted class among it and the one in
    second place (rather than).

    With --json and without --out, prints one JSON object per row. Texts that a spreadsheet would run as a formula,
    such as =A1, get a leading ' in the csv. The rows of a folder made by tsenet shard are read a part at a time.
    """
    from tsenet._system.atomic import atomic_write
    from tsenet.cli._model_data import load_model, model_input, read_file

    if out.suffix.lower() in _OTHER_FORMATS:
        raise DataError(f"predictions are written as csv or jsonl: {out} has the name of neither")
    if out != cli.STDOUT:
        cli.check_output(out, force, data, model, config)
    cli.check_order(context, model, data)
    fitted = load_model(model, jobs)

    as_lines = as_json if out == cli.STDOUT else out.suffix in (".jsonl", ".ndjson")
    with cli.open_progress(quiet) as progress:
        if cli.is_shard_folder(data):
            not_of_folders = ("encoding", "no_header", "max_size", "explain", "embeddings")
            reason = "a folder of shards has its columns already"
            cli.refuse_options(context, not_of_folders, reason)
            rows: Iterable[tuple[Table, dict[str, Any]]] = _read_shards(fitted, data, id_column)
        else:
            file = read_file(data, progress, encoding, no_header, max_size=max_size)
            key = (fitted.source_ or {}).get("id")
            if id_column is None and (key in file.columns or data.is_dir()):
                id_column = key if key in file.columns else "file"
            keys = {} if id_column is None else {id_column: file.texts(id_column)}
            rows = [(model_input(fitted, file), keys)]

        vectors = cli.read_array(embeddings)
        parts = (_predictions(fitted, *part, vectors, explain, progress) for part in rows)
        if out == cli.STDOUT:
            _write(parts, sys.stdout, as_lines)
            sys.stdout.flush()
            return

        with atomic_write(out, "w") as stream:
            n_rows, names = _write(parts, stream, as_lines)

    fields = {"out": out, "rows": n_rows, "columns": names}
    cli.print_result(as_json, fields, f"{n_rows:,} predictions written to {out}")


def _read_shards(
    fitted: Any, data: Path, id_column: str | None
) -> Iterator[tuple[Table, dict[str, Any]]]:
    """Yield the rows and keys of a folder of shards, a shard at a time; words are matched by name."""
    from tsenet.data import open_shards

    folder = open_shards(data)
    for shard, table in folder.tables(fitted.binary_rule_.names_in):
        yield table, folder.read_labels(shard, [] if id_column is None else [id_column])


def _predictions(
    fitted: Any,
    X: Table,
    keys: dict[str, Any],
    vectors: Any,
    explain: int | None,
    progress: Progress,
) -> pd.DataFrame:
    """Keys, predictions, probabilities and reasons of rows, side by side."""
    import pandas as pd

    predicted = fitted.predict(X, vectors).reshape(-1, fitted.targets_.n_targets)
    targets = (fitted.source_ or {}).get("targets") or ["prediction"]
    if len(targets) != predicted.shape[1]:
        targets = [f"prediction {k}" for k in range(predicted.shape[1])]

    # Pairs, since a key and a target may have the same name.
    columns = list(keys.items())
    columns += zip(targets, predicted.T, strict=True)
    if hasattr(fitted, "classes_"):
        labels = targets if len(targets) > 1 else fitted.classes_.tolist()
        names = [f"P({label})" for label in labels]
        shares = fitted.predict_proba(X, vectors).round(6)
        columns += zip(names, shares.T, strict=True)
    if explain is not None:
        columns += _reasons(fitted, X, explain, progress).items()

    frame = pd.concat([pd.Series(values) for _, values in columns], axis=1)
    return frame.set_axis([name for name, _ in columns], axis=1)


def _reasons(fitted: Any, table: Table, n: int, progress: Progress) -> dict[str, list[str]]:
    """The class in second place, and the reasons for each prediction: ``goal, striker [team, match] (+31.2 %)``."""
    from tsenet.explain import PredictionExplainer

    progress.start("explaining predictions", table.n_rows)
    explainer = PredictionExplainer(fitted, n=n)
    columns: dict[str, list[str]] = {}
    for row in range(table.n_rows):
        why = explainer.explain(table.take([row]))
        if why.against is not None:
            columns.setdefault("rather than", []).append(why.against)

        for k in range(n):
            shown = ""
            if k < len(why.reasons):
                reason = why.reasons[k]
                shown = f"{why.describe(reason)} ({why.amount(reason.contribution)})"
            columns.setdefault(f"reason {k + 1}", []).append(shown)
        progress.advance()

    progress.finish()
    return columns


def _write(parts: Iterable[pd.DataFrame], stream: IO[str], as_lines: bool) -> tuple[int, list[str]]:
    """Write predictions as csv or JSON lines; return the number of rows and the columns."""
    n_rows = 0
    names: list[str] = []
    for frame in parts:
        if as_lines:
            frame.to_json(stream, orient="records", lines=True, force_ascii=False)
        else:
            cli.write_csv(frame, stream, header=not n_rows)
        n_rows += len(frame)
        names = list(frame.columns)
    return n_rows, names
