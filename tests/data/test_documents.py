from __future__ import annotations

import bz2
import csv
import gzip
import io
import json
import lzma
import sys
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tsenet.data import Documents, read_documents, vectorize
from tsenet.data.files import _delimiter_of
from tsenet.errors import DataError, MissingDependencyError

RECORDS: list[dict[str, Any]] = [
    {"id": "1", "text": 'Naïve café, "quoted"\nsecond line', "label": "a"},
    {"id": "2", "text": "tab\there; 漢字", "label": "b"},
    {"id": "3", "text": "", "label": "a"},
]
TEXTS = [record["text"] for record in RECORDS]
LABELS = ["a", "b", "a"]


def write(path: Path, records: list[dict[str, Any]] = RECORDS, header: bool = True) -> Path:
    kind, compression = [*path.suffixes, ""][:2]
    if kind == ".parquet":
        pq.write_table(pa.Table.from_pylist(records), path)
        return path
    opener = {"": open, ".gz": gzip.open, ".xz": lzma.open, ".bz2": bz2.open}[compression]
    with opener(path, "wt", encoding="utf-8", newline="") as file:
        if kind in (".jsonl", ".ndjson"):
            file.writelines(json.dumps(record) + "\n" for record in records)
            return path
        writer = csv.DictWriter(
            file, fieldnames=list(records[0]), delimiter="," if kind == ".csv" else "\t"
        )
        if header:
            writer.writeheader()
        writer.writerows(records)
    return path


@pytest.mark.parametrize(
    "name",
    [
        *(
            f"d{kind}{end}"
            for kind in (".csv", ".tsv", ".jsonl")
            for end in ("", ".gz", ".xz", ".bz2")
        ),
        "d.ndjson",
        "d.parquet",
        "D.CSV.GZ".lower(),
    ],
)
def test_every_format_gives_the_same_documents(tmp_path: Path, name: str) -> None:
    path = write(tmp_path / name)
    documents = read_documents(path, "text", columns=["label"])
    assert documents == Documents(TEXTS, {"label": LABELS}, n_missing=1)
    assert read_documents(str(path), "text", columns=["text"]).columns == {}
    assert len(documents) == 3
    assert documents.report() == "3 documents, 1 of them without text"
    assert repr(documents) == "Documents(3 documents, 1 of them without text)"


def test_the_case_of_the_suffix_does_not_matter(tmp_path: Path) -> None:
    path = write(tmp_path / "d.csv").rename(tmp_path / "D.CSV")
    assert read_documents(path, "text").texts == TEXTS


@pytest.mark.parametrize("name", ["d.csv", "d.tsv"])
def test_without_header_columns_are_numbered(tmp_path: Path, name: str) -> None:
    path = write(tmp_path / name, header=False)
    documents = read_documents(path, "2", columns=["3"], header=False)
    assert documents.texts == TEXTS
    assert documents.columns == {"3": LABELS}
    with pytest.raises(DataError, match="no column 'text'; it has '1', '2', '3'"):
        read_documents(path, "text", header=False)


@pytest.mark.parametrize("name", ["d.csv", "d.tsv", "d.jsonl", "d.parquet"])
def test_unknown_columns_list_the_known(tmp_path: Path, name: str) -> None:
    path = write(tmp_path / name)
    with pytest.raises(DataError, match="no column 'body'; it has 'id', 'text', 'label'"):
        read_documents(path, "body")
    with pytest.raises(DataError, match="no column 'year'"):
        read_documents(path, "text", columns=["year"])


def test_a_column_named_twice(tmp_path: Path) -> None:
    (tmp_path / "d.csv").write_text("text,text\na,b\n")
    with pytest.raises(DataError, match="2 columns named 'text'"):
        read_documents(tmp_path / "d.csv", "text")


def test_missing_texts_are_empty_and_counted(tmp_path: Path) -> None:
    records = [{"text": "one"}, {"text": None}, {"label": 3}, {"text": 7, "label": None}]
    expected = Documents(["one", "", "", "7"], {"label": [None, None, 3, None]}, n_missing=2)
    assert (
        read_documents(write(tmp_path / "d.jsonl", records), "text", columns=["label"]) == expected
    )
    numbers = write(tmp_path / "d.parquet", [{"n": 1.5}, {"n": float("nan")}, {"n": None}])
    assert read_documents(numbers, "n") == Documents(["1.5", "", ""], {}, n_missing=2)


def test_long_fields(tmp_path: Path) -> None:
    long = "word " * 100_000
    path = write(tmp_path / "d.csv", [{"text": long}, {"text": "short"}])
    assert read_documents(path, "text").texts == [long, "short"]


def test_byte_order_mark_blank_lines_and_line_ends(tmp_path: Path) -> None:
    path = tmp_path / "d.csv"
    path.write_bytes(b"\xef\xbb\xbftext,n\r\n\r\nhello,1\r\nworld,2\r\n\r\n")
    assert read_documents(path, "text").texts == ["hello", "world"]
    assert read_documents(path, "text", encoding="UTF8").texts == ["hello", "world"]
    lines = tmp_path / "d.jsonl"
    lines.write_bytes(b'\xef\xbb\xbf{"text": "a"}\r\n\r\n  \n{"text": "b"}')
    assert read_documents(lines, "text").texts == ["a", "b"]


