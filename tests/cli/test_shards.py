"""``tsenet fit`` and ``tsenet predict`` on folders of shards."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pyarrow.parquet
import pytest

import tsenet
from tests.cli.program import SUBJECTS, fine, make_documents, run
from tsenet.data import vectorize, word_vectorizer
from tsenet.data.shard_writer import write_shards
from tsenet.data.shards import open_shards

QUICK = ("--max-epochs", "3", "--jobs", "1", "--quiet")
DOCUMENTS = make_documents(300)
SUBJECT = [
    max(range(len(SUBJECTS)), key=lambda k: sum(word in text for word in SUBJECTS[k]))
    for text in DOCUMENTS
]


@pytest.fixture(scope="module")
def shards(tmp_path_factory: pytest.TempPathFactory) -> Path:
    table = vectorize(DOCUMENTS, word_vectorizer(stop_words="english"))
    folder = tmp_path_factory.mktemp("data") / "shards"
    labels = {
        "subject": [f"s{k}" for k in SUBJECT],
        "key": [f"d{i}" for i in range(300)],
        "size": [0.5 + 2 * k for k in SUBJECT],
    }
    write_shards(
        folder,
        table,
        labels=labels,
        rows_per_group=40,
        groups_per_shard=3,
    )
    return folder


@pytest.fixture(scope="module")
def model(shards: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("model") / "m.tsenet"
    fine("fit", shards, "--target", "subject", "--out", path, *QUICK)
    return path


def test_fit_says_what_it_made(shards: Path, tmp_path: Path) -> None:
    printed = fine("fit", shards, "--target", "subject", "-o", tmp_path / "m", *QUICK, "--json")
    fields = json.loads(printed)
    assert fields["rows"] == 300
    assert fields["epochs"] == 3
    assert fields["validation_loss"] > 0
    assert tsenet.load(tmp_path / "m").classes_.tolist() == ["s0", "s1", "s2"]


def test_numbers_make_a_regressor(shards: Path, tmp_path: Path) -> None:
    fine("fit", shards, "--target", "size", "-o", tmp_path / "m", *QUICK)
    assert isinstance(tsenet.load(tmp_path / "m"), tsenet.TSENetRegressor)


class TestPredict:
    def test_predictions_are_those_of_rows_in_memory(
        self, shards: Path, model: Path, tmp_path: Path
    ) -> None:
        printed = fine("predict", model, shards, "-o", tmp_path / "p", "--id", "key", "--quiet")
        assert printed.startswith("300 predictions written to 3 files")
        parts = [pyarrow.parquet.read_table(file) for file in sorted((tmp_path / "p").iterdir())]
        assert [part.num_rows for part in parts] == [120, 120, 60]
        found = pyarrow.concat_tables(parts)
        assert found.column("key").to_pylist() == [f"d{i}" for i in range(300)]
        fitted = tsenet.load(model)
        folder = open_shards(shards)
        rows = [block.table for block in folder.blocks()]
        expected = np.concatenate([fitted.predict(part) for part in rows])
        assert found.column("subject").to_pylist() == expected.tolist()
        shares = np.concatenate([fitted.predict_proba(part) for part in rows])
        np.testing.assert_allclose(found.column("P(s1)").to_numpy(), shares[:, 1], atol=1e-6)

    def test_a_finished_file_is_kept_and_another_model_refused(
        self, shards: Path, model: Path, tmp_path: Path
    ) -> None:
        out = tmp_path / "p"
        fine("predict", model, shards, "-o", out, "--quiet")
        (out / "part-00001.parquet").unlink()
        before = (out / "part-00000.parquet").stat().st_mtime_ns
        fine("predict", model, shards, "-o", out, "--quiet")
        assert (out / "part-00000.parquet").stat().st_mtime_ns == before
        assert (out / "part-00001.parquet").exists()
        fine("fit", shards, "--target", "subject", "-o", tmp_path / "m", *QUICK, "--seed", 1)
        refused = run("predict", tmp_path / "m", shards, "-o", out, "--quiet")
        assert refused.exit_code == 1
        assert "is not of this model and folder" in refused.output
        fine("predict", tmp_path / "m", shards, "-o", out, "--quiet", "--force")
        assert (out / "part-00000.parquet").stat().st_mtime_ns > before

    def test_words_are_found_by_name(self, shards: Path, model: Path, tmp_path: Path) -> None:
        """A folder with its words in another order, some missing and some more."""
        folder = open_shards(shards)
        table = folder.read(folder.partitions[0]).table
        kept = np.arange(table.n_columns)[::-1][2:]
        names = ["another", *(folder.names[j] for j in kept)]
        dense = table.values.toarray()
        other = np.concatenate([np.ones((40, 1), np.int32), dense[:, kept]], axis=1)
        import scipy.sparse as sp

        write_shards(tmp_path / "other", sp.csr_array(other), names=names)
        fine("predict", model, tmp_path / "other", "-o", tmp_path / "p", "--quiet")
        found = pyarrow.parquet.read_table(tmp_path / "p" / "part-00000.parquet")
        dense[:, np.setdiff1d(np.arange(table.n_columns), kept)] = 0
        expected = tsenet.load(model).predict(tsenet.Table.of(sp.csr_array(dense), folder.names))
        assert found.column("subject").to_pylist() == expected.tolist()

    def test_refusals(self, shards: Path, model: Path, tmp_path: Path) -> None:
        assert "give --out" in run("predict", model, shards).output
        import scipy.sparse as sp

        write_shards(tmp_path / "other", sp.eye_array(3, dtype=int), names=["x", "y", "z"])
        found = run("predict", model, tmp_path / "other", "-o", tmp_path / "p", "--quiet")
        assert "has none of the" in found.output
        assert not (tmp_path / "p").exists()


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (("--target", "missing"), "has no label 'missing'; it has 'subject', 'key', 'size'"),
        (("--target", "subject", "--text", "a"), "--text is for files"),
        (("--target", "size", "--unlabeled", "x"), "--unlabeled is for classes"),
    ],
)
def test_refusals_of_fit(
    shards: Path, tmp_path: Path, options: tuple[str, ...], message: str
) -> None:
    found = run("fit", shards, "--out", tmp_path / "m", *options, "--quiet")
    assert found.exit_code == 1
    assert message in found.output
    assert found.output.count("\n") == 1


def test_a_folder_without_shards_is_refused(tmp_path: Path) -> None:
    (tmp_path / "d").mkdir()
    found = run("fit", tmp_path / "d", "--target", "y", "--out", tmp_path / "m")
    assert "is not a finished folder of shards" in found.output


@pytest.mark.slow
def test_the_workers_of_a_cluster_predict(shards: Path, model: Path, tmp_path: Path) -> None:
    from distributed import LocalCluster

    fine("predict", model, shards, "-o", tmp_path / "here", "--quiet")
    with LocalCluster(
        n_workers=1, threads_per_worker=1, dashboard_address=None, silence_logs=50
    ) as cluster:
        address = cluster.scheduler_address
        fine("predict", model, shards, "-o", tmp_path / "there", "--cluster", address, "--quiet")
    files = sorted(entry.name for entry in (tmp_path / "here").iterdir())
    assert files == sorted(entry.name for entry in (tmp_path / "there").iterdir())
    for name in files:
        one, other = (pyarrow.parquet.read_table(tmp_path / f / name) for f in ("here", "there"))
        assert one.equals(other)
