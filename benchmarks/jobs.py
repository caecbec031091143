"""The jobs that run in a process of their own: ``python -m benchmarks.jobs NAME ARGUMENTS`` prints JSON."""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from scipy.sparse import csr_array

from benchmarks.measure import StageClock, peak_bytes, warm_up
from tsenet.data.rows import BinaryRows

POSTERIOR_NUMBERS = 50_000_000  # 400 MB: posteriors are dense


def save_rows(rows: BinaryRows, path: Path) -> Path:
    """Write binary rows where a job can read them."""
    np.savez(path, indptr=rows.indptr, indices=rows.indices, n_columns=rows.n_columns)
    return path


def load_rows(path: str | Path) -> csr_array:
    """Read them as the sparse matrix a user would bring."""
    with np.load(path) as part:
        rows = BinaryRows(part["indptr"], part["indices"], int(part["n_columns"]))
    return rows.to_csr()


def learn(data: str, out: str | None = None, **options: Any) -> dict[str, Any]:
    """Learn a tree: CPU and wall seconds in all and by stage, peak memory, sizes of the layers."""
    import tsenet

    warm_up()
    X = load_rows(data)
    before = peak_bytes()
    clock = StageClock()
    cpu, wall = time.process_time(), time.perf_counter()
    tree = tsenet.learn_tree(X, progress=clock, **options)
    report = {
        "cpu": time.process_time() - cpu,
        "wall": time.perf_counter() - wall,
        "stages": clock.cpu,
        "stages_wall": clock.wall,
        "peak": peak_bytes(),
        "peak_before": before,
        "layers": tree.layer_sizes,
    }
    if out is not None:
        tree.save(out)
    return report


def phases(data: str, n_jobs: int, repeats: int, **options: Any) -> dict[str, Any]:
    """Best wall seconds of every phase: the stages of learning, log-likelihoods and posteriors."""
    import tsenet

    warm_up()
    X = load_rows(data)
    best: dict[str, float] = {}
    for _ in range(repeats):
        clock = StageClock()
        tree = tsenet.learn_tree(X, progress=clock, n_jobs=n_jobs, **options)
        rows = tree.binary(X)
        some = rows.take(slice(0, POSTERIOR_NUMBERS // tree.n_latents))
        clock.start("log_likelihood")
        tree.log_likelihood(rows, n_jobs=n_jobs)
        clock.start("posterior")
        tree.posterior(some, n_jobs=n_jobs)
        clock.finish()
        best = {
            phase: min(wall, best.get(phase, np.inf)) for phase, wall in sorted(clock.wall.items())
        }
    return best


def network(**arguments: Any) -> dict[str, Any]:
    """Steps and inference of the network, and of its rivals."""
    from benchmarks import network as benchmark

    return benchmark.network(**arguments)


def network_memory(**arguments: Any) -> dict[str, Any]:
    """Memory of training."""
    from benchmarks import network as benchmark

    return benchmark.network_memory(**arguments)


def topics(**arguments: Any) -> dict[str, Any]:
    """Topics of one method."""
    from benchmarks import topics as benchmark

    return benchmark.measure(**arguments)


def scale_out(**arguments: Any) -> dict[str, Any]:
    """Structure of rows beyond memory, in one way."""
    from benchmarks import scale_out as benchmark

    return benchmark.job(**arguments)


JOBS: dict[str, Callable[..., dict[str, Any]]] = {
    "learn": learn,
    "phases": phases,
    "network": network,
    "network_memory": network_memory,
    "topics": topics,
    "scale_out": scale_out,
}

if __name__ == "__main__":
    print(json.dumps(JOBS[sys.argv[1]](**json.loads(sys.argv[2]))))
