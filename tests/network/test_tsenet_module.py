"""TSENet as an ordinary torch module: state, copies, types, export."""

from __future__ import annotations

import copy
import io
import pickle
from typing import Any

import pytest
import torch

from tests.network.wirings import network, rows, sparse_batch
from tsenet.network.sparse_linear import SparseBatch


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
