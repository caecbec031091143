"""Whole tables from files: csv, tsv, jsonl (plain or compressed), parquet and npz."""

from __future__ import annotations

import zipfile
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from tsenet.data.columns import count_of
from tsenet.data.documents import read_columns
from tsenet.data.frames import Levels
from tsenet.data.table import Table
from tsenet.errors import DataError

__all__ = ["DataFile", "read_data"]

# What numpy's and scipy's own programs call the rows of a table in an npz file.
_ROWS = "X"
_CSR_PARTS = ("data", "indices", "indptr", "shape")


@dataclass(frozen=True)
class DataFile:
    """The columns of a file as it has them, not yet read as numbers or categories.

    Attributes
    ----------
    path : Path
    columns : dict of str to sequence
        Values by column, each of the same length; in text formats strings, "" or None where missing.
    rows : ndarray, csr_array or None
        The nameless rows of an npz file.
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
        """The values of a column; raises a DataError that lists those there are."""
        if name not in self.columns:
            names = [repr(column) for column in self.columns]
            more = f" and {len(names) - 10} more" if len(names) > 10 else ""
            known = ", ".join(names[:10]) + more if names else "none"
            raise DataError(f"{self.path} has no column {name!r}; it has {known}")
        return self.columns[name]

    def texts(self, name: str) -> list[str]:
        """A column as strings, "" where missing."""
        return ["" if _is_missing(value) else str(value) for value in self.column(name)]

    def numbers(self, name: str) -> npt.NDArray[np.float64] | None:
        """A column as numbers, NaN where missing; None if some value is no number."""
        values = self.column(name)
        if isinstance(values, np.ndarray) and values.dtype.kind in "fiub":
            return values.astype(np.float64)
        try:
            return np.array([np.nan if _is_missing(v) else float(v) for v in values], np.float64)
        except (TypeError, ValueError):
            return None

    def table(self, names: Sequence[str], categories: Collection[str] | None = None) -> Table:
        """Some columns as a table.

        Parameters
        ----------
        names : sequence of str
        categories : collection of str, optional
            Which of them hold categories. Default: those with a value that is not a number.

        Raises
        ------
        DataError
            For missing values, and for a column that should hold numbers and does not.
        """
        if self.rows is not None:
            return Table.of(self.rows)
        if not names:
            raise DataError(f"{self.path} has no columns to learn from")
        values = np.empty((self.n_rows, len(names)), order="F")
        levels: list[Levels] = []
        for j, name in enumerate(names):
            numbers = None if categories is not None and name in categories else self.numbers(name)
            if numbers is None and categories is not None and name not in categories:
                wrong = next(text for text in self.texts(name) if not _is_number(text))
                raise DataError(
                    f"{self.path}: column {name!r} held numbers when the model was fitted, "
                    f"now it holds {wrong!r}"
                )
            if numbers is not None:
                values[:, j] = numbers
                levels.append(None)
                continue
            texts = self.texts(name)
            n_missing = texts.count("")
            if n_missing:
                missing = count_of(n_missing, "missing value")
                raise DataError(f"{self.path}: column {name!r} has {missing}: fill them in first")
            found, codes = np.unique(texts, return_inverse=True)
            values[:, j] = codes
            levels.append(tuple(found.tolist()))
        # refuses missing numbers, naming the column
        table = Table.of(values, names=list(names))
        return Table(table.values, table.names, tuple(levels))


def read_data(path: str | Path) -> DataFile:
    """Read a file whole.

    Parameters
    ----------
    path : path
        ``.csv``, ``.tsv``, ``.jsonl`` or ``.ndjson``, each also with ``.gz``, ``.xz`` or ``.bz2`` after it;
        ``.parquet`` or ``.pq`` (needs pyarrow); ``.npz``: the rows as an array ``X`` or as the parts that
        ``scipy.sparse.save_npz`` writes, other 1-D arrays as columns; without rows, the columns alone.

    Raises
    ------
    DataError
        If the format is unknown, the file is damaged, or holds nothing.
    """
    path = Path(path)
    if path.suffix.lower() == ".npz":
        return _read_npz(path)
    return DataFile(path, dict(read_columns(path)))


def _read_npz(path: Path) -> DataFile:
    try:
        with np.load(path, allow_pickle=False) as arrays:
            parts = {name: arrays[name] for name in arrays.files}
    except (ValueError, zipfile.BadZipFile, EOFError) as error:
        raise DataError(f"{path} is damaged or not an npz file of plain arrays: {error}") from error
    rows: Any = parts.pop(_ROWS, None)
    if rows is None and {"data", "shape", "format"} <= parts.keys():
        kind = str(parts.pop("format").astype(str))
        if kind != "csr":
            raise DataError(f"{path} holds a sparse matrix of format {kind!r}: save it as csr")
        data, indices, indptr, shape = (parts.pop(name) for name in _CSR_PARTS)
        parts.pop("_is_array", None)
        try:
            rows = sp.csr_array((data, indices, indptr), shape=tuple(shape.tolist()))
        except ValueError as error:
            raise DataError(f"{path} does not hold a sparse matrix: {error}") from error
    columns = {name: array for name, array in parts.items() if array.ndim == 1}
    lengths = {len(column) for column in columns.values()}
    if rows is not None:
        lengths.add(int(rows.shape[0]))
    if not lengths or lengths == {0}:
        raise DataError(f"{path} holds no rows: neither an array X, nor 1-D arrays as columns")
    if len(lengths) > 1:
        raise DataError(f"the arrays of {path} have different numbers of rows: {sorted(lengths)}")
    return DataFile(path, dict(columns), rows)


def _is_missing(value: Any) -> bool:
    return value is None or value == "" or (isinstance(value, float) and np.isnan(value))


def _is_number(text: str) -> bool:
    try:
        float(text or "nan")
    except ValueError:
        return False
    return True
