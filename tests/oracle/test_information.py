"""Pairwise mutual information and best partners against scikit-learn and the full matrix."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray
from sklearn.metrics import mutual_info_score

from tests.builders import full_information
from tsenet._system.threads import Workers
from tsenet.data.binary import BinaryRows
from tsenet.progress import Progress
from tsenet.skeleton.information import PairCounter, pair_information
from tsenet.skeleton.kernels import pair_kernels


def sparse_rows(seed: int, n_rows: int = 400, n_columns: int = 25) -> NDArray[np.bool_]:
    """Rare and common columns, many pairs without a common row, two constant columns."""
    rng = np.random.default_rng(seed)
    on = rng.random((n_rows, n_columns)) < np.geomspace(0.002, 0.3, n_columns)
    on[0, 2:] |= ~on[:, 2:].any(axis=0)  # no further constant columns by chance
    on[:, 0], on[:, 1] = False, True
    return on


def dense_rows(seed: int, n_rows: int = 500, n_columns: int = 20) -> NDArray[np.bool_]:
    rng = np.random.default_rng(seed)
    cause = rng.random((n_rows, 4)) < 0.5
    flip = rng.random((n_rows, n_columns)) < rng.uniform(0.1, 0.5, n_columns)
    return np.repeat(cause, n_columns // 4, axis=1) ^ flip


def reference_partners(
    n_times_mi: NDArray[np.float64],
    variable: int,
    alive: NDArray[np.bool_],
    m: int,
) -> list[int]:
    """The best m living partners: most information first, then the smaller index."""
    others = [j for j in np.flatnonzero(alive).tolist() if j != variable]
    return sorted(others, key=lambda j: (-n_times_mi[variable, j], j))[:m]


def kernel_matrix(on: NDArray[np.bool_]) -> NDArray[np.float64]:
    """The full matrix by the pair formula, one pair at a time, from dense counts."""
    counter = PairCounter(BinaryRows.of_dense(on))
    joint = on.T.astype(np.int64) @ on
    n = on.shape[1]
    return np.array(
        [
            [
                pair_kernels.information(
                    joint[i, j], counter.n_on[i], counter.n_on[j], counter.data.xlogx
                )
                for j in range(n)
            ]
            for i in range(n)
        ]
    )


@pytest.mark.parametrize("make", [sparse_rows, dense_rows])
@pytest.mark.parametrize("seed", range(2))
def test_pairs_agree_with_scikit_learn(make, seed: int) -> None:
    on = make(seed)
    ours = kernel_matrix(on) / on.shape[0]

    sklearn = np.array([[mutual_info_score(a, b) for b in on.T] for a in on.T])
    np.testing.assert_allclose(ours, sklearn, rtol=0, atol=1e-12)
    assert sklearn.max() > 0.05  # the comparison is not about zeros only


@pytest.mark.parametrize("make", [sparse_rows, dense_rows])
def test_pairs_agree_with_the_definition(make) -> None:
    on = make(3)

    np.testing.assert_allclose(kernel_matrix(on), full_information(on), rtol=0, atol=1e-9)


@pytest.mark.parametrize(
    ("n11", "n_i", "n_j", "expected"),
    [
        (
            0,
            50,
            50,
            100 * np.log(2),
        ),  # never together, and one of them always: each tells the other
        (50, 50, 50, 100 * np.log(2)),
        (25, 50, 50, 0.0),  # independent
        (30, 100, 30, 0.0),  # a constant tells nothing
        (0, 0, 30, 0.0),
        (1, 1, 1, -(np.log(0.01) + 99 * np.log(0.99))),
    ],
)
def test_pairs_with_known_answers(n11: int, n_i: int, n_j: int, expected: float) -> None:
    n = np.arange(101.0)
    xlogx = n * np.log(np.maximum(n, 1))

    value = pair_kernels.information(n11, n_i, n_j, xlogx)

    assert value == pytest.approx(expected, abs=1e-11)
    assert value >= 0.0


@pytest.mark.parametrize("make", [sparse_rows, dense_rows])
@pytest.mark.parametrize("m", [1, 2, 5, 8, 18, 24])
@pytest.mark.parametrize("n_jobs", [1, 2])
def test_best_partners_equal_the_sorted_matrix(make, m: int, n_jobs: int) -> None:
    on = make(4)
    matrix = kernel_matrix(on)
    counter = PairCounter(BinaryRows.of_dense(on))
    asked = np.flatnonzero(counter.varies).astype(np.int32)

    with Workers(n_jobs) as workers:
        partners, gain = counter.best_partners(asked, counter.varies, m, workers)

    for b, i in enumerate(asked):
        expected = reference_partners(matrix, i, counter.varies, m)
        padding = m - len(expected)
        assert partners[b].tolist() == expected + [-1] * padding
        np.testing.assert_array_equal(gain[b], [*matrix[i, expected], *[0.0] * padding])


def test_partners_without_a_common_row_are_found() -> None:
    """Two common words that avoid each other tell more than rare ones that meet by chance."""
    rng = np.random.default_rng(5)
    on = rng.random((300, 12)) < 0.05
    first = rng.random(300) < 0.5
    on[:, 7], on[:, 3] = first, ~first
    on[:, 5] = ~first & (rng.random(300) < 0.6)  # shares no row with 7 either, but tells less
    counter = PairCounter(BinaryRows.of_dense(on))

    with Workers(1) as workers:
        partners, gain = counter.best_partners(np.array([7], np.int32), counter.varies, 2, workers)

    assert partners.tolist() == [[3, 5]]
    np.testing.assert_allclose(gain[0], full_information(on)[7, [3, 5]], rtol=1e-12)


@pytest.mark.parametrize("m", [1, 2, 3, 7, 11])
def test_ties_go_to_the_smaller_index(m: int) -> None:
    """Copies of a column have equal information, also where they share no row with the asker."""
    rng = np.random.default_rng(6)
    a, b, c = rng.random((3, 200)) < 0.2
    on = np.stack([b, a, b, c & ~a, a, b, c & ~a, a, c & ~a, b, a, b], axis=1)
    matrix = kernel_matrix(on)
    counter = PairCounter(BinaryRows.of_dense(on))

    with Workers(1) as workers:
        partners, _ = counter.best_partners(
            np.arange(12, dtype=np.int32), counter.varies, m, workers
        )

    for i in range(12):
        assert partners[i].tolist() == reference_partners(matrix, i, counter.varies, m)


@pytest.mark.parametrize("make", [sparse_rows, dense_rows])
@pytest.mark.parametrize("seed", range(3))
def test_only_living_partners_are_named(make, seed: int) -> None:
    on = make(7)
    rng = np.random.default_rng(seed)
    alive = rng.random(on.shape[1]) < 0.4
    matrix = kernel_matrix(on)
    counter = PairCounter(BinaryRows.of_dense(on))
    asked = rng.permutation(np.flatnonzero(counter.varies)).astype(np.int32)[:9]  # dead ones too

    with Workers(1) as workers:
        partners, gain = counter.best_partners(asked, alive, 6, workers)

    for b, i in enumerate(asked):
        expected = reference_partners(matrix, i, alive & counter.varies, 6)
        assert partners[b, : len(expected)].tolist() == expected
        assert (partners[b, len(expected) :] == -1).all()
        assert (gain[b, len(expected) :] == 0).all()


def test_nobody_alive() -> None:
    counter = PairCounter(BinaryRows.of_dense(sparse_rows(8)))

    with Workers(1) as workers:
        partners, gain = counter.best_partners(
            np.array([3, 4], np.int32), np.zeros(25, bool), 3, workers
        )

    assert (partners == -1).all()
    assert (gain == 0).all()


@pytest.mark.parametrize("share", [0.02, 0.5])
@pytest.mark.parametrize("n_jobs", [1, 3])
def test_many_tasks_give_what_single_questions_give(share: float, n_jobs: int) -> None:
    """The work of sparse rows, counted by lists, and of dense ones, by a product, is cut into several tasks."""
    on = np.random.default_rng(9).random((2000, 400)) < share
    counter = PairCounter(BinaryRows.of_dense(on))
    assert (counter.data.joint.size > 0) == (share == 0.5)
    everyone = np.arange(400, dtype=np.int32)

    with Workers(n_jobs) as workers:
        whole = counter.best_partners(everyone, counter.varies, 4, workers)
        for k in (0, 7, 200, 399):
            one = counter.best_partners(everyone[[k]], counter.varies, 4, workers)
            np.testing.assert_array_equal(one[0][0], whole[0][k])
            np.testing.assert_array_equal(one[1][0], whole[1][k])


@pytest.mark.parametrize("make", [sparse_rows, dense_rows])
def test_only_positive_ties_are_named_if_asked(make) -> None:
    on = make(16)
    matrix = kernel_matrix(on)
    by_chance = np.outer(on.sum(axis=0), on.sum(axis=0)) / len(on)
    matrix[on.T.astype(int) @ on <= by_chance] = 0.0
    counter = PairCounter(BinaryRows.of_dense(on), positive=True)
    asked = np.flatnonzero(counter.varies).astype(np.int32)

    with Workers(1) as workers:
        partners, gain = counter.best_partners(asked, counter.varies, 30, workers)

    for b, i in enumerate(asked):
        expected = [
            j for j in reference_partners(matrix, i, counter.varies, 30) if matrix[i, j] > 0
        ]
        assert partners[b, : len(expected)].tolist() == expected
        assert (partners[b, len(expected) :] == -1).all()
        np.testing.assert_array_equal(gain[b, : len(expected)], matrix[i, expected])


def test_pair_information_leaves_constants_out() -> None:
    on = sparse_rows(15)
    with Workers(1) as workers:
        partners, gain = pair_information(
            PairCounter(BinaryRows.of_dense(on)), 300, workers, Progress()
        )

    assert (partners[:2] == -1).all()
    assert (gain[:2] == 0).all()
    assert not np.isin(partners[2:], [0, 1]).any()
    listed = (partners >= 0).sum(axis=1)
    assert listed.tolist() == [0, 0, *[22] * 23]  # every other varying variable
