"""The loop and its engine: what it trains on, when it stops, which weights it leaves; Adam as torch has it."""

from __future__ import annotations

import copy
import logging
import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pytest
import torch
from numpy.typing import NDArray
from scipy.sparse import csr_array
from sklearn.metrics import accuracy_score

from tests.training.examples import (
    held_out,
    labelled,
    make_engine,
    same_bytes,
    small_net,
    table,
    weights_of,
)
from tsenet.errors import DivergenceError
from tsenet.network.inputs import Inputs
from tsenet.training.examples import Examples
from tsenet.training.history import History
from tsenet.training.loop import AdamState, Engine, TrainingOptions, take_adam_step, train
from tsenet.training.losses import BinaryLoss, MulticlassLoss, MultilabelLoss


def scripted(scores: Sequence[float]) -> Callable[..., float]:
    """A score that takes these values one after another."""
    coming = iter(scores)
    return lambda held, outputs: next(coming)


class Recorder(Engine):
    """Remembers every step: the batch, the learning rate, the number and the loss."""

    taken: list[tuple[Examples, float, int]]
    losses: list[float]

    def step(self, batch: Examples, learning_rate: float, step: int) -> float:
        if not hasattr(self, "taken"):
            self.taken, self.losses = [], []
        self.taken.append((batch, learning_rate, step))
        self.losses.append(super().step(batch, learning_rate, step))
        return self.losses[-1]


def recorder(inputs: Inputs) -> Recorder:
    return Recorder(make_engine(inputs).net, BinaryLoss(), seed=0)


class TestBatches:
    @pytest.mark.parametrize(
        ("n_rows", "batch_size", "sizes"),
        [(10, 5, {5}), (11, 5, {3, 4}), (9, 4, {3}), (7, 100, {7}), (257, 256, {128, 129})],
    )
    def test_an_epoch_sees_every_row_once_in_even_batches(
        self, n_rows: int, batch_size: int, sizes: set[int]
    ) -> None:
        inputs, labels = table(n_rows)
        engine = recorder(inputs)
        train(
            engine,
            labelled(inputs, labels),
            options=TrainingOptions(batch_size=batch_size, max_epochs=3),
        )
        n_batches = math.ceil(n_rows / batch_size)
        assert len(engine.taken) == 3 * n_batches
        assert {batch.n_rows for batch, *_ in engine.taken} == sizes
        orders = []
        for epoch in range(3):
            steps = engine.taken[epoch * n_batches : (epoch + 1) * n_batches]
            order = np.concatenate([batch.rows for batch, *_ in steps])
            np.testing.assert_array_equal(np.sort(order), np.arange(n_rows))
            orders.append(order.tolist())
        assert orders[0] != orders[1] != orders[2]
        assert [step for *_, step in engine.taken] == list(range(3 * n_batches))

    def test_targets_and_weights_travel_with_their_rows(self) -> None:
        inputs, labels = table(30)
        engine = recorder(inputs)
        rows = np.random.default_rng(0).permutation(30)[:20]
        weights = np.random.default_rng(1).uniform(1, 2, 30)
        options = TrainingOptions(batch_size=6, max_epochs=2)
        train(engine, labelled(inputs, labels, weights).take(rows), options=options)
        for batch, *_ in engine.taken:
            np.testing.assert_array_equal(batch.targets, labels[batch.rows])
            np.testing.assert_array_equal(batch.weights, weights[batch.rows])
            assert set(batch.rows.tolist()) <= set(rows.tolist())


class TestStopping:
    def run(self, scores: Sequence[float], **options: Any) -> tuple[Engine, History, list[Any]]:
        inputs, labels = table(40)
        kept, validation = held_out(inputs, labels, 30)
        engine = make_engine(inputs)
        weights: list[Any] = []

        def score(*_: Any) -> float:
            weights.append(weights_of(engine))
            return scores[len(weights) - 1]

        history = train(
            engine,
            kept,
            validation=validation,
            score=score,
            options=TrainingOptions(**{"learning_rate": 0.01, "batch_size": 10, **options}),
        )
        assert len(weights) == history.n_epochs
        return engine, history, weights

    def test_patience_then_the_best_weights(self) -> None:
        scores = [0.1, 0.4, 0.3, 0.2, 0.4, 0.9]
        engine, history, weights = self.run(scores, max_epochs=6, patience=3)
        assert (history.stopped, history.n_epochs) == ("early_stopping", 5)
        assert (history.best_epoch, history.best_score) == (1, 0.4)
        assert same_bytes(weights_of(engine), weights[1])
        assert not same_bytes(weights[1], weights[-1])

    def test_early_stopping_can_be_off(self) -> None:
        scores = [0.4, 0.1, 0.1, 0.1, 0.1]
        engine, history, weights = self.run(scores, max_epochs=5, patience=None)
        assert (history.stopped, history.n_epochs) == ("max_epochs", 5)
        assert same_bytes(weights_of(engine), weights[0])

    def test_a_score_that_is_never_a_number(self) -> None:
        engine, history, weights = self.run([math.nan] * 4, max_epochs=4, patience=3)
        assert (history.stopped, history.n_epochs) == ("early_stopping", 3)
        assert history.best_epoch is None
        assert same_bytes(weights_of(engine), weights[-1])


