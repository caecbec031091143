"""Read tables from csv, tsv, jsonl (plain or compressed), parquet and npz files."""

from __future__ import annotations

import math
import struct
import zipfile
import zlib
from collections.abc import Collection, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from tsenet.data.columns import is_missing, listed, quoted
from tsenet.data.dates import looks_like_dates, numbers_of_dates, read_dates, split_dates
from tsenet.data.documents import read_columns
from tsenet.data.frames import Levels
from tsenet.data.limits import check_size
from tsenet.data.records import header_hint
from tsenet.data.sparse import checked_csr
from tsenet.data.table import Table
from tsenet.errors import DataError

if TYPE_CHECKING:
    from tsenet.data.binary import BinaryRule

__all__ = ["DataFile", "read_data"]

# Name of the array that holds the rows, and the arrays that scipy.sparse.save_npz writes.
_ROWS = "X"
_CSR_PARTS = ("data", "indices", "indptr", "shape")
# Deflate makes at most 1,032 bytes of one.
_MOST_INFLATED = 1_100


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
        if name not in self.columns:
            known = listed(self.columns) if self.columns else "none"
            hint = header_hint(self.path, list(self.columns))
            raise DataError(f"{self.path} has no column {quoted(name)}; it has {known}{hint}")
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
            NaN where missing; None if a value is not a number.

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
        values = self.column(name)
        if isinstance(values, np.ndarray) and values.dtype.kind in "fiub":
            return values.astype(np.float64)
        with suppress(OverflowError, TypeError, ValueError):  # most columns have no blank cell
            return np.fromiter(map(float, values), np.float64, len(values))
        try:
            return np.array([np.nan if is_missing(v) else float(v) for v in values], np.float64)
        except OverflowError as error:
            raise DataError(
                f"{self.path}: column {quoted(name)} holds a whole number that no float64 can hold"
            ) from error
        except (TypeError, ValueError):
            return None

    def table(
        self,
        names: Sequence[str],
        categories: Collection[str] | None = None,
        columns: Sequence[str] | None = None,
    ) -> Table:
        """Return some columns as a table; blank cells are missing values, NaN.

        Parameters
        ----------
        names : sequence of str
            The columns; ignored for the rows of an npz file, which have no names.
        categories : collection of str, default=None
            Which of them hold categories. None: those with a value that is not a number. Give the columns of the
            training table when you read new rows.
        columns : sequence of str, default=None
            Names of the columns of the training table, when you read new rows: they tell what holds dates. None:
            columns of texts most of which are dates. A column of dates becomes several, as in :meth:`Table.of`.

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
        of_dates = None if columns is None else set(split_dates(names, columns))
        found: dict[str, tuple[npt.NDArray[np.float64], Levels]] = {}
        for name in names:
            if of_dates is not None and name in of_dates:
                found |= self._dates(name, columns)
                continue
            numbers = None if categories is not None and name in categories else self.numbers(name)
            if numbers is None and categories is not None and name not in categories:
                wrong = next(text for text in self.texts(name) if not _is_number(text))
                raise DataError(
                    f"{self.path}: column {quoted(name)} held numbers when the model was fitted, "
                    f"now it holds {quoted(wrong)}"
                )
            if numbers is not None:
                found[name] = numbers, None
                continue
            texts = self.texts(name)
            if of_dates is None and looks_like_dates([text for text in texts if text]):
                found |= self._dates(name, None)
                continue
            levels, codes = np.unique([text for text in texts if text], return_inverse=True)
            coded = np.full(self.n_rows, np.nan)
            coded[[text != "" for text in texts]] = codes
            found[name] = coded, tuple(levels.tolist())
        values = np.empty((self.n_rows, len(found)), order="F")
        for j, (column, _) in enumerate(found.values()):
            values[:, j] = column
        table = Table.of(values, names=list(found), missing=True)
        return Table(table.values, table.names, tuple(levels for _, levels in found.values()))

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
        named = zip(rule.names_in, rule.levels, strict=True)
        categories = [name for name, levels in named if levels is not None]
        return self.table(self.columns_for(rule.names_in), categories, rule.names_in)

    def columns_for(self, names: Sequence[str]) -> list[str]:
        """Return the columns that a model's columns are made from: one of dates gives several.

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
        dates = {name: name.rpartition(": ")[0] for name in names if name not in self.columns}
        found = {name: base for name, base in dates.items() if base in self.columns}
        return list(dict.fromkeys(found.get(name, name) for name in names))

    def _dates(
        self, name: str, columns: Sequence[str] | None
    ) -> dict[str, tuple[npt.NDArray[np.float64], Levels]]:
        """The numbers of a column of dates by name."""
        texts = self.texts(name)
        label = f"{self.path}: column {quoted(name)}"
        n_known = sum(map(bool, texts))
        times = read_dates(texts, n_known, label, is_known=columns is not None)
        return {
            part: (numbers, None)
            for part, numbers in numbers_of_dates(name, times, columns).items()
        }


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
    TooLargeError
        If the rows take more than four fifths of the memory (see :mod:`tsenet.data.limits`).
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
    return DataFile(path, dict(read_columns(path, header=header, encoding=encoding)))


