"""Ctrl-C: noticed between batches, the best weights kept, the checkpoint good for going on."""

from __future__ import annotations

import os
import signal
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.training.examples import Weights, held_out, make_engine, same_bytes, table
from tsenet.training.callbacks import Callback
from tsenet.training.engine import Engine
from tsenet.training.history import History
from tsenet.training.interrupt import CtrlC
from tsenet.training.loop import TrainingOptions, train

OPTIONS = TrainingOptions(0.01, batch_size=10, max_epochs=5)


class PressCtrlC(Callback):
    """Sends this process SIGINT after a batch, as a terminal does."""

    def __init__(self, epoch: int, batch: int, times: int = 1) -> None:
        self.when, self.times = (epoch, batch), times
        self.batches = 0
        self.returned = False

    def on_batch_end(self, engine: Engine, epoch: int, batch: int, loss: float) -> None:
        self.batches += 1
        if (epoch, batch) == self.when:
            for _ in range(self.times):
                os.kill(os.getpid(), signal.SIGINT)
            self.returned = True


@pytest.fixture(autouse=True)
def usual_handler() -> Iterator[None]:
    """Python's own handler before, and again after whatever the test did."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler
    signal.signal(signal.SIGINT, before)


def run(
    *callbacks: Callback, kind: str = "dense", validated: bool = True, **options: Any
) -> tuple[Engine, History]:
    inputs, labels = table(40)
    rows, validation = held_out(inputs, labels, 30)  # 3 batches an epoch
    engine = make_engine(kind, inputs)
    history = train(
        engine,
        rows,
        labels[rows],
        validation=validation if validated else None,
        options=OPTIONS,
        callbacks=callbacks,
        **options,
    )
    return engine, history


@pytest.mark.parametrize("kind", ["dense", "tsenet"])
@pytest.mark.parametrize("batch", [0, 1, 2])
def test_the_best_weights_are_kept(kind: str, batch: int) -> None:
    weights, press = Weights(), PressCtrlC(2, batch)
    engine, history = run(weights, press, kind=kind)
    assert history.stopped == "interrupted"
    assert history.n_epochs == (3 if batch == 2 else 2)
    assert press.batches == 7 + batch  # not one more
    assert press.returned  # nothing was cut off
    assert history.best_epoch is not None
    assert same_bytes(engine.weights(), weights.after_epoch[history.best_epoch])


def test_before_any_validation_the_weights_are_those_of_the_last_batch() -> None:
    class AfterBatch(Callback):
        weights: dict[str, Any]

        def on_batch_end(self, engine: Engine, epoch: int, batch: int, loss: float) -> None:
            self.weights = engine.weights()

    last = AfterBatch()
    engine, history = run(last, PressCtrlC(0, 1))
    assert (history.stopped, history.n_epochs) == ("interrupted", 0)
    assert same_bytes(engine.weights(), last.weights)
    engine, history = run(last, PressCtrlC(1, 1), validated=False)
    assert (history.stopped, history.n_epochs) == ("interrupted", 1)
    assert same_bytes(engine.weights(), last.weights)


def test_pressed_twice_it_stops_at_once() -> None:
    weights, press = Weights(), PressCtrlC(1, 0, times=2)
    engine, history = run(weights, press)
    assert not press.returned
    assert (history.stopped, history.n_epochs, history.best_epoch) == ("interrupted", 1, 0)
    assert same_bytes(engine.weights(), weights.after_epoch[0])


@pytest.mark.parametrize("batch", [0, 1, 2])
def test_the_run_can_go_on_as_if_nothing_had_happened(tmp_path: Path, batch: int) -> None:
    whole, expected = run()
    run(PressCtrlC(1, batch), checkpoint=tmp_path / "run.ckpt")
    resumed = PressCtrlC(-1, -1)
    engine, history = run(resumed, checkpoint=tmp_path / "run.ckpt")
    assert resumed.batches == 3 * OPTIONS.max_epochs - (4 + batch)  # none is done twice
    assert same_bytes(engine.state(), whole.state())
    assert history.train_loss == expected.train_loss
    assert history.stopped == "max_epochs"


def test_a_programs_own_handler_stays() -> None:
    seen: list[int] = []
    signal.signal(signal.SIGINT, lambda number, frame: seen.append(number))
    _, history = run(PressCtrlC(1, 1))
    signal.signal(signal.SIGINT, signal.default_int_handler)
    assert seen == [signal.SIGINT]
    assert history.stopped == "max_epochs"


def test_other_threads_can_train() -> None:
    found: list[History] = []
    thread = threading.Thread(target=lambda: found.append(run()[1]))
    thread.start()
    thread.join()
    assert found[0].stopped == "max_epochs"


def test_the_block_puts_the_handler_back_after_an_error() -> None:
    def fail() -> None:
        with CtrlC():
            assert signal.getsignal(signal.SIGINT) is not signal.default_int_handler
            raise RuntimeError("inside")

    with pytest.raises(RuntimeError, match="inside"):
        fail()
