"""Read tables and documents from files, folders and standard input.

The library uses three names: :func:`read_data` for a file, :func:`read_chunks` for one larger than memory, and
:class:`DataFile`, which turns columns into texts or a table.

Every format becomes dataframes of cells as they are in the file: csv cells are texts, so that ``007`` keeps its zeros
and ``NA`` may be a country. csv is parsed by the standard library, since pandas fills short lines without a word.
"""

from __future__ import annotations

import bz2
import codecs
import csv
import gzip
import io
import json
import lzma
import math
import os
import re
import sys
import warnings
import zlib
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from itertools import chain, count, pairwise
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from tsenet.data.dates import date_columns
from tsenet.data.table import Table, number_of, numbers_of, surrogate_in
from tsenet.errors import DataError, TooLargeError, count_of, import_optional, listed, quoted

if TYPE_CHECKING:
    import pandas as pd

    from tsenet.data.binary import BinaryRule

# The function that opens a file with each compression suffix.
_OPENERS: dict[str, Callable[..., Any]] = {".gz": gzip.open, ".xz": lzma.open, ".bz2": bz2.open}
_FORMAT = re.compile(r"(\.(csv|tsv|jsonl|ndjson|json|txt))(\.gz|\.xz|\.bz2)?$|\.(parquet|pq)$")

_STDIN = Path("-")
_CHUNK_ROWS = 4096  # read and checked at a time
_MISSING_MARKS = {"na", "n/a", "#n/a", "nan", "null", "none", "?", "-", ".", "\\n"}
# Delimiters of csv files, the most usual first, and the number of characters from which the format is inferred.
_DELIMITERS = (",", ";", "\t", "|")
_SAMPLE_SIZE = 1 << 16

# A small file can unpack to more than a machine holds: a cell of 2 GB, or 20 million rows. Limits of a file that is
# read whole: this many bytes, or this many times its size on the disk; text compresses to a third or a tenth.
_MIN_LIMIT = 100_000_000
_MAX_RATIO = 20
# Characters of a line, a cell or a JSON value; *War and Peace* has 3.2 million.
_MAX_RECORD = 1 << 23
_BYTES_PER_CELL = 16  # a reference in a chunk, and one in the table of all chunks
_BYTES_PER_JSON_OBJECT = 64
# Characters and cells of a chunk, if it is not full before.
_CHUNK_CHARACTERS = 1 << 26
_CHUNK_CELLS = 1 << 22


# ---- tables


