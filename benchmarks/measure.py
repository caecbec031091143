"""Measuring: a clock for the stages of learning, and runs in a process of their own."""

from __future__ import annotations

import json
import logging
import os
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np

from tsenet.data.rows import BinaryRows
from tsenet.progress import Progress

ROOT = Path(__file__).parents[1]


class StageClock(Progress):
    """Adds up CPU and wall seconds by stage name; a stage comes once per layer."""

    def __init__(self) -> None:
        self.cpu: dict[str, float] = {}
        self.wall: dict[str, float] = {}
        self._open: tuple[str, float, float] | None = None

    def start(self, stage: str, total: int | None = None) -> None:
        self.finish()
        self._open = (stage, time.process_time(), time.perf_counter())

    def finish(self, note: str = "") -> None:
        if self._open is None:
            return
        stage, cpu, wall = self._open
        self.cpu[stage] = self.cpu.get(stage, 0.0) + time.process_time() - cpu
        self.wall[stage] = self.wall.get(stage, 0.0) + time.perf_counter() - wall
        self._open = None


def peak_bytes() -> int:
    """Largest resident memory of this process so far.

    Linux counts ``ru_maxrss`` from before ``exec``, so a child would start with its parent's peak; ``VmHWM`` does not.
    """
    status = Path("/proc/self/status")
    if status.exists():
        for line in status.read_text("ascii").splitlines():
            if line.startswith("VmHWM:"):
                return int(line.split()[1]) * 1024
    import resource  # not on Windows

    unit = 1 if sys.platform == "darwin" else 1024
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit


def in_own_process(job: str, **arguments: Any) -> dict[str, Any]:
    """Run a job of :mod:`benchmarks.jobs` in a fresh interpreter and return what it reports."""
    command = [sys.executable, "-m", "benchmarks.jobs", job, json.dumps(arguments, default=str)]
    # Threads of torch that spin while they wait would take the cores from whoever has its turn.
    environment = {**os.environ, "OMP_WAIT_POLICY": "PASSIVE"}
    run = subprocess.run(
        command, cwd=ROOT, env=environment, stdout=subprocess.PIPE, text=True, check=False
    )
    if run.returncode != 0:
        raise SystemExit(f"the job {job!r} ended with status {run.returncode}")
    report: dict[str, Any] = json.loads(run.stdout.splitlines()[-1])
    return report


def independence(train: BinaryRows, test: BinaryRows) -> float:
    """Mean held-out log-likelihood of the model in which no word depends on another."""
    rate = (train.counts() + 0.5) / (train.n_rows + 1.0)
    share = test.counts() / test.n_rows
    return float((share * np.log(rate) + (1.0 - share) * np.log1p(-rate)).sum())


def warm_up() -> None:
    """Compile, or load from numba's cache, without the remarks that a tiny made-up tree calls for."""
    import tsenet

    logging.disable(logging.WARNING)
    tsenet.warmup()
    logging.disable(logging.NOTSET)
