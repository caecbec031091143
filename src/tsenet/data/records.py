"""Records of files: csv, tsv, JSON, JSON lines, plain text, parquet, folders of texts and standard input."""

from __future__ import annotations

import codecs
import csv
import io
import itertools
import json
import os
import re
import sys
import threading
from collections.abc import Generator, Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any

from tsenet.data.columns import count_of
from tsenet.data.compression import OPENERS, opener_of, report_damage
from tsenet.errors import DataError, MissingDependencyError

__all__ = ["STDIN", "Record", "records_of", "refuse_unknown"]

#: A record: its line number, or its number in a file without lines, and its values by column.
Record = tuple[int, dict[str, Any]]

#: The path that stands for standard input.
STDIN = Path("-")

_CSV, _TSV, _JSON, _TEXT = ".csv", ".tsv", ".json", ".txt"
_JSON_LINES = (".jsonl", ".ndjson")
_PARQUET = (".parquet", ".pq")
_TEXT_FORMATS = (_CSV, _TSV, *_JSON_LINES, _JSON, _TEXT)

# What separates the fields of a csv file, the most usual first, and the lines that tell.
_DELIMITERS = (",", ";", "\t", "|")
_SAMPLE = 50

# The csv module has one limit on the length of a field for the whole process. It is raised while a
# file is read, under a lock, and then restored.
_FIELD_LIMIT = (1 << 31) - 1
_field_limit_lock = threading.Lock()

# Digits of the largest float64.
_MOST_DIGITS = 309

# An escape in JSON that may be half of a character.
_HALF = re.compile(r"\\u[dD][89a-fA-F]")


def records_of(
    path: Path, wanted: Sequence[str] | None, header: bool, encoding: str
) -> Generator[Record, None, None]:
    """Yield the records of a file or folder; from csv and parquet only the wanted columns, or all for None."""
    if path != STDIN and path.is_dir():
        yield from _folder_records(path, encoding)
        return
    suffix = "" if path == STDIN else _format_of(path)
    if suffix in _PARQUET:
        yield from _parquet_records(path, wanted)
        return
    with _open_text(path, encoding) as file:
        lines: Iterable[str] = file
        if path == STDIN:
            suffix, lines = _format_of_stream(file, wanted, header)
        if suffix in (_CSV, _TSV):
            with _long_fields():
                delimiter = "\t"
                if suffix == _CSV:
                    delimiter, lines = _delimiter_of(lines, header)
                yield from _csv_records(lines, path, wanted, delimiter, header)
        elif suffix == _TEXT:
            yield from _text_records(lines)
        else:
            yield from _json_records(lines, path, array=suffix == _JSON)


def refuse_unknown(wanted: Sequence[str], names: Sequence[str], path: Path) -> None:
    """Raise a DataError for a wanted column that the file does not have, or has twice."""
    for name in wanted:
        if name not in names:
            listed = ", ".join(repr(known) for known in names)
            raise DataError(f"{path} has no column {name!r}; it has {listed}")
        if names.count(name) > 1:
            raise DataError(f"{path} has {names.count(name)} columns named {name!r}")


# ---- which format


def _format_of(path: Path) -> str:
    """Return the suffix that names the format, without a compression suffix."""
    suffixes = [suffix.lower() for suffix in path.suffixes]
    known: tuple[str, ...] = (*_TEXT_FORMATS, *_PARQUET)
    if len(suffixes) > 1 and suffixes[-1] in OPENERS:
        suffixes.pop()
        known = _TEXT_FORMATS
    if not suffixes or suffixes[-1] not in known:
        raise DataError(
            f"cannot tell the format of {path.name}: its name should end in "
            f"{', '.join((*_TEXT_FORMATS, *_PARQUET))} (the text formats also with "
            f"{', '.join(OPENERS)})"
        )
    return suffixes[-1]


def _format_of_stream(
    file: Iterable[str], wanted: Sequence[str] | None, header: bool
) -> tuple[str, Iterator[str]]:
    """Tell the format of standard input by its first line; return it and all lines."""
    lines = iter(file)
    head = _head(lines)
    first = head[-1] if head else ""
    every = itertools.chain(head, lines)
    if first.lstrip()[:1] in ("{", "["):
        return (".jsonl" if first.lstrip()[0] == "{" else _JSON), every
    if wanted is None or not header:
        return _CSV, every
    with _long_fields():  # a text may be one long line
        named = [next(csv.reader([first], delimiter=delimiter), []) for delimiter in _DELIMITERS]
    return (_CSV if any(set(wanted) <= set(fields) for fields in named) else _TEXT), every


def _head(lines: Iterator[str]) -> list[str]:
    """Take the lines up to the first that is not blank."""
    head = []
    for line in lines:
        head.append(line)
        if line.strip():
            break
    return head


def _delimiter_of(file: Iterable[str], header: bool) -> tuple[str, Iterator[str]]:
    """Tell what separates the fields of a csv file; return it and all lines.

    It is what splits the first records into equally many fields, more than one: of several the one that makes most
    fields of the column names, or without names the most usual. A comma, if none does.
    """
    lines = iter(file)
    sample = list(itertools.islice(lines, _SAMPLE))
    widths = {}
    for delimiter in _DELIMITERS:
        found = _widths(sample, delimiter)
        if found and min(found) == max(found) > 1:
            widths[delimiter] = found[0] if header else 2
    best = max(widths, key=widths.__getitem__, default=",")
    return best, itertools.chain(sample, lines)