def _read_npz(path: Path) -> DataFile:
    try:
        _refuse_claims(path)
        with np.load(path, allow_pickle=False) as arrays:
            parts = {name: arrays[name] for name in arrays.files}
    except FileNotFoundError:
        raise
    except (
        *(ArithmeticError, EOFError, LookupError, NotImplementedError, OSError, RuntimeError),
        *(SyntaxError, TypeError, ValueError, struct.error, zipfile.BadZipFile, zlib.error),
    ) as error:
        raise DataError(f"{path} is damaged or not an npz file of plain arrays: {error}") from error
    rows: Any = parts.pop(_ROWS, None)
    if rows is None and {"data", "shape", "format"} <= parts.keys():
        kind = str(parts.pop("format").astype(str))
        if kind != "csr":
            raise DataError(f"{path} holds a sparse matrix of format {kind!r}: save it as csr")
        try:
            data, indices, indptr, shape = (parts.pop(name) for name in _CSR_PARTS)
            rows = checked_csr(sp.csr_array((data, indices, indptr), shape=tuple(shape.tolist())))
        except (KeyError, TypeError, ValueError) as error:  # DataError is a ValueError
            raise DataError(f"{path} does not hold a sparse matrix: {error}") from error
        parts.pop("_is_array", None)
    columns = {name: array for name, array in parts.items() if array.ndim == 1}
    lengths = {len(column) for column in columns.values()}
    if rows is not None:
        lengths.add(int(rows.shape[0]))
    if not lengths or lengths == {0}:
        raise DataError(f"{path} holds no rows: neither an array X, nor 1-D arrays as columns")
    if len(lengths) > 1:
        raise DataError(f"the arrays of {path} have different numbers of rows: {sorted(lengths)}")
    return DataFile(path, dict(columns), rows)


def _refuse_claims(path: Path) -> None:
    """Raise an error if arrays claim more bytes than are there, or than may be read: numpy would allocate them."""
    total = 0
    with zipfile.ZipFile(path) as archive:
        for member in archive.infolist():
            if not member.filename.endswith(".npy"):
                continue
            with archive.open(member) as file:
                version = np.lib.format.read_magic(file)
                read_header = (
                    np.lib.format.read_array_header_1_0
                    if version == (1, 0)
                    else np.lib.format.read_array_header_2_0
                )
                shape, _, dtype = read_header(file)
                claimed = math.prod(shape) * max(1, dtype.itemsize)
            held = min(member.file_size, _MOST_INFLATED * path.stat().st_size)
            if claimed > held or min(shape, default=0) < 0:
                raise ValueError(f"the array {member.filename} claims {claimed:,} bytes")
            total += claimed
    check_size(path, total)


def _is_number(text: str) -> bool:
    try:
        float(text or "nan")
    except ValueError:
        return False
    return True
