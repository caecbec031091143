"""A folder of shards gives the same trees and wirings as a table in memory, however it is cut and worked on."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp

import tsenet
from tsenet import scale
from tsenet.data.shard_writer import write_shards
from tsenet.scale import Shards, plan
from tsenet.skeleton.tree import LatentTree

OPTIONS: dict[str, Any] = {"max_top": 3, "refine_steps": 8, "random_state": 3}


def same_tree(a: LatentTree, b: LatentTree) -> bool:
    arrays = all(
        np.array_equal(getattr(a, name), getattr(b, name)) for name in ("parent", "level", "cpt")
    )
    return arrays and a.names == b.names and a.rule == b.rule


def same_wiring(a: Any, b: Any) -> bool:
    parts = ("indptr", "indices", "from_tree")
    return a.names == b.names and all(
        np.array_equal(getattr(x, name), getattr(y, name))
        for x, y in zip(a.layers, b.layers, strict=True)
        for name in parts
    )


@pytest.mark.parametrize("rows_per_group", [1000, 170, 37])
@pytest.mark.parametrize(
    "options",
    [
        {},
        {"structure_samples": 400},
        {"piece_size": None},
        {"piece_size": 5, "leftovers": "attach"},
    ],
    ids=["auto", "sample", "whole", "pieces"],
)
def test_streamed_documents(
    tmp_path: Path, documents: sp.csr_array, rows_per_group: int, options: dict[str, Any]
) -> None:
    write_shards(tmp_path, documents, rows_per_group=rows_per_group, groups_per_shard=3)
    tree = tsenet.learn_tree(documents, **OPTIONS, **options)
    with Shards(tmp_path, memory_limit="1GB") as shards:
        found = tsenet.learn_tree(shards, **OPTIONS, **options)
        assert same_tree(tree, found)
        assert tree.n_levels >= 2
        for rule in ("balanced", "top-k", "random", "tree"):
            expected = tsenet.expand(tree, documents, density=0.2, link_rule=rule, random_state=1)
            assert same_wiring(
                expected,
                tsenet.expand(tree, shards, density=0.2, link_rule=rule, random_state=1),
            )
        assert np.array_equal(tree.log_likelihood(shards), tree.log_likelihood(documents))
        blocks = np.concatenate(list(shards.posteriors(tree)))
        assert np.array_equal(blocks, tree.posterior(documents))


@pytest.mark.parametrize("rows_per_group", [1000, 90])
def test_streamed_dense_rows(tmp_path: Path, rows_per_group: int) -> None:
    import pandas as pd

    rng = np.random.default_rng(5)
    hidden = rng.random((400, 3)) < 0.5
    values = rng.normal(size=(400, 12)) + 2.0 * np.repeat(hidden, 4, axis=1)
    values[:, 5] = rng.poisson(0.7, 400)  # presence
    values[:, 6] = hidden[:, 0]  # two values
    values[:, 7] = 4.5  # constant
    values[rng.random((400, 12)) < 0.05] = np.nan
    frame = pd.DataFrame(values, columns=[f"c{k}" for k in range(12)])
    frame["colour"] = np.where(hidden[:, 1], "red", "blue")
    write_shards(tmp_path, frame, rows_per_group=rows_per_group)
    tree = tsenet.learn_tree(frame, **OPTIONS)
    found = scale.learn_tree(tmp_path, memory_limit="1GB", **OPTIONS)
    assert same_tree(tree, found)
    assert same_wiring(
        tsenet.expand(tree, frame, density=0.3),
        scale.expand(found, tmp_path, memory_limit="1GB", density=0.3),
    )


def test_small_tiles_change_nothing(
    tmp_path: Path, documents: sp.csr_array, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Counts of a few units at a time: many passes, tiles that end inside of blocks."""
    write_shards(tmp_path, documents, rows_per_group=200)
    tree = tsenet.learn_tree(documents, **OPTIONS)
    monkeypatch.setattr(
        plan.Plan, "unit_tiles", lambda self, sizes: [[tile] for tile in three_at_a_time(sizes)]
    )
    for rule in ("balanced", "top-k", "random"):
        assert same_wiring(
            tsenet.expand(tree, documents, density=0.2, link_rule=rule, random_state=1),
            scale.expand(tree, tmp_path, density=0.2, link_rule=rule, random_state=1),
        )


def three_at_a_time(sizes: tuple[int, ...]) -> list[plan.UnitTile]:
    return [
        plan.UnitTile(level, first, min(first + 3, sizes[level]))
        for level in range(1, len(sizes))
        for first in range(0, sizes[level], 3)
    ]


@pytest.mark.parametrize("sends_sample", [True, False])
def test_workers(
    tmp_path: Path,
    documents: sp.csr_array,
    client: Any,
    monkeypatch: pytest.MonkeyPatch,
    sends_sample: bool,
) -> None:
    write_shards(tmp_path, documents, rows_per_group=60)
    monkeypatch.setattr(plan.Plan, "sends_sample", lambda *_: sends_sample)
    monkeypatch.setattr(
        plan.Plan, "pair_tiles", lambda self, n: [(k, min(k + 25, n)) for k in range(0, n, 25)]
    )
    with Shards(tmp_path, client=client, memory_limit="1GB") as shards:
        for options in ({}, {"structure_samples": 400}, {"piece_size": None}):
            tree = tsenet.learn_tree(documents, **OPTIONS, **options)
            assert same_tree(tree, tsenet.learn_tree(shards, **OPTIONS, **options))
        for rule in ("balanced", "top-k", "random"):
            assert same_wiring(
                tsenet.expand(tree, documents, density=0.2, link_rule=rule, random_state=1),
                tsenet.expand(tree, shards, density=0.2, link_rule=rule, random_state=1),
            )
        assert np.array_equal(tree.log_likelihood(shards), tree.log_likelihood(documents))
        blocks = np.concatenate(list(shards.posteriors(tree)))
        assert np.array_equal(blocks, tree.posterior(documents))


def test_dense_rows_on_workers(tmp_path: Path, client: Any) -> None:
    rng = np.random.default_rng(5)
    hidden = np.repeat(rng.random((400, 3)) < 0.5, 4, axis=1)
    values = (rng.normal(size=(400, 12)) + 2.0 * hidden).astype(np.float32)
    write_shards(tmp_path, values, rows_per_group=90)
    tree = tsenet.learn_tree(values, **OPTIONS)
    assert same_tree(tree, scale.learn_tree(tmp_path, client=client, memory_limit="1GB", **OPTIONS))
