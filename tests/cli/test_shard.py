"""``tsenet shard``, and topics of its folders."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

import tsenet
from tsenet.cli.app import app
from tsenet.data.shards import open_shards


def test_shard_writes_a_folder(tmp_path: Path) -> None:
    path = tmp_path / "pets.csv"
    path.write_text("text,animal\ncats purr,cat\ndogs bark,dog\ncats bark,cat\n")
    arguments = ["shard", str(path), "--out", str(tmp_path / "out"), "--label", "animal", "--json"]
    result = CliRunner().invoke(app, [*arguments, "--quiet"])
    assert result.exit_code == 0, result.output
    assert json.loads(result.stdout)["rows"] == 3
    assert open_shards(tmp_path / "out").classes == {"animal": ("cat", "dog")}
    again = CliRunner().invoke(app, [*arguments, "--quiet"])
    assert again.exit_code == 1
    assert "finished shards" in again.stderr


@pytest.mark.parametrize(
    ("rows", "written"), [(3, "1 shard of 1 partition"), (2, "1 shard of 2 partitions")]
)
def test_shard_says_what_it_wrote(tmp_path: Path, rows: int, written: str) -> None:
    path, out = tmp_path / "pets.txt", tmp_path / "out"
    path.write_text("cats purr\ndogs bark\ncats bark\n")
    arguments = ["shard", path, "--out", out, "--rows-per-partition", rows, "--quiet"]
    result = CliRunner().invoke(app, [str(each) for each in arguments])
    assert result.stdout.splitlines()[1:] == [f"written to {out}: {written}"], result.output


def test_words_are_counted_by_several_processes(tmp_path: Path) -> None:
    path = tmp_path / "d.jsonl"
    write_documents(path)
    for name, option in (("one", []), ("two", ["--workers", "2"])):
        arguments = ["shard", str(path), "--out", str(tmp_path / name), "--quiet", *option]
        assert CliRunner().invoke(app, arguments).exit_code == 0
    assert open_shards(tmp_path / "one").digest == open_shards(tmp_path / "two").digest
    for wrong in (["--table"], ["--cluster", "tcp://127.0.0.1:9"]):
        result = CliRunner().invoke(app, [*arguments, *wrong])
        assert result.exit_code == 2, wrong


@pytest.mark.parametrize("option", [["--words", "5"], ["--text", "body"], ["--ngrams", "2"]])
def test_a_table_has_no_words(tmp_path: Path, option: list[str]) -> None:
    path = tmp_path / "t.csv"
    path.write_text("a,b\n1,2\n")
    arguments = ["shard", str(path), "--out", str(tmp_path / "out"), "--table", *option]
    result = CliRunner().invoke(app, arguments)
    assert result.exit_code == 2
    assert not (tmp_path / "out").exists()


def write_documents(path: Path) -> None:
    rng = np.random.default_rng(0)
    letters = "abcdefghijklmnop"
    words = [[f"{letters[k]}{letters[j]}word" for j in range(8)] for k in range(3)]
    with path.open("w") as file:
        for _ in range(400):
            topics = [k for k in range(3) if rng.random() < 0.4]
            text = [
                w
                for k in range(3)
                for w in words[k]
                if rng.random() < (0.6 if k in topics else 0.05)
            ]
            file.write(json.dumps({"text": " ".join(text)}) + "\n")


def test_topics_of_shards_are_those_of_the_file(tmp_path: Path) -> None:
    path = tmp_path / "d.jsonl"
    write_documents(path)
    run = CliRunner().invoke
    assert (
        run(
            app,
            [
                "shard",
                str(path),
                "--out",
                str(tmp_path / "s"),
                "--rows-per-partition",
                "90",
                "--quiet",
            ],
        ).exit_code
        == 0
    )
    common = ["--quiet", "--no-explorer", "--max-top", "3", "--refine-steps", "5"]
    whole = run(app, ["topics", str(path), "--out", str(tmp_path / "a"), *common])
    parts = run(
        app,
        ["topics", str(tmp_path / "s"), "--out", str(tmp_path / "b"), "--memory", "1GB", *common],
    )
    assert whole.exit_code == parts.exit_code == 0, parts.output
    assert whole.stdout.splitlines()[0] == parts.stdout.splitlines()[0]
    assert tsenet.load(tmp_path / "a" / "tree.tsenet") == tsenet.load(
        tmp_path / "b" / "tree.tsenet"
    )
    assert (tmp_path / "a" / "documents.csv").read_text() == (
        tmp_path / "b" / "documents.csv"
    ).read_text()
    model = tsenet.load(tmp_path / "b" / "model.tsenet")
    assert model.transform(["aaword abword acword adword"]).shape[0] == 1


def test_options_that_cannot_apply_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "d.jsonl"
    write_documents(path)
    run = CliRunner().invoke
    result = run(app, ["topics", str(path), "--out", str(tmp_path / "a"), "--workers", "2"])
    assert result.exit_code == 2
    assert "tsenet shard" in " ".join(result.stderr.split())
    run(app, ["shard", str(path), "--out", str(tmp_path / "s"), "--quiet"])
    for option in (["--words", "5"], ["--memory", "much"]):
        result = run(app, ["topics", str(tmp_path / "s"), "--out", str(tmp_path / "a"), *option])
        assert result.exit_code == 2, option
    result = run(
        app, ["topics", str(tmp_path / "s"), "--out", str(tmp_path / "a"), "--memory", "100MB"]
    )
    assert result.exit_code == 1
    assert "needs" in result.stderr
    assert not (tmp_path / "a").exists()
