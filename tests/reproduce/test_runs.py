"""Runs have stable keys; the store survives kills and torn lines."""

from __future__ import annotations

import json
import logging
import os
import shutil
import signal
import subprocess
import sys
from dataclasses import asdict
from pathlib import Path

import numpy as np
import pytest

import reproduce
import tsenet
from reproduce.runs import Result, Run, RunStore, canonical, versions

RESULT = Result(0.5, None, 7, 1.5, 2.5, {"python": "3"}, {"areas": [0.5, None]})


def some_runs(count: int) -> list[Run]:
    return [Run("table3", "digits", "fnn", {"dropout": 0.5}, seed) for seed in range(count)]


def test_keys_are_the_same_today_and_tomorrow() -> None:
    # Written down once: a change would orphan every store there is.
    run = Run("table3", "ag_news", "fnn", {"hidden": (512, 512), "dropout": 0.5}, 1, None, True)
    assert run.key == "3471031b4a082144"


def test_keys_do_not_depend_on_the_order_of_settings_or_on_tuples() -> None:
    one = Run("a", "b", "c", {"x": 1, "y": (1, 2)})
    two = Run("a", "b", "c", {"y": [1, 2], "x": 1})
    assert one == two
    assert one.key == two.key
    assert hash(one) == hash(two)


@pytest.mark.parametrize(
    "change",
    [
        {"experiment": "x"},
        {"dataset": "x"},
        {"method": "x"},
        {"settings": {"dropout": 0.2}},
        {"seed": 1},
        {"n_labels": 100},
        {"quick": True},
        {"final": False},
    ],
)
def test_every_field_counts(change: dict[str, object]) -> None:
    plain = {"experiment": "e", "dataset": "d", "method": "m", "settings": {"dropout": 0.5}}
    assert Run(**plain).key != Run(**{**plain, **change}).key  # type: ignore[arg-type]


@pytest.mark.parametrize("value", [float("nan"), np.float32(1), object()])
def test_settings_json_cannot_hold_are_refused(value: object) -> None:
    with pytest.raises((ValueError, TypeError)):
        Run("a", "b", "c", {"x": value})


def test_a_store_remembers(tmp_path: Path) -> None:
    path = tmp_path / "deep" / "runs.jsonl"
    store = RunStore(path)
    first, second = some_runs(2)
    assert len(store) == 0
    assert store.get(first) is None
    store.add(first, RESULT)
    assert first in store
    again = RunStore(path)
    assert again.items() == [(first, RESULT)]
    assert second not in again
    line = json.loads(path.read_text("utf-8"))
    assert line["run"] == asdict(first)
    assert line["result"]["validation"] == 0.5


def test_of_two_lines_for_one_run_the_later_counts(tmp_path: Path) -> None:
    store = RunStore(tmp_path / "runs.jsonl")
    (run,) = some_runs(1)
    store.add(run, RESULT)
    store.add(run, Result(0.9, 0.8, 7, 1.0, 1.0))
    again = RunStore(store.path)
    assert len(again) == 1
    found = again.get(run)
    assert found is not None
    assert found.test == 0.8


