from __future__ import annotations

import gzip
from pathlib import Path

import pytest

from tsenet.data import read_docword
from tsenet.errors import DataError

COUNTS = "3\n2\n3\n1 1 2\n1 2 1\n3 2 4\n"


def write(folder: Path, counts: str = COUNTS, words: str = "cat\ndog\n") -> Path:
    (folder / "vocab.pets.txt").write_text(words)
    path = folder / "docword.pets.txt"
    path.write_text(counts)
    return path


def test_counts(tmp_path: Path) -> None:
    table = read_docword(write(tmp_path))
    table.validate()
    assert table.names == ("cat", "dog")
    assert table.values.dtype == "int32"
    assert table.values.toarray().tolist() == [[2, 1], [0, 0], [0, 4]]


def test_compressed_and_elsewhere(tmp_path: Path) -> None:
    path = write(tmp_path)
    packed = tmp_path / "docword.pets.txt.gz"
    packed.write_bytes(gzip.compress(COUNTS.encode()))
    assert read_docword(packed) == read_docword(path)
    (tmp_path / "vocab.pets.txt").rename(tmp_path / "words.txt")
    assert read_docword(packed, tmp_path / "words.txt").names == ("cat", "dog")
    with pytest.raises(DataError, match=r"no file of words .*vocab\.pets\.txt: give it as"):
        read_docword(packed)
    packed.write_bytes(b"something else")
    with pytest.raises(DataError, match="is damaged"):
        read_docword(packed, tmp_path / "words.txt")


@pytest.mark.parametrize(
    ("counts", "why"),
    [
        ("3\n3\n3\n1 1 2\n1 2 1\n3 2 4\n", "counts 3 words, but its vocabulary has 2"),
        ("3\n2\n4\n1 1 2\n1 2 1\n3 2 4\n", "holds 3 counts, not 4 as it says"),
        ("2\n2\n3\n1 1 2\n1 2 1\n3 2 4\n", "line 6: document 3 is not from 1 to 2"),
        ("3\n2\n3\n1 1 2\n1 0 1\n3 2 4\n", "line 5: word 0 is not from 1 to 2"),
        ("3\n2\n3\n1 1 2\n1 2 1\n3 2 0\n", "line 6: count 0 is not from 1 to"),
        ("3\n2\n3\n1 1 2\n1 1 1\n3 2 4\n", "counts 1 pair of document and word twice"),
        ("3\n2\n3\n1 1\n1 2\n3 2\n", "lines of 2 numbers"),
        ("99999999999\n2\n3\n1 1 2\n1 2 1\n3 2 4\n", "are of 99,999,999,999 documents"),
        ("3\n2\nx\n", "is not in docword format"),
        ("3\n2\n1\n1 1 99999999999999999999\n", "is not in docword format"),
        ("the text\nof a book", "is not in docword format"),
        ("é", "is not in docword format"),
    ],
)
def test_wrong_files(tmp_path: Path, counts: str, why: str) -> None:
    with pytest.raises(DataError, match=why):
        read_docword(write(tmp_path, counts))


def test_wrong_words(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="is empty"):
        read_docword(write(tmp_path, words=""))
    with pytest.raises(DataError, match="'cat'"):
        read_docword(write(tmp_path, words="cat\ncat\n"))
    path = write(tmp_path)
    (tmp_path / "vocab.pets.txt").write_bytes(b"\xff\n")
    with pytest.raises(DataError, match="is not UTF-8"):
        read_docword(path)
