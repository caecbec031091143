"""Folders of Parquet shards: documents that need not fit into memory, read a shard at a time.

A folder holds ``part-00000.parquet``, ``part-00001.parquet``, … and, written last, ``shards.json``, which lists them
(docs/shard-format.md). Documents are lists of word numbers with counts; label columns are ordinary Parquet columns.
"""

from __future__ import annotations

import json
import os
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from functools import partial
from itertools import accumulate, chain, count
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from tsenet._system.atomic import atomic_folder
from tsenet.data.readers import DataFile, import_pyarrow, read_chunks
from tsenet.data.table import Table, canonical_csr
from tsenet.data.text import count_words, vectorizer_fields, vectorizer_of_fields, word_vectorizer
from tsenet.data.words import choose_segmenter, warn_about_html, without_html
from tsenet.errors import DataError, count_of, listed, quoted
from tsenet.progress import Progress, as_progress

if TYPE_CHECKING:
    from sklearn.feature_extraction.text import CountVectorizer

MANIFEST = "shards.json"
_FILE = "part-{:05d}.parquet"
FORMAT = 6
ROWS_PER_SHARD = 1 << 14
WORDS = "words"
COUNTS = "counts"


@dataclass(frozen=True)
class Shard:
    """One shard: the rows that are read at once.

    Attributes
    ----------
    file : str
        Name of the shard.
    start, n_rows : int
        Number of its first row among all rows of the folder, and its number of rows.

    Examples
    --------
    >>> from tsenet.data import Shard
    >>> Shard("part-00000.parquet", start=0, n_rows=100).n_rows
    100
    """

    file: str
    start: int
    n_rows: int


