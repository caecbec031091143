"""TSENet against the same network written as dense matrices with masks, and as an ordinary torch module."""

from __future__ import annotations

import copy
import io
import pickle
from typing import Any

import numpy as np
import pytest
import torch
from scipy.sparse import csr_array

from tests.network.wirings import (
    N_ROWS,
    SIZES,
    MaskedReference,
    batch_of,
    mask_of,
    network,
    rows,
    sparse_batch,
    wiring,
)
from tests.training.examples import small_net, table
from tsenet.network.inputs import Inputs
from tsenet.network.sparse_linear import SparseBatch
from tsenet.network.tsenet import TSENet


def assert_same_gradients(net: TSENet, reference: MaskedReference, near: float) -> None:
    expected = reference.gradients()
    assert set(expected) == {name for name, _ in net.named_parameters()}
    for name, parameter in net.named_parameters():
        torch.testing.assert_close(
            parameter.grad, expected[name], rtol=near, atol=near, msg=lambda m, n=name: f"{n}: {m}"
        )


# ---- the function it computes


@pytest.mark.parametrize("is_sparse", [False, True])
@pytest.mark.parametrize("skip_units", [0, 5])
@pytest.mark.parametrize("sizes", [(40, 9), SIZES, (40, 16, 8, 4)])
@pytest.mark.parametrize(("density", "k"), [(0.12, 1), (0.6, 1), (0.12, 2), (0.6, 8)])
def test_outputs_and_gradients_equal_the_masked_dense_reference(
    density: float, k: int, sizes: tuple[int, ...], skip_units: int, is_sparse: bool
) -> None:
    """Each link is a block of the mask."""
    links = wiring(density, sizes)
    net = network(wiring=links, skip_units=skip_units, units_per_latent=k, dropout=0.0)
    reference = MaskedReference(net)
    upstream = torch.from_numpy(np.random.default_rng(5).normal(size=(N_ROWS, 3)))

    found, expected = net(batch_of(rows(), is_sparse)), reference(torch.from_numpy(rows()))
    found.backward(upstream)
    expected.backward(upstream)

    assert found.shape == (N_ROWS, 3)
    torch.testing.assert_close(found, expected, rtol=1e-10, atol=1e-10)
    assert_same_gradients(net, reference, 1e-10)


@pytest.mark.parametrize("is_sparse", [False, True])
@pytest.mark.parametrize("activation", ["tanh", "sigmoid"])
def test_other_non_linearities(activation: str, is_sparse: bool) -> None:
    """The network, its gradients and the predictor without torch, on few rows and on many, equal the reference."""
    net = network(activation=activation, dropout=0.0, units_per_latent=2)
    reference = MaskedReference(net)
    table = rows(200)
    found, expected = net(batch_of(table, is_sparse)), reference(torch.from_numpy(table))
    found.sum().backward()
    expected.sum().backward()
    torch.testing.assert_close(found, expected, rtol=1e-10, atol=1e-10)
    assert_same_gradients(net, reference, 1e-10)
    values = csr_array(table) if is_sparse else table
    for n_rows in (5, 200):
        predicted = net.predictor().outputs(Inputs(values[:n_rows]))
        np.testing.assert_allclose(predicted, expected[:n_rows].detach().numpy(), atol=1e-10)

    net.train()
    net.dropout = 0.5
    x = batch_of(table, is_sparse)
    net.begin_step(seed=8, step=9)
    level = net.activations(x)[0][0]
    kept = level != 0
    assert 0.4 < kept.double().mean() < 0.6
    whole = reference.hidden(torch.from_numpy(table))[0]
    torch.testing.assert_close(level[kept], 2 * whole[kept], rtol=1e-10, atol=1e-10)


def _hidden(net: TSENet, x: torch.Tensor) -> list[torch.Tensor]:
    levels, features, _ = net.activations(x)
    return [*levels, features]


def test_dropout_is_applied_to_each_level_and_the_features() -> None:
    net = network(dropout=0.5).train()
    with torch.no_grad():  # no activation is 0 by itself
        for parameter in net.parameters():
            parameter.abs_().add_(0.01)
    reference = MaskedReference(net)
    x = torch.from_numpy(rows()).abs()
    net.begin_step(seed=8, step=9)
    dropped = _hidden(net, x)
    net.begin_step(seed=8, step=9)
    factors = [2.0 * (level != 0) for level in dropped]

    torch.testing.assert_close(net(x), reference(x, factors), rtol=1e-10, atol=1e-10)
    for found, expected in zip(dropped, reference.hidden(x, factors), strict=True):
        torch.testing.assert_close(found, expected, rtol=1e-10, atol=1e-10)
    shares = [(level != 0).double().mean().item() for level in dropped]
    assert all(0.35 < share < 0.65 for share in shares)
    net.begin_step(seed=8, step=10)
    assert not torch.equal(_hidden(net, x)[0], dropped[0])
    net.eval()
    torch.testing.assert_close(net(x), reference(x), rtol=1e-10, atol=1e-10)


def test_skip_groups_are_off_in_some_steps_and_never_when_it_predicts() -> None:
    net = network(dropout=0.0, skip_dropout=0.5).train()
    without = network(dropout=0.0, skip_units=5)
    with torch.no_grad():  # what the outputs are when all skip groups give 0
        without.load_state_dict(net.state_dict())
        for skip in without.skips.values():
            skip.weight.zero_()
            skip.bias.zero_()
    x = torch.from_numpy(rows())
    with_skips, without_skips = network(dropout=0.0)(x), without(x)
    assert not torch.allclose(with_skips, without_skips)
    n_off = 0
    for step in range(60):
        net.begin_step(seed=0, step=step)
        found = net(x)
        off = torch.allclose(found, without_skips)
        n_off += off
        torch.testing.assert_close(found, without_skips if off else with_skips)
        net.zero_grad()
        found.sum().backward()
        assert all((skip.weight.grad is None) == off for skip in net.skips.values())
    assert 15 < n_off < 45
    torch.testing.assert_close(net.eval()(x), with_skips)


