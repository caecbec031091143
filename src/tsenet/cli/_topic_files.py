"""What ``tsenet topics`` writes and says."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from tsenet.cli._options import given
from tsenet.cli._results import by_key, say, write_csv
from tsenet.data.text import Documents
from tsenet.errors import DataError, MissingDependencyError
from tsenet.explain.presence import PRESENT
from tsenet.explain.topics import every_topic, to_json, to_markdown
from tsenet.progress import Progress
from tsenet.store import save

if TYPE_CHECKING:
    from tsenet.data import Table
    from tsenet.estimators.topic_model import TopicModel

__all__ = ["say_found", "write_documents", "write_explorer", "write_model"]


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
    """Write the page to explore of a model that was fitted on these documents."""
    texts = documents if isinstance(documents, Documents) else None
    model.report(
        path,
        quote=False if texts is None else texts.texts,
        along=None if along is None or texts is None else texts.columns[along],
        along_name=along or "",
        progress=progress,
        title=title,
        **given(n_features=top_words),
    )


def write_documents(
    parts: Iterable[Any],
    names: Sequence[str],
    path: Path,
    ids: tuple[str, Sequence[str]] | None,
    progress: Progress,
) -> tuple[int, int]:
    """Write the topics that are present in each document, the most probable first, as csv or parquet.

    Parameters
    ----------
    parts : iterable of csr_array
        Probabilities of the topics in the documents, part by part.
    names : sequence of str
        Ids of the topics.
    path : Path
        The file; its suffix is the format.
    ids : (str, sequence of str) or None
        A name and values to tell documents by; None numbers them from 0.
    progress : Progress

    Returns
    -------
    (int, int)
        Number of documents, and how many of them have no topic: these have a row without one.
    """
    progress.start("topics of documents", None)
    n_documents = n_without = 0
    head = [ids[0] if ids else "document", "topic", "probability"]
    writer = _CsvTopics if path.suffix == ".csv" else _ParquetTopics
    with closing(writer(path, head, str if ids else int)) as topics_file:
        for probabilities in parts:
            found = probabilities.tocoo()
            kept = found.data >= PRESENT
            row, column, value = found.row[kept], found.col[kept], found.data[kept]
            without = np.setdiff1d(np.arange(found.shape[0]), row)
            row = np.concatenate([row, without])
            column = np.concatenate([column, np.full(without.size, -1)])
            value = np.concatenate([value, np.zeros(without.size)])
            order = np.lexsort((column, -value, row))
            row = row[order] + n_documents
            topics_file.write(
                row.tolist() if ids is None else [ids[1][k] for k in row.tolist()],
                [names[k] if k >= 0 else None for k in column[order].tolist()],
                [p if p > 0 else None for p in value[order].tolist()],
            )
            n_documents += int(found.shape[0])
            n_without += int(without.size)
            progress.advance(int(found.shape[0]))
    progress.finish()
    return n_documents, n_without


class _CsvTopics:
    """Topics of documents as csv, part by part."""

    def __init__(self, path: Path, head: Sequence[str], kind: type) -> None:
        self._file = path.open("w", encoding="utf-8", newline="")
        self._head = list(head)

    def write(self, document: list[Any], topic: list[Any], probability: list[Any]) -> None:
        shown = ["" if p is None else f"{p:.4f}" for p in probability]
        write_csv(self._file, self._head, [document, [name or "" for name in topic], shown])
        self._head = []

    def close(self) -> None:
        self._file.close()


class _ParquetTopics:
    """Topics of documents as parquet, part by part."""

    def __init__(self, path: Path, head: Sequence[str], kind: type) -> None:
        try:
            import pyarrow
            import pyarrow.parquet
        except ImportError as error:
            raise MissingDependencyError(
                "parquet needs pyarrow: pip install 'tsenet[text]'"
            ) from error
        document = pyarrow.int64() if kind is int else pyarrow.string()
        kinds = (document, pyarrow.string(), pyarrow.float64())
        self._schema = pyarrow.schema(list(zip(head, kinds, strict=True)))
        self._writer = pyarrow.parquet.ParquetWriter(path, self._schema)

    def write(self, document: list[Any], topic: list[Any], probability: list[Any]) -> None:
        import pyarrow

        columns = [
            pyarrow.array(values, kind)
            for values, kind in zip((document, topic, probability), self._schema.types, strict=True)
        ]
        self._writer.write_table(pyarrow.Table.from_arrays(columns, schema=self._schema))

    def close(self) -> None:
        self._writer.close()


def say_found(
    found: TopicModel,
    documents: Any,
    n_documents: int,
    n_without_topic: int,
    written: list[str],
    out: Path,
    as_json: bool,
) -> None:
    """Say how many documents, words and topics there are, and what was written."""
    n_words = found.tree_.n_observed
    n_grouped = n_words - len(found.ungrouped_)
    topics = list(every_topic(found.view_.topics))
    sizes = [sum(t.level == k for t in topics) for k in range(1, found.tree_.n_levels + 1)]
    odd = {
        "without text": getattr(documents, "n_missing", 0),
        "duplicates": getattr(documents, "n_duplicates", 0),
        "without a topic": n_without_topic,
    }
    fields = {
        "documents": n_documents,
        **by_key(odd),
        "words": n_words,
        "words_in_topics": n_grouped,
        "topics": len(topics),
        "topics_per_level": sizes,
        "written": written,
    }
    levels = ", ".join(f"{size:,}" for size in sizes) or "none"
    said = [f"{count:,} {name}" for name, count in odd.items() if count]
    say(
        as_json,
        fields,
        f"{n_documents:,} documents, {n_words:,} words, {n_grouped:,} of them in topics; topics per level: {levels}",
        *([f"among the documents: {', '.join(said)}"] if said else []),
        f"written to {out}: {', '.join(written)}",
    )
