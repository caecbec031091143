"""``tsenet shard``: documents in, a folder of shards out."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from tsenet.cli import _shared as cli
from tsenet.errors import DataError


def shard(
    context: typer.Context,
    data: Annotated[
        list[Path],
        typer.Argument(
            metavar="DATA...",
            help="Files with the same columns: csv, tsv, json, jsonl, parquet, txt, or a folder of txt files.",
        ),
    ],
    out: Annotated[Path, cli.option("DIR", "Folder to create.", "--out", "-o")],
    text: cli.Text = None,
    label: Annotated[
        list[str] | None, cli.option("COLUMN", "Column to keep as a label (repeatable).")
    ] = None,
    words: cli.Words = None,
    stop_words: cli.StopWords = None,
    settings: cli.Set = None,
    encoding: cli.Encoding = None,
    no_header: cli.NoHeader = False,
    rows_per_shard: Annotated[
        int | None, cli.option("N", "Rows per shard; a shard is read whole.", min=1)
    ] = None,
    workers: cli.Workers = None,
    config: cli.Config = None,
    as_json: cli.AsJson = False,
    quiet: cli.Quiet = False,
    help_all: Annotated[bool, cli.help_all(cli.WORDS)] = False,
) -> None:
    """Write documents as Parquet shards, for data beyond memory.

    The files are read in pieces and may be larger than memory; --workers counts words in several processes, and the
    folder is the same for any number of them.
    """
    from tsenet.data import shard_documents
    from tsenet.errors import count_of

    parameters = cli.read_settings(context, settings, cli.WORDS)
    if cli.typed(words=words, stop_words=stop_words) or parameters:
        parameters.setdefault("min_documents", 2)

    vectorizer = cli.vectorizer_of(parameters, words, stop_words)
    common: dict[str, Any] = cli.typed(encoding=encoding, rows_per_shard=rows_per_shard)
    common |= cli.workers_of(workers)
    for path in (path for path in data if path.suffix == ".parquet"):  # as shards are called
        cli.refuse_inputs(out / path.name, path)

    others = [path for path in out.glob("*") if path.suffix != ".parquet"]
    if others and not cli.is_shard_folder(out):
        raise DataError(f"{out} contains other files, such as {others[0].name}: name a new folder")

    with cli.open_progress(quiet) as progress:
        folder = shard_documents(
            data,
            out,
            text or "text",
            labels=label or (),
            header=not no_header,
            vectorizer=vectorizer,
            progress=progress,
            **common,
        )

    fields = {
        "rows": folder.n_rows,
        "columns": folder.n_columns,
        "entries": folder.nnz,
        "labels": list(folder.labels),
        "shards": len(folder.shards),
    }
    cli.print_result(
        as_json,
        fields,
        f"{folder.n_rows:,} rows, {folder.n_columns:,} words, {folder.nnz:,} entries",
        f"written to {out}: {count_of(len(folder.shards), 'shard')}",
    )
