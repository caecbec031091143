"""The paper's interpretability score: vectors from files, words of units, the score by hand."""

from __future__ import annotations

import gzip
from itertools import combinations
from pathlib import Path

import numpy as np
import pytest
import scipy.sparse as sp
from gensim.models import KeyedVectors

from reproduce.word_vectors import interpretability_score, load_vectors, top_words

WORDS = ["the", "dog", "cat", "café", "New_York"]
MATRIX = np.random.default_rng(0).normal(size=(5, 7)).astype(np.float32)


@pytest.mark.parametrize("name", ["v.bin", "v.txt"])
def test_files_that_gensim_writes(name: str, tmp_path: Path) -> None:
    vectors = KeyedVectors(7)
    vectors.add_vectors(WORDS, MATRIX)
    path = tmp_path / name
    vectors.save_word2vec_format(str(path), binary=".bin" in name)
    zipped = tmp_path / f"{name}.gz"
    zipped.write_bytes(gzip.compress(path.read_bytes()))
    for file in (path, zipped):
        read = load_vectors(file, ["cat", "café", "nowhere"])
        assert set(read) == {"cat", "café"}
        expected = MATRIX[2] / np.linalg.norm(MATRIX[2])
        assert read["cat"] == pytest.approx(expected, abs=1e-6)


def test_score_by_hand() -> None:
    unit = MATRIX / np.linalg.norm(MATRIX, axis=1, keepdims=True)
    vectors = dict(zip(WORDS, unit.astype(np.float64), strict=True))
    topics = [["the", "nowhere", "dog", "cat"], ["café", "cat"], ["dog"]]
    expected = [
        np.mean([vectors[a] @ vectors[b] for a, b in combinations(topic, 2)])
        for topic in (["the", "dog", "cat"], ["café", "cat"])
    ]
    assert interpretability_score(topics, vectors) == pytest.approx(np.mean(expected), abs=1e-6)
    assert np.isnan(interpretability_score([["dog"]], vectors))


def test_top_words_are_those_of_highest_correlation() -> None:
    rng = np.random.default_rng(1)
    X = sp.csr_array(rng.poisson(0.5, (80, 30)).astype(float))
    activations = np.maximum(X[:, [3, 7]].toarray() + 0.3 * rng.normal(size=(80, 2)), 0)
    activations = np.column_stack([activations, np.ones(80)])  # the last unit never varies
    words = top_words(activations, X, [f"w{j}" for j in range(30)])
    assert len(words) == 2
    for unit, found in enumerate(words):
        values = [
            np.corrcoef(activations[:, unit], X[:, [j]].toarray().ravel())[0, 1] for j in range(30)
        ]
        best = [f"w{j}" for j in np.argsort(values)[::-1][:10] if values[j] > 0]
        assert found == best


def test_the_rows_are_left_as_they_are() -> None:
    X = sp.csr_array((np.array([2, 1], np.float32), np.array([1, 0]), np.array([0, 2, 2])))
    before = X.toarray()
    top_words(np.array([[1.0], [0.0]]), X, ["a", "b"])
    assert np.array_equal(X.toarray(), before)
