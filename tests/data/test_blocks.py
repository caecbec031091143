"""Trees and wirings are the same from memory, a folder or workers, however the rows are divided."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import dask.array as da
import dask.dataframe as dd
import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp

import tsenet
from tsenet.data import Blocks, open_shards, write_shards
from tsenet.errors import DataError
from tsenet.expansion import context, counts
from tsenet.skeleton.tree import LatentTree

OPTIONS: dict[str, Any] = {"max_top": 3, "refine_steps": 8, "random_state": 3}


def check_everything(tree: LatentTree, X: Any, blocks: Any) -> None:
    """Wirings by every rule, likelihoods and posteriors are those of the rows in memory."""
    for rule in ("balanced", "top-k", "informative", "random", "tree", "context"):
        options: dict[str, Any] = {
            "density": 0.2,
            "link_rule": rule,
            "log_odds": rule in ("informative", "random"),
            "random_state": 1,
        }
        expected = tsenet.expand(tree, X, **options)
        assert expected == tsenet.expand(tree, blocks, **options), rule
    assert np.array_equal(tree.log_likelihood(blocks), tree.log_likelihood(X))
    assert np.array_equal(tree.posterior(blocks), tree.posterior(X))


@pytest.mark.parametrize("rows_per_shard", [1000, 170])
@pytest.mark.parametrize(
    "options",
    [{}, {"structure_samples": 400}, {"piece_size": 5}],
    ids=["auto", "sample", "pieces"],
)
def test_a_folder_of_documents(
    tmp_path: Path, documents: sp.csr_array, rows_per_shard: int, options: dict[str, Any]
) -> None:
    write_shards(tmp_path, documents, rows_per_shard=rows_per_shard)
    tree = tsenet.learn_tree(documents, **OPTIONS, **options)
    assert tree.n_levels >= 2
    assert tree == tsenet.learn_tree(str(tmp_path), **OPTIONS, **options)
    if not options:
        check_everything(tree, documents, tmp_path)


def test_several_passes_and_drawn_contexts(
    tmp_path: Path, documents: sp.csr_array, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Counts of one tile per pass, as with little memory, and contexts of 300 rows, as with many."""
    write_shards(tmp_path, documents, rows_per_shard=200)
    tree = tsenet.learn_tree(documents, **OPTIONS)
    monkeypatch.setattr("tsenet.expansion.counts.BYTES_PER_PASS", 1)
    monkeypatch.setattr("tsenet.expansion.counts.UNITS_PER_TILE", 3)
    monkeypatch.setattr(context, "MAX_ROWS", 300)
    check_everything(tree, documents, tmp_path)


@pytest.mark.parametrize("sends", [True, False])
def test_workers(
    tmp_path: Path,
    documents: sp.csr_array,
    client: Any,
    monkeypatch: pytest.MonkeyPatch,
    sends: bool,
) -> None:
    write_shards(tmp_path, documents, rows_per_shard=60)
    if not sends:
        monkeypatch.setattr("tsenet.skeleton.information.MAX_SENT_ENTRIES", 0)
    tree = tsenet.learn_tree(documents, **OPTIONS)
    assert tree == tsenet.learn_tree(tmp_path, client=client, **OPTIONS)
    if sends:
        with Blocks(tmp_path, client=client) as blocks:
            check_everything(tree, documents, blocks)


# ---- Dask collections


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


def test_csr_blocks(documents: sp.csr_array) -> None:
    tree = tsenet.learn_tree(documents, **OPTIONS)
    with Blocks(of_blocks(documents, 333)) as blocks:
        assert blocks.folder is not None
        place = blocks.folder.path
        assert tree == tsenet.learn_tree(blocks, **OPTIONS)
    assert not place.exists()


def test_an_array_and_a_dataframe(documents: sp.csr_array) -> None:
    dense = documents.toarray()
    tree = tsenet.learn_tree(documents, **OPTIONS)
    assert tree == tsenet.learn_tree(da.from_array(dense, chunks=(90, 50)), **OPTIONS)
    frame = pd.DataFrame(dense, columns=[f"w{j}" for j in range(60)])
    found = tsenet.learn_tree(dd.from_pandas(frame, npartitions=4), **OPTIONS)
    assert tsenet.learn_tree(tsenet.Table.of(documents, list(frame)), **OPTIONS) == found