@dataclass(frozen=True, eq=False)
class ShardFolder:
    """A folder of shards; :func:`open_shards` opens one.

    Attributes
    ----------
    path : Path
        The folder.
    names : tuple of str, length V
        The columns: words.
    named : bool
        Whether the rows came with column names.
    labels : dict of str to str
        The type of each label column, such as ``int64``, ``double`` or ``string``.
    shards : tuple of Shard
        All shards, in the order of the rows.
    nnz : int
        Words of all documents: entries of the sparse table.
    counter : dict or None
        Options of the ``CountVectorizer`` that made the rows, if they came from texts.

    Examples
    --------
    >>> import tempfile
    >>> from tsenet.data import write_shards
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     stored = write_shards(folder, [[1], [2], [3]], rows_per_shard=2)
    ...     [stored.read(shard).values.toarray().tolist() for shard in stored.shards]
    [[[1], [2]], [[3]]]
    """

    path: Path
    names: tuple[str, ...]
    named: bool
    labels: dict[str, str]
    shards: tuple[Shard, ...]
    nnz: int
    counter: dict[str, Any] | None = None

    @property
    def n_rows(self) -> int:
        """Number of rows N."""
        return sum(part.n_rows for part in self.shards)

    @property
    def n_columns(self) -> int:
        """Number of columns V."""
        return len(self.names)

    @property
    def shape(self) -> tuple[int, int]:
        """``(n_rows, n_columns)``."""
        return self.n_rows, self.n_columns

    def __repr__(self) -> str:
        return (
            f"ShardFolder({str(self.path)!r}, {self.n_rows} documents × {self.n_columns} words, "
            f"{len(self.shards)} shards)"
        )

    def vectorizer(self) -> Any:
        """Return the fitted ``CountVectorizer`` that made the rows; None if they did not come from texts.

        Examples
        --------
        >>> import tempfile
        >>> from tsenet.data import write_shards
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     print(write_shards(folder, [[1], [2]]).vectorizer())
        None
        """
        return None if self.counter is None else vectorizer_of_fields(self.counter, self.names)

    def read(self, shard: Shard) -> Table:
        """Read the rows of one shard.

        Parameters
        ----------
        shard : Shard
            One of :attr:`shards`.

        Returns
        -------
        Table
            Sparse int32 counts.

        Raises
        ------
        DataError
            If the file is missing, damaged, or has other content than the list of shards promises; names the file.

        Examples
        --------
        >>> import tempfile
        >>> from tsenet.data import write_shards
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     stored = write_shards(folder, [[1], [2]])
        ...     stored.read(stored.shards[0]).values.toarray().tolist()
        [[1], [2]]
        """
        columns = self._read(shard, [WORDS, COUNTS])
        try:
            values = _documents(columns[WORDS], columns[COUNTS], self.n_columns)
            if values.shape[0] != shard.n_rows:
                raise ValueError(f"it has {values.shape[0]} rows, {MANIFEST} {shard.n_rows}")
        except ValueError as error:
            raise DataError(f"{self.path / shard.file}: {error}") from error
        return self.table(values)

    def table(self, counts: sp.csr_array) -> Table:
        """Return word counts (n, V) as a table with the columns of the folder.

        Examples
        --------
        >>> import tempfile
        >>> import scipy.sparse as sp
        >>> from tsenet.data import write_shards
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     write_shards(folder, [[1], [2]], names=["cat"]).table(sp.csr_array([[3]])).names
        ('cat',)
        """
        return Table(counts, self.names, (None,) * self.n_columns, self.named)

    def tables(self, words: Sequence[str]) -> Iterator[tuple[Shard, Table]]:
        """Read each shard as a table with the columns of a model, which are matched by name; others are left out.

        Parameters
        ----------
        words : sequence of str
            The columns of the model; those that the folder lacks are 0.

        Raises
        ------
        DataError
            If the folder has none of the words.

        Examples
        --------
        >>> import tempfile
        >>> from tsenet.data import write_shards
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     stored = write_shards(folder, [[1, 2], [3, 4]], names=["cat", "dog"])
        ...     [table.values.toarray().tolist() for _, table in stored.tables(["dog", "fox"])]
        [[[2, 0], [4, 0]]]
        """
        column = {word: j for j, word in enumerate(words)}
        places = [(j, column[word]) for j, word in enumerate(self.names) if word in column]
        if not places:
            raise DataError(f"{self.path} has none of the {len(words)} words of the model")

        # Row by row, the products with this matrix are the counts of the model's words.
        here, there = zip(*places, strict=True)
        ones = np.ones(len(places), np.int32)
        to_model = sp.csr_array((ones, (here, there)), shape=(self.n_columns, len(words)))
        for shard in self.shards:
            table = self.read(shard)
            if self.names != tuple(words):
                table = Table.of(table.values @ to_model, words)
            yield shard, table

    def read_labels(self, shard: Shard, labels: Sequence[str]) -> dict[str, npt.NDArray[Any]]:
        """Read label columns of one shard.

        Parameters
        ----------
        shard : Shard
            One of :attr:`shards`.
        labels : sequence of str
            Names of label columns.

        Returns
        -------
        dict of str to ndarray
            Strings as objects, None or NaN where missing.

        Examples
        --------
        >>> import tempfile
        >>> from tsenet.data import write_shards
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     stored = write_shards(folder, [[1], [2]], labels={"y": [5, 6]})
        ...     stored.read_labels(stored.shards[0], ["y"])["y"].tolist()
        [5, 6]
        """
        for name in labels:
            if name not in self.labels:
                known = listed(self.labels) or "none"
                raise DataError(f"{self.path} has no label {quoted(name)}; it has {known}")
        columns = self._read(shard, list(labels))
        return {name: np.asarray(column.to_numpy()) for name, column in columns.items()}

    def _read(self, shard: Shard, columns: list[str]) -> dict[str, Any]:
        pyarrow = import_pyarrow()
        path = self.path / shard.file
        try:
            with pyarrow.parquet.ParquetFile(path, page_checksum_verification=True) as file:
                table = file.read(columns=columns, use_threads=False)
            return {name: table.column(name) for name in columns}
        except FileNotFoundError as error:
            raise DataError(f"{path} is missing: copy or make the folder again") from error
        except (pyarrow.ArrowException, OSError, KeyError) as error:
            raise DataError(f"{path} cannot be read, the file is damaged: {error}") from error


def _documents(words: Any, counts: Any, n_columns: int) -> sp.csr_array:
    """Two columns of lists as sparse counts."""
    (indptr, indices), (ends, data) = map(_ends_and_items, (words, counts))
    if not np.array_equal(ends, indptr) or (data < 1).any():
        raise ValueError("each word of a document needs a count of at least 1")
    shape = indptr.size - 1, n_columns
    return canonical_csr(sp.csr_array((data, indices, indptr), shape=shape))


def _ends_and_items(column: Any) -> tuple[npt.NDArray[np.int32], npt.NDArray[np.int32]]:
    """Ends and items of a column of lists of int32, starting from 0; a ValueError for nulls."""
    if str(column.type) not in ("list<item: int32>", "list<element: int32>"):
        raise ValueError(f"a column must be list<int32>, not {column.type}")
    chunk = column.combine_chunks()
    items = chunk.flatten().to_numpy()
    ends = chunk.offsets.to_numpy()
    return ends - ends[0], np.require(items, requirements=["C", "W"])


