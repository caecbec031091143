"""Correlations: NumPy's, whatever the form of the rows and the size of the blocks."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
from numpy.typing import NDArray
from sklearn.decomposition import PCA

from tests.explain.models import counts_as_read, dense_rows, fitted, mixed_rows, sparse_rows, wiring
from tsenet.baselines import DenseClassifier
from tsenet.errors import DataError
from tsenet.explain._sources import unit_source
from tsenet.explain.correlation import correlation_blocks, correlations
from tsenet.progress import CallbackProgress, Progress

Floats = NDArray[np.float64]


def by_numpy(activations: Any, features: Any) -> Floats:
    """``np.corrcoef``, and 0 where it has no answer."""
    units = np.asarray(activations, np.float64)
    with np.errstate(invalid="ignore", divide="ignore"):
        whole = np.corrcoef(units.T, np.asarray(features, np.float64).T)
    return np.nan_to_num(whole[: units.shape[1], units.shape[1] :])


@pytest.mark.parametrize("batch_size", [7, 50, 1024])
@pytest.mark.parametrize("kind", ["dense", "sparse"])
def test_they_are_numpys(kind: str, batch_size: int) -> None:
    X = dense_rows() if kind == "dense" else sparse_rows()
    model = fitted(rows=X)
    found = correlations(model, X, batch_size=batch_size)
    wanted = by_numpy(model.transform(X), counts_as_read(X) if kind == "sparse" else X)
    np.testing.assert_allclose(
        found, wanted, atol=3e-6
    )  # float32 activations depend slightly on the batch


def test_categories_are_seen_one_by_one() -> None:
    X = mixed_rows()
    names = tuple(f"c{j}" for j in range(8)) + tuple(
        f"colour={c}" for c in ("blue", "green", "red", "white")
    )
    model = fitted(rows=X, wiring=wiring(names=names))
    inputs = np.column_stack(
        [X.iloc[:, :8], *(X["colour"] == c for c in ("blue", "green", "red", "white"))]
    )
    np.testing.assert_allclose(
        correlations(model, X), by_numpy(model.transform(X), inputs), atol=3e-6
    )


def test_a_dense_network_too() -> None:
    X, rng = sparse_rows(), np.random.default_rng(0)
    model = DenseClassifier(hidden=(6, 5), max_epochs=2, random_state=0, n_jobs=1)
    model.fit(X, rng.integers(3, size=X.shape[0]))
    found = correlations(model, X)
    assert found.shape == (11, 12)
    np.testing.assert_allclose(found, by_numpy(model.transform(X), counts_as_read(X)), atol=3e-6)


def test_any_transformer_and_any_function() -> None:
    X = dense_rows()
    pca = PCA(3).fit(X)
    wanted = by_numpy(pca.transform(X), X)
    np.testing.assert_allclose(correlations(pca, X), wanted, atol=1e-5)
    np.testing.assert_allclose(correlations(pca.transform, X, batch_size=9), wanted, atol=1e-5)


def test_what_does_not_vary_goes_with_nothing() -> None:
    X = dense_rows()
    X[:, 3] = 0.1  # its mean over 120 rows is not exactly 0.1
    found = correlations(lambda rows: np.c_[rows[:, :2], np.full(len(rows), 0.7)], X, batch_size=11)
    assert (found[2] == 0).all()
    assert (found[:, 3] == 0).all()
    assert found[0, 0] == pytest.approx(1.0)


def test_large_means_do_no_harm() -> None:
    rng = np.random.default_rng(0)
    base = rng.normal(size=(400, 2))
    X = np.c_[base[:, 0] + 1e8, base @ [0.6, 0.8]]
    found = correlations(lambda rows: rows[:, 1:], X, batch_size=64)
    assert found[0, 0] == pytest.approx(np.corrcoef(base[:, 0], X[:, 1])[0, 1], abs=1e-6)


@pytest.mark.parametrize("max_pairs", [1, 12, 30, 100_000])
def test_blocks_of_any_size_say_the_same(max_pairs: int) -> None:
    X = sparse_rows()
    source = unit_source(fitted(rows=X), X, batch_size=32)
    parts = list(correlation_blocks(source, Progress(), max_pairs))
    assert [units.start for units, _ in parts] == list(
        range(0, 33, max(1, min(33, max_pairs // 12)))
    )
    whole = np.concatenate([block for _, block in parts])
    np.testing.assert_allclose(whole, correlations(fitted(rows=X), X, batch_size=32), atol=1e-12)


def test_blocks_that_are_not_kept_are_read_again(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tsenet.explain._unit_source._KEPT", 100)
    X = sparse_rows()
    source = unit_source(fitted(rows=X), X, batch_size=32)
    whole = np.concatenate([b for _, b in correlation_blocks(source, Progress(), 40)])
    assert source._kept is None
    np.testing.assert_allclose(whole, correlations(fitted(rows=X), X, batch_size=32), atol=1e-12)


def test_a_sparse_table_is_never_made_dense(monkeypatch: pytest.MonkeyPatch) -> None:
    X = sparse_rows()
    model = fitted(rows=X)

    to_array = sp.csr_array.toarray

    def checked(matrix: Any, *arguments: Any, **options: Any) -> Any:
        assert matrix.shape[1] != X.shape[1], "made dense"
        return to_array(matrix, *arguments, **options)

    monkeypatch.setattr(sp.csr_array, "toarray", checked)
    correlations(model, X, batch_size=16)


def test_progress_counts_batches_and_passes() -> None:
    seen: list[tuple[str, int, int | None]] = []
    X = dense_rows()
    model = fitted()
    source = unit_source(model, X, batch_size=50)
    list(correlation_blocks(source, CallbackProgress(lambda *at: seen.append(at)), 12 * 20))
    assert seen[-1][1:] == (6, 6)  # 33 units in blocks of 20: two passes of three batches


@pytest.mark.parametrize(
    ("model", "message"),
    [
        (lambda rows: rows[:3], "one line of activations"),
        (lambda rows: rows[:, 0], "one line of activations"),
    ],
)
def test_functions_that_do_not_fit_are_refused(model: Any, message: str) -> None:
    with pytest.raises(DataError, match=message):
        correlations(model, dense_rows())


def test_a_thing_without_units_is_refused() -> None:
    with pytest.raises(TypeError, match="has no units"):
        correlations(3, dense_rows())