# ---- numbers


@pytest.mark.parametrize("skip_units", [0, 5])
def test_summary_and_parameter_count_add_up(skip_units: int) -> None:
    net = network(skip_units=skip_units)
    links = [int(mask_of(layer).sum()) for layer in net.wiring.layers]
    features = 2 * skip_units + 8
    dense = [(40, skip_units), (14, skip_units)] if skip_units else []
    groups = [*dense, (6, 8), (features, 3)]
    expected = sum(links) + 14 + 6 + sum(d * s + s for d, s in groups)

    summary = net.summary()

    assert net.n_parameters == expected == sum(p.numel() for p in net.parameters())
    assert summary["parameters"].sum() == expected
    skips = ["skip 0", "skip 1"] if skip_units else []
    assert summary.index.tolist() == ["level 1", "level 2", *skips, "top", "output"]
    assert summary["links"].tolist() == [*links, *(d * s for d, s in groups)]
    assert summary["units"].tolist() == [14, 6, *(s for _, s in groups)]
    share = [links[0] / (40 * 14), links[1] / (14 * 6), *(1.0 for _ in groups)]
    assert summary["share"].tolist() == share
    assert (summary["parameters"] == summary["links"] + summary["units"]).all()


@pytest.mark.parametrize(
    ("name", "wrong"),
    [
        ("n_outputs", 0),
        ("feature_units", 0),
        ("skip_units", -1),
        ("units_per_latent", 0),
        ("dropout", 1.0),
        ("dropout", -0.5),
        ("skip_dropout", 1.0),
        ("skip_input", 0.5),
    ],
)
def test_options_that_mean_nothing_are_refused(name: str, wrong: float) -> None:
    with pytest.raises(ValueError, match=name):
        TSENet(wiring(), **{"n_outputs": 3, name: wrong})
    with pytest.raises(ValueError, match="'relu', 'tanh', 'sigmoid', not 'step'"):
        TSENet(wiring(), 3, activation="step")  # type: ignore[arg-type]  # what a user may write


# ---- tSENet as an ordinary torch module: state, copies, types, export


def test_state_dict_has_only_parameters_and_goes_back() -> None:
    net, other = network(seed=1), network(seed=2)
    buffer = io.BytesIO()
    torch.save(net.state_dict(), buffer)
    buffer.seek(0)

    assert set(net.state_dict()) == {name for name, _ in net.named_parameters()}
    other.load_state_dict(torch.load(buffer, weights_only=True))
    x = sparse_batch(rows())
    assert torch.equal(net.eval()(x), other.eval()(x))


@pytest.mark.parametrize("how", [copy.deepcopy, lambda net: pickle.loads(pickle.dumps(net))])
def test_copies_are_equal_and_independent(how: Any) -> None:
    net = network().eval()
    x = torch.from_numpy(rows())
    before = net(x)
    other = how(net)

    assert torch.equal(other(x), before)
    with torch.no_grad():
        for parameter in other.parameters():
            parameter.zero_()
    assert torch.equal(net(x), before)
    assert (other(x) == 0).all()


@pytest.mark.parametrize("units_per_latent", [1, 3])
def test_exports_with_any_number_of_rows(units_per_latent: int) -> None:
    net = network(units_per_latent=units_per_latent).float().eval()
    given, other = (torch.from_numpy(rows(n)).float() for n in (7, 12))

    program = torch.export.export(net, (given,), dynamic_shapes=({0: torch.export.Dim("rows")},))

    torch.testing.assert_close(program.module()(other), net(other), rtol=1e-5, atol=1e-6)
    sparse = sparse_batch(rows(), torch.float32)
    fixed = torch.export.export(net, (sparse,))
    again = SparseBatch(sparse.row_start, sparse.columns, 2 * sparse.values, sparse.n_columns)
    torch.testing.assert_close(fixed.module()(again), net(again), rtol=1e-5, atol=1e-6)


# ---- the linear skip, from the input to the outputs: what it stands for


N_INPUTS = 8


def test_it_starts_at_nothing_and_is_counted() -> None:
    plain, linear_skip = small_net(N_INPUTS, 4), small_net(N_INPUTS, 4, linear_skip=True)
    batch = table(20)[0].batch()

    assert torch.equal(plain.eval()(batch), linear_skip.eval()(batch))
    assert linear_skip.n_parameters - plain.n_parameters == 4 * N_INPUTS
    assert plain.linear_skip is None
    summary = linear_skip.summary()
    assert summary["parameters"].sum() == linear_skip.n_parameters
    assert summary.index.tolist()[-2:] == ["output", "linear skip"]


def test_alone_it_is_a_linear_model() -> None:
    net = small_net(N_INPUTS, 4, linear_skip=True).eval()
    weight = torch.randn(N_INPUTS, 4, generator=torch.Generator().manual_seed(2))
    with torch.no_grad():
        net.output.weight.zero_()
        assert net.linear_skip is not None
        net.linear_skip.copy_(weight)
    batch = table(20)[0].batch()

    assert torch.allclose(net(batch), batch @ weight + net.output.bias, atol=1e-5)
