"""Read documents and columns from csv, tsv, jsonl (plain or compressed) and parquet files."""

from __future__ import annotations

import codecs
import csv
import json
import threading
from collections.abc import Generator, Iterable, Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, Any

from tsenet.data.columns import count_of, is_missing
from tsenet.data.compression import OPENERS, opener_of, report_damage
from tsenet.errors import DataError, MissingDependencyError

__all__ = ["Documents", "read_columns", "read_documents"]

_DELIMITERS = {".csv": ",", ".tsv": "\t"}
_JSON_LINES = (".jsonl", ".ndjson")
_PARQUET = (".parquet", ".pq")

# The csv module has one limit on the length of a field for the whole process. It is raised while a
# file is read, under a lock, and then restored.
_FIELD_LIMIT = (1 << 31) - 1
_field_limit_lock = threading.Lock()

# A record: its line number, or row number in a parquet file, and its values by column.
_Record = tuple[int, dict[str, Any]]


@dataclass(frozen=True)
class Documents:
    """Texts read from a file, in file order; :func:`read_documents` makes one.

    Attributes
    ----------
    texts : list of str
        One per document; "" for a missing text.
    columns : dict of str to list
        The other columns that were asked for, each as long as `texts`; values as they are in the
        file, None where missing.
    n_missing : int
        How many documents have no text.

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

    def report(self) -> str:
        """Return one line with the number of documents and of those without text.

        Returns
        -------
        str

        Examples
        --------
        >>> from tsenet.data import Documents
        >>> Documents(["a cat", "a dog"]).report()
        '2 documents'
        """
        missing = f", {self.n_missing} of them without text" if self.n_missing else ""
        return f"{count_of(len(self), 'document')}{missing}"


def read_documents(
    path: str | Path,
    text: str,
    *,
    columns: Sequence[str] = (),
    header: bool = True,
    encoding: str = "utf-8",
) -> Documents:
    r"""Read one text per record from a file, and optionally other columns.

    Parameters
    ----------
    path : str or Path
        A ``.csv``, ``.tsv``, ``.jsonl`` or ``.ndjson`` file, optionally compressed (``.gz``,
        ``.xz`` or ``.bz2``), or a ``.parquet`` or ``.pq`` file (needs pyarrow).
    text : str
        Name of the column (in JSON, the key) that holds the text.
    columns : sequence of str, default=()
        Other columns to return, for example a label.
    header : bool, default=True
        Whether the first line of a csv or tsv file names the columns. If False, they are called
        "1", "2", ... Other formats always have names.
    encoding : str, default="utf-8"
        Encoding of csv, tsv and JSON lines; change it for files that are not UTF-8. A byte-order
        mark is skipped.

    Returns
    -------
    Documents

    Raises
    ------
    DataError
        For an unknown format, an unknown column (lists the known ones), a broken record (gives the
        line number), a text that is neither string nor number, a wrong encoding, a damaged file,
        or a file without documents.
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
    wanted = list(dict.fromkeys([text, *columns]))
    with closing(_records(path, wanted, header, encoding)) as records:
        return _collect(records, wanted, path)


def read_columns(path: str | Path, *, encoding: str = "utf-8") -> dict[str, list[Any]]:
    r"""Read all columns of a file.

    Parameters
    ----------
    path : str or Path
        A file in one of the formats of :func:`read_documents`.
    encoding : str, default="utf-8"
        Encoding of csv, tsv and JSON lines.

    Returns
    -------
    dict of str to list
        Values as they are in the file, in file order; None where a JSON object lacks a key.

    Raises
    ------
    DataError
        For an unknown format, a broken record, a wrong encoding, or a damaged or empty file.
    MissingDependencyError
        For parquet without pyarrow.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> from tsenet.data.documents import read_columns
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder) / "sizes.tsv"
    ...     _ = path.write_text("name\tsize\nant\t1\nbee\t2\n")
    ...     read_columns(path)
    {'name': ['ant', 'bee'], 'size': ['1', '2']}
    """
    path = Path(path)
    columns: dict[str, list[Any]] = {}
    n_rows = 0
    with closing(_records(path, None, True, encoding)) as records:
        for _, record in records:
            for name, value in record.items():
                column = columns.setdefault(name, [])
                column.extend([None] * (n_rows - len(column)))  # earlier lines without this key
                column.append(value)
            n_rows += 1
    for column in columns.values():
        column.extend([None] * (n_rows - len(column)))
    if not columns:
        raise DataError(f"{path} holds no rows")
    return columns


def _records(
    path: Path, wanted: Sequence[str] | None, header: bool, encoding: str
) -> Generator[_Record, None, None]:
    """Yield the records of a file; from csv and parquet only the wanted columns, or all for None."""
    suffix = _format_of(path)
    if suffix in _PARQUET:
        yield from _parquet_records(path, wanted)
        return
    try:
        # "utf-8-sig" skips a byte-order mark.
        encoding = "utf-8-sig" if codecs.lookup(encoding).name == "utf-8" else encoding
    except LookupError as error:
        raise DataError(f"unknown encoding {encoding!r}") from error
    damage = f"{path} is damaged or not a {path.suffix} file"
    try:
        # The csv module reads line ends itself: newline="" keeps those inside quoted fields.
        with (
            report_damage(damage),
            opener_of(path)(path, mode="rt", encoding=encoding, newline="") as file,
        ):
            if suffix in _JSON_LINES:
                yield from _json_records(file, path)
                return
            with _field_limit_lock:
                before = csv.field_size_limit(_FIELD_LIMIT)
                try:
                    yield from _csv_records(file, path, wanted, _DELIMITERS[suffix], header)
                finally:
                    csv.field_size_limit(before)
    except UnicodeDecodeError as error:
        byte = error.object[error.start]
        raise DataError(
            f"{path} is not {error.encoding} text (byte 0x{byte:02x}): give its encoding, "
            "for example encoding='latin-1'"
        ) from error


