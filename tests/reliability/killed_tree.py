"""Runs of learn_tree that are killed at chosen points and started again, for test_resume_tree.py.

Run as ``python -m tests.reliability.killed_tree FOLDER SEED``: learns a tree without interruption, then again and again
from a checkpoint folder while it is killed, each run in a process of its own, and prints the results as JSON. The
processes are forked from one with a single thread, so that the kernels are loaded only once.
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

from tests.builders import draw_rows, planted_tree
from tsenet._system.checkpoint_file import digest_of
from tsenet.skeleton import refine
from tsenet.skeleton.hlta import learn_tree
from tsenet.skeleton.tree_checkpoint import LAYERS_FILE, REFINEMENT_FILE

STEPS = 60


class Kill(NamedTuple):
    """When a run is killed: by itself in a call, or by its parent after a number of progress reports."""

    how: str  # "progress", "fsync", "replace", "outside" or "never"
    when: int  # the number of the call, or of the report


def kill_self() -> None:
    os.kill(os.getpid(), signal.SIGKILL)


def kill_at_call(name: str, when: int) -> None:
    """Replace a function of ``os`` by one that kills the process at its ``when``-th call."""
    call: Callable[..., Any] = getattr(os, name)
    calls = 0

    def count(*arguments: Any) -> Any:
        nonlocal calls
        calls += 1
        if calls == when:
            kill_self()
        return call(*arguments)

    setattr(os, name, count)


def learn(checkpoint: Path | None, progress: Any = None) -> dict[str, Any]:
    """Learn to the end; return what must not depend on the interruptions before."""
    rng = np.random.default_rng(2)
    on = draw_rows(planted_tree(rng, (80, 16, 4)), 800, rng)
    tree = learn_tree(
        on.astype(float),
        max_top=3,
        refine_steps=STEPS,
        random_state=6,
        n_jobs=1,
        progress=progress,
        checkpoint=checkpoint,
    )
    return {"tree": digest_of(tree.parent, tree.level, tree.cpt), "sizes": list(tree.layer_sizes)}


def run_once(folder: Path, kill: Kill) -> tuple[bool, list[str]]:
    """Learn in a new process: whether it reached the end, and the stages it began."""
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(reading)
        if kill.how in ("fsync", "replace"):
            kill_at_call(kill.how, kill.when)
        reports = 0

        def report(stage: str, done: int, total: int | None) -> None:
            nonlocal reports
            reports += 1
            os.write(writing, f"{stage} {done} {total}\n".encode())
            if kill == Kill("progress", reports):
                kill_self()
            if kill == Kill("outside", reports - 3):
                signal.pause()  # a slow parent: wait for it here, not at the end of the run

        result = learn(folder, report)
        (folder / "result.json").write_text(json.dumps(result))
        os._exit(0)
    os.close(writing)
    heard = 0
    stages = []
    with os.fdopen(reading) as pipe:
        for line in iter(pipe.readline, ""):
            heard += 1
            stage, done, total = line.strip().rsplit(" ", 2)
            if done == "0":
                stages.append(f"{stage} {total}")
            if kill == Kill("outside", heard):
                os.kill(child, signal.SIGKILL)
    _, status = os.waitpid(child, 0)
    if os.WIFSIGNALED(status):
        assert os.WTERMSIG(status) == signal.SIGKILL
        return False, stages
    assert os.waitstatus_to_exitcode(status) == 0
    return True, stages


def main(folder: Path, seed: int) -> None:
    refine.BATCH_ROWS = 250  # several batches per pass over the 800 rows: their order matters
    rng = np.random.default_rng(seed)
    expected = learn(None)
    trials = []
    for trial in range(4):
        checkpoint = folder / f"trial{trial}"
        kills = []
        for how in rng.permutation(
            ["progress", "progress", "fsync", "replace", "outside"]
        ).tolist():
            most = 20 if how in ("progress", "outside") else 3
            kills.append(Kill(how, int(rng.integers(1, most + 1))))
        ends = [run_once(checkpoint, kill) for kill in kills]
        ended, last = run_once(checkpoint, Kill("never", 0))
        assert ended
        found = json.loads((checkpoint / "result.json").read_text())
        files = sorted(file.name for file in checkpoint.iterdir())
        assert files == sorted([LAYERS_FILE, REFINEMENT_FILE, "result.json"]), files
        trials.append(
            {
                "kills": kills,
                "killed": sum(not end for end, _ in ends),
                "same": found == expected,
                "stages": [*(stages for _, stages in ends), last],
            }
        )
    print(json.dumps({"trials": trials, "sizes": expected["sizes"]}))


if __name__ == "__main__":
    main(Path(sys.argv[1]), int(sys.argv[2]))
