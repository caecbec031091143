"""``tsenet report``: a model or a tree as a page to explore."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, NamedTuple

import typer

from tsenet.cli._console import check_output, shown_progress, written_to
from tsenet.cli._options import AsJson, Config, Debug, Encoding, Force, NoHeader, Quiet
from tsenet.cli._results import say
from tsenet.errors import DataError

if TYPE_CHECKING:
    from tsenet.data import Table
    from tsenet.data.files import DataFile

__all__ = ["report"]


class _Rows(NamedTuple):
    """What a file tells about the rows of a report."""

    table: Table | None
    y: Any = None
    texts: list[str] | None = None


def report(
    model: Annotated[Path, typer.Argument(metavar="MODEL", help="A model, or a tree.tsenet.")],
    out: Annotated[
        Path, typer.Option("--out", "-o", metavar="FILE", help="Page to write: html; - for stdout.")
    ],
    data: Annotated[
        Path | None,
        typer.Option(
            metavar="DATA", help="Rows that show what moves the units; also as tsenet fit reads it."
        ),
    ] = None,
    target: Annotated[
        list[str] | None,
        typer.Option(
            metavar="COLUMN", help="Column of the truth; default: as in the model, if it is there."
        ),
    ] = None,
    text: Annotated[
        str | None, typer.Option(metavar="COLUMN", help="Column of the text, for a topic tree.")
    ] = None,
    along: Annotated[
        str | None,
        typer.Option(
            metavar="COLUMN", help="Dates or labels to show the topics along, for a topic tree."
        ),
    ] = None,
    show: Annotated[
        str | None,
        typer.Option(metavar="COLUMN", help="What to show of each row; default: its text, if any."),
    ] = None,
    title: Annotated[
        str | None, typer.Option(metavar="TEXT", help="Title; default: the model file's name.")
    ] = None,
    encoding: Encoding = None,
    no_header: NoHeader = False,
    config: Config = None,
    force: Force = False,
    as_json: AsJson = False,
    quiet: Quiet = False,
    debug: Debug = False,
) -> None:
    """Write a model as one HTML page to explore, which needs no network.

    With --data the page quotes rows: give it only to those who may read the data.
    """
    import tsenet
    from tsenet.cli._model_data import read_rows
    from tsenet.explain.report import write_report

    check_output(out, force, model, data, config)
    if data is None:
        for option, given in (
            ("--target", target),
            ("--text", text),
            ("--along", along),
            ("--show", show),
        ):
            if given is not None:
                raise typer.BadParameter(f"{option} names a column: add --data", param_hint=option)
    fitted = tsenet.load(model)
    with shown_progress(quiet) as progress, written_to(out) as page:
        rows: _Rows | None = None
        values: Sequence[Any] | None = None
        quotes: Sequence[str] | None = None
        if data is not None:
            file = read_rows(data, progress, encoding, no_header)
            rows = _rows_of(fitted, file, target, text)
            quotes = rows.texts if show is None else file.texts(show)
            values = None if along is None else file.column(along)
        shown: dict[str, Any] = {
            "along": values,
            "along_name": along or "",
            "progress": progress,
            "title": title or model.stem,
        }
        table = None if rows is None else rows.table
        if isinstance(fitted, tsenet.TopicModel):  # its page has the topics that it shows
            documents = table if table is not None or rows is None else rows.texts
            fitted.report(page, documents, quote=quotes or False, **shown)
        else:
            write_report(
                page,
                fitted,
                table,
                None if rows is None else rows.y,
                texts=quotes,
                words=True if text is not None else None,
                **shown,
            )
    say(as_json, {"out": out}, f"written to {out}")


def _rows_of(fitted: Any, file: DataFile, target: list[str] | None, text: str | None) -> _Rows:
    """The file's rows as the model takes them, with their texts and truth where the file has them."""
    from tsenet.cli._model_data import model_rows, truth_of

    if not hasattr(fitted, "wiring_"):
        if target is not None:
            raise DataError("--target is for models that predict: this one holds a tree only")
        if text is None and hasattr(fitted, "vectorizer_") and "text" in file.columns:
            text = "text"  # as tsenet topics reads documents
        return _tree_rows(fitted, file, text)
    if text is not None:
        raise DataError("--text is for topic trees: a model knows its column of texts itself")
    source = fitted.source_ or {}
    table = model_rows(fitted, file)
    names = target or source.get("targets") or []
    has_truth = bool(names) and (target is not None or set(names) <= set(file.columns))
    y = truth_of(fitted, file, names) if has_truth else None
    texts = None if source.get("text") is None else file.texts(source["text"])
    return _Rows(table, y, texts)


def _tree_rows(fitted: Any, file: DataFile, text: str | None) -> _Rows:
    from tsenet.data.columns import quoted

    tree = getattr(fitted, "tree_", fitted)
    if text is not None:
        from tsenet.data.text import count_words

        texts = file.texts(text)
        vectorizer = getattr(fitted, "vectorizer_", None)
        if vectorizer is not None:  # the model counts its words itself
            return _Rows(None, texts=texts)
        return _Rows(count_words(texts, tree.rule.names_in), texts=texts)
    if file.rows is not None:
        return _Rows(file.table(()))
    names = file.columns_for(tree.rule.names_in)
    missing = [name for name in names if name not in file.columns]
    if missing:
        raise DataError(
            f"{file.path} has no column {quoted(missing[0])}, which the tree observes: "
            "if the tree is over words, name the column of the text with --text"
        )
    return _Rows(file.table_for(tree.rule))
