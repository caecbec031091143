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

from benchmarks.corpora import zipf_blocks
from benchmarks.measure import StageClock, in_own_process, peak_bytes, warm_up
from benchmarks.report import table

N_WORDS, ROW_LENGTH, N_CLASSES = 10_000, 40, 4
WAYS = ("memory", "streamed", "1 worker", "2 workers")
PHASES = {
    "counts": ("counts", "counting pieces", "rows of the structure sample", "rows of stepwise EM"),
    "pairs": ("pairs",),
    "groups": ("islands", "placing variables"),
    "EM": ("refine",),
    "expansion": ("counts of units", "links"),
}


def run(
    n_rows: int, n_sampled: int, growth: list[int], memory: str, train: bool, driver: str | None
) -> str:
    """All ways on ``n_rows`` rows (0: none), then one worker on growing numbers of rows."""
    runs = {}
    with tempfile.TemporaryDirectory() as scratch:
        for size in sorted({n_rows, *growth} - {0}):
            folder = make_folder(Path(scratch) / str(size), size)
            for way in WAYS if size == n_rows else ("1 worker",):
                report = in_own_process(
                    "scale_out",
                    folder=folder,
                    way=way,
                    n_sampled=n_sampled,
                    memory=memory,
                    train=train,
                    driver=driver or memory,
                )
                runs[size, way] = report
                print(f"{size} rows, {way}: {report}", file=sys.stderr, flush=True)
    digests = {report["digest"] for (size, _), report in runs.items() if size == n_rows}
    body = [_line(size, way, report, train) for (size, way), report in runs.items()]
    head = ["rows", "way", "CPU here", "CPU workers", "CPU"]
    head += [f"{name}, wall" for name in PHASES] + ["wall", "peak here, GB", "peak worker, GB"]
    head += ["epoch, CPU", "peak with training, GB"] if train else []
    same = "yes" if len(digests) == 1 else "NO"
    return table(head, body) + (
        f"\n\n{N_WORDS:,} words, documents of {ROW_LENGTH} words; groups from {n_sampled:,} documents, 100 steps of "
        f"EM, expansion of all documents; limit {memory} for each worker, {driver or memory} for this process. "
        "Seconds; one thread a process."
        + (f" All ways gave the same tree and wiring: {same}." if digests else "")
    )


def _line(size: int, way: str, report: dict[str, Any], train: bool) -> list[str]:
    return [
        *(f"{size:,}", way),
        *(f"{report['cpu_here']:.0f}", f"{report['cpu_workers']:.0f}"),
        f"{report['cpu_here'] + report['cpu_workers']:.0f}",
        *(f"{report['phases'][name]:.1f}" for name in PHASES),
        f"{report['wall']:.0f}",
        f"{report['peak_here'] / 1e9:.2f}",
        f"{report['peak_worker'] / 1e9:.2f}" if report["peak_worker"] else "–",
        *((f"{report['epoch']:.0f}", f"{report['peak_trained'] / 1e9:.2f}") if train else ()),
    ]


def make_folder(folder: Path, n_rows: int) -> Path:
    """Write the documents a block at a time; the label ``y`` is the group of words that a document has most of."""
    from tsenet.data.shards import ShardWriter

    group = np.random.default_rng(0).normal(size=(N_WORDS, N_CLASSES))
    names = [f"w{j}" for j in range(N_WORDS)]
    with ShardWriter(folder, names=names, sparse=True, labels=["y"], counts=False) as writer:
        for rows in zipf_blocks(N_WORDS, n_rows, ROW_LENGTH):
            documents = rows.to_csr()
            writer.write(documents, {"y": (documents @ group).argmax(axis=1).tolist()})
    return folder


def job(
    folder: str, way: str, n_sampled: int, memory: str, train: bool, driver: str
) -> dict[str, Any]:
    """Learn a tree and expand it in one of the ways, and train an epoch: CPU, wall and peak memory of each role."""
    import tsenet
    from tsenet.scale import Blocks

    warm_up()
    clock = StageClock()
    with ExitStack() as stack:
        client = None
        if way == "memory":
            X: Any = Blocks(folder).take()
        elif way == "streamed":
            X = stack.enter_context(Blocks(folder, memory_limit=memory))
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
            client.run(_warm_up_worker)
            X = stack.enter_context(Blocks(folder, client=client, memory_limit=driver))
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
    return {**report, **_one_epoch(folder, wiring)} if train else report


def _warm_up_worker() -> None:
    """Compile what workers need; they have no network."""
    import tsenet

    logging.disable(logging.WARNING)
    tsenet.warmup(network=False)
    logging.disable(logging.NOTSET)


def _one_epoch(folder: str, wiring: Any) -> dict[str, Any]:
    """Train one epoch on a stream of all rows, in this process."""
    from tsenet import TSENetClassifier

    began = {"start": time.process_time()}  # of each stage

    def note(stage: str, done: int, total: int | None) -> None:
        began.setdefault(stage, time.process_time())

    model = TSENetClassifier(wiring=wiring, random_state=0, max_epochs=1, n_jobs=1, verbose=note)
    model.fit(Path(folder))
    return {
        "epoch": time.process_time() - began["training"],
        "survey": began["training"] - began["start"],
        "peak_trained": peak_bytes(),
        "parameters": model.n_parameters_,
        "score": model.history_.validation_score,
    }


def _worker_cpu(client: Any) -> float:
    return sum(client.run(time.process_time).values()) if client else 0.0


def _digest(tree: Any, wiring: Any) -> str:
    digest = hashlib.sha256()
    for layer in wiring.layers:
        for array in (layer.indptr, layer.indices):
            digest.update(np.ascontiguousarray(array))
    digest.update(np.ascontiguousarray(tree.parent))
    digest.update(np.ascontiguousarray(tree.cpt))
    return digest.hexdigest()[:16]
