"""Rows beyond memory: one process, streamed shards and Dask workers side by side, and growth with the rows."""

from __future__ import annotations

import hashlib
import logging
import sys
import tempfile
import time
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.corpora import zipf_corpus
from benchmarks.measure import StageClock, in_own_process, peak_bytes, warm_up
from benchmarks.report import table

N_WORDS, ROW_LENGTH = 10_000, 40
WAYS = ("memory", "streamed", "1 worker", "2 workers")
PHASES = {
    "counts": ("counts", "pieces", "rows of the structure sample", "rows of stepwise EM"),
    "pairs": ("pairs",),
    "groups": ("islands", "placing variables"),
    "EM": ("refine",),
    "expansion": ("counts of units", "links"),
}


def run(n_rows: int, n_sampled: int, growth: list[int], memory: str) -> str:
    """All ways on ``n_rows`` rows, then the streamed way and one worker on growing numbers of rows."""
    runs = {}
    with tempfile.TemporaryDirectory() as scratch:
        for size in sorted({n_rows, *growth}):
            folder = _make(Path(scratch) / str(size), size)
            for way in WAYS if size == n_rows else ("1 worker",):
                report = in_own_process(
                    "scale_out", folder=folder, way=way, n_sampled=n_sampled, memory=memory
                )
                runs[size, way] = report
                print(f"{size} rows, {way}: {report}", file=sys.stderr, flush=True)
    digests = {runs[n_rows, way]["digest"] for way in WAYS}
    body = []
    for (size, way), report in runs.items():
        body.append(
            [
                *(f"{size:,}", way),
                *(f"{report['cpu_here']:.0f}", f"{report['cpu_workers']:.0f}"),
                f"{report['cpu_here'] + report['cpu_workers']:.0f}",
                *(f"{report['phases'][name]:.1f}" for name in PHASES),
                f"{report['wall']:.0f}",
                f"{report['peak_here'] / 1e9:.2f}",
                f"{report['peak_worker'] / 1e9:.2f}" if report["peak_worker"] else "–",
            ]
        )
    head = ["rows", "way", "CPU here", "CPU workers", "CPU"]
    head += [f"{name}, wall" for name in PHASES] + ["wall", "peak here, GB", "peak worker, GB"]
    return table(head, body) + (
        f"\n\n{N_WORDS:,} words, documents of {ROW_LENGTH} words; groups from {n_sampled:,} documents, 100 steps of "
        f"EM, expansion of all documents; limit {memory} for each process. Seconds; one thread a process. "
        f"All ways gave the same tree and wiring: {'yes' if len(digests) == 1 else 'NO'}."
    )


def _make(folder: Path, n_rows: int) -> Path:
    from tsenet.data.shard_writer import write_shards

    write_shards(folder, zipf_corpus(N_WORDS, n_rows, ROW_LENGTH).to_csr(), counts=False)
    return folder


def job(folder: str, way: str, n_sampled: int, memory: str) -> dict[str, Any]:
    """Learn a tree and expand it in one of the ways: CPU, wall and peak memory of each role."""
    import scipy.sparse as sp

    import tsenet
    from tsenet.data.shards import open_shards
    from tsenet.scale import Shards

    warm_up()
    clock = StageClock()
    with ExitStack() as stack:
        client = None
        if way == "memory":
            blocks = [block.table.values for block in open_shards(folder).blocks()]
            X: Any = sp.vstack(blocks, format="csr")
            del blocks
        elif way == "streamed":
            X = stack.enter_context(Shards(folder, memory_limit=memory, n_jobs=1))
        else:
            from distributed import Client, LocalCluster

            cluster = stack.enter_context(
                LocalCluster(
                    n_workers=int(way.split(maxsplit=1)[0]),
                    threads_per_worker=1,
                    memory_limit=memory,
                    dashboard_address=":0",
                    silence_logs=logging.CRITICAL,
                )
            )
            client = stack.enter_context(Client(cluster))
            client.run(warm_up)
            X = stack.enter_context(Shards(folder, client=client, memory_limit=memory, n_jobs=1))
        before = _worker_cpu(client)
        cpu, wall = time.process_time(), time.perf_counter()
        tree = tsenet.learn_tree(
            X, structure_samples=n_sampled, random_state=0, n_jobs=1, progress=clock
        )
        wiring = tsenet.expand(tree, X, density=0.01, n_jobs=1, progress=clock)
        clock.finish()
        report = {
            "wall": time.perf_counter() - wall,
            "cpu_here": time.process_time() - cpu,
            "cpu_workers": _worker_cpu(client) - before,
            "peak_here": peak_bytes(),
            "peak_worker": max(client.run(peak_bytes).values()) if client else 0,
            "phases": {
                name: sum(clock.wall.get(stage, 0.0) for stage in stages)
                for name, stages in PHASES.items()
            },
            "stages": clock.wall,
            "layers": tree.layer_sizes,
            "digest": _digest(tree, wiring),
        }
    return report


def _worker_cpu(client: Any) -> float:
    return sum(client.run(time.process_time).values()) if client else 0.0


def _digest(tree: Any, wiring: Any) -> str:
    digest = hashlib.sha256()
    for layer in wiring.layers:
        for array in (layer.indptr, layer.indices, layer.log_odds):
            digest.update(np.ascontiguousarray(array))
    digest.update(np.ascontiguousarray(tree.parent))
    digest.update(np.ascontiguousarray(tree.cpt))
    return digest.hexdigest()[:16]
