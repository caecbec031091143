"""``tsenet report``: a model or a tree as a page to explore."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from tsenet.cli import _shared as cli
from tsenet.errors import DataError

if TYPE_CHECKING:
    from tsenet.data import DataFile


def report(
    context: typer.Context,
    model: Annotated[Path, typer.Argument(metavar="MODEL", help="A model or a tree.")],
    out: cli.Out,
    data: Annotated[
        Path | None, cli.option("DATA", "Rows that show what activates the units.")
    ] = None,
    target: Annotated[
        list[str] | None, cli.option("COLUMN", "Column of true values; default: the target of fit.")
    ] = None,
    text: cli.Text = None,
    embeddings: cli.Embeddings = None,
    along: cli.Along = None,
    show: Annotated[
        str | None, cli.option("COLUMN", "Column to show for each row; default: its text.")
    ] = None,
    title: Annotated[
        str | None, cli.option("TEXT", "Title; default: the model file's name.")
    ] = None,
    encoding: cli.Encoding = None,
    no_header: cli.NoHeader = False,
    max_size: cli.MaxSize = None,
    config: cli.Config = None,
    force: cli.Force = False,
    as_json: cli.AsJson = False,
    quiet: cli.Quiet = False,
) -> None:
    """Write a model as one HTML page to explore, also offline.

    With --data the page quotes rows: share it only with people who may see the data.
    """
    import tsenet
    from tsenet.cli._model_data import read_file
    from tsenet.explain.report import write_report

    cli.check_output(out, force, model, data, config)
    if data is None:
        columns = ("target", "text", "along", "show")
        cli.refuse_options(context, columns, "only --data has columns")
        cli.refuse_options(context, ("embeddings",), "they are of the rows of --data")
    fitted = tsenet.load(model)
    if embeddings is not None and not isinstance(fitted, tsenet.TopicModel):
        raise DataError("--embeddings are for topic models")
    page_options: dict[str, Any] = {"along_name": along or "", "title": title or model.stem}
    X = None
    y = None
    texts = None
    with cli.open_progress(quiet) as progress:
        if data is not None:
            file = read_file(data, progress, encoding, no_header, max_size=max_size)
            X, y, texts = _rows_of(fitted, file, target, text)
            texts = texts if show is None else file.texts(show)
            page_options["along"] = None if along is None else file.column(along)
        if isinstance(fitted, tsenet.TopicModel):  # its page has the topics that it shows
            page_options["embeddings"] = cli.read_array(embeddings)
            fitted.report(out, X, quote=texts or False, progress=progress, **page_options)
        else:
            write_report(out, fitted, X, y, texts=texts, progress=progress, **page_options)
    cli.print_result(as_json, {"out": out}, f"written to {out}")


def _rows_of(
    fitted: Any, file: DataFile, target: list[str] | None, text: str | None
) -> tuple[Any, Any, list[str] | None]:
    """The file's rows as the model takes them, with their truth and their texts where the file has them."""
    from tsenet import TopicModel
    from tsenet.cli._model_data import model_input, truth_of

    predicts = hasattr(fitted, "wiring_")
    if target is not None and not predicts:
        raise DataError("--target is for models that predict: this one holds a tree only")
    if isinstance(fitted, TopicModel):
        texts = file.texts(text or "text")
        return texts, None, texts
    if text is not None:
        raise DataError("--text is for topic models: other models know their columns themselves")
    if not predicts:
        return model_input(getattr(fitted, "tree_", fitted), file), None, None
    source = fitted.source_ or {}
    names = target or source.get("targets") or []
    has_truth = bool(names) and (target is not None or set(names) <= set(file.columns))
    y = truth_of(fitted, file, names) if has_truth else None
    column = source.get("text")
    return model_input(fitted, file), y, None if column is None else file.texts(column)