@dataclass(frozen=True, eq=False)
class DataFile:
    """The columns of a file, not yet converted to numbers or categories; :func:`read_data` makes one.

    Attributes
    ----------
    path : Path
        The file.
    columns : DataFrame
        The cells, as objects: strings in text formats. A missing one is "", None or NaN.

    Examples
    --------
    >>> from pathlib import Path
    >>> import pandas as pd
    >>> from tsenet.data import DataFile
    >>> file = DataFile(Path("pets.csv"), pd.DataFrame({"animal": ["cat", "dog"], "legs": ["4", "4"]}))
    >>> file.n_rows
    2
    """

    path: Path
    columns: pd.DataFrame

    @property
    def n_rows(self) -> int:
        """Number of rows."""
        return len(self.columns)

    def column(self, name: str) -> pd.Series:
        """Return the cells of a column, None or NaN where missing.

        Parameters
        ----------
        name : str
            Name of the column.

        Raises
        ------
        DataError
            If there is no such column; lists the first ten.

        Examples
        --------
        >>> from pathlib import Path
        >>> import pandas as pd
        >>> from tsenet.data import DataFile
        >>> DataFile(Path("pets.csv"), pd.DataFrame({"animal": ["cat", "dog"]})).column("animal").tolist()
        ['cat', 'dog']
        """
        labels = self.columns.columns
        is_absent = name not in labels
        if is_absent or not isinstance(labels.get_loc(name), int):  # or there twice
            _check_columns([name], list(labels), self.path)
        cells = self.columns[name].astype(object)
        return cells.where(cells.notna() & (cells != ""), None)

    def texts(self, name: str = "text") -> list[str]:
        """Return a column as strings, "" where missing or blank.

        Parameters
        ----------
        name : str, default="text"
            Name of the column.

        Raises
        ------
        DataError
            If there is no such column, or a cell holds a list, an object or bytes; gives the row.

        Examples
        --------
        >>> from pathlib import Path
        >>> import pandas as pd
        >>> from tsenet.data import DataFile
        >>> DataFile(Path("pets.jsonl"), pd.DataFrame({"legs": [4, None]}, dtype=object)).texts("legs")
        ['4', '']
        """
        texts = ["" if cell is None else cell for cell in self.column(name)]
        for row, cell in zip(self.columns.index, texts, strict=True):
            if isinstance(cell, list | dict | bytes):
                kind = type(cell).__name__
                raise DataError(
                    f"{self.path}, row {row + 1}: {quoted(name)} holds a {kind}, not a text"
                )
        return ["" if text.isspace() else text for text in map(str, texts)]

    def table(self, names: Sequence[str], rule: BinaryRule | None = None) -> Table:
        """Return some columns as a table; blank cells are missing values, NaN.

        A column with a value that is not a number holds categories, or dates as in :meth:`Table.of`.

        Parameters
        ----------
        names : sequence of str
            The columns.
        rule : BinaryRule, default=None
            That of a fitted model, for new rows: numbers, categories and dates are what they were in training.

        Raises
        ------
        DataError
            For infinite numbers, and for a column that should hold numbers and does not.

        Examples
        --------
        >>> from pathlib import Path
        >>> import pandas as pd
        >>> from tsenet.data import DataFile
        >>> file = DataFile(Path("pets.csv"), pd.DataFrame({"animal": ["cat", "ant"], "legs": ["4", "6"]}))
        >>> file.table(["legs", "animal"]).levels
        (None, ('ant', 'cat'))
        """
        import pandas as pd

        if not names:
            raise DataError(f"{self.path} has no columns to learn from")
        training = {} if rule is None else dict(zip(rule.names_in, rule.levels, strict=True))
        texts = date_columns(names, training) | {n for n, levels in training.items() if levels}
        _check_columns(names, list(self.columns), self.path)
        cells = self.columns[list(names)].to_numpy(object)
        columns: dict[str, Any] = {}

        for j, name in enumerate(names):
            numbers = None if name in texts else _plain_numbers(cells[:, j])
            if numbers is None:
                numbers = self._numbers_or_texts(name, rule is None, name in texts)
            columns[name] = numbers

        try:
            if all(isinstance(column, np.ndarray) for column in columns.values()):
                return Table.of(np.column_stack(list(columns.values())), list(columns))
            known = None if rule is None else list(training)
            return Table.of(pd.DataFrame(columns), columns=known)
        except DataError as error:
            raise DataError(f"{self.path}: {error}") from error

    def _numbers_or_texts(self, name: str, is_training: bool, are_texts: bool) -> pd.Series:
        """Return a column as numbers, with a warning if some cells are marks; or as texts, None where missing."""
        cells = self.column(name)
        numbers, not_numbers = numbers_in_cells(cells)
        label = f"{self.path}: column {quoted(name)}"
        if are_texts or (is_training and len(not_numbers)):
            try:
                return cells.map(str, na_action="ignore")
            except UnicodeEncodeError as error:
                raise DataError(f"{label} {surrogate_in(error.object)}") from error

        if len(not_numbers):
            raise DataError(
                f"{label} held numbers when the model was fitted, now it holds {quoted(not_numbers.iloc[0])}"
            )

        marks = cells[cells.notna() & numbers.isna()]
        if len(marks):
            warnings.warn(
                f"{label} holds numbers; cells such as {quoted(marks.iloc[0])} count as missing",
                stacklevel=3,
            )

        return numbers

    def table_for(self, rule: BinaryRule) -> Table:
        """Return the columns that a model was fitted on; numbers, categories and dates are what they were then.

        Parameters
        ----------
        rule : BinaryRule
            The model's ``binary_rule_``.

        Raises
        ------
        DataError
            If a column is not in the file, or should hold numbers and does not.

        Examples
        --------
        >>> from pathlib import Path
        >>> import pandas as pd
        >>> from tsenet.data import BinaryRule, DataFile, Table
        >>> rule = BinaryRule.learn(Table.of([[1, 2], [3, 4]], names=["a", "b"]))
        >>> file = DataFile(Path("new.csv"), pd.DataFrame({"b": ["5"], "c": ["x"], "a": [""]}))
        >>> file.table_for(rule).values.tolist()
        [[nan, 5.0]]
        """
        dates = date_columns(self.columns, rule.names_in)
        sources = [(name.rpartition(": ")[0], name) for name in rule.names_in]
        names = dict.fromkeys(source if source in dates else name for source, name in sources)
        return replace(self.table(list(names), rule), named=rule.named)


