"""Word vectors: every format gives the same vectors, gensim reads the same files alike, damage is named."""

from __future__ import annotations

import gzip
import os
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from gensim.models import KeyedVectors
from numpy.typing import NDArray

from tsenet.errors import DataError
from tsenet.explain import vectors as module
from tsenet.explain.vectors import WordVectors, load_vectors

WORDS = ("the", "dog", "cat", "café", "New_York", "x")
MATRIX = np.random.default_rng(0).normal(size=(6, 7)).astype(np.float32)
UNIT = MATRIX / np.linalg.norm(MATRIX.astype(np.float64), axis=1, keepdims=True)
Floats = NDArray[np.float32]


def binary(words: tuple[str, ...] = WORDS, matrix: Floats = MATRIX, end: bytes = b"") -> bytes:
    """word2vec's binary format; the original program ends each vector with a newline, others do not."""
    head = f"{len(words)} {matrix.shape[1]}\n".encode()
    return head + b"".join(
        word.encode() + b" " + vector.astype("<f4").tobytes() + end
        for word, vector in zip(words, matrix, strict=True)
    )


def spoilt(value: float) -> Floats:
    """The vectors with one entry of the third replaced."""
    matrix = MATRIX.copy()
    matrix[2, 0] = value
    return matrix


def glove(words: tuple[str, ...] = WORDS, matrix: Floats = MATRIX) -> bytes:
    lines = (
        " ".join([word, *map(repr, vector.tolist())])
        for word, vector in zip(words, matrix, strict=True)
    )
    return "".join(line + "\n" for line in lines).encode()


def text(words: tuple[str, ...] = WORDS, matrix: Floats = MATRIX) -> bytes:
    return f"{len(words)} {matrix.shape[1]}\n".encode() + glove(words, matrix)


FORMATS: dict[str, Callable[[], bytes]] = {
    "binary": binary,
    "binary with newlines": lambda: binary(end=b"\n"),
    "text": text,
    "text with spaces at the end": lambda: text().replace(b"\n", b" \n"),
    "GloVe": glove,
    "GloVe from Windows": lambda: glove().replace(b"\n", b"\r\n"),
    "GloVe without a last newline": lambda: glove().rstrip(),
}


def written(folder: Path, content: bytes, name: str = "vectors.any") -> Path:
    path = folder / name
    path.write_bytes(content)
    return path


@pytest.mark.parametrize("zipped", [False, True])
@pytest.mark.parametrize("name", FORMATS)
def test_every_format_gives_the_same(name: str, zipped: bool, tmp_path: Path) -> None:
    content = FORMATS[name]()
    path = written(tmp_path, gzip.compress(content) if zipped else content)
    found = load_vectors(path)
    assert found.words == WORDS
    assert found.matrix.dtype == np.float32
    np.testing.assert_allclose(found.matrix, UNIT, atol=1e-6)


@pytest.mark.parametrize("name", FORMATS)
def test_only_wanted_words_are_kept(name: str, tmp_path: Path) -> None:
    found = load_vectors(written(tmp_path, FORMATS[name]()), ["café", "dog", "absent"])
    assert found.words == ("dog", "café")
    np.testing.assert_allclose(found.matrix, UNIT[[1, 3]], atol=1e-6)


@pytest.mark.parametrize("is_binary", [False, True])
def test_gensim_writes_what_we_read(is_binary: bool, tmp_path: Path) -> None:
    keyed = KeyedVectors(vector_size=7)
    keyed.add_vectors(list(WORDS), MATRIX)
    path = tmp_path / "vectors"
    keyed.save_word2vec_format(str(path), binary=is_binary)
    found = load_vectors(path)
    for first, second in (("dog", "cat"), ("the", "New_York")):
        assert found.similarity(first, second) == pytest.approx(
            keyed.similarity(first, second), abs=1e-6
        )


@pytest.mark.parametrize("chunk", [1, 5, 40, 1000])
def test_a_vector_may_lie_across_two_reads(
    chunk: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "_CHUNK", chunk)
    monkeypatch.setattr(module, "_WORD", 12)
    np.testing.assert_allclose(load_vectors(written(tmp_path, binary())).matrix, UNIT, atol=1e-6)


def test_more_words_than_the_first_array_holds(tmp_path: Path) -> None:
    words = tuple(f"w{k}" for k in range(1000))
    matrix = np.random.default_rng(1).normal(size=(1000, 3)).astype(np.float32)
    found = load_vectors(written(tmp_path, binary(words, matrix)))
    assert found.words == words
    np.testing.assert_allclose(np.linalg.norm(found.matrix, axis=1), 1, atol=1e-6)
    np.testing.assert_allclose(found["w999"], matrix[999] / np.linalg.norm(matrix[999]), atol=1e-6)


