"""Read tables and documents from files, folders and standard input.

The library uses four names: :func:`read_data` for all columns of a file, :func:`read_documents` for its texts,
:func:`read_chunks` for files larger than memory, and :class:`DataFile`, which turns columns into a table.
"""

from __future__ import annotations

import bz2
import codecs
import csv
import gzip
import io
import json
import lzma
import os
import sys
import warnings
import zlib
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from tsenet.data.columns import count_of, is_missing, listed, quoted
from tsenet.data.table import Table, date_columns
from tsenet.errors import DataError, MissingDependencyError

if TYPE_CHECKING:
    from tsenet.data.binary import BinaryRule

__all__ = ["Chunk", "DataFile", "Documents", "read_chunks", "read_data", "read_documents"]

#: Values by column; all lists have the same length. A missing value is None or "".
Chunk = dict[str, list[Any]]

# The function that opens a file with each compression suffix.
_OPENERS: dict[str, Callable[..., Any]] = {".gz": gzip.open, ".xz": lzma.open, ".bz2": bz2.open}

_STDIN = Path("-")
_TABULAR = (".csv", ".tsv")
_TEXT_FORMATS = (*_TABULAR, ".jsonl", ".ndjson", ".json", ".txt")
_PARQUET = (".parquet", ".pq")
_CHUNK_ROWS = 4096
_MISSING_MARKS = {"na", "n/a", "#n/a", "nan", "null", "none", "?", "-", ".", "\\n"}
# Delimiters of csv files, the most usual first, and the number of characters from which the delimiter is inferred.
_DELIMITERS = (",", ";", "\t", "|")
_SAMPLE_SIZE = 1 << 16
_DAMAGE: tuple[type[Exception], ...] = (OSError, EOFError, lzma.LZMAError, zlib.error)


# ---- tables


