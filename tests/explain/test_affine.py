"""The network as an affine map against torch: the same outputs, the same derivatives, and lines that meet the curve."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
import torch

from tests.explain.models import shake
from tests.network.wirings import SIZES, network, rows, wiring
from tsenet.explain.affine import AffineNetwork

ACTIVATIONS = ("relu", "tanh", "sigmoid")


def whole_pass(net: Any, x: torch.Tensor) -> tuple[list[torch.Tensor], torch.Tensor]:
    """Activations of the hidden layers, and outputs computed from these very tensors."""
    bend = getattr(torch, net.activation)
    levels = [x]
    for layer in net.layers:
        levels.append(bend(levels[-1] @ layer.dense_weight().t() + layer.bias))
    groups = [(group, levels[k]) for k, group in enumerate(net.skips)] + [(net.top, levels[-1])]
    features = bend(torch.cat([read @ g.weight + g.bias for g, read in groups], dim=1))
    outputs = features @ net.output.weight + net.output.bias
    if net.linear_skip is not None:
        outputs = outputs + x @ net.linear_skip
    torch.testing.assert_close(outputs, net(x))
    return [*levels[1:], features], outputs


def networks() -> list[Any]:
    plain = [network(activation=name, dropout=0.3) for name in ACTIVATIONS]
    others = [network(skip_units=0), network(wiring=wiring(0.5, (SIZES[0], 9)))]
    wide = [network(linear_skip=True), network(linear_skip=True, skip_units=0, activation="tanh")]
    for net in wide:
        shake(net)
    return [net.eval() for net in (*plain, *others, *wide)]


@pytest.mark.parametrize("net", networks(), ids=range(7))
def test_outputs_and_derivatives_are_torchs(net: Any) -> None:
    affine = AffineNetwork(net.predictor())
    ours = affine.forward(rows())
    direction = np.array([1.0, -0.5, 2.0])
    start = affine.output_gradient(direction, len(rows()))
    gradients = affine.backward(start, affine.slopes(ours, "tangent"), lowest=0)

    x = torch.from_numpy(rows()).requires_grad_()
    layers, outputs = whole_pass(net, x)
    total = (outputs @ torch.from_numpy(direction)).sum()
    for k, gradient in enumerate(torch.autograd.grad(total, [x, *layers])):
        np.testing.assert_allclose(gradients[k], gradient.numpy(), atol=1e-12)
    for rows_as in (rows(), sp.csr_array(rows())):
        ours = affine.forward(rows_as)
        np.testing.assert_allclose(ours.outputs, outputs.detach().numpy(), atol=1e-12)
        for activations, layer in zip(ours.activations, layers, strict=True):
            np.testing.assert_allclose(activations, layer.detach().numpy(), atol=1e-12)


@pytest.mark.parametrize("activation", ACTIVATIONS)
def test_the_secant_meets_the_curve(activation: Any) -> None:
    affine = AffineNetwork(network(activation=activation).predictor())
    z = np.r_[np.linspace(-60, 60, 241), 1e-9, -1e-9, 1e-200, 0.0, -800.0, 800.0]
    curve = getattr(torch, activation)(torch.from_numpy(z)).numpy()
    pass_at_z = affine.forward(rows())._replace(sums=[z[None]])
    (slope,) = affine.slopes(pass_at_z, "secant")
    at_zero = 0.5 if activation == "sigmoid" else 0.0
    np.testing.assert_allclose(slope[0] * z + at_zero, curve, rtol=0, atol=1e-15)
    at_origin = {"relu": 0.0, "tanh": 1.0, "sigmoid": 0.25}[activation]
    assert slope[0][z == 0] == pytest.approx(at_origin)  # near 0 it is the tangent


def test_links_are_the_wirings() -> None:
    net = network()
    affine = AffineNetwork(net.predictor())
    layer, everything = net.wiring.layers[0], list(range(SIZES[0]))
    dense = next(iter(net.layers)).dense_weight().detach().numpy()
    for unit in range(SIZES[1]):
        weights = affine.link_weights(unit, everything)
        linked = layer.indices[layer.indptr[unit] : layer.indptr[unit + 1]].tolist()
        assert [j for j in everything if weights[j] is not None] == linked
        assert [weights[j] for j in linked] == dense[unit, linked].tolist()
    assert affine.link_weights(SIZES[1], everything) == [None] * SIZES[0]  # of level 2
    skip = next(iter(net.skips)).weight.detach().numpy()
    first = SIZES[1] + SIZES[2]
    assert affine.link_weights(first + 4, [7, 2]) == [skip[7, 4], skip[2, 4]]
    assert affine.link_weights(first + 5, [7]) == [None]  # a unit that reads level 1