def test_a_collection_on_workers_is_written_where_they_see_it(
    documents: sp.csr_array, client: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    array = of_blocks(documents, 200).persist(scheduler=client)
    tree = tsenet.learn_tree(documents, **OPTIONS)
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))  # as TMPDIR does
    with Blocks(array, client=client) as blocks:
        assert tree == tsenet.learn_tree(blocks, **OPTIONS)
        (place,) = tmp_path.iterdir()
        assert open_shards(place).n_rows == 900
    assert not place.exists()


def test_a_classifier_is_fitted_to_dask(documents: sp.csr_array) -> None:
    y = (documents[:, :30].sum(axis=1) > documents[:, 30:].sum(axis=1)).astype(int)
    options: dict[str, Any] = {"random_state": 0, "max_epochs": 2, "n_jobs": 1}
    one = tsenet.TSENetClassifier(**options).fit(of_blocks(documents, 300), y)
    other = tsenet.TSENetClassifier(**options).fit(
        of_blocks(documents, 170), da.from_array(y, chunks=100)
    )
    expected = one.predict_proba(documents)
    np.testing.assert_array_equal(expected, other.predict_proba(documents))
    np.testing.assert_allclose(one.predict_proba(of_blocks(documents, 90)), expected, atol=1e-6)


def test_other_collections_are_refused() -> None:
    import dask.bag

    with pytest.raises(DataError, match="not a Bag"):
        Blocks(dask.bag.from_sequence([1, 2]))
    with pytest.raises(DataError, match="two-dimensional"):
        Blocks(da.ones(3))
    colours = pd.DataFrame({"a": [1.0, 2.0], "colour": ["red", "blue"]})
    with pytest.raises(DataError, match="categories"):
        Blocks(dd.from_pandas(colours, npartitions=1))
    with pytest.raises(DataError, match="no rows"):
        Blocks(da.ones((0, 3)))


# ---- a limit of rows


def test_the_structure_of_a_large_folder_is_learned_from_some_rows(
    tmp_path: Path, documents: sp.csr_array, monkeypatch: pytest.MonkeyPatch
) -> None:
    """They are drawn by the seed: the same as structure_samples in memory, which alone has no limit."""
    rows = sp.csr_array(sp.vstack([documents, documents[:, ::-1]]))
    write_shards(tmp_path, rows, rows_per_shard=170)
    monkeypatch.setattr("tsenet.skeleton.hlta.MAX_STRUCTURE_ROWS", 1000)
    found = tsenet.learn_tree(tmp_path, **OPTIONS)
    assert found == tsenet.learn_tree(rows, structure_samples=1000, **OPTIONS)
    everything = tsenet.learn_tree(rows, **OPTIONS)
    assert everything != found
    assert everything == tsenet.learn_tree(tmp_path, structure_samples=1800, **OPTIONS)


@pytest.mark.parametrize(("room", "n_passes"), [(1, 3), (10**9, 1), (4 * 4 * 25, 2)])
def test_passes_hold_as_many_tiles_as_fit(
    monkeypatch: pytest.MonkeyPatch, room: int, n_passes: int
) -> None:
    """Three tiles of 2, 2 and 1 of five units over ten: int32 counts of 25 pairs a unit."""
    monkeypatch.setattr(counts, "BYTES_PER_PASS", room)
    ranges = [(1, 0, 2), (1, 2, 4), (1, 4, 5)]
    passes = counts._passes(ranges, (10, 5))
    assert len(passes) == n_passes
    assert [tile for tiles in passes for tile in tiles] == ranges


def test_wrong_arguments_are_refused(tmp_path: Path) -> None:
    write_shards(tmp_path, np.ones((3, 2)))
    with pytest.raises(ValueError, match="not both"):
        Blocks(tmp_path, client="tcp://127.0.0.1:1", n_workers=2)
    with pytest.raises(ValueError, match="n_workers"):
        Blocks(tmp_path, n_workers=0)
    with Blocks(tmp_path) as blocks, pytest.raises(ValueError, match="their own client"):
        tsenet.learn_tree(blocks, client="tcp://127.0.0.1:1")
