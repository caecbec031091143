"""``tsenet topics``: documents in, a hierarchy of topics out."""

from __future__ import annotations

from collections.abc import Iterable
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any

import typer

from tsenet.cli import _options as shared
from tsenet.cli._console import refuse_inputs, shown_progress, warm_up
from tsenet.cli._options import (
    given,
    library_option,
    number_option,
    refuse_both,
    whole_option,
)

__all__ = ["topics"]

# Options by what they are about, in the order in which one that cannot apply is refused.
_OF_COLUMNS = ("text", "id_column", "along", "no_header")
_OF_WORDS = ("words", "select", "stop_words", "min_documents", "max_df", "ngrams", "tokenizer")
_OF_LEARNING = (
    *("max_top", "max_island", "ud_threshold", "no_correlation_test", "structure_samples"),
    *("refine_steps", "em_restarts", "piece_size", "leftovers", "no_full_depth"),
)
# What is written to the folder of the results.
_FILES = (
    *("topics.html", "topics.md", "topics.json", "documents.csv", "documents.parquet"),
    *("model.tsenet", "tree.tsenet"),
)
_OF_WHAT_IS_SHOWN = ("top_words", "min_size", "min_coherence", "along")


class DataFormat(StrEnum):
    """How to read the documents."""

    auto = "auto"
    docword = "docword"


class DocumentsFormat(StrEnum):
    """How to write the topics of each document."""

    csv = "csv"
    parquet = "parquet"


class Leftovers(StrEnum):
    """What happens to words without a significant tie to a group."""

    auto = "auto"
    leave = "leave"
    attach = "attach"


class Selection(StrEnum):
    """Which words to keep when there are too many."""

    frequency = "frequency"
    tfidf = "tfidf"


