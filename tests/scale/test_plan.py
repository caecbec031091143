"""The plan: what fits is cut to size, what does not is refused with advice, before any work."""

from __future__ import annotations

import logging
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp

import tsenet
from tests.scale.test_same_bits import same_tree
from tsenet import scale
from tsenet.data.limits import bytes_of
from tsenet.data.shard_writer import write_shards
from tsenet.data.shards import Partition, ShardFolder
from tsenet.errors import TooLargeError
from tsenet.scale import Shards
from tsenet.scale.executor import InProcess
from tsenet.scale.plan import PROCESS, Plan

GB = 10**9


def folder_of(
    n_rows: int, n_columns: int, per_row: int, rows_per_group: int = 16_384
) -> ShardFolder:
    """A folder that exists on paper only."""
    starts = range(0, n_rows, rows_per_group)
    parts = tuple(
        Partition(k, "part-00000.parquet", k, start, min(rows_per_group, n_rows - start))
        for k, start in enumerate(starts)
    )
    return ShardFolder(
        *(None, tuple(map(str, range(n_columns))), (None,) * n_columns, True, True, False, {}),
        *(parts, n_rows * per_row, ""),
    )


def plan_of(folder: ShardFolder, memory: int, slots: int = 1, distributed: bool = False) -> Plan:
    executor = InProcess(memory)
    executor.n_slots, executor.is_distributed = slots, distributed
    return Plan.of(folder, executor, memory)