def test_encodings(tmp_path: Path) -> None:
    path = tmp_path / "d.csv"
    path.write_bytes("text\ncafé\n".encode("latin-1"))
    with pytest.raises(DataError, match=r"d\.csv is not utf-8.* \(byte 0xe9\).*encoding='latin-1'"):
        read_documents(path, "text")
    assert read_documents(path, "text", encoding="latin-1").texts == ["café"]
    with pytest.raises(DataError, match="unknown encoding 'klingon'"):
        read_documents(path, "text", encoding="klingon")


@pytest.mark.parametrize(
    ("line", "why"),
    [
        ("{'text': 1}", "line 3: not JSON"),
        ('{"text": "a"', "line 3: not JSON"),
        ("[" * 100_000, "line 3: not JSON"),
        ("[1]", "line 3: expected a JSON object, got a list"),
        ('{"text": ["a"]}', "row 2: 'text' holds a list"),
        ('{"text": {"a": 1}}', "row 2: 'text' holds a dict"),
    ],
    ids=lambda part: part[:20],
)
def test_broken_json_names_the_line(tmp_path: Path, line: str, why: str) -> None:
    path = tmp_path / "d.jsonl"
    path.write_text(f'{{"text": "a"}}\n\n{line}\n')
    with pytest.raises(DataError, match=why):
        read_documents(path, "text")


@pytest.mark.parametrize(
    ("rows", "why"),
    [
        ("a,b,c", "line 3: 3 fields, expected 2"),
        ("a", "line 3: 1 field, expected 2"),
        ('a,"left open\nx,y\n', "line 4: unexpected end of data"),
        ('a,"b"c', "line 3: "),
    ],
)
def test_broken_csv_names_the_line(tmp_path: Path, rows: str, why: str) -> None:
    path = tmp_path / "d.csv"
    path.write_text(f"n,text\n1,one\n{rows}")
    with pytest.raises(DataError, match=why):
        read_documents(path, "text")


@pytest.mark.parametrize("name", ["d.csv", "d.jsonl", "d.csv.gz"])
def test_no_documents(tmp_path: Path, name: str) -> None:
    opener: Any = gzip.open if name.endswith("gz") else open
    for content in ("", "\n\n", "text\n" if "csv" in name else " \n"):
        with opener(tmp_path / name, "wt") as file:
            file.write(content)
        with pytest.raises(DataError, match="holds no documents"):
            read_documents(tmp_path / name, "text")


