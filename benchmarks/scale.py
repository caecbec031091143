"""Rows beyond memory: in memory, streamed from a folder, and with Dask workers, side by side."""

from __future__ import annotations

import sys
import tempfile
import time
from pathlib import Path
from typing import Annotated, Any

import joblib
import typer

from benchmarks.corpora import zipf_blocks
from benchmarks.measure import StageClock, in_own_process, peak_bytes, warm_up
from reproduce.markdown import table

N_WORDS = 10_000
WAYS = ("memory", "streamed", "1 worker", "2 workers")


def run(
    rows: Annotated[int, typer.Option(help="Documents.")] = 200_000,
    words: Annotated[int, typer.Option(help="Words of a document.")] = 40,
    sample: Annotated[int, typer.Option(help="Documents to learn groups from; 0: all.")] = 100_000,
) -> str:
    """Rows beyond memory: in memory, streamed, one and two Dask workers; are all trees and wirings equal?"""
    runs = {}
    with tempfile.TemporaryDirectory() as scratch:
        folder = make_folder(Path(scratch) / "rows", rows, words)
        for way in WAYS:
            arguments = {"folder": folder, "way": way, "n_sampled": sample}
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
        f"\n\n{rows:,} documents of {words} of {N_WORDS:,} words; groups from {sample or rows:,} of them; one thread "
        f"each. Equal trees and wirings: {'yes' if same else 'NO'}."
    )


def make_folder(folder: Path, n_rows: int, row_length: int) -> Path:
    """Write the documents a block at a time."""
    from tsenet.data import Table, write_batches

    names = [f"w{j}" for j in range(N_WORDS)]
    blocks = zipf_blocks(N_WORDS, n_rows, row_length)
    write_batches(folder, ((Table.of(rows.to_csr(), names), {}) for rows in blocks))
    return folder


def learn(folder: str, way: str, n_sampled: int) -> dict[str, Any]:
    """Learn a tree and expand it in one of the ways."""
    import tsenet
    from tsenet.data import Blocks

    warm_up()
    n_workers = int(way.partition(" ")[0]) if way.endswith(("worker", "workers")) else None
    with Blocks(folder, n_workers=n_workers) as blocks:
        X = blocks.take() if way == "memory" else blocks
        client = None if blocks.cluster is None else blocks.cluster.client
        if client is not None:
            client.run(warm_up, network=False)
        before = _worker_cpu(client)
        clock = StageClock()
        cpu, wall = time.process_time(), time.perf_counter()
        shared = {"random_state": 0, "n_jobs": 1, "progress": clock}
        tree = tsenet.learn_tree(X, structure_samples=n_sampled or None, **shared)
        wiring = tsenet.expand(tree, X, density=0.01, **shared)
        links = [array for layer in wiring.layers for array in (layer.indptr, layer.indices)]
        return {
            "wall": time.perf_counter() - wall,
            "cpu": time.process_time() - cpu,
            "cpu_workers": _worker_cpu(client) - before,
            "peak": peak_bytes(),
            "peak_worker": max(client.run(peak_bytes).values()) if client else 0,
            "digest": joblib.hash([tree.parent, tree.cpt, *links]),
            "stages": {stage: round(seconds, 1) for stage, seconds in clock.cpu.items()},
        }


def _worker_cpu(client: Any) -> float:
    return sum(client.run(time.process_time).values()) if client else 0.0
