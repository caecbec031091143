"""The report of a run: every pass by name, with tasks, seconds, bytes moved and memory of each role."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp

import tsenet
from tests.scale.test_same_bits import OPTIONS
from tsenet import scale
from tsenet.data import shard_documents
from tsenet.data.shard_writer import write_shards
from tsenet.scale import Shards, plan
from tsenet.scale.cluster import OnCluster
from tsenet.scale.report import HERE, Phase, Report, Spent, bytes_held

PASSES = ["counts", "pieces", "rows of the structure sample", "rows of stepwise EM"]


def phases_of(shards: Shards) -> dict[str, Phase]:
    return {phase.name: phase for phase in shards.report.phases}


def test_of_a_stream(tmp_path: Path, documents: sp.csr_array) -> None:
    write_shards(tmp_path, documents, rows_per_group=100)
    with Shards(tmp_path, memory_limit="1GB") as shards:
        tree = tsenet.learn_tree(shards, piece_size=5, **OPTIONS)
        scale.expand(tree, shards, density=0.2)
        found = phases_of(shards)
    assert list(found) == [*PASSES, "counts of units", HERE]
    assert found["counts"].spent.tasks == 9
    assert found["counts of units"].spent.tasks == 9
    assert sum(phase.seconds for phase in found.values()) > 0
    assert all(phase.peak_here > 1e7 for phase in found.values())
    moved = [phase.spent.sent + phase.spent.returned for phase in found.values()]
    assert moved == [0] * len(found)
    lines = str(shards.report).splitlines()
    assert lines[0].split()[0] == "phase"
    assert len(lines) == len(found) + 1
    assert len({len(line) for line in lines}) == 1


def test_of_workers(tmp_path: Path, documents: sp.csr_array, client: Any) -> None:
    write_shards(tmp_path, documents, rows_per_group=100)
    with Shards(tmp_path, client=client, memory_limit="1GB") as shards:
        tree = tsenet.learn_tree(shards, piece_size=5, **OPTIONS)
        scale.expand(tree, shards, density=0.2)
        found = phases_of(shards)
        n_pieces = shards.pieces(5, 0).n_rows
    assert list(found) == [*PASSES[:3], "pairs", PASSES[3], "counts of units", HERE]
    pairs = found["pairs"].spent
    # the sample is sent once for all tiles: its pieces and the words in them
    whole = 8 * (n_pieces + 1) + 4 * documents.nnz
    assert 0.8 * whole < pairs.sent < 1.5 * whole
    assert pairs.returned == 60 * 60 * (4 + 8)  # partners and gains of 60 words
    sample = found["rows of the structure sample"].spent
    assert 4 * documents.nnz < sample.returned < 8 * documents.nnz + 20_000
    for name in (*PASSES, "pairs", "counts of units"):
        assert found[name].spent.tasks > 0
        assert found[name].spent.peak > 1e7
    assert sum(phase.spent.cpu for phase in found.values()) > 0


def test_of_an_expansion_in_several_passes(
    tmp_path: Path, documents: sp.csr_array, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_shards(tmp_path, documents, rows_per_group=300)
    tree = tsenet.learn_tree(documents, **OPTIONS)
    tiles = [
        [plan.UnitTile(level, unit, unit + 1)]
        for level in range(1, tree.n_levels + 1)
        for unit in range(tree.layer_sizes[level])
    ]
    monkeypatch.setattr(plan.Plan, "unit_tiles", lambda *_: tiles)
    with Shards(tmp_path, memory_limit="1GB") as shards:
        scale.expand(tree, shards, density=0.2)
        assert phases_of(shards)["counts of units"].spent.tasks == 3 * len(tiles)


def test_what_is_added() -> None:
    report = Report()
    for _ in range(2):
        with report.phase("a") as spent:
            spent.add(Spent(3, 0.5, 100, 10, 7))
    with report.phase("b") as spent:
        spent.peak = 9
    a, b, here = report.phases
    assert a.spent == Spent(6, 1.0, 200, 20, 7)
    assert (b.name, b.spent.peak, here.name) == ("b", 9, HERE)
    assert bytes_held(sp.csr_array(np.eye(3))) == 9 * 4 + 3 * 8 - 4 * 2


def test_words_are_counted_on_a_cluster(tmp_path: Path, client: Any) -> None:
    path = tmp_path / "texts.txt"
    rng = np.random.default_rng(0)
    words = np.array(["apple", "bread", "cheese", "dates", "eggs", "figs", "grapes"])
    path.write_text("\n".join(" ".join(rng.choice(words, 5)) for _ in range(500)) + "\n")
    here = shard_documents([path], tmp_path / "here")
    with OnCluster(client) as cluster:
        there = shard_documents([path], tmp_path / "there", map_in_order=cluster.map_in_order)
    assert here.digest == there.digest
