"""Vectors as binary variables."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray
from threadpoolctl import threadpool_limits

from tsenet.data.binary import BinaryRows
from tsenet.data.cells import Cells
from tsenet.data.scaling import unit_rows
from tsenet.errors import DataError


def directions(n_rows: int, n_centres: int = 12, seed: int = 0) -> NDArray[np.float32]:
    """Vectors of any length near one of a few directions each, all equally often."""
    rng = np.random.default_rng(seed)
    centres = rng.normal(size=(n_centres, 20))
    noisy = centres[np.arange(n_rows) % n_centres] + 0.1 * rng.normal(size=(n_rows, 20))
    return (noisy * rng.uniform(0.1, 9.0, (n_rows, 1))).astype(np.float32)


def test_each_direction_is_a_cell() -> None:
    vectors = directions(2400)
    rows = BinaryRows.of_dense(np.zeros((2400, 2)))
    on = Cells.learn(vectors).beside(rows, vectors).to_dense()[:, 2:]
    assert on.shape == (2400, 120)
    of_direction = np.array([on[k::12].sum(axis=0) for k in range(12)])
    pure = of_direction.max(axis=0) / of_direction.sum(axis=0)
    assert np.average(pure, weights=of_direction.sum(axis=0)) > 0.8


def test_the_nearest_cells_are_those_of_all_distances() -> None:
    vectors, others = directions(5000), directions(5000, seed=1)
    cells = Cells.learn(vectors)
    assert cells.n_cells == 250
    rows = BinaryRows.of_dense(np.ones((5000, 3)))
    found = cells.beside(rows, others)
    found.validate()
    assert found.first_columns(3) == rows
    distance = ((unit_rows(others)[:, None] - cells.centres) ** 2).sum(axis=2)  # (N, C)
    farthest_on = np.where(found.to_dense()[:, 3:], distance, 0.0).max(axis=1)
    assert np.allclose(farthest_on, np.sort(distance, axis=1)[:, 3], atol=1e-5)
    assert (np.diff(found.indptr) == 3 + 4).all()


@pytest.mark.parametrize(("n_rows", "n_cells", "n_nearest"), [(1, 1, 1), (100, 5, 1), (240, 12, 3)])
def test_few_rows_have_few_cells(n_rows: int, n_cells: int, n_nearest: int) -> None:
    vectors = directions(n_rows)
    cells = Cells.learn(vectors)
    assert cells.n_cells == n_cells
    on = cells.beside(BinaryRows.of_dense(np.zeros((n_rows, 1))), vectors)
    assert (np.diff(on.indptr) == n_nearest).all()


def test_there_are_at_most_300_cells() -> None:
    assert Cells.learn(directions(9000, n_centres=400)).n_cells == 300


def test_equal_vectors_are_one_cell() -> None:
    vectors = np.ones((200, 4), np.float32)
    cells = Cells.learn(vectors)
    assert cells.n_cells == 1
    assert np.allclose(cells.centres, 0.5)


def test_a_vector_of_zeros_is_in_no_cell() -> None:
    vectors = directions(400)
    vectors[::2] = 0.0
    rows = Cells.learn(vectors).beside(BinaryRows.of_dense(np.zeros((400, 1))), vectors)
    assert (np.diff(rows.indptr)[::2] == 0).all()
    assert (np.diff(rows.indptr)[1::2] == 4).all()


def test_vectors_of_another_kind_are_far() -> None:
    cells = Cells.learn(directions(2400))
    distances = cells.distances(directions(1200, seed=0))
    brute = ((unit_rows(directions(1200))[:, None] - cells.centres) ** 2).sum(axis=2).min(axis=1)
    assert np.allclose(distances, brute, atol=1e-5)
    assert 0.95 < np.mean(distances <= cells.radius) < 1.0
    others = np.random.default_rng(5).normal(size=(100, 20)).astype(np.float32)
    assert np.mean(cells.distances(others) > cells.radius) > 0.95
    others[:3] = 0.0
    assert np.flatnonzero(np.isnan(cells.distances(others))).tolist() == [0, 1, 2]


def test_centres_do_not_depend_on_threads() -> None:
    vectors = directions(6000, n_centres=100)
    with threadpool_limits(1):
        alone = Cells.learn(vectors)
    assert alone == Cells.learn(vectors)


def test_vectors_of_another_encoder_are_refused() -> None:
    cells = Cells.learn(directions(100))
    with pytest.raises(DataError, match=r"embeddings of 3 numbers a row .* with 20"):
        cells.beside(BinaryRows.of_dense(np.zeros((1, 1))), np.zeros((1, 3), np.float32))
