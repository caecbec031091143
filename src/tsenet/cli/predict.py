"""``tsenet predict``: a model and rows in, predictions out."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import Annotated

import typer

from tsenet.cli import _options as shared
from tsenet.cli._console import STDOUT, check_output, shown_progress
from tsenet.cli._results import say, write_csv, write_json_lines
from tsenet.errors import DataError

__all__ = ["predict"]


# Names under which nobody would look for a csv.
_OTHER_FORMATS = (".json", ".npz", ".ods", ".parquet", ".pq", ".tsv", ".xls", ".xlsx")


def predict(
    context: typer.Context,
    model: shared.Model,
    data: shared.Data,
    out: Annotated[
        Path | None,
        typer.Option(
            "--out",
            "-o",
            metavar="FILE",
            help="csv or jsonl file to write; default, or -: csv to stdout. For a folder of shards, a folder.",
        ),
    ] = None,
    id_column: Annotated[
        str | None,
        typer.Option(
            "--id",
            metavar="COLUMN",
            help="Column to repeat beside the predictions; default: the --id of fit, if DATA has it; of a folder "
            "of txt files, their names.",
        ),
    ] = None,
    explain: Annotated[
        int | None,
        typer.Option(
            metavar="N",
            min=1,
            help="Add the N strongest reasons of each prediction: columns and what they add to the output.",
        ),
    ] = None,
    encoding: shared.Encoding = None,
    no_header: shared.NoHeader = False,
    jobs: shared.Jobs = None,
    cluster: Annotated[
        str | None,
        typer.Option(
            metavar="ADDRESS", help="Dask scheduler whose workers predict a folder of shards."
        ),
    ] = None,
    config: shared.Config = None,
    force: shared.Force = False,
    as_json: shared.AsJson = False,
    quiet: shared.Quiet = False,
    debug: shared.Debug = False,
) -> None:
    """Predict the target of each row: a csv of predictions and probabilities, in the order of the rows.

    DATA may be a folder of shards: then each shard gets a Parquet file of predictions in the folder --out, and a
    command that was stopped continues with the next one.

    With --explain N, each row also has the N columns that add most to the output of its prediction: to the log-odds
    of the predicted class, or to the predicted number.

    With --json and without --out, one JSON object for each row. Texts that a spreadsheet would run as a formula,
    such as =A1, get a leading ' in the csv.
    """
    from tsenet._system.atomic import atomic_write
    from tsenet.cli._documents import is_folder_of_shards
    from tsenet.cli._model_data import (
        answers_of,
        load_model,
        model_rows,
        read_rows,
        reasons_of,
    )

    if is_folder_of_shards(data):
        from tsenet.cli._shards import predict_folder

        predict_folder(
            *(context, model, data, out),
            id_column=id_column,
            cluster=cluster,
            jobs=jobs,
            config=config,
            force=force,
            as_json=as_json,
            quiet=quiet,
        )
        return
    if cluster is not None:
        raise DataError(f"{data} is not a folder of shards: --cluster is for those")
    if out == STDOUT:
        out = None
    if out is not None:
        if out.suffix.lower() in _OTHER_FORMATS:
            raise DataError(
                f"predictions are written as csv or jsonl: {out} has the name of neither"
            )
        check_output(out, force, data, model, config)
    fitted = load_model(model, jobs)
    with shown_progress(quiet) as progress:
        file = read_rows(data, progress, encoding, no_header)
        known = (fitted.source_ or {}).get("id")
        if id_column is None and known in file.columns:
            id_column = known
        elif id_column is None and data.is_dir():
            id_column = "file"
        ids = None if id_column is None else file.texts(id_column)
        table = model_rows(fitted, file)
        names, columns = answers_of(fitted, table)
        if explain is not None:
            names += [f"reason {k + 1}" for k in range(explain)]
            columns += reasons_of(fitted, table, explain, progress)
    if id_column is not None and ids is not None:
        names, columns = [id_column, *names], [ids, *columns]
    if out is None:
        write = write_json_lines if as_json else write_csv
        try:
            write(sys.stdout, names, columns)
            sys.stdout.flush()
        except BrokenPipeError:  # the reader, such as head, has seen enough
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return
    write = write_json_lines if out.suffix in (".jsonl", ".ndjson") else write_csv
    with atomic_write(out, "w") as stream:
        write(stream, names, columns)
    fields = {"out": out, "rows": file.n_rows, "columns": names}
    say(as_json, fields, f"{file.n_rows:,} predictions written to {out}")
