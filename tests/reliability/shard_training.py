"""Training on shards for test_processes.py: run by ``torchrun``, or alone, as ``-m tests.reliability.shard_training``.

Arguments: FOLDER RESULT CHECKPOINT LAST. The process with the highest rank kills itself after batch LAST of its first
life; 0 lets it live. The first process writes losses and a digest of the weights to RESULT as JSON.
"""

from __future__ import annotations

import json
import os
import signal
import sys
from pathlib import Path

import numpy as np
import scipy.sparse as sp

from tsenet import TSENetClassifier
from tsenet._system.checkpoint_file import digest_of
from tsenet.data.shard_writer import write_shards
from tsenet.training.callbacks import Callback
from tsenet.training.engine import Engine
from tsenet.training.shard_recipe import ShardOptions

N_WORDS = 60


def make_shards(folder: Path, n_rows: int = 1500) -> None:
    """Documents about four subjects with 15 words each, in 12 row groups of 4 files."""
    rng = np.random.default_rng(0)
    subject = rng.integers(4, size=n_rows)
    rate = np.where(np.arange(N_WORDS)[None, :] // 15 == subject[:, None], 0.3, 0.1)
    counts = sp.csr_array(rng.poisson(rate).astype(np.int32))
    labels = {"subject": [f"s{k}" for k in subject]}
    write_shards(
        folder,
        counts,
        names=[f"w{j}" for j in range(N_WORDS)],
        labels=labels,
        rows_per_group=-(-n_rows // 12),
        groups_per_shard=3,
    )


class Doomed(Callback):
    """Kills its process after some batches, unless it was started again."""

    def __init__(self, last: int) -> None:
        self.left = last

    def on_batch_end(self, engine: Engine, epoch: int, batch: int, loss: float) -> None:
        self.left -= 1
        if self.left == 0 and os.environ["TORCHELASTIC_RESTART_COUNT"] == "0":
            os.kill(os.getpid(), signal.SIGKILL)


def main(folder: str, result: str, checkpoint: str, last: str) -> None:
    rank, size = (int(os.environ.get(name, "0")) for name in ("RANK", "WORLD_SIZE"))
    is_doomed = int(last) > 0 and rank == size - 1
    model = TSENetClassifier(
        random_state=0,
        max_epochs=3,
        batch_size=100,
        n_jobs=1,
        callbacks=[Doomed(int(last))] if is_doomed else None,
    )
    options = ShardOptions(n_streams=5, buffer_rows=200, checkpoint_batches=4)
    model.fit_shards(folder, "subject", checkpoint=checkpoint, options=options)
    if rank == 0:
        weights = model.net_.state_dict()
        found = {
            "loss": model.history_.train_loss,
            "validation": model.history_.validation_loss,
            "weights": digest_of(*(weights[name].numpy() for name in sorted(weights))),
            "restarts": int(os.environ.get("TORCHELASTIC_RESTART_COUNT", "0")),
        }
        Path(result).write_text(json.dumps(found))


if __name__ == "__main__":
    main(*sys.argv[1:])
