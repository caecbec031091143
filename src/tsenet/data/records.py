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
from collections import Counter
from collections.abc import Generator, Iterable, Iterator, Sequence
from contextlib import closing, contextmanager
from pathlib import Path
from typing import IO, Any

from tsenet.data.columns import count_of, listed, quoted
from tsenet.data.compression import OPENERS, opener_of, report_damage
from tsenet.data.limits import check_size, max_cell, max_memory, too_long
from tsenet.errors import DataError, MissingDependencyError

__all__ = ["STDIN", "Record", "header_hint", "records_of", "refuse_unknown"]

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

# The csv module has one limit on the length of a field for the whole process. It is changed while a
# file is read, under a lock, and then restored.
_field_limit_lock = threading.Lock()

# Digits of the largest float64.
_MOST_DIGITS = 309

# An escape in JSON that may be half of a character.
_HALF = re.compile(r"\\u[dD][89a-fA-F]")


def records_of(
    path: Path,
    wanted: Sequence[str] | None,
    header: bool,
    encoding: str,
    *,
    in_memory: bool = True,
) -> Generator[Record, None, None]:
    """Yield the records of a file or folder; from csv and parquet only the wanted columns, or all for None.

    With ``in_memory`` a TooLargeError ends the reading when the records so far take more than the memory that
    `tsenet.data.limits` allows; without it, for records that are not kept, only single ones are limited.
    """
    limit, taken = max_memory(), 0
    with closing(_records_of(path, wanted, header, encoding, in_memory)) as records:
        for number, record in records:
            yield number, record
            if in_memory:
                taken += sum(map(sys.getsizeof, record.values())) + 8 * len(record)
                if taken > limit:
                    check_size(path, taken, limit)


def _records_of(
    path: Path, wanted: Sequence[str] | None, header: bool, encoding: str, in_memory: bool
) -> Generator[Record, None, None]:
    if path != STDIN and path.is_dir():
        yield from _folder_records(path, encoding)
        return
    suffix = "" if path == STDIN else _format_of(path)
    if suffix in _PARQUET:
        yield from _parquet_records(path, wanted, in_memory)
        return
    with _open_text(path, encoding) as file:
        # A JSON array may be a single line: it is parsed as a whole, into objects that are larger than their text.
        longest = max_memory() // 8 if suffix in ("", _JSON) else max_cell()
        lines: Iterable[str] = _lines(file, path, longest)
        if path == STDIN:
            suffix, lines = _format_of_stream(lines, wanted, header)
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
    counts = Counter(names)
    for name in wanted:
        if counts[name] == 0:
            raise DataError(
                f"{path} has no column {quoted(name)}; it has {listed(names)}{header_hint(path, names)}"
            )
        if counts[name] > 1:
            raise DataError(
                f"{path} has {counts[name]} columns named {quoted(name)}{header_hint(path, names)}"
            )


def header_hint(path: Path, names: Sequence[str]) -> str:
    """What to add to a message if the column names of a csv file look like its first row."""
    if path != STDIN and not {_CSV, _TSV} & {suffix.lower() for suffix in path.suffixes}:
        return ""
    # "1", "2", … are the names of columns without a header
    odd = [name for name in names if not name.strip() or len(name) > 60 or _spells_number(name)]
    if 2 * len(odd) < len(names) or list(names) == _numbered(len(names)):
        return ""
    return ". The first line looks like data: if the file has no header, use --no-header (header=False)"


def _spells_number(name: str) -> bool:
    try:
        float(name)
    except ValueError:
        return False
    return True


def _numbered(width: int) -> list[str]:
    """Names of columns without a header."""
    return [str(j + 1) for j in range(width)]


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
        before = csv.field_size_limit(min(max_cell(), (1 << 31) - 1))
        try:
            yield
        finally:
            csv.field_size_limit(before)


def _lines(file: IO[str], path: Path, longest: int) -> Iterator[str]:
    """Yield the lines; raise a DataError for one that is too long, before it is read to its end."""
    number = 0
    while line := file.readline(longest):
        number += 1
        if len(line) == longest and line[-1] not in "\r\n":
            raise too_long(f"{path}, line {number}")
        yield line


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
                names = row if header else _numbered(width)
                asked = names if wanted is None else wanted
                refuse_unknown(asked, names, path)
                place_of = {name: j for j, name in enumerate(names)}
                places = {name: place_of[name] for name in asked}
                if header:
                    continue
            if len(row) != width:
                fields = count_of(len(row), "field")
                raise DataError(f"{path}, line {reader.line_num}: {fields}, expected {width}")
            yield reader.line_num, {name: row[j] for name, j in places.items()}
    except csv.Error as error:
        if "field larger than" in str(error):
            raise too_long(f"{path}, line {reader.line_num}: a cell") from error
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
            text = file.read(max_cell() + 1)
            if len(text) > max_cell():
                raise too_long(str(path))
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


def _parquet_records(path: Path, wanted: Sequence[str] | None, in_memory: bool) -> Iterator[Record]:
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
        schema = pyarrow.parquet.read_schema(path)
        asked = list(schema.names if wanted is None else wanted)
        refuse_unknown(asked, schema.names, path)
        # A text that repeats is stored once: read so, a few bytes cannot become gigabytes.
        texts = [name for name in asked if pyarrow.types.is_string(schema.field(name).type)]
        with pyarrow.parquet.ParquetFile(path, read_dictionary=texts) as file:
            check_size(path, _parquet_size(file.metadata, set(asked), in_memory))
            for batch in file.iter_batches(columns=asked):
                columns = [_plain_values(column) for column in batch.columns]
                for row in zip(*columns, strict=True):
                    number += 1
                    yield number, dict(zip(batch.schema.names, row, strict=True))
    except (pyarrow.ArrowException, UnicodeDecodeError, OSError) as error:
        if isinstance(error, OSError) and error.errno is not None:
            raise
        raise DataError(f"{path} is damaged or not a parquet file: {error}") from error


def _parquet_size(metadata: Any, names: set[str], in_memory: bool) -> int:
    """Bytes of the columns as Python objects, without repeated texts: of all rows, or of the largest row group."""
    sizes = [0]
    for group in map(metadata.row_group, range(metadata.num_row_groups)):
        columns = map(group.column, range(group.num_columns))
        chosen = [one for one in columns if one.path_in_schema.partition(".")[0] in names]
        sizes.append(sum(one.total_uncompressed_size + 32 * one.num_values for one in chosen))
    return sum(sizes) if in_memory else max(sizes)


def _plain_values(column: Any) -> list[Any]:
    """A column of a batch as Python objects; equal texts are one object."""
    if not hasattr(column, "dictionary"):
        return list(column.to_pylist())
    texts = [*column.dictionary.to_pylist(), None]
    return [texts[code] for code in column.indices.fill_null(len(texts) - 1).to_pylist()]
