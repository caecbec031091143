"""Read the Tox21 files of DeepTox: dense features as csv, sparse ones in Matrix Market format."""

from __future__ import annotations

import csv
import io
import zipfile
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import IO, Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from tsenet.data.files import OPENERS, opener_of, report_damage
from tsenet.datasets.catalog import TOX21_LABELS
from tsenet.datasets.places import SUFFIXES, Found
from tsenet.errors import DataError

__all__ = ["DeepTox", "read_deeptox"]

_MISSING = {"", "NA"}


@dataclass(frozen=True, eq=False)
class DeepTox:
    """The content of the files, training rows first.

    Attributes
    ----------
    ids : list of str, length N
        Identifiers of the compounds.
    n_train : int
        How many of them are in the training files.
    dense : ndarray of float64, shape (N, D)
        Dense features, NaN where missing.
    sparse : csr_array, shape (N, B)
        Sparse features.
    names : list of str, length D + B
        Names of the features.
    labels : ndarray of float64, shape (N, 12)
        In the order of the catalog, NaN where not measured.
    compounds : dict of str to dict
        The columns of ``tox21_compoundData.csv`` by id; empty if there is no such file.
    """

    ids: list[str]
    n_train: int
    dense: NDArray[np.float64]
    sparse: Any
    names: list[str]
    labels: NDArray[np.float64]
    compounds: dict[str, dict[str, str]]


def read_deeptox(found: Found) -> DeepTox:
    """Read the files, from a folder or from tox21.zip.

    Raises
    ------
    DataError
        If a file is missing or damaged, or the rows or columns of two files differ.
    """
    files = _Files(found)
    read = {part: _read_part(files, part) for part in ("train", "test")}
    (ids, names, dense, sparse, labels), other = read["train"], read["test"]
    if names != other[1] or sparse.shape[1] != other[3].shape[1]:
        raise DataError(f"{files}: the training and the test files have different features")
    sparse_names = [f"sparse:{column}" for column in range(sparse.shape[1])]
    if files.has("tox21_sparse_colnames.txt"):
        with files.open("tox21_sparse_colnames.txt") as stream:
            sparse_names = stream.read().decode("utf-8").splitlines()
    if len(sparse_names) != sparse.shape[1]:
        raise DataError(f"{files}: {len(sparse_names)} names for {sparse.shape[1]} sparse features")
    compounds: dict[str, dict[str, str]] = {}
    if files.has("tox21_compoundData.csv"):
        with files.open("tox21_compoundData.csv") as stream:
            rows = csv.DictReader(io.TextIOWrapper(stream, "utf-8-sig", newline=""))
            compounds = {row["ID"]: row for row in rows}
    return DeepTox(
        ids=[*ids, *other[0]],
        n_train=len(ids),
        dense=np.vstack([dense, other[2]]),
        sparse=sp.csr_array(sp.vstack([sparse, other[3]])),
        names=[*names, *(name.strip().strip('"') for name in sparse_names)],
        labels=np.vstack([labels, other[4]]),
        compounds=compounds,
    )


def _read_part(
    files: _Files, part: str
) -> tuple[list[str], list[str], NDArray[np.float64], Any, NDArray[np.float64]]:
    """Return ids, names of the dense features, dense features, sparse features and labels of one part."""
    from scipy.io import mmread

    ids, names, dense = _read_matrix(files, f"tox21_dense_{part}.csv")
    label_ids, label_names, labels = _read_matrix(files, f"tox21_labels_{part}.csv")
    with files.open(f"tox21_sparse_{part}.mtx") as stream:
        try:
            sparse = sp.csr_array(mmread(stream))
        except ValueError as error:
            raise DataError(f"{files}: the sparse features are damaged: {error}") from error
    if label_ids != ids or sparse.shape[0] != len(ids):
        raise DataError(f"{files}: the {part} files do not have the same rows")
    order = {name.replace(".", "-"): column for column, name in enumerate(label_names)}
    if not order.keys() >= set(TOX21_LABELS):
        raise DataError(f"{files}: labels missing: {sorted(set(TOX21_LABELS) - order.keys())}")
    return ids, names, dense, sparse, labels[:, [order[name] for name in TOX21_LABELS]]


def _read_matrix(files: _Files, name: str) -> tuple[list[str], list[str], NDArray[np.float64]]:
    """Read a csv with row names in the first column: row names, column names, numbers."""
    ids: list[str] = []
    rows: list[NDArray[np.float64]] = []
    with files.open(name) as stream:
        reader = csv.reader(io.TextIOWrapper(stream, "utf-8-sig", newline=""), strict=True)
        try:
            header = next(reader)
            for row in reader:
                ids.append(row[0])
                values = [np.nan if value in _MISSING else float(value) for value in row[1:]]
                rows.append(np.array(values))
            numbers = np.array(rows, dtype=np.float64)
        except (StopIteration, ValueError, IndexError, csv.Error) as error:
            raise DataError(f"{files}: {name} is not a table of numbers: {error}") from error
    if numbers.ndim != 2:
        raise DataError(f"{files}: {name} holds no rows")
    # R writes the header with or without an entry for the column of row names
    return ids, header[-numbers.shape[1] :], numbers


class _Files:
    """The files of a folder or a zip archive, by their names without compression suffix."""

    def __init__(self, found: Found) -> None:
        self._paths = dict(found.paths)
        self._members: dict[str, str] = {}
        if "tox21.zip" in found:
            with self._damage(), zipfile.ZipFile(found["tox21.zip"]) as archive:
                self._members = {PurePosixPath(name).name: name for name in archive.namelist()}

    def __str__(self) -> str:
        return str(next(iter(self._paths.values())).parent)

    def has(self, name: str) -> bool:
        return name in self._paths or self._member(name) is not None

    @contextmanager
    def open(self, name: str) -> Iterator[IO[bytes]]:
        """Open a file for reading its uncompressed content."""
        with self._damage():
            path = self._paths.get(name)
            if path is not None:
                with opener_of(path)(path, "rb") as stream:
                    yield stream
                return
            member = self._member(name)
            if member is None:
                raise DataError(f"{self._paths['tox21.zip']} does not hold {name}")
            with zipfile.ZipFile(self._paths["tox21.zip"]) as archive, archive.open(member) as raw:
                suffix = Path(member).suffix
                with OPENERS[suffix](raw, "rb") if suffix in OPENERS else raw as stream:
                    yield stream

    def _member(self, name: str) -> str | None:
        for suffix in SUFFIXES:
            if name + suffix in self._members:
                return self._members[name + suffix]
        return None

    def _damage(self) -> AbstractContextManager[None]:
        return report_damage(f"{self}: a file of Tox21 is damaged")
