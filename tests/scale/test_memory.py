"""Workers with too little memory: refused before the work, or an error after a few restarts, never a loop."""

from __future__ import annotations

import resource
import time
from pathlib import Path

import numpy as np
import pytest
import scipy.sparse as sp

from tests.scale.conftest import started_workers
from tsenet import scale
from tsenet.data.shard_writer import write_shards
from tsenet.errors import ClusterError, TooLargeError
from tsenet.progress import Progress
from tsenet.scale import cluster as cluster_module
from tsenet.scale.cluster import OnCluster
from tsenet.scale.executor import Reduction

pytestmark = pytest.mark.slow
MB = 1 << 20


def test_a_small_limit_is_refused_before_any_work(tmp_path: Path, documents: sp.csr_array) -> None:
    folder = write_shards(tmp_path, documents)
    (tmp_path / "part-00000.parquet").unlink()  # work would fail
    with (
        started_workers(1, memory_limit="300MB") as client,
        pytest.raises(TooLargeError, match=r"give .*MB per worker thread"),
    ):
        scale.learn_tree(folder, client=client)


def grow(item: int) -> int:
    """Take memory until the process is stopped."""
    held = []
    while True:
        held.append(np.ones(16 * MB, np.uint8))
        time.sleep(0.01)


def take_much(item: int) -> int:
    return int(np.ones(8 << 30, np.uint8).sum())


def limit_address_space() -> None:
    in_use = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
    hard = resource.getrlimit(resource.RLIMIT_AS)[1]
    resource.setrlimit(resource.RLIMIT_AS, (in_use + 500 * MB, hard))


def test_a_worker_over_its_limit_ends_the_work(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cluster_module, "_MOST_RESTARTS", 2)
    with started_workers(1, memory_limit="600MB") as client, OnCluster(client) as cluster:
        with pytest.raises(ClusterError, match=r"over their memory limit|died again and again"):
            list(cluster.run([Reduction(grow, [0])], Progress()))
        # the cluster is still of use for work that fits
        assert list(cluster.run([Reduction(abs, [-3])], Progress())) == [3]


@pytest.mark.skipif(not Path("/proc/self/statm").exists(), reason="looks memory up in /proc")
def test_a_task_without_memory_is_a_clear_error() -> None:
    with started_workers(1, memory_limit="2GB") as client, OnCluster(client) as cluster:
        client.run(limit_address_space)
        with pytest.raises(ClusterError, match="a worker had too little memory for the work"):
            list(cluster.run([Reduction(take_much, [0])], Progress()))
