"""Read documents and columns from files, folders and standard input."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from contextlib import closing
from dataclasses import dataclass, field
from numbers import Real
from pathlib import Path
from typing import Any

from tsenet.data.columns import count_of, is_missing, quoted
from tsenet.data.records import Record, records_of, refuse_unknown
from tsenet.errors import DataError

__all__ = [
    "Documents",
    "are_texts",
    "is_column",
    "is_no_text",
    "read_columns",
    "read_documents",
]


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

    @property
    def n_duplicates(self) -> int:
        """How many documents repeat the text of an earlier one."""
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
          (a document a line), optionally compressed (``.gz``, ``.xz`` or ``.bz2``). Fields of a ``.csv`` file may be
          separated by commas, semicolons, tabs or bars.
        - A ``.parquet`` or ``.pq`` file (needs pyarrow).
        - A folder: every ``.txt`` file in it, and in its folders, is a document, in the order of their names. They have
          the columns ``text``, ``file`` and ``folder``.
        - ``"-"``: standard input. It is JSON lines or a JSON array, if it begins with ``{`` or ``[``; csv, if its first
          line names the columns asked for; else a document a line.
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
        line number), a text that is neither string nor number, a wrong encoding, a lone surrogate, a number
        that no float64 can hold, a damaged file, or a file without documents.
    TooLargeError
        If the documents take more than four fifths of the memory (see :mod:`tsenet.data.limits`).
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
    with closing(records_of(path, wanted, header, encoding)) as records:
        return _collect(records, wanted, path)


def read_columns(
    path: str | Path, *, header: bool = True, encoding: str = "utf-8"
) -> dict[str, list[Any]]:
    r"""Read all columns of a file.

    Parameters
    ----------
    path : str or Path
        A file in one of the formats of :func:`read_documents`.
    header : bool, default=True
        Whether the first line of a csv or tsv file names the columns. If False, they are called "1", "2", ...
    encoding : str, default="utf-8"
        Encoding of text formats.

    Returns
    -------
    dict of str to list
        Values as they are in the file, in file order; None where a JSON object lacks a key.

    Raises
    ------
    DataError
        For an unknown format, a broken record, a wrong encoding, or a damaged or empty file.
    TooLargeError
        If the columns take more than four fifths of the memory (see :mod:`tsenet.data.limits`).
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
    with closing(records_of(path, None, header, encoding)) as records:
        for _, record in records:
            if record.keys() != columns.keys():
                for name in record:
                    columns.setdefault(name, [None] * n_rows)  # earlier lines have no value of it
                for name in columns.keys() - record.keys():
                    columns[name].append(None)
            for name, value in record.items():
                columns[name].append(value)
            n_rows += 1
    if not columns:
        raise DataError(f"{path} holds no rows")
    return columns


def _collect(records: Iterable[Record], wanted: Sequence[str], path: Path) -> Documents:
    """Collect the records into lists by column, and count missing texts."""
    text = wanted[0]
    texts: list[str] = []
    others: dict[str, list[Any]] = {name: [] for name in wanted[1:]}
    n_missing = 0
    keys: dict[str, None] = {}
    for number, record in records:
        keys.update(dict.fromkeys(record))
        value = record.get(text)
        if is_missing(value) or (isinstance(value, str) and not value.strip()):
            n_missing += 1
            value = ""
        elif not isinstance(value, str | int | float):
            kind = type(value).__name__
            raise DataError(f"{path}, record {number}: {quoted(text)} holds a {kind}, not a text")
        texts.append(str(value))
        for name, values in others.items():
            values.append(record.get(name))
    if not texts:
        raise DataError(f"{path} holds no documents")
    # Lines of JSON have different keys: only after the last one is a column known to be missing.
    refuse_unknown(wanted, list(keys), path)
    return Documents(texts, others, n_missing)


def are_texts(X: Any) -> bool:
    """Whether ``X`` is a column of strings: a list, an array, a series of a dataframe library or `Documents`."""
    if isinstance(X, str | Documents):
        return True  # one string: `texts_of` says that it needs many
    return is_column(X) and isinstance(next((v for v in X if not is_no_text(v)), None), str)


def is_column(X: Any) -> bool:
    """Whether ``X`` has one value for each row, as texts have."""
    if isinstance(X, str | Documents):
        return True
    if isinstance(X, list | tuple):
        return not X or not hasattr(X[0], "__len__") or isinstance(X[0], str)
    return len(getattr(X, "shape", ())) == 1


def is_no_text(value: Any) -> bool:
    """Whether a value among texts stands for a missing one: None, NaN, ``pandas.NA`` or a number."""
    return value is None or isinstance(value, Real) or type(value).__name__ == "NAType"
