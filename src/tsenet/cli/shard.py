"""``tsenet shard``: text or tables in, a folder of shards out."""

from __future__ import annotations

from contextlib import ExitStack
from pathlib import Path
from typing import Annotated

import typer

from tsenet.cli import _options as shared
from tsenet.cli._console import refuse_inputs, shown_progress
from tsenet.cli._options import given, refuse_both

__all__ = ["shard"]


def shard(
    data: Annotated[
        list[Path],
        typer.Argument(
            metavar="DATA...",
            help="Files with the same columns: csv, tsv, json, jsonl, parquet, txt, or a folder of txt files.",
        ),
    ],
    out: Annotated[
        str,
        typer.Option(
            *("--out", "-o"),
            metavar="DIR",
            help="Folder to make, or a URL such as s3://bucket/folder.",
        ),
    ],
    text: Annotated[
        str | None, typer.Option(metavar="COLUMN", help="Column of the text; default: text.")
    ] = None,
    table: Annotated[
        bool, typer.Option("--table", help="The files hold numbers, not text.")
    ] = False,
    label: Annotated[
        list[str] | None,
        typer.Option(metavar="COLUMN", help="Keep a column as a label; may be repeated."),
    ] = None,
    encoding: shared.Encoding = None,
    no_header: shared.NoHeader = False,
    words: shared.Words = None,
    stop_words: shared.StopWords = None,
    min_documents: shared.MinDocuments = None,
    max_df: shared.MaxDf = None,
    ngrams: shared.Ngrams = None,
    tokenizer: shared.Tokenizer = None,
    rows_per_partition: Annotated[
        int | None,
        typer.Option(metavar="N", min=1, help="Rows that are read at once; default: 16384."),
    ] = None,
    workers: Annotated[
        int | None,
        typer.Option(metavar="N", min=1, help="Count words in so many processes started here."),
    ] = None,
    cluster: Annotated[
        str | None,
        typer.Option(
            metavar="ADDRESS",
            help="Count words on the workers of this Dask cluster (tcp://host:port).",
        ),
    ] = None,
    as_json: shared.AsJson = False,
    config: shared.Config = None,
    quiet: shared.Quiet = False,
    debug: shared.Debug = False,
) -> None:
    """Write text or tables as a folder of Parquet shards, for data beyond memory.

    The files are read in pieces and may be larger than memory; --workers counts words in several processes, and the
    folder is the same for any number of them. After an interruption the same command goes on where
    it ended.
    """
    from tsenet.cli._results import say
    from tsenet.cli._words import chosen_vectorizer
    from tsenet.data.columns import count_of
    from tsenet.data.sharding import shard_documents, shard_table

    options = (words, stop_words, min_documents, max_df, ngrams, tokenizer)
    choice = chosen_vectorizer({"min_documents": 2}, *options)
    common = given(encoding=encoding, rows_per_group=rows_per_partition)
    if table and (choice is not None or text is not None or no_header):
        raise typer.BadParameter("a table of numbers has no words to choose", param_hint="--table")
    if table and (workers is not None or cluster is not None):
        raise typer.BadParameter("only words are counted in parallel", param_hint="--table")
    refuse_both(cluster, workers)
    if "://" not in out:
        for path in (path for path in data if path.suffix == ".parquet"):  # as shards are called
            refuse_inputs(Path(out) / path.name, path)
    with shown_progress(quiet) as progress, ExitStack() as stack:
        if cluster is not None:
            from tsenet.scale.cluster import Cluster

            common["map_in_order"] = stack.enter_context(Cluster(cluster)).map
        if table:
            made = shard_table(data, out, labels=label or (), progress=progress, **common)
        else:
            made = shard_documents(
                data,
                out,
                text or "text",
                labels=label or (),
                header=not no_header,
                progress=progress,
                n_workers=workers,
                vectorizer=choice,
                **common,
            )
    files = sorted({part.file for part in made.partitions})
    fields = {
        "rows": made.n_rows,
        "columns": made.n_columns,
        "entries": made.nnz,
        "labels": list(made.classes),
        "files": len(files),
        "partitions": len(made.partitions),
    }
    kind = "words" if made.is_sparse else "columns"
    say(
        as_json,
        fields,
        f"{made.n_rows:,} rows, {made.n_columns:,} {kind}, {made.nnz:,} entries",
        f"written to {out}: {count_of(len(files), 'shard')} of {count_of(len(made.partitions), 'partition')}",
    )