def open_shards(folder: str | os.PathLike[str]) -> ShardFolder:
    """Open a folder of shards.

    Parameters
    ----------
    folder : path
        A folder that ``tsenet shard`` or :func:`tsenet.data.write_shards` has made.

    Returns
    -------
    ShardFolder

    Raises
    ------
    DataError
        If it is not a complete shard folder, or its list of shards is damaged.

    Examples
    --------
    >>> import tempfile
    >>> import scipy.sparse as sp
    >>> from tsenet.data import open_shards, write_shards
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     _ = write_shards(folder, sp.eye_array(3, dtype=int), names=["cat", "dog", "fox"])
    ...     stored = open_shards(folder)
    ...     stored.read(stored.shards[0])
    Table(3 rows × 3 columns, sparse int32, nnz 3)
    >>> stored.shape
    (3, 3)
    """
    path = Path(folder).absolute()
    manifest = path / MANIFEST
    if not manifest.is_file():
        raise DataError(
            f"{path} is not a finished folder of shards, it has no {MANIFEST}: make it with `tsenet shard`"
        )

    try:
        fields = json.loads(manifest.read_bytes())
        if fields["format"] != FORMAT:
            raise ValueError(f"it has format {fields['format']}, this version reads {FORMAT}")
        names = tuple(map(str, fields["names"]))
        n_rows = [int(rows) for rows in fields["rows"]]
        if not n_rows or min(n_rows) < 1:
            raise ValueError("it lists shards without rows")
        starts = accumulate(n_rows, initial=0)
        return ShardFolder(
            path=path,
            names=names,
            named=bool(fields["named"]),
            labels={str(name): str(kind) for name, kind in fields["labels"].items()},
            shards=tuple(map(Shard, map(_FILE.format, count()), starts, n_rows)),
            nnz=int(fields["nnz"]),
            counter=fields["counter"],
        )
    except (OSError, LookupError, TypeError, AttributeError, ValueError) as error:
        raise DataError(f"{manifest} is damaged: {error!r}") from error


# ---- writing


def write_shards(
    folder: str | os.PathLike[str],
    X: Any,
    *,
    names: Sequence[str] | None = None,
    labels: Mapping[str, Sequence[Any]] | None = None,
    rows_per_shard: int = ROWS_PER_SHARD,
) -> ShardFolder:
    """Write documents that fit into memory as a folder of shards.

    Parameters
    ----------
    folder : path
        The folder to make.
    X : sparse matrix, array, dataframe, list of rows or Table, shape (N, V)
        The rows: word counts.
    names : sequence of str, default=None
        Names of the columns; None takes those of the table.
    labels : mapping of str to sequence, default=None
        Label columns, N values each.
    rows_per_shard : int, default=16384
        Rows of a shard. Lower it if rows are very long: a shard is read whole.

    Returns
    -------
    ShardFolder

    Raises
    ------
    DataError
        If the values are not counts, or the folder is finished already.

    Examples
    --------
    >>> import tempfile
    >>> from tsenet.data import write_shards
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     stored = write_shards(folder, [[1, 2], [3, 4]], names=["cat", "dog"])
    ...     stored.read(stored.shards[0]).values.toarray().tolist()
    [[1, 2], [3, 4]]
    """
    table = Table.of(X, names)
    return write_batches(folder, [(table, labels or {})], rows_per_shard=rows_per_shard)


