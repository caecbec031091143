"""Folders of Parquet shards: rows that need not fit into memory, read a partition at a time.

A folder holds ``part-00000.parquet``, ``part-00001.parquet``, … and, written last, ``shards.json``, which lists them
(docs/shard-format.md). Documents are lists of word numbers, optionally with counts; dense rows are lists of V numbers;
label columns are ordinary Parquet columns.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from types import TracebackType
from typing import Any

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from tsenet._system.atomic import atomic_write
from tsenet.data.frames import Levels
from tsenet.data.rows import BinaryRows
from tsenet.data.table import Table
from tsenet.errors import DataError, MissingDependencyError

__all__ = ["Partition", "ShardFolder", "ShardWriter", "open_shards", "write_shards"]

MANIFEST = "shards.json"
FORMAT = 2
ROWS_PER_GROUP = 1 << 14
GROUPS_PER_SHARD = 8
WORDS, COUNTS, VALUES = "words", "counts", "values"
_MOST_CLASSES = 100_000


@dataclass(frozen=True)
class Partition:
    """One row group of one shard: the rows that are read at once.

    Attributes
    ----------
    file : str
        Name of the shard.
    row_group : int
        Row group within the shard.
    start, n_rows : int
        Number of its first row among all rows of the folder, and its number of rows.

    Examples
    --------
    >>> from tsenet.data import Partition
    >>> Partition("part-00000.parquet", row_group=0, start=0, n_rows=100).n_rows
    100
    """

    file: str
    row_group: int
    start: int
    n_rows: int


@dataclass(frozen=True, eq=False)
class ShardFolder:
    """A folder of shards; :func:`open_shards` opens one.

    It is small when pickled: another process opens the folder itself, once.

    Attributes
    ----------
    url : str
        The folder: a path, or a URL such as ``s3://bucket/folder``.
    names : tuple of str, length V
        The columns: words, or names of the dense columns.
    levels : tuple of (tuple of str, or None), length V
        For a column of categories the levels that its codes stand for, as in :class:`tsenet.Table`.
    named : bool
        Whether the rows came with column names.
    is_sparse : bool
        Whether rows are documents.
    has_counts : bool
        Whether documents have counts of their words.
    classes : dict of str to (tuple, or None)
        For every label column its distinct values, sorted, without missing ones; None for a column of fractions.
    partitions : tuple of Partition
        All row groups, in the order of the rows.
    nnz : int
        Words of all documents (entries of the sparse table), or the number of dense values.
    digest : str
        Identifies the content: it differs if a shard, its size or the columns differ.
    counter : dict or None
        Options of the ``CountVectorizer`` that made the rows, if they came from texts.

    Examples
    --------
    >>> import tempfile
    >>> from tsenet.data import write_shards
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     shards = write_shards(folder, [[1.0], [2.0], [3.0]], rows_per_group=2)
    ...     [shards.read(partition).values.tolist() for partition in shards.partitions]
    [[[1.0], [2.0]], [[3.0]]]
    """

    url: str
    names: tuple[str, ...]
    levels: tuple[Levels, ...]
    named: bool
    is_sparse: bool
    has_counts: bool
    classes: dict[str, tuple[Any, ...] | None]
    partitions: tuple[Partition, ...]
    nnz: int
    digest: str
    counter: dict[str, Any] | None = None

    @property
    def n_rows(self) -> int:
        """Number of rows N."""
        return sum(part.n_rows for part in self.partitions)

    @property
    def n_columns(self) -> int:
        """Number of columns V."""
        return len(self.names)

    @property
    def shape(self) -> tuple[int, int]:
        """``(n_rows, n_columns)``."""
        return self.n_rows, self.n_columns

    def __repr__(self) -> str:
        kind = "documents of words" if self.is_sparse else "dense rows"
        return (
            f"ShardFolder({self.url!r}, {self.n_rows} {kind} × {self.n_columns} columns, "
            f"{len(self.partitions)} partitions)"
        )

    def __reduce__(self) -> tuple[Any, ...]:
        return _reopen, (self.url, self.digest)

    def vectorizer(self) -> Any:
        """Return the fitted ``CountVectorizer`` that made the rows; None if they did not come from texts.

        Examples
        --------
        >>> import tempfile
        >>> from tsenet.data import write_shards
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     print(write_shards(folder, [[1.0], [2.0]]).vectorizer())
        None
        """
        from tsenet.data.text import vectorizer_of_fields

        return None if self.counter is None else vectorizer_of_fields(self.counter, self.names)

    def read(self, partition: Partition) -> Table:
        """Read the rows of one partition.

        Parameters
        ----------
        partition : Partition
            One of :attr:`partitions`.

        Returns
        -------
        Table
            Sparse for documents (counts as int32, or ones as uint8 if the folder has no counts), dense for other rows.

        Raises
        ------
        DataError
            If the file is missing, damaged, or has other content than the list of shards promises; names the file and
            the row group.

        Examples
        --------
        >>> import tempfile
        >>> from tsenet.data import write_shards
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     shards = write_shards(folder, [[1.0], [2.0]])
        ...     shards.read(shards.partitions[0]).values.tolist()
        [[1.0], [2.0]]
        """
        documents = [WORDS, COUNTS] if self.has_counts else [WORDS]
        columns = self._read(partition, documents if self.is_sparse else [VALUES])
        try:
            values = self._sparse(columns) if self.is_sparse else self._dense(columns[VALUES])
            if values.shape[0] != partition.n_rows:
                raise DataError(f"it has {values.shape[0]} rows, the manifest {partition.n_rows}")
        except DataError as error:
            raise DataError(f"{self._name_of(partition)}: {error}") from error
        return Table(values, self.names, self.levels, self.named)

    def read_labels(
        self, partition: Partition, labels: Sequence[str]
    ) -> dict[str, npt.NDArray[Any]]:
        """Read label columns of one partition.

        Parameters
        ----------
        partition : Partition
            One of :attr:`partitions`.
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
        ...     shards = write_shards(folder, [[1.0], [2.0]], labels={"y": [5, 6]})
        ...     shards.read_labels(shards.partitions[0], ["y"])["y"].tolist()
        [5, 6]
        """
        for name in labels:
            if name not in self.classes:
                known = ", ".join(map(repr, self.classes)) or "none"
                raise DataError(f"{self.url} has no label {name!r}; it has {known}")
        columns = self._read(partition, list(labels))
        return {name: np.asarray(column.to_numpy()) for name, column in columns.items()}

    def _name_of(self, partition: Partition) -> str:
        return f"{_Storage(self.url).path(partition.file)}, row group {partition.row_group}"

    def _read(self, partition: Partition, columns: list[str]) -> dict[str, Any]:
        import pyarrow
        from pyarrow.parquet import ParquetFile

        try:
            with (
                _Storage(self.url).open(partition.file) as source,
                ParquetFile(source, page_checksum_verification=True) as file,
            ):
                table = file.read_row_group(partition.row_group, columns=columns, use_threads=False)
            return {name: table.column(name) for name in columns}
        except FileNotFoundError as error:
            raise DataError(
                f"{self._name_of(partition)}: the file is missing, copy or make the folder again"
            ) from error
        except (pyarrow.ArrowException, OSError, KeyError, IndexError) as error:
            raise DataError(
                f"{self._name_of(partition)} cannot be read, the file is damaged: {error}"
            ) from error

    def _sparse(self, columns: dict[str, Any]) -> sp.csr_array:
        indptr, indices = _lists(columns[WORDS], WORDS)
        rows = BinaryRows(indptr, indices, self.n_columns)
        rows.validate()
        matrix = rows.to_csr()
        if not self.has_counts:
            return matrix
        ends, counts = _lists(columns[COUNTS], COUNTS)
        if not np.array_equal(ends, indptr):
            raise DataError("a document has another number of counts than of words")
        if counts.size and counts.min() < 1:
            raise DataError(f"a word is counted {counts.min()} times: counts begin at 1")
        return sp.csr_array((counts, matrix.indices, matrix.indptr), shape=matrix.shape)

    def _dense(self, column: Any) -> npt.NDArray[Any]:
        import pyarrow

        kind = column.type
        if not pyarrow.types.is_fixed_size_list(kind) or kind.list_size != self.n_columns:
            raise DataError(f"{VALUES!r} must be lists of {self.n_columns} numbers, not {kind}")
        chunk = column.combine_chunks()
        flat = chunk.flatten()
        if chunk.null_count or flat.null_count:
            raise DataError(f"{VALUES!r} holds nulls: missing numbers are NaN")
        values = flat.to_numpy(zero_copy_only=False).reshape(-1, self.n_columns)
        if values.dtype.kind not in "fiu":
            raise DataError(f"{VALUES!r} must be numbers, not {kind.value_type}")
        if values.dtype.kind == "f" and np.isinf(values).any():
            raise DataError(f"{VALUES!r} holds infinity")
        return np.require(values, requirements=["C", "W"])


def open_shards(folder: str | os.PathLike[str]) -> ShardFolder:
    """Open a folder of shards.

    Parameters
    ----------
    folder : path or URL
        A folder that ``tsenet shard`` or :class:`tsenet.data.ShardWriter` has finished.

    Returns
    -------
    ShardFolder

    Raises
    ------
    DataError
        If it is no such folder, is not finished, or its list of shards is damaged.

    Examples
    --------
    >>> import tempfile
    >>> import scipy.sparse as sp
    >>> from tsenet.data import open_shards, write_shards
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     _ = write_shards(folder, sp.eye_array(3, dtype=int), names=["cat", "dog", "fox"])
    ...     shards = open_shards(folder)
    ...     shards.read(shards.partitions[0])
    Table(3 rows × 3 columns, sparse int32, nnz 3)
    >>> shards.shape
    (3, 3)
    """
    storage = _Storage(os.fspath(folder))
    try:
        content = storage.read(MANIFEST)
        fields = json.loads(content)
    except FileNotFoundError as error:
        raise DataError(
            f"{storage.url} is not a finished folder of shards, it has no {MANIFEST}: make it with `tsenet shard`"
        ) from error
    except (OSError, ValueError) as error:
        raise DataError(f"{storage.path(MANIFEST)} cannot be read: {error}") from error
    try:
        if fields["format"] != FORMAT:
            raise ValueError(f"it has format {fields['format']}, this version reads {FORMAT}")
        names = tuple(map(str, fields["names"]))
        levels: list[Levels] = [None] * len(names)
        for key, values in fields["levels"].items():
            levels[int(key)] = tuple(map(str, values))
        return ShardFolder(
            storage.url,
            names,
            tuple(levels),
            bool(fields["named"]),
            bool(fields["sparse"]),
            bool(fields["counts"]),
            {k: None if v is None else tuple(v) for k, v in fields["labels"].items()},
            _partitions(fields["shards"]),
            int(fields["nnz"]),
            hashlib.sha256(content).hexdigest(),
            fields["counter"],
        )
    except (KeyError, TypeError, IndexError, AttributeError, ValueError) as error:
        raise DataError(f"{storage.path(MANIFEST)} is damaged: {error!r}") from error


@lru_cache(maxsize=4)
def _reopen(url: str, digest: str) -> ShardFolder:
    """Open a folder in another process, once; the content must be that of the sender."""
    folder = open_shards(url)
    if folder.digest != digest:
        raise DataError(f"{url} has changed since the work began: start again")
    return folder


def _partitions(shards: Sequence[dict[str, Any]]) -> tuple[Partition, ...]:
    partitions: list[Partition] = []
    start = 0
    for shard in shards:
        file = str(shard["file"])
        if "/" in file or "\\" in file:
            raise ValueError(f"a shard is called {file!r}")
        for group, n_rows in enumerate(map(int, shard["rows"])):
            if n_rows < 1:
                raise ValueError(f"row group {group} of {file} has {n_rows} rows")
            partitions.append(Partition(file, group, start, n_rows))
            start += n_rows
    if not partitions:
        raise ValueError("it lists no rows")
    return tuple(partitions)


def _lists(column: Any, name: str) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int32]]:
    """Ends and items of a column of lists of int32, starting from 0."""
    import pyarrow

    if not (pyarrow.types.is_list(column.type) and pyarrow.types.is_int32(column.type.value_type)):
        raise DataError(f"{name!r} must be list<int32>, not {column.type}")
    chunk = column.combine_chunks()
    items = chunk.flatten()
    if chunk.null_count or items.null_count:
        raise DataError(f"{name!r} holds nulls")
    ends = chunk.offsets.to_numpy().astype(np.int64)
    return ends - ends[0], np.require(items.to_numpy(), requirements=["C", "W"])


# ---- writing


class ShardWriter:
    """Writes rows into a folder of shards; use it as a context manager.

    Each shard is written whole, and the list of them last: a folder can be opened only after it is finished.

    Parameters
    ----------
    folder : path or URL
        The folder to make.
    names : sequence of str
        The V columns: words, or names of dense columns.
    sparse : bool
        Whether rows are documents (sparse counts).
    labels : sequence of str, default=()
        Names of the label columns that come with the rows.
    counts : bool, default=True
        Whether to keep how often a word is in a document; else only that it is.
    levels : sequence, default=()
        Levels of each column that holds categories, None for the others; () without such columns.
    named : bool, default=True
        Whether the names are the user's.
    counter : mapping or None, default=None
        Options of the ``CountVectorizer`` that made the rows, kept in the folder.
    rows_per_group, groups_per_shard : int
        Rows of a partition and partitions of a file. Lower the first if rows are very long: a partition is read whole.

    Raises
    ------
    DataError
        If the folder holds finished shards.

    Examples
    --------
    >>> import tempfile
    >>> import numpy as np
    >>> from tsenet.data import ShardWriter
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     with ShardWriter(folder, names=["a", "b"], sparse=False, labels=["y"]) as writer:
    ...         writer.write(np.ones((3, 2)), {"y": ["red", "blue", "red"]})
    ...     writer.folder.classes
    {'y': ('blue', 'red')}
    """

    def __init__(
        self,
        folder: str | os.PathLike[str],
        *,
        names: Sequence[str],
        sparse: bool,
        labels: Sequence[str] = (),
        counts: bool = True,
        levels: Sequence[Levels] = (),
        named: bool = True,
        counter: Mapping[str, Any] | None = None,
        rows_per_group: int = ROWS_PER_GROUP,
        groups_per_shard: int = GROUPS_PER_SHARD,
    ) -> None:
        taken = {WORDS, COUNTS, VALUES} & set(labels)
        if taken:
            raise DataError(f"a label column cannot be called {taken.pop()!r}: rename it")
        if rows_per_group < 1 or groups_per_shard < 1:
            raise ValueError("rows_per_group and groups_per_shard must be at least 1")
        self._storage = _Storage(os.fspath(folder))
        if MANIFEST in self._storage.names():
            raise DataError(f"{self._storage.url} holds finished shards: choose another folder")
        self.sparse = sparse
        self._fields: dict[str, Any] = {
            "format": FORMAT,
            "sparse": sparse,
            "counts": sparse and counts,
            "names": list(names),
            "levels": {str(j): list(each) for j, each in enumerate(levels) if each is not None},
            "named": named,
            "counter": None if counter is None else dict(counter),
            "nnz": 0,
            "shards": [],
        }
        self._classes: dict[str, set[Any] | None] = {name: set() for name in labels}
        self._rows_per_group = rows_per_group
        self._rows_per_shard = rows_per_group * groups_per_shard
        self._dtype: Any = None  # of dense rows
        self._waiting: Any = None

    @property
    def folder(self) -> ShardFolder:
        """The finished folder."""
        return open_shards(self._storage.url)

    def __enter__(self) -> ShardWriter:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if error is None:
            self.finish()

    def write(self, rows: Any, labels: Mapping[str, Sequence[Any]] | None = None) -> None:
        """Add rows; full shards are written at once.

        Parameters
        ----------
        rows : Table, csr_array or ndarray, shape (n, V)
            Sparse counts, or dense numbers with NaN where missing.
        labels : mapping of str to sequence, default=None
            The label columns, n values each.

        Raises
        ------
        DataError
            If the number of columns or of labels is another one, or sparse values are no counts.

        Examples
        --------
        >>> import tempfile
        >>> import numpy as np
        >>> from tsenet.data import ShardWriter
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     with ShardWriter(folder, names=["a"], sparse=False) as writer:
        ...         writer.write(np.ones((2, 1)))
        ...         writer.write(np.ones((3, 1)))
        ...     writer.folder.n_rows
        5
        """
        import pyarrow

        values = rows.values if isinstance(rows, Table) else rows
        given = dict(labels or {})
        n_columns = len(self._fields["names"])
        if set(given) != set(self._classes):
            raise DataError(f"the labels must be {list(self._classes)}, not {sorted(given)}")
        if values.ndim != 2 or values.shape[1] != n_columns:
            raise DataError(f"rows must have {n_columns} columns, got shape {values.shape}")
        for name, column in given.items():
            if len(column) != values.shape[0]:
                raise DataError(f"{len(column)} labels {name!r} for {values.shape[0]} rows")
        columns = self._documents(values) if self.sparse else self._numbers(values)
        for name in self._classes:
            columns[name] = _label_array(name, given[name])
        tables = [pyarrow.table(columns)]
        if self._waiting is not None:
            tables.insert(0, self._waiting)
        try:
            self._waiting = pyarrow.concat_tables(tables, promote_options="permissive")
        except pyarrow.ArrowException as error:
            raise DataError(f"a label holds values of different kinds: {error}") from error
        while self._waiting.num_rows >= self._rows_per_shard:
            self._write_shard(self._rows_per_shard)

    def finish(self) -> None:
        """Write the last shard, and then the list of all; the end of a ``with`` block does it.

        Raises
        ------
        DataError
            If there are no rows.

        Examples
        --------
        >>> import tempfile
        >>> import numpy as np
        >>> from tsenet.data import ShardWriter
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     writer = ShardWriter(folder, names=["a"], sparse=False)
        ...     writer.write(np.ones((2, 1)))
        ...     writer.finish()
        ...     writer.folder.n_rows
        2
        """
        if self._waiting is not None and self._waiting.num_rows:
            self._write_shard(self._waiting.num_rows)
        if not self._fields["shards"]:
            raise DataError("there are no rows to write")
        for name, seen in self._classes.items():
            if seen is not None and len({type(value) for value in seen}) > 1:
                raise DataError(f"the label {name!r} holds numbers and texts: write it as texts")
        classes = {k: None if seen is None else sorted(seen) for k, seen in self._classes.items()}
        content = json.dumps({**self._fields, "labels": classes}, indent=1)
        self._storage.write(MANIFEST, content.encode())

    def _documents(self, values: Any) -> dict[str, Any]:
        import pyarrow

        matrix = sp.csr_array(values)
        if not matrix.has_canonical_format or (matrix.data == 0).any():
            matrix = matrix.copy()
            matrix.sum_duplicates()
            matrix.eliminate_zeros()
        data = matrix.data
        whole = data.dtype.kind in "iub" or bool((data == np.floor(data)).all())
        if matrix.nnz and (data.min() < 0 or not whole):
            raise DataError("documents must hold whole numbers of words, not below 0")
        self._fields["nnz"] += int(matrix.nnz)
        lists = {WORDS: matrix.indices, **({COUNTS: data} if self._fields["counts"] else {})}
        ends, make = pyarrow.array(matrix.indptr.astype(np.int32)), pyarrow.ListArray.from_arrays
        return {k: make(ends, pyarrow.array(items.astype(np.int32))) for k, items in lists.items()}

    def _numbers(self, values: Any) -> dict[str, Any]:
        import pyarrow

        array = np.asarray(values)
        if array.dtype.kind == "b":
            array = array.astype(np.uint8)
        if array.dtype.kind not in "fiu":
            raise DataError(f"dense rows must be numbers, not {array.dtype}")
        self._dtype = self._dtype or array.dtype
        if not np.can_cast(array.dtype, self._dtype, "same_kind"):
            raise DataError(f"the first rows were {self._dtype}, these are {array.dtype}")
        flat = pyarrow.array(array.astype(self._dtype, copy=False).ravel())
        self._fields["nnz"] += int(array.size)
        return {VALUES: pyarrow.FixedSizeListArray.from_arrays(flat, array.shape[1])}

    def _write_shard(self, n_rows: int) -> None:
        import pyarrow
        import pyarrow.parquet
        import pyarrow.types

        table = self._waiting.slice(0, n_rows).combine_chunks()
        self._waiting = self._waiting.slice(n_rows)
        sink = pyarrow.BufferOutputStream()
        pyarrow.parquet.write_table(
            table,
            sink,
            row_group_size=self._rows_per_group,
            compression="zstd",
            write_page_checksum=True,
        )
        content = sink.getvalue()
        file = f"part-{len(self._fields['shards']):05d}.parquet"
        self._storage.write(file, content)
        starts = range(0, n_rows, self._rows_per_group)
        self._fields["shards"].append(
            {
                "file": file,
                "rows": [min(self._rows_per_group, n_rows - start) for start in starts],
                "sha256": hashlib.sha256(content).hexdigest(),
            }
        )
        for name, seen in self._classes.items():
            column = table.column(name)
            if seen is None or pyarrow.types.is_floating(column.type):
                self._classes[name] = None
                continue
            seen.update(value for value in column.unique().to_pylist() if value is not None)
            if len(seen) > _MOST_CLASSES:
                self._classes[name] = None


def write_shards(
    folder: str | os.PathLike[str],
    X: Any,
    *,
    names: Sequence[str] | None = None,
    labels: Mapping[str, Sequence[Any]] | None = None,
    counts: bool = True,
    rows_per_group: int = ROWS_PER_GROUP,
    groups_per_shard: int = GROUPS_PER_SHARD,
) -> ShardFolder:
    """Write a table that fits into memory as a folder of shards.

    Parameters
    ----------
    folder : path or URL
        The folder to make.
    X : array, sparse matrix, dataframe, list of rows or Table, shape (N, V)
        The rows.
    names : sequence of str, default=None
        Names of the columns; None takes those of the table.
    labels : mapping of str to sequence, default=None
        Label columns, N values each.
    counts, rows_per_group, groups_per_shard
        As for :class:`ShardWriter`.

    Returns
    -------
    ShardFolder

    Raises
    ------
    DataError
        If the rows cannot be used, or the folder is finished already.

    Examples
    --------
    >>> import tempfile
    >>> from tsenet.data import write_shards
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     shards = write_shards(folder, [[1.0, 2.0], [3.0, 4.0]], names=["a", "b"])
    ...     shards.read(shards.partitions[0]).values.tolist()
    [[1.0, 2.0], [3.0, 4.0]]
    """
    table = Table.of(X, names, missing=True)
    with ShardWriter(
        folder,
        names=table.names,
        sparse=table.is_sparse,
        labels=list(labels or {}),
        counts=counts,
        levels=table.levels,
        named=table.named,
        rows_per_group=rows_per_group,
        groups_per_shard=groups_per_shard,
    ) as writer:
        writer.write(table, labels)
    return writer.folder


def _label_array(name: str, values: Sequence[Any]) -> Any:
    """A Parquet column of labels: whole numbers, fractions, truth values or texts."""
    import pyarrow

    try:
        return pyarrow.array(values, from_pandas=True)
    except (pyarrow.ArrowInvalid, pyarrow.ArrowTypeError) as error:
        raise DataError(f"the label {name!r} holds values of different kinds: {error}") from error


# ---- local folders and URLs


@dataclass(frozen=True)
class _Storage:
    """A folder, given as a path or as a URL; URLs that pyarrow does not know go to fsspec, if it is installed."""

    url: str

    @property
    def _is_local(self) -> bool:
        return "://" not in self.url

    def path(self, name: str) -> str:
        """The path or URL of a file of the folder, as messages show it."""
        return str(Path(self.url) / name) if self._is_local else f"{self.url.rstrip('/')}/{name}"

    def open(self, name: str) -> Any:
        """Open a file for reading at any position, as pyarrow's readers need it."""
        system, folder = self._system()
        return system.open_input_file(f"{folder}/{name}")

    def read(self, name: str) -> bytes:
        """The bytes of a file."""
        with self.open(name) as file:
            return bytes(file.read())

    def write(self, name: str, content: Any) -> None:
        """Write a file of the folder, which is made if needed; on a local disk it is never there in part."""
        if self._is_local:
            Path(self.url).mkdir(parents=True, exist_ok=True)
            with atomic_write(Path(self.url) / name) as file:
                file.write(content)
            return
        system, folder = self._system()
        system.create_dir(folder, recursive=True)
        with system.open_output_stream(f"{folder}/{name}") as file:
            file.write(content)

    def names(self) -> list[str]:
        """The names of the files in the folder; none if there is no folder."""
        from pyarrow.fs import FileSelector

        system, folder = self._system()
        entries = system.get_file_info(FileSelector(folder, allow_not_found=True))
        return [entry.base_name for entry in entries if entry.is_file]

    def _system(self) -> tuple[Any, str]:
        """The file system of pyarrow, and the folder's path in it."""
        try:
            import pyarrow
            from pyarrow import fs
        except ImportError as error:
            raise MissingDependencyError(
                "shard folders need pyarrow: pip install tsenet[text]"
            ) from error
        if self._is_local:
            return fs.LocalFileSystem(), os.path.abspath(self.url)
        try:
            system, path = fs.FileSystem.from_uri(self.url)
        except pyarrow.ArrowInvalid:
            try:
                import fsspec

                other, path = fsspec.core.url_to_fs(self.url)
            except (ValueError, ImportError) as error:
                raise DataError(f"{self.url} cannot be opened: {error}") from error
            system = fs.PyFileSystem(fs.FSSpecHandler(other))
        return system, str(path).rstrip("/")