def _widths(sample: list[str], delimiter: str) -> list[int]:
    """Number of fields of each record, as far as they can be read."""
    widths = []
    try:
        for row in csv.reader(sample, delimiter=delimiter, strict=True):
            if row:
                widths.append(len(row))
    except csv.Error:  # also for a record that goes on after the sample
        pass
    return widths


# ---- opening


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
        if path == STDIN:
            stream = io.TextIOWrapper(sys.stdin.buffer, encoding=encoding, newline="")
            try:
                yield stream
            finally:
                stream.detach()  # standard input stays open
            return
        with (
            report_damage(f"{path} is damaged or not a {path.suffix} file"),
            opener_of(path)(path, mode="rt", encoding=encoding, newline="") as file,
        ):
            yield file
    except UnicodeDecodeError as error:
        byte = error.object[error.start]
        raise DataError(
            f"{path} is not {error.encoding} text (byte 0x{byte:02x}): give its encoding, "
            "for example encoding='latin-1' (in the shell --encoding latin-1)"
        ) from error


@contextmanager
def _long_fields() -> Iterator[None]:
    with _field_limit_lock:
        before = csv.field_size_limit(_FIELD_LIMIT)
        try:
            yield
        finally:
            csv.field_size_limit(before)


# ---- records by format


def _csv_records(
    file: Iterable[str], path: Path, wanted: Sequence[str] | None, delimiter: str, header: bool
) -> Iterator[Record]:
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
                refuse_unknown(asked, names, path)
                places = {name: names.index(name) for name in asked}
                if header:
                    continue
            if len(row) != width:
                fields = count_of(len(row), "field")
                raise DataError(f"{path}, line {reader.line_num}: {fields}, expected {width}")
            yield reader.line_num, {name: row[j] for name, j in places.items()}
    except csv.Error as error:
        raise DataError(f"{path}, line {reader.line_num}: {error}") from error


def _json_records(file: Iterable[str], path: Path, *, array: bool) -> Iterator[Record]:
    """Yield the object on each line, or the elements of an array."""
    lines = iter(file)
    if array:
        head = _head(lines)
        lines = itertools.chain(head, lines)
        # Many programs write lines of JSON under this name too.
        if head and head[-1].lstrip().startswith("["):
            for number, element in enumerate(_parse("".join(lines), f"{path}"), start=1):
                record = {"text": element} if isinstance(element, str) else element
                yield number, _checked_object(record, f"{path}, element {number}")
            return
    for number, line in enumerate(lines, start=1):
        if line.strip():
            place = f"{path}, line {number}"
            yield number, _checked_object(_parse(line, place), place)


def _parse(text: str, place: str) -> Any:
    """Parse JSON; raise a DataError for what is none, for halves of characters and for huge numbers."""

    def whole(digits: str) -> int:
        if len(digits) > _MOST_DIGITS:
            raise DataError(f"{place}: a number of {len(digits):,} digits: no float64 can hold it")
        return int(digits)

    try:
        value = json.loads(text, parse_int=whole if len(text) > _MOST_DIGITS else None)
        if _HALF.search(text):
            json.dumps(value, ensure_ascii=False).encode("utf-8")
    except UnicodeEncodeError as error:
        half = error.object[error.start].encode("ascii", "backslashreplace").decode()
        raise DataError(f"{place}: {half} is half of a character (a lone surrogate)") from error
    except (json.JSONDecodeError, RecursionError) as error:
        raise DataError(f"{place}: not JSON: {error}") from error
    return value


def _checked_object(value: Any, place: str) -> dict[str, Any]:
    if not isinstance(value, dict):
        raise DataError(f"{place}: expected a JSON object, got a {type(value).__name__}")
    return value


def _text_records(file: Iterable[str]) -> Iterator[Record]:
    """Yield each line that is not blank as a document."""
    for number, line in enumerate(file, start=1):
        if line.strip():
            yield number, {"text": line.rstrip("\r\n")}


def _folder_records(folder: Path, encoding: str) -> Iterator[Record]:
    """Yield the text, name and folder of each text file in a folder and its folders, by name."""
    found = sorted(
        path
        for path in folder.rglob("*")
        if _is_text_name(path.name) and path.is_file() and not _is_hidden(path.relative_to(folder))
    )
    if not found:
        raise DataError(f"the folder {folder} holds no {_TEXT} files")
    for number, path in enumerate(found, start=1):
        inner = path.relative_to(folder)
        with _open_text(path, encoding) as file:
            text = file.read()
        yield number, {"text": text, "file": _shown(inner), "folder": _shown(inner.parent)}


def _is_text_name(name: str) -> bool:
    suffixes = [suffix.lower() for suffix in Path(name).suffixes]
    if len(suffixes) > 1 and suffixes[-1] in OPENERS:
        suffixes.pop()
    return suffixes[-1:] == [_TEXT]


def _is_hidden(path: Path) -> bool:
    return any(part.startswith(".") for part in path.parts)


def _shown(path: Path) -> str:
    """A path with ``/``; bytes of its name that are no UTF-8 are replaced."""
    return os.fsencode(path.as_posix()).decode("utf-8", "replace")


def _parquet_records(path: Path, wanted: Sequence[str] | None) -> Iterator[Record]:
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
            refuse_unknown(asked, file.schema_arrow.names, path)
            for batch in file.iter_batches(columns=list(asked)):
                for record in batch.to_pylist():
                    number += 1
                    yield number, record
    except (pyarrow.ArrowException, UnicodeDecodeError) as error:
        raise DataError(f"{path} is damaged or not a parquet file: {error}") from error