def write_batches(
    folder: str | os.PathLike[str],
    batches: Iterable[tuple[Table, Mapping[str, Sequence[Any]]]],
    *,
    counter: Mapping[str, Any] | None = None,
    rows_per_shard: int = ROWS_PER_SHARD,
    progress: Progress | None = None,
) -> ShardFolder:
    """Write documents that come in batches as a folder of shards, which does not depend on the batches.

    The folder appears when it is finished, and not at all after an error.

    Parameters
    ----------
    folder : path
        The folder to make.
    batches : iterable of (Table, mapping of str to sequence)
        Word counts with the same columns, and label columns with as many values.
    counter : mapping or None, default=None
        Options of the ``CountVectorizer`` that made the rows, kept in the folder.
    rows_per_shard : int, default=16384
        Rows of a shard. Lower it if rows are very long: a shard is read whole.
    progress : Progress or None, default=None
        Receives progress updates.

    Returns
    -------
    ShardFolder

    Raises
    ------
    DataError
        If the folder holds finished shards, there are no rows, or a batch has other columns or labels than the first
        or holds no counts.

    Examples
    --------
    >>> import tempfile
    >>> from tsenet import Table
    >>> from tsenet.data import write_batches
    >>> batches = [(Table.of([[1, k]], names=["cat", "dog"]), {"y": [k]}) for k in range(3)]
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     write_batches(folder, batches).shape
    (3, 2)
    """
    if rows_per_shard < 1:
        raise ValueError("rows_per_shard must be at least 1")
    pyarrow = import_pyarrow()
    path = _unfinished(folder)
    batches = iter(batches)
    first = next(batches, None)
    if first is None:
        raise DataError("there are no rows to write")
    table, labels = first
    report = progress or Progress()
    n_rows: list[int] = []
    nnz = 0
    with atomic_folder(path, force=True) as unfinished:
        for number, shard in enumerate(_groups_of_rows(chain([first], batches), rows_per_shard)):
            file = unfinished / _FILE.format(number)
            pyarrow.parquet.write_table(
                shard, file, row_group_size=len(shard), compression="zstd", write_page_checksum=True
            )
            n_rows.append(len(shard))
            nnz += len(shard.column(WORDS).combine_chunks().flatten())
            report.advance(len(shard))

        fields = {
            "format": FORMAT,
            "names": table.names,
            "named": table.named,
            "labels": {name: str(shard.schema.field(name).type) for name in labels},
            "counter": counter,
            "nnz": nnz,
            "rows": n_rows,
        }
        (unfinished / MANIFEST).write_text(json.dumps(fields, indent=1), encoding="utf-8")

    return open_shards(path)


def _unfinished(folder: str | os.PathLike[str]) -> Path:
    """Return the path of a folder to write to; raise a DataError if it holds finished shards."""
    path = Path(folder)
    if (path / MANIFEST).is_file():
        raise DataError(f"{folder} holds finished shards: choose another folder")
    return path


def _groups_of_rows(
    batches: Iterable[tuple[Table, Mapping[str, Sequence[Any]]]], n_rows: int
) -> Iterator[Any]:
    """Yield the rows of all batches as Arrow tables of ``n_rows``, the last of fewer."""
    pyarrow = import_pyarrow()
    names: tuple[str, ...] = ()
    waiting: Any = None
    for table, labels in batches:
        names = names or table.names
        if table.names != names:
            raise DataError(f"each batch must have the {len(names)} columns of the first")
        columns = _columns_of_documents(table)
        if set(labels) & set(columns):
            raise DataError(f"a label column cannot be called {WORDS!r} or {COUNTS!r}: rename it")

        try:
            for name in labels:
                columns[name] = pyarrow.array(labels[name], from_pandas=True)
            rows = pyarrow.table(columns)
            waiting = rows.slice(0, 0) if waiting is None else waiting
            if rows.column_names != waiting.column_names:
                raise DataError(
                    f"the labels must be {waiting.column_names[2:]}, not {list(labels)}"
                )
            waiting = pyarrow.concat_tables([waiting, rows], promote_options="permissive")
        except pyarrow.ArrowException as error:
            raise DataError(
                f"a label column has the wrong length or mixed types: {error}"
            ) from error

        while len(waiting) >= n_rows:
            yield waiting.slice(0, n_rows).combine_chunks()
            waiting = waiting.slice(n_rows)

    if len(waiting):
        yield waiting.combine_chunks()


