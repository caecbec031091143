"""Make folders of shards of text or tables in files, without holding these in memory."""

from __future__ import annotations

import json
import os
from collections import deque
from collections.abc import Generator, Iterable, Iterator, Sequence
from contextlib import ExitStack, closing
from functools import partial
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from tsenet.data.columns import is_missing, quoted
from tsenet.data.files import read_chunks
from tsenet.data.places import Place
from tsenet.data.shard_writer import ShardWriter
from tsenet.data.shards import MANIFEST, ShardFolder, open_shards
from tsenet.data.side_by_side import MapInOrder, in_processes
from tsenet.data.text import (
    TermCounts,
    checked_vectorizer,
    count_words,
    vectorizer_fields,
    vectorizer_of_fields,
    word_vectorizer,
)
from tsenet.errors import DataError
from tsenet.progress import Progress, as_progress

if TYPE_CHECKING:
    from sklearn.feature_extraction.text import CountVectorizer

__all__ = ["shard_documents", "shard_table"]

# The number of a row in its file, and its values by column.
Record = tuple[int, dict[str, Any]]

_BATCH = 4096
_VOCABULARY = "vocabulary.json"


def shard_documents(
    paths: Sequence[str | Path],
    folder: str | os.PathLike[str] | Place,
    text: str = "text",
    *,
    vectorizer: CountVectorizer | None = None,
    labels: Sequence[str] = (),
    header: bool = True,
    encoding: str = "utf-8",
    progress: Any = None,
    rows_per_group: int | None = None,
    n_workers: int | None = None,
    map_in_order: MapInOrder | None = None,
) -> ShardFolder:
    r"""Count the words of documents in files, and write them as a folder of shards.

    The files are read twice: for the vocabulary, which is kept in the folder, and for the counts. A call that was
    stopped goes on where it ended if it is repeated.

    Parameters
    ----------
    paths : sequence of path
        Files in one of the formats of :func:`tsenet.data.read_documents`, one after the other.
    folder : path, URL or Place
        The folder to make.
    text : str, default="text"
        Column of the text.
    vectorizer : CountVectorizer, optional
        Which words to count. Default: :func:`tsenet.data.word_vectorizer` with the 10,000 most frequent words of those
        in two or more documents. For topics, leave out stop words:
        ``word_vectorizer(stop_words="english", min_documents=2)``.
    labels : sequence of str, default=()
        Columns to keep as labels.
    header, encoding
        As for :func:`tsenet.data.read_documents`.
    progress : None, bool, Progress or callable, default=None
        As for :func:`tsenet.learn_tree`.
    rows_per_group : int or None, default=None
        Documents of a partition.
    n_workers : int or None, default=None
        Count words in so many processes, which are started. The folder is the same for any number. In a program that
        is run as a script the call belongs under ``if __name__ == "__main__":``.
    map_in_order : callable or None, default=None
        Instead of processes, ``map_in_order(function, items)`` yields the results in order: a cluster, for example.

    Returns
    -------
    ShardFolder

    Raises
    ------
    DataError
        If a file cannot be read, or the folder is finished or belongs to other files or options.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> from tsenet.data import shard_documents
    >>> with tempfile.TemporaryDirectory() as scratch:
    ...     path = Path(scratch) / "pets.csv"
    ...     _ = path.write_text("text,animal\ncats purr,cat\ndogs bark,dog\ncats bark,cat\n")
    ...     shards = shard_documents([path], Path(scratch) / "shards", labels=["animal"])
    >>> shards.names, shards.shape
    (('bark', 'cats'), (3, 2))
    """
    place = Place.of(folder)
    wanted = list(dict.fromkeys([text, *labels]))
    vectorizer = word_vectorizer(min_documents=2) if vectorizer is None else vectorizer
    words = vectorizer_fields(checked_vectorizer(vectorizer))
    run = {"files": _facts(paths), "text": text, "labels": list(labels), "header": header}
    run |= {"encoding": encoding, "words": words}

    def batches(first: int) -> Iterator[list[Any]]:
        return _batches(islice(_records(paths, wanted, header, encoding), first, None))

    def texts_of(batch: list[Any]) -> list[str]:
        return [_text(record, text, path) for path, record in batch]

    with ExitStack() as stack:
        report = stack.enter_context(as_progress(progress))
        each = map_in_order or map
        if n_workers is not None:
            each = stack.enter_context(in_processes(n_workers))
        parts = each(partial(TermCounts.of, vectorizer), map(texts_of, batches(0)))
        vectorizer = _fitted(vectorizer, place, run, parts, report)
        with ShardWriter(
            place,
            names=list(vectorizer.vocabulary_),
            sparse=True,
            labels=labels,
            counter=words,
            run=run,
            **_sizes(rows_per_group),
        ) as writer:
            report.start("writing shards", None)
            read: deque[list[Any]] = deque()  # batches whose words are being counted
            texts = (texts_of(_kept_in(read, batch)) for batch in batches(writer.n_done))
            for rows in each(partial(_count, vectorizer), texts):
                batch = read.popleft()
                writer.write(
                    rows, {name: [record[1].get(name) for _, record in batch] for name in labels}
                )
                report.advance(len(batch))
            report.finish()
    return writer.folder


def _kept_in(waiting: deque[list[Any]], batch: list[Any]) -> list[Any]:
    waiting.append(batch)
    return batch


def _count(vectorizer: CountVectorizer, texts: list[str]) -> Any:
    """The word counts of some texts: a sparse matrix."""
    return count_words(texts, vectorizer).values


