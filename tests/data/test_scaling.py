"""Scaling of dense columns, sparse values and counts."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from sklearn.feature_extraction.text import TfidfTransformer
from sklearn.preprocessing import normalize

from tsenet.data.scaling import Scaling, unit_rows
from tsenet.data.table import Table


def test_dense_columns_get_mean_0_and_deviation_1() -> None:
    rng = np.random.default_rng(0)
    rows = rng.normal([1e6, -3, 0], [1, 1e-3, 50], (500, 3))
    rows = np.column_stack([rows, np.full(500, 7.7)])
    table = Table.of(rows)
    scaling = Scaling.learn(table)
    scaled = scaling.apply(table).values
    assert scaled.dtype == np.float32
    assert np.allclose(scaled.mean(axis=0), 0, atol=1e-6)
    assert np.allclose(scaled.std(axis=0), [1, 1, 1, 0], atol=1e-6)
    assert np.allclose(scaled[:, :3], (rows - rows.mean(0))[:, :3] / rows.std(0)[:3], atol=1e-5)


def test_sparse_values_get_root_mean_square_1_and_stay_sparse() -> None:
    rows = sp.random_array((200, 50), density=0.1, format="csr", rng=np.random.default_rng(0))
    table = Table.of(rows)
    scaling = Scaling.learn(table)
    scaled = scaling.apply(table).values
    assert not scaling.centres
    assert sp.issparse(scaled)
    assert np.isclose(np.square(scaled.toarray()).mean(), 1)
    assert np.allclose(scaling.apply(Table.of(rows.toarray())).values, scaled.toarray())
    assert Scaling.learn(Table.of(sp.csr_array((4, 3)))).scale.tolist() == [1.0]


def test_sparse_rows_become_dense_where_zeros_move() -> None:
    rows = np.random.default_rng(0).integers(3, size=(40, 4)).astype(float)
    scaling = Scaling.learn(Table.of(rows))
    assert scaling.centres
    dense = scaling.apply(Table.of(rows)).values
    assert np.array_equal(scaling.apply(Table.of(sp.csr_array(rows))).values, dense)


def test_categories_are_left_alone() -> None:
    table = Table.of(pd.DataFrame({"size": [1.0, 2.0, 3.0], "colour": ["b", "c", "a"]}))
    scaled = Scaling.learn(table).apply(table)
    assert scaled.values[:, 1].tolist() == [1, 2, 0]
    assert scaled.levels == table.levels


def bag(n_rows: int = 40, n_words: int = 30) -> sp.csr_array:
    """Counts of words; the first row is empty."""
    rows = np.random.default_rng(0).poisson(0.3, (n_rows, n_words))
    rows[0] = 0
    return sp.csr_array(rows)


def test_log_counts_are_rows_of_length_1_in_which_all_words_are_alike() -> None:
    counts = sp.csr_array(np.array([[3.0, 0.0, 1.0], [0.0, 5.0, 0.0], [0.0, 0.0, 0.0]]))
    table = Table.of(counts, ["the", "goal", "referee"])
    scaled = Scaling.learn(table, "log-counts").apply(table).values.toarray()
    length = np.hypot(1 + np.log(3), 1)
    expected = [[(1 + np.log(3)) / length, 0, 1 / length], [0, 1, 0], [0, 0, 0]]
    np.testing.assert_allclose(scaled, expected, rtol=1e-6)
    with pytest.raises(ValueError, match="'tfidf', 'log-counts', 'counts', not 'binary'"):
        Scaling.learn(table, "binary")  # type: ignore[arg-type]  # what a user may write


@pytest.mark.parametrize("kind", [np.int64, np.float32, np.float64])
def test_counts_become_tf_idf(kind: type) -> None:
    """The reference is scikit-learn's tf-idf, with rows scaled to root mean square 1."""
    counts = bag().astype(kind)
    scaling = Scaling.learn(Table.of(counts))
    reference = TfidfTransformer(sublinear_tf=True).fit(counts.astype(float))
    new = sp.csr_array(np.random.default_rng(1).poisson(1.0, (9, 30))).astype(kind)
    for rows in (counts, new):
        wanted = reference.transform(rows.astype(float)).toarray() * np.sqrt(30)
        assert scaling.counts
        assert scaling.apply(Table.of(rows)).values.toarray() == pytest.approx(wanted, rel=1e-6)
        assert scaling.apply(Table.of(rows.toarray())).values == pytest.approx(wanted, rel=1e-6)


