"""The command line of ``python -m reproduce``."""

from __future__ import annotations

import os
import re
import shlex
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from reproduce.commands import Name, app
from reproduce.definitions import EXPERIMENTS
from reproduce.runs import RunStore
from tsenet.errors import DataError

FAST = ["--datasets", "digits", "--quick", "--seeds", "1", "--jobs", "1"]


def run(*arguments: object) -> Result:
    return CliRunner().invoke(app, [*map(str, arguments)])


def test_every_experiment_has_a_name_and_a_line_of_help() -> None:
    assert {name.value for name in Name} == set(EXPERIMENTS)
    shown = run("--help")
    assert shown.exit_code == 0
    for name in EXPERIMENTS:
        assert re.search(rf"^ +{name} {{2,}}\w", shown.stdout, re.MULTILINE), name
    assert "--render-only" in shown.stdout


def test_the_experiments_are_listed() -> None:
    shown = run("--list")
    assert shown.exit_code == 0
    lines = shown.stdout.splitlines()
    assert [line.split()[0] for line in lines[::2]] == [name.value for name in Name]
    assert "ag_news" in lines[1]


def test_the_page_names_the_command(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    command = ["table3", *FAST, "--out", str(tmp_path), "--render-only", "--quiet"]
    monkeypatch.setattr(sys, "argv", ["__main__.py", *command])
    shown = run(*command)
    assert f"Command: `python -m reproduce {shlex.join(command)}`" in shown.stdout


def test_debug_shows_the_traceback(tmp_path: Path) -> None:
    wrong = ["table3", "--datasets", "nonsense", "--out", tmp_path]
    assert "Traceback" not in run(*wrong).stderr
    assert run(*wrong).stderr.count("\n") == 1
    assert isinstance(run(*wrong, "--debug").exception, DataError)


def test_a_small_table_is_written_and_resumed(tmp_path: Path) -> None:
    command = ["table3", *FAST, "--out", tmp_path, "--methods", "fnn-100", "--quiet"]
    first = run(*command)
    assert first.exit_code == 0, first.output
    assert "# Table 3" in first.stdout
    assert "FNN, 100 units" in first.stdout
    for end in (".md", ".csv", ".png", "-runs.csv"):
        assert (tmp_path / f"table3-quick{end}").stat().st_size > 0
    n_runs = len(RunStore(tmp_path / "runs" / "table3.jsonl"))
    assert f"{n_runs} runs done" in first.stdout
    second = run(*command)
    assert "\n0 runs done" in second.stdout
    fresh = run(*command, "--fresh")
    assert fresh.exit_code == 0, fresh.output
    assert f"{n_runs} runs done" in fresh.stdout
    assert (tmp_path / "runs" / "table3.jsonl.1").exists()


def test_render_only_does_no_run(tmp_path: Path) -> None:
    shown = run("table3", *FAST, "--out", tmp_path, "--render-only", "--quiet")
    assert shown.exit_code == 0, shown.output
    assert "0 final runs" in shown.stdout
    assert not (tmp_path / "runs").exists()


def test_a_data_set_that_is_not_at_hand_is_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "data" / "mnist").mkdir(parents=True)
    for part in ("train", "t10k"):
        for kind in ("images-idx3", "labels-idx1"):
            (tmp_path / "data" / "mnist" / f"{part}-{kind}-ubyte").write_bytes(b"no pictures")
    monkeypatch.setenv("TSENET_DATA", str(tmp_path / "data"))
    shown = run("figure-mnist", "--quick", "--out", tmp_path / "out", "--quiet")
    assert shown.exit_code == 1
    assert "Left out: mnist" in shown.stdout


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["table3", "--datasets", "nonsense"], "no data set 'nonsense'"),
        (["table3", "--datasets", "digits", "--methods", "svm"], "no method svm"),
        (["few-labels", "--labels", "many"], "a number of labels"),
        (["table4"], "table4"),
    ],
)
def test_wrong_wishes_are_refused(arguments: list[str], message: str, tmp_path: Path) -> None:
    refused = run(*arguments, "--out", tmp_path / "out")
    assert refused.exit_code in (1, 2)
    assert message in " ".join(refused.stderr.split())


def test_ctrl_c_keeps_the_runs_and_says_how_to_go_on(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "reproduce", "table3", *FAST, "--out", str(tmp_path)]
    environment = {**os.environ, "OMP_NUM_THREADS": "1", "OMP_WAIT_POLICY": "PASSIVE"}
    # A child inherits an ignored Ctrl-C, as a shell's background has it; a handler it does not.
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    process = subprocess.Popen(
        command, env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    signal.signal(signal.SIGINT, before)
    store = tmp_path / "runs" / "table3.jsonl"
    while not store.exists() and process.poll() is None:
        time.sleep(0.02)
    process.send_signal(signal.SIGINT)
    _, told = process.communicate(timeout=120)
    assert process.returncode == 130, told
    assert "The same command continues from there" in " ".join(told.split())
    kept = RunStore(store)
    assert len(kept) >= 1
    assert kept.n_torn == 0