def _format_of(path: Path) -> str:
    """Return the suffix that names the format, without a compression suffix."""
    suffixes = [suffix.lower() for suffix in path.suffixes]
    if len(suffixes) > 1 and suffixes[-1] in OPENERS:
        suffixes.pop()
        known = (*_DELIMITERS, *_JSON_LINES)
    else:
        known = (*_DELIMITERS, *_JSON_LINES, *_PARQUET)
    if not suffixes or suffixes[-1] not in known:
        raise DataError(
            f"cannot tell the format of {path.name}: its name should end in "
            f"{', '.join((*_DELIMITERS, *_JSON_LINES, *_PARQUET))} (the text formats also with "
            f"{', '.join(OPENERS)})"
        )
    return suffixes[-1]


def _collect(records: Iterable[_Record], wanted: Sequence[str], path: Path) -> Documents:
    """Collect the records into lists by column, and count missing texts."""
    text = wanted[0]
    texts: list[str] = []
    others: dict[str, list[Any]] = {name: [] for name in wanted[1:]}
    n_missing = 0
    keys: dict[str, None] = {}
    for number, record in records:
        keys.update(dict.fromkeys(record))
        value = record.get(text)
        if is_missing(value):
            n_missing += 1
            value = ""
        elif not isinstance(value, str | int | float):
            kind = type(value).__name__
            raise DataError(f"{path}, record {number}: {text!r} holds a {kind}, not a text")
        texts.append(str(value))
        for name, values in others.items():
            values.append(record.get(name))
    if not texts:
        raise DataError(f"{path} holds no documents")
    # Lines of JSON have different keys: only after the last one is a column known to be missing.
    _refuse_unknown(wanted, list(keys), path)
    return Documents(texts, others, n_missing)


def _refuse_unknown(wanted: Sequence[str], names: Sequence[str], path: Path) -> None:
    """Raise a DataError for a wanted column that the file does not have, or has twice."""
    for name in wanted:
        if name not in names:
            listed = ", ".join(repr(known) for known in names)
            raise DataError(f"{path} has no column {name!r}; it has {listed}")
        if names.count(name) > 1:
            raise DataError(f"{path} has {names.count(name)} columns named {name!r}")


def _csv_records(
    file: IO[str], path: Path, wanted: Sequence[str] | None, delimiter: str, header: bool
) -> Iterator[_Record]:
    """Yield the wanted fields of each row, with the line the row ends on."""
    # Not strict, the rest of the file after an unclosed quote would be read as one text.
    reader = csv.reader(file, delimiter=delimiter, strict=True)
    places: dict[str, int] | None = None
    width = 0
    try:
        for row in reader:
            if not row:  # a blank line
                continue
            if places is None:
                width = len(row)
                names = row if header else [str(j + 1) for j in range(width)]
                asked = names if wanted is None else wanted
                _refuse_unknown(asked, names, path)
                places = {name: names.index(name) for name in asked}
                if header:
                    continue
            if len(row) != width:
                fields = count_of(len(row), "field")
                raise DataError(f"{path}, line {reader.line_num}: {fields}, expected {width}")
            yield reader.line_num, {name: row[j] for name, j in places.items()}
    except csv.Error as error:
        raise DataError(f"{path}, line {reader.line_num}: {error}") from error


def _json_records(file: IO[str], path: Path) -> Iterator[_Record]:
    """Yield the object on each line that is not blank."""
    for number, line in enumerate(file, start=1):
        if not line.strip():
            continue
        try:
            record = json.loads(line)
        except (json.JSONDecodeError, RecursionError) as error:
            raise DataError(f"{path}, line {number}: not JSON: {error}") from error
        if not isinstance(record, dict):
            kind = type(record).__name__
            raise DataError(f"{path}, line {number}: expected a JSON object, got a {kind}")
        yield number, record


def _parquet_records(path: Path, wanted: Sequence[str] | None) -> Iterator[_Record]:
    """Yield the wanted columns of each row, reading a batch of rows at a time."""
    try:
        import pyarrow
        import pyarrow.parquet
    except ImportError as error:
        raise MissingDependencyError(
            "reading parquet needs pyarrow: pip install tsenet[text]"
        ) from error
    if not path.exists():
        raise FileNotFoundError(f"no such file: {path}")
    number = 0
    try:
        with pyarrow.parquet.ParquetFile(path) as file:
            asked = file.schema_arrow.names if wanted is None else wanted
            _refuse_unknown(asked, file.schema_arrow.names, path)
            for batch in file.iter_batches(columns=list(asked)):
                for record in batch.to_pylist():
                    number += 1
                    yield number, record
    except pyarrow.ArrowException as error:
        raise DataError(f"{path} is damaged or not a parquet file: {error}") from error