def read_data(
    path: str | Path,
    columns: Sequence[str] | None = None,
    *,
    header: bool = True,
    encoding: str = "utf-8",
    max_bytes: int | None = None,
) -> DataFile:
    r"""Read the columns of a file.

    Parameters
    ----------
    path : str or Path
        - A ``.csv``, ``.tsv``, ``.jsonl``, ``.ndjson``, ``.json`` (an array of objects or of strings) or ``.txt`` file
          (one text per line), optionally compressed (``.gz``, ``.xz`` or ``.bz2``). Fields of a ``.csv`` file may
          be separated by commas, semicolons, tabs or vertical bars. Strings and lines without a name are called
          ``text``.
        - A ``.parquet`` or ``.pq`` file (needs pyarrow).
        - A folder: every ``.txt`` file in it and its subfolders is a row, sorted by name. They have
          the columns ``text``, ``file`` and ``folder``.
        - ``"-"``: standard input. It is JSON lines or a JSON array if it begins with ``{`` or ``[``; csv if its first
          line names the requested columns, or none are requested; otherwise one text per line.
    columns : sequence of str or None, default=None
        The columns to read; None for all.
    header : bool, default=True
        Whether the first line of a csv or tsv file names the columns. If False, they are called
        "1", "2", ... Other formats always have names.
    encoding : str, default="utf-8"
        Encoding of text formats; change it for files that are not UTF-8. A byte-order mark is skipped.
    max_bytes : int or None, default=None
        Refuse a file that unpacks to more: its characters, and eight bytes for each cell. None: 100 MB, or twenty
        times the size of the file if that is more. Raise it for a file that you trust.

    Returns
    -------
    DataFile

    Raises
    ------
    DataError
        For an unknown format, an unknown column (lists the known ones), a broken record (gives the
        line number), a wrong encoding, a damaged file, or a file without rows.
    TooLargeError
        If the file unpacks to more than ``max_bytes``.
    MissingDependencyError
        For parquet without pyarrow.

    See Also
    --------
    vectorize : Turn texts into a table of word counts.

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
    >>> file.texts("animal")
    ['cat', 'ant']
    """
    import pandas as pd

    if max_bytes is None:
        meter = _Meter(Path(path), _default_limit(Path(path)))
    else:
        meter = _Meter(Path(path), max_bytes, max(_MAX_RECORD, max_bytes))
    chunks = list(_numbered_chunks(Path(path), columns, header, encoding, meter))
    if not chunks:
        raise DataError(f"{path} holds no rows")
    return DataFile(Path(path), pd.concat(chunks))


def _plain_numbers(cells: npt.NDArray[Any]) -> npt.NDArray[np.float64] | None:
    """Return cells (N,) as numbers, NaN where blank; None if one of the others is not a number."""
    import pandas as pd

    filled = pd.notna(cells) & (cells != "")
    try:
        numbers = cells[filled].astype(np.float64)
    except (TypeError, ValueError, OverflowError):
        return None
    if numbers.size == 0 or np.isnan(numbers).any():  # "nan" is a mark of a missing value
        return None
    column = np.full(cells.shape, np.nan)
    column[filled] = numbers
    return column


def numbers_in_cells(cells: pd.Series) -> tuple[pd.Series, pd.Series]:
    """Return the cells as numbers (NaN if missing), and the cells that are neither numbers nor missing-value markers.

    In a column without numbers, ``NA`` is kept: it may be a name.
    """
    numbers, other = numbers_of(cells)
    if numbers.notna().any():
        is_mark = other.astype(str).str.strip().str.lower().isin(_MISSING_MARKS)
        other = other[~is_mark]
    return numbers, other


