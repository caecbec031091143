"""``tsenet topics``: documents in, a hierarchy of topics out."""

from __future__ import annotations

from collections.abc import Iterable
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from tsenet.cli._console import shown_progress, warm_up
from tsenet.cli._options import (
    Checkpoint,
    Debug,
    Encoding,
    Force,
    Jobs,
    MaxDf,
    MinDocuments,
    Ngrams,
    Quiet,
    Seed,
    StopWords,
    Tokenizer,
    Words,
    given,
    library_option,
)

if TYPE_CHECKING:
    from tsenet.data import Table
    from tsenet.data.text import Documents
    from tsenet.progress import Progress
    from tsenet.skeleton.tree import LatentTree

__all__ = ["topics"]


class DataFormat(StrEnum):
    """How to read the documents."""

    auto = "auto"
    hlta = "hlta"
    docword = "docword"


class Selection(StrEnum):
    """Which words to keep when there are too many."""

    frequency = "frequency"
    tfidf = "tfidf"


def topics(
    data: Annotated[
        Path,
        typer.Argument(
            metavar="DATA",
            help="Documents: csv, tsv, json, jsonl, parquet or txt, a folder of txt files, or - for standard input; "
            "or counts: UCI docword, HLTA 'doc, word' lines.",
        ),
    ],
    out: Annotated[Path, typer.Option(metavar="DIR", help="Folder to make for the results.")],
    text: Annotated[
        str | None,
        library_option(
            *("read_documents", "text"),
            metavar="COLUMN",
            help="Column of the text (a number with --no-header).",
        ),
    ] = None,
    data_format: Annotated[
        DataFormat,
        typer.Option("--format", help="auto goes by the file's name."),
    ] = DataFormat.auto,
    no_header: Annotated[
        bool, typer.Option("--no-header", help="The csv has no line of column names.")
    ] = False,
    encoding: Encoding = None,
    words: Words = None,
    select: Annotated[
        Selection | None,
        library_option(
            *("vectorize", "select"),
            help="Keep the most frequent words, or those of highest mean tf-idf.",
        ),
    ] = None,
    stop_words: StopWords = None,
    min_documents: MinDocuments = None,
    max_df: MaxDf = None,
    ngrams: Ngrams = None,
    tokenizer: Tokenizer = None,
    along: Annotated[
        str | None,
        typer.Option(metavar="COLUMN", help="Show the topics along its dates or labels."),
    ] = None,
    no_explorer: Annotated[
        bool, typer.Option("--no-explorer", help="No topics.html, which quotes documents.")
    ] = False,
    top_words: Annotated[
        int | None,
        library_option("topic_tree", "n_words", metavar="N", min=1, help="Words shown per topic."),
    ] = None,
    max_top: Annotated[
        int | None,
        library_option(
            *("learn_tree", "max_top"),
            metavar="N",
            min=1,
            help="Add levels until one has at most this many topics.",
        ),
    ] = None,
    max_island: Annotated[
        int | None,
        library_option(
            "learn_tree", "max_island", metavar="N", min=3, help="Most words in a group."
        ),
    ] = None,
    ud_threshold: Annotated[
        float | None,
        library_option(
            *("learn_tree", "ud_threshold"),
            metavar="X",
            help="Split a group when two latents beat one by more than this in BIC.",
        ),
    ] = None,
    no_correlation_test: Annotated[
        bool,
        typer.Option(
            "--no-correlation-test", help="Let unrelated words join a group, as the paper does."
        ),
    ] = False,
    structure_samples: Annotated[
        int | None,
        library_option(
            *("learn_tree", "structure_samples"),
            metavar="N",
            min=2,
            help="Learn the structure from this many documents only.",
        ),
    ] = None,
    refine_steps: Annotated[
        int | None,
        library_option(
            *("learn_tree", "refine_steps"),
            metavar="N",
            min=0,
            help="Steps of stepwise EM over the whole tree.",
        ),
    ] = None,
    em_restarts: Annotated[
        int | None,
        library_option(
            "learn_tree",
            "em_restarts",
            metavar="N",
            min=1,
            help="Starting points of each small EM.",
        ),
    ] = None,
    seed: Seed = 0,
    jobs: Jobs = None,
    checkpoint: Checkpoint = None,
    force: Force = False,
    quiet: Quiet = False,
    debug: Debug = False,
) -> None:
    """Learn a hierarchy of topics from documents.

    Writes topics.html to explore in a browser, topics.md to read, topics.json for programs, and tree.tsenet,
    the model itself.
    """
    import tsenet
    from tsenet._system.atomic import atomic_folder
    from tsenet.cli._model_data import word_counts

    choice = given(
        words=words,
        select=select,
        stop_words=stop_words,
        min_documents=min_documents,
        max_df=max_df,
        ngrams=ngrams,
        tokenizer=tokenizer,
    )
    columns = given(text=text, along=along, no_header=no_header or None, encoding=encoding)
    if data_format is DataFormat.auto and data.name.startswith("docword."):
        data_format = DataFormat.docword
    if data_format is not DataFormat.auto:
        _refuse_options(data_format, (*columns, *choice))
    if along is not None and no_explorer:
        raise typer.BadParameter("it shows in topics.html only", param_hint="--along")
    with atomic_folder(out, force=force) as folder, shown_progress(quiet) as progress:
        documents: Documents | None = None
        if data_format is not DataFormat.auto:
            table = _read_counts(data, data_format, progress)
        else:
            documents = _read_documents(data, along, columns, progress)
            _, table = word_counts(documents, progress, **choice)
        warm_up(progress, network=False)
        tree = tsenet.learn_tree(
            table,
            random_state=seed,
            progress=progress,
            **given(
                max_island=max_island,
                max_top=max_top,
                ud_threshold=ud_threshold,
                correlation_test=False if no_correlation_test else None,
                structure_samples=structure_samples,
                refine_steps=refine_steps,
                em_restarts=em_restarts,
                n_jobs=jobs,
                checkpoint=checkpoint,
            ),
        )
        _write_topics(tree, table, top_words, folder, progress)
        if not no_explorer:
            _write_explorer(
                folder / "topics.html",
                *(tree, table, documents),
                along=along,
                title=data.name.split(".")[0].strip("-") or "documents",
                top_words=top_words,
                progress=progress,
            )
    sizes = ", ".join(f"{size:,}" for size in tree.layer_sizes[1:]) or "none"
    typer.echo(
        f"{table.n_rows:,} documents, {table.n_columns:,} words; topics per level: {sizes}\n"
        f"written to {out}: {'' if no_explorer else 'topics.html, '}topics.md, topics.json, tree.tsenet"
    )


