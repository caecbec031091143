"""Magnitude pruning: the largest weights, exactly so many, and the removed ones stay away."""

from __future__ import annotations

import pickle
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray
from sklearn.exceptions import NotFittedError

from tsenet.baselines import DenseClassifier, DenseRegressor, prune

Floats = NDArray[np.float64]
QUICK: dict[str, Any] = {
    "random_state": 0,
    "max_epochs": 30,
    "hidden": (20, 10),
    "learning_rate": 1e-2,
    "dropout": 0.1,
    "n_jobs": 1,
}
N_BIASES = 20 + 10 + 3
N_ALL = N_BIASES + 12 * 20 + 20 * 10 + 10 * 3


@pytest.fixture(scope="module")
def model(rows: Floats, kinds: NDArray[Any]) -> DenseClassifier:
    return DenseClassifier(**QUICK).fit(sp.csr_array(rows), kinds)


def weights_of(model: DenseClassifier | DenseRegressor) -> list[NDArray[np.float32]]:
    return [layer.weight.detach().numpy().copy() for layer in model.net_.layers]


def paths_of(weights: list[NDArray[np.float32]]) -> list[NDArray[np.bool_]]:
    """The largest weight of each output, and on from the unit it reads, by hand."""
    found = [np.zeros(weight.shape, bool) for weight in weights]
    units = set(range(weights[-1].shape[1]))
    for k in (2, 1, 0):
        below = {unit: int(np.abs(weights[k][:, unit]).argmax()) for unit in units}
        for unit, own in below.items():
            found[k][own, unit] = True
        units = set(below.values())
    return found


@settings(max_examples=40, deadline=None)
@given(n_parameters=st.integers(N_BIASES + 9, N_ALL), per_layer=st.booleans())
def test_exactly_the_largest_weights_are_left(
    model: DenseClassifier, n_parameters: int, per_layer: bool
) -> None:
    pruned = prune(model, n_parameters, None, None, retrain=False, per_layer=per_layer)
    before, after = weights_of(model), weights_of(pruned)
    kept = [weight != 0 for weight in after]
    assert pruned.n_parameters_ == pruned.net_.n_parameters == n_parameters
    assert sum(int(k.sum()) for k in kept) + N_BIASES == n_parameters
    size = [np.abs(weight) / (np.sqrt((weight**2).mean()) if per_layer else 1) for weight in before]
    for one, path in zip(size, paths_of(before), strict=True):
        one[path] = 1e6
    sizes = np.sort(np.concatenate([one.ravel() for one in size]))[::-1]
    chosen = np.concatenate([one[k] for one, k in zip(size, kept, strict=True)])
    assert np.allclose(np.sort(chosen)[::-1], sizes[: chosen.size], rtol=1e-5)
    for old, new, there in zip(before, after, kept, strict=True):
        assert np.array_equal(old[there], new[there])


@pytest.mark.parametrize("form", [np.asarray, sp.csr_array])
def test_removed_weights_stay_zero(rows: Floats, kinds: NDArray[Any], form: Any) -> None:
    X = form(rows)
    model = DenseClassifier(**QUICK).fit(X, kinds)
    pruned = prune(model, 250, X, kinds)
    assert pruned.n_parameters_ == 250
    there = [weight != 0 for weight in weights_of(pruned)]
    assert sum(int(mask.sum()) for mask in there) <= 250 - N_BIASES
    for new, old, mask in zip(weights_of(pruned), weights_of(model), there, strict=True):
        assert (new[mask] != old[mask]).mean() > 0.5  # all but those that lead nowhere any more
    again = prune(pruned, 100, X, kinds)  # and once more
    assert again.n_parameters_ == 100
    for new, mask in zip(weights_of(again), there, strict=True):
        assert not new[~mask].any()