# ---- chunks of rows


def read_chunks(
    path: str | Path,
    columns: Sequence[str] | None = None,
    *,
    header: bool = True,
    encoding: str = "utf-8",
) -> Iterator[pd.DataFrame]:
    r"""Read a file in chunks of a few thousand rows, for files larger than memory.

    Parameters
    ----------
    path : str or Path
        As for :func:`read_data`.
    columns : sequence of str or None, default=None
        The columns to read; None for all.
    header, encoding
        As for :func:`read_data`.

    Yields
    ------
    DataFrame
        The cells as they are in the file, indexed by the number of the row; NaN where a JSON object lacks a key. A
        later chunk of JSON lines may have more columns.

    Raises
    ------
    DataError, MissingDependencyError
        As for :func:`read_data`.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> from tsenet.data import read_chunks
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder) / "sizes.tsv"
    ...     _ = path.write_text("name\tsize\nant\t1\nbee\t2\n")
    ...     [chunk.to_dict("list") for chunk in read_chunks(path)]
    [{'name': ['ant', 'bee'], 'size': ['1', '2']}]
    """
    yield from _numbered_chunks(Path(path), columns, header, encoding, _Meter(Path(path)))


class _Meter:
    """Counts what a file unpacks to, and raises a TooLargeError when that is too much.

    Parameters
    ----------
    path : Path
        The file, for messages.
    limit : float
        Bytes that the file may unpack to: characters, and references for each cell.
    max_record : int
        Characters that a line, a cell or a text may have.
    """

    def __init__(self, path: Path, limit: float = math.inf, max_record: int = _MAX_RECORD) -> None:
        self.path = path
        self.limit = limit
        self.max_record = max_record
        self.n_characters = 0

    def check(self, n_cells: int = 0) -> None:
        """Raise the error if the characters so far and this many cells are too much."""
        if self.n_characters + _BYTES_PER_CELL * n_cells > self.limit:
            raise TooLargeError(
                f"{self.path} unpacks to more than {self.limit / 1e6:,.0f} MB, far more than its size: if you trust "
                "it, raise the limit with max_bytes=... (in the shell --max-size, in MB)"
            )

    def check_record(self, n_characters: int, where: str) -> None:
        """Raise the error if a line, cell or text of this length may have been cut."""
        if n_characters >= self.max_record:
            raise TooLargeError(
                f"{where}: more than {self.max_record:,} characters: split it into several rows, or raise the "
                "limit with max_bytes=... of read_data (in the shell --max-size, in MB)"
            )


def _default_limit(path: Path) -> float:
    """Return how many bytes a file or folder may unpack to."""
    if path == _STDIN:
        return math.inf  # what comes in is not compressed
    files = path.rglob("*") if path.is_dir() else [path]
    return max(_MIN_LIMIT, _MAX_RATIO * sum(file.stat().st_size for file in files))


def _numbered_chunks(
    path: Path, columns: Sequence[str] | None, header: bool, encoding: str, meter: _Meter
) -> Iterator[pd.DataFrame]:
    """Read a file in chunks whose index counts the rows."""
    wanted = None if columns is None else list(dict.fromkeys(columns))
    n_before = 0
    try:
        for chunk in _chunks(path, wanted, header, encoding, meter):
            yield chunk.set_axis(range(n_before, n_before + len(chunk)))
            n_before += len(chunk)
    except UnicodeEncodeError as error:
        raise DataError(f"{path}: a column name {surrogate_in(error.object)}") from error
    except MemoryError as error:
        if isinstance(error, TooLargeError):
            raise
        raise TooLargeError(f"{path} unpacks to more than fits into memory") from error


