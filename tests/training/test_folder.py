"""Rows of a folder as a source of batches."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp

from tsenet.data.blocks import Blocks
from tsenet.data.shards import write_shards
from tsenet.data.table import Table
from tsenet.errors import DataError
from tsenet.progress import Progress
from tsenet.training.folder import FolderRows

N_ROWS, N_WORDS = 300, 12
RNG = np.random.default_rng(4)
COUNTS = sp.csr_array(RNG.poisson(0.6, (N_ROWS, N_WORDS)).astype(np.int32))
COUNTS = sp.vstack([COUNTS[:200], COUNTS[:50], COUNTS[250:]], format="csr")  # 50 duplicates
TARGETS = RNG.integers(3, size=N_ROWS)
TARGETS[40:60] = -1  # two row groups of ten without any label


def rows_of(
    path: Path,
    rows_per_shard: int = 10,
    targets: Any = TARGETS,
    weights: Any = None,
    **options: Any,
) -> FolderRows:
    shards = write_shards(
        path,
        COUNTS,
        names=[f"w{j}" for j in range(N_WORDS)],
        rows_per_shard=rows_per_shard,
    )
    return FolderRows(Blocks(shards), targets, weights, 0, Progress(), **options)


def key(values: Any) -> bytes:
    return np.asarray(values.toarray(), np.float32).tobytes()


def keys(values: Any) -> list[bytes]:
    return [key(values[[i]]) for i in range(values.shape[0])]


def test_an_epoch_has_every_training_row_once(tmp_path: Path) -> None:
    rows = rows_of(tmp_path / "shards", buffer_rows=35)
    assert rows.validation is not None
    n_held = rows.validation.rows.size
    assert 10 < n_held < 60
    assert rows.n_rows + n_held == 280
    everything = rows.scaling.apply(Table.of(COUNTS, [f"w{j}" for j in range(N_WORDS)])).values
    pairs = sorted(
        (row, int(t)) for row, t in zip(keys(everything), TARGETS, strict=True) if t >= 0
    )
    held = list(zip(keys(rows.validation.inputs.values), rows.validation.targets, strict=True))
    orders = []
    for epoch in (0, 0, 1):
        batches = list(rows.batches(7, epoch, 16))
        assert {batch.rows.size for batch in batches} <= {rows.n_rows // 16, rows.n_rows // 16 + 1}
        seen: list[tuple[bytes, int]] = []
        for batch in batches:
            assert len(batch.inputs) < 35 + 2 * 16 + 10  # not the whole folder
            seen += zip(keys(batch.inputs.values[batch.rows]), batch.targets.tolist(), strict=True)
        assert sorted([*seen, *held]) == pairs
        orders.append(seen)
    assert orders[0] == orders[1] != orders[2]


def test_the_rows_held_out_do_not_depend_on_the_shards(tmp_path: Path) -> None:
    one, other = (rows_of(tmp_path / str(n), n) for n in (10, 37))
    assert one.validation is not None
    assert other.validation is not None
    assert key(one.validation.inputs.values) == key(other.validation.inputs.values)
    assert key(one.sample.values) == key(other.sample.values)
    np.testing.assert_array_equal(one.scaling.scale, other.scaling.scale)


def test_duplicates_stay_on_one_side(tmp_path: Path) -> None:
    rows = rows_of(tmp_path / "shards")
    assert rows.validation is not None
    held = set(keys(rows.validation.inputs.values))
    for batch in rows.batches(0, 0, 4):
        assert held.isdisjoint(keys(batch.inputs.values[batch.rows]))


def test_few_labels_or_none(tmp_path: Path) -> None:
    few = np.where(np.arange(N_ROWS) < 19, TARGETS, -1)
    rows = rows_of(tmp_path / "shards", targets=few, weights=np.arange(N_ROWS))
    assert rows.validation is None
    assert rows.n_rows == 19
    (batch,) = rows.batches(0, 0, 1)
    assert sorted(batch.weights) == list(range(19))
    with pytest.raises(DataError, match="has a label"):
        rows_of(tmp_path / "none", targets=np.full(N_ROWS, np.nan))
