"""SparseLinear against torch's own linear layer with a mask over its weight."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import nn

from tests.network.wirings import Mask, batch_of, layer_of, random_mask, random_rows, sparse_batch
from tsenet.network.sparse_linear import Batch, DropoutMask, SparseBatch, SparseLinear
from tsenet.network.topology import Links

FORMS = pytest.mark.parametrize("is_sparse", [False, True])
WAYS = pytest.mark.parametrize("portable", [False, True])


def made(mask: Mask, k_in: int = 1, k_out: int = 1, dtype: torch.dtype = torch.float64) -> Any:
    layer = SparseLinear(Links.of(layer_of(mask), k_in, k_out)).to(dtype)
    nn.init.normal_(layer.weight, generator=torch.Generator().manual_seed(0))
    nn.init.normal_(layer.bias, generator=torch.Generator().manual_seed(1))
    return layer


def case(k_in: int = 1) -> tuple[Mask, Any]:
    """Links (U, D) and rows (B, D · k_in)."""
    rng = np.random.default_rng(3)
    mask = random_mask(rng, 23, 31, 0.2)
    mask[4], mask[:, 7] = False, False  # a unit and an input without links
    return mask, random_rows(rng, 19, 31 * k_in)


def unit_major(x: Batch) -> Batch:
    """As the layer reads it: dense rows side by side."""
    return x if isinstance(x, SparseBatch) else x.t()


@WAYS
@FORMS
@pytest.mark.parametrize(("k_in", "k_out"), [(1, 1), (1, 3), (2, 2)])
@pytest.mark.parametrize(("dtype", "near"), [(torch.float64, 1e-12), (torch.float32, 2e-5)])
def test_activations_and_gradients_equal_those_of_a_masked_linear_layer(
    is_sparse: bool,
    portable: bool,
    k_in: int,
    k_out: int,
    dtype: torch.dtype,
    near: float,
) -> None:
    mask, rows = case(k_in)
    layer = made(mask, k_in, k_out, dtype)
    layer.portable = portable
    links = torch.from_numpy(np.kron(mask, np.ones((k_out, k_in), bool)))  # (U, D)
    weight = torch.zeros(links.t().shape, dtype=dtype)
    weight[links.t()] = layer.weight.detach()  # by input, then by unit
    weight.requires_grad_()
    bias = layer.bias.detach().clone().requires_grad_()
    x = torch.from_numpy(rows).to(dtype).requires_grad_()
    own = batch_of(rows, is_sparse, dtype)
    if isinstance(own, torch.Tensor):
        own.requires_grad_()
    upstream = torch.from_numpy(np.random.default_rng(1).normal(size=(19, 23 * k_out))).to(dtype)

    expected = torch.relu(x @ weight + bias)
    found = layer(unit_major(own)).t()
    expected.backward(upstream)
    found.backward(upstream)

    torch.testing.assert_close(found, expected, rtol=near, atol=near)
    assert weight.grad is not None
    assert x.grad is not None
    pairs = [(layer.weight.grad, weight.grad[links.t()]), (layer.bias.grad, bias.grad)]
    if isinstance(own, torch.Tensor):
        pairs.append((own.grad, x.grad))
    for mine, theirs in pairs:
        torch.testing.assert_close(mine, theirs, rtol=near, atol=10 * near)


@WAYS
@FORMS
def test_gradcheck(is_sparse: bool, portable: bool) -> None:
    mask, rows = case()
    layer = made(mask[:9, :12])
    layer.portable = portable
    batch = sparse_batch(rows[:4, :12])

    def run(values: torch.Tensor, weight: torch.Tensor, bias: torch.Tensor) -> torch.Tensor:
        x = batch._replace(values=values) if is_sparse else values
        given_weights = {"weight": weight, "bias": bias}
        return torch.func.functional_call(layer, given_weights, (x,))

    values = (batch.values if is_sparse else torch.from_numpy(rows[:4, :12]).t()).clone()
    values.requires_grad_(portable or not is_sparse)
    assert torch.autograd.gradcheck(run, (values, layer.weight, layer.bias))


@WAYS
@FORMS
def test_dropout_drops_its_share_and_scales_the_others(is_sparse: bool, portable: bool) -> None:
    rng = np.random.default_rng(0)
    layer = made(random_mask(rng, 60, 40, 0.3))
    layer.portable = portable
    x = unit_major(batch_of(random_rows(rng, 200, 40, 0.9), is_sparse))
    plain = layer(x)

    layer.zero_grad()
    dropped = layer(x, DropoutMask(0.25, np.random.default_rng(5)))
    again = layer(x, DropoutMask(0.25, np.random.default_rng(5)))

    alive = plain != 0
    kept = dropped[alive] != 0
    assert torch.equal(dropped, again)
    assert abs(kept.double().mean().item() - 0.75) < 0.02
    torch.testing.assert_close(dropped[alive][kept], plain[alive][kept] / 0.75)
    dropped.sum().backward()
    got = layer.bias.grad.clone()
    layer.zero_grad()
    (layer(x) * ((dropped != 0) / 0.75)).sum().backward()
    torch.testing.assert_close(got, layer.bias.grad)


@settings(max_examples=30, deadline=None)
@given(
    seed=st.integers(0, 2**32 - 1),
    shape=st.tuples(st.integers(1, 12), st.integers(1, 12), st.integers(1, 40)),
    density=st.sampled_from([0.0, 0.15, 0.6]),
    is_sparse=st.booleans(),
)
def test_portable_path_equals_the_kernels(
    seed: int, shape: tuple[int, int, int], density: float, is_sparse: bool
) -> None:
    n_units, n_inputs, n_rows = shape
    rng = np.random.default_rng(seed)
    layer = made(random_mask(rng, n_units, n_inputs, density))
    x = unit_major(batch_of(random_rows(rng, n_rows, n_inputs), is_sparse))
    results = []
    for portable in (False, True):
        layer.portable = portable
        layer.zero_grad()
        out = layer(x)
        out.sum().backward()
        results.append((out, layer.weight.grad, layer.bias.grad))

    for mine, theirs in zip(*results, strict=True):
        torch.testing.assert_close(mine, theirs, rtol=1e-12, atol=1e-12)
