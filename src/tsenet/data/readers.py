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
from itertools import chain, islice
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

from tsenet.data.table import Table, date_columns, number_of, numbers_of
from tsenet.errors import DataError, count_of, import_optional, listed, quoted

if TYPE_CHECKING:
    import pandas as pd

    from tsenet.data.binary import BinaryRule

# The function that opens a file with each compression suffix.
_OPENERS: dict[str, Callable[..., Any]] = {".gz": gzip.open, ".xz": lzma.open, ".bz2": bz2.open}
_FORMAT = re.compile(r"(\.(csv|tsv|jsonl|ndjson|json|txt))(\.gz|\.xz|\.bz2)?$|\.(parquet|pq)$")

_STDIN = Path("-")
_CHUNK_ROWS = 4096
_MISSING_MARKS = {"na", "n/a", "#n/a", "nan", "null", "none", "?", "-", ".", "\\n"}
# Delimiters of csv files, the most usual first, and the number of characters from which the format is inferred.
_DELIMITERS = (",", ";", "\t", "|")
_SAMPLE_SIZE = 1 << 16


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
        _check_columns([name], list(self.columns), self.path)
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
        columns: dict[str, pd.Series] = {}
        for name in names:
            cells = self.column(name)
            columns[name], other = numbers_in_cells(cells)
            if name in texts or (rule is None and len(other)):
                columns[name] = cells.map(str, na_action="ignore")
                continue
            label = f"{self.path}: column {quoted(name)}"
            if len(other):
                now = f"now it holds {quoted(other.iloc[0])}"
                raise DataError(f"{label} held numbers when the model was fitted, {now}")
            marks = cells[cells.notna() & columns[name].isna()]
            if len(marks):
                shown = f"cells such as {quoted(marks.iloc[0])} count as missing"
                warnings.warn(f"{label} holds numbers; {shown}", stacklevel=2)
        try:
            known = None if rule is None else list(training)
            return Table.of(pd.DataFrame(columns), columns=known)
        except DataError as error:
            raise DataError(f"{self.path}: {error}") from error

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

    Returns
    -------
    DataFile

    Raises
    ------
    DataError
        For an unknown format, an unknown column (lists the known ones), a broken record (gives the
        line number), a wrong encoding, a damaged file, or a file without rows.
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

    chunks = list(read_chunks(path, columns, header=header, encoding=encoding))
    if not chunks:
        raise DataError(f"{path} holds no rows")
    return DataFile(Path(path), pd.concat(chunks))


def numbers_in_cells(cells: pd.Series) -> tuple[pd.Series, pd.Series]:
    """Return the cells as numbers, NaN where missing; and the cells that are neither numbers nor marks of missing ones.

    In a column without numbers, ``NA`` is no mark but may be a name.
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
    wanted = None if columns is None else list(dict.fromkeys(columns))
    n_before = 0
    for chunk in _chunks(Path(path), wanted, header, encoding):
        yield chunk.set_axis(range(n_before, n_before + len(chunk)))
        n_before += len(chunk)


def _chunks(
    path: Path, columns: list[str] | None, header: bool, encoding: str
) -> Iterator[pd.DataFrame]:
    """Read a file in any format."""
    if path != _STDIN and path.is_dir():
        yield from _frames(_folder_records(path, encoding), path, columns)
        return
    suffix = "" if path == _STDIN else _format_of(path)
    if path != _STDIN:
        path.stat()  # a missing file is not a damaged one
    if suffix == ".parquet":
        yield from _parquet_frames(path, columns)
        return
    with _open_text(path, encoding) as file:
        sample = file.read(_SAMPLE_SIZE)
        file.seek(0)
        delimiter = "\t" if suffix == ".tsv" else _delimiter_of(sample)
        suffix = suffix or _format_of_stream(sample, columns if header else None, delimiter)
        if suffix in (".csv", ".tsv"):
            rows = _csv_rows(file, path, delimiter)
            if first := next(rows, None):
                names = first if header else [str(j + 1) for j in range(len(first))]
                _check_columns(columns or names, names, path)
                rows = rows if header else chain([first], rows)
                yield from _frames(rows, path, columns, names)
            return
        if suffix == ".txt":
            records: Iterator[Any] = (
                {"text": line.rstrip("\r\n")} for line in file if line.strip()
            )
        else:
            is_array = suffix == ".json" and sample.lstrip().startswith("[")
            records = _json_records(file, path, is_array)
        yield from _frames(records, path, columns)


def _frames(
    records: Iterable[Any],
    path: Path,
    columns: Sequence[str] | None,
    names: Sequence[str] | None = None,
) -> Iterator[pd.DataFrame]:
    """Group records into chunks: rows of the named columns, or objects of any keys, NaN where one lacks a key."""
    import pandas as pd

    known: dict[str, None] = {}
    records = iter(records)
    while batch := list(islice(records, _CHUNK_ROWS)):
        frame = pd.DataFrame(batch, columns=names, dtype=object)
        known |= dict.fromkeys(frame)
        yield frame.reindex(columns=list(known if columns is None else columns)).astype(object)
    if known and columns is not None:
        _check_columns(columns, list(known), path)


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


def _csv_rows(file: IO[str], path: Path, delimiter: str) -> Iterator[list[str]]:
    """Yield the fields of each record that is not blank; all must have equally many."""
    csv.field_size_limit((1 << 31) - 1)  # of the whole process; its default refuses long texts
    # Strict: otherwise the rest of the file after an unclosed quote would be one text.
    reader = csv.reader(file, delimiter=delimiter, strict=True)
    width = 0
    try:
        for row in filter(None, reader):
            width = width or len(row)
            if len(row) != width:
                fields = count_of(len(row), "field")
                raise DataError(f"{path}, line {reader.line_num}: {fields}, expected {width}")
            yield row
    except csv.Error as error:
        raise DataError(f"{path}, line {reader.line_num}: {error}") from error


def _json_records(file: IO[str], path: Path, is_array: bool) -> Iterator[dict[str, Any]]:
    """Yield the object on each line, or the elements of an array; a string is a text."""
    if is_array:
        elements = enumerate(_parse_json(file.read(), str(path)), start=1)
        values = ((f"{path}, element {number}", value) for number, value in elements)
    else:
        lines = (
            (f"{path}, line {k}", line) for k, line in enumerate(file, start=1) if line.strip()
        )
        values = ((where, _parse_json(line, where)) for where, line in lines)
    for where, value in values:
        record = {"text": value} if isinstance(value, str) else value
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
    why = "Parquet needs pyarrow: pip install pyarrow"
    import_optional("pyarrow.parquet", why)
    return import_optional("pyarrow", why)


def _parquet_frames(path: Path, columns: list[str] | None) -> Iterator[pd.DataFrame]:
    import pandas as pd

    pyarrow = import_pyarrow()
    try:
        with pyarrow.parquet.ParquetFile(path) as file:
            known = file.schema_arrow.names
            _check_columns(known if columns is None else columns, known, path)
            for batch in file.iter_batches(_CHUNK_ROWS, columns=columns):
                # Not to_pandas, in which whole numbers beside a missing one become 1.0, 2.0, …
                yield pd.DataFrame(batch.to_pydict(), dtype=object)
    except (pyarrow.ArrowException, OSError) as error:
        raise DataError(f"{path} is damaged or not a parquet file: {error}") from error


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
