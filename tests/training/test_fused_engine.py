"""FusedEngine as an engine: threads, state, outputs."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch
from scipy.sparse import csr_array

from tests.network.wirings import random_rows, random_wiring
from tests.training.fused_examples import (
    CLASSES,
    MULTICLASS,
    SEED,
    VALUES,
    Array,
    inputs,
    network,
    run,
    typed,
)
from tsenet.network.batches import Inputs
from tsenet.network.forward import FEW_ROWS
from tsenet.network.tsenet import TSENet
from tsenet.training.fused import FusedEngine


def in_bytes(arrays: dict[str, Array]) -> dict[str, bytes]:
    return {name: array.tobytes() for name, array in arrays.items()}


@pytest.mark.parametrize("is_sparse", [False, True])
@pytest.mark.parametrize("density", [0.1, 0.5])
def test_same_bytes_on_any_number_of_threads(density: float, is_sparse: bool) -> None:
    results = []
    for n_jobs in (1, 2, 3):
        net = network(density=density)
        engine = FusedEngine(net, inputs(is_sparse), MULTICLASS, seed=SEED, n_jobs=n_jobs)
        losses = run(engine, range(6))
        outputs = engine.outputs(inputs(is_sparse))
        results.append((losses, outputs.tobytes(), in_bytes(engine.state())))

    assert results[0] == results[1] == results[2]


def test_same_bytes_on_any_number_of_threads_where_layers_are_cut_into_blocks() -> None:
    rng = np.random.default_rng(8)
    wiring = random_wiring(rng, (3000, 200, 5), 0.19)
    data = Inputs(csr_array(random_rows(rng, 150, 3000, 0.02).astype(np.float32)))
    rows = np.arange(150)
    states = []
    for n_jobs in (1, 2, 3):
        engine = FusedEngine(TSENet(wiring, 4), data, MULTICLASS, seed=SEED, n_jobs=n_jobs)
        for step in range(3):
            engine.step(rows, CLASSES[rows], None, 0.01, step)
        states.append(in_bytes(engine.state()))

    assert states[0] == states[1] == states[2]


@pytest.mark.parametrize("is_sparse", [False, True])
def test_a_state_put_back_goes_on_bit_for_bit(is_sparse: bool) -> None:
    data = inputs(is_sparse)
    whole = FusedEngine(network(), data, MULTICLASS, seed=SEED)
    run(whole, range(4))
    state = whole.state()
    kept = in_bytes(state)
    expected = run(whole, range(4, 9))

    other = FusedEngine(network(seed=99), data, MULTICLASS, seed=SEED, n_jobs=1)
    run(other, range(2))  # has been somewhere else meanwhile
    other.load_state(state)

    assert in_bytes(state) == kept  # a copy: later steps did not change it
    assert run(other, range(4, 9)) == expected
    assert in_bytes(other.state()) == in_bytes(whole.state())


def test_weights_put_back_are_the_networks_own() -> None:
    net = network()
    engine = FusedEngine(net, inputs(True), MULTICLASS)
    before = engine.weights()
    copies = in_bytes(before)
    run(engine, range(2))
    assert in_bytes(engine.weights()) != copies

    engine.load_weights(before)

    assert in_bytes(engine.weights()) == copies == in_bytes(before)
    for name, parameter in net.named_parameters():
        np.testing.assert_array_equal(parameter.detach(), before[name])


# ---- outputs


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
@pytest.mark.parametrize("is_sparse", [False, True])
@pytest.mark.parametrize("density", [0.1, 0.5])
def test_outputs_equal_the_modules_in_evaluation_mode(
    density: float, is_sparse: bool, dtype: torch.dtype
) -> None:
    net = network(density=density).to(dtype)
    engine = FusedEngine(net, inputs(is_sparse), MULTICLASS)
    tiled = np.tile(VALUES, (4, 1))
    many = Inputs(csr_array(tiled) if is_sparse else tiled)
    rows = np.random.default_rng(0).permutation(len(many))
    assert rows.size > 1024  # more than one block
    run(engine, range(2))
    net.train()

    found = engine.outputs(many, rows)

    net.eval()
    expected = net(typed(many.batch(rows), dtype)).detach()
    assert found.dtype == np.float64
    near = 1e-12 if dtype == torch.float64 else 2e-5
    np.testing.assert_allclose(found, expected, rtol=near, atol=near)
    np.testing.assert_allclose(engine.outputs(many)[rows], found, rtol=near, atol=near)
    assert engine.outputs(many, rows[:0]).shape == (0, 4)


@pytest.mark.parametrize("n_rows", [1, FEW_ROWS, FEW_ROWS + 1, 65])
@pytest.mark.parametrize("is_sparse", [False, True])
@pytest.mark.parametrize(
    ("sizes", "skip_units"), [((45, 9), 6), ((45, 20, 10), 0), ((45, 20, 12, 6), 6)]
)
@pytest.mark.parametrize("activation", ["relu", "tanh", "sigmoid"])
def test_outputs_of_few_rows(
    activation: Any, sizes: tuple[int, ...], skip_units: int, is_sparse: bool, n_rows: int
) -> None:
    """The first row of the table is empty."""
    wiring = random_wiring(np.random.default_rng(3), sizes, 0.15)
    net = TSENet(wiring, 4, skip_units=skip_units, feature_units=7, activation=activation).double()
    torch.nn.init.normal_(net.top.bias, generator=torch.Generator().manual_seed(0))
    rows = np.arange(n_rows)[::-1].copy()

    found = FusedEngine(net, inputs(is_sparse), MULTICLASS).outputs(inputs(is_sparse), rows)

    expected = net.eval()(typed(inputs(is_sparse).batch(rows), torch.float64)).detach()
    np.testing.assert_allclose(found, expected, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("is_sparse", [False, True])
def test_a_row_has_the_same_outputs_alone_and_in_a_batch(is_sparse: bool) -> None:
    engine = FusedEngine(network(), inputs(is_sparse), MULTICLASS)
    rows = np.arange(100)

    together = engine.outputs(inputs(is_sparse), rows)

    alone = [engine.outputs(inputs(is_sparse), rows[k : k + 1])[0] for k in rows]
    np.testing.assert_array_equal(together, alone)


def test_batch_norm_is_left_to_autograd() -> None:
    with pytest.raises(ValueError, match="autograd"):
        FusedEngine(network(norm="batch"), inputs(True), MULTICLASS)
