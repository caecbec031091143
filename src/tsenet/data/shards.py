"""Folders of Parquet shards: rows that need not fit into memory, read a block at a time.

A folder holds ``part-00000.parquet``, ``part-00001.parquet``, … and, written last, ``shards.json``, which lists them
(docs/shard-format.md). Documents are lists of word numbers, optionally with counts; dense rows are lists of V numbers;
label columns are ordinary Parquet columns. :class:`ShardFolder` reads a folder, :mod:`tsenet.data.shard_writer` makes
one.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from tsenet.data.frames import Levels
from tsenet.data.places import Place
from tsenet.data.rows import BinaryRows
from tsenet.data.table import Table
from tsenet.errors import DataError

__all__ = ["Block", "Partition", "ShardFolder", "digest_of_names", "open_shards"]

MANIFEST = "shards.json"
FORMAT = 1
#: Key of the schema metadata of a shard: the columns, as JSON.
COLUMNS_KEY = b"tsenet.columns"
WORDS, COUNTS, VALUES = "words", "counts", "values"


@dataclass(frozen=True)
class Partition:
    """One row group of one shard: the smallest piece that is read at once.

    Attributes
    ----------
    number : int
        Its place among all partitions of the folder.
    file : str
        Name of the shard.
    row_group : int
        Row group within the shard.
    start, n_rows : int
        Number of its first row among all rows of the folder, and how many rows it has.

    Examples
    --------
    >>> from tsenet.data import Partition
    >>> Partition(0, "part-00000.parquet", row_group=0, start=0, n_rows=100).n_rows
    100
    """

    number: int
    file: str
    row_group: int
    start: int
    n_rows: int


@dataclass(frozen=True, eq=False)
class Block:
    """The rows of one partition.

    Attributes
    ----------
    table : Table
        Sparse for documents (counts as int32, or ones as uint8 if the folder has no counts), dense for other rows.
    labels : dict of str to ndarray
        The label columns that were asked for; strings as objects, None or NaN where missing.
    start : int
        Number of the first row among all rows of the folder.

    Examples
    --------
    >>> from tsenet.data import Block, Table
    >>> Block(Table.of([[1.0], [2.0]]), {}, start=100).table.n_rows
    2
    """

    table: Table
    labels: dict[str, npt.NDArray[Any]]
    start: int


@dataclass(frozen=True, eq=False)
class ShardFolder:
    """A folder of shards; :func:`open_shards` opens one.

    It is small when pickled: another process opens the folder itself, once.

    Attributes
    ----------
    place : Place
        The folder.
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
    ...     [block.table.values.tolist() for block in shards.blocks()]
    [[[1.0], [2.0]], [[3.0]]]
    """

    place: Place
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
            f"ShardFolder({self.place.url!r}, {self.n_rows} {kind} × {self.n_columns} columns, "
            f"{len(self.partitions)} partitions)"
        )

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

    def __reduce__(self) -> tuple[Any, ...]:
        return _reopen, (self.place.url, self.digest)

    def read(self, partition: Partition, labels: Sequence[str] = ()) -> Block:
        """Read the rows of one partition, and some of its label columns.

        Parameters
        ----------
        partition : Partition
            One of :attr:`partitions`.
        labels : sequence of str, default=()
            Label columns to read too.

        Returns
        -------
        Block

        Raises
        ------
        DataError
            If the file is missing, damaged, or holds something else than promised; names the file and the row group.

        Examples
        --------
        >>> import tempfile
        >>> from tsenet.data import write_shards
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     shards = write_shards(folder, [[1.0], [2.0]], labels={"y": [5, 6]})
        ...     block = shards.read(shards.partitions[0], ["y"])
        >>> block.labels["y"].tolist()
        [5, 6]
        """
        self._refuse_unknown(labels)
        where = f"{self.place.path(partition.file)}, row group {partition.row_group}"
        content = [WORDS, COUNTS] if self.has_counts else [WORDS]
        columns = _read_group(
            self.place, partition, [*(content if self.is_sparse else [VALUES]), *labels], where
        )
        try:
            values = self._sparse(columns) if self.is_sparse else self._dense(columns[VALUES])
            if values.shape[0] != partition.n_rows:
                raise DataError(f"it has {values.shape[0]} rows, the manifest {partition.n_rows}")
        except DataError as error:
            raise DataError(f"{where}: {error}") from error
        table = Table(values, self.names, self.levels, self.named)
        return Block(table, {name: _numpy(columns[name]) for name in labels}, partition.start)

    def read_labels(self, partition: Partition, labels: Sequence[str]) -> dict[str, Any]:
        """Read only label columns of one partition.

        Parameters
        ----------
        partition, labels
            As for :meth:`read`.

        Returns
        -------
        dict of str to ndarray

        Examples
        --------
        >>> import tempfile
        >>> from tsenet.data import write_shards
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     shards = write_shards(folder, [[1.0], [2.0]], labels={"y": [5, 6]})
        ...     shards.read_labels(shards.partitions[0], ["y"])["y"].tolist()
        [5, 6]
        """
        self._refuse_unknown(labels)
        where = f"{self.place.path(partition.file)}, row group {partition.row_group}"
        columns = _read_group(self.place, partition, list(labels), where)
        return {name: _numpy(columns[name]) for name in labels}

    def blocks(
        self, partitions: Iterable[Partition] | None = None, labels: Sequence[str] = ()
    ) -> Iterator[Block]:
        """Yield the rows of some partitions, all by default, one block at a time.

        Parameters
        ----------
        partitions : iterable of Partition, default=None
            Which, in this order.
        labels : sequence of str, default=()
            Label columns to read too.

        Yields
        ------
        Block

        Examples
        --------
        >>> import tempfile
        >>> from tsenet.data import write_shards
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     shards = write_shards(folder, [[1.0], [2.0]], labels={"y": [5, 6]})
        ...     [block.start for block in shards.blocks()]
        [0]
        """
        for partition in self.partitions if partitions is None else partitions:
            yield self.read(partition, labels)

    def _refuse_unknown(self, labels: Sequence[str]) -> None:
        for name in labels:
            if name not in self.classes:
                known = ", ".join(map(repr, self.classes)) or "none"
                raise DataError(f"{self.place.url} has no label {name!r}; it has {known}")

    def _sparse(self, columns: dict[str, Any]) -> sp.csr_array:
        indptr, indices = _lists(columns[WORDS], WORDS)
        rows = BinaryRows(indptr, indices, self.n_columns)
        rows.validate()
        if not self.has_counts:
            return rows.to_csr()
        ends, counts = _lists(columns[COUNTS], COUNTS)
        if not np.array_equal(ends, indptr):
            raise DataError("a document has another number of counts than of words")
        if counts.size and counts.min() < 1:
            raise DataError(f"a word is counted {counts.min()} times: counts begin at 1")
        matrix = rows.to_csr()
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


def open_shards(folder: str | os.PathLike[str] | Place) -> ShardFolder:
    """Open a folder of shards.

    Parameters
    ----------
    folder : path, URL or Place
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
    >>> from tsenet.data import write_shards
    >>> from tsenet.data import open_shards
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     _ = write_shards(folder, sp.eye_array(3, dtype=int), names=["cat", "dog", "fox"])
    ...     shards = open_shards(folder)
    ...     block = shards.read(shards.partitions[0])
    >>> shards.shape
    (3, 3)
    >>> block.table
    Table(3 rows × 3 columns, sparse int32, nnz 3)
    """
    place = Place.of(folder)
    try:
        fields = json.loads(place.read(MANIFEST))
    except FileNotFoundError as error:
        hint = "run the same `tsenet shard` again, it continues" if place.names() else "make one"
        raise DataError(
            f"{place.url} is not a finished folder of shards, it has no {MANIFEST}: {hint}"
        ) from error
    except (OSError, ValueError) as error:
        raise DataError(f"{place.path(MANIFEST)} cannot be read: {error}") from error
    try:
        if fields["format"] != FORMAT:
            raise DataError(
                f"{place.path(MANIFEST)} has format {fields['format']}, this version reads {FORMAT}"
            )
        partitions = _partitions(fields["shards"])
        first = fields["shards"][0]["file"]
        shape = (bool(fields["sparse"]), bool(fields["counts"]), int(fields["nnz"]))
        classes = {
            str(name): None if values is None else tuple(values)
            for name, values in fields["labels"].items()
        }
        digest, columns_digest = str(fields["digest"]), fields["columns_digest"]
        counter = fields.get("counter")
    except (KeyError, TypeError, IndexError, AttributeError, ValueError) as error:
        if isinstance(error, DataError):
            raise
        raise DataError(f"{place.path(MANIFEST)} is damaged: {error!r}") from error
    names, levels, named = _columns_of(place, first, columns_digest)
    sparse, counts, nnz = shape
    return ShardFolder(
        *(place, names, levels, named, sparse, counts, classes, partitions, nnz, digest, counter)
    )


@lru_cache(maxsize=4)
def _reopen(url: str, digest: str) -> ShardFolder:
    """Open a folder in another process, once; the content must be that of the sender."""
    folder = open_shards(url)
    if folder.digest != digest:
        raise DataError(f"{url} has changed since the work began: start again")
    return folder


def digest_of_names(columns: bytes) -> str:
    """Identify the columns: the first 32 hex digits of the SHA-256 of their JSON."""
    return hashlib.sha256(columns).hexdigest()[:32]


def _partitions(shards: Sequence[dict[str, Any]]) -> tuple[Partition, ...]:
    found: list[Partition] = []
    start = 0
    for shard in shards:
        file = str(shard["file"])
        if "/" in file or "\\" in file or not shard["rows"]:
            raise ValueError(f"a shard is called {file!r} or has no row groups")
        for group, n_rows in enumerate(map(int, shard["rows"])):
            if n_rows < 1:
                raise ValueError(f"row group {group} of {file} has {n_rows} rows")
            found.append(Partition(len(found), file, group, start, n_rows))
            start += n_rows
    return tuple(found)


def _columns_of(
    place: Place, file: str, digest: str
) -> tuple[tuple[str, ...], tuple[Levels, ...], bool]:
    """Names and levels from the schema metadata of a shard."""
    import pyarrow
    import pyarrow.parquet

    try:
        with place.open(file) as source:
            metadata = pyarrow.parquet.read_schema(source).metadata or {}
        text = metadata[COLUMNS_KEY]
        if digest_of_names(text) != digest:
            raise ValueError("its columns are not those of the manifest")
        fields = json.loads(text)
        names = tuple(map(str, fields["names"]))
        levels: list[Levels] = [None] * len(names)
        for key, values in fields["levels"].items():
            levels[int(key)] = tuple(map(str, values))
        return names, tuple(levels), bool(fields["named"])
    except FileNotFoundError as error:
        raise DataError(f"{place.path(file)} is missing: copy or make the folder again") from error
    except (pyarrow.ArrowException, OSError, KeyError, TypeError, ValueError) as error:
        raise DataError(f"{place.path(file)} is damaged: {error}") from error


def _read_group(
    place: Place, partition: Partition, columns: list[str], where: str
) -> dict[str, Any]:
    import pyarrow
    import pyarrow.parquet

    try:
        with (
            place.open(partition.file) as source,
            pyarrow.parquet.ParquetFile(source, page_checksum_verification=True) as file,
        ):
            table = file.read_row_group(partition.row_group, columns=columns, use_threads=False)
        found = {name: table.column(name) for name in columns}
    except FileNotFoundError as error:
        raise DataError(f"{where}: the file is missing, copy or make the folder again") from error
    except (pyarrow.ArrowException, OSError, KeyError, IndexError) as error:
        raise DataError(f"{where} cannot be read, the file is damaged: {error}") from error
    return found


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


def _numpy(column: Any) -> npt.NDArray[Any]:
    return np.asarray(column.to_numpy())