@pytest.mark.parametrize(
    "rows",
    [
        pytest.param(bag() * 0.5, id="halves"),
        pytest.param(-bag(), id="negative"),
        pytest.param(sp.csr_array(np.eye(4)[[0, 1, 1, 3, 2]]), id="one of several categories"),
    ],
)
def test_other_sparse_values_get_one_factor(rows: sp.csr_array) -> None:
    scaling = Scaling.learn(Table.of(rows))
    scaled = scaling.apply(Table.of(rows)).values
    assert not scaling.counts
    assert scaling.scale.shape == (1,)
    assert np.square(scaled.toarray()).mean() == pytest.approx(1.0)


def test_columns_that_share_a_unit_get_one_factor() -> None:
    """Pixels: a border pixel that is on once stays small; columns of different units do not."""
    rng = np.random.default_rng(0)
    pixels = rng.integers(0, 256, (300, 64)).astype(np.float64)
    pixels[0], pixels[1] = 0, 255
    pixels[:, 5] = 0
    pixels[7, 5] = 3
    scaling = Scaling.learn(Table.of(pixels))
    assert np.unique(scaling.scale).size == 1
    scaled = scaling.apply(Table.of(pixels)).values
    assert np.abs(scaled[:, 5]).max() < 0.1
    assert np.allclose(scaled.mean(axis=0), 0, atol=1e-5)
    other = pixels * np.linspace(1, 9, 64)
    assert np.unique(Scaling.learn(Table.of(other)).scale).size > 60
    assert np.unique(Scaling.learn(Table.of(pixels[:, :20])).scale).size > 15


@pytest.mark.parametrize("n_columns", [2, 40])  # forty columns of one range share a unit
def test_missing_values_are_left_out_and_stay_missing(n_columns: int) -> None:
    values = np.random.default_rng(0).integers(0, 3, (60, n_columns)).astype(float)
    gaps = np.concatenate([values, np.full((9, n_columns), np.nan)])
    scaling, known = Scaling.learn(Table.of(gaps)), Scaling.learn(Table.of(values))
    assert np.allclose(scaling.shift, known.shift)
    assert np.allclose(scaling.scale, known.scale)
    scaled = scaling.apply(Table.of(gaps)).values
    assert np.array_equal(np.isnan(scaled), np.isnan(gaps))
    nothing = Scaling.learn(Table.of([[np.nan], [np.nan]]))
    assert (nothing.shift.tolist(), nothing.scale.tolist()) == ([0.0], [1.0])


@pytest.mark.parametrize("rows", [np.array([[0.0], [2.0]]), sp.csr_array([[0.5], [-0.25]])])
def test_values_in_another_unit_are_limited(rows: Any) -> None:
    scaling = Scaling.learn(Table.of(rows, ["size"]))
    for new in (np.array([[4000.0]]), sp.csr_array([[4000.0]])):
        with pytest.warns(UserWarning, match="values of 'size' are more than 10 times"):
            assert abs(scaling.apply(Table.of(new, ["size"])).values).max() <= 10 * 2


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_unit_rows_are_scikit_learns(dtype: Any) -> None:
    rows = np.random.default_rng(4).normal(size=(40, 9)) * (np.arange(40) % 4 > 0)[:, None]
    rows = np.where(np.abs(rows) > 0.5, rows, 0).astype(dtype)
    expected = normalize(rows)
    np.testing.assert_allclose(unit_rows(rows), expected, rtol=1e-6)
    sparse = sp.csr_array(rows)
    before = sparse.data.copy()
    scaled = unit_rows(sparse)
    np.testing.assert_allclose(scaled.toarray(), expected, rtol=1e-6)
    assert scaled.dtype == unit_rows(rows).dtype == dtype
    assert (sparse.data == before).all()
