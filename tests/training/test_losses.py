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
from sklearn.metrics import log_loss, mean_squared_error

from tsenet.training.losses import (
    BinaryLoss,
    Loss,
    MulticlassLoss,
    MultilabelLoss,
    RegressionLoss,
)

Floats = NDArray[np.float64]
PAIRS = [(0.5, 2.0), (1.0, 3.0), (0.0, 1.0), (2.0, 0.25)]
LOSSES = {
    "binary": BinaryLoss(),
    "binary, class weights": BinaryLoss((0.3, 2.0)),
    "multiclass": MulticlassLoss(4),
    "multiclass, class weights": MulticlassLoss(4, (0.5, 2.0, 0.0, 1.0)),
    "multilabel": MultilabelLoss(4),
    "multilabel, class weights": MultilabelLoss(4, PAIRS),
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
    z = torch.tensor(outputs, requires_grad=True)
    value = loss(z, torch.tensor(targets), None if weights is None else torch.tensor(weights))
    value.backward()  # type: ignore[no-untyped-call]  # torch leaves it untyped
    assert z.grad is not None
    return value.item(), z.grad.numpy()


@every_loss
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("unknown", [False, True])
def test_both_twins_agree(loss: Loss, weighted: bool, unknown: bool) -> None:
    rng = np.random.default_rng(0)
    outputs = rng.normal(scale=3, size=(50, loss.n_outputs))
    targets = random_targets(loss, 50, rng)
    targets = forget(targets, rng) if unknown else targets
    weights = rng.uniform(0, 2, 50) if weighted else None
    value, gradient = loss.gradient(outputs, targets, weights)
    expected_value, expected_gradient = by_autograd(loss, outputs, targets, weights)
    assert value == pytest.approx(expected_value, rel=1e-12, abs=1e-12)
    np.testing.assert_allclose(gradient, expected_gradient, rtol=1e-12, atol=1e-12)
    assert np.abs(gradient).max() > 1e-3


@every_loss
def test_gradient_is_the_slope(loss: Loss) -> None:
    rng = np.random.default_rng(1)
    outputs = rng.normal(size=(5, loss.n_outputs))
    targets = random_targets(loss, 5, rng)
    weights = rng.uniform(0.5, 2, 5)
    _, gradient = loss.gradient(outputs, targets, weights)
    for place in np.ndindex(outputs.shape):
        step = np.zeros_like(outputs)
        step[place] = 1e-5
        above, _ = loss.gradient(outputs + step, targets, weights)
        below, _ = loss.gradient(outputs - step, targets, weights)
        assert gradient[place] == pytest.approx((above - below) / 2e-5, abs=1e-8)


class TestAgainstScikitLearn:
    rng = np.random.default_rng(2)
    weights = rng.uniform(0, 2, 200)

    @pytest.mark.parametrize("weighted", [False, True])
    @pytest.mark.parametrize("class_weights", [None, (0.3, 2.0)])
    def test_binary(self, weighted: bool, class_weights: tuple[float, float] | None) -> None:
        outputs, targets = self.rng.normal(size=(200, 1)), self.rng.integers(2, size=200)
        weights = self.weights if weighted else np.ones(200)
        total = weights if class_weights is None else weights * np.array(class_weights)[targets]
        loss = BinaryLoss(class_weights)
        value, _ = loss.gradient(outputs, targets, weights if weighted else None)
        expected = log_loss(targets, loss.predict(outputs), sample_weight=total)
        assert value == pytest.approx(expected, rel=1e-12)

    @pytest.mark.parametrize("weighted", [False, True])
    @pytest.mark.parametrize("class_weights", [None, (0.3, 2.0, 1.0)])
    def test_multiclass(self, weighted: bool, class_weights: tuple[float, ...] | None) -> None:
        outputs, targets = self.rng.normal(size=(200, 3)), self.rng.integers(3, size=200)
        weights = self.weights if weighted else np.ones(200)
        total = weights if class_weights is None else weights * np.array(class_weights)[targets]
        loss = MulticlassLoss(3, class_weights)
        value, _ = loss.gradient(outputs, targets, weights if weighted else None)
        expected = log_loss(targets, loss.predict(outputs), sample_weight=total)
        assert value == pytest.approx(expected, rel=1e-12)

    def test_multilabel_with_unknown_labels(self) -> None:
        outputs = self.rng.normal(size=(200, 4))
        targets = forget(self.rng.integers(2, size=(200, 4)), self.rng)
        loss = MultilabelLoss(4, PAIRS)
        probability = loss.predict(outputs)
        value, _ = loss.gradient(outputs, targets, self.weights)
        row, label = np.nonzero(~np.isnan(targets))
        true = targets[row, label].astype(int)
        total = self.weights[row] * np.array(PAIRS)[label, true]
        expected = log_loss(true, probability[row, label], sample_weight=total)
        assert value == pytest.approx(expected, rel=1e-12)

    @pytest.mark.parametrize("n_outputs", [1, 3])
    @pytest.mark.parametrize("weighted", [False, True])
    def test_regression(self, n_outputs: int, weighted: bool) -> None:
        outputs, targets = self.rng.normal(size=(2, 200, n_outputs))
        weights = self.weights if weighted else None
        loss = RegressionLoss(n_outputs)
        value, _ = loss.gradient(outputs, targets, weights)
        expected = mean_squared_error(targets, loss.predict(outputs), sample_weight=weights)
        assert value == pytest.approx(expected, rel=1e-12)


class TestUnknownLabels:
    @every_loss
    def test_they_receive_no_gradient_and_count_for_nothing(self, loss: Loss) -> None:
        rng = np.random.default_rng(3)
        outputs = rng.normal(size=(40, loss.n_outputs))
        targets = random_targets(loss, 40, rng).astype(np.float64)
        missing = np.isnan(forget(targets, rng))
        weights = rng.uniform(0.1, 2, 40)
        gone = np.where(missing, np.nan, targets)
        one_per_row = targets.ndim == 1
        for value, gradient in (
            loss.gradient(outputs, gone, weights),
            by_autograd(loss, outputs, gone, weights),
        ):
            assert not gradient[missing].any()
            if one_per_row:  # the same as without those rows
                rest = outputs[~missing], targets[~missing], weights[~missing]
                expected_value, expected_gradient = loss.gradient(*rest)
                assert value == pytest.approx(expected_value, rel=1e-12)
                np.testing.assert_allclose(gradient[~missing], expected_gradient, rtol=1e-12)
            else:  # what stood there does not matter
                other, _ = loss.gradient(np.where(missing, 9.0, outputs), gone, weights)
                assert value == pytest.approx(other, rel=1e-12)

    @every_loss
    @pytest.mark.parametrize("weights", [None, np.ones(7)])
    def test_a_batch_of_them_has_loss_0(self, loss: Loss, weights: Floats | None) -> None:
        outputs = np.random.default_rng(4).normal(size=(7, loss.n_outputs))
        one_per_row = loss.n_outputs == 1 or isinstance(loss, MulticlassLoss)
        targets = np.full(7 if one_per_row else outputs.shape, np.nan)
        for value, gradient in (
            loss.gradient(outputs, targets, weights),
            by_autograd(loss, outputs, targets, weights),
        ):
            assert value == 0.0
            np.testing.assert_array_equal(gradient, np.zeros_like(outputs))

    @every_loss
    def test_no_weight_at_all_is_loss_0_too(self, loss: Loss) -> None:
        rng = np.random.default_rng(5)
        outputs, targets = rng.normal(size=(7, loss.n_outputs)), random_targets(loss, 7, rng)
        for value, gradient in (
            loss.gradient(outputs, targets, np.zeros(7)),
            by_autograd(loss, outputs, targets, np.zeros(7)),
        ):
            assert value == 0.0
            assert not gradient.any()

    def test_a_negative_class_number_is_unknown(self) -> None:
        outputs = np.random.default_rng(6).normal(size=(3, 4))
        loss = MulticlassLoss(4)
        numbers, not_numbers = np.array([2, -1, 0]), np.array([2, np.nan, 0])
        value, gradient = loss.gradient(outputs, numbers)
        other_value, other_gradient = loss.gradient(outputs, not_numbers)
        assert (value, gradient.tolist()) == (other_value, other_gradient.tolist())
        assert not gradient[1].any()
        assert by_autograd(loss, outputs, numbers, None)[0] == pytest.approx(value, rel=1e-12)


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

    def test_multilabel_looks_at_each_label_alone(self) -> None:
        probability = MultilabelLoss(2).predict(np.array([[0.0, np.log(3)]]))
        np.testing.assert_allclose(probability, [[0.5, 0.75]])

    def test_regression_gives_the_outputs(self) -> None:
        outputs = np.array([[1.5, -2.0]], np.float32)
        predicted = RegressionLoss(2).predict(outputs)
        assert predicted.dtype == np.float64
        np.testing.assert_array_equal(predicted, outputs)

    @every_loss
    def test_huge_outputs_stay_finite(self, loss: Loss) -> None:
        outputs = np.array([[1e4], [-1e4]]) * np.ones(loss.n_outputs)
        targets = random_targets(loss, 2, np.random.default_rng(7))
        value, gradient = loss.gradient(outputs, targets)
        assert np.isfinite(value)
        assert np.isfinite(gradient).all()
        assert value == pytest.approx(by_autograd(loss, outputs, targets, None)[0], rel=1e-12)


class TestTypesAndShapes:
    @every_loss
    def test_float32_stays_float32(self, loss: Loss) -> None:
        rng = np.random.default_rng(8)
        outputs = rng.normal(size=(9, loss.n_outputs)).astype(np.float32)
        targets = random_targets(loss, 9, rng)
        value, gradient = loss.gradient(outputs, targets, rng.uniform(1, 2, 9))
        assert gradient.dtype == np.float32
        tensor = loss(torch.from_numpy(outputs), torch.from_numpy(targets), torch.ones(9).double())
        assert tensor.dtype == torch.float32
        assert type(value) is float

    @pytest.mark.parametrize("kind", [bool, np.int64, np.uint8, np.float32])
    def test_labels_of_any_type(self, kind: type) -> None:
        outputs = np.array([[0.3], [-1.0]])
        value, _ = BinaryLoss().gradient(outputs, np.array([1, 0], kind))
        assert value == BinaryLoss().gradient(outputs, np.array([1.0, 0.0]))[0]
        assert value == pytest.approx(
            by_autograd(BinaryLoss(), outputs, np.array([1, 0], kind), None)[0]
        )

    @pytest.mark.parametrize("shape", [(4, 6), (6, 1), (6,), (5, 4)])
    def test_targets_are_never_broadcast(self, shape: tuple[int, ...]) -> None:
        with pytest.raises(ValueError, match="do not fit outputs"):
            MultilabelLoss(4).gradient(np.zeros((6, 4)), np.zeros(shape))
        with pytest.raises(ValueError, match="do not fit outputs"):
            MultilabelLoss(4)(torch.zeros(6, 4), torch.zeros(shape))

    @pytest.mark.parametrize("weights", [(1.0,), (1.0, -1.0), (1.0, np.nan), (np.inf, 1.0)])
    def test_bad_class_weights_are_refused(self, weights: tuple[float, ...]) -> None:
        with pytest.raises(ValueError, match="class_weights must be finite"):
            BinaryLoss(weights)

    def test_losses_are_values(self) -> None:
        assert MulticlassLoss(2, np.array([1, 2])) == MulticlassLoss(2, [1.0, 2.0])
        assert hash(MultilabelLoss(4, PAIRS)) == hash(MultilabelLoss(4, np.array(PAIRS)))
        assert MultilabelLoss(4, PAIRS) != MultilabelLoss(4)
        assert BinaryLoss().n_outputs == 1


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
    loss = MulticlassLoss(3, (1.0, 0.5, 2.0))
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
    loss = MultilabelLoss(2, [(1.0, 3.0), (0.5, 1.0)])
    weighted, _ = loss.gradient(outputs, targets, copies.astype(np.float64))
    repeated, _ = loss.gradient(np.repeat(outputs, copies, 0), np.repeat(targets, copies, 0))
    assert weighted == pytest.approx(repeated, rel=1e-9, abs=1e-12)
