"""Training on a folder of shards by one, two and three processes: CPU and wall seconds, memory, loss curves.

``run`` starts ``python -m benchmarks.processes FOLDER RESULT BATCH`` alone and under torchrun.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.corpora import zipf_corpus
from benchmarks.measure import ROOT, peak_bytes
from benchmarks.report import table
from tsenet.training.callbacks import Callback
from tsenet.training.engine import Engine
from tsenet.training.history import History
from tsenet.training.options import TrainingOptions

N_WORDS, N_ROWS, N_EPOCHS = 10_000, 100_000, 2
SIZES = (1, 2, 3)
BATCHES = (256, 2048)


class TrainingClock(Callback):
    """CPU and wall seconds of the epochs, without structure and survey."""

    def on_train_begin(self, engine: Engine, options: TrainingOptions) -> None:
        self.began = time.process_time(), time.perf_counter()

    def on_train_end(self, engine: Engine, history: History) -> None:
        self.cpu = time.process_time() - self.began[0]
        self.wall = time.perf_counter() - self.began[1]


def make_shards(folder: Path) -> None:
    """Documents of 40 words; the class is the group of words that a document has most of."""
    from tsenet.data.shard_writer import write_shards

    counts = zipf_corpus(N_WORDS, N_ROWS).to_csr().astype(np.int32)
    group = np.random.default_rng(0).normal(size=(N_WORDS, 4))
    labels = {"y": (counts @ group).argmax(axis=1).tolist()}
    names = [f"w{j}" for j in range(N_WORDS)]
    write_shards(folder, counts, names=names, labels=labels, rows_per_group=4096)


def train(folder: str, result: str, batch_size: int) -> None:
    """Train once, as one of the processes that torchrun started, or alone."""
    from tsenet import TSENetClassifier
    from tsenet.training.shard_recipe import ShardOptions

    clock = TrainingClock()
    model = TSENetClassifier(
        random_state=0, max_epochs=N_EPOCHS, batch_size=batch_size, n_jobs=1, callbacks=[clock]
    )
    model.fit_shards(folder, "y", options=ShardOptions(sample_rows=5000, buffer_rows=4096))
    found = {
        "cpu": clock.cpu,
        "wall": clock.wall,
        "peak": peak_bytes(),
        "parameters": model.n_parameters_,
        "loss": [*model.history_.train_loss, *model.history_.validation_loss],
    }
    Path(f"{result}.{os.environ.get('RANK', '0')}").write_text(json.dumps(found))


def run_with(size: int, folder: Path, batch_size: int) -> list[dict[str, Any]]:
    """What each of ``size`` processes reports."""
    result = folder.parent / f"result-{size}-{batch_size}"
    torchrun = ["-m", "torch.distributed.run", "--standalone", f"--nproc-per-node={size}"]
    program = ["-m", "benchmarks.processes", str(folder), str(result), str(batch_size)]
    subprocess.run(
        [sys.executable, *(torchrun if size > 1 else []), *program],
        check=True,
        cwd=ROOT,
        env={**os.environ, "OMP_NUM_THREADS": "1"},
    )
    return [json.loads(Path(f"{result}.{rank}").read_text()) for rank in range(size)]


def run() -> str:
    """Run all sizes, one after another."""
    head = ["rows in a batch", "processes", "CPU s, all", "against one", "wall s", "peak MB each"]
    body = []
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch) / "shards"
        make_shards(folder)
        for batch_size in BATCHES:
            alone: dict[str, Any] = {}
            for size in SIZES:
                found = run_with(size, folder, batch_size)
                alone = alone or found[0]
                cpu = sum(each["cpu"] for each in found)
                gap = np.abs(np.subtract(found[0]["loss"], alone["loss"])).max()
                peak = max(each["peak"] for each in found) / 1e6
                cells = [f"{cpu:.1f}", f"{cpu / alone['cpu']:.2f}", f"{found[0]['wall']:.1f}"]
                body.append([batch_size, size, *cells, f"{peak:.0f}", f"{gap:.1e}"])
    shape = f"{N_ROWS:,} documents, {N_WORDS:,} words, {alone['parameters']:,} parameters"
    return f"{shape}, {N_EPOCHS} epochs, one thread for each process.\n\n" + table(
        [*head, "largest difference of losses"], body
    )


if __name__ == "__main__":
    train(sys.argv[1], sys.argv[2], int(sys.argv[3]))