@pytest.mark.parametrize("name", ["d.csv.gz", "d.jsonl.xz", "d.csv.bz2", "d.parquet"])
def test_damaged_files(tmp_path: Path, name: str) -> None:
    path = write(tmp_path / name, RECORDS * 50)
    content = path.read_bytes()
    for damaged in (b"this is something else", content[: len(content) // 2]):
        path.write_bytes(damaged)
        with pytest.raises(DataError, match=r"is damaged or not a \.?\w+ file"):
            read_documents(path, "text")


@pytest.mark.parametrize("name", ["d", "d.pdf", "d.gz", "d.parquet.gz", ".csv"])
def test_unknown_formats(tmp_path: Path, name: str) -> None:
    with pytest.raises(DataError, match=r"cannot tell the format .*\.csv, \.tsv, \.jsonl"):
        read_documents(tmp_path / name, "text")


@pytest.mark.parametrize("name", ["d.csv", "d.jsonl.gz", "d.parquet"])
def test_no_such_file(tmp_path: Path, name: str) -> None:
    with pytest.raises(FileNotFoundError):
        read_documents(tmp_path / name, "text")


def test_parquet_of_bytes_is_no_text(tmp_path: Path) -> None:
    path = write(tmp_path / "d.parquet", [{"text": b"bytes"}])
    with pytest.raises(DataError, match="row 1: 'text' holds a bytes"):
        read_documents(path, "text")


def test_parquet_without_pyarrow(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = write(tmp_path / "d.parquet")
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    with pytest.raises(MissingDependencyError, match=r"pip install tsenet\[text\]"):
        read_documents(path, "text")


def test_plain_text_is_a_document_a_line(tmp_path: Path) -> None:
    (tmp_path / "d.txt").write_text("one, two\n\n  \nthree\n", newline="\r\n")
    assert read_documents(tmp_path / "d.txt").texts == ["one, two", "three"]


@pytest.mark.parametrize(
    "content",
    [
        '["a b", "c"]',
        '\n[{"text": "a b"},\n {"text": "c"}]',
        '{"text": "a b"}\n{"text": "c"}\n',
    ],
)
def test_json_arrays_of_strings_and_of_objects(tmp_path: Path, content: str) -> None:
    (tmp_path / "d.json").write_text(content)
    assert read_documents(tmp_path / "d.json").texts == ["a b", "c"]


@pytest.mark.parametrize(
    ("content", "why"),
    [
        ("[1, 2]", "element 1: expected a JSON object, got a int"),
        ('["a", null]', "element 2: expected a JSON object, got a NoneType"),
        ('["a"', "not JSON"),
        ("[]", "holds no documents"),
        ('"text"', "line 1: expected a JSON object, got a str"),
    ],
)
def test_wrong_json_arrays(tmp_path: Path, content: str, why: str) -> None:
    (tmp_path / "d.json").write_text(content)
    with pytest.raises(DataError, match=why):
        read_documents(tmp_path / "d.json")


def test_a_folder_of_texts(tmp_path: Path) -> None:
    for name in ("b/2.txt", "a/1.TXT", "a/10.txt", "c.md", ".hidden/3.txt", "b/.4.txt"):
        path = tmp_path / name
        path.parent.mkdir(exist_ok=True)
        path.write_text(f"text of {name}\nin lines")
    with gzip.open(tmp_path / "z.txt.gz", "wt") as file:
        file.write("zipped")
    documents = read_documents(tmp_path, columns=["file", "folder"])
    names = ["a/1.TXT", "a/10.txt", "b/2.txt"]
    assert documents.texts == [*(f"text of {name}\nin lines" for name in names), "zipped"]
    assert documents.columns == {"file": [*names, "z.txt.gz"], "folder": ["a", "a", "b", "."]}
    with pytest.raises(DataError, match="no column 'label'; it has 'text', 'file', 'folder'"):
        read_documents(tmp_path, columns=["label"])
    (tmp_path / "a/1.TXT").write_bytes(b"\xe9")
    with pytest.raises(DataError, match=r"a/1\.TXT is not utf-8"):
        read_documents(tmp_path)
    assert read_documents(tmp_path, encoding="latin-1").texts[0] == "é"
    (tmp_path / "empty").mkdir()
    with pytest.raises(DataError, match=r"holds no \.txt files"):
        read_documents(tmp_path / "empty")


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
    assert read_documents("-", text).texts == texts
    assert not stream.closed


def test_standard_input_that_is_wrong(monkeypatch: pytest.MonkeyPatch) -> None:
    for content, why in ((b"", "holds no documents"), (b"caf\xe9", "is not utf-8")):
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(content)))
        with pytest.raises(DataError, match=why):
            read_documents("-")
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(b"one line\n")))
    with pytest.raises(DataError, match="no column 'body'; it has 'text'"):
        read_documents("-", "body")


@pytest.mark.parametrize(
    ("content", "delimiter"),
    [
        ("n;text;x\n1;a, b;2\n2;c, d;3\n", ";"),
        ("n;text, all;x\n1;a, b;2\n2;c, d;3\n", ";"),  # "," gives two fields in each line
        ("n\ttext\tx\n1\ta; b\t2\n2\tc\t3\n", "\t"),
        ("n|text|x\n1|a|2\n", "|"),
        ("n,text,x\n1,a;b,2\n1,a;b,2\n", ","),
        ("text\na;b;c\n", ","),
        ("text\n", ","),
        ("", ","),
    ],
)
def test_what_separates_the_fields_of_csv(content: str, delimiter: str) -> None:
    assert _delimiter_of(content, header=True) == delimiter


def test_without_names_a_comma_goes_before_others(tmp_path: Path) -> None:
    path = tmp_path / "d.csv"
    path.write_text("1,a;b;c\n2,d;e;f\n")
    assert read_documents(path, "2", header=False).texts == ["a;b;c", "d;e;f"]
    path.write_text("1;a\n2;d\n")
    assert read_documents(path, "2", header=False).texts == ["a", "d"]


@given(
    st.lists(st.lists(st.text('a;,"\n|\t x', max_size=5), min_size=2, max_size=2), max_size=5),
    st.sampled_from([",", ";", "|", "\t"]),
)
def test_a_header_tells_the_delimiter(rows: list[list[str]], delimiter: str) -> None:
    stream = io.StringIO(newline="")
    writer = csv.writer(stream, delimiter=delimiter)
    writer.writerows([["number", "text"], *rows])
    assert _delimiter_of(stream.getvalue(), header=True) == delimiter


def test_duplicates_are_reported() -> None:
    documents = Documents(["a", "b", "a", "", "", "a"], n_missing=2)
    assert documents.n_duplicates == 2
    assert documents.report() == ("6 documents, 2 of them without text, 2 of them duplicates")


def test_numbers_of_thousands_of_digits(tmp_path: Path) -> None:
    path = tmp_path / "d.jsonl"
    path.write_text(f'{{"text": "a"}}\n{{"text": "b", "n": {"9" * 5000}}}\n')
    with pytest.raises(DataError, match="line 2: not JSON"):
        read_documents(path, "text")


def test_lone_surrogates(tmp_path: Path) -> None:
    path = tmp_path / "d.jsonl"
    path.write_text('{"text": "\\ud83d\\ude00"}\n')
    assert read_documents(path, "text").texts == ["😀"]
    with pytest.raises(DataError, match="document 1 holds half of a character"):
        vectorize(["a", "b \ud800"])
