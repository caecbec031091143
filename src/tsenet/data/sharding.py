"""Make folders of shards of the documents in files, without holding these in memory."""

from __future__ import annotations

import multiprocessing
import os
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import Future, ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from contextlib import ExitStack, contextmanager
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tsenet.data.columns import is_missing, quoted
from tsenet.data.readers import read_chunks
from tsenet.data.shards import ROWS_PER_GROUP, ShardFolder, ShardWriter
from tsenet.data.text import (
    TermCounts,
    checked_vectorizer,
    count_words,
    vectorizer_fields,
    word_vectorizer,
)
from tsenet.errors import DataError, ProcessLostError
from tsenet.progress import as_progress

if TYPE_CHECKING:
    from sklearn.feature_extraction.text import CountVectorizer

__all__ = ["shard_documents"]

#: ``map_in_order(function, items)`` yields ``function(item)`` for each item, in order.
MapInOrder = Callable[[Callable[[Any], Any], Iterable[Any]], Iterator[Any]]

_AHEAD = 3  # items per process that are read before the result of the first is taken


def shard_documents(
    paths: Sequence[str | Path],
    folder: str | os.PathLike[str],
    text: str = "text",
    *,
    vectorizer: CountVectorizer | None = None,
    labels: Sequence[str] = (),
    header: bool = True,
    encoding: str = "utf-8",
    progress: Any = None,
    rows_per_group: int = ROWS_PER_GROUP,
    n_workers: int | None = None,
    map_in_order: MapInOrder | None = None,
) -> ShardFolder:
    r"""Count the words of documents in files, and write them as a folder of shards.

    The files are read twice: for the vocabulary, and for the counts.

    Parameters
    ----------
    paths : sequence of path
        Files in one of the formats of :func:`tsenet.data.read_documents`, one after the other.
    folder : path or URL
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
    rows_per_group : int, default=16384
        Documents of a partition.
    n_workers : int or None, default=None
        Count words in this many new processes. The folder is the same for any number. In a program that is run as a
        script the call belongs under ``if __name__ == "__main__":``.
    map_in_order : callable or None, default=None
        Instead of processes, ``map_in_order(function, items)`` yields the results in order: a cluster, for example.

    Returns
    -------
    ShardFolder

    Raises
    ------
    DataError
        If a file cannot be read, or the folder holds finished shards.

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
    wanted = list(dict.fromkeys([text, *labels]))
    vectorizer = word_vectorizer(min_documents=2) if vectorizer is None else vectorizer
    words = vectorizer_fields(checked_vectorizer(vectorizer))
    _check_files(paths)

    def texts() -> Iterator[list[str]]:
        for path, first, chunk in _chunks(paths, wanted, header, encoding):
            kept.append({name: chunk[name] for name in labels})
            yield [
                _text(value, f"{path}, record {k}", text)
                for k, value in enumerate(chunk[text], first)
            ]

    kept: deque[dict[str, list[Any]]] = (
        deque()
    )  # labels of the chunks whose words are being counted
    with ExitStack() as stack:
        report = stack.enter_context(as_progress(progress))
        each = map_in_order or map
        if n_workers is not None:
            each = stack.enter_context(_in_processes(n_workers))
        ShardWriter(folder, names=(), sparse=True)  # refuses a finished folder before the work
        report.start("counting words", None)
        total: TermCounts | None = None
        for part in each(partial(TermCounts.of, vectorizer), texts()):
            total = part if total is None else total.add(part)
            report.advance(part.n_documents)
        if total is None:
            raise DataError("there are no documents")
        vectorizer = total.fit(vectorizer)
        report.finish(f"{len(vectorizer.vocabulary_):,} words")
        kept.clear()
        with ShardWriter(
            folder,
            names=list(vectorizer.vocabulary_),
            sparse=True,
            labels=labels,
            counter=words,
            rows_per_group=rows_per_group,
        ) as writer:
            report.start("writing shards", None)
            for rows in each(partial(_count, vectorizer), texts()):
                writer.write(rows, kept.popleft())
                report.advance(rows.shape[0])
            report.finish()
    return writer.folder


def _count(vectorizer: CountVectorizer, texts: list[str]) -> Any:
    """The word counts of some texts: a sparse matrix."""
    return count_words(texts, vectorizer).values


def _chunks(
    paths: Sequence[str | Path], wanted: Sequence[str] | None, header: bool, encoding: str
) -> Iterator[tuple[Path, int, dict[str, list[Any]]]]:
    """Chunks of all files: the file, the number of the first row in it, and the values by column."""
    for path in map(Path, paths):
        first = 1
        for chunk in read_chunks(path, wanted, header=header, encoding=encoding):
            yield path, first, chunk
            first += len(next(iter(chunk.values())))


def _text(value: Any, where: str, column: str) -> str:
    if is_missing(value):
        return ""
    if not isinstance(value, str | int | float):
        kind = type(value).__name__
        raise DataError(f"{where}: {quoted(column)} holds a {kind}, not a text")
    return str(value)


def _check_files(paths: Sequence[str | Path]) -> None:
    if not paths:
        raise DataError("no files were given")
    if any(str(path) == "-" for path in paths):
        raise DataError("standard input cannot be read twice: write it to a file first")


@contextmanager
def _in_processes(n_workers: int) -> Iterator[MapInOrder]:
    """Start processes; a few items per process are in memory."""
    # Children are new interpreters, not copies: a copy of a process with threads may stand still.
    pool = ProcessPoolExecutor(n_workers, mp_context=multiprocessing.get_context("spawn"))

    def map_in_order(function: Callable[[Any], Any], items: Iterable[Any]) -> Iterator[Any]:
        waiting: deque[Future[Any]] = deque()
        for item in items:
            waiting.append(pool.submit(function, item))
            if len(waiting) >= _AHEAD * n_workers:
                yield waiting.popleft().result()
        while waiting:
            yield waiting.popleft().result()

    try:
        yield map_in_order
    except BrokenProcessPool as error:
        raise ProcessLostError(
            "a process that was started for the work has ended, perhaps out of memory: start again with fewer processes"
        ) from error
    finally:
        pool.shutdown(cancel_futures=True)