def _chunks(
    path: Path, columns: list[str] | None, header: bool, encoding: str, meter: _Meter
) -> Iterator[pd.DataFrame]:
    """Read a file in any format."""
    if path != _STDIN and path.is_dir():
        yield from _frames_of_objects(_folder_records(path, encoding, meter), columns, meter)
        return

    suffix = "" if path == _STDIN else _format_of(path)
    if path != _STDIN:
        path.stat()  # a missing file is not a damaged one

    if suffix == ".parquet":
        yield from _parquet_frames(path, columns, meter)
        return

    with _open_text(path, encoding) as file:
        sample = file.read(_SAMPLE_SIZE)
        file.seek(0)
        delimiter = "\t" if suffix == ".tsv" else _delimiter_of(sample)
        suffix = suffix or _format_of_stream(sample, columns if header else None, delimiter)
        if suffix in (".csv", ".tsv"):
            rows = _csv_rows(file, delimiter, meter)
            if first := next(rows, None):
                names = first if header else [str(j + 1) for j in range(len(first))]
                _check_columns(columns or names, names, path)
                rows = rows if header else chain([first], rows)
                yield from _frames_of_rows(rows, names, columns, meter)
            return

        if suffix == ".txt":
            records: Iterator[Any] = (
                {"text": line.rstrip("\r\n")} for line in _lines(file, meter) if line.strip()
            )
        else:
            is_array = suffix == ".json" and sample.lstrip().startswith("[")
            records = _json_records(file, is_array, meter)

        yield from _frames_of_objects(records, columns, meter)


def _frames_of_rows(
    rows: Iterable[list[str]],
    names: Sequence[str],
    columns: Sequence[str] | None,
    meter: _Meter,
) -> Iterator[pd.DataFrame]:
    """Group the rows of a csv file into chunks of the wanted columns."""
    import pandas as pd

    wanted = list(names if columns is None else columns)
    n_rows = 0
    for batch in _batches(rows, meter):
        n_rows += len(batch)
        meter.check(n_rows * len(wanted))
        yield pd.DataFrame(batch, columns=names, dtype=object)[wanted]


def _frames_of_objects(
    records: Iterable[dict[str, Any]], columns: Sequence[str] | None, meter: _Meter
) -> Iterator[pd.DataFrame]:
    """Group objects of any keys into chunks, NaN where one lacks a key that another has."""
    import pandas as pd

    keys: dict[str, None] = {}
    n_rows = 0
    for batch in _batches(records, meter):
        n_rows += len(batch)
        keys |= dict.fromkeys(key for record in batch for key in record)
        names = list(keys if columns is None else columns)
        meter.check(n_rows * len(names))
        cells = [[record.get(name, math.nan) for name in names] for record in batch]
        yield pd.DataFrame(cells, columns=names, dtype=object)
    if keys and columns is not None:
        _check_columns(columns, list(keys), meter.path)


def _batches(records: Iterable[Any], meter: _Meter) -> Iterator[list[Any]]:
    """Group records into lists of a few thousand, or fewer if they have many cells or characters."""
    batch: list[Any] = []
    n_cells = 0
    n_read = meter.n_characters
    for record in records:
        batch.append(record)
        n_cells += len(record)
        full = len(batch) == _CHUNK_ROWS or n_cells >= _CHUNK_CELLS
        if full or meter.n_characters - n_read >= _CHUNK_CHARACTERS:
            yield batch
            batch = []
            n_cells = 0
            n_read = meter.n_characters

    if batch:
        yield batch


def _check_columns(columns: Sequence[str], names: Sequence[str], path: Path) -> None:
    """Raise a DataError for a column that the file does not have, or has twice."""
    counts = Counter(names)
    for column in columns:
        if counts[column] != 1:
            problem = f"no column {quoted(column)}; it has {listed(names) or 'none'}"
            if counts[column]:
                problem = f"{counts[column]} columns named {quoted(column)}"
            raise DataError(f"{path} has {problem}{_header_hint(path, names)}")


def _header_hint(path: Path, names: Sequence[str]) -> str:
    """Return what to add to a message if the column names of a csv file look like its first row."""
    if path != _STDIN and not {".csv", ".tsv"} & {suffix.lower() for suffix in path.suffixes}:
        return ""
    n_likely = sum(0 < len(name.strip()) <= 60 and math.isnan(number_of(name)) for name in names)
    if 2 * n_likely > len(names) or list(names) == [str(j + 1) for j in range(len(names))]:
        return ""
    return ". The first line looks like data: if the file has no header, use --no-header (header=False)"


# ---- formats


