"""``tsenet shard``: text or tables in, a folder of shards out."""

from __future__ import annotations

from contextlib import ExitStack
from pathlib import Path
from typing import Annotated, Any

import typer

from tsenet.cli._console import shown_progress
from tsenet.cli._options import (
    AsJson,
    Config,
    Debug,
    Encoding,
    MaxDf,
    MinDocuments,
    Ngrams,
    Quiet,
    StopWords,
    Tokenizer,
    Words,
    given,
)

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
        typer.Option(metavar="DIR", help="Folder to make, or a URL such as s3://bucket/folder."),
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
    encoding: Encoding = None,
    no_header: Annotated[
        bool, typer.Option("--no-header", help="The csv has no line of column names.")
    ] = False,
    words: Words = None,
    stop_words: StopWords = None,
    min_documents: MinDocuments = None,
    max_df: MaxDf = None,
    ngrams: Ngrams = None,
    tokenizer: Tokenizer = None,
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
    as_json: AsJson = False,
    config: Config = None,
    quiet: Quiet = False,
    debug: Debug = False,
) -> None:
    """Write text or tables as a folder of Parquet shards, for data beyond memory.

    The files are read in pieces and may be larger than memory; --workers counts words in several processes, and the
    folder is the same for any number of them. After an interruption the same command goes on where
    it ended.
    """
    from tsenet.cli._model_data import stop_words_of_option, tokenizer_of
    from tsenet.cli._results import say
    from tsenet.data.sharding import shard_documents, shard_table

    choice: dict[str, Any] = given(
        n_words=words,
        stop_words=None if stop_words is None else stop_words_of_option(stop_words),
        min_documents=min_documents,
        max_df=max_df,
        ngrams=ngrams,
        tokenizer=tokenizer_of(tokenizer),
    )
    common: dict[str, Any] = given(encoding=encoding, rows_per_group=rows_per_partition)
    if table and (choice or text is not None or no_header):
        raise typer.BadParameter("a table of numbers has no words to choose", param_hint="--table")
    if table and (workers is not None or cluster is not None):
        raise typer.BadParameter("only words are counted in parallel", param_hint="--table")
    if workers is not None and cluster is not None:
        raise typer.BadParameter("give --cluster or --workers, not both", param_hint="--cluster")
    with shown_progress(quiet) as progress, ExitStack() as stack:
        if cluster is not None:
            from tsenet.scale.cluster import OnCluster

            common["map_in_order"] = stack.enter_context(OnCluster(cluster)).map_in_order
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
                **common,
                **choice,
            )
    from tsenet.data.columns import count_of

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