def topics(
    context: typer.Context,
    data: Annotated[
        Path,
        typer.Argument(
            metavar="DATA",
            help="Documents: csv, json, jsonl, parquet, txt (a document a line), a folder of txt files, or - for "
            "standard input; word counts: UCI docword; or a folder made by tsenet shard.",
        ),
    ],
    out: Annotated[
        Path, typer.Option("--out", "-o", metavar="DIR", help="Folder to make for the results.")
    ],
    model: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE", help="Find the topics of this model (model.tsenet) in DATA; learn none."
        ),
    ] = None,
    text: Annotated[
        str | None,
        typer.Option(
            metavar="COLUMN", help="Column of the text (a number with --no-header); default: text."
        ),
    ] = None,
    id_column: Annotated[
        str | None,
        typer.Option(
            "--id",
            metavar="COLUMN",
            help="Column that tells documents apart in the output; default: their numbers from 0, or the names of "
            "txt files.",
        ),
    ] = None,
    data_format: Annotated[
        DataFormat, typer.Option("--format", help="auto goes by the file's name.")
    ] = DataFormat.auto,
    encoding: shared.Encoding = None,
    no_header: shared.NoHeader = False,
    words: shared.Words = None,
    select: Annotated[
        Selection | None,
        library_option(
            "TopicModel.select", "Keep the most frequent words, or those of highest mean tf-idf."
        ),
    ] = None,
    stop_words: shared.StopWords = None,
    min_documents: shared.MinDocuments = None,
    max_df: shared.MaxDf = None,
    ngrams: shared.Ngrams = None,
    tokenizer: shared.Tokenizer = None,
    along: Annotated[
        str | None,
        typer.Option(metavar="COLUMN", help="Show the topics along its dates or labels."),
    ] = None,
    documents_format: Annotated[
        DocumentsFormat, typer.Option("--documents", help="Format of the topics of each document.")
    ] = DocumentsFormat.csv,
    no_explorer: Annotated[
        bool, typer.Option("--no-explorer", help="No topics.html, which quotes documents.")
    ] = False,
    top_words: Annotated[
        int | None, whole_option("TopicModel.top_words", "Words per topic.", min=1)
    ] = None,
    min_size: Annotated[
        str | None,
        whole_option(
            "TopicModel.min_size",
            "Fold topics that fewer documents have: a number of documents, or a share below 1.",
        ),
    ] = None,
    min_coherence: Annotated[
        float | None,
        number_option(
            "TopicModel.min_coherence",
            "Fold topics whose words hardly occur together; -1 folds none.",
        ),
    ] = None,
    max_top: Annotated[
        int | None,
        whole_option(
            "TopicModel.max_top", "Add levels until one has at most this many topics.", min=1
        ),
    ] = None,
    max_island: Annotated[
        int | None, whole_option("TopicModel.max_island", "Most words in a group.", min=3)
    ] = None,
    ud_threshold: Annotated[
        float | None,
        number_option(
            "TopicModel.ud_threshold",
            "Split a group when two latents beat one by more than this in BIC.",
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
        whole_option(
            *("TopicModel.structure_samples", "Learn the structure from this many documents only."),
            min=2,
        ),
    ] = None,
    refine_steps: Annotated[
        int | None,
        whole_option("TopicModel.refine_steps", "Steps of stepwise EM over the whole tree.", min=0),
    ] = None,
    em_restarts: Annotated[
        int | None,
        whole_option("TopicModel.em_restarts", "Starting points of each small EM.", min=1),
    ] = None,
    piece_size: Annotated[
        int | None,
        whole_option(
            "TopicModel.piece_size",
            "Learn from pieces of this many words of longer documents; 0 for whole documents.",
            min=0,
        ),
    ] = None,
    leftovers: Annotated[
        Leftovers | None,
        library_option(
            "TopicModel.leftovers",
            "Words without a significant tie to a group: leave them in none, or attach them.",
        ),
    ] = None,
    no_full_depth: Annotated[
        bool,
        typer.Option(
            "--no-full-depth", help="Stop adding levels when their topics are hardly correlated."
        ),
    ] = False,
    cluster: Annotated[
        str | None,
        typer.Option(
            metavar="ADDRESS",
            help="A folder of shards: work on this Dask cluster (tcp://host:port).",
        ),
    ] = None,
    workers: Annotated[
        int | None,
        typer.Option(metavar="N", min=1, help="A folder of shards: start so many processes here."),
    ] = None,
    memory: Annotated[
        str | None,
        typer.Option(
            metavar="SIZE",
            help="Memory of each process to plan with, such as 2GB; for a folder of shards.",
        ),
    ] = None,
    seed: shared.Seed = 0,
    jobs: shared.Jobs = None,
    force: shared.Force = False,
    as_json: shared.AsJson = False,
    config: shared.Config = None,
    quiet: shared.Quiet = False,
    debug: shared.Debug = False,
) -> None:
    """Learn a hierarchy of topics from documents, or find known topics in new ones (--model).

    Writes topics.html to explore in a browser, topics.md to read, topics.json for programs, documents.csv with the
    topics of each document, model.tsenet for new documents and Python, and tree.tsenet, its tree.
    """
    import tsenet
    from tsenet._system.atomic import atomic_folder
    from tsenet.cli._documents import is_sharded, opened_shards, read
    from tsenet.cli._topic_files import say_found, write_documents, write_explorer, write_model
    from tsenet.cli._words import chosen_vectorizer

    if data_format is DataFormat.auto and data.name.startswith("docword."):
        data_format = DataFormat.docword
    _refuse_what_has_no_effect(context, data_format, is_sharded(data))
    for name in ("", *_FILES):
        refuse_inputs(out / name, data, config, stop_words)
    options = (words, stop_words, min_documents, max_df, ngrams, tokenizer)
    parameters = given(
        random_state=seed,
        n_jobs=jobs,
        vectorizer=chosen_vectorizer({"stop_words": "english", "min_documents": 2}, *options),
        select=None if select is None else str(select),
        top_words=top_words,
        min_size=None if min_size is None else _number(min_size),
        min_coherence=min_coherence,
        max_top=max_top,
        max_island=max_island,
        ud_threshold=ud_threshold,
        correlation_test=False if no_correlation_test else None,
        structure_samples=structure_samples,
        refine_steps=refine_steps,
        em_restarts=em_restarts,
        piece_size=piece_size,
        leftovers=None if leftovers is None else str(leftovers),
        full_depth=False if no_full_depth else None,
    )
    probabilities: Iterable[Any] = ()
    with (
        atomic_folder(out, force=force) as folder,
        shown_progress(quiet) as progress,
        opened_shards(data, cluster, workers, memory) as shards,
    ):
        documents: Any
        if shards is None:
            if id_column is None and data.is_dir() and data_format is DataFormat.auto:
                id_column = "file"
            others = [column for column in (along, id_column) if column is not None]
            columns = (text or "text", others, no_header)
            documents = read(data, data_format.value, *columns, encoding, progress)
        else:  # read by the model, part by part
            documents = None
        warm_up(progress, network=False)
        if model is not None:
            found = tsenet.load(model, kind="TopicModel")
            found.n_jobs = jobs
        else:
            found = tsenet.TopicModel(progress=progress, **parameters)
            if shards is None:
                probabilities = [found.fit_transform(documents)]
            else:
                found.fit(shards)
            write_model(found, folder, progress)
            if not no_explorer:
                write_explorer(
                    *(folder / "topics.html", found, documents),
                    along=along,
                    title=data.name.split(".")[0],
                    top_words=top_words,
                    progress=progress,
                )
        if shards is not None:
            probabilities = shards.map(found.transform)
        elif model is not None:
            probabilities = [found.transform(documents)]
        names = found.get_feature_names_out().tolist()
        path = folder / f"documents.{documents_format}"
        counts = write_documents(probabilities, names, path, _ids(documents, id_column), progress)
        written = sorted(path.name for path in folder.iterdir())
    say_found(found, documents, *counts, written, out, as_json)


