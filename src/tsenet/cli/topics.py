"""``tsenet topics``: documents in, a hierarchy of topics out."""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import ExitStack, closing
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from tsenet.cli._console import shown_progress, warm_up
from tsenet.cli._options import (
    AsJson,
    Checkpoint,
    Config,
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
    checked_memory,
    given,
    library_option,
)
from tsenet.cli._sharded import fit_sharded, is_sharded, opened, tables_of
from tsenet.errors import DataError

if TYPE_CHECKING:
    from tsenet.data import Table
    from tsenet.data.text import Documents
    from tsenet.estimators.topic_model import TopicModel
    from tsenet.progress import Progress
    from tsenet.scale import Report

__all__ = ["topics"]

# A topic of a document is written to documents.csv from this probability on.
_LEAST = 0.1


class DataFormat(StrEnum):
    """How to read the documents."""

    auto = "auto"
    hlta = "hlta"
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
    data: Annotated[
        Path,
        typer.Argument(
            metavar="DATA",
            help="Documents: csv, json, jsonl, parquet, txt (a document a line), a folder of txt files, or - for "
            "standard input; word counts: HLTA 'doc, word' lines, UCI docword; or a folder made by tsenet shard.",
        ),
    ],
    out: Annotated[Path, typer.Option(metavar="DIR", help="Folder to make for the results.")],
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
    data_format: Annotated[
        DataFormat, typer.Option("--format", help="auto goes by the file's name.")
    ] = DataFormat.auto,
    encoding: Encoding = None,
    no_header: Annotated[
        bool, typer.Option("--no-header", help="The csv has no line of column names.")
    ] = False,
    words: Words = None,
    select: Annotated[
        Selection | None,
        library_option(
            *("TopicModel", "select"),
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
    documents_format: Annotated[
        DocumentsFormat, typer.Option("--documents", help="Format of the topics of each document.")
    ] = DocumentsFormat.csv,
    no_explorer: Annotated[
        bool, typer.Option("--no-explorer", help="No topics.html, which quotes documents.")
    ] = False,
    top_words: Annotated[
        int | None,
        library_option("TopicModel", "top_words", metavar="N", min=1, help="Words per topic."),
    ] = None,
    min_size: Annotated[
        str | None,
        library_option(
            *("TopicModel", "min_size"),
            metavar="N",
            help="Fold topics that fewer documents have: a number of documents, or a share below 1.",
        ),
    ] = None,
    min_coherence: Annotated[
        float | None,
        library_option(
            *("TopicModel", "min_coherence"),
            metavar="X",
            help="Fold topics whose words hardly occur together; -1 folds none.",
        ),
    ] = None,
    max_top: Annotated[
        int | None,
        library_option(
            *("TopicModel", "max_top"),
            metavar="N",
            min=1,
            help="Add levels until one has at most this many topics.",
        ),
    ] = None,
    max_island: Annotated[
        int | None,
        library_option(
            "TopicModel", "max_island", metavar="N", min=3, help="Most words in a group."
        ),
    ] = None,
    ud_threshold: Annotated[
        float | None,
        library_option(
            *("TopicModel", "ud_threshold"),
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
            *("TopicModel", "structure_samples"),
            metavar="N",
            min=2,
            help="Learn the structure from this many documents only.",
        ),
    ] = None,
    refine_steps: Annotated[
        int | None,
        library_option(
            *("TopicModel", "refine_steps"),
            metavar="N",
            min=0,
            help="Steps of stepwise EM over the whole tree.",
        ),
    ] = None,
    em_restarts: Annotated[
        int | None,
        library_option(
            "TopicModel",
            "em_restarts",
            metavar="N",
            min=1,
            help="Starting points of each small EM.",
        ),
    ] = None,
    piece_size: Annotated[
        int | None,
        library_option(
            *("TopicModel", "piece_size"),
            metavar="N",
            min=0,
            help="Learn from pieces of this many words of longer documents; 0 for whole documents.",
        ),
    ] = None,
    leftovers: Annotated[
        Leftovers | None,
        library_option(
            *("TopicModel", "leftovers"),
            help="Words without a significant tie to a group: leave them in none, or attach them.",
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
            help="Most memory of each process, such as 2GB: what is estimated to need more is refused before any work.",
        ),
    ] = None,
    seed: Seed = 0,
    jobs: Jobs = None,
    checkpoint: Checkpoint = None,
    force: Force = False,
    as_json: AsJson = False,
    config: Config = None,
    quiet: Quiet = False,
    debug: Debug = False,
) -> None:
    """Learn a hierarchy of topics from documents, or find known topics in new ones (--model).

    Writes topics.html to explore in a browser, topics.md to read, topics.json for programs, documents.csv with the
    topics of each document, model.tsenet for new documents and Python, and tree.tsenet, its tree.
    """
    from tsenet._system.atomic import atomic_folder
    from tsenet.cli._model_data import stop_words_of_option, tokenizer_of

    choice = given(
        words=words,
        select=select,
        stop_words=stop_words,
        min_documents=min_documents,
        max_df=max_df,
        ngrams=ngrams,
    )
    splitter = tokenizer_of(tokenizer)
    learning = given(
        max_top=max_top,
        max_island=max_island,
        ud_threshold=ud_threshold,
        no_correlation_test=no_correlation_test or None,
        structure_samples=structure_samples,
        refine_steps=refine_steps,
        em_restarts=em_restarts,
        piece_size=piece_size,
        leftovers=leftovers,
        no_full_depth=no_full_depth or None,
        checkpoint=checkpoint,
    )
    shown = given(top_words=top_words, min_size=min_size, min_coherence=min_coherence)
    data_format = _format_of(data, data_format)
    columns = given(text=text, along=along, no_header=no_header or None, tokenizer=tokenizer)
    _check_options(data_format, columns, choice)
    if model is not None:
        _refuse(
            {**choice, **learning, **shown, **given(along=along)}, "a model has its topics already"
        )
    sharded = is_sharded(data)
    if sharded:
        _refuse({**columns, **choice}, "the folder has its words chosen already")
    _check_place(sharded, model is not None, cluster, workers, memory)
    if along is not None and no_explorer:
        raise typer.BadParameter("it shows in topics.html only", param_hint="--along")
    with (
        atomic_folder(out, force=force) as folder,
        shown_progress(quiet) as progress,
        ExitStack() as stack,
    ):
        shards = (
            stack.enter_context(opened(data, cluster, workers, memory, jobs)) if sharded else None
        )
        if shards is None:
            documents = _read(
                data, data_format, text or "text", along, no_header, encoding, progress
            )
        else:
            documents = shards.drawn_documents(seed, progress)
        warm_up(progress, network=False)
        if model is not None:
            found = _load(model, splitter)
            found.n_jobs = jobs
        else:
            found = _new_model(
                progress,
                random_state=seed,
                n_jobs=jobs,
                memory_limit=memory,
                n_words=words,
                select=None if select is None else str(select),
                stop_words=None if stop_words is None else stop_words_of_option(stop_words),
                min_documents=min_documents,
                max_df=max_df,
                ngrams=ngrams,
                tokenizer=splitter,
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
            if shards is None:
                found.fit(documents, **given(checkpoint=checkpoint))
            else:
                fit_sharded(found, shards, documents, checkpoint)
            _refuse_no_topics(found)
            _write_model(found, folder, progress)
            if not no_explorer:
                _write_explorer(
                    folder / "topics.html",
                    *(found, documents),
                    along=along,
                    title=data.name.split(".")[0],
                    top_words=top_words,
                    progress=progress,
                )
        every = [documents] if shards is None else tables_of(shards)
        n_documents = _write_documents(found, every, documents_format, folder, progress)
        written = sorted(path.name for path in folder.iterdir())
    report = None if shards is None else shards.report
    _say_result(found, documents, n_documents, written, out, as_json, quiet, report)


def _say_result(
    found: TopicModel,
    documents: Any,
    n_documents: int,
    written: list[str],
    out: Path,
    as_json: bool,
    quiet: bool,
    report: Report | None,
) -> None:
    """Say how many documents, words and topics there are, and what was written; before it, what the phases took."""
    from tsenet.cli._results import say

    if report is not None and not quiet:
        typer.echo(f"{report}", err=True)
    tree = found.tree_
    sizes = list(tree.layer_sizes[1:])
    odd = {
        "without text": getattr(documents, "n_missing", 0),
        "duplicates": getattr(documents, "n_duplicates", 0),
    }
    fields = {
        "documents": n_documents,
        **{name.replace(" ", "_"): count for name, count in odd.items()},
        "words": tree.n_observed,
        "topics_per_level": sizes,
        "shown": len(found.get_feature_names_out()),  # topics_ would need pandas
        "written": written,
        **({} if report is None else {"phases": report.to_dict()}),
    }
    levels = ", ".join(f"{size:,}" for size in sizes) or "none"
    said = [f"{count:,} {name}" for name, count in odd.items() if count]
    say(
        as_json,
        fields,
        f"{n_documents:,} documents, {tree.n_observed:,} words; topics per level: {levels}",
        *([f"among them {' and '.join(said)}"] if said else []),
        f"written to {out}: {', '.join(written)}",
    )


def _format_of(data: Path, data_format: DataFormat) -> DataFormat:
    """The format, by the file's name if it is not given."""
    if data_format is DataFormat.auto and data.name.startswith("docword."):
        return DataFormat.docword
    return data_format


def _check_place(
    sharded: bool, has_model: bool, cluster: str | None, workers: int | None, memory: str | None
) -> None:
    """Refuse options of where to work that do not suit the data."""
    checked_memory(memory)
    if cluster is not None and workers is not None:
        raise typer.BadParameter("give --cluster or --workers, not both", param_hint="--cluster")
    if not sharded:
        placed = given(cluster=cluster, workers=workers)
        _refuse(placed, "only a folder made by tsenet shard is worked on in parts")
        if has_model:
            _refuse(given(memory=memory), "it is for learning")


def _check_options(
    data_format: DataFormat, columns: dict[str, Any], choice: dict[str, Any]
) -> None:
    """Refuse options that would have no effect."""
    if data_format is not DataFormat.auto:
        _refuse({**columns, **choice}, "the file has its words chosen already")


def _refuse(options: dict[str, Any], reason: str) -> None:
    """Refuse the first of some options, if any is given."""
    for name in options:
        option = "--" + name.replace("_", "-")
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


def _read(
    path: Path,
    data_format: DataFormat,
    text: str,
    along: str | None,
    no_header: bool,
    encoding: str | None,
    progress: Progress,
) -> Documents | Table:
    from tsenet.data.docword import read_docword
    from tsenet.data.text import read_documents
    from tsenet.store.hlta_text import read_hlta_tuples

    progress.start("reading documents", None)
    if data_format is not DataFormat.auto:
        table = (read_hlta_tuples if data_format is DataFormat.hlta else read_docword)(path)
        progress.finish(f"{table.n_rows:,} documents, {table.n_columns:,} words")
        return table
    columns = [] if along is None else [along]
    documents = read_documents(
        path, text, columns=columns, header=not no_header, **given(encoding=encoding)
    )
    progress.finish(documents.report())
    return documents


def _new_model(progress: Progress, **options: Any) -> TopicModel:
    """A model to be learned; options that are None are the library's to choose."""
    from tsenet import TopicModel

    chosen = given(**options)
    if chosen.get("piece_size") == 0:
        chosen["piece_size"] = None
    return TopicModel(progress=progress, **chosen)


def _load(path: Path, tokenizer: Any) -> TopicModel:
    from tsenet.store import load

    model: TopicModel = load(path, kind="TopicModel", tokenizer=tokenizer)
    return model


def _refuse_no_topics(model: TopicModel) -> None:
    """Raise a DataError if nothing was found, before files are written."""
    if not len(model.get_feature_names_out()):
        raise DataError(
            f"no topic was found among {model.tree_.n_observed:,} words: there are too few documents, or their words "
            "hardly occur together. More documents help, or --min-documents 1 and --min-coherence -1, which fold less"
        )


def _write_model(model: TopicModel, folder: Path, progress: Progress) -> None:
    from tsenet.explain.topic_files import to_json, to_markdown
    from tsenet.store import save

    progress.start("describing topics", None)
    for name, write in (("topics.json", to_json), ("topics.md", to_markdown)):
        content = write(model.view_, ungrouped=model.ungrouped_)
        (folder / name).write_text(content, encoding="utf-8", newline="\n")
    save(model, folder / "model.tsenet")
    save(model.tree_, folder / "tree.tsenet")
    progress.finish()


def _write_documents(
    model: TopicModel,
    parts: Iterable[Documents | Table],
    documents_format: DocumentsFormat,
    folder: Path,
    progress: Progress,
) -> int:
    """Write the topics of each document, the most probable first; return the number of documents."""
    import numpy as np

    progress.start("topics of documents", None)
    path = folder / f"documents.{documents_format}"
    n_documents = 0
    writer = _CsvTopics if documents_format is DocumentsFormat.csv else _ParquetTopics
    with closing(writer(path)) as topics_file:
        for documents in parts:
            values = model.transform(
                documents, output="probability", min_probability=_LEAST
            ).tocoo()
            order = np.lexsort((values.col, -values.data, values.row))
            names = model.get_feature_names_out()[values.col[order]]
            topics_file.write(values.row[order] + n_documents, names, values.data[order])
            n_documents += int(values.shape[0])
            progress.advance(int(values.shape[0]))
    progress.finish()
    return n_documents


_DOCUMENT_COLUMNS = ("document", "topic", "probability")


class _CsvTopics:
    """Topics of documents as csv, part by part."""

    def __init__(self, path: Path) -> None:
        self._file = path.open("w", encoding="utf-8", newline="")
        self._head = list(_DOCUMENT_COLUMNS)

    def write(self, row: Any, names: Any, probability: Any) -> None:
        from tsenet.cli._results import write_csv

        shown = [f"{p:.4f}" for p in probability.tolist()]
        write_csv(self._file, self._head, [row.tolist(), names, shown])
        self._head = []

    def close(self) -> None:
        self._file.close()


class _ParquetTopics:
    """Topics of documents as parquet, part by part."""

    def __init__(self, path: Path) -> None:
        try:
            import pyarrow
            import pyarrow.parquet
        except ImportError as error:
            from tsenet.errors import MissingDependencyError

            raise MissingDependencyError(
                "parquet needs pyarrow: pip install 'tsenet[text]'"
            ) from error
        kinds = (pyarrow.int64(), pyarrow.string(), pyarrow.float64())
        self._schema = pyarrow.schema(list(zip(_DOCUMENT_COLUMNS, kinds, strict=True)))
        self._writer = pyarrow.parquet.ParquetWriter(path, self._schema)

    def write(self, row: Any, names: Any, probability: Any) -> None:
        import pyarrow

        columns = dict(zip(_DOCUMENT_COLUMNS, (row, names, probability), strict=True))
        self._writer.write_table(pyarrow.table(columns, schema=self._schema))

    def close(self) -> None:
        self._writer.close()


def _write_explorer(
    path: Path,
    model: TopicModel,
    documents: Documents | Table,
    *,
    along: str | None,
    title: str,
    top_words: int | None,
    progress: Progress,
) -> None:
    """Write the page to explore; ``documents`` have the column ``along`` if one is named."""
    from tsenet.data.text import Documents

    values = None
    if along is not None and isinstance(documents, Documents):
        values = documents.columns[along]
    model.report(
        path,
        documents,
        along=values,
        along_name=along or "",
        progress=progress,
        title=title,
        **given(n_features=top_words),
    )
