"""The command line: each command is a thin call into the library.

Everything heavy is imported inside the commands, so that ``--help`` answers at once.
"""

from __future__ import annotations

import os
import signal
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, NoReturn

import typer

from tsenet.cli import data, model, report
from tsenet.cli._console import PlainErrors, remember_debug, shown_progress

if TYPE_CHECKING:
    from tsenet.data import Table
    from tsenet.data.text import Documents
    from tsenet.progress import Progress
    from tsenet.skeleton.tree import LatentTree

__all__ = ["app", "main"]


def _show_version(value: bool) -> None:
    if value:
        import tsenet

        typer.echo(f"tsenet {tsenet.__version__}")
        raise typer.Exit


Debug = Annotated[
    bool, typer.Option("--debug", help="Show the traceback of an error.", callback=remember_debug)
]

app = typer.Typer(
    name="tsenet",
    cls=PlainErrors,
    help="Tree-structured networks and topics, learned from data.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,  # plain help: loading rich alone takes longer than all the rest
)


@app.callback()
def _program(
    version: Annotated[
        bool,
        typer.Option("--version", help="Show the version.", callback=_show_version, is_eager=True),
    ] = False,
    debug: Debug = False,
) -> None:
    # OpenMP threads that spin while they wait take the processor from numba's own.
    os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")


class DataFormat(StrEnum):
    """How to read the documents."""

    auto = "auto"
    hlta = "hlta"


class Selection(StrEnum):
    """Which words to keep when there are too many."""

    frequency = "frequency"
    tfidf = "tfidf"


@app.command()
def topics(
    ctx: typer.Context,
    data: Annotated[
        Path,
        typer.Argument(
            metavar="DATA", help="Documents: csv, parquet or jsonl; or HLTA 'doc, word' lines."
        ),
    ],
    out: Annotated[Path, typer.Option(metavar="DIR", help="Folder to make for the results.")],
    text: Annotated[
        str | None,
        typer.Option(metavar="COLUMN", help="Column of the text (a number with --no-header)."),
    ] = None,
    data_format: Annotated[
        DataFormat, typer.Option("--format", help="auto goes by the file's name.")
    ] = DataFormat.auto,
    no_header: Annotated[
        bool, typer.Option("--no-header", help="The csv has no line of column names.")
    ] = False,
    words: Annotated[int, typer.Option(metavar="N", min=2, help="Keep so many words.")] = 10_000,
    select: Annotated[
        Selection,
        typer.Option(help="Keep the most frequent words, or those of highest mean tf-idf."),
    ] = Selection.frequency,
    stop_words: Annotated[
        str,
        typer.Option(
            metavar="WHICH", help="Words to leave out: english, none, or a file of words."
        ),
    ] = "english",
    min_documents: Annotated[
        int, typer.Option(metavar="N", min=1, help="Leave out words in fewer documents.")
    ] = 2,
    along: Annotated[
        str | None,
        typer.Option(metavar="COLUMN", help="Show the topics along its dates or labels."),
    ] = None,
    no_explorer: Annotated[
        bool, typer.Option("--no-explorer", help="No topics.html, which quotes documents.")
    ] = False,
    top_words: Annotated[int, typer.Option(metavar="N", min=1, help="Words shown per topic.")] = 10,
    max_top: Annotated[
        int, typer.Option(metavar="N", min=1, help="At most so many top topics.")
    ] = 30,
    max_island: Annotated[
        int, typer.Option(metavar="N", min=3, help="At most so many words in a group.")
    ] = 15,
    ud_threshold: Annotated[
        float, typer.Option(metavar="X", help="Threshold of the group test.")
    ] = 3.0,
    no_correlation_test: Annotated[
        bool,
        typer.Option(
            "--no-correlation-test", help="Let unrelated words join a group, as the paper does."
        ),
    ] = False,
    structure_samples: Annotated[
        int | None,
        typer.Option(metavar="N", min=2, help="Learn the structure from so many documents only."),
    ] = None,
    refine_steps: Annotated[
        int, typer.Option(metavar="N", min=0, help="Steps of stepwise EM over the whole tree.")
    ] = 100,
    em_restarts: Annotated[
        int, typer.Option(metavar="N", min=1, help="Restarts of each small EM.")
    ] = 3,
    seed: Annotated[int, typer.Option(metavar="N", min=0, help="Same seed, same result.")] = 0,
    jobs: Annotated[
        int | None,
        typer.Option(metavar="N", min=1, help="Threads; the result does not depend on it."),
    ] = None,
    force: Annotated[
        bool, typer.Option("--force", help="Replace the results in a folder that has some.")
    ] = False,
    quiet: Annotated[bool, typer.Option("--quiet", help="No progress.")] = False,
    debug: Debug = False,
) -> None:
    """Learn a hierarchy of topics from documents.

    Writes topics.html to explore in a browser, topics.md to read, topics.json for programs, and tree.tsenet,
    the model itself.
    """
    from tsenet._system.atomic import atomic_folder

    _check_options(ctx, text, data_format)
    if along is not None and no_explorer:
        raise typer.BadParameter("it shows in topics.html only", param_hint="--along")
    with atomic_folder(out, force=force) as folder, shown_progress(quiet) as progress:
        documents: Documents | None = None
        if data_format is DataFormat.hlta:
            table = _read_hlta(data, progress)
        else:
            documents = _read_documents(data, str(text), along, no_header, progress)
            table = _count_words(documents, words, select, stop_words, min_documents, progress)
        import tsenet

        progress.start("kernels (the first use on a machine compiles them)", None)
        tsenet.warmup()
        progress.finish()
        tree = tsenet.learn_tree(
            table,
            max_island=max_island,
            max_top=max_top,
            ud_threshold=ud_threshold,
            correlation_test=not no_correlation_test,
            structure_samples=structure_samples,
            refine_steps=refine_steps,
            em_restarts=em_restarts,
            random_state=seed,
            n_jobs=jobs,
            progress=progress,
        )
        _write_topics(tree, table, top_words, folder, progress)
        if not no_explorer:
            report.write_topic_page(
                folder / "topics.html",
                *(tree, table, documents),
                along=along,
                title=data.name.split(".")[0],
                n_words=top_words,
                progress=progress,
            )
    sizes = ", ".join(f"{size:,}" for size in tree.layer_sizes[1:]) or "none"
    typer.echo(
        f"{table.n_rows:,} documents, {table.n_columns:,} words; topics per level: {sizes}\n"
        f"written to {out}: {'' if no_explorer else 'topics.html, '}topics.md, topics.json, tree.tsenet"
    )


