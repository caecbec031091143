"""``tsenet topics``: documents in, a hierarchy of topics out."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from tsenet.cli import _shared as cli
from tsenet.errors import DataError

if TYPE_CHECKING:
    import pandas as pd

    from tsenet import TopicModel
    from tsenet.data import Blocks
    from tsenet.progress import Progress

_MODEL = "tsenet.TopicModel"
# What is written to the folder of the results.
_FILES = (
    *("topics.html", "topics.md", "topics.json", "documents.csv", "model.tsenet"),
    "embeddings.npy",
)
_MOST_LINES = 40  # of the tree of topics that a terminal shows
# Options of columns and of words.
_OF_COLUMNS = ("text", "id_column", "along", "encoding", "no_header", "max_size")
_OF_WORDS = ("words", "stop_words", "keep_urls")


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
    split: Annotated[
        list[str] | None, cli.option("ID", "Split a topic of --model in two (repeatable).")
    ] = None,
    rename: Annotated[
        list[str] | None, cli.option("ID=LABEL", "Label a topic of --model (repeatable).")
    ] = None,
    reduce: Annotated[
        int | None, cli.option("N", "Show at most N topics, none below another.", min=1)
    ] = None,
    words: cli.Words = None,
    stop_words: cli.StopWords = None,
    keep_urls: Annotated[
        bool,
        typer.Option(
            "--keep-urls", help="Count words of addresses, @names, #hashtags and mail headers too."
        ),
    ] = False,
    embeddings: cli.Embeddings = None,
    encoder: Annotated[
        str | None,
        cli.option(
            "NAME",
            "Sentence encoder whose vectors help with short texts: minilm, or a name or folder of "
            "sentence-transformers. They are written to embeddings.npy, for --embeddings the next time.",
        ),
    ] = None,
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
    topics of each document, and model.tsenet for new documents and for Python. A terminal shows the tree of topics.

    With --model, nothing is learned: documents.csv then has the topics of that model in these documents. A model that
    was learned with vectors wants those of the same encoder.

    To edit topics, give the same documents and the model: tsenet topics DATA --model FILE --merge Z2.1,Z2.4
    --split Z1.3 --rename Z2.1=Sport --reduce 20 --out DIR. This writes all files.
    """
    from tsenet._system.atomic import atomic_folder

    is_sharded = cli.is_shard_folder(data)
    edits = bool(merge or split or rename or reduce is not None)
    _check_options(context, is_sharded, edits)
    for name in ("", *_FILES):
        cli.refuse_inputs(out / name, data, config, stop_words)
    new_model = _new_model(context, levels, seed_words)  # refuses bad options before files are read
    labels = dict(_pairs(rename, "--rename"))

    with (
        atomic_folder(out, force=force) as folder,
        cli.open_progress(quiet) as progress,
        _open_documents(context, is_sharded, progress) as opened,
    ):
        written_to = folder / "embeddings.npy"
        vectors = cli.read_vectors(embeddings, encoder, opened.texts, written_to, progress)
        documents = replace(opened, vectors=vectors)
        if model is None:
            found = _learn(new_model, documents, progress)
        else:
            found = _load(model, documents, merge or (), split or (), labels)
        if reduce is not None:
            found.reduce(reduce)

        if model is None or edits:
            _write_topics(found, folder, progress)
            if not no_explorer:
                _write_page(found, documents, folder / "topics.html", progress)
        counts = _write_documents(found, documents, folder / "documents.csv", progress)
        written = sorted(path.name for path in folder.iterdir())

    _print_topics(found, counts, written, out, as_json)


