"""Dense, pruned and dynamically sparse networks: they learn, keep their size, and repeat with a seed."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
from numpy.typing import NDArray
from sklearn.datasets import load_digits
from sklearn.metrics import r2_score

from reproduce.networks import (
    GRID,
    DenseNetwork,
    DynamicNetwork,
    PrunedNetwork,
    ValidatedNetwork,
    shape_of,
)
from tsenet.errors import DataError


@pytest.fixture(scope="module")
def digits() -> tuple[NDArray[np.float32], NDArray[np.float64]]:
    X, y = load_digits(n_class=4, return_X_y=True)
    return (X[:400] / 16).astype(np.float32), y[:400].astype(np.float64)


def accuracy(model: Any, X: Any, y: Any) -> float:
    return float(np.mean(model.predict(X) == y))


def test_a_dense_network_learns_and_ignores_rows_without_labels(digits: Any) -> None:
    X, y = digits
    few = np.where(np.arange(y.size) < 250, y, np.nan)
    model = DenseNetwork(hidden=(32,), max_epochs=30).fit(X, few)
    assert accuracy(model, X[250:], y[250:]) > 0.9
    assert model.n_parameters_ == 64 * 32 + 32 + 32 * 4 + 4
    only = DenseNetwork(hidden=(32,), max_epochs=30).fit(X[:250], y[:250])
    assert np.array_equal(only.predict_proba(X), model.predict_proba(X))


def test_sparse_and_dense_rows_agree(digits: Any) -> None:
    X, y = digits
    options: dict[str, Any] = {"hidden": (16,), "max_epochs": 5, "dropout": 0.0}
    dense = DenseNetwork(**options).fit(X, y).predict_proba(X)
    sparse = DenseNetwork(**options).fit(sp.csr_array(X), y).predict_proba(sp.csr_array(X))
    np.testing.assert_allclose(dense, sparse, atol=1e-3)


def test_probabilities_of_classes_sum_to_one_and_hidden_units_are_given(digits: Any) -> None:
    X, y = digits
    model = DenseNetwork(hidden=(16, 8), max_epochs=3).fit(X, y)
    np.testing.assert_allclose(model.predict_proba(X).sum(axis=1), 1, atol=1e-6)
    assert model.transform(X).shape == (len(X), 8)


def test_several_labels_with_unknown_values(digits: Any) -> None:
    X, y = digits
    labels = np.stack([y == 0, y == 1], axis=1).astype(float)
    labels[::3, 0] = np.nan
    model = DenseNetwork(hidden=(32,), batch_size=32, max_epochs=30).fit(X, labels)
    chances = model.predict_proba(X)
    assert chances.shape == (len(X), 2)
    assert chances[y == 0, 0].mean() > 0.7
    assert chances[y != 0, 0].mean() < 0.2


def test_a_regression(digits: Any) -> None:
    X = digits[0]
    target = 1000 + 50 * (X @ np.linspace(-1, 1, 64))
    model = DenseNetwork(hidden=(32,), dropout=0.0, regression=True, max_epochs=60).fit(X, target)
    assert r2_score(target, model.predict(X)) > 0.9


def test_a_size_chooses_the_width(digits: Any) -> None:
    X, y = digits
    model = DenseNetwork(n_parameters=1000, max_epochs=1).fit(X, y)
    assert 1000 - (64 + 4 + 1) < model.n_parameters_ <= 1000


@pytest.mark.parametrize(
    "make", [PrunedNetwork, DynamicNetwork, lambda **o: DynamicNetwork(**o, growth="random")]
)
def test_sparse_networks_have_their_size_and_learn(make: Any, digits: Any) -> None:
    X, y = digits
    model = make(size=600, hidden=(64,)).fit(X, y)
    weights = [weight.detach().numpy() for weight in model.net_.weights]
    n_biases = sum(bias.numel() for bias in model.net_.biases)
    assert abs(model.n_parameters_ - 600) <= 2
    assert sum(np.count_nonzero(weight) for weight in weights) <= model.n_parameters_ - n_biases
    assert accuracy(model, X, y) > 0.85


def test_the_same_seed_gives_the_same_links(digits: Any) -> None:
    X, y = digits
    one, other = (
        DynamicNetwork(size=600, hidden=(64,), growth="random").fit(X[:100], y[:100])
        for _ in range(2)
    )
    assert np.array_equal(one.predict_proba(X), other.predict_proba(X))


def test_the_best_shape_and_rate_are_kept(digits: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    X, y = digits
    monkeypatch.setattr(ValidatedNetwork, "_SHAPES", ((1,), (64,)))
    monkeypatch.setattr(ValidatedNetwork, "_RATES", (1e-3, 1e-6, 1e-2))
    model = ValidatedNetwork().fit(X, y)
    assert (model.best_.hidden, model.best_.learning_rate) == ((64,), 1e-2)
    assert accuracy(model, X, y) > 0.9


@pytest.mark.parametrize(
    ("shape", "n_words", "n_classes", "n_parameters"),
    [
        ("2048x3", 10_000, 4, 28_882_948),
        ("1024x2-conic", 10_000, 14, 10_365_718),
        ("1024x4", 10_000, 5, 13_394_949),
    ],
)
def test_shapes_have_the_papers_numbers_of_parameters(
    shape: str, n_words: int, n_classes: int, n_parameters: int
) -> None:
    """Those of the paper's best networks on AG's News, DBPedia and Sogou's news."""
    assert shape in GRID
    sizes = [n_words, *shape_of(shape, n_classes), n_classes]
    assert sum((m + 1) * n for m, n in pairwise(sizes)) == n_parameters


def test_the_grid_has_the_papers_21_shapes() -> None:
    assert len(set(GRID)) == 21
    assert shape_of("1024-120", 14) == shape_of("1024x2-conic", 14) == (1024, 120)
    with pytest.raises(DataError, match="'2048x' is no shape"):
        shape_of("2048x", 4)


def test_in_one_round_the_smallest_weights_of_all_layers_go(digits: Any) -> None:
    X, y = digits
    dense = DenseNetwork(hidden=(16,), random_state=0).fit(X, y)
    pruned = PrunedNetwork(hidden=(16,), size=300, rounds=1, random_state=0).fit(X, y)
    weights = [weight.detach().numpy() for weight in dense.net_.weights]
    every = np.sort(np.concatenate([np.abs(weight).ravel() for weight in weights]))
    smallest = every[-(300 - 16 - 4)]
    for k, weight in enumerate(weights):
        assert np.array_equal(pruned.net_.mask(k).numpy(), np.abs(weight) >= smallest)
    assert pruned.n_parameters_ == 300