@app.command()
def export(
    tree: Annotated[Path, typer.Argument(metavar="TREE", help="A tree.tsenet file.")],
    bif: Annotated[Path, typer.Option(metavar="FILE", help="Write a Bayesian network in BIF.")],
    force: Annotated[bool, typer.Option("--force", help="Replace FILE if it exists.")] = False,
    debug: Debug = False,
) -> None:
    """Write a saved tree in the format of other programs for graphical models."""
    from tsenet.store import load, write_bif

    if bif.exists() and not force:
        raise FileExistsError(f"{bif} exists: choose another name, or add --force to replace it")
    write_bif(load(tree, "LatentTree"), bif)
    typer.echo(f"written to {bif}")


for _command in (model.fit, model.predict, model.evaluate):
    app.command()(_command)
app.add_typer(data.app)
app.command()(report.report)


def _check_options(ctx: typer.Context, text: str | None, data_format: DataFormat) -> None:
    """Refuse options that would be silently without effect, and the lack of one that is needed."""
    if data_format is DataFormat.auto:
        if text is None:
            raise typer.BadParameter("say which column holds the text", param_hint="--text")
        return
    for name in ("text", "along", "no_header", "words", "select", "stop_words", "min_documents"):
        source = ctx.get_parameter_source(name)
        if source is not None and source.name == "COMMANDLINE":
            option = "--" + name.replace("_", "-")
            raise typer.BadParameter(
                f"an HLTA file has its words chosen already, so {option} cannot apply",
                param_hint=option,
            )


def _read_hlta(path: Path, progress: Progress) -> Table:
    from tsenet.store.hlta_text import read_hlta_tuples

    progress.start("reading documents", None)
    table = read_hlta_tuples(path)
    progress.finish(f"{table.n_rows:,} documents, {table.n_columns:,} words")
    return table


def _read_documents(
    path: Path, text: str, along: str | None, no_header: bool, progress: Progress
) -> Documents:
    from tsenet.data.text import read_documents

    progress.start("reading documents", None)
    columns = [] if along is None else [along]
    documents = read_documents(path, text, columns=columns, header=not no_header)
    progress.finish(documents.report())
    return documents


def _count_words(
    documents: Documents,
    words: int,
    select: Selection,
    stop_words: str,
    min_documents: int,
    progress: Progress,
) -> Table:
    from tsenet.cli._model_data import stop_words_of
    from tsenet.data.text import vectorize

    progress.start("counting words", None)
    table = vectorize(
        documents,
        n_words=words,
        stop_words=stop_words_of(stop_words),
        min_documents=min_documents,
        select=select.value,
    )
    progress.finish(f"{table.n_columns:,} words")
    return table


def _write_topics(
    tree: LatentTree, table: Table, top_words: int, folder: Path, progress: Progress
) -> None:
    from tsenet.explain.topics import to_json, to_markdown, topic_tree
    from tsenet.store import save

    progress.start("describing topics", None)
    found = topic_tree(tree, table, n_words=top_words)
    (folder / "topics.json").write_text(to_json(found), encoding="utf-8", newline="\n")
    (folder / "topics.md").write_text(to_markdown(found), encoding="utf-8", newline="\n")
    save(tree, folder / "tree.tsenet")
    progress.finish()


def _terminated(signum: int, frame: object) -> NoReturn:
    # Leaving by an exception lets every temporary file be removed; the default would not.
    raise SystemExit(128 + signum)


def main() -> None:
    """Run the program: the entry point of ``tsenet`` and ``python -m tsenet``."""
    signal.signal(signal.SIGTERM, _terminated)
    app(prog_name="tsenet")
