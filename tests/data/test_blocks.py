"""The same results from memory, a folder or workers, however the rows are divided."""

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
from tests.builders import QUICK
from tsenet import (
    LatentTreeTransformer,
    Table,
    TopicModel,
    TSENetClassifier,
)
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


# ---- estimators that are given a folder of shards instead of a table, with a cluster or without


NAMES = [f"w{j}" for j in range(60)]


FAST = {**QUICK, "max_epochs": 4, "max_top": 5}


@pytest.fixture(scope="module")
def subject(documents: sp.csr_array) -> list[str]:
    """Which half of the words a document has more of."""
    halves = documents[:, :30].sum(axis=1), documents[:, 30:].sum(axis=1)
    return np.where(halves[0] > halves[1], "left", "right").tolist()


@pytest.fixture(scope="module")
def folder(
    tmp_path_factory: pytest.TempPathFactory, documents: sp.csr_array, subject: list[str]
) -> Path:
    place = tmp_path_factory.mktemp("estimators") / "shards"
    labels = {"subject": subject}
    write_shards(place, documents, names=NAMES, labels=labels, rows_per_shard=170)
    return place


def same_weights(one: Any, other: Any) -> bool:
    ours, theirs = one.net_.state_dict(), other.net_.state_dict()
    return all(bool((ours[name] == theirs[name]).all()) for name in ours)


def test_a_folder_is_fitted_by_one_more_argument(
    folder: Path, documents: sp.csr_array, subject: list[str], client: Any
) -> None:
    table = Table.of(documents, NAMES)
    model = TSENetClassifier(**{**FAST, "max_epochs": 25}).fit(Blocks(folder, client=client))
    assert model.wiring_.link_rule == "context"
    assert model.classes_.tolist() == ["left", "right"]
    assert model.score(table, subject) > 0.85
    # predictions of a folder are those of its rows
    np.testing.assert_allclose(model.predict_proba(folder), model.predict_proba(table), atol=1e-6)
    assert model.score(folder, subject) == model.score(table, subject)


def test_the_cluster_changes_nothing(folder: Path, client: Any, tmp_path: Path) -> None:
    here = TSENetClassifier(**FAST, link_rule="balanced").fit(folder, "subject")
    there = TSENetClassifier(**FAST, link_rule="balanced").fit(Blocks(str(folder), client=client))
    assert same_weights(here, there)
    for model, name in ((here, "here"), (there, "there")):
        model.save(tmp_path / name)
    assert (tmp_path / "here").read_bytes() == (tmp_path / "there").read_bytes()


def test_labels_and_blocks_may_be_given(folder: Path, subject: list[str]) -> None:
    of_column = TSENetClassifier(**FAST).fit(folder)
    with Blocks(folder) as blocks:
        assert same_weights(TSENetClassifier(**FAST).fit(blocks, np.array(subject)), of_column)
    assert same_weights(TSENetClassifier(**FAST).fit(folder, subject), of_column)


def test_a_tree_and_its_latents(folder: Path, documents: sp.csr_array, client: Any) -> None:
    table = Table.of(documents, NAMES)
    whole = tsenet.learn_tree(table, max_top=3, random_state=0)
    model = LatentTreeTransformer(max_top=3, random_state=0).fit(Blocks(folder, client=client))
    assert model.tree_ == whole
    assert model.n_features_in_ == 60
    assert list(model.feature_names_in_) == NAMES
    np.testing.assert_array_equal(model.transform(folder), whole.posterior(table))
    np.testing.assert_array_equal(model.score_samples(folder), whole.log_likelihood(table))


def test_topics(folder: Path, documents: sp.csr_array, client: Any, tmp_path: Path) -> None:
    table = Table.of(documents, NAMES)
    whole = TopicModel(random_state=0).fit(table)
    model = TopicModel(random_state=0).fit(Blocks(folder, client=client))
    assert model.topics_.equals(whole.topics_)
    assert model.n_documents_ == 900
    assert (model.transform(folder) != model.transform(table)).nnz == 0
    model.save(tmp_path / "folder")
    whole.save(tmp_path / "memory")
    assert (tmp_path / "folder").read_bytes() == (tmp_path / "memory").read_bytes()


def test_refusals(folder: Path, subject: list[str], tmp_path: Path) -> None:
    model = TSENetClassifier(**FAST)
    for options in ({"sample_weight": np.ones(900)}, {"eval_set": (folder, subject)}):
        with pytest.raises(DataError, match=f"{next(iter(options))}.* not supported for a folder"):
            model.fit(folder, subject, **options)
    with pytest.raises(DataError, match="must be 'tfidf' or 'log-counts'"):
        TSENetClassifier(weighting="counts").fit(folder)
    with pytest.raises(DataError, match=r"one label for each of the 900 rows .*shape \(899,\)"):
        model.fit(folder, np.zeros(899))
    bare = write_shards(tmp_path / "bare", sp.eye_array(4, dtype=int))
    with pytest.raises(DataError, match="has no labels"):
        model.fit(bare)
    two = write_shards(
        tmp_path / "two", sp.eye_array(4, dtype=int), labels={"a": [0, 1, 0, 1], "b": [1, 1, 0, 0]}
    )
    with pytest.raises(DataError, match="label columns 'a', 'b': name one as y"):
        model.fit(two)