@dataclass(frozen=True)
class DataFile:
    """The columns of a file, not yet converted to numbers or categories; :func:`read_data` makes one.

    Attributes
    ----------
    path : Path
        The file.
    columns : dict of str to sequence
        Values by column, all of the same length. In text formats they are strings, "" or None where missing.
    rows : ndarray, csr_array or None
        The rows of an npz file, which have no column names.

    Examples
    --------
    >>> from pathlib import Path
    >>> from tsenet.data import DataFile
    >>> file = DataFile(Path("pets.csv"), {"animal": ["cat", "dog"], "legs": ["4", "4"]})
    >>> file.n_rows
    2
    >>> file.numbers("legs").tolist()
    [4.0, 4.0]
    """

    path: Path
    columns: dict[str, Sequence[Any]]
    rows: Any = None

    @property
    def n_rows(self) -> int:
        """Number of rows."""
        if self.rows is not None:
            return int(self.rows.shape[0])
        return len(next(iter(self.columns.values())))

    def column(self, name: str) -> Sequence[Any]:
        """Return the values of a column as they are in the file.

        Parameters
        ----------
        name : str
            Name of the column.

        Returns
        -------
        sequence

        Raises
        ------
        DataError
            If there is no such column; lists the first ten.

        Examples
        --------
        >>> from pathlib import Path
        >>> from tsenet.data import DataFile
        >>> DataFile(Path("pets.csv"), {"animal": ["cat", "dog"]}).column("animal")
        ['cat', 'dog']
        """
        _check_columns([name], list(self.columns), self.path)
        return self.columns[name]

    def texts(self, name: str) -> list[str]:
        """Return a column as strings, "" where missing.

        Parameters
        ----------
        name : str
            Name of the column.

        Returns
        -------
        list of str

        Examples
        --------
        >>> from pathlib import Path
        >>> from tsenet.data import DataFile
        >>> DataFile(Path("pets.jsonl"), {"legs": [4, None]}).texts("legs")
        ['4', '']
        """
        return ["" if is_missing(value) else str(value) for value in self.column(name)]

    def numbers(self, name: str) -> npt.NDArray[np.float64] | None:
        """Return a column as numbers.

        Parameters
        ----------
        name : str
            Name of the column.

        Returns
        -------
        ndarray of float64, shape (n_rows,), or None
            NaN where missing, also for marks such as ``NA`` or ``?`` among numbers; None if a value is not a number.

        Examples
        --------
        >>> from pathlib import Path
        >>> from tsenet.data import DataFile
        >>> file = DataFile(Path("pets.csv"), {"animal": ["cat", "dog"], "legs": ["4", ""]})
        >>> file.numbers("legs").tolist()
        [4.0, nan]
        >>> file.numbers("animal") is None
        True
        """
        cells = self.column(name)
        try:
            values = [
                np.nan if is_missing(cell) or is_missing_mark(cell) else float(cell)
                for cell in cells
            ]
        except (TypeError, ValueError, OverflowError):
            return None
        numbers = np.array(values, np.float64)
        # In a column of names, NA may be one of them.
        return None if np.isnan(numbers).all() and any(map(is_missing_mark, cells)) else numbers

    def table(self, names: Sequence[str], rule: BinaryRule | None = None) -> Table:
        """Return some columns as a table; blank cells are missing values, NaN.

        A column with a value that is not a number holds categories, or dates as in :meth:`Table.of`.

        Parameters
        ----------
        names : sequence of str
            The columns; ignored for the rows of an npz file, which have no names.
        rule : BinaryRule, default=None
            That of a fitted model, for new rows: numbers, categories and dates are what they were in training.

        Returns
        -------
        Table

        Raises
        ------
        DataError
            For infinite numbers, and for a column that should hold numbers and does not.

        Examples
        --------
        >>> from pathlib import Path
        >>> from tsenet.data import DataFile
        >>> file = DataFile(Path("pets.csv"), {"animal": ["cat", "ant"], "legs": ["4", "6"]})
        >>> file.table(["legs", "animal"]).levels
        (None, ('ant', 'cat'))
        """
        if self.rows is not None:
            return Table.of(self.rows, missing=True)
        if not names:
            raise DataError(f"{self.path} has no columns to learn from")
        import pandas as pd

        training = {} if rule is None else dict(zip(rule.names_in, rule.levels, strict=True))
        texts = date_columns(names, training) | {n for n, levels in training.items() if levels}
        columns: dict[str, npt.NDArray[Any]] = {}
        for name in names:
            numbers = None if name in texts else self.numbers(name)
            if numbers is None:
                cells = [text or None for text in self.texts(name)]
                numbers = np.array(cells, dtype=object)
                if rule is not None and name not in texts:
                    wrong = next(cell for cell in cells if cell and not is_number(cell))
                    raise DataError(
                        f"{self.path}: column {quoted(name)} held numbers when the model was fitted, "
                        f"now it holds {quoted(wrong)}"
                    )
            elif marks := [cell for cell in self.columns[name] if is_missing_mark(cell)]:
                warnings.warn(
                    f"{self.path}: column {quoted(name)} holds numbers; cells such as {quoted(marks[0])} count as "
                    "missing",
                    stacklevel=2,
                )
            columns[name] = numbers
        try:
            known = None if rule is None else list(training)
            return Table.of(pd.DataFrame(columns), missing=True, columns=known)
        except DataError as error:
            raise DataError(f"{self.path}: {error}") from error

    def table_for(self, rule: BinaryRule) -> Table:
        """Return the columns that a model was fitted on; numbers, categories and dates are what they were then.

        Parameters
        ----------
        rule : BinaryRule
            The model's ``binary_rule_``.

        Returns
        -------
        Table

        Raises
        ------
        DataError
            If a column is not in the file, or should hold numbers and does not.

        Examples
        --------
        >>> from pathlib import Path
        >>> from tsenet.data import BinaryRule, DataFile, Table
        >>> rule = BinaryRule.learn(Table.of([[1, 2], [3, 4]], names=["a", "b"]))
        >>> DataFile(Path("new.csv"), {"b": ["5"], "c": ["x"], "a": [""]}).table_for(rule).values.tolist()
        [[nan, 5.0]]
        """
        return self.table(self.columns_for(rule.names_in), rule)

    def columns_for(self, names: Sequence[str]) -> list[str]:
        """Return the columns of the file from which a model's columns are made: one of dates gives several.

        Parameters
        ----------
        names : sequence of str
            Names of the model's columns.

        Returns
        -------
        list of str

        Examples
        --------
        >>> from pathlib import Path
        >>> from tsenet.data import DataFile
        >>> file = DataFile(Path("new.csv"), {"size": ["5"], "sold": ["2024-05-31"]})
        >>> file.columns_for(["sold: year", "sold: month", "sold: weekday", "size"])
        ['sold', 'size']
        """
        dates = date_columns(self.columns, names)
        sources = [(name.rpartition(": ")[0], name) for name in names]
        return list(dict.fromkeys(source if source in dates else name for source, name in sources))


