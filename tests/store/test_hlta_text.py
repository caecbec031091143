"""HLTA's tuple files: one ``document, word`` pair per line."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tsenet.data import Table
from tsenet.errors import DataError
from tsenet.store import read_hlta_tuples


def read(tmp_path: Path, content: bytes | str) -> Table:
    path = tmp_path / "data.sparse.txt"
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    return read_hlta_tuples(path)


def dense(table: Table) -> list[list[int]]:
    assert table.is_sparse
    return np.asarray(table.values.toarray()).astype(int).tolist()


def test_documents_as_they_come_and_words_sorted(tmp_path: Path) -> None:
    table = read(tmp_path, "9, pear\n9, apple\nlast, pear\n1, zebra\n9, zebra\n")
    assert table.names == ("apple", "pear", "zebra")
    assert dense(table) == [[1, 1, 1], [0, 1, 0], [0, 0, 1]]
    table.validate()


def test_spaces_blank_lines_and_line_ends(tmp_path: Path) -> None:
    plain = read(tmp_path, "1, a\n2, b\n")
    assert read(tmp_path, "\ufeff1,a\r\n\r\n   \n\t2 ,\tb  \r\n\n") == plain
    assert read(tmp_path, "1, a\n2, b") == plain  # no line end at the end


def test_words_may_be_anything_but_commas(tmp_path: Path) -> None:
    assert read(tmp_path, "1, été\n1, new york\n1, 42\n1, ☃\n").names == (
        "42",
        "new york",
        "été",
        "☃",
    )


@pytest.mark.parametrize("repeats", [2, 256, 512])
def test_a_repeated_pair_counts_once(tmp_path: Path, repeats: int) -> None:
    assert dense(read(tmp_path, "1, a\n" * repeats + "2, b\n")) == [[1, 0], [0, 1]]


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("1, a\n2 b\n", "line 2: expected 'document, word' but found '2 b'"),
        ("1, a\n\n, b\n", "line 3"),
        ("1,\n", "line 1"),
        ("1, a, b\n", "line 1"),
        (b"1, a\n1, \xff\n", "line 2: not UTF-8"),
        ("1, a\n2, " + "x" * 70_000 + "\n", "line 2: longer than"),
        ("", "holds no 'document, word' line"),
        ("\n \n", "holds no 'document, word' line"),
    ],
    ids=range(8),
)
def test_what_is_no_pair(tmp_path: Path, content: bytes | str, message: str) -> None:
    with pytest.raises(DataError, match=message) as caught:
        read(tmp_path, content)
    assert "data.sparse.txt" in str(caught.value)


def test_the_longest_line_and_one_more(tmp_path: Path) -> None:
    longest = "d, " + "x" * (65_536 - len("d, \n"))
    assert read(tmp_path, f"{longest}\ne, y\n").n_rows == 2
    with pytest.raises(DataError, match="line 1: longer than 65536 bytes"):
        read(tmp_path, f"{longest}x\ne, y\n")


def test_a_long_line_is_quoted_in_part(tmp_path: Path) -> None:
    with pytest.raises(DataError, match=f"found '{'y' * 80}'$"):
        read(tmp_path, "y" * 81)


def test_a_missing_file(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="cannot be read: No such file"):
        read_hlta_tuples(tmp_path / "absent.txt")


@settings(max_examples=100, deadline=None)
@given(
    st.lists(
        st.tuples(st.integers(0, 5), st.text("abcé☃", min_size=1, max_size=2)),
        min_size=1,
        max_size=40,
    )
)
def test_same_as_a_set_of_pairs(
    tmp_path_factory: pytest.TempPathFactory, pairs: list[tuple[int, str]]
) -> None:
    table = read(tmp_path_factory.getbasetemp(), "".join(f"{d}, {w}\n" for d, w in pairs))
    documents = list(dict.fromkeys(d for d, _ in pairs))
    found = {
        (documents[row], table.names[column])
        for row, column in zip(*table.values.nonzero(), strict=True)
    }
    assert found == set(pairs)
    assert table.shape == (len(documents), len({w for _, w in pairs}))
    assert set(np.unique(table.values.data)) == {1}
