"""Shards of files: the same words and counts as in memory, in two passes that may be interrupted."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.feature_extraction.text import CountVectorizer

from tsenet.data import Table, count_words, sharding, vectorize, word_vectorizer
from tsenet.data.sharding import shard_documents, shard_table
from tsenet.data.shards import open_shards
from tsenet.data.text import TermCounts
from tsenet.errors import DataError, ProcessLostError

WORDS = ["apple", "bread", "cheese", "dates", "eggs", "figs", "grapes"]


def write_texts(folder: Path) -> tuple[list[Path], list[str]]:
    rng = np.random.default_rng(0)
    texts = [" ".join(rng.choice(WORDS, rng.integers(0, 6))) for _ in range(60)]
    paths = [folder / "a.jsonl", folder / "b.jsonl"]
    for path, part in zip(paths, (texts[:25], texts[25:]), strict=True):
        lines = [json.dumps({"text": t, "kind": len(t) % 3}) for t in part]
        path.write_text("\n".join(lines) + "\n")
    return paths, texts


def test_the_counts_are_those_in_memory(tmp_path: Path) -> None:
    paths, texts = write_texts(tmp_path)
    vectorizer = word_vectorizer(n_words=5)
    shards = shard_documents(
        paths, tmp_path / "s", vectorizer=vectorizer, labels=["kind"], rows_per_group=7
    )
    table = vectorize(texts, word_vectorizer(n_words=5))
    assert shards.names == table.names
    rows = sp.vstack([block.table.values for block in shards.blocks()])
    assert (rows.toarray() == table.values.toarray()).all()
    labels = [x for block in shards.blocks(labels=["kind"]) for x in block.labels["kind"].tolist()]
    assert labels == [len(t) % 3 for t in texts]
    assert count_words(texts, shards.vectorizer()) == table


def test_an_interrupted_call_goes_on(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    paths, _ = write_texts(tmp_path)
    monkeypatch.setattr(sharding, "_BATCH", 8)
    whole = shard_documents(paths, tmp_path / "whole", rows_per_group=2)
    seen: list[int] = []

    def interrupted(documents: list[str], vectorizer: Any) -> Table:
        seen.append(len(documents))
        if len(seen) == 5:
            raise KeyboardInterrupt
        return count_words(documents, vectorizer)

    monkeypatch.setattr(sharding, "count_words", interrupted)
    with pytest.raises(KeyboardInterrupt):
        shard_documents(paths, tmp_path / "cut", rows_per_group=2)
    with pytest.raises(DataError, match="not a finished folder"):
        open_shards(tmp_path / "cut")
    monkeypatch.setattr(TermCounts, "fit", None)  # the vocabulary is kept
    again = shard_documents(paths, tmp_path / "cut", rows_per_group=2)
    assert again.digest == whole.digest
    assert sum(seen[5:]) == 60 - 32  # two shards of 16 rows were there
    with pytest.raises(DataError, match="finished shards"):
        shard_documents(paths, tmp_path / "cut")


def content(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in sorted(folder.iterdir())}


def test_any_number_of_processes_writes_the_same_bytes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sharding, "_BATCH", 8)
    paths, _ = write_texts(tmp_path)
    for name, n_workers in (("one", None), ("two", 2)):
        shard_documents(
            *(paths, tmp_path / name),
            vectorizer=word_vectorizer(ngrams=2),
            labels=["kind"],
            rows_per_group=7,
            n_workers=n_workers,
        )
    assert content(tmp_path / "one") == content(tmp_path / "two")


def ends_the_process(*_: Any) -> Any:
    os._exit(1)


def test_a_lost_process_is_a_clear_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    paths, _ = write_texts(tmp_path)
    monkeypatch.setattr(sharding, "_count", ends_the_process)
    with pytest.raises(ProcessLostError, match="has ended, perhaps out of memory"):
        shard_documents(paths, tmp_path / "s", n_workers=1)


def test_functions_of_the_user_are_refused(tmp_path: Path) -> None:
    paths, _ = write_texts(tmp_path)
    with pytest.raises(DataError, match="cannot hold a vectorizer with tokenizer"):
        shard_documents(paths, tmp_path / "s", vectorizer=CountVectorizer(tokenizer=str.split))


def test_tables_of_numbers(tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    path.write_text("a,b,y\n1,2.5,red\n,4,blue\n5,6,red\n")
    shards = shard_table([path], tmp_path / "s", labels=["y"], rows_per_group=2)
    rows = np.vstack([block.table.values for block in shards.blocks()])
    np.testing.assert_array_equal(rows, [[1, 2.5], [np.nan, 4], [5, 6]])
    assert shards.classes == {"y": ("blue", "red")}
    with pytest.raises(DataError, match=r"t.csv, record 1: 'y' holds 'red', not a number"):
        shard_table([path], tmp_path / "other")
