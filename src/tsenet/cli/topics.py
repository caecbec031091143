"""``tsenet topics``: documents in, a hierarchy of topics out."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from tsenet.cli import _shared as cli
from tsenet.errors import DataError

if TYPE_CHECKING:
    from tsenet import TopicModel
    from tsenet.progress import Progress

_MODEL = "tsenet.TopicModel"
# What is written to the folder of the results.
_FILES = ("topics.html", "topics.md", "topics.json", "documents.csv", "model.tsenet")
# Options of columns and of words.
_OF_COLUMNS = ("text", "id_column", "along", "encoding", "no_header", "max_size")
_OF_WORDS = ("words", "stop_words")


def topics(
    context: typer.Context,
    data: Annotated[
        Path,
        typer.Argument(
            metavar="DATA",
            help="Documents: csv, json, jsonl, parquet, txt (a document a line), a folder of txt files, or - for "
            "standard input; or a folder made by tsenet shard.",
        ),
    ],
    out: Annotated[Path, cli.option("DIR", "Folder for the results.", "--out", "-o")],
    model: Annotated[
        Path | None, cli.option("FILE", "Find the topics of this model; learn none.")
    ] = None,
    text: cli.Text = None,
    id_column: cli.IdColumn = None,
    along: cli.Along = None,
    levels: Annotated[
        str | None,
        cli.option("N,N,…", "Topics of each level, from the top down, such as 8,40,200."),
    ] = None,
    n_topics: Annotated[
        int | None,
        cli.option("N", "Topics of the lowest level; those above are chosen.", "--topics"),
    ] = None,
    seed_words: Annotated[
        list[str] | None,
        cli.option(
            "LABEL=WORD,…",
            "Words that start a topic of this label (repeatable).",
        ),
    ] = None,
    merge: Annotated[
        list[str] | None,
        cli.option("ID,ID,…", "Merge topics of --model into the first of them (repeatable)."),
    ] = None,
    rename: Annotated[
        list[str] | None, cli.option("ID=LABEL", "Label a topic of --model (repeatable).")
    ] = None,
    reduce: Annotated[
        int | None, cli.option("N", "Show at most N topics, none below another.", min=1)
    ] = None,
    words: cli.Words = None,
    stop_words: cli.StopWords = None,
    no_explorer: Annotated[
        bool,
        typer.Option("--no-explorer", help="Do not write topics.html, which quotes documents."),
    ] = False,
    settings: cli.Set = None,
    encoding: cli.Encoding = None,
    no_header: cli.NoHeader = False,
    max_size: cli.MaxSize = None,
    workers: cli.Workers = None,
    seed: cli.Seed = 0,
    config: cli.Config = None,
    force: cli.Force = False,
    as_json: cli.AsJson = False,
    quiet: cli.Quiet = False,
    help_all: Annotated[bool, cli.help_all(_MODEL, cli.WORDS)] = False,
) -> None:
    """Learn a hierarchy of topics from documents.

    Writes topics.html to explore in a browser, topics.md to read, topics.json for programs, documents.csv with the
    topics of each document, and model.tsenet for new documents and for Python.

    With --model, nothing is learned: documents.csv then has the topics of that model in these documents.

    To edit topics, give the same documents and the model: tsenet topics DATA --model FILE --merge Z2.1,Z2.4
    --rename Z2.1=Sport --reduce 20 --out DIR. This writes all files.
    """
    import tsenet
    from tsenet._system.atomic import atomic_folder
    from tsenet.cli._model_data import read_file
    from tsenet.data import Blocks
    from tsenet.data.words import without_html

    parameters: dict[str, Any] = {"random_state": seed}
    parameters |= cli.read_settings(context, settings, _MODEL, cli.WORDS)
    is_sharded = cli.is_shard_folder(data)
    _check_options(context, is_sharded)
    for name in ("", *_FILES):
        cli.refuse_inputs(out / name, data, config, stop_words)
    parameters |= cli.typed(
        vectorizer=cli.vectorizer_of(parameters, words, stop_words, _MODEL),
        levels=_sizes_of(levels),
        n_topics=n_topics,
        seed_words=_seed_groups(seed_words),
    )
    labels = dict(_pairs(rename, "--rename"))
    found = tsenet.TopicModel(**parameters)
    found._validate_params()  # before files are read
    if id_column is None and data.is_dir() and not is_sharded:
        id_column = "file"
    documents: list[str] = []
    with (
        atomic_folder(out, force=force) as folder,
        cli.open_progress(quiet) as progress,
        Blocks(data, **cli.workers_of(workers)) if is_sharded else nullcontext() as blocks,
    ):
        if blocks is None:
            wanted = cli.typed(text=text or "text", along=along, id=id_column).values()
            file = read_file(data, progress, encoding, no_header, list(wanted), max_size=max_size)
            documents = file.texts(text or "text")
        if model is None:
            found.set_params(progress=progress).fit(documents if blocks is None else blocks)
            found.set_params(progress=None)
        else:
            found = tsenet.load(model, kind="TopicModel")
            for group in merge or ():
                found.merge(_parts_of(group), documents)
            found.rename(labels)
        if reduce is not None:
            found.reduce(reduce)
        new_documents = None if model is None else documents or None
        if model is None or merge or labels or reduce is not None:
            _write_topics(found, folder, progress)
            if not no_explorer:
                found.report(
                    folder / "topics.html",
                    new_documents,
                    quote=blocks is None and list(map(without_html, documents)),
                    along=None if along is None else file.column(along).tolist(),
                    along_name=along or "",
                    title=data.name.split(".")[0],
                    progress=progress,
                )
        progress.start("topics of documents", None)
        n_documents, n_without = _write_documents(
            found,
            [found.transform(new_documents)] if blocks is None else blocks.map(found.transform),
            id_column or "document",
            None if id_column is None else file.column(id_column).tolist(),
            folder / "documents.csv",
        )
        progress.finish()
        written = sorted(path.name for path in folder.iterdir())
    counts = {
        "documents": n_documents,
        "without text": documents.count(""),
        "duplicates": len(list(filter(None, documents))) - len({*documents} - {""}),
        "without a topic": n_without,
    }
    _print_topics(found, counts, written, out, as_json)


def _check_options(context: typer.Context, is_sharded: bool) -> None:
    """Refuse options that have no effect."""
    given = context.params
    learns = given["model"] is None
    edits = any(given[name] for name in ("merge", "rename", "reduce"))
    learning = (*_OF_WORDS, "levels", "n_topics", "seed_words", "settings")
    for applies, names, reason in (
        (is_sharded, _OF_COLUMNS + _OF_WORDS, "the folder has its words chosen already"),
        (is_sharded, ("merge",), "merging needs documents that are in memory"),
        (not is_sharded, ("workers",), "only a folder made by tsenet shard is processed in parts"),
        (learns, ("merge", "rename"), "the ids of topics are known only after they are learned"),
        (not learns, learning, "the topics come from --model"),
        (not learns and not edits, ("along",), "--model alone writes no topics.html"),
        (given["no_explorer"], ("along",), "only topics.html shows it"),
    ):
        if applies:
            cli.refuse_options(context, names, reason)


def _sizes_of(levels: str | None) -> tuple[int, ...] | None:
    """``8,40,200`` as numbers."""
    try:
        return None if levels is None else tuple(int(size) for size in levels.split(","))
    except ValueError as error:
        raise typer.BadParameter(
            "give whole numbers, such as 8,40,200", param_hint="--levels"
        ) from error


def _pairs(texts: Iterable[str] | None, flag: str) -> Iterator[tuple[str, str]]:
    """The two sides of NAME=VALUE."""
    for text in texts or ():
        name, _, value = (part.strip() for part in text.partition("="))
        if not (name and value):
            raise typer.BadParameter(f"write NAME=VALUE, not {text!r}", param_hint=flag)
        yield name, value


def _parts_of(text: str) -> list[str]:
    return [part.strip() for part in text.split(",")]


def _seed_groups(texts: list[str] | None) -> dict[str, list[str]] | None:
    """Words by label."""
    return {label: _parts_of(words) for label, words in _pairs(texts, "--seed-words")} or None


def _write_topics(model: TopicModel, folder: Path, progress: Progress) -> None:
    """Write the model, and its topics for programs and to read."""
    from tsenet.explain.topic_words import to_json, to_markdown
    from tsenet.store import save

    if not len(model.get_feature_names_out()):
        raise DataError(
            f"no topic was found among {model.tree_.n_observed:,} words: there are too few documents, or their words "
            "hardly occur together. More documents help, or --set min_documents=1 --set min_coherence=-1, which "
            "leave out less"
        )
    progress.start("describing topics", None)
    for name, write in (("topics.json", to_json), ("topics.md", to_markdown)):
        content = write(model.view_, ungrouped=model.ungrouped_)
        (folder / name).write_text(content, encoding="utf-8", newline="\n")
    save(model, folder / "model.tsenet")
    progress.finish()


def _write_documents(
    model: TopicModel, strengths: Iterable[Any], key: str, ids: Any, path: Path
) -> tuple[int, int]:
    """Write the topics that are present in each document as csv, the strongest first.

    Parameters
    ----------
    model : TopicModel
    strengths : iterable of csr_array
        Probabilities of the topics in the documents, part by part.
    key : str
        Name of the column that holds the documents' keys.
    ids : sequence or None
        The keys; None numbers the documents from 0.
    path : Path
        The file.

    Returns
    -------
    (int, int)
        Number of documents, and how many of them have no topic: these have a row without one.
    """
    import numpy as np
    import pandas as pd

    from tsenet.skeleton.tree import PRESENT

    shown = model.topics_
    names, titles = shown["id"].to_numpy(), shown["label"].to_numpy()
    n_documents = n_without = 0
    with path.open("w", encoding="utf-8", newline="") as stream:
        for part in strengths:
            entries = part.tocoo(copy=True)
            entries.data[entries.data < PRESENT] = 0
            entries.eliminate_zeros()
            without = np.setdiff1d(np.arange(part.shape[0]), entries.row)
            present = {
                "topic": names[entries.col],
                "title": titles[entries.col],
                "strength": entries.data,
            }
            rows = [pd.DataFrame({key: entries.row, **present}), pd.DataFrame({key: without})]
            frame = pd.concat(rows).sort_values([key, "strength"], ascending=[True, False])
            frame["strength"] = frame["strength"].round(4)
            frame[key] += n_documents
            if ids is not None:
                frame[key] = ["" if ids[row] is None else str(ids[row]) for row in frame[key]]
            cli.write_csv(frame, stream, header=not n_documents)
            n_documents += part.shape[0]
            n_without += without.size
    return n_documents, n_without


def _print_topics(
    model: TopicModel, counts: dict[str, int], written: list[str], out: Path, as_json: bool
) -> None:
    """Print how many documents, words and topics there are, and what was written."""
    n_words = model.tree_.n_observed
    n_grouped = n_words - len(model.ungrouped_)
    levels = model.topics_["level"]
    sizes = [int((levels == k).sum()) for k in range(1, model.tree_.n_levels + 1)]
    fields = {
        **{name.replace(" ", "_"): count for name, count in counts.items()},
        "words": n_words,
        "words_in_topics": n_grouped,
        "topics": len(levels),
        "topics_per_level": sizes,
        "written": written,
    }
    n_documents = counts.pop("documents")
    shown = ", ".join(f"{size:,}" for size in sizes) or "none"
    odd = [f"{count:,} {name}" for name, count in counts.items() if count]
    cli.print_result(
        *(as_json, fields),
        f"{n_documents:,} documents, {n_words:,} words, {n_grouped:,} of them in topics; topics per level: {shown}",
        *([f"among the documents: {', '.join(odd)}"] if odd else []),
        f"written to {out}: {', '.join(written)}",
    )
