"""What ``tsenet topics`` writes and says."""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import typer

from tsenet.cli._options import given
from tsenet.cli._results import by_key, say, write_csv
from tsenet.data.text import Documents
from tsenet.errors import DataError, MissingDependencyError
from tsenet.explain.topic_files import to_json, to_markdown
from tsenet.progress import Progress
from tsenet.store import save

if TYPE_CHECKING:
    from tsenet.data import Table
    from tsenet.estimators.topic_model import TopicModel
    from tsenet.scale import Report

__all__ = ["say_found", "write_documents", "write_explorer", "write_model"]

# A topic of a document is written from this probability on.
_LEAST = 0.1

_DOCUMENT_COLUMNS = ("document", "topic", "probability")


def write_model(model: TopicModel, folder: Path, progress: Progress) -> None:
    """Write the model, its tree, and its topics for programs and to read.

    Raises
    ------
    DataError
        If there is no topic; nothing is written then.
    """
    if not len(model.get_feature_names_out()):
        raise DataError(
            f"no topic was found among {model.tree_.n_observed:,} words: there are too few documents, or their words "
            "hardly occur together. More documents help, or --min-documents 1 and --min-coherence -1, which fold less"
        )
    progress.start("describing topics", None)
    for name, write in (("topics.json", to_json), ("topics.md", to_markdown)):
        content = write(model.view_, ungrouped=model.ungrouped_)
        (folder / name).write_text(content, encoding="utf-8", newline="\n")
    save(model, folder / "model.tsenet")
    save(model.tree_, folder / "tree.tsenet")
    progress.finish()


def write_explorer(
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


def write_documents(
    model: TopicModel, parts: Iterable[Documents | Table], path: Path, progress: Progress
) -> int:
    """Write the topics of each document, the most probable first, as csv or parquet; return the number of documents."""
    progress.start("topics of documents", None)
    n_documents = 0
    writer = _CsvTopics if path.suffix == ".csv" else _ParquetTopics
    with closing(writer(path)) as topics_file:
        for documents in parts:
            found = model.transform(documents, output="probability", min_probability=_LEAST)
            values = found.tocoo()
            order = np.lexsort((values.col, -values.data, values.row))
            names = model.get_feature_names_out()[values.col[order]]
            topics_file.write(values.row[order] + n_documents, names, values.data[order])
            n_documents += int(values.shape[0])
            progress.advance(int(values.shape[0]))
    progress.finish()
    return n_documents


class _CsvTopics:
    """Topics of documents as csv, part by part."""

    def __init__(self, path: Path) -> None:
        self._file = path.open("w", encoding="utf-8", newline="")
        self._head = list(_DOCUMENT_COLUMNS)

    def write(self, row: Any, names: Any, probability: Any) -> None:
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


def say_found(
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
        **by_key(odd),
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