def test_a_file_cut_anywhere_loses_only_the_torn_run(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    whole = RunStore(tmp_path / "whole.jsonl")
    runs = some_runs(4)
    for run in runs:
        whole.add(run, RESULT)
    content = whole.path.read_bytes()
    ends = [k for k, byte in enumerate(content) if byte == ord("\n")]
    rng = np.random.default_rng(0)
    cuts = {0, 1, *ends, *(end + 1 for end in ends), *rng.integers(len(content), size=60).tolist()}
    for number, cut in enumerate(sorted(cuts)):
        path = tmp_path / f"{number}.jsonl"
        path.write_bytes(content[:cut])
        caplog.clear()
        with caplog.at_level(logging.WARNING, "tsenet"):
            store = RunStore(path)
        n_whole = sum(end <= cut for end in ends)  # without its newline a line is whole too
        torn = cut not in {0, *ends, *(end + 1 for end in ends)}
        assert [run for run, _ in store.items()] == runs[:n_whole], cut
        assert store.n_torn == torn
        assert len(caplog.records) == torn
        for run in runs[n_whole:]:
            store.add(run, RESULT)
        assert [run for run, _ in RunStore(path).items()] == runs


@pytest.mark.parametrize(
    "line", ["{}", "[]", "7", '{"key":"x","run":{},"result":{}}', "\xff\xfe", '{"run":3}']
)
def test_foreign_lines_are_left_out(line: str, tmp_path: Path) -> None:
    path = tmp_path / "runs.jsonl"
    path.write_text(line + "\n", "latin-1")
    store = RunStore(path)
    assert len(store) == 0
    assert store.n_torn == 1


def test_a_line_whose_run_was_edited_is_left_out(tmp_path: Path) -> None:
    store = RunStore(tmp_path / "runs.jsonl")
    store.add(some_runs(1)[0], RESULT)
    edited = store.path.read_text("utf-8").replace('"dropout":0.5', '"dropout":0.6')
    store.path.write_text(edited, "utf-8")
    store.reload()
    assert len(store) == 0


def test_two_processes_may_write_one_file(tmp_path: Path) -> None:
    path = tmp_path / "runs.jsonl"
    ours, theirs = RunStore(path), RunStore(path)
    first, second = some_runs(2)
    ours.add(first, RESULT)
    theirs.add(second, RESULT)
    ours.reload()
    assert {run for run, _ in ours.items()} == {first, second}


def test_setting_aside_keeps_the_old_files(tmp_path: Path) -> None:
    store = RunStore(tmp_path / "runs.jsonl")
    assert store.set_aside() is None
    asides = []
    for run in some_runs(2):
        store.add(run, RESULT)
        asides.append(store.set_aside())
        assert len(store) == 0
    assert [path.name for path in asides if path] == ["runs.jsonl.1", "runs.jsonl.2"]
    assert all(len(RunStore(path)) == 1 for path in asides if path)


def test_a_killed_process_leaves_what_it_finished(tmp_path: Path) -> None:
    program = """
import os, signal, sys
from reproduce.runs import Result, Run, RunStore
store = RunStore(sys.argv[1])
for seed in range(100):
    store.add(Run("e", "d", "m", {}, seed), Result(0.5, 0.5, 1, 1.0, 1.0))
    if seed == 7:
        os.kill(os.getpid(), signal.SIGKILL)
"""
    path = tmp_path / "runs.jsonl"
    ended = subprocess.run(
        [sys.executable, "-c", program, str(path)],
        check=False,
        env={**os.environ, "PYTHONDONTWRITEBYTECODE": "1"},
    )
    assert ended.returncode == -signal.SIGKILL
    assert [run.seed for run, _ in RunStore(path).items()] == list(range(8))


def test_canonical_json_has_one_spelling() -> None:
    assert canonical({"b": 1, "a": [1.0, "ä"]}) == '{"a":[1.0,"ä"],"b":1}'


def test_versions_name_what_the_numbers_depend_on() -> None:
    assert {"tsenet", "python", "numpy", "torch"} <= set(versions())


def test_a_run_reads_well() -> None:
    start = {"hidden": [8]}
    run = Run("e", "digits", "pruned", {"start": start, "n_parameters": 9}, 2, 100, final=False)
    assert str(run) == "digits pruned n_parameters=9 100 labels seed 2 (choosing)"


def test_versions_name_the_commit_of_a_checkout(tmp_path: Path) -> None:
    """Of the code that is imported, marked if it differs; nothing where the code is no part of a checkout."""
    compiled = shutil.ignore_patterns("__pycache__")
    for package in (reproduce, tsenet):
        assert package.__file__ is not None
        own = Path(package.__file__).parent
        shutil.copytree(own, tmp_path / own.name, ignore=compiled)
    asked = [
        sys.executable,
        "-B",
        "-c",
        "from reproduce.runs import versions as v; print(v()['commit'])",
    ]

    def told() -> str:
        return subprocess.run(
            asked,
            cwd=tmp_path,
            env={**os.environ, "PYTHONPATH": str(tmp_path)},
            capture_output=True,
            text=True,
            check=True,
        ).stdout.strip()

    def git(*command: str) -> str:
        who = ("-c", "user.name=n", "-c", "user.email=e@x")
        return subprocess.run(
            ["git", *who, *command], cwd=tmp_path, capture_output=True, text=True, check=True
        ).stdout.strip()

    git("init", "-q")
    assert told() == ""
    git("add", "tsenet", "reproduce")
    git("commit", "-q", "-m", "code")
    commit = git("log", "-1", "--format=%h")
    assert told() == commit
    (tmp_path / "notes.txt").write_text("not code")
    assert told() == commit
    for package in ("tsenet", "reproduce"):
        with (tmp_path / package / "__init__.py").open("a") as file:
            file.write("# changed\n")
        assert told() == commit + "+"
        git("checkout", "-q", ".")
        assert told() == commit
