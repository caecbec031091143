"""Tables and documents from files, folders and standard input."""

from __future__ import annotations

import csv
import gzip
import io
import lzma
import sys
import tracemalloc
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tsenet.data import BinaryRule, read_chunks, read_data
from tsenet.errors import DataError, MissingDependencyError, TooLargeError

RECORDS: list[dict[str, Any]] = [
    {"id": "1", "text": 'Naïve café, "quoted"\nsecond line', "label": "a"},
    {"id": "2", "text": "tab\there; 漢字", "label": "b"},
    {"id": "3", "text": "", "label": "a"},
    {"id": "4", "text": "long " * 100_000, "label": "b"},
]
TEXTS = [record["text"] for record in RECORDS]
LABELS = ["a", "b", "a", "b"]


def write(path: Path, records: list[dict[str, Any]] = RECORDS, header: bool = True) -> Path:
    kind, frame = path.suffixes[0], pd.DataFrame(records, dtype=object)
    if kind == ".parquet":
        pq.write_table(pa.Table.from_pylist(records), path)
    elif kind == ".jsonl":
        frame.to_json(path, orient="records", lines=True)
    else:
        frame.to_csv(path, index=False, header=header, sep="," if kind == ".csv" else "\t")
    return path


def document_file(folder: Path, content: str | bytes, name: str = "d.csv") -> Path:
    path = folder / name
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return path


def read_texts(path: str | Path, text: str = "text", **options: Any) -> list[str]:
    return read_data(path, [text], **options).texts(text)


# ---- documents


@pytest.mark.parametrize(
    "name", ["d.csv", "d.tsv", "d.csv.gz", "d.jsonl", "d.jsonl.xz", "d.tsv.bz2", "d.parquet"]
)
def test_every_format_gives_the_same_documents(tmp_path: Path, name: str) -> None:
    path = write(tmp_path / name)
    file = read_data(path, ["text", "label", "text"])
    assert list(file.columns) == ["text", "label"]
    assert file.texts() == TEXTS
    assert file.column("label").tolist() == LABELS
    assert read_texts(str(path)) == TEXTS
    with pytest.raises(DataError, match="no column 'body'; it has 'id', 'text', 'label'"):
        read_texts(path, "body")


def test_without_header_columns_are_numbered(tmp_path: Path) -> None:
    path = write(tmp_path / "d.csv", header=False).rename(tmp_path / "D.CSV")
    file = read_data(path, ["2", "3"], header=False)
    assert file.texts("2") == TEXTS
    assert file.texts("3") == LABELS


def test_missing_texts_are_empty(tmp_path: Path) -> None:
    records = [{"text": "one"}, {"text": None}, {"label": 3}, {"text": 7, "label": None}]
    file = read_data(write(tmp_path / "d.jsonl", records))
    assert file.texts() == ["one", "", "", "7"]
    assert file.column("label").tolist() == [None, None, 3, None]
    numbers = write(tmp_path / "d.parquet", [{"n": 1.5}, {"n": float("nan")}, {"n": None}])
    assert read_texts(numbers, "n") == ["1.5", "", ""]


def test_byte_order_mark_blank_lines_and_line_ends(tmp_path: Path) -> None:
    path = document_file(tmp_path, b"\xef\xbb\xbftext,n\r\n\r\nhello,1\r\nworld,2\r\n\r\n")
    assert read_texts(path, "text", encoding="UTF8") == ["hello", "world"]
    lines = document_file(
        tmp_path, b'\xef\xbb\xbf{"text": "a"}\r\n\r\n  \n{"text": "b"}', "d.jsonl"
    )
    assert read_texts(lines, "text") == ["a", "b"]
    text = document_file(tmp_path, "one, two\r\n\r\n  \r\nthree\r\n", "d.txt")
    assert read_texts(text) == ["one, two", "three"]


def test_encodings(tmp_path: Path) -> None:
    path = document_file(tmp_path, "text\ncafé\n".encode("latin-1"))
    with pytest.raises(DataError, match=r"d\.csv is not utf-8.* \(byte 0xe9\).*encoding='latin-1'"):
        read_texts(path, "text")
    assert read_texts(path, "text", encoding="latin-1") == ["café"]
    path = document_file(tmp_path, "text\ncafé\n".encode("utf-16"))
    assert read_texts(path, "text", encoding="utf-16") == ["café"]
    with pytest.raises(DataError, match="unknown encoding 'klingon'"):
        read_texts(path, "text", encoding="klingon")


