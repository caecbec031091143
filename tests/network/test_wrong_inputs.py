"""Inputs of another shape or type than a layer's own are refused, not read past their end."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from scipy.sparse import csr_array

from tests.network.wirings import (
    SIZES,
    layer_of,
    network,
    random_mask,
    random_rows,
    sparse_batch,
)
from tsenet.network.inputs import Inputs
from tsenet.network.sparse_linear import SparseLinear
from tsenet.network.topology import Links
from tsenet.training.examples import Examples
from tsenet.training.loop import Engine
from tsenet.training.losses import MulticlassLoss

D = SIZES[0]
RNG = np.random.default_rng(0)


def layer(density: float = 0.1) -> SparseLinear:
    made = SparseLinear(Links.of(layer_of(random_mask(np.random.default_rng(2), 9, D, density))))
    torch.nn.init.normal_(made.weight, generator=torch.Generator().manual_seed(0))
    return made


@pytest.mark.parametrize("is_sparse", [False, True])
@pytest.mark.parametrize("skip_units", [0, 5])
@pytest.mark.parametrize("n_columns", [D - 1, D + 1])
def test_an_engine_refuses_another_number_of_inputs(
    n_columns: int, skip_units: int, is_sparse: bool
) -> None:
    rows = random_rows(RNG, 3, n_columns).astype(np.float32)
    other = Inputs(csr_array(rows) if is_sparse else rows)

    with pytest.raises(ValueError, match=str(n_columns)):
        Engine(network(skip_units=skip_units).float(), MulticlassLoss(3)).step(
            Examples(other, np.arange(3), np.arange(3)), 0.1, 0
        )
    with pytest.raises(ValueError, match=str(n_columns)):
        Engine(network(skip_units=skip_units).float(), MulticlassLoss(3)).outputs(
            other, np.arange(3)
        )


def test_second_derivatives_are_refused_rather_than_lost() -> None:
    """The kernels' backward pass is not differentiable: asking must not give a constant."""
    x = torch.ones((D, 2), requires_grad=True)
    (slope,) = torch.autograd.grad((layer()(x) ** 2).sum(), x, create_graph=True)

    with pytest.raises(RuntimeError, match="once_differentiable"):
        slope.sum().backward()


def test_derivatives_by_the_values_of_sparse_rows_are_refused_rather_than_lost() -> None:
    x = sparse_batch(np.ones((2, D)), torch.float32)

    with pytest.raises(ValueError, match="make the rows dense"):
        layer()(x._replace(values=x.values.requires_grad_()))
