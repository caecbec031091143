"""Processes that share a batch take the step of one process with the whole batch."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from tests.training.fused_examples import CLASSES, LABELS, NUMBERS, WEIGHTS, inputs, network
from tests.training.thread_peers import run_together
from tsenet.errors import DataError
from tsenet.network.tsenet import TSENet
from tsenet.training.engine import AutogradEngine
from tsenet.training.fused import FusedEngine
from tsenet.training.losses import Loss, MulticlassLoss, MultilabelLoss, RegressionLoss
from tsenet.training.parallel import ParallelAutogradEngine, ParallelFusedEngine
from tsenet.training.peers import Peers

pytestmark = pytest.mark.usefixtures("one_thread")
CASES: dict[str, tuple[Loss, NDArray[Any], NDArray[Any] | None]] = {
    "classes": (MulticlassLoss(4), CLASSES, None),
    "weights of classes": (MulticlassLoss(4, [1.0, 2.0, 0.5, 3.0]), CLASSES, None),
    "weights of rows": (MulticlassLoss(4), CLASSES, WEIGHTS),
    "labels, some unknown": (MultilabelLoss(4), LABELS, None),
    "numbers": (RegressionLoss(4), NUMBERS, WEIGHTS),
}
N_STEPS, BATCH = 6, 130


def batches() -> list[NDArray[np.int64]]:
    rng = np.random.default_rng(1)
    return [rng.choice(300, BATCH, replace=False) for _ in range(N_STEPS)]


def net(loss: Loss) -> TSENet:
    return network(loss.n_outputs, dropout=0.4)


def alone(kind: str, loss: Loss, targets: Any, weights: Any) -> tuple[list[float], Any]:
    engine: Any = (FusedEngine if kind == "fused" else AutogradEngine)(
        net(loss), inputs(True), loss, seed=5
    )
    losses = [
        engine.step(b, targets[b], None if weights is None else weights[b], 0.01, step)
        for step, b in enumerate(batches())
    ]
    return losses, engine.state()


def shared(
    kind: str, size: int, loss: Loss, targets: Any, weights: Any, cuts: Any = None
) -> list[tuple[list[float], Any]]:
    """The same steps by several processes; ``cuts`` are the places where the batch is divided."""
    cuts = np.linspace(0, BATCH, size + 1).astype(int) if cuts is None else cuts

    def work(peers: Peers) -> tuple[list[float], Any]:
        engine: Any = (ParallelFusedEngine if kind == "fused" else ParallelAutogradEngine)(
            net(loss), inputs(True), loss, peers, seed=5
        )
        first, last = cuts[peers.rank], cuts[peers.rank + 1]
        losses = []
        for step, whole in enumerate(batches()):
            own = whole[first:last]
            engine.take_rows_of(inputs(True), int(first))
            weight = None if weights is None else weights[own]
            losses.append(engine.step(own, targets[own], weight, 0.01, step))
        return losses, engine.state()

    return run_together(size, work)


def largest_difference(one: Any, other: Any) -> float:
    assert one.keys() == other.keys()
    return max(float(np.abs(one[name] - other[name]).max()) for name in one)


@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize("kind", ["fused", "autograd"])
def test_steps_are_those_of_one_process(kind: str, case: str) -> None:
    losses, state = alone(kind, *CASES[case])
    for size in (2, 3):
        for found, own_state in shared(kind, size, *CASES[case]):
            np.testing.assert_allclose(found, losses, atol=1e-6)
            assert largest_difference(own_state, state) < 2e-5


@pytest.mark.parametrize("kind", ["fused", "autograd"])
def test_one_process_takes_the_same_bytes(kind: str) -> None:
    losses, state = alone(kind, *CASES["weights of classes"])
    ((found, own_state),) = shared(kind, 1, *CASES["weights of classes"])
    assert found == losses
    assert largest_difference(own_state, state) == 0


@pytest.mark.parametrize("kind", ["fused", "autograd"])
def test_all_processes_have_the_same_bytes_each_time(kind: str) -> None:
    runs = [shared(kind, 3, *CASES["classes"]) for _ in range(2)]
    first, first_state = runs[0][0]
    for losses, state in [*runs[0], *runs[1]]:
        assert losses == first
        assert largest_difference(state, first_state) == 0


@pytest.mark.parametrize("kind", ["fused", "autograd"])
def test_a_process_without_rows_takes_the_step_too(kind: str) -> None:
    losses, state = alone(kind, *CASES["labels, some unknown"])
    found = shared(kind, 3, *CASES["labels, some unknown"], cuts=[0, 0, 100, BATCH])
    for own_losses, own_state in found:
        np.testing.assert_allclose(own_losses, losses, atol=1e-6)
        assert largest_difference(own_state, state) < 2e-5


def test_a_batch_without_any_label_changes_nothing_but_the_count() -> None:
    loss, targets = MultilabelLoss(4), np.full_like(LABELS, np.nan)
    for losses, state in shared("fused", 2, loss, targets, None):
        assert losses == [0.0] * N_STEPS
        assert int(state["n_steps"][0]) == N_STEPS
        before = net(loss).state_dict()
        for name, tensor in before.items():
            np.testing.assert_array_equal(state[f"parameter.{name}"], tensor.numpy())


def test_masks_depend_on_the_row_of_the_whole_batch() -> None:
    """Without the place of its rows, a process would drop what the first one drops."""
    loss, targets, weights = CASES["classes"]
    _, state = alone("fused", loss, targets, weights)

    def work(peers: Peers) -> Any:
        engine = ParallelFusedEngine(net(loss), inputs(True), loss, peers, seed=5)
        for step, whole in enumerate(batches()):
            own = np.array_split(whole, 2)[peers.rank]
            engine.step(own, targets[own], None, 0.01, step)
        return engine.state()

    assert largest_difference(run_together(2, work)[0], state) > 1e-3


def test_batch_normalisation_is_refused() -> None:
    with_norm = network(4, norm="batch")
    with pytest.raises(DataError, match="norm"):
        ParallelAutogradEngine(with_norm, inputs(True), MulticlassLoss(4), Peers(0, 2))


@pytest.mark.parametrize("case", CASES)
def test_total_weight_is_what_the_mean_divides_by(case: str) -> None:
    """Means of two halves, weighed by it, are the mean of the whole."""
    loss, targets, weights = CASES[case]
    outputs = np.random.default_rng(0).normal(size=(300, 4))
    halves = [slice(0, 120), slice(120, 300)]
    of_half = [None if weights is None else weights[half] for half in halves]
    means = [
        loss.gradient(outputs[half], targets[half], w)[0]
        for half, w in zip(halves, of_half, strict=True)
    ]
    sizes = [loss.total_weight(targets[half], w) for half, w in zip(halves, of_half, strict=True)]
    whole = loss.gradient(outputs, targets, weights)[0]
    assert np.average(means, weights=sizes) == pytest.approx(whole)
