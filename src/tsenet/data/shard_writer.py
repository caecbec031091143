"""Write folders of Parquet shards, a shard at a time; a run that was stopped goes on where it ended."""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Mapping, Sequence
from types import TracebackType
from typing import Any

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from tsenet.data.frames import Levels
from tsenet.data.places import Place
from tsenet.data.shards import (
    COLUMNS_KEY,
    COUNTS,
    FORMAT,
    MANIFEST,
    VALUES,
    WORDS,
    ShardFolder,
    digest_of_names,
    open_shards,
)
from tsenet.data.table import Table
from tsenet.errors import DataError

__all__ = ["ShardWriter", "write_shards"]

ROWS_PER_GROUP = 1 << 14
GROUPS_PER_SHARD = 8
_RUN_KEY = b"tsenet.run"
_MOST_CLASSES = 100_000


class ShardWriter:
    """Writes rows into a folder of shards; use it as a context manager.

    Each shard appears whole or not at all, and the list of them only at the end. A writer for a folder that was not
    finished keeps its shards: write the rows from :attr:`n_done` on.

    Parameters
    ----------
    folder : path, URL or Place
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
        Levels of each column that holds categories, None for the others; () if there are none.
    named : bool, default=True
        Whether the names are the user's.
    counter : mapping or None, default=None
        Options of the ``CountVectorizer`` that made the rows, kept in the folder.
    run : mapping, default={}
        What else decides the content, such as the source file. A folder begun by another run is refused.
    rows_per_group, groups_per_shard : int
        Rows of a partition and partitions of a file. Lower the first if rows are very long: a partition is read whole.

    Raises
    ------
    DataError
        If the folder is finished, or was begun with other columns or another run.

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
        folder: str | os.PathLike[str] | Place,
        *,
        names: Sequence[str],
        sparse: bool,
        labels: Sequence[str] = (),
        counts: bool = True,
        levels: Sequence[Levels] = (),
        named: bool = True,
        counter: Mapping[str, Any] | None = None,
        run: Mapping[str, Any] | None = None,
        rows_per_group: int = ROWS_PER_GROUP,
        groups_per_shard: int = GROUPS_PER_SHARD,
    ) -> None:
        self.place = Place.of(folder)
        self.labels = tuple(labels)
        taken = {WORDS, COUNTS, VALUES} & set(labels)
        if taken:
            raise DataError(f"a label column cannot be called {taken.pop()!r}: rename it")
        if rows_per_group < 1 or groups_per_shard < 1:
            raise ValueError("rows_per_group and groups_per_shard must be at least 1")
        self._sparse, self._counts = sparse, sparse and counts
        self._width = len(names)
        kept = {str(j): list(found) for j, found in enumerate(levels) if found is not None}
        text = json.dumps({"names": list(names), "levels": kept, "named": named})
        self._columns = text.encode()
        self._counter = None if counter is None else dict(counter)
        facts = {
            "columns": digest_of_names(self._columns),
            "sizes": [rows_per_group, groups_per_shard],
            "sparse": sparse,
            "counts": self._counts,
            "labels": list(labels),
            "run": dict(run or {}),
        }
        self._run = json.dumps(facts, sort_keys=True).encode()
        self._rows_per_group, self._rows_per_shard = (
            rows_per_group,
            rows_per_group * groups_per_shard,
        )
        self._waiting: list[tuple[Any, dict[str, Sequence[Any]]]] = []
        self._n_waiting = 0
        self._shards = self._finished_shards()

    @property
    def sparse(self) -> bool:
        """Whether rows are documents."""
        return self._sparse

    @property
    def n_done(self) -> int:
        """Rows that are in finished shards."""
        return sum(sum(shard["rows"]) for shard in self._shards)

    @property
    def folder(self) -> ShardFolder:
        """The finished folder."""
        return open_shards(self.place)

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
        ...     writer.n_done
        5
        """
        values = rows.values if isinstance(rows, Table) else rows
        given = dict(labels or {})
        if set(given) != set(self.labels):
            raise DataError(f"the labels must be {list(self.labels)}, not {sorted(given)}")
        if values.ndim != 2 or values.shape[1] != self._width:
            raise DataError(f"rows must have {self._width} columns, got shape {values.shape}")
        for name, column in given.items():
            if len(column) != values.shape[0]:
                raise DataError(f"{len(column)} labels {name!r} for {values.shape[0]} rows")
        self._waiting.append((self._checked(values), given))
        self._n_waiting += int(values.shape[0])
        while self._n_waiting >= self._rows_per_shard:
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
        if self._n_waiting:
            self._write_shard(self._n_waiting)
        if not self._shards:
            raise DataError("there are no rows to write")
        listed = [
            {name: shard[name] for name in ("file", "rows", "bytes", "sha256")}
            for shard in self._shards
        ]
        summary = json.dumps([listed, self._run.decode()]).encode()
        fields = {
            "format": FORMAT,
            "sparse": self._sparse,
            "counts": self._counts,
            "n_rows": self.n_done,
            "n_columns": self._width,
            "nnz": sum(shard["nnz"] for shard in self._shards),
            "columns_digest": digest_of_names(self._columns),
            "digest": hashlib.sha256(summary).hexdigest(),
            "labels": {name: self._classes(name) for name in self.labels},
            "counter": self._counter,
            "shards": listed,
        }
        self.place.write(MANIFEST, json.dumps(fields, indent=1).encode())

    # ---- one shard

    def _checked(self, values: Any) -> Any:
        if self._sparse:
            matrix = sp.csr_array(values)
            if not matrix.has_canonical_format or (matrix.data == 0).any():
                matrix = matrix.copy()
                matrix.sum_duplicates()
                matrix.eliminate_zeros()
            if matrix.nnz and (matrix.data.min() < 0 or not _are_whole(matrix.data)):
                raise DataError("documents must hold whole numbers of words, not below 0")
            return matrix
        array = np.asarray(values)
        if array.dtype.kind == "b":
            array = array.astype(np.uint8)
        if array.dtype.kind not in "fiu":
            raise DataError(f"dense rows must be numbers, not {array.dtype}")
        return array

    def _write_shard(self, n_rows: int) -> None:
        import pyarrow
        import pyarrow.parquet

        parts, given = self._take(n_rows)
        columns: dict[str, Any] = {}
        if self._sparse:
            rows = sp.vstack(parts, format="csr")
            ends = pyarrow.array(rows.indptr.astype(np.int32, copy=False))
            columns[WORDS] = pyarrow.ListArray.from_arrays(
                ends, pyarrow.array(rows.indices.astype(np.int32, copy=False))
            )
            if self._counts:
                columns[COUNTS] = pyarrow.ListArray.from_arrays(
                    ends, pyarrow.array(rows.data.astype(np.int32, copy=False))
                )
            nnz = int(rows.nnz)
        else:
            values = np.concatenate(parts)
            columns[VALUES] = pyarrow.FixedSizeListArray.from_arrays(
                pyarrow.array(values.ravel()), self._width
            )
            nnz = int(values.size)
        for name in self.labels:
            columns[name] = _label_array(name, given[name])
        table = pyarrow.table(columns).replace_schema_metadata(
            {COLUMNS_KEY: self._columns, _RUN_KEY: self._run}
        )
        sink = pyarrow.BufferOutputStream()
        pyarrow.parquet.write_table(
            table,
            sink,
            row_group_size=self._rows_per_group,
            compression="zstd",
            write_page_checksum=True,
        )
        content = sink.getvalue()
        name = f"part-{len(self._shards):05d}.parquet"
        self.place.write(name, content)
        starts = range(0, n_rows, self._rows_per_group)
        self._shards.append(
            {
                "file": name,
                "rows": [min(self._rows_per_group, n_rows - start) for start in starts],
                "nnz": nnz,
                **_facts_of(content),
            }
        )

    def _take(self, n_rows: int) -> tuple[list[Any], dict[str, list[Any]]]:
        """Take the first waiting rows, and their labels."""
        parts: list[Any] = []
        labels: dict[str, list[Any]] = {name: [] for name in self.labels}
        left = n_rows
        while left:
            values, given = self._waiting.pop(0)
            size = int(values.shape[0])
            used = min(size, left)
            parts.append(values[:used])
            for name, column in given.items():
                labels[name].extend(column[:used])
            if used < size:
                rest = {name: column[used:] for name, column in given.items()}
                self._waiting.insert(0, (values[used:], rest))
            left -= used
        self._n_waiting -= n_rows
        return parts, labels

    # ---- what is there already

    def _finished_shards(self) -> list[dict[str, Any]]:
        """The shards that an earlier run of the same kind has left, if it did not finish."""
        import pyarrow
        import pyarrow.parquet

        names = self.place.names()
        if MANIFEST in names:
            raise DataError(f"{self.place.url} holds finished shards: choose another folder")
        shards: list[dict[str, Any]] = []
        while (name := f"part-{len(shards):05d}.parquet") in names:
            try:
                content = pyarrow.py_buffer(self.place.read(name))
                with pyarrow.parquet.ParquetFile(pyarrow.BufferReader(content)) as file:
                    facts = file.metadata
                    rows = [facts.row_group(k).num_rows for k in range(facts.num_row_groups)]
                    same = (facts.metadata or {}).get(_RUN_KEY) == self._run
                    column = (
                        file.read(columns=[WORDS if self._sparse else VALUES]) if same else None
                    )
            except (pyarrow.ArrowException, OSError):
                break  # a remote store kept a part of it: it is written again
            if column is None:
                raise DataError(
                    f"{self.place.url} was begun from another source, or with other options: choose "
                    "another folder, or delete this one"
                )
            if sum(rows) != self._rows_per_shard:
                break  # the last shard of a run that was stopped before its list: written again
            nnz = sum(len(chunk.flatten()) for chunk in column.column(0).chunks)
            shards.append({"file": name, "rows": rows, "nnz": nnz, **_facts_of(content)})
        return shards

    def _classes(self, name: str) -> list[Any] | None:
        """The distinct values of a label column, sorted; None for fractions or too many values."""
        import pyarrow.parquet
        import pyarrow.types as kinds

        seen: set[Any] = set()
        for shard in self._shards:
            with self.place.open(shard["file"]) as source:
                column = pyarrow.parquet.read_table(source, columns=[name]).column(name)
            if kinds.is_floating(column.type):
                return None
            seen.update(value for value in column.unique().to_pylist() if value is not None)
            if len(seen) > _MOST_CLASSES:
                return None
        if len({type(value) for value in seen}) > 1:
            raise DataError(f"the label {name!r} holds both numbers and texts: write it as texts")
        return sorted(seen)