@pytest.mark.parametrize("memory", [GB, 2 * GB, 8 * GB])
@pytest.mark.parametrize("n_words", [1000, 10_000, 100_000])
def test_tiles_cover_everything_and_fit(memory: int, n_words: int) -> None:
    plan = plan_of(folder_of(5_000_000, n_words, 40), memory, 2, distributed=True)
    tiles = plan.pair_tiles(n_words)
    assert [a for a, _ in tiles] == [0, *(b for _, b in tiles[:-1])]
    assert tiles[-1][1] == n_words
    widest = max(b - a for a, b in tiles)
    assert widest * n_words * 4 * 5 + plan.partition_memory + PROCESS < 0.6 * memory
    sizes = (n_words, n_words // 8, n_words // 50, 20)
    jobs = plan.unit_tiles(sizes)
    seen = [(t.level, u) for job in jobs for t in job for u in range(t.first, t.last)]
    assert seen == [(level, u) for level in (1, 2, 3) for u in range(sizes[level])]
    for job in jobs:
        cells = sum((t.last - t.first) * (2 * sizes[t.level - 1] + sizes[t.level]) for t in job)
        assert cells * 4 * 5 + PROCESS < 0.6 * memory


@pytest.mark.parametrize(("here", "n_passes"), [(1.0, 2), (1.5, 1), (8.0, 1)])
def test_counts_that_workers_send_fit_this_process(here: float, n_passes: int) -> None:
    memory, sizes = int(here * GB), (10_000, 1_108, 199, 14)
    plan = Plan(folder_of(1_000_000, 10_000, 40), 1, 2 * GB, memory, True)
    jobs = plan.unit_tiles(sizes)
    assert len(jobs) == n_passes
    for job in jobs:
        cells = sum((t.last - t.first) * (2 * sizes[t.level - 1] + sizes[t.level]) for t in job)
        assert cells * 4 * 3 + PROCESS < 0.6 * memory


@pytest.mark.parametrize("slots", [1, 2, 7])
def test_spans_are_all_partitions_in_order(slots: int) -> None:
    plan = plan_of(folder_of(1_000_000, 100, 5), 2 * GB, slots, distributed=True)
    parts = [part for span in plan.spans() for part in span]
    assert parts == list(plan.folder.partitions)
    assert len(plan.spans()) == min(len(parts), 4 * slots)
    assert all(plan.spans())


def test_a_partition_that_does_not_fit_is_refused() -> None:
    folder = folder_of(10_000_000, 50_000, 100, rows_per_group=1_000_000)
    with pytest.raises(
        TooLargeError, match=r"partition of 1,000,000 rows .* fewer rows per partition"
    ):
        plan_of(folder, 2 * GB)


def test_a_sample_that_does_not_fit_is_refused_with_one_that_does() -> None:
    plan = plan_of(folder_of(5_000_000, 10_000, 40), 2 * GB)
    with pytest.raises(TooLargeError, match="structure_samples=") as caught:
        plan.check_driver(None)
    advice = int(str(caught.value).split("structure_samples=")[1].split()[0])
    assert plan.check_driver(advice) == advice
    with pytest.raises(TooLargeError):
        plan.check_driver(2 * advice)


def test_as_many_rows_as_fit() -> None:
    plan = plan_of(folder_of(5_000_000, 10_000, 40), 2 * GB)
    fits = plan.structure_rows()
    assert fits % 1000 == 0
    assert plan.check_driver(fits) == fits
    with pytest.raises(TooLargeError):
        plan.check_driver(fits + 1000)
    assert f"groups of {fits:,} rows, as many as fit" in plan.describe(fits)
    assert "as many as fit" not in plan.describe(1000)
    small = plan_of(folder_of(20_000, 10_000, 40), 2 * GB)
    assert small.structure_rows() == 20_000
    assert "as many as fit" not in small.describe()
    with pytest.raises(TooLargeError, match="not even 1,000 rows"):
        Plan(plan.folder, 1, 2 * GB, PROCESS + 100_000_000, False).structure_rows()


def test_the_rows_that_fit_are_those_of_structure_samples(
    tmp_path: Path, documents: sp.csr_array
) -> None:
    """Drawn by the seed: the tree is that of as many rows in memory, for any partitions."""
    rows = sp.csr_array(sp.vstack([documents, documents[:, ::-1]]))
    expected = tsenet.learn_tree(rows, structure_samples=1000, max_top=3, random_state=0)
    for size in (1800, 170):
        write_shards(tmp_path / str(size), rows, rows_per_group=size)
        with Shards(tmp_path / str(size), memory_limit="1GB") as shards:
            room = shards.plan.driver_need(1000) + 1
            shards.plan = replace(shards.plan, driver_memory=room)
            found = scale.learn_tree(shards, max_top=3, random_state=0)
        assert same_tree(expected, found)


def test_the_plan_is_shown_and_nothing_is_read_before_a_refusal(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    rows = sp.random_array((400, 20), density=0.2, rng=np.random.default_rng(0)) > 0
    write_shards(tmp_path, rows)
    with Shards(tmp_path, memory_limit="1GB") as shards, caplog.at_level(logging.INFO, "tsenet"):
        tsenet.learn_tree(shards, refine_steps=0, random_state=0)
        assert "400 rows × 20 columns" in caplog.text
        assert "counts and lengths: 1 tasks" in caplog.text
    (tmp_path / "part-00000.parquet").rename(tmp_path / "gone")
    small = Plan(shards.folder, 1, GB, PROCESS, False)
    shards.plan = small
    with pytest.raises(TooLargeError, match="not even 1,000 rows"):
        tsenet.learn_tree(shards, random_state=0)


@pytest.mark.parametrize(
    ("text", "n_bytes"), [("2GB", 2 * GB), ("500 MiB", 500 << 20), ("1.5g", 1_500_000_000), (7, 7)]
)
def test_amounts_of_memory(text: Any, n_bytes: int) -> None:
    assert bytes_of(text) == n_bytes


@pytest.mark.parametrize("text", ["much", "-2GB", "0", 0, "2 XB", ""])
def test_wrong_amounts_are_refused(text: Any) -> None:
    with pytest.raises(ValueError, match="amount"):
        bytes_of(text)


def test_wrong_arguments_are_refused(tmp_path: Path) -> None:
    write_shards(tmp_path, np.ones((3, 2)))
    with pytest.raises(ValueError, match="not both"):
        Shards(tmp_path, client="tcp://127.0.0.1:1", n_workers=2)
    with pytest.raises(ValueError, match="n_workers"):
        Shards(tmp_path, n_workers=0)
