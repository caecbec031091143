"""Whole tables from files."""

from __future__ import annotations

import gzip
import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp

from tsenet.data import BinaryRule
from tsenet.data.files import read_data
from tsenet.data.sharding import shard_documents
from tsenet.errors import DataError, TooLargeError, TSENetError

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
    assert read_data(path).table([]).values.toarray().tolist() == np.eye(2).tolist()


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


def test_columns_of_new_rows_are_what_they_were_in_training(tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    path.write_text("a,b\n1,x\n2,3\n")
    rule = BinaryRule.learn(read_data(path).table(["b", "a"]))
    path.write_text("a,b,c\n5,1,\n6,2,\n")
    table = read_data(path).table_for(rule)
    assert table.names == ("b", "a")
    assert table.levels == (("1", "2"), None)
    path.write_text("a,b\nx,1\n")
    with pytest.raises(DataError, match=r"'a' held numbers when the model was fitted, now .* 'x'"):
        read_data(path).table_for(rule)


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
    with pytest.raises(DataError, match="column 'a' holds a number too large"):
        read_data(path).table(["a", "b"])


def test_encoding_and_semicolons(tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    path.write_bytes("größe;farbe\n1;rot\n2;blau\n".encode("latin-1"))
    file = read_data(path, encoding="latin-1")
    assert file.columns == {"größe": ["1", "2"], "farbe": ["rot", "blau"]}


class TestLimits:
    """What a small file can claim to hold is bounded, and the message says how to raise the limit."""

    @pytest.fixture(autouse=True)
    def limits(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setenv("TSENET_MAX_MEMORY", "1MB")

    @pytest.mark.parametrize("name", ["d.csv.gz", "d.jsonl", "d.json", "d.txt", "d.parquet"])
    def test_too_many_rows(
        self, name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        path, zeros = tmp_path / name, np.zeros(200_000)
        if name == "d.parquet":
            pd.DataFrame({"a": zeros}).to_parquet(path)
        elif name == "d.json":
            path.write_text(json.dumps([{"a": 0}] * 30_000))
        else:
            line = '{"a": 0}\n' if name == "d.jsonl" else "0\n"
            with (gzip.open if name.endswith("gz") else open)(path, "wt") as file:
                file.write("0\n" + line * 200_000 if name != "d.jsonl" else line * 200_000)
        with pytest.raises(TSENetError, match="TSENET_MAX"):
            read_data(path)
        monkeypatch.setenv("TSENET_MAX_MEMORY", "1GB")
        assert read_data(path).n_rows > 10_000

    def test_a_text_that_parquet_stores_once(self, tmp_path: Path) -> None:
        frame = pd.DataFrame({"text": ["word " * 10_000] * 5000})
        frame.to_parquet(tmp_path / "d.parquet", compression="zstd")
        with pytest.raises(TooLargeError, match="TSENET_MAX_MEMORY"):
            read_data(tmp_path / "d.parquet")

    def test_limits_that_are_no_amounts(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setenv("TSENET_MAX_MEMORY", "lots")
        with pytest.raises(DataError, match="TSENET_MAX_MEMORY"):
            read_data(write(tmp_path / "t.csv"))


def test_rows_that_are_not_kept_have_no_limit(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TSENET_MAX_MEMORY", "1MB")
    path = tmp_path / "d.csv"
    path.write_text("text\n" + "goal referee\n" * 50_000)
    made = shard_documents([path], tmp_path / "shards")
    assert made.n_rows == 50_000


def test_equal_texts_and_blanks_of_parquet(tmp_path: Path) -> None:
    frame = pd.DataFrame({"a": ["x", None, "y", "x"], "b": [1.0, None, 2.0, 3.0]})
    frame.to_parquet(tmp_path / "d.parquet")
    file = read_data(tmp_path / "d.parquet")
    assert file.columns == {"a": ["x", None, "y", "x"], "b": [1.0, None, 2.0, 3.0]}


class TestHeader:
    def test_columns_without_names_are_numbered(self, tmp_path: Path) -> None:
        (tmp_path / "d.csv").write_text("1.5,red\n2.5,blue\n")
        file = read_data(tmp_path / "d.csv", header=False)
        assert file.columns == {"1": ["1.5", "2.5"], "2": ["red", "blue"]}

    @pytest.mark.parametrize("first", ["5.1,3.5,setosa", "1,1,2", f"a,{'long text ' * 2000},"])
    def test_a_first_line_of_data_is_pointed_out(self, first: str, tmp_path: Path) -> None:
        path = tmp_path / "d.csv"
        path.write_text(f"{first}\n{first}\n")
        with pytest.raises(DataError, match="--no-header") as error:
            read_data(path).column("kind")
        assert len(str(error.value)) < 600
        path.write_text("size,kind\n1,2\n")
        with pytest.raises(DataError, match="no column") as error:
            read_data(path).column("sort")
        assert "--no-header" not in str(error.value)


@pytest.mark.parametrize("damage", ["cut", "page", "footer"])
def test_damaged_parquet_is_named(damage: str, tmp_path: Path) -> None:
    content = bytearray(write(tmp_path / "t.parquet").read_bytes())
    if damage == "cut":
        content = content[: len(content) // 2]
    else:
        first = 4 if damage == "page" else len(content) - 200
        content[first : first + 100] = bytes(value ^ 0x5A for value in content[first : first + 100])
    (tmp_path / "bad.parquet").write_bytes(content)
    with pytest.raises(DataError, match=r"bad\.parquet is damaged"):
        read_data(tmp_path / "bad.parquet")
