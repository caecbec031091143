"""Sparse matrices from outside: every index is checked before scipy or a kernel trusts it."""

from __future__ import annotations

import itertools
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp

from tsenet.data import BinaryRows, Table, read_data
from tsenet.errors import DataError

FORMATS = ("csr", "csc", "bsr", "coo", "dia", "lil", "dok")
DENSE = np.array([[0, 1, 0, 2], [3, 0, 0, 0], [0, 0, 4, 5]])


def damaged(format: str, part: str, change: Callable[[Any], Any]) -> Any:
    """A sparse matrix of which one part was replaced behind scipy's back."""
    matrix = sp.csr_array(DENSE).asformat(format)
    value = change(getattr(matrix, part).copy())
    if format == "coo" and part in ("row", "col"):
        matrix.coords = (value, matrix.col) if part == "row" else (matrix.row, value)
    else:
        setattr(matrix, part, value)
    return matrix


def at(place: int, value: int, dtype: Any = None) -> Callable[[Any], Any]:
    def change(array: Any) -> Any:
        wide = array.astype(dtype or np.int64)
        wide[place] = value
        return wide

    return change


_WRONG_NUMBERS = (-1, 4, 99, -(2**31), 2**31 - 1, 2**32 + 3, -(2**63), 2**63 - 1)
_PLACES = (0, -1)
WRONG = {
    **{
        f"{format}.{part}[{place}]={value}": (format, part, at(place, value))
        for format, part in (
            *(("csr", "indices"), ("csc", "indices"), ("bsr", "indices")),
            *(("coo", "row"), ("coo", "col")),
        )
        for place, value in itertools.product(_PLACES, _WRONG_NUMBERS)
        if (format, part) != ("csr", "indices") or value != 4
    },
    **{
        f"{format}.indptr[{place}]={value}": (format, "indptr", at(place, value))
        for format in ("csr", "csc", "bsr")
        for place, value in itertools.product((0, 1, -1), (-1, 99, 2**32 + 3, 2**63 - 1))
    },
    **{
        f"{format}.{part} {what}": (format, part, change)
        for format, part in (
            *(("csr", "indices"), ("csr", "indptr"), ("csc", "indices"), ("csc", "indptr")),
        )
        for what, change in {
            "of floats": lambda array: array.astype(float),
            "of objects": lambda array: array.astype(object),
            "in two dimensions": lambda array: array[None],
            "too short": lambda array: array[:1],
            "None": lambda array: None,
        }.items()
    },
    "csr.indptr wraps": ("csr", "indptr", lambda _: np.array([0, 2**63 - 1, -(2**63) + 6, 5])),
    "csr.indptr too long": ("csr", "indptr", lambda array: np.append(array, array[-1])),
    "csr.data short": ("csr", "data", lambda array: array[:2]),
    "csc.data short": ("csc", "data", lambda array: array[:2]),
    "coo.data short": ("coo", "data", lambda array: array[:2]),
    "csr.data 2-D": ("csr", "data", lambda array: array[:, None]),
    "dia.offsets short": ("dia", "offsets", lambda array: array[:1]),
    "dia.offsets twice": ("dia", "offsets", lambda array: np.full_like(array, 1)),
    "lil.rows outside": ("lil", "rows", lambda _: _lists([[9, 1], [0], [2, 3]])),
    "lil.rows of text": ("lil", "rows", lambda _: _lists([["a", 1], [0], [2, 3]])),
}


def _lists(rows: list[list[Any]]) -> Any:
    array = np.empty(len(rows), object)
    array[:] = rows
    return array


@pytest.mark.parametrize("case", WRONG)
def test_damaged_matrices_are_refused(case: str) -> None:
    matrix = damaged(*WRONG[case])
    for read in (Table.of, BinaryRows.of_csr):
        with pytest.raises(DataError, match="damaged"):
            read(matrix)


@pytest.mark.parametrize("format", FORMATS)
@pytest.mark.parametrize("dtype", [np.int32, np.int64, np.uint32, ">i4"])
def test_good_matrices_of_any_format_and_index_type(format: str, dtype: Any) -> None:
    matrix = sp.csr_array(DENSE).asformat(format)
    for part in ("indices", "indptr"):
        if format in ("csr", "csc"):
            setattr(matrix, part, getattr(matrix, part).astype(dtype))
    table = Table.of(matrix)
    np.testing.assert_array_equal(table.values.toarray(), DENSE)
    assert table.values.indices.dtype == table.values.indptr.dtype == np.dtype(np.int32)


def test_spare_room_behind_the_last_entry_is_allowed() -> None:
    matrix = sp.csr_array(DENSE)
    matrix.data, matrix.indices = np.append(matrix.data, 7), np.append(matrix.indices, 99)
    np.testing.assert_array_equal(Table.of(matrix).values.toarray(), DENSE)


def test_memory_is_shared() -> None:
    matrix = sp.csr_array(DENSE)
    table = Table.of(matrix)
    assert np.shares_memory(table.values.indices, matrix.indices)
    assert np.shares_memory(table.values.data, matrix.data)


def test_a_shape_too_large_is_refused() -> None:
    with pytest.raises(DataError, match="shape"):
        Table.of(sp.coo_array((np.ones(1), ([0], [2**33])), shape=(1, 2**34)))


def test_a_table_made_by_hand_is_checked_too() -> None:
    matrix = damaged("csr", "indices", at(0, 99))
    with pytest.raises(DataError, match="damaged"):
        Table.of(Table(matrix, ("a", "b", "c", "d"), (None,) * 4))


def save(path: Path, **changes: Any) -> Path:
    good = sp.csr_array(DENSE)
    parts = {
        "data": good.data,
        "indices": good.indices,
        "indptr": good.indptr,
        "shape": np.array(good.shape),
        "format": np.array("csr"),
    }
    kept = {name: part for name, part in {**parts, **changes}.items() if part is not None}
    np.savez(path, **kept)
    return path


@pytest.mark.parametrize(
    "changes",
    [
        {"indices": np.array([1, 3, 0, 2, 2**31 - 1], np.int32)},
        {"indices": np.array([1, 3, 0, 2, 2**32 + 3])},
        {"indptr": np.array([0, 2**63 - 1, -(2**63) + 6, 5])},
        {"indices": None},
        {"shape": np.array([3.5, 4])},
        {"shape": np.array(3)},
        {"shape": np.array([3, 10**12])},
        {"data": np.array(["a"] * 5)},
    ],
)
def test_npz_files_with_damaged_matrices_are_refused(
    tmp_path: Path, changes: dict[str, Any]
) -> None:
    path = save(tmp_path / "rows.npz")
    np.testing.assert_array_equal(read_data(path).table([]).values.toarray(), DENSE)
    save(path, **changes)
    with pytest.raises(DataError):
        read_data(path).table([])


@pytest.mark.parametrize("header", ["<f8', (1000000000000,)", "<f8', (-1,)"])
def test_an_npz_file_that_claims_more_than_it_holds_is_refused(tmp_path: Path, header: str) -> None:
    kind, _, shape = header.partition(", ")
    text = f"{{'descr': '{kind}, 'fortran_order': False, 'shape': {shape}}}".ljust(117) + "\n"
    array = b"\x93NUMPY\x01\x00" + len(text).to_bytes(2, "little") + text.encode() + bytes(64)
    with zipfile.ZipFile(tmp_path / "claims.npz", "w") as archive:
        archive.writestr("X.npy", array)
    with pytest.raises(DataError, match="damaged"):
        read_data(tmp_path / "claims.npz")
