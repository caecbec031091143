"""Word vectors from files: word2vec, binary or text, and GloVe, plain or gzipped."""

from __future__ import annotations

import gzip
import zlib
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from os import PathLike, fspath
from typing import IO

import numpy as np
from numpy.typing import NDArray

from tsenet.errors import DataError

__all__ = ["WordVectors", "load_vectors"]

_LINE = 1 << 22  # bytes; a longer line is no word with its vector
_CHUNK = 1 << 20  # bytes read at a time
_WORD = 1 << 12  # bytes; a longer word in a binary file means that we lost our place
_MAX_DIMENSION = 1 << 16

_File = IO[bytes] | gzip.GzipFile
_Entry = tuple[bytes, NDArray[np.float32]]


@dataclass(frozen=True, eq=False)
class WordVectors:
    """Words and their vectors, each of length 1, so that a product of two is their cosine.

    Attributes
    ----------
    words : tuple of str, length W
        The words.
    matrix : ndarray of float32, (W, D)
        Their vectors, row by row.

    Examples
    --------
    >>> import numpy as np
    >>> from tsenet.explain import WordVectors
    >>> vectors = WordVectors(("cat", "dog"), np.array([[1, 0], [0.6, 0.8]], np.float32))
    >>> "cat" in vectors, len(vectors)
    (True, 2)
    >>> round(vectors.similarity("cat", "dog"), 2)
    0.6
    """

    words: tuple[str, ...]
    matrix: NDArray[np.float32]

    @cached_property
    def _place(self) -> dict[str, int]:
        return {word: place for place, word in enumerate(self.words)}

    def __contains__(self, word: object) -> bool:
        return word in self._place

    def __len__(self) -> int:
        return len(self.words)

    def __getitem__(self, word: str) -> NDArray[np.float32]:
        vector: NDArray[np.float32] = self.matrix[self._place[word]]
        return vector

    def similarity(self, first: str, second: str) -> float:
        """Return the cosine of two words' vectors."""
        return float(self[first] @ self[second])

    def __repr__(self) -> str:
        return f"WordVectors({len(self)} words, {self.matrix.shape[1]} dimensions)"


def load_vectors(path: str | PathLike[str], words: Iterable[str] | None = None) -> WordVectors:
    """Read word vectors from a file, recognising its format by its first bytes.

    Parameters
    ----------
    path : path
        word2vec's binary or text format, or GloVe's text format; each may be gzipped, whatever its name.
    words : iterable of str, optional
        Keep only these words; default: all. The file is read once and only the wanted vectors are held in memory, so a
        few thousand words of a file of many gigabytes need little.

    Returns
    -------
    WordVectors
        In the order of the file, scaled to length 1. A repeated word keeps its first vector; vectors of length 0 are
        left out.

    Raises
    ------
    DataError
        If the file is cut short, damaged or in none of these formats; the message says where.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> from tsenet.explain import load_vectors
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder, "glove.txt")
    ...     n_characters = path.write_text("cat 3 0 4")
    ...     print(load_vectors(path, words=["cat", "dog"]))
    WordVectors(1 words, 3 dimensions)
    """
    wanted = None if words is None else {word.encode() for word in words}
    name = fspath(path)
    with _opened(path) as file:
        start = file.read(_LINE)
        file.seek(0)
        first, _, rest = start.partition(b"\n")
        header = _header(first, name)
        if header is None:
            dimension = len(first.split()) - 1
            return _collect(_text_entries(file, dimension, None, wanted, name), dimension)
        n_words, dimension = header
        second = rest.partition(b"\n")[0].rstrip().rsplit(b" ", dimension)
        is_text = len(second) == dimension + 1 and _numbers(second[1:]) is not None
        read = _text_entries if is_text else _binary_entries
        return _collect(read(file, dimension, n_words, wanted, name), dimension)


def _collect(entries: Iterable[_Entry], dimension: int) -> WordVectors:
    """Keep the entries' vectors, scaled to length 1, in an array that grows by doubling."""
    places: dict[bytes, int] = {}
    matrix = np.empty((256, dimension), np.float32)
    for word, vector in entries:
        length = float(np.sqrt(np.square(vector, dtype=np.float64).sum()))
        if word in places or length == 0:
            continue
        if len(places) == len(matrix):
            matrix = np.concatenate([matrix, np.empty_like(matrix)])
        matrix[len(places)] = vector / length
        places[word] = len(places)
    found = tuple(word.decode(errors="replace") for word in places)
    return WordVectors(found, matrix[: len(found)].copy())