def _format_of(path: Path) -> str:
    """Return the suffix that names the format, without a compression suffix."""
    match = _FORMAT.search(path.name.lower())
    if match is None and path.suffix == ".tsenet":
        raise DataError(
            f"{path.name} is a model, not data: where a command takes both, the model comes first"
        )
    if match is None:
        raise DataError(
            f"cannot tell the format of {path.name}: its name should end in .csv, .tsv, .jsonl, .ndjson, .json, .txt "
            f"(also with {', '.join(_OPENERS)}), .parquet or .pq"
        )
    return match[1] or ".parquet"


def _format_of_stream(sample: str, columns: Sequence[str] | None, delimiter: str) -> str:
    """Infer the format of standard input: JSON by its first character, csv if its first line names the columns."""
    if sample.lstrip()[:1] in ("{", "["):
        return ".json"
    is_csv = columns is None or set(columns) <= set(_first_record(sample, delimiter))
    return ".csv" if is_csv else ".txt"


def _delimiter_of(sample: str) -> str:
    """Infer what separates the fields of a csv file: what splits its first line into most of them."""
    return max(_DELIMITERS, key=lambda delimiter: len(_first_record(sample, delimiter)))


def _first_record(sample: str, delimiter: str) -> list[str]:
    rows = csv.reader(io.StringIO(sample, newline=""), delimiter=delimiter)
    return next(filter(None, rows), [])


def _lines(file: IO[str], meter: _Meter) -> Iterator[str]:
    """Yield the lines of a file, with their ends."""
    for number in count(1):
        line = file.readline(meter.max_record)
        if not line:
            return
        if len(line) == meter.max_record:
            meter.check_record(len(line), f"{meter.path}, line {number}")
        meter.n_characters += len(line)
        yield line


def _csv_rows(file: IO[str], delimiter: str, meter: _Meter) -> Iterator[list[str]]:
    """Yield the fields of each record that is not blank; all must have equally many."""
    path = meter.path
    # Of the whole process; its default refuses long texts.
    csv.field_size_limit(min(meter.max_record, (1 << 31) - 1))
    # Strict: otherwise the rest of the file after an unclosed quote would be one text.
    reader = csv.reader(_lines(file, meter), delimiter=delimiter, strict=True)
    width = 0
    try:
        for row in filter(None, reader):
            width = width or len(row)
            if len(row) != width:
                fields = count_of(len(row), "field")
                raise DataError(f"{path}, line {reader.line_num}: {fields}, expected {width}")
            yield row
    except csv.Error as error:
        if "field limit" in str(error):
            meter.check_record(
                meter.max_record, f"{path}: a cell that ends after line {reader.line_num}"
            )
        raise DataError(f"{path}, line {reader.line_num}: {error}") from error


