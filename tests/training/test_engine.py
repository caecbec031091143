"""The engine: Adam exactly as torch and the book have it."""

from __future__ import annotations

import copy
from typing import Any

import numpy as np
import pytest
import torch
from scipy.sparse import csr_array

from tests.training.examples import labelled, make_engine, same_bytes, small_net, table, weights_of
from tsenet.network.inputs import Inputs
from tsenet.training.loop import AdamState, Engine, take_adam_step
from tsenet.training.losses import BinaryLoss, MultilabelLoss

RATES = [1e-2, 3e-3, 2e-2, 5e-4, 1e-2, 1e-2]


def take_steps(
    engine: Engine, inputs: Inputs, targets: Any, steps: range, weights: Any = None
) -> list[float]:
    """Steps on batches of 16 rows, each a function of the step's number."""
    losses = []
    for step in steps:
        rows = np.random.default_rng(step).choice(len(inputs), 16, replace=False)
        batch = labelled(inputs, targets, weights).take(rows)
        losses.append(engine.step(batch, RATES[step % len(RATES)], step))
    return losses


class TestAdam:
    def test_the_same_as_a_plain_torch_loop(self) -> None:
        inputs, labels = table(60)
        weights = np.random.default_rng(0).uniform(0.5, 2, 60)
        net = small_net(8)
        other = copy.deepcopy(net)
        engine = Engine(net, BinaryLoss(), seed=3)
        losses = take_steps(engine, inputs, labels, range(6), weights)

        adam = torch.optim.Adam(other.parameters(), fused=True)
        other.train()
        for step, rate in enumerate(RATES):
            rows = np.random.default_rng(step).choice(60, 16, replace=False)
            adam.param_groups[0]["lr"] = rate
            other.begin_step(3, step)
            target, weight = (torch.from_numpy(each[rows, None]) for each in (labels, weights))
            loss = torch.nn.functional.binary_cross_entropy_with_logits(
                other(inputs.batch(rows)).double(), target, weight, reduction="sum"
            )
            loss = loss / weight.sum()
            adam.zero_grad()
            loss.backward()  # type: ignore[no-untyped-call]  # torch leaves it untyped
            adam.step()
            assert losses[step] == pytest.approx(loss.item(), rel=1e-5)
        for name, tensor in other.state_dict().items():
            np.testing.assert_allclose(weights_of(engine)[name], tensor.numpy(), atol=1e-5)

    def test_skip_groups_that_are_off_stay_as_they_are(self) -> None:
        inputs, labels = table(60)
        net = small_net(8, skip_dropout=0.5)
        engine = Engine(net, BinaryLoss(), seed=3)
        n_still = 0
        for step in range(8):
            before = copy.deepcopy(weights_of(engine))
            take_steps(engine, inputs, labels, range(step, step + 1))
            moved = {
                name: not np.array_equal(before[name], weight)
                for name, weight in weights_of(engine).items()
            }
            assert moved["skips.0.weight"] == moved["skips.0.bias"] == moved["skips.1.weight"]
            assert moved["top.weight"]
            n_still += not moved["skips.0.weight"]
        assert 0 < n_still < 8

    def test_the_formula(self) -> None:
        """Kingma & Ba, algorithm 1, on one linear unit in float64, where the gradient is known."""
        rng = np.random.default_rng(1)
        values = rng.normal(size=(40, 3))
        targets = rng.normal(size=40)

        arrays: list[Any] = [np.zeros(3), torch.zeros(3, dtype=torch.float64)]
        state = AdamState.zeros(arrays)
        w, m, v = np.zeros(3), np.zeros(3), np.zeros(3)
        for t in range(1, 30):
            rows = rng.choice(40, 8, replace=False)
            rate = 0.1 / t
            x, y = values[rows], targets[rows]
            gradient = 2 * x.T @ (x @ w - y) / 8
            slopes = [2 * x.T @ (x @ np.asarray(each) - y) / 8 for each in arrays]
            take_adam_step(arrays, [slopes[0], torch.from_numpy(slopes[1])], state, rate)
            m = 0.9 * m + 0.1 * gradient
            v = 0.999 * v + 0.001 * gradient**2
            w = w - rate * (m / (1 - 0.9**t)) / (np.sqrt(v / (1 - 0.999**t)) + 1e-8)
        for weight in arrays:
            np.testing.assert_allclose(np.asarray(weight), w, rtol=1e-10)
        assert np.abs(w).min() > 1e-3


class TestSteps:
    def test_another_engine_can_take_over(self) -> None:
        inputs, labels = table(60)
        first = make_engine(inputs)
        take_steps(first, inputs, labels, range(4))
        second = make_engine(inputs)
        second.net.load_state_dict(first.net.state_dict())
        second.adam = copy.deepcopy(first.adam)
        losses = [take_steps(each, inputs, labels, range(4, 9)) for each in (first, second)]
        assert losses[0] == losses[1]
        assert same_bytes(weights_of(first), weights_of(second))

    def test_dropout_follows_seed_and_step(self) -> None:
        inputs, labels = table(60)
        batch = labelled(inputs, labels).take(np.arange(16))

        def loss(seed: int, step: int) -> float:
            return make_engine(inputs, seed=seed).step(batch, 0.1, step)

        assert loss(1, 2) == loss(1, 2)
        assert loss(1, 2) != loss(1, 3)
        assert loss(1, 2) != loss(2, 2)

    def test_outputs_do_not_depend_on_the_company(self) -> None:
        inputs, labels = table(2500)
        engine = make_engine(inputs)
        take_steps(engine, inputs, labels, range(3))
        rows = np.random.default_rng(0).permutation(2500)
        outputs = engine.outputs(inputs, rows)
        assert outputs.shape == (2500, 1)
        np.testing.assert_array_equal(outputs, engine.outputs(inputs, rows))  # no dropout
        alone = np.concatenate([engine.outputs(inputs, row[None]) for row in rows[:30]])
        np.testing.assert_allclose(alone, outputs[:30], rtol=1e-5, atol=1e-6)
        assert engine.outputs(inputs, rows[:0]).shape == (0, 1)

    def test_labels_all_unknown_leave_the_network_alone(self) -> None:
        inputs, _ = table(60)
        engine = make_engine(inputs, MultilabelLoss(3))
        before = weights_of(engine)
        assert engine.step(labelled(inputs, np.full((60, 3), np.nan)), 0.1, 0) == 0.0
        for name, array in weights_of(engine).items():
            np.testing.assert_array_equal(array, before[name])

    def test_an_unknown_label_is_as_good_as_no_row(self) -> None:
        inputs, labels = table(60)
        engine = make_engine(inputs)
        hidden = np.where(np.arange(60) % 3 == 0, np.nan, labels)
        ignored = (np.arange(60) % 3 != 0).astype(np.float64)
        take_steps(engine, inputs, hidden, range(5))
        other = make_engine(inputs)
        take_steps(other, inputs, labels, range(5), ignored)
        assert same_bytes(weights_of(engine), weights_of(other))


class TestForms:
    def test_sparse_rows_train_like_dense_ones(self) -> None:
        inputs, labels = table(60)
        dense = make_engine(inputs)
        sparse, rows = make_engine(inputs), Inputs(csr_array(inputs.values))
        losses = take_steps(dense, inputs, labels, range(8))
        assert take_steps(sparse, rows, labels, range(8)) == pytest.approx(losses, rel=1e-4)
