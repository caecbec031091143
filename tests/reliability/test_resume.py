"""A run that was killed and resumed ends with the bytes of one that never stopped."""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.training.examples import held_out, make_engine, same_bytes, table
from tsenet.errors import ModelFileError
from tsenet.training.callbacks import Callback, StopTraining
from tsenet.training.checkpoint import Checkpoint
from tsenet.training.engine import Engine
from tsenet.training.history import History
from tsenet.training.loop import TrainingOptions, train

pytestmark = pytest.mark.usefixtures("one_thread")
ROOT = Path(__file__).parents[2]


@pytest.mark.parametrize("kind", ["autograd", "fused"])
def test_killed_at_random_points(kind: str, tmp_path: Path) -> None:
    """SIGKILL after batches, while writing, and from outside at any moment (see killed_training.py)."""
    command = [sys.executable, "-m", "tests.reliability.killed_training", str(tmp_path), kind, "7"]
    done = subprocess.run(
        command, capture_output=True, text=True, check=False, timeout=600, cwd=ROOT
    )
    assert done.returncode == 0, done.stderr
    report = json.loads(done.stdout)
    assert len(report["trials"]) == 4
    for trial in report["trials"]:
        assert trial["killed"] >= 3  # the last lives may have reached the end of training
        assert trial["same"], trial
        assert len(trial["history"]["train_loss"]) == 6
    assert report["leftovers"] == []


class CrashError(Exception):
    """Stands for any error that ends the program."""


class CrashAfter(Callback):
    def __init__(self, batches: int) -> None:
        self.batches = batches

    def on_batch_end(self, engine: Engine, epoch: int, batch: int, loss: float) -> None:
        self.batches -= 1
        if self.batches == 0:
            raise CrashError


def run(
    kind: str, checkpoint: Checkpoint | None, *callbacks: Callback, **options: Any
) -> tuple[Engine, History]:
    inputs, labels = table(50)
    rows, validation = held_out(inputs, labels, 40)
    engine = make_engine(kind, inputs)
    chosen = {"learning_rate": 0.02, "batch_size": 8, "max_epochs": 4, **options}
    history = train(
        engine,
        rows,
        labels[rows],
        validation=validation,
        options=TrainingOptions(**chosen),
        callbacks=callbacks,
        checkpoint=checkpoint,
        seed=2,
    )
    return engine, history


def without_times(history: History) -> dict[str, Any]:
    return {name: value for name, value in history.to_dict().items() if name != "seconds"}


@settings(max_examples=15, deadline=None)
@given(
    st.lists(st.integers(1, 9), max_size=4),
    st.sampled_from([None, 1, 2, 3, 5]),
    st.sampled_from(["dense", "fused"]),
)
def test_crashed_anywhere(lives: list[int], every: int | None, kind: str) -> None:
    whole, expected = run(kind, None)
    with tempfile.TemporaryDirectory() as folder:
        checkpoint = Checkpoint(Path(folder) / "run.ckpt", every_batches=every)
        for batches in lives:
            try:
                run(kind, checkpoint, CrashAfter(batches))
            except CrashError:
                continue
        engine, history = run(kind, checkpoint)
    assert same_bytes(engine.state(), whole.state())
    assert without_times(history) == without_times(expected)


def test_a_finished_run_is_not_repeated(tmp_path: Path) -> None:
    checkpoint = Checkpoint(tmp_path / "run.ckpt")
    engine, history = run("dense", checkpoint)
    content = (tmp_path / "run.ckpt").read_bytes()
    again, same = run("dense", checkpoint, CrashAfter(1))
    assert same == history
    assert same_bytes(again.state(), engine.state())
    assert (tmp_path / "run.ckpt").read_bytes() == content


def test_an_early_stopped_run_is_not_repeated(tmp_path: Path) -> None:
    checkpoint = Checkpoint(tmp_path / "run.ckpt")
    options = {"learning_rate": 5.0, "max_epochs": 50, "patience": 1}
    engine, history = run("dense", checkpoint, **options)
    assert history.stopped == "early_stopping"
    again, same = run("dense", checkpoint, CrashAfter(1), **options)
    assert same == history
    assert same_bytes(again.weights(), engine.weights())


def test_a_wish_to_stop_can_be_taken_back(tmp_path: Path) -> None:
    """A callback that allows a little time per job still lets a run end, job by job."""

    class OneBatch(Callback):
        def on_batch_end(self, engine: Engine, epoch: int, batch: int, loss: float) -> None:
            raise StopTraining

    whole, expected = run("dense", None)
    checkpoint = Checkpoint(tmp_path / "run.ckpt")
    for _ in range(20):
        _, history = run("dense", checkpoint, OneBatch())
        assert history.stopped == "callback"
    engine, history = run("dense", checkpoint, OneBatch())
    assert same_bytes(engine.state(), whole.state())
    assert without_times(history) == without_times(expected)


class TestRefusals:
    def test_damage(self, tmp_path: Path) -> None:
        path = tmp_path / "run.ckpt"
        run("dense", Checkpoint(path))
        content = bytearray(path.read_bytes())
        content[-1] ^= 1
        path.write_bytes(content)
        with pytest.raises(ModelFileError, match="altered or cut off"):
            run("dense", Checkpoint(path))
        assert path.read_bytes() == content

    def test_other_options(self, tmp_path: Path) -> None:
        run("dense", Checkpoint(tmp_path / "run.ckpt"))
        with pytest.raises(ModelFileError, match="another training run, with other options"):
            run("dense", Checkpoint(tmp_path / "run.ckpt"), learning_rate=0.03)

    def test_other_labels(self, tmp_path: Path) -> None:
        inputs, labels = table(20)
        path = tmp_path / "run.ckpt"
        options = TrainingOptions(max_epochs=1)
        train(make_engine("dense", inputs), 20, labels, options=options, checkpoint=path)
        with pytest.raises(ModelFileError, match="another training run, with other data"):
            train(make_engine("dense", inputs), 20, 1 - labels, options=options, checkpoint=path)

    def test_another_network(self, tmp_path: Path) -> None:
        run("dense", Checkpoint(tmp_path / "run.ckpt"))
        with pytest.raises(ModelFileError, match="another network's"):
            run("autograd", Checkpoint(tmp_path / "run.ckpt"))

    def test_the_engine_is_untouched_by_a_refused_file(self, tmp_path: Path) -> None:
        inputs, labels = table(20)
        (tmp_path / "run.ckpt").write_bytes(b"something else")
        engine = make_engine("dense", inputs)
        before = engine.state()
        with pytest.raises(ModelFileError, match="no checkpoint"):
            train(engine, 20, labels, checkpoint=str(tmp_path / "run.ckpt"))
        assert same_bytes(engine.state(), before)


def test_progress_starts_where_the_run_was_left(tmp_path: Path) -> None:
    inputs, labels = table(40)
    options = TrainingOptions(batch_size=8, max_epochs=2)
    checkpoint = Checkpoint(tmp_path / "run.ckpt", every_batches=1)
    with pytest.raises(CrashError):
        train(
            make_engine("dense", inputs),
            40,
            labels,
            options=options,
            checkpoint=checkpoint,
            callbacks=[CrashAfter(8)],
        )
    seen: list[int] = []
    train(
        make_engine("dense", inputs),
        np.arange(40),
        labels,
        options=options,
        checkpoint=checkpoint,
        progress=lambda stage, done, total: seen.append(done),
    )
    assert seen == [0, 7, 8, 9, 10, 10]  # the eighth batch was not saved before the crash