def write_shards(
    folder: str | os.PathLike[str] | Place,
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
    folder : path, URL or Place
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
    ...     shards.read(shards.partitions[0]).table.values.tolist()
    [[1.0, 2.0], [3.0, 4.0]]
    """
    table = Table.of(X, names, missing=True)
    given = dict(labels or {})
    writer = ShardWriter(
        folder,
        names=table.names,
        sparse=table.is_sparse,
        labels=list(given),
        counts=counts,
        levels=table.levels,
        named=table.named,
        rows_per_group=rows_per_group,
        groups_per_shard=groups_per_shard,
    )
    done = writer.n_done
    with writer:
        if done < table.n_rows:
            writer.write(
                table.take(slice(done, None)),
                {name: column[done:] for name, column in given.items()},
            )
    return writer.folder


def _facts_of(content: Any) -> dict[str, Any]:
    """What identifies the bytes of a shard."""
    return {"bytes": len(content), "sha256": hashlib.sha256(content).hexdigest()}


def _are_whole(values: npt.NDArray[Any]) -> bool:
    return values.dtype.kind in "iub" or bool((values == np.floor(values)).all())


def _label_array(name: str, values: Sequence[Any]) -> Any:
    """A Parquet column of labels: whole numbers, fractions, truth values or texts."""
    import pyarrow

    try:
        return pyarrow.array(values, from_pandas=True)
    except (pyarrow.ArrowInvalid, pyarrow.ArrowTypeError) as error:
        raise DataError(f"the label {name!r} holds values of different kinds: {error}") from error
