"""The dense network's own engine: the same steps as autograd with torch's Adam, on sparse rows and dense ones."""

from __future__ import annotations

import copy
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
import torch
from numpy.typing import NDArray

from tsenet.baselines.engine import DenseEngine, torch_threads
from tsenet.baselines.fnn import FNN
from tsenet.network.batches import Inputs
from tsenet.training.engine import AutogradEngine
from tsenet.training.losses import BinaryLoss, Loss, MulticlassLoss, MultilabelLoss, RegressionLoss

N_ROWS, N_COLUMNS = 60, 700  # more columns than one chunk of the first layer's steps holds


@pytest.fixture(scope="module")
def values() -> sp.csr_array:
    rng = np.random.default_rng(0)
    made = sp.random_array((N_ROWS, N_COLUMNS), density=0.02, format="csr", rng=rng)
    return sp.csr_array(made, dtype=np.float32)


def network(n_outputs: int, hidden: tuple[int, ...], *, pruned: bool) -> FNN:
    net = FNN(N_COLUMNS, n_outputs, hidden=hidden, dropout=0.3, seed=1)
    if pruned:
        rng = np.random.default_rng(5)
        net.keep([torch.from_numpy(rng.random(layer.weight.shape) < 0.5) for layer in net.layers])
    return net


def steps(
    engine: AutogradEngine, targets: NDArray[Any], weights: Any, numbers: range
) -> list[float]:
    losses = []
    for step in numbers:
        rows = np.random.default_rng(step).choice(N_ROWS, 25, replace=False)
        weight = None if weights is None else weights[rows]
        losses.append(engine.step(rows, targets[rows], weight, 1e-2 / (1 + step), step))
    return losses


def targets_of(loss: Loss) -> NDArray[Any]:
    rng = np.random.default_rng(3)
    if isinstance(loss, MulticlassLoss):
        return rng.integers(0, loss.n_outputs, N_ROWS)
    if isinstance(loss, RegressionLoss):
        return rng.normal(size=(N_ROWS, loss.n_outputs))
    labels = rng.integers(0, 2, (N_ROWS, loss.n_outputs)).astype(np.float64)
    labels[rng.random(labels.shape) < 0.2] = np.nan
    return labels


@pytest.mark.parametrize("form", ["sparse", "dense"])
@pytest.mark.parametrize("pruned", [False, True])
@pytest.mark.parametrize("hidden", [(9,), (12, 7, 5)])
@pytest.mark.parametrize(
    "loss", [MulticlassLoss(3), BinaryLoss(), MultilabelLoss(4), RegressionLoss(2)], ids=repr
)
def test_the_same_steps_as_autograd(
    values: sp.csr_array, form: str, pruned: bool, hidden: tuple[int, ...], loss: Loss
) -> None:
    inputs = Inputs(values if form == "sparse" else values.toarray())
    net = network(loss.n_outputs, hidden, pruned=pruned)
    ours = DenseEngine(net, inputs, loss, seed=4, n_jobs=1)
    other = AutogradEngine(copy.deepcopy(net), inputs, loss, seed=4)
    weights = np.random.default_rng(6).uniform(0.5, 2, N_ROWS)
    targets = targets_of(loss)
    start = ours.weights()
    mine, wanted = (steps(engine, targets, weights, range(12)) for engine in (ours, other))
    np.testing.assert_allclose(mine, wanted, rtol=1e-5)
    state, expected = ours.state(), other.state()
    assert state.keys() == expected.keys()
    for name, array in expected.items():
        np.testing.assert_allclose(state[name], array, rtol=2e-3, atol=2e-6, err_msg=name)
    for name, array in start.items():
        assert np.abs(ours.weights()[name] - array).max() > 1e-3  # it did move
    if pruned:
        for k, layer in enumerate(net.layers):
            mask = net.mask(k)
            assert mask is not None
            assert not layer.weight.detach()[~mask].any()
            assert not state[f"mean.layers.{k}.weight"][~mask.numpy()].any()


@pytest.mark.parametrize("form", ["sparse", "dense"])
def test_a_fresh_engine_can_take_over(values: sp.csr_array, form: str) -> None:
    inputs = Inputs(values if form == "sparse" else values.toarray())
    loss, targets = MulticlassLoss(3), targets_of(MulticlassLoss(3))
    first, second = (
        DenseEngine(network(3, (8, 6), pruned=False), inputs, loss, n_jobs=1) for _ in range(2)
    )
    steps(first, targets, None, range(4))
    second.load_state(first.state())
    assert steps(first, targets, None, range(4, 9)) == steps(second, targets, None, range(4, 9))
    for name, array in first.state().items():
        assert array.tobytes() == second.state()[name].tobytes(), name


def test_the_first_layers_step_does_not_depend_on_the_threads(values: sp.csr_array) -> None:
    inputs, loss = Inputs(values), MulticlassLoss(3)
    states = []
    for n_jobs in (1, 3):
        engine = DenseEngine(network(3, (8,), pruned=False), inputs, loss, n_jobs=n_jobs)
        with torch_threads(1):
            steps(engine, targets_of(loss), None, range(3))
        states.append(engine.state())
    for name, array in states[0].items():
        assert array.tobytes() == states[1][name].tobytes(), name


def test_torch_gets_its_threads_back() -> None:
    before = torch.get_num_threads()

    def count_and_fail() -> None:
        with torch_threads(before + 1):
            assert torch.get_num_threads() == before + 1
            raise KeyError

    with pytest.raises(KeyError):
        count_and_fail()
    assert torch.get_num_threads() == before