def read_data(path: str | Path, *, header: bool = True, encoding: str = "utf-8") -> DataFile:
    r"""Read all columns of a file.

    Parameters
    ----------
    path : str or Path
        One of those that :func:`read_documents` reads, such as a ``.csv``, ``.tsv``, ``.json`` or ``.jsonl`` file,
        or ``"-"`` for standard input; or an ``.npz`` file with the rows as an array ``X`` or as the arrays that
        ``scipy.sparse.save_npz`` writes, and columns as 1-D arrays.
    header : bool, default=True
        Whether the first line of a csv or tsv file names the columns. If False, they are called "1", "2", ...
    encoding : str, default="utf-8"
        Of a text file.

    Returns
    -------
    DataFile

    Raises
    ------
    DataError
        If the format is unknown, or the file is damaged or empty.
    MissingDependencyError
        For parquet without pyarrow.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> from tsenet.data import read_data
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder) / "pets.csv"
    ...     _ = path.write_text("animal,legs\ncat,4\nant,6\n")
    ...     file = read_data(path)
    >>> file.table(["animal", "legs"]).values.tolist()
    [[1.0, 4.0], [0.0, 6.0]]
    """
    path = Path(path)
    if path.suffix.lower() == ".npz":
        return _read_npz(path)
    columns: dict[str, Sequence[Any]] = dict(_read_columns(path, None, header, encoding))
    if not columns:
        raise DataError(f"{path} holds no rows")
    return DataFile(path, columns)


def is_number(text: str) -> bool:
    """Return whether a text spells a number."""
    try:
        float(text)
    except ValueError:
        return False
    return True


def is_missing_mark(cell: Any) -> bool:
    """Return whether a cell holds what other programs write where a number is missing."""
    return isinstance(cell, str) and cell.strip().lower() in _MISSING_MARKS


def _read_npz(path: Path) -> DataFile:
    try:
        with np.load(path, allow_pickle=False) as arrays:
            parts = {name: arrays[name] for name in arrays.files}
        rows: Any = parts.pop("X", None)
        if rows is None and "format" in parts:  # written by scipy.sparse.save_npz
            rows = sp.load_npz(path)
            for name in ("data", "indices", "indptr", "row", "col", "offsets", "shape"):
                parts.pop(name, None)
    except FileNotFoundError:
        raise
    except Exception as error:  # numpy and zipfile fail in many ways
        raise DataError(f"{path} is damaged or not an npz file of plain arrays: {error}") from error
    columns: dict[str, Any] = {name: array for name, array in parts.items() if array.ndim == 1}
    lengths = {len(array) for array in columns.values()}
    lengths |= set() if rows is None else {int(rows.shape[0])}
    if not lengths or lengths == {0}:
        raise DataError(f"{path} holds no rows: neither an array X, nor 1-D arrays as columns")
    if len(lengths) > 1:
        raise DataError(f"the arrays of {path} have different numbers of rows: {sorted(lengths)}")
    return DataFile(path, columns, rows)


# ---- documents


