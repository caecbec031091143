"""tsenet data list, fetch and verify."""

from __future__ import annotations

import hashlib
import os
import pty
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from tests.datasets.makers import csv_text, documents, titled, write, write_mnist
from tests.datasets.server import Site, serving
from tsenet.cli.app import app
from tsenet.datasets.catalog import CATALOG, Remote

TRAIN = csv_text(titled(documents(40, 4))).encode()
TEST = csv_text(titled(documents(12, 4, seed=1))).encode()


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("TSENET_CACHE", str(tmp_path / "cache"))
    monkeypatch.delenv("TSENET_DATA", raising=False)
    return tmp_path / "cache"


@pytest.fixture
def site(monkeypatch: pytest.MonkeyPatch) -> Iterator[Site]:
    """AG's News on the test's own server; of the test file no digest is known."""
    with serving(Site({"train.csv": TRAIN, "test.csv": TEST})) as running:
        digest = f"sha256:{hashlib.sha256(TRAIN).hexdigest()}"
        remotes = (
            Remote("train.csv", f"{running.url}/train.csv", digest),
            Remote("test.csv", f"{running.url}/test.csv"),
        )
        monkeypatch.setitem(CATALOG, "ag_news", replace(CATALOG["ag_news"], remotes=remotes))
        yield running


def run(*arguments: object) -> Result:
    return CliRunner().invoke(app, ["data", *map(str, arguments)])


def lines_by_name(output: str) -> dict[str, str]:
    return {line.split()[0]: line for line in output.splitlines() if line.strip()}


def test_list(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, cache: Path) -> None:
    write_mnist(tmp_path / "data" / "mnist")
    monkeypatch.setenv("TSENET_DATA", str(tmp_path / "data"))
    result = run("list")
    assert result.exit_code == 0, result.output
    lines = lines_by_name(result.stdout)
    assert set(CATALOG) < set(lines)
    assert lines["mnist"].split()[1:7] == ["60,000", "+", "10,000", "784", "pixels", "yes"]
    assert " no " in lines["imdb"]
    assert " yes " in lines["digits"]
    assert "Yelp Dataset Agreement, non-commercial" in lines["yelp_review_full"]
    assert "Yahoo! Answers" in lines["yahoo_answers"]
    assert str(tmp_path / "data") in result.stdout
    assert str(cache) in result.stdout


def test_list_fits_a_narrow_terminal() -> None:
    """A real terminal of 80 columns: no line is longer."""
    ours, theirs = pty.openpty()
    environment = {**os.environ, "COLUMNS": "80", "TERM": "dumb"}
    process = subprocess.Popen(
        [sys.executable, "-m", "tsenet", "data", "list"],
        stdout=theirs,
        stderr=subprocess.PIPE,
        env=environment,
    )
    os.close(theirs)
    output = b""
    while True:
        try:
            block = os.read(ours, 4096)
        except OSError:  # how a terminal says that nobody writes any more
            break
        if not block:
            break
        output += block
    os.close(ours)
    _, errors = process.communicate(timeout=60)
    assert process.returncode == 0, errors
    table = output.decode().split("Rows:")[0].splitlines()
    assert len(table) > len(CATALOG)
    assert max(len(line.rstrip()) for line in table) <= 80
    assert any("yelp_review_full" in line for line in table)


def test_fetch(site: Site, cache: Path) -> None:
    result = run("fetch", "ag_news", "digits", "ag_news", "--quiet")
    assert result.exit_code == 0, result.output
    assert "AG's News: licence: non-commercial use only" in result.stdout
    assert "please cite: Zhang" in result.stdout
    assert str(cache / "files" / "ag_news" / "train.csv") in result.stdout
    unknown = [line for line in result.stdout.splitlines() if "no published digest" in line]
    assert len(unknown) == 1
    assert "test.csv" in unknown[0]
    assert "needs no files" in result.stdout
    assert len(site.asked) == 2
    verified = run("verify", "ag_news")
    assert verified.exit_code == 0
    assert "official" in verified.stdout
    assert "as recorded" in verified.stdout


def test_fetch_a_label_of_tox21_names_the_whole_set(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(CATALOG, "tox21", replace(CATALOG["tox21"], remotes=()))
    result = run("fetch", "tox21/NR-AR", "--quiet")
    assert result.exit_code == 0, result.output
    assert "Tox21 challenge" in result.stdout


def test_unknown_name_fetches_nothing(site: Site) -> None:
    result = run("fetch", "ag_news", "mnsit")
    assert result.exit_code == 1
    assert result.stderr == "error: there is no data set 'mnsit': did you mean mnist?\n"
    assert site.asked == []


def test_failure_is_one_line(site: Site) -> None:
    del site.files["test.csv"]
    result = run("fetch", "ag_news", "--quiet")
    assert result.exit_code == 1
    assert result.stderr.startswith("error: cannot download test.csv of ag_news from http://")
    assert "put train.csv, test.csv" in result.stderr
    assert result.stderr.count("\n") == 1
    site.files["train.csv"] = b"something else"
    (Path(os.environ["TSENET_CACHE"]) / "files" / "ag_news" / "train.csv").unlink()
    result = run("fetch", "ag_news", "--quiet")
    assert result.exit_code == 1
    assert "not the expected file" in result.stderr


def test_verify_all_that_are_here(
    site: Site, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TSENET_DATA", str(tmp_path))
    write(tmp_path / "ag_news" / "train.csv.xz", TRAIN)
    write(tmp_path / "ag_news" / "test.csv", TEST)
    result = run("verify")
    assert result.exit_code == 0, result.output
    assert [line.split()[0] for line in result.stdout.splitlines()] == ["official", "recorded"]
    write(tmp_path / "ag_news" / "test.csv", TEST + b"more")
    write(tmp_path / "ag_news" / "train.csv.xz", TRAIN + b"more")
    result = run("verify")
    assert result.exit_code == 1
    assert [line.split()[0] for line in result.stdout.splitlines()] == ["differs", "changed"]
    path = tmp_path / "ag_news" / "train.csv.xz"
    path.write_bytes(path.read_bytes()[:-20])
    assert "damaged" in run("verify").stdout


def test_verify_what_is_not_there() -> None:
    result = run("verify", "imdb", "digits")
    assert result.exit_code == 1
    assert result.stdout == "imdb: no files found\ndigits: needs no files\n"
    assert run("verify", "digits").exit_code == 0
    nothing = run("verify")
    assert nothing.exit_code == 0
    assert nothing.stdout.startswith("nothing to check: no files found in TSENET_DATA")
