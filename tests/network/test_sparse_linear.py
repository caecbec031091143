"""SparseLinear against torch's own linear layer with a mask over its weight."""

from __future__ import annotations

import copy
import pickle

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import nn
from torch.nn.utils import prune

from tests.network.wirings import Mask, batch_of, layer_of, random_mask, random_rows, sparse_batch
from tsenet.network.batches import SparseBatch
from tsenet.network.sparse_linear import DENSE_ABOVE, SparseLinear

SPARSE, DENSE = 0.08, 0.5  # below and above the share of links from which a dense product is used


def made(mask: Mask, seed: int = 0, dtype: torch.dtype = torch.float64) -> SparseLinear:
    layer = SparseLinear(layer_of(mask)).to(dtype)
    nn.init.normal_(layer.weight, generator=torch.Generator().manual_seed(seed))
    nn.init.normal_(layer.bias, generator=torch.Generator().manual_seed(seed + 1))
    return layer


def masked_linear(layer: SparseLinear, mask: Mask) -> nn.Linear:
    """nn.Linear under torch's own pruning, with the layer's weights where the mask (U, D) is true."""
    dense = nn.Linear(mask.shape[1], mask.shape[0], dtype=layer.weight.dtype)
    with torch.no_grad():
        by_input = torch.zeros(mask.T.shape, dtype=layer.weight.dtype)
        by_input[torch.from_numpy(mask.T.copy())] = layer.weight
        dense.weight.copy_(by_input.t())
        dense.bias.copy_(layer.bias)
    prune.custom_from_mask(dense, "weight", torch.from_numpy(mask).to(layer.weight.dtype))
    return dense


def random_case(density: float, seed: int = 3) -> tuple[Mask, np.ndarray, torch.Tensor]:
    """Mask (U, D), rows (B, D) and the gradient of the layer's outputs (B, U)."""
    rng = np.random.default_rng(seed)
    mask = random_mask(rng, 23, 31, density)
    mask[4], mask[:, 7] = False, False  # a unit and an input without links
    return mask, random_rows(rng, 19, 31), torch.from_numpy(rng.normal(size=(19, 23)))


@pytest.mark.parametrize(("dtype", "near"), [(torch.float64, 1e-12), (torch.float32, 2e-5)])
@pytest.mark.parametrize("portable", [False, True])
@pytest.mark.parametrize("is_sparse", [False, True])
@pytest.mark.parametrize("density", [SPARSE, DENSE, 1.0])
def test_outputs_and_gradients_equal_those_of_a_masked_linear_layer(
    density: float, is_sparse: bool, portable: bool, dtype: torch.dtype, near: float
) -> None:
    mask, rows, upstream = random_case(density)
    layer = made(mask, dtype=dtype)
    layer.portable = portable
    dense = masked_linear(layer, mask)
    x = torch.from_numpy(rows).to(dtype).requires_grad_()
    own = batch_of(rows, is_sparse, dtype)
    leaf = own.values if isinstance(own, SparseBatch) else own
    leaf.requires_grad_()

    expected, found = dense(x), layer(own)
    expected.backward(upstream.to(dtype))
    found.backward(upstream.to(dtype))

    assert (found.shape, found.dtype) == ((19, 23), dtype)
    torch.testing.assert_close(found, expected, rtol=near, atol=near)
    assert dense.weight_orig.grad is not None
    links = torch.from_numpy(mask.T.copy())
    for mine, theirs in (
        (layer.weight.grad, dense.weight_orig.grad.t()[links]),
        (layer.bias.grad, dense.bias.grad),
        (leaf.grad, x.grad[torch.from_numpy(rows != 0)] if is_sparse else x.grad),
    ):
        torch.testing.assert_close(mine, theirs, rtol=near, atol=10 * near)


@pytest.mark.parametrize("portable", [False, True])
@pytest.mark.parametrize("density", [SPARSE, DENSE])
def test_gradcheck_on_dense_rows(density: float, portable: bool) -> None:
    mask, rows, _ = random_case(density)
    layer = made(mask[:9, :12])
    layer.portable = portable
    x = torch.from_numpy(rows[:4, :12]).requires_grad_()

    def run(x: torch.Tensor, weight: torch.Tensor, bias: torch.Tensor) -> torch.Tensor:
        return torch.func.functional_call(layer, {"weight": weight, "bias": bias}, (x,))

    assert torch.autograd.gradcheck(run, (x, layer.weight, layer.bias))


@pytest.mark.parametrize("portable", [False, True])
@pytest.mark.parametrize("density", [SPARSE, DENSE])
def test_gradcheck_on_sparse_rows(density: float, portable: bool) -> None:
    mask, rows, _ = random_case(density)
    layer = made(mask[:9, :12])
    layer.portable = portable
    given_batch = sparse_batch(rows[:4, :12])

    def run(values: torch.Tensor, weight: torch.Tensor, bias: torch.Tensor) -> torch.Tensor:
        x = given_batch._replace(values=values)
        return torch.func.functional_call(layer, {"weight": weight, "bias": bias}, (x,))

    values = given_batch.values.requires_grad_()
    assert torch.autograd.gradcheck(run, (values, layer.weight, layer.bias))