@dataclass(frozen=True)
class Documents:
    """Texts read from a file, in file order; :func:`read_documents` makes one.

    Attributes
    ----------
    texts : list of str
        One per document; "" for a missing text.
    columns : dict of str to list
        The other columns that were requested, each as long as `texts`; values as they are in the
        file, None where missing.
    n_missing : int
        Number of documents without text.

    Examples
    --------
    >>> from tsenet.data import Documents
    >>> documents = Documents(["a cat", ""], {"label": ["pet", "none"]}, n_missing=1)
    >>> len(documents)
    2
    >>> documents
    Documents(2 documents, 1 of them without text)
    """

    texts: list[str]
    columns: dict[str, list[Any]] = field(default_factory=dict)
    n_missing: int = 0

    def __len__(self) -> int:
        return len(self.texts)

    def __repr__(self) -> str:
        return f"Documents({self.report()})"

    @property
    def n_duplicates(self) -> int:
        """Number of documents that repeat the text of an earlier one."""
        return sum(map(bool, self.texts)) - len(set(self.texts) - {""})

    def report(self) -> str:
        """Return one line with the number of documents, of those without text, and of duplicates.

        Returns
        -------
        str

        Examples
        --------
        >>> from tsenet.data import Documents
        >>> Documents(["a cat", "a dog", "a cat"]).report()
        '3 documents, 1 of them a duplicate'
        """
        n_missing, n_duplicates = self.n_missing, self.n_duplicates
        missing = f", {n_missing:,} of them without text" if n_missing else ""
        kind = "a duplicate" if n_duplicates == 1 else "duplicates"
        duplicates = f", {n_duplicates:,} of them {kind}" if n_duplicates else ""
        return f"{count_of(len(self), 'document')}{missing}{duplicates}"


def read_documents(
    path: str | Path,
    text: str = "text",
    *,
    columns: Sequence[str] = (),
    header: bool = True,
    encoding: str = "utf-8",
) -> Documents:
    r"""Read one text per record from a file, and optionally other columns.

    Parameters
    ----------
    path : str or Path
        - A ``.csv``, ``.tsv``, ``.jsonl``, ``.ndjson``, ``.json`` (an array of objects or of strings) or ``.txt`` file
          (one document per line), optionally compressed (``.gz``, ``.xz`` or ``.bz2``). Fields of a ``.csv`` file may
          be separated by commas, semicolons, tabs or vertical bars.
        - A ``.parquet`` or ``.pq`` file (needs pyarrow).
        - A folder: every ``.txt`` file in it and its subfolders is a document, sorted by name. They have
          the columns ``text``, ``file`` and ``folder``.
        - ``"-"``: standard input. It is JSON lines or a JSON array if it begins with ``{`` or ``[``; csv if its first
          line names the requested columns; otherwise one document per line.
    text : str, default="text"
        Name of the column (in JSON, the key) that holds the text. Strings and lines without a name are called
        ``text``.
    columns : sequence of str, default=()
        Other columns to return, for example a label.
    header : bool, default=True
        Whether the first line of a csv or tsv file names the columns. If False, they are called
        "1", "2", ... Other formats always have names.
    encoding : str, default="utf-8"
        Encoding of text formats; change it for files that are not UTF-8. A byte-order mark is skipped.

    Returns
    -------
    Documents

    Raises
    ------
    DataError
        For an unknown format, an unknown column (lists the known ones), a broken record (gives the
        line number), a text that is neither string nor number, a wrong encoding, a damaged file, or a file without
        documents.
    MissingDependencyError
        For parquet without pyarrow.

    See Also
    --------
    vectorize : Turn the documents into a table of word counts.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> from tsenet.data import read_documents
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder) / "pets.csv"
    ...     _ = path.write_text("body,animal\na cat sleeps,cat\na dog barks,dog\n")
    ...     documents = read_documents(path, "body", columns=["animal"])
    >>> documents.texts
    ['a cat sleeps', 'a dog barks']
    >>> documents.columns
    {'animal': ['cat', 'dog']}
    """
    path = Path(path)
    others = _read_columns(path, list(dict.fromkeys([text, *columns])), header, encoding)
    cells = enumerate(others.pop(text, []), start=1)
    texts = [text_of(value, path, row, text) for row, value in cells]
    if not texts:
        raise DataError(f"{path} holds no documents")
    return Documents(texts, others, texts.count(""))


