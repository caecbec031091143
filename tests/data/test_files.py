"""Whole tables from files."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp

from tsenet.data.files import read_data
from tsenet.errors import DataError

FRAME = pd.DataFrame(
    {"size": [1.5, 2.0, -3.0], "colour": ["red", "blue", "red"], "kind": [1, 0, 1]}
)


def write(path: Path) -> Path:
    if path.suffix == ".parquet":
        FRAME.to_parquet(path)
    elif ".jsonl" in path.name:
        FRAME.to_json(path, orient="records", lines=True)
    else:
        FRAME.to_csv(path, index=False, sep="\t" if ".tsv" in path.name else ",")
    return path


@pytest.mark.parametrize(
    "name", ["t.csv", "t.tsv", "t.csv.gz", "t.jsonl", "t.jsonl.xz", "t.parquet"]
)
def test_every_format_gives_the_same_table(name: str, tmp_path: Path) -> None:
    file = read_data(write(tmp_path / name))
    assert file.n_rows == 3
    assert list(file.columns) == ["size", "colour", "kind"]
    table = file.table(["size", "colour"])
    assert table.levels == (None, ("blue", "red"))
    assert table.values.tolist() == [[1.5, 1], [2.0, 0], [-3.0, 1]]
    assert table.names == ("size", "colour")
    assert file.texts("kind") == ["1", "0", "1"]
    assert file.numbers("colour") is None
    numbers = file.numbers("kind")
    assert numbers is not None
    assert numbers.tolist() == [1, 0, 1]


def test_arrays_of_npz(tmp_path: Path) -> None:
    rows = np.arange(6.0).reshape(3, 2)
    np.savez(tmp_path / "dense.npz", X=rows, y=[1, 0, 1])
    dense = read_data(tmp_path / "dense.npz")
    assert dense.table([]).values.tolist() == rows.tolist()
    assert dense.texts("y") == ["1", "0", "1"]
    sp.save_npz(tmp_path / "sparse.npz", sp.csr_array(rows))
    sparse = read_data(tmp_path / "sparse.npz")
    assert sparse.table([]).is_sparse
    assert sparse.table([]).values.toarray().tolist() == rows.tolist()
    np.savez(tmp_path / "columns.npz", a=[1.0, 2.0], b=np.array(["u", "v"]))
    columns = read_data(tmp_path / "columns.npz")
    assert columns.table(["a", "b"]).levels == (None, ("u", "v"))


def test_damaged_and_odd_npz_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "x.npz"
    path.write_bytes(b"nothing of the kind")
    with pytest.raises(DataError, match="damaged"):
        read_data(path)
    np.savez(path, X=np.ones((3, 2)), y=[1, 2])
    with pytest.raises(DataError, match="different numbers of rows"):
        read_data(path)
    np.savez(path, y=np.array([{}], dtype=object))
    with pytest.raises(DataError, match="plain arrays"):
        read_data(path)
    sp.save_npz(path, sp.coo_array(np.eye(2)))
    with pytest.raises(DataError, match="format 'coo': save it as csr"):
        read_data(path)


def test_blank_cells_are_missing_and_absent_columns_are_named(tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    path.write_text("a,b\n1,x\n,y\n3,\n")
    file = read_data(path)
    table = file.table(["a", "b"])
    expected = [[1.0, 0.0], [np.nan, 1.0], [3.0, np.nan]]
    assert np.array_equal(table.values, expected, equal_nan=True)
    assert table.levels == (None, ("x", "y"))
    with pytest.raises(DataError, match="no column 'c'; it has 'a', 'b'"):
        file.column("c")
    with pytest.raises(DataError, match="held numbers when the model was fitted, now it holds 'x'"):
        file.table(["b"], categories=[])


def test_given_categories_are_not_read_as_numbers(tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    path.write_text("a\n1\n2\n")
    assert read_data(path).table(["a"], categories=["a"]).levels == (("1", "2"),)


def test_json_lines_may_lack_keys(tmp_path: Path) -> None:
    path = tmp_path / "t.jsonl"
    path.write_text('{"a": 1}\n{"b": "x"}\n{"a": 3, "b": "y"}\n')
    file = read_data(path)
    assert file.columns == {"a": [1, None, 3], "b": [None, "x", "y"]}
    path.write_text("\n")
    with pytest.raises(DataError, match="no rows"):
        read_data(path)


def test_numbers_that_no_float_can_hold(tmp_path: Path) -> None:
    path = tmp_path / "t.jsonl"
    path.write_text(f'{{"a": 1, "b": "x"}}\n{{"a": {"9" * 309}, "b": "y"}}\n')
    with pytest.raises(DataError, match="column 'a' holds a whole number that no float64 can"):
        read_data(path).table(["a", "b"])


def test_encoding_and_semicolons(tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    path.write_bytes("größe;farbe\n1;rot\n2;blau\n".encode("latin-1"))
    file = read_data(path, encoding="latin-1")
    assert file.columns == {"größe": ["1", "2"], "farbe": ["rot", "blau"]}