def _check_options(context: typer.Context, is_sharded: bool, edits: bool) -> None:
    """Refuse options that have no effect."""
    given = context.params
    learns = given["model"] is None
    learning = (*_OF_WORDS, "levels", "n_topics", "seed_words", "settings")
    for applies, names, reason in (
        (is_sharded, _OF_COLUMNS + _OF_WORDS, "the folder has its words chosen already"),
        (is_sharded, ("embeddings", "encoder"), "it needs texts that are in memory"),
        (is_sharded, ("merge", "split"), "it needs documents that are in memory"),
        (not is_sharded, ("workers",), "only a folder made by tsenet shard is processed in parts"),
        (
            learns,
            ("merge", "split", "rename"),
            "the ids of topics are known only after they are learned",
        ),
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


def _new_model(
    context: typer.Context, levels: str | None, seed_words: list[str] | None
) -> TopicModel:
    """A model with the parameters of the command line, checked."""
    import tsenet

    given = context.params
    parameters: dict[str, Any] = {"random_state": given["seed"]}
    parameters |= cli.read_settings(context, given["settings"], _MODEL, cli.WORDS)
    if given["keep_urls"]:
        parameters["keep_urls"] = True
    vectorizer = cli.vectorizer_of(parameters, given["words"], given["stop_words"], _MODEL)
    parameters |= cli.typed(
        vectorizer=vectorizer,
        levels=_sizes_of(levels),
        n_topics=given["n_topics"],
        seed_words=_seed_groups(seed_words),
    )
    model = tsenet.TopicModel(**parameters)
    model._validate_params()
    return model


# ---- documents


@dataclass(frozen=True)
class _Documents:
    """The documents of the command line.

    Attributes
    ----------
    texts : list of str
        Empty for a folder of shards.
    blocks : Blocks or None
        A folder of shards; None for texts.
    name : str
        The name of the file or folder.
    key : str
        What documents.csv calls the documents.
    ids : list or None
        Their keys there; None numbers them from 0.
    along : list or None
        A value of each to show topics along.
    along_name : str
    are_learned : bool
        Whether the model was fitted on these documents, and knows them.
    vectors : array or None
        Embeddings of the texts.
    """

    texts: list[str]
    blocks: Blocks | None
    name: str
    key: str = "document"
    ids: list[Any] | None = None
    along: list[Any] | None = None
    along_name: str = ""
    are_learned: bool = False
    vectors: Any = None

    @property
    def unseen(self) -> dict[str, Any]:
        """The texts and their embeddings as arguments of a model that was not fitted on them."""
        if self.are_learned or not self.texts:
            return {}
        return {"texts": self.texts, "embeddings": self.vectors}


@contextmanager
def _open_documents(
    context: typer.Context, is_sharded: bool, progress: Progress
) -> Iterator[_Documents]:
    """Read a file of documents, or open a folder of shards."""
    from tsenet.cli._model_data import read_file
    from tsenet.data import Blocks

    given = context.params
    data = given["data"]
    name = data.name.split(".")[0]
    if is_sharded:
        with Blocks(data, **cli.workers_of(given["workers"])) as blocks:
            yield _Documents([], blocks, name, are_learned=given["model"] is None)
        return

    text = given["text"] or "text"
    along = given["along"]
    key = given["id_column"]
    if key is None and data.is_dir():
        key = "file"
    wanted = cli.typed(text=text, along=along, id=key).values()
    file = read_file(
        data,
        progress,
        given["encoding"],
        given["no_header"],
        list(wanted),
        max_size=given["max_size"],
    )
    yield _Documents(
        file.texts(text),
        None,
        name,
        key or "document",
        None if key is None else file.column(key).tolist(),
        None if along is None else file.column(along).tolist(),
        along or "",
        are_learned=given["model"] is None,
    )


# ---- steps


def _learn(model: TopicModel, documents: _Documents, progress: Progress) -> TopicModel:
    """Learn the topics of documents."""
    model.set_params(progress=progress)
    if documents.blocks is None:
        model.fit(documents.texts, embeddings=documents.vectors)
    else:
        model.fit(documents.blocks)
    return model.set_params(progress=None)


def _load(
    path: Path,
    documents: _Documents,
    merge: Iterable[str],
    split: Iterable[str],
    labels: dict[str, str],
) -> TopicModel:
    """A model from a file, with the changes asked for."""
    import tsenet

    model: TopicModel = tsenet.load(path, kind="TopicModel")
    for group in merge:
        model.merge(_parts_of(group), documents.texts, embeddings=documents.vectors)
    for topic in split:
        model.split(topic, documents.texts, embeddings=documents.vectors)
    return model.rename(labels)


def _write_topics(model: TopicModel, folder: Path, progress: Progress) -> None:
    """Write the model, and its topics for programs and to read."""
    from tsenet.store import save
    from tsenet.topics.listing import to_json, to_markdown

    if not len(model.get_feature_names_out()):
        raise DataError(
            f"no topic was found among {len(model.vocabulary_):,} words: there are too few documents, or their words "
            "hardly occur together. More documents help, or --set min_documents=1 --set min_coherence=-1, which "
            "leave out less"
        )
    progress.start("describing topics", None)
    for name, write in (("topics.json", to_json), ("topics.md", to_markdown)):
        content = write(model.view_, ungrouped=model.ungrouped_)
        (folder / name).write_text(content, encoding="utf-8", newline="\n")
    save(model, folder / "model.tsenet")
    progress.finish()


def _write_page(model: TopicModel, documents: _Documents, path: Path, progress: Progress) -> None:
    """Write the page, which quotes documents that are texts."""
    from tsenet.data.words import without_html

    model.report(
        path,
        **documents.unseen,
        quote=documents.blocks is None and list(map(without_html, documents.texts)),
        along=documents.along,
        along_name=documents.along_name,
        title=documents.name,
        progress=progress,
    )


def _write_documents(
    model: TopicModel, documents: _Documents, path: Path, progress: Progress
) -> dict[str, int]:
    """Write the topics that are present in each document as csv, the strongest first.

    Returns
    -------
    dict of str to int
        Numbers of documents: in all, without text, duplicates, and outliers, which have a row without a topic.
    """
    progress.start("topics of documents", None)
    parts: Iterable[Any]
    if documents.blocks is not None:
        parts = documents.blocks.map(model.transform)
    else:
        parts = [model.transform(**documents.unseen)]

    n_documents = n_without = 0
    with path.open("w", encoding="utf-8", newline="") as stream:
        for strengths in parts:
            frame, n_empty = _document_rows(model, strengths, documents.key)
            frame[documents.key] += n_documents
            if documents.ids is not None:
                keys = [documents.ids[row] for row in frame[documents.key]]
                frame[documents.key] = ["" if key is None else str(key) for key in keys]
            cli.write_csv(frame, stream, header=not n_documents)
            n_documents += strengths.shape[0]
            n_without += n_empty
    progress.finish()

    filled = [text for text in documents.texts if text]
    return {
        "documents": n_documents,
        "without text": len(documents.texts) - len(filled),
        "duplicates": len(filled) - len(set(filled)),
        "outliers": n_without,
    }


def _document_rows(model: TopicModel, strengths: Any, key: str) -> tuple[pd.DataFrame, int]:
    """A row for each topic that is present in a document, the strongest first; how many documents have none."""
    import numpy as np
    import pandas as pd

    from tsenet.topics.presence import PRESENT, presence

    shown = model.topics_
    document, topic = presence(strengths)
    entries = strengths.tocoo()
    without = np.setdiff1d(np.arange(strengths.shape[0]), document)
    present = pd.DataFrame(
        {
            key: document,
            "topic": shown["id"].to_numpy()[topic],
            "title": shown["label"].to_numpy()[topic],
            "strength": entries.data[entries.data >= PRESENT],
        }
    )
    frame = pd.concat([present, pd.DataFrame({key: without})])
    frame = frame.sort_values([key, "strength"], ascending=[True, False])
    frame["strength"] = frame["strength"].round(4)
    return frame, without.size


def _print_topics(
    model: TopicModel, counts: dict[str, int], written: list[str], out: Path, as_json: bool
) -> None:
    """Print how many documents, words and topics there are, and what was written."""
    import numpy as np

    from tsenet.topics.listing import to_text

    n_words = len(model.vocabulary_)
    n_grouped = n_words - len(model.ungrouped_)
    levels = model.topics_["level"]
    sizes = np.bincount(levels, minlength=2)[1:].tolist()
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
    if sys.stdout.isatty() and not as_json:
        typer.echo(to_text(model.view_.topics, _MOST_LINES))
    lines = [
        f"{n_documents:,} documents, {n_words:,} words, {n_grouped:,} of them in topics; topics per level: {shown}"
    ]
    if odd:
        lines.append(f"among the documents: {', '.join(odd)}")
    lines.append(f"written to {out}: {', '.join(written)}")
    cli.print_result(as_json, fields, *lines)
