"""The network as an affine map against torch: the same outputs and the same derivatives."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
import torch

from tests.explain.models import shake
from tests.network.wirings import SIZES, network, rows, wiring
from tsenet.explain.affine import AffineNetwork


def whole_pass(net: Any, x: torch.Tensor) -> tuple[list[torch.Tensor], torch.Tensor]:
    """Activations of the hidden layers, and outputs computed from these very tensors."""
    levels = [x]
    for layer in net.layers:
        levels.append(torch.relu(levels[-1] @ layer.dense_weight().t() + layer.bias))
    groups = [(group, levels[k]) for k, group in enumerate(net.skips)] + [(net.top, levels[-1])]
    features = torch.relu(torch.cat([read @ g.weight + g.bias for g, read in groups], dim=1))
    outputs = features @ net.output.weight + net.output.bias
    if net.linear_skip is not None:
        outputs = outputs + x @ net.linear_skip
    torch.testing.assert_close(outputs, net(x))
    return [*levels[1:], features], outputs


def networks() -> list[Any]:
    plain = [network(dropout=0.3), network(wiring=wiring(0.5, (SIZES[0], 9)))]
    linear = [network(linear_skip=True), network(linear_skip=True, skip_units=0)]
    for net in linear:
        shake(net)
    return [net.eval() for net in (*plain, *linear)]


@pytest.mark.parametrize("net", networks(), ids=range(4))
def test_outputs_and_derivatives_are_torchs(net: Any) -> None:
    affine = AffineNetwork(net.predictor())
    direction = np.array([1.0, -0.5, 2.0])
    start = np.tile(direction, (len(rows()), 1))
    gradients = affine.backward(affine.n_layers, start, affine.forward(rows()))

    x = torch.from_numpy(rows()).requires_grad_()
    layers, outputs = whole_pass(net, x)
    total = (outputs @ torch.from_numpy(direction)).sum()
    for k, gradient in enumerate(torch.autograd.grad(total, [x, *layers])):
        np.testing.assert_allclose(gradients[k], gradient.numpy(), atol=1e-12)
    for rows_as in (rows(), sp.csr_array(rows())):
        ours = affine.forward(rows_as)[1:]
        for activations, layer in zip(ours, [*layers, outputs], strict=True):
            np.testing.assert_allclose(activations, layer.detach().numpy(), atol=1e-12)