def text_of(value: Any, path: Path, row: int, column: str) -> str:
    """Return a cell as a text, "" if it is missing or blank; raise a DataError for what is no text."""
    if is_missing(value):
        return ""
    if not isinstance(value, str | int | float):
        kind = type(value).__name__
        raise DataError(f"{path}, row {row}: {quoted(column)} holds a {kind}, not a text")
    text = str(value)
    return "" if text.isspace() else text


# ---- chunks of rows


def read_chunks(
    path: str | Path,
    columns: Sequence[str] | None = None,
    *,
    header: bool = True,
    encoding: str = "utf-8",
) -> Iterator[Chunk]:
    r"""Read a file in chunks of a few thousand rows, for files larger than memory.

    Parameters
    ----------
    path : str or Path
        As for :func:`read_documents`.
    columns : sequence of str or None, default=None
        The columns to read; None for all.
    header, encoding
        As for :func:`read_documents`.

    Yields
    ------
    dict of str to list
        Values by column, as they are in the file; None where a JSON object lacks a key. A later chunk of JSON lines
        may have more columns.

    Raises
    ------
    DataError, MissingDependencyError
        As for :func:`read_documents`.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> from tsenet.data import read_chunks
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder) / "sizes.tsv"
    ...     _ = path.write_text("name\tsize\nant\t1\nbee\t2\n")
    ...     list(read_chunks(path))
    [{'name': ['ant', 'bee'], 'size': ['1', '2']}]
    """
    path = Path(path)
    if path != _STDIN and path.is_dir():
        yield from _record_chunks(_folder_records(path, encoding), path, columns)
        return
    suffix = "" if path == _STDIN else _format_of(path)
    if suffix in _PARQUET:
        yield from _parquet_chunks(path, columns)
        return
    with _open_text(path, encoding) as file:
        sample = file.read(_SAMPLE_SIZE)
        file.seek(0)
        suffix = suffix or _format_of_stream(sample, columns, header)
        if suffix in _TABULAR:
            delimiter = "\t" if suffix == ".tsv" else _delimiter_of(sample, header)
            records = _csv_records(file, path, columns, delimiter, header)
        elif suffix == ".txt":
            records = ({"text": line.rstrip("\r\n")} for line in file if line.strip())
        else:
            is_array = suffix == ".json" and sample.lstrip().startswith("[")
            records = _json_records(file, path, is_array)
        yield from _record_chunks(records, path, columns)


def _read_columns(path: Path, columns: Sequence[str] | None, header: bool, encoding: str) -> Chunk:
    """Read all rows; None where a later chunk of JSON lines brought the column."""
    joined: Chunk = {}
    n_rows = 0
    for chunk in read_chunks(path, columns, header=header, encoding=encoding):
        for name, values in chunk.items():
            joined.setdefault(name, [None] * n_rows).extend(values)
        n_rows = max(map(len, joined.values()), default=0)
    return joined


def _check_columns(columns: Sequence[str], known: Sequence[str], path: Path) -> None:
    """Raise a DataError for a column that the file does not have, or has twice."""
    counts = Counter(known)
    for name in columns:
        if counts[name] != 1:
            held = f"no column {quoted(name)}; it has {listed(known) or 'none'}"
            if counts[name]:
                held = f"{counts[name]} columns named {quoted(name)}"
            raise DataError(f"{path} has {held}{_header_hint(path, known)}")


def _header_hint(path: Path, names: Sequence[str]) -> str:
    """Return what to add to a message if the column names of a csv file look like its first row."""
    if path != _STDIN and not set(_TABULAR) & {suffix.lower() for suffix in path.suffixes}:
        return ""
    unlikely = [name for name in names if not name.strip() or len(name) > 60 or is_number(name)]
    if 2 * len(unlikely) < len(names) or list(names) == _numbered(len(names)):
        return ""
    return ". The first line looks like data: if the file has no header, use --no-header (header=False)"


def _numbered(width: int) -> list[str]:
    """Names of columns without a header."""
    return [str(j + 1) for j in range(width)]


# ---- formats


