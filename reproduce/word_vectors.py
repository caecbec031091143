"""The paper's interpretability score (§6): how similar the word vectors of a hidden unit's top words are."""

from __future__ import annotations

import gzip
from collections.abc import Collection, Iterator, Sequence
from pathlib import Path
from typing import IO, Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from tsenet.errors import DataError

__all__ = ["chance_score", "interpretability_score", "load_vectors", "top_words"]

Vectors = dict[str, NDArray[np.float64]]

N_WORDS = 10  # words of a unit that count


def load_vectors(path: Path, words: Collection[str]) -> Vectors:
    """Read the vectors of some words, scaled to length 1; files of many gigabytes need little memory.

    The file is word2vec's binary format if its name holds ``.bin``, else text: a word and its numbers in each line, as
    word2vec and GloVe write it. It may be gzipped (``.gz``).
    """
    wanted = {word.encode() for word in words}
    with gzip.open(path) if path.suffix == ".gz" else open(path, "rb") as file:
        entries = _binary_entries(file) if ".bin" in path.name else _text_entries(file)
        vectors = {
            word.decode(): np.array(numbers, np.float64)  # of the wanted words alone: it takes long
            for word, numbers in entries
            if word in wanted
        }
    lengths = {word: float(np.linalg.norm(vector)) for word, vector in vectors.items()}
    if not all(np.isfinite(length) for length in lengths.values()):
        raise DataError(f"{path}: some vectors hold NaN or infinity")
    return {word: vectors[word] / length for word, length in lengths.items() if length > 0}


def _binary_entries(file: IO[bytes] | gzip.GzipFile) -> Iterator[tuple[bytes, Any]]:
    n_words, dimension = map(int, file.readline().split())
    for _ in range(n_words):
        word = bytearray()
        while (character := file.read(1)) != b" ":
            if not character:
                raise DataError("the file of word vectors is cut short")
            word += character
        vector = np.frombuffer(file.read(4 * dimension), "<f4")
        if vector.size < dimension:
            raise DataError("the file of word vectors is cut short")
        yield bytes(word).lstrip(b"\n"), vector


def _text_entries(file: IO[bytes] | gzip.GzipFile) -> Iterator[tuple[bytes, Any]]:
    for line in file:
        fields = line.split()
        if len(fields) > 2:  # a header has two
            yield fields[0], fields[1:]


def interpretability_score(
    topics: Sequence[Sequence[str]], vectors: Vectors, n_words: int = N_WORDS
) -> float:
    """Mean over topics of the mean cosine between their first words, ten by default, that have a vector.

    A topic with fewer than two such words has no score; the result is NaN if no topic has one.
    """
    scores = []
    for topic in topics:
        known = np.array([vectors[word] for word in topic[:n_words] if word in vectors])
        n = len(known)
        if n > 1:
            # The sum over all pairs is |sum of vectors|² less the n squares, which are 1.
            scores.append((float(np.square(known.sum(axis=0)).sum()) - n) / (n * (n - 1)))
    return float(np.mean(scores)) if scores else float("nan")


def chance_score(vectors: Vectors) -> float:
    """Mean cosine of two different words: what units of random words would score."""
    return interpretability_score([list(vectors)], vectors, n_words=len(vectors))


def top_words(activations: NDArray[Any], X: Any, names: Sequence[str]) -> list[list[str]]:
    """The words of highest positive correlation with each unit, at most ten; units without any are left out.

    Parameters
    ----------
    activations : (N, U)
        Activations of the units.
    X : (N, V), dense or sparse
        The words' values.
    names : sequence of str, length V
        The words.
    """
    values = sp.csr_array(X, dtype=np.float64, copy=True)  # summing sorts indices in place
    units = np.asarray(activations, np.float64)
    units = units - units.mean(axis=0)
    covariance = np.asarray(values.T @ units)  # the units are centred, so the words need not be
    mean = np.asarray(values.mean(axis=0)).ravel()
    spread = np.asarray(values.power(2).sum(axis=0)).ravel() - len(units) * mean**2
    scale = np.sqrt(np.maximum(spread, 0))[:, None] * np.linalg.norm(units, axis=0)
    correlation = np.divide(covariance, scale, out=np.zeros_like(covariance), where=scale > 1e-9)
    found = []
    for unit in correlation.T:
        best = np.argsort(-unit, kind="stable")[:N_WORDS]
        words = [names[j] for j in best.tolist() if unit[j] > 0]
        if words:
            found.append(words)
    return found
