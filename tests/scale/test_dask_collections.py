"""Dask arrays and dataframes give the same trees and wirings as their rows in memory, for any chunks."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import dask.array as da
import dask.dataframe as dd
import numpy as np
import pytest
import scipy.sparse as sp

import tsenet
from tests.scale.test_same_bits import OPTIONS, same_tree, same_wiring
from tsenet import scale
from tsenet.data.shards import open_shards
from tsenet.errors import DataError
from tsenet.scale import Shards


def of_blocks(rows: sp.csr_array, size: int) -> Any:
    """A Dask array of CSR blocks."""
    import dask

    blocks = [
        da.from_delayed(
            dask.delayed(rows[k : k + size]),
            (min(size, rows.shape[0] - k), rows.shape[1]),
            meta=sp.csr_array((0, rows.shape[1]), dtype=rows.dtype),
        )
        for k in range(0, rows.shape[0], size)
    ]
    return da.concatenate(blocks)


@pytest.fixture(scope="module")
def numbers() -> Any:
    rng = np.random.default_rng(5)
    hidden = rng.random((400, 3)) < 0.5
    values = rng.normal(size=(400, 12)) + 2.0 * np.repeat(hidden, 4, axis=1)
    values[rng.random((400, 12)) < 0.05] = np.nan
    return values


@pytest.mark.parametrize("size", [900, 333, 50])
def test_csr_blocks(documents: sp.csr_array, size: int) -> None:
    tree = tsenet.learn_tree(documents, **OPTIONS)
    with Shards(of_blocks(documents, size), memory_limit="1GB") as shards:
        place = Path(shards.folder.place.url)
        assert same_tree(tree, tsenet.learn_tree(shards, **OPTIONS))
        found = scale.expand(tree, shards, density=0.2)
    assert same_wiring(tsenet.expand(tree, documents, density=0.2), found)
    assert not place.exists()


@pytest.mark.parametrize("chunks", [(400, 12), (90, 5), (37, 12)])
def test_numbers(numbers: Any, chunks: tuple[int, int]) -> None:
    tree = tsenet.learn_tree(numbers, **OPTIONS)
    array = da.from_array(numbers, chunks=chunks)
    assert same_tree(tree, scale.learn_tree(array, memory_limit="1GB", **OPTIONS))


@pytest.mark.parametrize("npartitions", [1, 4])
def test_a_dataframe(numbers: Any, npartitions: int) -> None:
    import pandas as pd

    frame = pd.DataFrame(numbers, columns=[f"c{k}" for k in range(12)])
    frame["whole"] = np.arange(400) % 7
    tree = tsenet.learn_tree(frame, **OPTIONS)
    parts = dd.from_pandas(frame, npartitions=npartitions)
    with Shards(parts, memory_limit="1GB") as shards:
        found = tsenet.learn_tree(shards, **OPTIONS)
        assert same_tree(tree, found)
        assert same_wiring(
            tsenet.expand(tree, frame, density=0.3), scale.expand(found, shards, density=0.3)
        )


def test_on_workers_and_kept(documents: sp.csr_array, client: Any, tmp_path: Path) -> None:
    """Chunks that are on the cluster already, and a folder of one's own."""
    array = of_blocks(documents, 200).persist(scheduler=client)
    tree = tsenet.learn_tree(documents, **OPTIONS)
    with Shards(array, client=client, memory_limit="1GB", scratch=tmp_path / "kept") as shards:
        assert same_tree(tree, tsenet.learn_tree(shards, **OPTIONS))
    assert open_shards(tmp_path / "kept").digest == shards.folder.digest
    with pytest.raises(DataError, match="holds finished shards"):
        Shards(array, client=client, memory_limit="1GB", scratch=tmp_path / "kept")


def test_a_classifier_is_fitted_to_dask(documents: sp.csr_array) -> None:
    y = (documents[:, :30].sum(axis=1) > documents[:, 30:].sum(axis=1)).astype(int)
    options: dict[str, Any] = {"random_state": 0, "max_epochs": 2, "n_jobs": 1}
    one = tsenet.TSENetClassifier(**options).fit(of_blocks(documents, 300), y)
    other = tsenet.TSENetClassifier(**options).fit(
        of_blocks(documents, 170), da.from_array(y, chunks=100)
    )
    np.testing.assert_array_equal(one.predict_proba(documents), other.predict_proba(documents))
    np.testing.assert_array_equal(
        one.predict_proba(of_blocks(documents, 90)), one.predict_proba(documents)
    )


def test_refusals(numbers: Any, tmp_path: Path) -> None:
    import dask.bag
    import pandas as pd

    with pytest.raises(
        DataError, match="two-dimensional Dask array or a Dask dataframe, not a Bag"
    ):
        Shards(dask.bag.from_sequence([1, 2]))
    with pytest.raises(DataError, match="two-dimensional"):
        Shards(da.ones(3))
    colours = pd.DataFrame({"a": [1.0, 2.0], "colour": ["red", "blue"]})
    with pytest.raises(DataError, match=r"'colour' .* holds categories"):
        Shards(dd.from_pandas(colours, npartitions=1))
    with pytest.raises(DataError, match="no rows"):
        Shards(da.ones((0, 3)))
    with pytest.raises(ValueError, match="scratch is for Dask collections"):
        Shards(tmp_path, scratch=tmp_path)