def _json_records(file: IO[str], is_array: bool, meter: _Meter) -> Iterator[dict[str, Any]]:
    """Yield the object on each line, or the elements of an array; a string is a text."""
    path = meter.path
    if is_array:
        text = file.read() if meter.limit == math.inf else file.read(int(meter.limit) + 1)
        n_bytes = _BYTES_PER_JSON_OBJECT * (text.count("{") + text.count("["))
        meter.n_characters = len(text)
        meter.check(n_bytes // _BYTES_PER_CELL)
        elements = enumerate(_parse_json(text, str(path)), start=1)
        values = ((f"{path}, element {number}", element) for number, element in elements)
    else:
        lines = (
            (f"{path}, line {k}", line)
            for k, line in enumerate(_lines(file, meter), start=1)
            if line.strip()
        )
        values = ((where, _parse_json(line, where)) for where, line in lines)

    for where, element in values:
        record = {"text": element} if isinstance(element, str) else element
        if not isinstance(record, dict):
            raise DataError(f"{where}: expected a JSON object, got a {type(element).__name__}")
        yield record


def _parse_json(text: str, where: str) -> Any:
    try:
        return json.loads(text)
    except (ValueError, RecursionError) as error:
        raise DataError(f"{where}: not JSON: {error}") from error


def _folder_records(folder: Path, encoding: str, meter: _Meter) -> Iterator[dict[str, Any]]:
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
            text = file.read(meter.max_record)
        meter.check_record(len(text), str(folder / name))
        meter.n_characters += len(text)
        yield {"text": text, "file": _shown(name), "folder": _shown(name.parent)}


def _shown(path: Path) -> str:
    """Return a path with ``/``; bytes of its name that are not UTF-8 are replaced."""
    return os.fsencode(path.as_posix()).decode("utf-8", "replace")


def import_pyarrow() -> Any:
    """Return pyarrow, with its module for Parquet files."""
    why = "Parquet needs pyarrow: pip install pyarrow"
    import_optional("pyarrow.parquet", why)
    import_optional("pyarrow.compute", why)
    return import_optional("pyarrow", why)


def _parquet_frames(path: Path, columns: list[str] | None, meter: _Meter) -> Iterator[pd.DataFrame]:
    import pandas as pd

    pyarrow = import_pyarrow()
    try:
        with pyarrow.parquet.ParquetFile(path) as file:
            schema = file.schema_arrow
            wanted = schema.names if columns is None else columns
            _check_columns(wanted, schema.names, path)
            n_cells = _parquet_cells(file.metadata, wanted, meter)
            # As dictionaries, long texts that repeat stay as small as they are in the file.
            texts = [
                field.name for field in schema if str(field.type) in ("string", "large_string")
            ]
        with pyarrow.parquet.ParquetFile(path, read_dictionary=texts) as file:
            for batch in file.iter_batches(_CHUNK_ROWS, columns=columns):
                for part in _parts_of_batch(batch, meter, n_cells):
                    # Not to_pandas, in which whole numbers beside a missing one become 1.0, 2.0, …
                    yield pd.DataFrame(part.to_pydict(), dtype=object)
    except (pyarrow.ArrowException, OSError) as error:
        if isinstance(error, MemoryError):
            raise
        raise DataError(f"{path} is damaged or not a parquet file: {error}") from error


def _parquet_cells(metadata: Any, columns: Sequence[str], meter: _Meter) -> int:
    """Return how many cells some columns of a file have; refuse pages that unpack to too much."""
    n_cells = 0
    n_bytes = 0
    for number in range(metadata.num_row_groups):
        group = metadata.row_group(number)
        for position in range(group.num_columns):
            column = group.column(position)
            if column.path_in_schema.split(".")[0] in columns:
                n_cells += column.num_values
                n_bytes = max(n_bytes, column.total_uncompressed_size)
    meter.check(n_cells + n_bytes // _BYTES_PER_CELL)
    return n_cells


def _parts_of_batch(batch: Any, meter: _Meter, n_cells: int) -> Iterator[Any]:
    """Yield the rows of a batch, fewer at a time if their texts are long."""
    pyarrow = import_pyarrow()
    n_characters = np.zeros(batch.num_rows, np.int64)
    for column in batch.columns:
        if isinstance(column, pyarrow.DictionaryArray):
            lengths = pyarrow.compute.binary_length(column.dictionary).take(column.indices)
            n_characters += lengths.fill_null(0).to_numpy(zero_copy_only=False)

    meter.n_characters += int(n_characters.sum())
    meter.check(n_cells)
    part = np.cumsum(n_characters) // _CHUNK_CHARACTERS
    edges = [0, *(np.flatnonzero(np.diff(part)) + 1).tolist(), batch.num_rows]
    for start, stop in pairwise(edges):
        rows = batch.slice(start, stop - start)
        columns = [
            column.dictionary_decode() if isinstance(column, pyarrow.DictionaryArray) else column
            for column in rows.columns
        ]
        yield pyarrow.RecordBatch.from_arrays(columns, names=rows.schema.names)


# ---- opening files


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
        opened = _OPENERS.get(path.suffix.lower(), open)
        with opened(path, mode="rt", encoding=encoding, newline="") as file:
            yield file
    except UnicodeDecodeError as error:
        byte = error.object[error.start]
        raise DataError(
            f"{path} is not {error.encoding} text (byte 0x{byte:02x}): give its encoding, "
            "for example encoding='latin-1' (in the shell --encoding latin-1)"
        ) from error
    except (OSError, EOFError, lzma.LZMAError, zlib.error) as error:
        raise DataError(f"{path} is damaged or not a {path.suffix} file: {error}") from error