def test_of_a_word_that_comes_twice_the_first_counts(tmp_path: Path) -> None:
    found = load_vectors(written(tmp_path, glove(("a", "b", "a", "c"), MATRIX[:4])))
    assert found.words == ("a", "b", "c")
    np.testing.assert_allclose(found.matrix, UNIT[[0, 1, 3]], atol=1e-6)


def test_a_vector_without_direction_is_left_out(tmp_path: Path) -> None:
    matrix = MATRIX[:3].copy()
    matrix[1] = 0
    assert load_vectors(written(tmp_path, binary(WORDS[:3], matrix))).words == ("the", "cat")


def test_a_word_of_glove_may_hold_a_space(tmp_path: Path) -> None:
    found = load_vectors(written(tmp_path, glove(("the", ". . ."), MATRIX[:2])))
    assert found.words == ("the", ". . .")
    np.testing.assert_allclose(found.matrix, UNIT[:2], atol=1e-6)


def test_what_one_can_ask_vectors() -> None:
    vectors = WordVectors(WORDS, UNIT.astype(np.float32))
    assert len(vectors) == 6
    assert "dog" in vectors
    assert "wolf" not in vectors
    assert vectors.similarity("dog", "cat") == pytest.approx(float(UNIT[1] @ UNIT[2]), abs=1e-6)
    assert repr(vectors) == "WordVectors(6 words, 7 dimensions)"
    with pytest.raises(KeyError):
        vectors["wolf"]


class TestDamage:
    @pytest.mark.parametrize(
        ("content", "message"),
        [
            (b"", "is empty"),
            (b"just some words\n", "line 1 is neither"),
            (b"word\n", "line 1 is neither"),
            (b"\x00\x01\x02\x03" * 50, "line 1 is neither"),
            (b"3 0\n", "0 dimensions"),
            (b"3 99999999\n", "99999999 dimensions"),
            (b"9" * 5000 + b" 3\n", "line 1 is neither"),
            (binary()[:-1], r"cut short at word 6 of 6 \('x'\)"),
            (binary()[:60], r"cut short at word 2 of 6"),
            (b"6 7\n", "cut short at word 1 of 6"),
            (b"6 7\n" + b"\xff" * 10_000, "cut short at word 1 of 6"),
            (text()[: text().index(b"cat")], "ends after 2 of the 6 words"),
            (
                text().replace(repr(MATRIX[2, 4].item()).encode(), b"oh"),
                "line 4: not all of the vector's entries",
            ),
            (glove().replace(b"\ncat ", b"\ncat\n"), "line 3: a word and 7 numbers"),
            (glove(matrix=spoilt(np.nan)), "line 3: not all"),
            (
                binary(matrix=spoilt(np.inf)),
                "word 3 .*NaN or infinity",
            ),
        ],
    )
    def test_it_is_named(self, content: bytes, message: str, tmp_path: Path) -> None:
        with pytest.raises(DataError, match=message):
            load_vectors(written(tmp_path, content))

    def test_a_cut_gzip_file(self, tmp_path: Path) -> None:
        whole = gzip.compress(binary())
        with pytest.raises(DataError, match="gzip file is damaged or cut short"):
            load_vectors(written(tmp_path, whole[:-20]))
        with pytest.raises(DataError, match="gzip file is damaged or cut short"):
            load_vectors(written(tmp_path, whole[:30] + b"\x00" * 20 + whole[50:]))

    def test_no_such_file(self, tmp_path: Path) -> None:
        with pytest.raises(FileNotFoundError):
            load_vectors(tmp_path / "absent.bin")


@pytest.mark.data
@pytest.mark.parametrize(
    ("name", "dog_cat", "car_banana"),
    [("googlenews-26k-300d.bin.gz", 0.761, 0.112), ("glove.6B.50d-100k.txt.gz", 0.922, 0.219)],
)
def test_published_vectors(name: str, dog_cat: float, car_banana: float) -> None:
    path = Path(os.environ["TSENET_DATA"]) / "word_vectors" / name
    found = load_vectors(path, ["dog", "cat", "car", "banana"])
    assert found.similarity("dog", "cat") == pytest.approx(dog_cat, abs=5e-4)
    assert found.similarity("car", "banana") == pytest.approx(car_banana, abs=5e-4)
