"""The kernels of topics against their definitions in NumPy."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray
from scipy.sparse import csr_array

from tsenet.skeleton.kernels.csr import Csr
from tsenet.topics.topic_kernels import compare_with_chance, divide_words

Floats = NDArray[np.float64]


def expected(
    rows: NDArray[np.bool_],
    weight: Floats,
    topic_of: Floats,
    given: Floats,
    sparsity: float,
    n: int,
) -> Floats:
    """Occurrences of each word in each topic after ``n`` EM steps on the mixture of each row."""
    out = np.zeros_like(given)
    for row in rows:
        words = np.flatnonzero(row)
        mixture = weight[words] @ topic_of[words]
        is_active = mixture > 0
        for _ in range(n):
            likely = np.where(is_active, mixture * given[words], 0.0)  # (n, K)
            total = likely.sum(axis=1, keepdims=True)
            share = weight[words, None] * np.divide(
                likely, total, out=np.zeros_like(likely), where=total > 0
            )
            occurrences = share.sum(axis=0)
            if not is_active.any():
                break
            best = np.argmax(np.where(is_active, occurrences, -1.0))
            is_active &= (occurrences > sparsity) | (np.arange(is_active.size) == best)
            mixture = np.where(is_active, np.maximum(occurrences - sparsity, 1e-9), 0.0)
        else:
            out[words] += share
    return out


def compressed(matrix: csr_array) -> Csr:
    return Csr(matrix.indptr.astype(np.int64), matrix.indices.astype(np.int32))


def divided(
    rows: NDArray[np.bool_], weight: Floats, topic_of: Floats, given: Floats, *steps: Any
) -> Floats:
    """The same as ``expected``, by the kernel; its P(word | topic) is (counts + background) / size."""
    topics, out = csr_array(topic_of), np.zeros_like(given)
    size, background = np.array([2.0, 4.0, 1.0, 8.0, 0.5])[: given.shape[1]], given.min(axis=1) / 2
    counts = np.ascontiguousarray(given * size - background[:, None])
    csr = compressed(csr_array(rows)), weight, compressed(topics), topics.data
    divide_words(*csr, counts, background, size, *steps, out)
    return out


def tables(rng: np.random.Generator, n_words: int, n_topics: int) -> tuple[Floats, Floats, Floats]:
    """Weights of words, P(topic | word) and P(word | topic), with words in no topic."""
    counts = rng.random((n_words, n_topics)) * (rng.random((n_words, n_topics)) < 0.6)
    of_word = np.maximum(counts.sum(axis=1, keepdims=True), 1e-12)
    of_topic = np.maximum(counts.sum(axis=0), 1e-12)
    return rng.uniform(0.02, 1.0, n_words), counts / of_word, counts / of_topic


@given(
    seed=st.integers(0, 10_000),
    n_rows=st.integers(0, 12),
    n_words=st.integers(1, 15),
    n_topics=st.integers(1, 5),
    sparsity=st.sampled_from([0.0, 0.1, 1.0]),
    n_steps=st.integers(1, 6),
)
@settings(max_examples=60)
def test_words_are_divided_as_the_definition_says(
    seed: int, n_rows: int, n_words: int, n_topics: int, sparsity: float, n_steps: int
) -> None:
    rng = np.random.default_rng(seed)
    rows = rng.random((n_rows, n_words)) < 0.4
    arguments = (*tables(rng, n_words, n_topics), sparsity, n_steps)
    np.testing.assert_allclose(divided(rows, *arguments), expected(rows, *arguments), atol=1e-9)


@pytest.mark.parametrize("density", [0.0, 1.0])
def test_empty_and_full_rows(density: float) -> None:
    rng = np.random.default_rng(0)
    rows = rng.random((6, 8)) < density
    arguments = (*tables(rng, 8, 3), 1.0, 4)
    np.testing.assert_allclose(divided(rows, *arguments), expected(rows, *arguments), atol=1e-9)


def test_without_sparsity_every_word_of_a_topic_is_shared_out_whole() -> None:
    rng = np.random.default_rng(0)
    rows = rng.random((30, 8)) < 0.5
    weight, topic_of, given_topic = tables(rng, 8, 3)
    out = divided(rows, weight, topic_of, given_topic, 0.0, 5)
    of_topics = topic_of.any(axis=1)
    np.testing.assert_allclose(
        out.sum(axis=1)[of_topics], (weight * rows.sum(axis=0))[of_topics], rtol=1e-9
    )


@pytest.mark.parametrize("n_classes", [1, 3])
def test_pairs_of_words_are_compared_with_chance(n_classes: int) -> None:
    rng = np.random.default_rng(n_classes)
    n_words, first, in_block = 12, 4, 5
    n, rate = rng.integers(1, 40, n_classes).astype(float), rng.random((n_words, n_classes)) / 2
    rate[7] = 0.0  # a word that chance never brings
    seen = csr_array(rng.integers(0, 12, (in_block, n_words)).astype(float))

    by_chance, gain = np.empty(seen.nnz), np.empty(seen.nnz)
    compare_with_chance(compressed(seen), seen.data, first, n, rate, by_chance, gain)

    i, j = seen.tocoo().coords
    both = rate[first + i] * rate[j]
    wanted = both @ n
    spread = (both * (1 - rate[first + i]) * (1 - rate[j])) @ n
    excess = seen.data - wanted
    is_tied = (seen.data >= 2) & (first + i != j) & (excess > 0) & (wanted > 0)
    assert 0 < is_tied.sum() < is_tied.size
    of_count = seen.data[is_tied] * np.log(seen.data[is_tied] / wanted[is_tied]) - excess[is_tied]
    of_normal = excess[is_tied] ** 2 / (2 * spread[is_tied])
    np.testing.assert_allclose(gain[is_tied], np.minimum(of_count, of_normal), rtol=1e-9)
    assert not gain[~is_tied].any()
    np.testing.assert_allclose(by_chance[is_tied], wanted[is_tied])