@pytest.mark.parametrize("is_sparse", [False, True])
def test_only_wanted_gradients_are_computed(is_sparse: bool) -> None:
    mask, rows, upstream = random_case(SPARSE)
    layer = made(mask).requires_grad_(False)
    x = batch_of(rows, is_sparse)
    leaf = x.values if isinstance(x, SparseBatch) else x
    leaf.requires_grad_()

    layer(x).backward(upstream)

    assert leaf.grad is not None
    assert layer.weight.grad is None


@pytest.mark.parametrize(
    ("density", "is_sparse", "portable", "by_kernel"),
    [
        (DENSE_ABOVE - 0.01, False, False, "_DenseRowsBackward"),
        (DENSE_ABOVE + 0.01, False, False, None),
        (DENSE_ABOVE - 0.01, True, False, "_SparseRowsBackward"),
        (DENSE_ABOVE + 0.01, True, False, "_SparseRowsBackward"),
        (DENSE_ABOVE - 0.01, False, True, None),
        (DENSE_ABOVE - 0.01, True, True, None),
    ],
)
def test_kernels_serve_sparse_patterns_and_sparse_rows(
    density: float, is_sparse: bool, portable: bool, by_kernel: str | None
) -> None:
    layer = made(np.arange(800).reshape(20, 40) < 800 * density)
    layer.portable = portable

    out = layer(batch_of(random_rows(np.random.default_rng(0), 4, 40), is_sparse))

    product = out.grad_fn.next_functions[0][0].name()
    assert product == by_kernel if by_kernel else "RowsBackward" not in product


@settings(max_examples=30, deadline=None)
@given(
    seed=st.integers(0, 2**32 - 1),
    shape=st.tuples(st.integers(1, 12), st.integers(1, 12), st.integers(1, 9)),
    density=st.sampled_from([0.0, 0.15, 0.6]),
    is_sparse=st.booleans(),
)
def test_portable_path_equals_the_kernels(
    seed: int, shape: tuple[int, int, int], density: float, is_sparse: bool
) -> None:
    n_units, n_inputs, n_rows = shape
    rng = np.random.default_rng(seed)
    layer = made(random_mask(rng, n_units, n_inputs, density))
    x = batch_of(random_rows(rng, n_rows, n_inputs), is_sparse)
    upstream = torch.from_numpy(rng.normal(size=(n_rows, n_units)))

    results = []
    for portable in (False, True):
        layer.portable = portable
        layer.zero_grad()
        out = layer(x)
        out.backward(upstream)
        results.append((out, layer.weight.grad, layer.bias.grad))

    for mine, theirs in zip(*results, strict=True):
        torch.testing.assert_close(mine, theirs, rtol=1e-12, atol=1e-12)


# ---- parameters are those of the links


def test_masked_weights_never_appear() -> None:
    mask, rows, upstream = random_case(SPARSE)
    layer = made(mask)
    optimiser = torch.optim.Adam(layer.parameters(), lr=0.1)
    for _ in range(3):
        optimiser.zero_grad()
        layer(torch.from_numpy(rows)).backward(upstream)
        optimiser.step()

    dense = layer.dense_weight()
    assert dense.shape == mask.shape
    assert (dense[torch.from_numpy(~mask)] == 0).all()
    assert torch.equal(dense.t()[torch.from_numpy(mask.T.copy())], layer.weight)
    assert sum(p.numel() for p in layer.parameters()) == mask.sum() + mask.shape[0]
    moments = [value for state in optimiser.state.values() for value in state.values()]
    assert sum(m.numel() for m in moments if m.dim()) == 2 * (mask.sum() + mask.shape[0])


def test_dense_weight_passes_gradients_to_the_links() -> None:
    mask, *_ = random_case(SPARSE)
    layer = made(mask)
    factor = torch.from_numpy(np.random.default_rng(0).normal(size=mask.shape))

    (layer.dense_weight() * factor).sum().backward()

    assert layer.weight.grad is not None
    assert torch.equal(layer.weight.grad, factor.t()[torch.from_numpy(mask.T.copy())])


def test_state_dict_holds_weight_and_bias_alone_and_goes_back() -> None:
    mask, rows, _ = random_case(SPARSE)
    layer, other = made(mask, seed=1), made(mask, seed=2)
    x = torch.from_numpy(rows)

    assert set(layer.state_dict()) == {"weight", "bias"}
    assert not torch.equal(layer(x), other(x))
    other.load_state_dict(layer.state_dict())
    assert torch.equal(layer(x), other(x))


@pytest.mark.parametrize("how", ["deepcopy", "pickle"])
def test_copies_are_equal_and_independent(how: str) -> None:
    mask, rows, _ = random_case(SPARSE)
    layer = made(mask)
    other = copy.deepcopy(layer) if how == "deepcopy" else pickle.loads(pickle.dumps(layer))
    x = sparse_batch(rows)
    before = layer(x)

    assert torch.equal(other(x), before)
    with torch.no_grad():
        other.weight.zero_()
    other.links.in_unit[:] = 0
    assert torch.equal(layer(x), before)


def test_repr_names_the_sizes() -> None:
    assert repr(SparseLinear(layer_of(np.ones((2, 3), bool)))) == "SparseLinear(3, 2, links=6)"
