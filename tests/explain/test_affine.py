"""The written-out network against torch: the same outputs, the same derivatives, and lines that meet the curve."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
import torch

from tests.explain.models import shake
from tests.network.wirings import SIZES, network, rows, wiring
from tsenet.baselines.fnn import FNN
from tsenet.errors import DataError
from tsenet.explain._affine import AffineNetwork, activate, at_zero, slope

ACTIVATIONS = ("relu", "tanh", "sigmoid")


def whole_pass(net: Any, x: torch.Tensor) -> tuple[list[torch.Tensor], torch.Tensor]:
    """Activations of the hidden layers, and outputs computed from these very tensors."""
    if isinstance(net, FNN):
        layers, last = net.hidden(x), net.layers[-1]
        return layers, layers[-1] @ last.weight + last.bias
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
    dense = [
        FNN(SIZES[0], 3, hidden=hidden, seed=1).double() for hidden in ((9,), (9, 6), (8, 7, 6))
    ]
    return [net.eval() for net in (*plain, *others, *wide, *dense)]


@pytest.mark.parametrize("net", networks(), ids=range(10))
@pytest.mark.parametrize("is_sparse", [False, True])
def test_outputs_are_those_of_the_module(net: Any, is_sparse: bool) -> None:
    given = rows()
    found = AffineNetwork.of(net).forward(sp.csr_array(given) if is_sparse else given)
    with torch.no_grad():
        np.testing.assert_allclose(found.outputs, net(torch.from_numpy(given)).numpy(), atol=1e-12)
        hidden = net.hidden(torch.from_numpy(given))
    layers = hidden if isinstance(hidden, list) else list(hidden.values())
    for ours, torchs in zip(found.activations, layers, strict=True):
        np.testing.assert_allclose(ours, torchs.detach().numpy(), atol=1e-12)


@pytest.mark.parametrize("net", networks(), ids=range(10))
def test_derivatives_are_those_of_autograd(net: Any) -> None:
    given = rows()
    affine = AffineNetwork.of(net)
    found = affine.forward(given)
    seed = np.array([1.0, -0.5, 2.0])
    start = affine.start(seed, len(given))
    ours = affine.backward(start, affine.slopes(found, "tangent"), lowest=0)

    x = torch.from_numpy(given).requires_grad_()
    layers, outputs = whole_pass(net, x)
    total = (outputs @ torch.from_numpy(seed)).sum()
    wanted = torch.autograd.grad(total, [x, *layers])
    for k, gradient in enumerate(wanted):
        np.testing.assert_allclose(ours[k], gradient.numpy(), atol=1e-12)


@pytest.mark.parametrize("activation", ACTIVATIONS)
def test_the_secant_meets_the_curve(activation: str) -> None:
    z = np.r_[np.linspace(-60, 60, 241), 1e-9, -1e-9, 1e-200, 0.0, -800.0, 800.0]
    line = slope(activation, z, "secant") * z + at_zero(activation)
    np.testing.assert_allclose(line, activate(activation, z), rtol=0, atol=1e-15)
    torchs = getattr(torch, activation)(torch.from_numpy(z)).numpy()
    np.testing.assert_allclose(activate(activation, z), torchs, rtol=0, atol=1e-15)


def test_near_zero_the_secant_is_the_tangent() -> None:
    for activation, at_origin in (("tanh", 1.0), ("sigmoid", 0.25)):
        for z in (0.0, 1e-200, -1e-12, 1e-9):
            assert slope(activation, np.array([z]), "secant")[0] == pytest.approx(
                at_origin, abs=1e-8
            )


def test_links_are_the_wirings() -> None:
    net = network()
    affine = AffineNetwork.of(net)
    layer = net.wiring.layers[0]
    everything = list(range(SIZES[0]))
    dense = next(iter(net.layers)).dense_weight().detach().numpy()
    for unit in range(SIZES[1]):
        found = affine.link_weights(1, unit, everything)
        linked = layer.indices[layer.indptr[unit] : layer.indptr[unit + 1]].tolist()
        assert [j for j in everything if found[j] is not None] == linked
        assert [found[j] for j in linked] == dense[unit, linked].tolist()
    assert affine.link_weights(2, 0, everything) == [None] * SIZES[0]
    skip = next(iter(net.skips)).weight.detach().numpy()
    assert affine.link_weights(3, 4, [7, 2]) == [skip[7, 4], skip[2, 4]]
    assert affine.link_weights(3, 5, [7]) == [None]  # a unit that reads level 1


def test_a_pruned_link_is_no_link() -> None:
    net = FNN(4, 2, hidden=(3,), seed=0).eval()
    masks = [torch.ones(4, 3, dtype=torch.bool), torch.ones(3, 2, dtype=torch.bool)]
    masks[0][1, 2] = False
    net.keep(masks)
    affine = AffineNetwork.of(net)
    assert affine.link_weights(1, 2, [0, 1])[1] is None
    assert affine.link_weights(1, 1, [0, 1])[1] == net.layers[0].weight[1, 1].item()
    x = torch.randn(5, 4)
    with torch.no_grad():
        np.testing.assert_allclose(affine.forward(x.numpy()).outputs, net(x).numpy(), atol=1e-6)


def test_other_modules_are_refused() -> None:
    with pytest.raises(DataError, match="neither a TSENet nor a stack"):
        AffineNetwork.of(torch.nn.ReLU())