@pytest.mark.parametrize(
    ("name", "content", "why"),
    [
        ("d.jsonl", '{"text": "a"}\n\n{"text": "a"', "line 3: not JSON"),
        ("d.jsonl", '{"text": "a"}\n[1]', "line 2: expected a JSON object, got a list"),
        ("d.jsonl", '{"text": "a"}\n{"text": ["a"]}', "row 2: 'text' holds a list"),
        ("d.json", '["a", null]', "element 2: expected a JSON object, got a NoneType"),
        ("d.json", '["a"', "not JSON"),
        ("d.json", "[]", "holds no rows"),
        ("d.csv", "n,text\n1,one\na,b,c", "line 3: 3 fields, expected 2"),
        ("d.csv", "n,text\n1,one\na", "line 3: 1 field, expected 2"),
        ("d.csv", 'n,text\n1,one\na,"left open\nx,y\n', "line 4: unexpected end of data"),
        ("d.csv", "text,text\na,b\n", "2 columns named 'text'"),
        ("d.csv", "\n\n", "holds no rows"),
        ("d.csv", "text\n", "holds no rows"),
        ("d.txt", " \n", "holds no rows"),
        ("d.pdf", "", r"cannot tell the format .*\.csv, \.tsv, \.jsonl"),
        ("d.gz", "", "cannot tell the format"),
        ("d.parquet.gz", "", "cannot tell the format"),
    ],
    ids=lambda part: part[:20],
)
def test_wrong_files_are_named_with_the_line(
    tmp_path: Path, name: str, content: str, why: str
) -> None:
    with pytest.raises(DataError, match=why):
        read_texts(document_file(tmp_path, content, name), "text")


