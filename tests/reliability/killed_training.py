"""Training runs that are killed at chosen points and started again, for test_resume.py.

Run as ``python -m tests.reliability.killed_training FOLDER KIND SEED``: trains once undisturbed, then again and again
from the checkpoint while it is killed, each life in a process of its own, and prints what became of the weights as
JSON. Lives are forked from a process with a single thread, so that one import of torch serves them all.
"""

from __future__ import annotations

import json
import os
import signal
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import torch

from tests.training.examples import held_out, make_engine, table
from tsenet.training.callbacks import Callback
from tsenet.training.checkpoint import Checkpoint, digest_of
from tsenet.training.engine import Engine
from tsenet.training.history import History
from tsenet.training.loop import TrainingOptions, train

OPTIONS = TrainingOptions(0.02, batch_size=8, max_epochs=6, patience=6)
N_BATCHES = 5


class Death(NamedTuple):
    """How a life ends: itself after a batch, at a call of the operating system, or by another process."""

    how: str  # "batch", "fsync", "replace", "outside" or "never"
    when: int  # the number of batches, or of calls, it lives to see


def die() -> None:
    os.kill(os.getpid(), signal.SIGKILL)


class Doomed(Callback):
    """Counts batches, tells the parent about each, and dies after some of them."""

    def __init__(self, death: Death, pipe: int | None) -> None:
        self.death, self.pipe, self.batches = death, pipe, 0

    def on_batch_end(self, engine: Engine, epoch: int, batch: int, loss: float) -> None:
        self.batches += 1
        if self.pipe is not None:
            os.write(self.pipe, b".")
        if self.death == Death("batch", self.batches):
            die()
        if self.death == Death("outside", self.batches - 3):
            signal.pause()  # the parent is slow today: wait for the end here, not at the end of training


def dying_call(name: str, when: int) -> None:
    """Let the operating system's function kill the process at its ``when``-th call."""
    call: Callable[..., Any] = getattr(os, name)
    calls = 0

    def count(*arguments: Any) -> Any:
        nonlocal calls
        calls += 1
        if calls == when:
            die()
        return call(*arguments)

    setattr(os, name, count)


def run(kind: str, path: Path | None, every: int | None, callback: Callback) -> dict[str, Any]:
    """Train to the end; return what must not depend on the deaths before."""
    inputs, labels = table(50)
    rows, validation = held_out(inputs, labels, 8 * N_BATCHES)
    engine = make_engine(kind, inputs)
    history: History = train(
        engine,
        rows,
        labels[rows],
        np.random.default_rng(0).uniform(0.5, 2, rows.size),
        validation=validation,
        options=OPTIONS,
        callbacks=[callback],
        seed=11,
        checkpoint=None if path is None else Checkpoint(path, every_batches=every),
    )
    state = engine.state()
    fields = history.to_dict()
    del fields["seconds"]
    return {"state": digest_of(*(state[name] for name in sorted(state))), "history": fields}


def live(kind: str, path: Path, every: int | None, death: Death) -> bool:
    """One life in a process of its own; whether it reached the end of training."""
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(reading)
        if death.how in ("fsync", "replace"):
            dying_call(death.how, death.when)
        result = run(kind, path, every, Doomed(death, writing))
        path.with_suffix(".json").write_text(json.dumps(result))
        os._exit(0)
    os.close(writing)
    heard = 0
    while signs := os.read(reading, 1):
        heard += len(signs)
        if death == Death("outside", heard):
            os.kill(child, signal.SIGKILL)
    os.close(reading)
    _, status = os.waitpid(child, 0)
    if os.WIFSIGNALED(status):
        assert os.WTERMSIG(status) == signal.SIGKILL
        return False
    assert os.waitstatus_to_exitcode(status) == 0
    return True


def main(folder: Path, kind: str, seed: int) -> None:
    torch.set_num_threads(1)
    rng = np.random.default_rng(seed)
    expected = run(kind, None, None, Callback())
    trials = []
    for trial in range(4):
        path = folder / f"trial{trial}.ckpt"
        every = [None, 1, 2, 3][trial]
        deaths: list[Death] = []
        for how in rng.permutation(["batch", "batch", "fsync", "replace", "outside"]).tolist():
            # With checkpoints only after epochs a life must see a whole one, or the run never ends.
            most = N_BATCHES + 3 if how in ("batch", "outside") else 4
            deaths.append(Death(how, int(rng.integers(1, most + 1))))
        killed = sum(not live(kind, path, every, death) for death in deaths)
        assert live(kind, path, every, Death("never", 0))
        found = json.loads(path.with_suffix(".json").read_text())
        trials.append({"deaths": deaths, "killed": killed, "same": found == expected, **found})
    leftovers = [entry.name for entry in folder.iterdir() if entry.name.endswith(".tmp")]
    print(json.dumps({"trials": trials, "leftovers": leftovers}))


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2], int(sys.argv[3]))