def _ids(documents: Any, column: str | None) -> tuple[str, list[str]] | None:
    """The column to tell documents by: its name and values."""
    if column is None:
        return None
    values = documents.columns[column]
    return column, ["" if value is None else str(value) for value in values]


def _refuse_what_has_no_effect(
    context: typer.Context, data_format: DataFormat, is_sharded: bool
) -> None:
    """Refuse options that the data, the model or other options leave nothing to do."""
    options = context.params
    if data_format is not DataFormat.auto:
        _refuse(options, _OF_COLUMNS + _OF_WORDS, "the file has its words chosen already")
    if options["model"] is not None:
        others = _OF_WORDS + _OF_LEARNING + _OF_WHAT_IS_SHOWN
        _refuse(options, others, "a model has its topics already")
    if is_sharded:
        _refuse(options, _OF_COLUMNS + _OF_WORDS, "the folder has its words chosen already")
    refuse_both(options["cluster"], options["workers"])
    if not is_sharded:
        reason = "only a folder made by tsenet shard is worked on in parts"
        _refuse(options, ("cluster", "workers", "memory"), reason)
    if options["along"] is not None and options["no_explorer"]:
        raise typer.BadParameter("it shows in topics.html only", param_hint="--along")


def _refuse(options: dict[str, Any], names: tuple[str, ...], reason: str) -> None:
    """Refuse the first of some options that is given."""
    for name in names:
        if options[name] is not None and options[name] is not False:
            option = "--" + name.removesuffix("_column").replace("_", "-")
            raise typer.BadParameter(f"{reason}, so {option} cannot apply", param_hint=option)


def _number(text: str) -> float:
    """A number of documents (int) or a share (float)."""
    try:
        number = float(text)
    except ValueError:
        number = -1.0
    if number < 0 or (number > 1 and not number.is_integer()):
        raise typer.BadParameter(
            f"give a number of documents or a share below 1, not {text!r}", param_hint="--min-size"
        )
    return int(number) if number >= 1 else number