class TestScores:
    def test_loss_and_score_are_those_of_the_network_after_the_epoch(self) -> None:
        inputs, labels = table(60)
        weights = np.random.default_rng(0).uniform(1, 2, 60)
        kept, validation = held_out(inputs, labels, 40)
        validation = validation._replace(weights=weights[40:])
        engine = make_engine(inputs)
        seen: list[float] = []

        def accuracy(held: Examples, outputs: Any) -> float:
            now = engine.outputs(inputs, validation.rows).astype(np.float64)
            assert np.array_equal(outputs, now)
            seen.append(BinaryLoss().gradient(now, validation.targets, validation.weights)[0])
            right = accuracy_score(held.targets, outputs[:, 0] > 0, sample_weight=held.weights)
            return float(right)

        options = TrainingOptions(0.02, 8, max_epochs=4)
        history = train(engine, kept, validation=validation, score=accuracy, options=options)
        assert list(history.validation_loss) == seen
        assert all(0 <= score <= 1 for score in history.validation_score)

    def test_the_default_score_is_minus_the_loss(self) -> None:
        inputs, labels = table(60)
        kept, validation = held_out(inputs, labels, 40)
        history = train(
            make_engine(inputs),
            kept,
            validation=validation,
            options=TrainingOptions(max_epochs=2),
        )
        assert history.validation_score == tuple(-loss for loss in history.validation_loss)

    def test_the_train_loss_is_the_mean_over_rows(self) -> None:
        inputs, labels = table(11)
        engine = recorder(inputs)
        options = TrainingOptions(batch_size=5, max_epochs=1)
        history = train(engine, labelled(inputs, labels), options=options)
        losses = engine.losses
        expected = (3 * losses[0] + 4 * losses[1] + 4 * losses[2]) / 11
        assert history.train_loss[0] == pytest.approx(expected, rel=1e-12)

    def test_it_learns(self) -> None:
        inputs, labels = table(400)
        kept, validation = held_out(inputs, labels, 300)
        loss = MulticlassLoss(2)
        engine = make_engine(inputs, loss, dropout=0.1)
        history = train(
            engine,
            kept._replace(targets=kept.targets.astype(np.int64)),
            validation=validation,
            options=TrainingOptions(0.02, 32, max_epochs=40, patience=40),
        )
        found = engine.outputs(inputs, validation.rows).argmax(axis=1)
        assert accuracy_score(validation.targets, found) > 0.95
        assert history.train_loss[-1] < history.train_loss[0]


def test_same_seed_same_bytes() -> None:
    def run(seed: int, dropout_seed: int = 5) -> tuple[dict[str, NDArray[Any]], History]:
        inputs, labels = table(50)
        kept, validation = held_out(inputs, labels, 40)
        engine = make_engine(inputs, seed=dropout_seed)
        options = TrainingOptions(batch_size=8, max_epochs=4)
        history = train(engine, kept, validation=validation, options=options, seed=seed)
        return weights_of(engine), history

    first, history = run(3)
    second, again = run(3)
    assert same_bytes(first, second)
    assert (history.train_loss, history.validation_loss) == (
        again.train_loss,
        again.validation_loss,
    )
    assert not same_bytes(first, run(4)[0])
    assert not same_bytes(first, run(3, 6)[0])


class TestDivergence:
    # Column sums this large overflow float32 as soon as they are squared.
    values = np.random.default_rng(0).normal(scale=1e30, size=(20, 8)).astype(np.float32)

    def test_without_best_weights_it_is_an_error(self) -> None:
        inputs = Inputs(self.values)
        engine = make_engine(inputs, dropout=0.0)
        with pytest.raises(DivergenceError, match="lower the learning rate"):
            train(
                engine, labelled(inputs, np.zeros(20)), options=TrainingOptions(1e30, max_epochs=50)
            )

    def test_with_best_weights_they_are_kept(self, caplog: pytest.LogCaptureFixture) -> None:
        inputs, labels = table(40)
        kept, validation = held_out(inputs, labels, 30)
        engine = make_engine(inputs)
        weights: list[Any] = []

        def spoil() -> None:
            weights.append(weights_of(engine))
            if len(weights) == 3:  # in the third epoch
                with torch.no_grad():
                    engine.net.output.weight[0] = torch.inf

        with caplog.at_level(logging.WARNING, "tsenet"):
            history = train(
                engine,
                kept,
                validation=validation,
                score=scripted([0.4, 0.5, math.nan]),
                after_step=spoil,
            )
        assert (history.stopped, history.n_epochs) == ("diverged", 3)
        assert same_bytes(weights_of(engine), weights[1])
        assert "The best weights so far are kept" in caplog.text


class TestReports:
    def test_progress_counts_batches(self) -> None:
        inputs, labels = table(10)
        seen: list[tuple[str, int, int | None]] = []
        train(
            make_engine(inputs),
            labelled(inputs, labels),
            options=TrainingOptions(batch_size=5, max_epochs=3),
            progress=lambda *state: seen.append(state),
        )
        assert [done for _, done, _ in seen] == [0, 1, 2, 3, 4, 5, 6, 6]
        assert {(stage, total) for stage, _, total in seen} == {("training", 6)}


# ---- the engine: Adam exactly as torch and the book have it


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