def _format_of(path: Path) -> str:
    """Return the suffix that names the format, without a compression suffix."""
    suffixes = [suffix.lower() for suffix in path.suffixes]
    known: tuple[str, ...] = (*_TEXT_FORMATS, *_PARQUET)
    if len(suffixes) > 1 and suffixes[-1] in _OPENERS:
        suffixes.pop()
        known = _TEXT_FORMATS
    if not suffixes or suffixes[-1] not in known:
        raise DataError(
            f"cannot tell the format of {path.name}: its name should end in "
            f"{', '.join((*_TEXT_FORMATS, *_PARQUET))} (the text formats also with "
            f"{', '.join(_OPENERS)})"
        )
    return suffixes[-1]


def _format_of_stream(sample: str, columns: Sequence[str] | None, header: bool) -> str:
    """Infer the format of standard input from its beginning."""
    start = sample.lstrip()
    if start[:1] in ("{", "["):
        return ".json"
    names = _records_of_sample(start, _delimiter_of(start, header))[:1]
    is_csv = columns is None or not header or any(set(columns) <= set(row) for row in names)
    return ".csv" if is_csv else ".txt"


def _delimiter_of(sample: str, header: bool) -> str:
    """Infer what separates the fields of a csv file.

    It is what splits the first records into equally many fields, more than one: of several delimiters the one that
    splits the column names into most fields, or without names the most usual. A comma if none does.
    """
    widths = {}
    for delimiter in _DELIMITERS:
        lengths = [len(row) for row in _records_of_sample(sample, delimiter)]
        if lengths and min(lengths) == max(lengths) > 1:
            widths[delimiter] = lengths[0] if header else 2
    return max(widths, key=widths.__getitem__, default=",")


def _records_of_sample(sample: str, delimiter: str) -> list[list[str]]:
    """Return the records of the beginning of a csv file, as far as they are complete."""
    rows: list[list[str]] = []
    with suppress(csv.Error):
        rows.extend(csv.reader(io.StringIO(sample, newline=""), delimiter=delimiter, strict=True))
    if len(sample) == _SAMPLE_SIZE and len(rows) > 1:
        rows.pop()  # it may be cut
    return [row for row in rows if row]


def _csv_records(
    file: IO[str], path: Path, columns: Sequence[str] | None, delimiter: str, header: bool
) -> Iterator[dict[str, Any]]:
    csv.field_size_limit((1 << 31) - 1)  # of the whole process; its default refuses long texts
    # Strict: otherwise the rest of the file after an unclosed quote would be one text.
    reader = csv.reader(file, delimiter=delimiter, strict=True)
    names: list[str] = []
    try:
        for row in filter(None, reader):  # without blank lines
            if not names:
                names = row if header else _numbered(len(row))
                _check_columns(names if columns is None else columns, names, path)
                if header:
                    continue
            if len(row) != len(names):
                fields = count_of(len(row), "field")
                raise DataError(f"{path}, line {reader.line_num}: {fields}, expected {len(names)}")
            yield dict(zip(names, row, strict=True))
    except csv.Error as error:
        raise DataError(f"{path}, line {reader.line_num}: {error}") from error


def _record_chunks(
    records: Iterable[dict[str, Any]], path: Path, columns: Sequence[str] | None
) -> Iterator[Chunk]:
    """Group records of any keys into chunks."""
    keys: dict[str, None] = {}
    records = iter(records)
    while batch := list(islice(records, _CHUNK_ROWS)):
        for record in batch:
            keys.update(dict.fromkeys(record))
        names = keys if columns is None else columns
        yield {name: [record.get(name) for record in batch] for name in names}
    if keys and columns is not None:
        _check_columns(columns, list(keys), path)


def _json_records(file: IO[str], path: Path, is_array: bool) -> Iterator[dict[str, Any]]:
    """Yield the object on each line, or the elements of an array."""
    if is_array:
        elements = enumerate(_parse_json(file.read(), f"{path}"), start=1)
        values = ((f"{path}, element {number}", element) for number, element in elements)
    else:
        lines = ((f"{path}, line {number}", line) for number, line in enumerate(file, start=1))
        values = ((where, _parse_json(line, where)) for where, line in lines if line.strip())
    for where, value in values:
        record = {"text": value} if is_array and isinstance(value, str) else value
        if not isinstance(record, dict):
            raise DataError(f"{where}: expected a JSON object, got a {type(value).__name__}")
        yield record


