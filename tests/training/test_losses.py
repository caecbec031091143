"""Losses against autograd, scikit-learn and their own definition."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays
from numpy.typing import NDArray
from torch.nn import functional

from tsenet.training.losses import BinaryLoss, Loss, MulticlassLoss, MultilabelLoss, RegressionLoss

Floats = NDArray[np.float64]
LOSSES = {
    "binary": BinaryLoss(),
    "multiclass": MulticlassLoss(4),
    "multilabel": MultilabelLoss(4),
    "regression": RegressionLoss(),
    "regression, four values": RegressionLoss(4),
}
every_loss = pytest.mark.parametrize("loss", LOSSES.values(), ids=LOSSES.keys())


def random_targets(loss: Loss, n_rows: int, rng: np.random.Generator) -> NDArray[Any]:
    if isinstance(loss, MulticlassLoss):
        return rng.integers(loss.n_outputs, size=n_rows)
    shape = (n_rows, loss.n_outputs) if loss.n_outputs > 1 else (n_rows,)
    if isinstance(loss, RegressionLoss):
        return rng.normal(size=shape)
    return rng.integers(2, size=shape).astype(np.float64)


def forget(targets: NDArray[Any], rng: np.random.Generator) -> Floats:
    """About a third of the labels become unknown."""
    return np.where(rng.random(targets.shape) < 0.35, np.nan, targets)


def by_autograd(
    loss: Loss, outputs: Floats, targets: NDArray[Any], weights: Floats | None
) -> tuple[float, Floats]:
    """Loss and gradient by torch."""
    z = torch.tensor(outputs, requires_grad=True)
    y = torch.tensor(targets, dtype=torch.float64)
    if isinstance(loss, MulticlassLoss):
        entries = -functional.log_softmax(z, dim=1)
        if y.ndim == 1:
            known = ~torch.isnan(y) & (y >= 0)
            share = functional.one_hot(torch.where(known, y, 0.0).long(), loss.n_outputs)
            weight = share * known[:, None]
        else:
            weight = y
    else:
        y = y.reshape(z.shape)
        weight = (~torch.isnan(y)).double()
        y = torch.nan_to_num(y)
        if isinstance(loss, RegressionLoss):
            entries = (z - y) ** 2
        else:
            entries = functional.binary_cross_entropy_with_logits(z, y, reduction="none")
    if weights is not None:
        weight = weight * torch.tensor(weights).reshape(len(weights), -1)
    total = weight.sum()
    value = (weight * entries).sum() / (total if total > 0 else 1.0)
    value.backward()  # type: ignore[no-untyped-call]  # torch leaves it untyped
    assert z.grad is not None
    return value.item(), z.grad.numpy()


@every_loss
@pytest.mark.parametrize("weighted", ["", "rows", "entries", "zero"])
@pytest.mark.parametrize("unknown", [False, True])
def test_loss_and_gradient_are_torchs(loss: Loss, weighted: str, unknown: bool) -> None:
    rng = np.random.default_rng(0)
    outputs = rng.normal(scale=3, size=(50, loss.n_outputs))
    targets = random_targets(loss, 50, rng)
    targets = forget(targets, rng) if unknown else targets
    weights = None
    if weighted:
        entries = weighted == "entries" and not isinstance(loss, MulticlassLoss)
        weights = rng.uniform(0, 2, outputs.shape if entries else 50) * (weighted != "zero")
    value, gradient = loss.gradient(outputs, targets, weights)
    expected_value, expected_gradient = by_autograd(loss, outputs, targets, weights)
    assert value == pytest.approx(expected_value, rel=1e-12, abs=1e-12)
    np.testing.assert_allclose(gradient, expected_gradient, rtol=1e-10, atol=1e-12)
    assert (np.abs(gradient).max() > 1e-3) == (weighted != "zero")


def test_probabilities_as_targets() -> None:
    rng = np.random.default_rng(1)
    outputs, shares = rng.normal(size=(30, 3)), rng.dirichlet(np.ones(3), size=30)
    value, gradient = MulticlassLoss(3).gradient(outputs, shares)
    expected = functional.cross_entropy(torch.tensor(outputs), torch.tensor(shares)).item()
    assert value == pytest.approx(expected, rel=1e-12)
    np.testing.assert_allclose(
        gradient, by_autograd(MulticlassLoss(3), outputs, shares, None)[1], atol=1e-12
    )


def test_a_negative_class_number_is_unknown() -> None:
    outputs = np.random.default_rng(6).normal(size=(3, 4))
    value, gradient = MulticlassLoss(4).gradient(outputs, np.array([2, -1, 0]))
    other_value, other = MulticlassLoss(4).gradient(outputs, np.array([2, np.nan, 0]))
    assert (value, gradient.tolist()) == (other_value, other.tolist())
    assert not gradient[1].any()


class TestPredictions:
    def test_binary_gives_both_classes(self) -> None:
        probability = BinaryLoss().predict(np.array([[0.0], [np.log(3)], [1e4], [-1e4]]))
        expected = np.array([[0.5, 0.5], [0.25, 0.75], [0.0, 1.0], [1.0, 0.0]])
        np.testing.assert_allclose(probability, expected)

    def test_multiclass_is_a_softmax(self) -> None:
        shift = np.array([[1e4], [-1e4]])
        outputs = shift + np.log([[1.0, 2.0, 5.0], [1e-9, 1.0, 1e-9]])
        probability = MulticlassLoss(3).predict(outputs)
        np.testing.assert_allclose(probability, [[0.125, 0.25, 0.625], [1e-9, 1, 1e-9]], rtol=1e-7)

    @every_loss
    def test_huge_outputs_stay_finite(self, loss: Loss) -> None:
        outputs = np.array([[1e4], [-1e4]]) * np.ones(loss.n_outputs)
        targets = random_targets(loss, 2, np.random.default_rng(7))
        value, gradient = loss.gradient(outputs, targets)
        assert np.isfinite(value)
        assert np.isfinite(gradient).all()


@every_loss
def test_float32_stays_float32(loss: Loss) -> None:
    rng = np.random.default_rng(8)
    outputs = rng.normal(size=(9, loss.n_outputs)).astype(np.float32)
    targets = random_targets(loss, 9, rng)
    value, gradient = loss.gradient(outputs, targets, rng.uniform(1, 2, 9))
    assert gradient.dtype == np.float32
    assert type(value) is float


@pytest.mark.parametrize("shape", [(4, 6), (6, 1), (6,), (5, 4)])
def test_targets_are_never_broadcast(shape: tuple[int, ...]) -> None:
    with pytest.raises(ValueError, match="do not fit outputs"):
        MultilabelLoss(4).gradient(np.zeros((6, 4)), np.zeros(shape))


numbers = st.floats(-50, 50, width=32)


@given(
    arrays.arrays(np.float64, (6, 3), elements=numbers),
    arrays.arrays(np.int64, 6, elements=st.integers(-1, 2)),
    arrays.arrays(np.float64, 6, elements=st.floats(0.125, 8)),
    st.floats(0.25, 4),
    st.permutations(range(6)),
)
def test_multiclass_properties(
    outputs: Floats, targets: NDArray[np.int64], weights: Floats, scale: float, order: list[int]
) -> None:
    loss = MulticlassLoss(3)
    value, gradient = loss.gradient(outputs, targets, weights)
    assert value >= 0
    np.testing.assert_allclose(gradient.sum(axis=1), 0, atol=1e-12)  # only differences matter
    rescaled, _ = loss.gradient(outputs, targets, weights * scale)
    assert rescaled == pytest.approx(value, rel=1e-9, abs=1e-12)
    shuffled, moved = loss.gradient(outputs[order], targets[order], weights[order])
    assert shuffled == pytest.approx(value, rel=1e-9, abs=1e-12)
    np.testing.assert_allclose(moved, gradient[order], rtol=1e-9, atol=1e-12)


@given(
    arrays.arrays(np.float64, (5, 2), elements=numbers),
    arrays.arrays(np.float64, (5, 2), elements=st.sampled_from([0.0, 1.0, np.nan])),
    arrays.arrays(np.int64, 5, elements=st.integers(0, 3)),
)
def test_a_weight_is_a_number_of_copies(
    outputs: Floats, targets: Floats, copies: NDArray[np.int64]
) -> None:
    loss = MultilabelLoss(2)
    weighted, _ = loss.gradient(outputs, targets, copies.astype(np.float64))
    repeated, _ = loss.gradient(np.repeat(outputs, copies, 0), np.repeat(targets, copies, 0))
    assert weighted == pytest.approx(repeated, rel=1e-9, abs=1e-12)
