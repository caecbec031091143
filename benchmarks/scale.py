"""Rows beyond memory: in memory, streamed from a folder, and with Dask workers, side by side."""

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

from benchmarks.corpora import zipf_blocks
from benchmarks.measure import in_own_process, peak_bytes, warm_up
from reproduce.markdown import table

N_WORDS, ROW_LENGTH = 10_000, 40
WAYS = ("memory", "streamed", "1 worker", "2 workers")


def run(n_rows: int, n_sampled: int, memory: str) -> str:
    """Learn and expand a tree in every way: CPU, wall, memory, and whether all trees and wirings are equal."""
    runs = {}
    with tempfile.TemporaryDirectory() as scratch:
        folder = make_folder(Path(scratch) / "rows", n_rows)
        for way in WAYS:
            arguments = {"folder": folder, "way": way, "n_sampled": n_sampled, "memory": memory}
            runs[way] = in_own_process("benchmarks.scale:learn", **arguments)
            print(f"{way}: {runs[way]}", file=sys.stderr, flush=True)
    body = [
        [
            *(way, f"{report['cpu']:.0f}", f"{report['cpu_workers']:.0f}", f"{report['wall']:.0f}"),
            f"{report['wall'] / runs['memory']['wall']:.2f}",
            f"{report['peak'] / 1e9:.2f}",
            f"{report['peak_worker'] / 1e9:.2f}" if report["peak_worker"] else "–",
        ]
        for way, report in runs.items()
    ]
    head = ["way", "CPU here", "CPU workers", "wall", "wall / memory's", "peak GB", "worker's"]
    same = len({report["digest"] for report in runs.values()}) == 1
    return table(head, body) + (
        f"\n\n{n_rows:,} documents of {ROW_LENGTH} of {N_WORDS:,} words; groups from {n_sampled:,} of them; limit "
        f"{memory} per worker; one thread each. Equal trees and wirings: {'yes' if same else 'NO'}."
    )


def make_folder(folder: Path, n_rows: int) -> Path:
    """Write the documents a block at a time."""
    from tsenet.data import ShardWriter

    names = [f"w{j}" for j in range(N_WORDS)]
    with ShardWriter(folder, names=names, sparse=True, labels=[]) as writer:
        for rows in zipf_blocks(N_WORDS, n_rows, ROW_LENGTH):
            writer.write(rows.to_csr(), {})
    return folder


def learn(folder: str, way: str, n_sampled: int, memory: str) -> dict[str, Any]:
    """Learn a tree and expand it in one of the ways."""
    import tsenet
    from tsenet.scale import Blocks

    warm_up()
    X: Any = Path(folder)
    if way == "memory":
        X = Blocks(folder).take()
    with ExitStack() as stack:
        client = None
        if way.endswith(("worker", "workers")):
            client = stack.enter_context(_client(int(way.partition(" ")[0]), memory))
            client.run(warm_up_worker)
        before = _worker_cpu(client)
        cpu, wall = time.process_time(), time.perf_counter()
        shared = {"random_state": 0, "n_jobs": 1, "client": client}
        tree = tsenet.learn_tree(X, structure_samples=n_sampled, **shared)
        wiring = tsenet.expand(tree, X, density=0.01, **shared)
        return {
            "wall": time.perf_counter() - wall,
            "cpu": time.process_time() - cpu,
            "cpu_workers": _worker_cpu(client) - before,
            "peak": peak_bytes(),
            "peak_worker": max(client.run(peak_bytes).values()) if client else 0,
            "digest": _digest(tree, wiring),
        }


def _client(n_workers: int, memory: str) -> Any:
    from distributed import Client, LocalCluster

    return Client(
        LocalCluster(
            n_workers=n_workers,
            threads_per_worker=1,
            memory_limit=memory,
            dashboard_address=":0",
            silence_logs=logging.CRITICAL,
        )
    )


def warm_up_worker() -> None:
    """Compile what workers need; they train no network."""
    import tsenet

    logging.disable(logging.WARNING)
    tsenet.warmup(network=False)
    logging.disable(logging.NOTSET)


def _worker_cpu(client: Any) -> float:
    return sum(client.run(time.process_time).values()) if client else 0.0


def _digest(tree: Any, wiring: Any) -> str:
    arrays = [array for layer in wiring.layers for array in (layer.indptr, layer.indices)]
    digest = hashlib.sha256()
    for array in (*arrays, tree.parent, tree.cpt):
        digest.update(np.ascontiguousarray(array))
    return digest.hexdigest()[:16]
