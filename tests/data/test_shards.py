"""Folders of shards: what is written is what is read, damage is named, and files become the rows they hold."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.feature_extraction.text import CountVectorizer

from tsenet.data import (
    ShardFolder,
    Table,
    count_words,
    open_shards,
    shard_documents,
    vectorize,
    write_batches,
    write_shards,
)
from tsenet.data.shards import MANIFEST
from tsenet.errors import DataError


def documents(n_rows: int = 23, n_words: int = 7, seed: int = 0) -> sp.csr_array:
    rng = np.random.default_rng(seed)
    return sp.csr_array(rng.poisson(0.4, (n_rows, n_words)).astype(np.int32))


def all_rows(shards: ShardFolder) -> np.ndarray:
    parts = [shards.read(shard).values for shard in shards.shards]
    return np.vstack([part.toarray() for part in parts])


@settings(max_examples=12)
@given(st.integers(1, 30), st.integers(1, 9))
def test_rows_come_back_for_any_cut(
    tmp_path_factory: pytest.TempPathFactory, n_rows: int, per_group: int
) -> None:
    rows = documents(n_rows)
    folder = tmp_path_factory.mktemp("shards") / "new"
    labels = {"y": list(range(n_rows))}
    shards = write_shards(folder, rows, labels=labels, rows_per_shard=per_group)
    assert shards.shape == rows.shape
    assert shards.nnz == rows.nnz
    assert (all_rows(shards) == rows.toarray()).all()
    starts = [part.start for part in shards.shards]
    assert starts == list(range(0, n_rows, per_group))
    labels = [shards.read_labels(shard, ["y"])["y"] for shard in shards.shards]
    assert np.concatenate(labels).tolist() == list(range(n_rows))


def test_missing_labels_survive(tmp_path: Path) -> None:
    labels = {"kind": ["b", "a", None], "price": [1.5, 2.5, None], "n": [3, 1, 2]}
    shards = write_shards(tmp_path, documents(3), labels=labels, rows_per_shard=2)
    assert shards.labels == {"kind": "string", "price": "double", "n": "int64"}
    read = shards.read_labels(shards.shards[1], ["kind", "price"])
    assert read["kind"].tolist() == [None]
    assert np.isnan(read["price"]).all()


@pytest.mark.parametrize("rows", [[[0.5]], [[-1]], [[1e10]]])
def test_only_counts_are_written(tmp_path: Path, rows: list[list[float]]) -> None:
    with pytest.raises(DataError, match="a folder holds documents"):
        write_shards(tmp_path, rows)
    with pytest.raises(DataError, match=r"'colour' .* holds categories"):
        write_shards(tmp_path, pd.DataFrame({"colour": ["red", "blue"]}))


def batches_of(rows: sp.csr_array, size: int) -> Iterator[tuple[Table, dict[str, Any]]]:
    for start in range(0, rows.shape[0], size):
        yield Table.of(rows[start : start + size], names=list("abcdefg")), {}


def test_a_folder_appears_only_when_it_is_finished(tmp_path: Path) -> None:
    rows = documents(23)
    folder = tmp_path / "shards"

    def interrupted() -> Iterator[tuple[Table, dict[str, Any]]]:
        yield from batches_of(rows, 5)
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        write_batches(folder, interrupted(), rows_per_shard=2)
    with pytest.raises(DataError, match="a label column has the wrong length"):
        write_shards(folder, rows, labels={"y": [1]})
    assert list(tmp_path.iterdir()) == []
    with pytest.raises(DataError, match="not a finished folder"):
        open_shards(folder)
    write_batches(folder, batches_of(rows, 5), rows_per_shard=2)
    assert (all_rows(open_shards(folder)) == rows.toarray()).all()
    whole = write_shards(tmp_path / "whole", rows, names=list("abcdefg"), rows_per_shard=2)
    for file in whole.path.iterdir():  # however the rows came
        assert file.read_bytes() == (folder / file.name).read_bytes()
    with pytest.raises(DataError, match="finished"):
        write_batches(folder, batches_of(rows, 5))


def test_damage_names_the_file(tmp_path: Path) -> None:
    shards = write_shards(tmp_path, documents(3000, 50), rows_per_shard=1000)
    first, bad, missing = shards.shards
    content = bytearray((tmp_path / bad.file).read_bytes())
    content[len(content) // 3] ^= 0xFF
    (tmp_path / bad.file).write_bytes(content)
    assert shards.read(first).n_rows == 1000
    with pytest.raises(DataError, match=r"part-00001.parquet cannot be read"):
        shards.read(bad)
    (tmp_path / missing.file).unlink()
    with pytest.raises(DataError, match=r"part-00002.parquet is missing"):
        shards.read(missing)


def replace_shard(folder: Path, columns: dict[str, object]) -> None:
    import pyarrow
    import pyarrow.parquet

    path = folder / "part-00000.parquet"
    metadata = pyarrow.parquet.read_schema(path).metadata
    table = pyarrow.table(columns).replace_schema_metadata(metadata)
    pyarrow.parquet.write_table(table, path)


@pytest.mark.parametrize(
    ("words", "counts", "complaint"),
    [
        ([[0, 9], [1]], [[1, 1], [1]], "indices"),
        ([[0, -1], [1]], [[1, 1], [1]], "indices"),
        ([[0, 1], [1]], [[1], [1, 1]], "count of at least 1"),
        ([[0, 1], [1]], [[1, 0], [1]], "count of at least 1"),
        ([[0, None], [1]], [[1, 1], [1]], "nulls"),
        ([[0, 1]], [[1, 1]], "shards.json"),
    ],
)
def test_wrong_content_is_refused(
    tmp_path: Path, words: list[object], counts: list[object], complaint: str
) -> None:
    import pyarrow

    shards = write_shards(tmp_path, sp.csr_array([[1, 0, 0], [0, 1, 0]]))
    kind = pyarrow.list_(pyarrow.int32())
    replace_shard(
        tmp_path, {"words": pyarrow.array(words, kind), "counts": pyarrow.array(counts, kind)}
    )
    with pytest.raises(DataError, match=f"part-00000.*{complaint}"):
        shards.read(shards.shards[0])


@pytest.mark.parametrize(
    "change",
    [{"format": 99}, {"rows": []}, {"rows": [0]}, {"rows": 5}, {"labels": 3}],
)
def test_a_damaged_manifest_is_refused(tmp_path: Path, change: dict[str, object]) -> None:
    write_shards(tmp_path, documents())
    fields = json.loads((tmp_path / MANIFEST).read_text())
    (tmp_path / MANIFEST).write_text(json.dumps(fields | change))
    with pytest.raises(DataError, match=MANIFEST):
        open_shards(tmp_path)


def test_unknown_labels_and_wrong_rows_are_refused(tmp_path: Path) -> None:
    shards = write_shards(tmp_path / "a", documents(), labels={"y": [0] * 23})
    with pytest.raises(DataError, match="no label 'z'; it has 'y'"):
        shards.read_labels(shards.shards[0], ["z"])
    counts = Table.of([[1, 1]], names=["a", "b"])
    first = counts, {"y": ["red"]}
    for batches, why in (
        ([first, (Table.of([[1]]), {"y": ["red"]})], "the 2 columns of the first"),
        ([first, (counts, {})], "labels must be"),
        ([(Table.of([[-1, 1]]), {})], "not below 0"),
        ([], "no rows"),
        ([first, (counts, {"y": [3]})], "mixed types"),
        ([(counts, {"y": ["red", "blue"]})], "the wrong length"),
        ([(counts, {"words": ["red"]})], "cannot be called"),
    ):
        with pytest.raises(DataError, match=why):
            write_batches(tmp_path / "b", batches)


# ---- files

WORDS = ["apple", "bread", "cheese", "dates", "eggs", "figs", "grapes"]


def write_texts(folder: Path) -> tuple[list[Path], list[str]]:
    rng = np.random.default_rng(0)
    texts = [" ".join(rng.choice(WORDS, rng.integers(0, 6))) for _ in range(60)]
    paths = [folder / "a.jsonl", folder / "b.jsonl"]
    for path, part in zip(paths, (texts[:25], texts[25:]), strict=True):
        lines = [json.dumps({"text": t, "kind": len(t) % 3}) for t in part]
        path.write_text("\n".join(lines) + "\n")
    return paths, texts


@pytest.mark.parametrize(
    "options",
    [
        {"max_features": 3},
        {"ngram_range": (1, 2), "max_df": 0.5},
        {"min_df": 2, "stop_words": ["figs"]},
        {"min_df": 0.3},
        {"vocabulary": ["figs", "apple"]},
        {"analyzer": "char_wb", "max_features": 20},
    ],
)
def test_the_counts_are_those_in_memory(tmp_path: Path, options: dict[str, Any]) -> None:
    paths, texts = write_texts(tmp_path)
    vectorizer = CountVectorizer(**options)
    shards = shard_documents(
        paths, tmp_path / "s", vectorizer=vectorizer, labels=["kind"], rows_per_shard=7
    )
    table = vectorize(texts, CountVectorizer(**options))
    assert shards.names == table.names
    assert (all_rows(shards) == table.values.toarray()).all()
    labels = [shards.read_labels(part, ["kind"])["kind"] for part in shards.shards]
    assert np.concatenate(labels).tolist() == [len(t) % 3 for t in texts]
    assert count_words(texts, shards.vectorizer()) == table