def _columns_of_documents(table: Table) -> dict[str, Any]:
    """Word counts as two columns of lists."""
    import pyarrow

    for column, levels in enumerate(table.levels):
        if levels is not None:
            raise DataError(f"{table.label(column)} holds categories: a folder holds word counts")

    matrix = canonical_csr(sp.csr_array(table.values))
    data = matrix.data
    if matrix.nnz and (not 0 <= data.min() <= data.max() < 2**31 or (data != np.floor(data)).any()):
        raise DataError(
            "a folder holds documents: whole numbers of words, not below 0. Keep other tables in memory"
        )

    ends = pyarrow.array(matrix.indptr.astype(np.int32))
    return {
        name: pyarrow.ListArray.from_arrays(ends, pyarrow.array(items.astype(np.int32)))
        for name, items in ((WORDS, matrix.indices), (COUNTS, data))
    }


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
    rows_per_shard: int = ROWS_PER_SHARD,
    client: Any = None,
    n_workers: int | None = None,
) -> ShardFolder:
    r"""Count the words of documents in files that need not fit into memory, and write them as a folder of shards.

    The files are read twice: for the vocabulary, and for the counts.

    Parameters
    ----------
    paths : sequence of path
        Files in one of the formats of :func:`tsenet.data.read_data`, one after the other.
    folder : path
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
        As for :func:`tsenet.data.read_data`.
    progress : None, bool, Progress or callable, default=None
        As for :func:`tsenet.learn_tree`.
    rows_per_shard : int, default=16384
        Documents of a shard.
    client, n_workers : optional
        As for :class:`tsenet.data.Blocks`: the Dask cluster whose workers count the words. The folder is the same.

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
    ...     stored = shard_documents([path], Path(scratch) / "shards", labels=["animal"])
    >>> stored.names, stored.shape
    (('bark', 'cats'), (3, 2))
    """
    if any(str(path) == "-" for path in paths):
        raise DataError("standard input cannot be read twice: write it to a file first")
    vectorizer = word_vectorizer(min_documents=2) if vectorizer is None else vectorizer
    vectorizer_fields(vectorizer)  # refuses what the folder cannot hold
    _unfinished(folder)  # before the work

    def chunks() -> Iterator[tuple[list[str], dict[str, list[Any]]]]:
        for path in map(Path, paths):
            for chunk in read_chunks(path, [text, *labels], header=header, encoding=encoding):
                texts = DataFile(path, chunk).texts(text)
                yield texts, {name: chunk[name].tolist() for name in labels}

    with ExitStack() as stack:
        report = stack.enter_context(as_progress(progress))
        map_in_order: Callable[..., Iterator[Any]] = map
        if client is not None or n_workers is not None:
            from tsenet.data.cluster import Cluster  # Dask is optional

            map_in_order = stack.enter_context(Cluster(client, n_workers)).map

        choose_segmenter(vectorizer, next(chunks(), ([], {}))[0])
        if vectorizer.vocabulary is None:
            report.start("counting words", None)
            counts = map_in_order(partial(_count_terms, vectorizer), chunks())
            _learn_words(vectorizer, counts, report)
            report.finish(f"{len(vectorizer.vocabulary_):,} words")
        else:
            vectorizer.fit(())

        report.start("writing shards", None)
        shards = write_batches(
            folder,
            map_in_order(partial(_count, vectorizer), chunks()),
            counter=vectorizer_fields(vectorizer),
            rows_per_shard=rows_per_shard,
            progress=report,
        )
        report.finish()

    return shards


def _count(vectorizer: CountVectorizer, chunk: tuple[list[str], Any]) -> tuple[Table, Any]:
    """The word counts of some texts, and their labels."""
    return count_words(chunk[0], vectorizer), chunk[1]


def _count_terms(
    vectorizer: CountVectorizer, chunk: tuple[list[str], Any]
) -> tuple[int, int, Counter[str], Counter[str]]:
    """The numbers of texts and of those with HTML, in how many texts each term is, and how often."""
    texts, _ = chunk
    analyze = vectorizer.build_analyzer()
    n_html = 0
    n_with: Counter[str] = Counter()
    n_times: Counter[str] = Counter()
    for text in texts:
        plain = without_html(text)
        n_html += plain is not text
        terms = analyze(plain)
        n_times.update(terms)
        n_with.update(set(terms))
    return len(texts), n_html, n_with, n_times


def _learn_words(
    vectorizer: CountVectorizer,
    counts: Iterable[tuple[int, int, Counter[str], Counter[str]]],
    report: Progress,
) -> None:
    """Give a vectorizer the vocabulary that its ``fit`` would choose from all documents."""
    n_documents = n_html = 0
    n_with: Counter[str] = Counter()
    n_times: Counter[str] = Counter()
    for n_texts, n_tagged, *of_chunk in counts:
        n_documents = n_documents + n_texts
        n_html = n_html + n_tagged
        n_with.update(of_chunk[0])
        n_times.update(of_chunk[1])
        report.advance(n_texts)

    warn_about_html(n_html, n_documents)
    least, most = (
        limit if isinstance(limit, int) else limit * n_documents
        for limit in (vectorizer.min_df, vectorizer.max_df)
    )
    words = sorted(word for word, number in n_with.items() if least <= number <= most)
    if not words:
        raise DataError(
            f"no vocabulary for {count_of(n_documents, 'document')}: none of {len(n_with):,} words is in at least "
            f"{vectorizer.min_df} documents"
        )

    if vectorizer.max_features is not None and len(words) > vectorizer.max_features:
        times = np.array([n_times[word] for word in words], np.int64)
        kept = np.sort((-times).argsort()[: vectorizer.max_features])  # ties as in scikit-learn
        words = [words[k] for k in kept]

    vectorizer.vocabulary_ = {word: place for place, word in enumerate(words)}