def shard_table(
    paths: Sequence[str | Path],
    folder: str | os.PathLike[str] | Place,
    *,
    labels: Sequence[str] = (),
    columns: Sequence[str] = (),
    encoding: str = "utf-8",
    progress: Any = None,
    rows_per_group: int | None = None,
) -> ShardFolder:
    r"""Write tables of numbers in files as a folder of shards; a call that was stopped goes on.

    Parameters
    ----------
    paths : sequence of path
        Files (csv, tsv, json, jsonl, parquet) with the same columns, one after the other. Blank cells are missing.
    folder : path, URL or Place
        The folder to make.
    labels : sequence of str, default=()
        Columns to keep as labels.
    columns : sequence of str, default=()
        The columns of numbers; () takes all others of the first row.
    encoding, progress, rows_per_group
        As for :func:`shard_documents`.

    Returns
    -------
    ShardFolder

    Raises
    ------
    DataError
        If a file cannot be read or a value is no number, and as for :func:`shard_documents`.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> from tsenet.data import shard_table
    >>> with tempfile.TemporaryDirectory() as scratch:
    ...     path = Path(scratch) / "sizes.csv"
    ...     _ = path.write_text("width,height,kind\n1,2,a\n3,,b\n")
    ...     shards = shard_table([path], Path(scratch) / "shards", labels=["kind"])
    ...     shards.read(shards.partitions[0]).table.values.tolist()
    [[1.0, 2.0], [3.0, nan]]
    """
    names = list(columns)
    if not names:
        with closing(_records(paths, None, True, encoding)) as records:
            first = next(records, None)
        if first is None:
            raise DataError(f"{paths[0]} holds no rows")
        names = [name for name in first[1][1] if name not in set(labels)]
    wanted = [*names, *labels]
    run = {"files": _facts(paths), "encoding": encoding}
    with (
        as_progress(progress) as report,
        ShardWriter(
            *(folder,),
            names=names,
            sparse=False,
            labels=labels,
            run=run,
            **_sizes(rows_per_group),
        ) as writer,
    ):
        report.start("writing shards", None)
        records = _records(paths, wanted, True, encoding)
        for batch in _batches(islice(records, writer.n_done, None)):
            rows = np.array(
                [[_number(record, name, path) for name in names] for path, record in batch]
            )
            writer.write(
                rows, {name: [record[1].get(name) for _, record in batch] for name in labels}
            )
            report.advance(len(batch))
        report.finish()
    return writer.folder


def _sizes(rows_per_group: int | None) -> dict[str, Any]:
    return {} if rows_per_group is None else {"rows_per_group": rows_per_group}


def _records(
    paths: Sequence[str | Path], wanted: Sequence[str] | None, header: bool, encoding: str
) -> Generator[tuple[Path, Record], None, None]:
    for path in map(Path, paths):
        number = 0
        for chunk in read_chunks(path, wanted, header=header, encoding=encoding):
            for values in zip(*chunk.values(), strict=True):
                number += 1
                yield path, (number, dict(zip(chunk, values, strict=True)))


def _batches(records: Iterator[Any]) -> Iterator[list[Any]]:
    while batch := list(islice(records, _BATCH)):
        yield batch


def _text(record: Record, column: str, path: Path) -> str:
    number, fields = record
    value = fields.get(column)
    if is_missing(value):
        return ""
    if not isinstance(value, str | int | float):
        kind = type(value).__name__
        raise DataError(f"{path}, record {number}: {quoted(column)} holds a {kind}, not a text")
    return str(value)


def _number(record: Record, column: str, path: Path) -> float:
    number, fields = record
    value = fields.get(column)
    if is_missing(value):
        return float("nan")
    try:
        return float(value)  # type: ignore[arg-type]  # anything else than a number raises
    except (TypeError, ValueError, OverflowError) as error:
        raise DataError(
            f"{path}, record {number}: {quoted(column)} holds {quoted(value)}, not a number: name it with --label "
            "if it is a label; for categories use tsenet.data.shard_writer.write_shards in Python"
        ) from error


def _facts(paths: Sequence[str | Path]) -> list[Any]:
    """What tells files apart: their names and sizes."""
    if not paths:
        raise DataError("no files were given")
    found = []
    for path in map(Path, paths):
        if str(path) == "-":
            raise DataError("standard input cannot be read twice: write it to a file first")
        found.append([path.name, path.stat().st_size if path.is_file() else None])
    return found


def _fitted(
    vectorizer: CountVectorizer,
    place: Place,
    run: dict[str, Any],
    parts: Iterable[TermCounts],
    report: Progress,
) -> CountVectorizer:
    """The vectorizer with the vocabulary that an earlier call of the same kind has chosen, or that of the texts."""
    names = place.names()
    if MANIFEST in names:
        raise DataError(
            f"{open_shards(place).place.url} holds finished shards: choose another folder"
        )
    if _VOCABULARY in names:
        fields = json.loads(place.read(_VOCABULARY))
        if fields["run"] == json.loads(json.dumps(run)):
            return vectorizer_of_fields(run["words"], fields["vocabulary"])
    report.start("counting words", None)
    total: TermCounts | None = None
    for part in parts:
        total = part if total is None else total.add(part)
        report.advance(part.n_documents)
    if total is None:
        raise DataError("there are no documents")
    vectorizer = total.fit(vectorizer)
    report.finish(f"{len(vectorizer.vocabulary_):,} words")
    content = json.dumps({"run": run, "vocabulary": list(vectorizer.vocabulary_)})
    place.write(_VOCABULARY, content.encode())
    return vectorizer
