"""Measuring: a clock for stages, jobs in a process of their own, peak memory, Markdown tables."""

from __future__ import annotations

import importlib
import json
import logging
import os
import subprocess
import sys
import time
import warnings
from pathlib import Path
from typing import Any

from tsenet.progress import Progress

ROOT = Path(__file__).parents[1]


class StageClock(Progress):
    """Adds up CPU and wall seconds by stage; a stage may come once per layer."""

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
    """Return the largest resident memory of this process so far (Linux)."""
    for line in Path("/proc/self/status").read_text("ascii").splitlines():
        if line.startswith("VmHWM:"):
            return int(line.split()[1]) * 1024
    return 0


def reset_peak() -> None:
    """Let :func:`peak_bytes` start from the memory held now (Linux)."""
    Path("/proc/self/clear_refs").write_text("5", "ascii")


def in_own_process(function: str, *, checkout: Path = ROOT, **arguments: Any) -> dict[str, Any]:
    """Call ``module:function`` in a fresh interpreter and return the dictionary that it returns.

    The module is of this checkout, and uses the library of ``checkout``.
    """
    command = [sys.executable, "-m", "benchmarks.measure", function]
    # threads of torch that spin while they wait would take the cores from whoever has its turn
    environment = {
        **os.environ,
        "OMP_WAIT_POLICY": "PASSIVE",
        "OMP_NUM_THREADS": "1",
        "PYTHONPATH": os.pathsep.join([str(checkout.resolve() / "src"), str(ROOT)]),
    }
    done = subprocess.run(
        [*command, json.dumps(arguments, default=str)],
        cwd=ROOT,
        env=environment,
        stdout=subprocess.PIPE,
        text=True,
        check=False,
    )
    if done.returncode != 0:
        raise SystemExit(f"{function} ended with status {done.returncode}")
    report: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return report


def memory_of_a_service(folder: str) -> dict[str, float]:
    """CPU seconds and memory of this process, which holds nothing else, when a row and a text have been predicted."""
    import joblib

    import tsenet

    warnings.simplefilter("ignore")  # rows without names, which a service would send
    model = tsenet.load(Path(folder, "model.tsenet"))
    for rows in joblib.load(Path(folder, "one.joblib")):
        model.predict(rows)
    return {"start": time.process_time(), "memory": peak_bytes() / 1e6}


def warm_up(network: bool = True) -> None:
    """Compile the kernels, or load them from numba's cache, without the warnings that a tiny tree calls for."""
    import tsenet

    logging.disable(logging.WARNING)
    tsenet.warmup(network=network)
    logging.disable(logging.NOTSET)


def _main(function: str, arguments: str) -> None:
    module, _, name = function.partition(":")
    print(json.dumps(getattr(importlib.import_module(module), name)(**json.loads(arguments))))


if __name__ == "__main__":
    _main(*sys.argv[1:])