@contextmanager
def _opened(path: str | PathLike[str]) -> Iterator[_File]:
    """Open a file that may be gzipped; what goes wrong in unpacking becomes a DataError."""
    with open(path, "rb") as raw:
        if raw.peek(2)[:2] != b"\x1f\x8b":
            yield raw
            return
        try:
            with gzip.open(raw) as file:
                yield file
        except (EOFError, zlib.error, gzip.BadGzipFile) as error:
            raise DataError(
                f"{fspath(path)}: the gzip file is damaged or cut short: {error}"
            ) from error


def _header(line: bytes, name: str) -> tuple[int, int] | None:
    """Number of words and dimensions of a word2vec file; None for a file without such a line."""
    fields = line.split()
    if len(fields) == 2 and all(field.isdigit() and len(field) < 19 for field in fields):
        n_words, dimension = int(fields[0]), int(fields[1])
        if not 0 < dimension <= _MAX_DIMENSION:
            raise DataError(f"{name}, line 1: vectors of {dimension} dimensions are not read")
        return n_words, dimension
    if not line:
        raise DataError(f"{name} is empty: it holds no word vectors")
    if not 2 <= len(fields) - 1 <= _MAX_DIMENSION or _numbers(fields[1:]) is None:
        raise DataError(
            f"{name}, line 1 is neither 'words dimensions' (word2vec) nor a word and its numbers (GloVe)"
        )
    return None


def _numbers(fields: list[bytes]) -> NDArray[np.float32] | None:
    """Numbers written as text; None if some are not."""
    try:
        return np.array([float(field) for field in fields], np.float32)
    except ValueError:
        return None


def _text_entries(
    file: _File, dimension: int, n_words: int | None, wanted: set[bytes] | None, name: str
) -> Iterator[_Entry]:
    """Words and vectors of lines such as ``the 0.1 -0.2 …``, below a header if ``n_words`` is known from one."""
    read = number = 0
    if n_words is not None:
        number += bool(file.readline(_LINE))
    while text := file.readline(_LINE):
        number += 1
        if n_words is not None and read == n_words:
            return
        if not text.strip():
            continue
        read += 1
        # From the right, since a word of GloVe may hold a space.
        fields = text.rstrip().rsplit(b" ", dimension)
        if len(fields) != dimension + 1:
            raise DataError(
                f"{name}, line {number}: a word and {dimension} numbers were expected, "
                f"not {len(fields)} fields"
            )
        if wanted is not None and fields[0] not in wanted:
            continue
        vector = _numbers(fields[1:])
        if vector is None or not np.isfinite(vector).all():
            raise DataError(f"{name}, line {number}: not all of the vector's entries are numbers")
        yield fields[0], vector
    if n_words is not None and read < n_words:
        raise DataError(f"{name} ends after {read} of the {n_words} words its first line promises")


def _binary_entries(
    file: _File, dimension: int, n_words: int, wanted: set[bytes] | None, name: str
) -> Iterator[_Entry]:
    """Words and vectors of word2vec's binary format: the word, a space, little-endian float32 numbers."""
    size = 4 * dimension
    file.readline(_LINE)
    held, place = b"", 0
    for number in range(1, n_words + 1):
        end = held.find(b" ", place, place + _WORD)
        if end < 0 or end + 1 + size > len(held):
            held, place = held[place:] + file.read(_CHUNK + _WORD + size), 0
            end = held.find(b" ", 0, _WORD)
        # Some writers end a vector with a newline.
        word = held[place:end].lstrip(b"\n") if end >= 0 else b""
        if end < 0 or end + 1 + size > len(held):
            at = f" ({word.decode(errors='replace')!r})" if word else ""
            raise DataError(f"{name} is damaged or cut short at word {number} of {n_words}{at}")
        place = end + 1 + size
        if wanted is not None and word not in wanted:
            continue
        vector = np.frombuffer(held, "<f4", dimension, end + 1).astype(np.float32)
        if not np.isfinite(vector).all():
            raise DataError(f"{name}, word {number} ({word!r}): the vector holds NaN or infinity")
        yield word, vector