@pytest.mark.parametrize("name", ["d.csv.gz", "d.jsonl.xz", "d.csv.bz2", "d.parquet"])
def test_damaged_and_missing_files(tmp_path: Path, name: str) -> None:
    with pytest.raises(FileNotFoundError):
        read_texts(tmp_path / name, "text")
    path = write(tmp_path / name, RECORDS * 50)
    content = path.read_bytes()
    for damaged in (b"this is something else", content[: len(content) // 2]):
        path.write_bytes(damaged)
        with pytest.raises(DataError, match=r"is damaged or not a \.?\w+ file"):
            read_texts(path, "text")


def test_parquet_without_pyarrow(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = write(tmp_path / "d.parquet", [{"text": b"bytes"}])
    with pytest.raises(DataError, match="row 1: 'text' holds a bytes"):
        read_texts(path, "text")
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    with pytest.raises(MissingDependencyError, match="pip install pyarrow"):
        read_texts(path, "text")


@pytest.mark.parametrize(
    "content",
    [
        '["a b", "c"]',
        '\n[{"text": "a b"},\n {"text": "c"}]',
        '{"text": "a b"}\n{"text": "c"}\n',
    ],
)
def test_json_arrays_of_strings_and_of_objects(tmp_path: Path, content: str) -> None:
    assert read_texts(document_file(tmp_path, content, "d.json")) == ["a b", "c"]


def test_a_folder_of_texts(tmp_path: Path) -> None:
    for name in ("b/2.txt", "a/1.TXT", "a/10.txt", "c.md", ".hidden/3.txt", "b/.4.txt"):
        path = tmp_path / name
        path.parent.mkdir(exist_ok=True)
        path.write_text(f"text of {name}\nin lines")
    with gzip.open(tmp_path / "z.txt.gz", "wt") as file:
        file.write("zipped")
    file = read_data(tmp_path)
    names = ["a/1.TXT", "a/10.txt", "b/2.txt"]
    assert file.texts() == [*(f"text of {name}\nin lines" for name in names), "zipped"]
    assert file.texts("file") == [*names, "z.txt.gz"]
    assert file.texts("folder") == ["a", "a", "b", "."]
    (tmp_path / "a/1.TXT").write_bytes(b"\xe9")
    with pytest.raises(DataError, match=r"a/1\.TXT is not utf-8"):
        read_texts(tmp_path)
    (tmp_path / "empty").mkdir()
    with pytest.raises(DataError, match=r"holds neither \.txt files"):
        read_texts(tmp_path / "empty")


@pytest.mark.parametrize(
    ("content", "text", "texts"),
    [
        ('{"body": "a, b"}\n{"body": "c"}', "body", ["a, b", "c"]),
        ('["a, b", "c"]', "text", ["a, b", "c"]),
        ('n,body\n1,"a, b"\n2,c', "body", ["a, b", "c"]),
        ("n;body\n1;a, b\n2;c", "body", ["a, b", "c"]),
        ("\n\na, b\nc\n", "text", ["a, b", "c"]),
    ],
)
def test_standard_input(
    monkeypatch: pytest.MonkeyPatch, content: str, text: str, texts: list[str]
) -> None:
    stream = io.TextIOWrapper(io.BytesIO(content.encode()))
    monkeypatch.setattr(sys, "stdin", stream)
    assert read_texts("-", text) == texts
    assert not stream.closed


@pytest.mark.parametrize(
    ("content", "text", "why"),
    [
        (b"", "text", "holds no rows"),
        (b"caf\xe9", "text", "is not utf-8"),
        (b"one line\n", "body", "no column 'body'; it has 'text'"),
    ],
)
def test_standard_input_that_is_wrong(
    monkeypatch: pytest.MonkeyPatch, content: bytes, text: str, why: str
) -> None:
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(content)))
    with pytest.raises(DataError, match=why):
        read_texts("-", text)


# ---- files that unpack to more than they should


def bomb(kind: str, folder: Path) -> Path:
    """A small file that would fill the memory."""
    if kind == "cell":
        path = folder / "d.csv.gz"
        with gzip.open(path, "wb") as file:
            file.write(b"text,y\n")
            for _ in range(20):
                file.write(b"a" * 1_000_000)
        return path
    if kind == "quoted cell":
        return document_file(folder, 'text,y\n"' + ("a" * 1000 + "\n") * 9000 + '",1\n')
    if kind == "rows":
        path = folder / "d.csv.xz"
        path.write_bytes(
            lzma.compress(
                ",".join(map(str, range(1000))).encode() + b"\n" + (b"1," * 999 + b"1\n") * 6500
            )
        )
        return path
    if kind == "keys":
        lines = "".join(f'{{"key{k}": {k}}}\n' for k in range(3000))
        return document_file(folder, lines, "d.jsonl")
    if kind == "json":
        return document_file(folder, gzip.compress(b"[" + b"[]," * 2_000_000 + b"[]]"), "d.json.gz")
    if kind == "folder":
        document_file(folder, gzip.compress(b"a" * 9_000_000), "d.txt.gz")
        return folder
    columns = {"n": np.zeros(10_000_000, np.int8)} if kind == "numbers" else {}
    if kind == "repeated texts":
        columns = {"text": pa.array(["word " * 200_000] * 300).dictionary_encode()}
    elif kind == "lists":
        columns = {"n": pa.array([np.zeros(1_000_000, np.int8)] * 10)}
    pq.write_table(pa.table(columns), folder / "d.parquet")
    return folder / "d.parquet"


@pytest.mark.parametrize(
    "kind",
    ["cell", "quoted cell", "rows", "keys", "json", "folder", "numbers", "repeated texts", "lists"],
)
def test_a_small_file_that_unpacks_to_much_is_refused(kind: str, tmp_path: Path) -> None:
    path = bomb(kind, tmp_path)
    tracemalloc.start()
    try:
        with pytest.raises(TooLargeError, match=r"d\.\w+.* (MB|characters).*max_bytes.*--max-size"):
            read_data(path)
        assert tracemalloc.get_traced_memory()[1] < 250e6
    finally:
        tracemalloc.stop()


def test_the_limit_can_be_chosen(tmp_path: Path) -> None:
    path = document_file(tmp_path, "a,b\n" + "1,2\n" * 100)
    with pytest.raises(TooLargeError, match="0 MB"):
        read_data(path, max_bytes=3000)
    assert read_data(path, max_bytes=4000).n_rows == 100
    text = "x" * 9_000_000
    path = document_file(tmp_path, text, "long.txt")
    assert read_texts(path, max_bytes=10_000_000) == [text]


def test_wide_rows_come_in_small_chunks(tmp_path: Path) -> None:
    """Rows of many cells or long texts, which are no bomb, are read a few at a time, and are the same."""
    names = [f"c{j}" for j in range(30_000)]
    content = "\n".join([",".join(names), *[",".join(["1"] * len(names))] * 200])
    path = document_file(tmp_path, content, "wide.csv")
    assert [len(chunk) for chunk in read_chunks(path)] == [140, 60]
    long = document_file(tmp_path, ("x" * 8_000_000 + "\n") * 10, "long.txt")
    assert [len(chunk) for chunk in read_chunks(long)] == [9, 1]
    texts = ["word " * 200_000] * 100
    pq.write_table(pa.table({"text": pa.array(texts).dictionary_encode()}), tmp_path / "d.parquet")
    chunks = list(read_chunks(tmp_path / "d.parquet"))
    assert len(chunks) == 2
    assert [text for chunk in chunks for text in chunk["text"]] == texts


# ---- delimiters and headers


@pytest.mark.parametrize(
    ("content", "columns"),
    [
        ("n;text;x\n1;a, b;2\n2;c, d;3\n", ["n", "text", "x"]),
        ("n;text, all;x\n1;a, b;2\n2;c, d;3\n", ["n", "text, all", "x"]),  # each line has one ","
        ("n\ttext\tx\n1\ta; b\t2\n2\tc\t3\n", ["n", "text", "x"]),
        ("n|text|x\n1|a|2\n", ["n", "text", "x"]),
        ("n,text,x\n1,a;b,2\n1,a;b,2\n", ["n", "text", "x"]),
        ("text\na;b;c\n", ["text"]),
    ],
)
def test_delimiters_of_csv(tmp_path: Path, content: str, columns: list[str]) -> None:
    assert list(read_data(document_file(tmp_path, content)).columns) == columns


@given(
    st.lists(
        st.lists(st.text('a;,"\n|\t x', max_size=5), min_size=2, max_size=2),
        min_size=1,
        max_size=5,
    ),
    st.sampled_from([",", ";", "|", "\t"]),
)
def test_any_csv_is_read_as_written(
    tmp_path_factory: pytest.TempPathFactory, rows: list[list[str]], delimiter: str
) -> None:
    stream = io.StringIO(newline="")
    writer = csv.writer(stream, delimiter=delimiter)
    writer.writerows([["number", "text"], *rows])
    path = document_file(tmp_path_factory.mktemp("csv"), stream.getvalue())
    number, text = zip(*rows, strict=True)
    assert read_data(path).columns.to_dict("list") == {"number": [*number], "text": [*text]}


@pytest.mark.parametrize("first", ["5.1,3.5,setosa", "1,1,2", f"a,{'long text ' * 2000},"])
def test_a_first_line_of_data_is_pointed_out(first: str, tmp_path: Path) -> None:
    with pytest.raises(DataError, match="--no-header") as error:
        read_data(document_file(tmp_path, f"{first}\n{first}\n")).column("kind")
    assert len(str(error.value)) < 600
    with pytest.raises(DataError, match="no column") as error:
        read_data(document_file(tmp_path, "size,kind\n1,2\n")).column("sort")
    assert "--no-header" not in str(error.value)


# ---- tables


@pytest.mark.parametrize("name", ["t.csv", "t.jsonl", "t.parquet"])
def test_every_format_gives_the_same_table(name: str, tmp_path: Path) -> None:
    columns = ("size", "colour", "kind")
    rows = [(1.5, "red", 1), (2.0, "blue", 0), (-3.0, "red", 1)]
    file = read_data(write(tmp_path / name, [dict(zip(columns, row, strict=True)) for row in rows]))
    assert (file.n_rows, tuple(file.columns)) == (3, columns)
    table = file.table(["size", "colour"])
    assert table.names == ("size", "colour")
    assert table.levels == (None, ("blue", "red"))
    assert table.values.tolist() == [[1.5, 1], [2.0, 0], [-3.0, 1]]
    assert file.texts("kind") == ["1", "0", "1"]


def test_blank_cells_are_missing(tmp_path: Path) -> None:
    table = read_data(document_file(tmp_path, "a,b\n1,x\n,y\n3,\n")).table(["a", "b"])
    np.testing.assert_array_equal(table.values, [[1, 0], [np.nan, 1], [3, np.nan]])
    assert table.levels == (None, ("x", "y"))
    file = read_data(document_file(tmp_path, "a,b\n1,NA\n ? ,DE\n3,FR\n"))
    with pytest.warns(UserWarning, match="'a' holds numbers; cells such as ' . ' count as missing"):
        table = file.table(["a", "b"])
    np.testing.assert_array_equal(table.values, [[1, 2], [np.nan, 0], [3, 1]])  # NA is a name


def test_columns_of_new_rows_are_what_they_were_in_training(tmp_path: Path) -> None:
    rule = BinaryRule.learn(read_data(document_file(tmp_path, "a,b\n1,x\n2,3\n")).table(["b", "a"]))
    table = read_data(document_file(tmp_path, "a,b,c\n5,1,\n6,2,\n")).table_for(rule)
    assert (table.names, table.levels) == (("b", "a"), (("1", "2"), None))
    with pytest.raises(DataError, match="'a' held numbers when the model was fitted"):
        read_data(document_file(tmp_path, "a,b\nx,1\n")).table_for(rule)


def test_cells_are_read_as_they_are_written(tmp_path: Path) -> None:
    """Neither zeros nor digits nor codes that pandas takes for missing values get lost."""
    cells = {"code": ["007", "7"], "land": ["NA", "null"], "key": ["12345678901234567890", "1"]}
    content = "\n".join(map(",".join, zip(*([name, *cells[name]] for name in cells), strict=True)))
    assert read_data(document_file(tmp_path, content)).columns.to_dict("list") == cells
    numbers = [{"n": 2**60 + 1}, {"n": None}, {"n": True}]
    path = write(tmp_path / "t.jsonl", numbers)
    assert read_data(path).texts("n") == [str(2**60 + 1), "", "True"]
    path = write(tmp_path / "t.parquet", numbers[:2])
    assert read_data(path).texts("n") == [str(2**60 + 1), ""]


def test_json_lines_may_lack_keys(tmp_path: Path) -> None:
    content = '{"a": 1}\n{"b": "x"}\n{"a": 3, "b": "y"}\n'
    file = read_data(document_file(tmp_path, content, "t.jsonl"))
    assert file.column("a").tolist() == [1, None, 3]
    assert file.column("b").tolist() == [None, "x", "y"]
    with pytest.raises(DataError, match="no rows"):
        read_data(document_file(tmp_path, "\n", "t.jsonl"))


def test_chunks_join_to_the_whole(tmp_path: Path) -> None:
    records = [{"n": k, **({"late": "x"} if k == 9000 else {})} for k in range(10_000)]
    path = write(tmp_path / "d.jsonl", records)
    chunks = list(read_chunks(path, ["n"]))
    assert len(chunks) > 1
    assert [n for chunk in chunks for n in chunk["n"]] == list(range(10_000))
    late = read_data(path).column("late").tolist()
    assert (len(late), late[9000], late.count(None)) == (10_000, "x", 9_999)
    with pytest.raises(DataError, match="no column 'more'"):
        list(read_chunks(path, ["more"]))


def test_texts_that_no_file_can_hold_are_refused(tmp_path: Path) -> None:
    path = document_file(tmp_path, '{"a": 1, "c": "x"}\n{"a": 2, "c": "\\ud800"}\n', "d.jsonl")
    with pytest.raises(DataError, match=r"d\.jsonl: column 'c' holds a lone surrogate"):
        read_data(path).table(["a", "c"])
    path = document_file(tmp_path, '{"\\ud800": 1}\n', "d.jsonl")
    with pytest.raises(DataError, match=r"d\.jsonl: a column name holds a lone surrogate"):
        read_data(path)


def test_a_model_is_no_data(tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"m\.tsenet is a model.*comes first"):
        read_data(document_file(tmp_path, "", "m.tsenet"))