def _refuse_options(data_format: DataFormat, names: Iterable[str]) -> None:
    """Refuse options of documents, which would have no effect on counts."""
    kind = {DataFormat.hlta: "an HLTA", DataFormat.docword: "a UCI docword"}[data_format]
    for name in names:
        option = "--" + name.replace("_", "-")
        raise typer.BadParameter(
            f"{kind} file has its words chosen already, so {option} cannot apply",
            param_hint=option,
        )


def _read_counts(path: Path, data_format: DataFormat, progress: Progress) -> Table:
    from tsenet.data import read_docword
    from tsenet.store.hlta_text import read_hlta_tuples

    progress.start("reading documents", None)
    table = read_docword(path) if data_format is DataFormat.docword else read_hlta_tuples(path)
    progress.finish(f"{table.n_rows:,} documents, {table.n_columns:,} words")
    return table


def _read_documents(
    path: Path, along: str | None, columns: dict[str, Any], progress: Progress
) -> Documents:
    from tsenet.data.text import read_documents

    progress.start("reading documents", None)
    documents = read_documents(
        path,
        columns=[] if along is None else [along],
        header="no_header" not in columns,
        **{name: columns[name] for name in ("text", "encoding") if name in columns},
    )
    progress.finish(documents.report())
    return documents


def _write_topics(
    tree: LatentTree, table: Table, top_words: int | None, folder: Path, progress: Progress
) -> None:
    from tsenet.explain.topics import to_json, to_markdown, topic_tree
    from tsenet.store import save

    progress.start("describing topics", None)
    found = topic_tree(tree, table, **given(n_words=top_words))
    (folder / "topics.json").write_text(to_json(found), encoding="utf-8", newline="\n")
    (folder / "topics.md").write_text(to_markdown(found), encoding="utf-8", newline="\n")
    save(tree, folder / "tree.tsenet")
    progress.finish()


def _write_explorer(
    path: Path,
    tree: LatentTree,
    table: Table,
    documents: Documents | None,
    *,
    along: str | None,
    title: str,
    top_words: int | None,
    progress: Progress,
) -> None:
    """Write the page to explore; ``documents`` have the column ``along`` if one is named."""
    from tsenet.explain.report import write_report

    write_report(
        path,
        tree,
        table,
        texts=None if documents is None else documents.texts,
        along=None if along is None or documents is None else documents.columns[along],
        along_name=along or "",
        progress=progress,
        title=title,
        words=True,
        **given(n_features=top_words),
    )