def test_removed_weights_never_come_back(model: DenseClassifier) -> None:
    """Not even in the place of one that training has brought to 0."""
    once = prune(model, 100, None, None, retrain=False)
    with torch.no_grad():
        for layer in once.net_.layers:
            layer.weight.zero_()
    masks = [once.net_.mask(k) for k in range(3)]
    again = prune(once, 100, None, None, retrain=False)
    for k, mask in enumerate(masks):
        assert torch.equal(again.net_.mask(k), mask)


def test_retraining_repairs_what_pruning_broke(
    model: DenseClassifier, rows: Floats, kinds: NDArray[Any]
) -> None:
    X = sp.csr_array(rows)

    def loss(some: DenseClassifier) -> float:
        shares = some.predict_proba(X)
        return float(-np.log(shares[np.arange(400), np.searchsorted(some.classes_, kinds)]).mean())

    broken = prune(model, 200, X, kinds, retrain=False)
    repaired = prune(model, 200, X, kinds, dropout=0.0)
    assert loss(model) < loss(broken)
    assert loss(repaired) < 0.5 * loss(broken)


def test_the_old_model_is_left_alone(
    model: DenseClassifier, rows: Floats, kinds: NDArray[Any]
) -> None:
    before, history, params = weights_of(model), model.history_, model.get_params()
    pruned = prune(model, 100, sp.csr_array(rows), kinds, learning_rate=1e-3, dropout=0.2)
    assert type(pruned) is DenseClassifier
    assert pruned.net_.dropout == pruned.dropout == 0.2
    assert pruned.learning_rate == 1e-3
    assert (model.get_params(), model.history_, model.n_parameters_) == (params, history, N_ALL)
    assert model.net_.n_parameters == N_ALL
    for old, new in zip(before, weights_of(model), strict=True):
        assert np.array_equal(old, new)
    again = pickle.loads(pickle.dumps(pruned))
    assert again.net_.n_parameters == 100
    assert np.array_equal(again.predict_proba(rows), pruned.predict_proba(rows))


def test_the_same_rows_are_held_out(rows: Floats, kinds: NDArray[Any]) -> None:
    """Otherwise the retrained network would be stopped by rows it has been trained on."""
    model = DenseClassifier(**QUICK).fit(rows, kinds)
    whole = prune(model, N_ALL, rows, kinds, learning_rate=1e-12)
    # Nothing was removed and nothing moves: the validation loss is the one the model stopped with.
    assert whole.history_.validation_loss[0] == pytest.approx(
        min(model.history_.validation_loss), rel=1e-5
    )


def test_regressor_with_weights(rows: Floats) -> None:
    sums, weights = rows.sum(axis=1), np.linspace(0.5, 2, 400)
    model = DenseRegressor(**{**QUICK, "max_epochs": 60}).fit(rows, sums, sample_weight=weights)
    pruned = prune(model, 250, rows, sums, sample_weight=weights)
    assert pruned.n_parameters_ == 250
    assert pruned.score(rows, sums) > 0.7


def test_no_layer_is_lost(model: DenseClassifier, rows: Floats, kinds: NDArray[Any]) -> None:
    """However small the weights of a layer are beside those of others."""
    small = pickle.loads(pickle.dumps(model))
    with torch.no_grad():
        small.net_.layers[2].weight.mul_(1e-3)
    pruned = prune(small, 100, sp.csr_array(rows), kinds, retrain=False)
    assert weights_of(pruned)[-1].any(axis=0).all()
    assert np.ptp(pruned.decision_function(rows), axis=0).max() > 0


def test_wrong_numbers_are_refused(
    model: DenseClassifier, rows: Floats, kinds: NDArray[Any]
) -> None:
    for wrong in (N_BIASES + 2, N_ALL + 1):
        with pytest.raises(ValueError, match=f"between .* and {N_ALL}"):
            prune(model, wrong, rows, kinds)
    with pytest.raises(NotFittedError):
        prune(DenseClassifier(), 10, rows, kinds)
