"""``tsenet shard``, and the commands that read its folders."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import tsenet
from tests.cli.program import QUICK_FIT, SUBJECTS, error_of, fine, make_documents, run
from tsenet.data import open_shards

DOCUMENTS = make_documents(300)


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Documents with keys, the subject with most words in each, and a number that follows from it."""
    path = tmp_path_factory.mktemp("shards") / "docs.jsonl"
    counts = [[sum(w in text for w in subject) for subject in SUBJECTS] for text in DOCUMENTS]
    subject = np.argmax(counts, axis=1)
    frame = pd.DataFrame({"text": DOCUMENTS, "subject": [f"s{k}" for k in subject]})
    frame["key"] = [f"d{k}" for k in range(len(frame))]
    frame["size"] = 0.5 + 2 * subject
    frame.to_json(path, orient="records", lines=True)
    return path


@pytest.fixture(scope="module")
def shards(data: Path) -> Path:
    out = data.parent / "folder"
    labels = [part for name in ("subject", "key", "size") for part in ("--label", name)]
    command = ("shard", data, "--out", out, *labels, "--stop-words", "english")
    printed = fine(*command, "--rows-per-shard", "40", "--quiet")
    assert printed.splitlines()[0].startswith("300 rows, 12 words")
    assert printed.splitlines()[1] == f"written to {out}: 8 shards"
    return out


@pytest.fixture(scope="module")
def model(shards: Path) -> Path:
    path = shards.parent / "m.tsenet"
    printed = fine("fit", shards, "--target", "subject", "-o", path, *QUICK_FIT, "--json")
    assert json.loads(printed)["rows"] == 300
    return path


class TestShard:
    def test_writes_a_folder_once(self, data: Path, tmp_path: Path) -> None:
        command = ("shard", data, "--out", tmp_path / "s", "--label", "subject", "--quiet")
        settings = ("--set", "min_documents=3", "--set", "ngrams=2")
        printed = json.loads(fine(*command, *settings, "--words", "20", "--json"))
        assert (printed["rows"], printed["columns"], printed["labels"]) == (300, 20, ["subject"])
        folder = open_shards(tmp_path / "s")
        assert folder.labels == {"subject": "string"}
        assert any(" " in name for name in folder.names)
        assert "finished shards" in error_of(*command)
        (tmp_path / "mine").mkdir()
        (tmp_path / "mine" / "notes.txt").write_text("mine")
        assert "such as notes.txt" in error_of("shard", data, "--out", tmp_path / "mine")

    @pytest.mark.slow
    def test_words_are_counted_by_several_processes(self, data: Path, tmp_path: Path) -> None:
        for name, option in (("one", []), ("two", ["--workers", "2"])):
            fine("shard", data, "--out", tmp_path / name, "--quiet", *option)
        for file in (tmp_path / "one").iterdir():
            assert file.read_bytes() == (tmp_path / "two" / file.name).read_bytes()


class TestTopics:
    def test_are_those_of_the_file(self, data: Path, shards: Path, tmp_path: Path) -> None:
        common = ("--quiet", "--no-explorer", "--out")
        fine("topics", data, *common, tmp_path / "a")
        fine("topics", shards, *common, tmp_path / "b")
        one, other = (tsenet.load(tmp_path / name / "model.tsenet").topics_ for name in "ab")
        assert one["members"].tolist() == other["members"].tolist()
        assert np.allclose(one["share"], other["share"])
        known = (tmp_path / "b" / "documents.csv").read_bytes()
        frames = [pd.read_csv(tmp_path / name / "documents.csv") for name in "ab"]
        # a folder of word counts has no texts in which titles could find phrases
        one, other = (frame.drop(columns="title") for frame in frames)
        assert one.equals(other)
        again = ("--model", tmp_path / "b" / "model.tsenet", "--quiet", "--out", tmp_path / "c")
        fine("topics", shards, *again)
        assert (tmp_path / "c" / "documents.csv").read_bytes() == known

    def test_options_of_files_are_refused(self, shards: Path, tmp_path: Path) -> None:
        for option in (("--text", "a"), ("--words", "9")):
            refused = run("topics", shards, "--out", tmp_path / "t", *option)
            assert refused.exit_code == 2
            assert option[0] in refused.stderr

    @pytest.mark.slow
    def test_workers(self, shards: Path, tmp_path: Path) -> None:
        common = ("--quiet", "--no-explorer", "--out")
        fine("topics", shards, *common, tmp_path / "here")
        fine("topics", shards, "--workers", "2", *common, tmp_path / "two")
        one, other = (tmp_path / name / "model.tsenet" for name in ("here", "two"))
        assert one.read_bytes() == other.read_bytes()


class TestModel:
    def test_predictions_are_those_of_the_rows(
        self, data: Path, shards: Path, model: Path, tmp_path: Path
    ) -> None:
        out = tmp_path / "p.csv"
        fine("predict", model, shards, "-o", out, "--id", "key", "--quiet")
        answers = pd.read_csv(out)
        truth = pd.read_json(data, lines=True)
        assert answers.columns.tolist() == ["key", "subject", "P(s0)", "P(s1)", "P(s2)"]
        assert answers["key"].tolist() == truth["key"].tolist()
        assert (answers["subject"] == truth["subject"]).mean() > 0.9
        fitted = tsenet.load(model)
        shares = fitted.predict_proba(truth["text"].tolist())
        assert np.allclose(answers[["P(s0)", "P(s1)", "P(s2)"]], shares, atol=1e-5)
        in_memory = fine("predict", model, data, "--id", "key", "--quiet")
        assert in_memory.splitlines()[1].startswith("d0,")

    def test_numbers_make_a_regressor(self, shards: Path, tmp_path: Path) -> None:
        fine("fit", shards, "--target", "size", "-o", tmp_path / "m", *QUICK_FIT)
        assert isinstance(tsenet.load(tmp_path / "m"), tsenet.TSENetRegressor)

    def test_refusals(self, shards: Path, model: Path, tmp_path: Path) -> None:
        command = ("fit", shards, "--out", tmp_path / "m", "--quiet", "--target")
        assert "has no label 'missing'" in error_of(*command, "missing")
        refused = run(*command, "subject", "--text", "a")
        assert refused.exit_code == 2
        assert "--text" in refused.stderr
        assert "folder of shards" in error_of("evaluate", model, shards, "--quiet")
        (tmp_path / "d").mkdir()
        command = ("fit", tmp_path / "d", "--target", "y", "--out", tmp_path / "m")
        assert "nor finished shards" in error_of(*command, "--quiet")
