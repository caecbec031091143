"""Real worker processes that die, shards that are damaged, a scheduler that goes away."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import textwrap
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp

import tsenet
from tests.data.conftest import started_workers
from tests.data.test_blocks import OPTIONS
from tsenet.data import Blocks, write_shards
from tsenet.data import cluster as cluster_module
from tsenet.data.cluster import Cluster
from tsenet.errors import ClusterError, DataError
from tsenet.progress import Progress

pytestmark = pytest.mark.slow
PATIENCE = 120  # seconds; a loaded machine is slow


class KillsAWorker(Progress):
    """Kills one worker process when a stage begins: its tasks are submitted right after."""

    def __init__(self, client: Any, stage: str) -> None:
        self.client, self.stage = client, stage
        self.killed = 0

    def start(self, stage: str, total: int | None = None) -> None:
        if stage == self.stage and not self.killed:
            pids = self.client.run(os.getpid)
            self.killed = next(iter(pids.values()))
            # A moment later, so that tasks are running; the result must be the same whenever it happens.
            threading.Timer(0.05, os.kill, (self.killed, signal.SIGKILL)).start()


@pytest.mark.parametrize("stage", ["pairs", "rows of stepwise EM", "counts of units"])
def test_a_killed_worker_changes_nothing(
    tmp_path: Path, documents: sp.csr_array, stage: str
) -> None:
    write_shards(tmp_path, documents, rows_per_shard=30)
    tree = tsenet.learn_tree(documents, **OPTIONS)
    with started_workers() as client, Blocks(tmp_path, client=client) as blocks:
        progress = KillsAWorker(client, stage)
        found = tsenet.learn_tree(blocks, progress=progress, **OPTIONS)
        wiring = tsenet.expand(found, blocks, density=0.2, progress=progress)
        assert progress.killed
    assert tree == found
    assert tsenet.expand(tree, documents, density=0.2) == wiring


def test_a_damaged_shard_is_named(tmp_path: Path, documents: sp.csr_array, client: Any) -> None:
    write_shards(tmp_path, documents, rows_per_shard=100)
    (tmp_path / "part-00001.parquet").unlink()
    with pytest.raises(DataError, match=r"part-00001.parquet is missing"):
        tsenet.learn_tree(tmp_path, client=client, **OPTIONS)


def test_a_lost_scheduler_is_a_clear_error(tmp_path: Path, documents: sp.csr_array) -> None:
    write_shards(tmp_path, documents, rows_per_shard=30)

    class LosesTheScheduler(Progress):
        def start(self, stage: str, total: int | None = None) -> None:
            if stage == "pairs":
                self.closing = threading.Thread(target=client.cluster.close)
                self.closing.start()

    progress = LosesTheScheduler()
    with started_workers(1) as client:
        try:
            with pytest.raises(ClusterError, match="cluster was lost"):
                tsenet.learn_tree(tmp_path, client=client, progress=progress, **OPTIONS)
        finally:
            progress.closing.join(PATIENCE)


def test_no_scheduler_is_a_clear_error(
    tmp_path: Path, documents: sp.csr_array, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(cluster_module, "CONNECT_SECONDS", "500ms")
    write_shards(tmp_path, documents)
    with pytest.raises(ClusterError, match=r"connecting to tcp://127\.0\.0\.1:9"):
        tsenet.learn_tree(tmp_path, client="tcp://127.0.0.1:9")


def until(condition: Callable[[], bool]) -> bool:
    end = time.monotonic() + PATIENCE
    while time.monotonic() < end:
        if condition():
            return True
        time.sleep(0.1)
    return False


def alive(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().split(")")[1].split()[0] != "Z"
    except FileNotFoundError:
        return False


@pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="looks processes up in /proc")
def test_ctrl_c_leaves_no_process(tmp_path: Path, documents: sp.csr_array) -> None:
    write_shards(tmp_path / "s", documents, rows_per_shard=30)
    program = textwrap.dedent(
        """
        import os, signal, sys, time
        from tsenet.progress import Progress
        from tsenet.data import Blocks
        import tsenet

        class Waits(Progress):
            def start(self, stage, total=None):
                if stage == "pairs":
                    print(*blocks.cluster.client.run(os.getpid).values(), flush=True)
                    time.sleep(600)

        if __name__ == "__main__":
            # A shell without job control has programs in the background ignore it.
            signal.signal(signal.SIGINT, signal.default_int_handler)
            with Blocks(sys.argv[1], n_workers=2) as blocks:
                tsenet.learn_tree(blocks, progress=Waits(), random_state=0)
        """
    )
    (tmp_path / "run.py").write_text(program)
    process = subprocess.Popen(
        [sys.executable, str(tmp_path / "run.py"), str(tmp_path / "s")],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    assert process.stdout is not None
    workers = [int(pid) for pid in process.stdout.readline().split()]
    assert len(workers) == 2
    process.send_signal(signal.SIGINT)
    _, errors = process.communicate(timeout=PATIENCE)
    assert "KeyboardInterrupt" in errors
    assert process.returncode != 0
    assert until(lambda: not any(map(alive, workers)))


def test_a_worker_that_always_dies_ends_the_work() -> None:
    with (
        started_workers() as client,
        Cluster(client) as cluster,
        pytest.raises(ClusterError, match="died again and again"),
    ):
        list(cluster.map(os._exit, [1]))


def grow(item: int) -> int:
    """Take memory until the process is stopped."""
    held = []
    while True:
        held.append(np.ones(16 << 20, np.uint8))
        time.sleep(0.01)


def test_a_worker_over_its_limit_ends_the_work(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(cluster_module, "MAX_RESTARTS", 2)
    with started_workers(1, memory_limit="600MB") as client, Cluster(client) as cluster:
        with pytest.raises(ClusterError, match=r"over their memory limit|died again and again"):
            list(cluster.map(grow, [0]))
        # the cluster is still of use for work that fits
        assert list(cluster.map(abs, [-3])) == [3]