def _parse_json(text: str, where: str) -> Any:
    try:
        return json.loads(text)
    except (ValueError, RecursionError) as error:
        raise DataError(f"{where}: not JSON: {error}") from error


def _folder_records(folder: Path, encoding: str) -> Iterator[dict[str, Any]]:
    """Yield the text, name and folder of each text file in a folder and its subfolders, sorted by name."""
    endings = tuple(f".txt{suffix}" for suffix in ("", *_OPENERS))
    files = (path.relative_to(folder) for path in folder.rglob("*") if path.is_file())
    names = sorted(
        name
        for name in files
        if name.name.lower().endswith(endings) and not any(p.startswith(".") for p in name.parts)
    )
    if not names:
        raise DataError(f"the folder {folder} holds neither .txt files nor finished shards")
    for name in names:
        with _open_text(folder / name, encoding) as file:
            yield {"text": file.read(), "file": _shown(name), "folder": _shown(name.parent)}


def _shown(path: Path) -> str:
    """Return a path with ``/``; bytes of its name that are not UTF-8 are replaced."""
    return os.fsencode(path.as_posix()).decode("utf-8", "replace")


def import_pyarrow() -> Any:
    """Return pyarrow, with its module for Parquet files."""
    try:
        import pyarrow
        import pyarrow.parquet
    except ImportError as error:
        raise MissingDependencyError("Parquet needs pyarrow: pip install tsenet[text]") from error
    return pyarrow


def _parquet_chunks(path: Path, columns: Sequence[str] | None) -> Iterator[Chunk]:
    pyarrow = import_pyarrow()
    with _report_damage(f"{path} is damaged or not a parquet file", (pyarrow.ArrowException,)):
        schema = pyarrow.parquet.read_schema(path)
        _check_columns(schema.names if columns is None else columns, schema.names, path)
        with pyarrow.parquet.ParquetFile(path) as file:
            for batch in file.iter_batches(_CHUNK_ROWS, columns=columns and list(columns)):
                yield batch.to_pydict()


# ---- opening files


@contextmanager
def _report_damage(message: str, others: tuple[type[Exception], ...] = ()) -> Iterator[None]:
    """Turn the errors of a damaged or wrongly named file into a DataError.

    Errors of the operating system, such as a missing file, are passed on unchanged.
    """
    try:
        yield
    except _DAMAGE + others as error:
        # Errors of the operating system have a number; those of gzip and bz2 do not.
        if isinstance(error, OSError) and error.errno is not None:
            raise
        raise DataError(f"{message}: {error}") from error


@contextmanager
def _open_text(path: Path, encoding: str) -> Iterator[IO[str]]:
    """Open a file, or standard input, as text; damage and wrong encodings become a DataError."""
    try:
        # "utf-8-sig" skips a byte-order mark.
        encoding = "utf-8-sig" if codecs.lookup(encoding).name == "utf-8" else encoding
    except LookupError as error:
        raise DataError(f"unknown encoding {encoding!r}") from error
    try:
        # The csv module reads line ends itself: newline="" keeps those inside quoted fields.
        if path == _STDIN:
            yield io.StringIO(sys.stdin.buffer.read().decode(encoding), newline="")
            return
        with (
            _report_damage(f"{path} is damaged or not a {path.suffix} file"),
            _OPENERS.get(path.suffix.lower(), open)(
                path, mode="rt", encoding=encoding, newline=""
            ) as file,
        ):
            yield file
    except UnicodeDecodeError as error:
        byte = error.object[error.start]
        raise DataError(
            f"{path} is not {error.encoding} text (byte 0x{byte:02x}): give its encoding, "
            "for example encoding='latin-1' (in the shell --encoding latin-1)"
        ) from error
