"""Signals at any moment of a command: its exit code, and nothing half done left behind."""

from __future__ import annotations

import csv
import os
import random
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from tests.store.models import rows
from tsenet.store import load

ROOT = Path(__file__).parents[2]


@pytest.fixture
def data(tmp_path: Path) -> Path:
    path = tmp_path / "in" / "rows.csv"
    path.parent.mkdir()
    with path.open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(["y", "text", *"abcdefg"])
        draw = random.Random(0)
        for number, row in enumerate(rows(300).astype(int).tolist()):
            words = [f"word{number % 4}{draw.randrange(9)}" for _ in range(8)]
            writer.writerow([row[0], " ".join(["the", *words]), *row[1:]])
    return path


def command(verb: str, data: Path, out: Path) -> list[str]:
    if verb == "fit":
        options = ["--target", "y", "--ignore", "text", "--out", str(out), "--jobs", "1"]
        return ["fit", str(data), *options, "--set", "max_epochs=20000"]
    options = ["--text", "text", "--out", str(out), "--set", "min_documents=1"]
    return ["topics", str(data), *options]


def start(*arguments: str) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-m", "tsenet", *arguments],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ, "PYTHONPATH": str(ROOT / "src"), "OMP_NUM_THREADS": "1"},
        preexec_fn=_hear_ctrl_c,  # noqa: PLW1509  # it takes no lock
    )


def _hear_ctrl_c() -> None:
    """A shell's background jobs ignore Ctrl-C, and so do the processes that they start."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)


def end(process: subprocess.Popen[str], seconds: float, number: int) -> tuple[int, str]:
    """Wait, send a signal and return how the process ended.

    The signal is sent a second time: the first one is lost if it meets a finalizer while Python itself starts.
    """
    for wait in (seconds, 30.0):
        try:
            _, stderr = process.communicate(timeout=wait)
            return process.returncode, stderr
        except subprocess.TimeoutExpired:
            process.send_signal(number)
    try:
        _, stderr = process.communicate(timeout=60)
    except subprocess.TimeoutExpired:
        process.kill()
        _, stderr = process.communicate()
    return process.returncode, stderr


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
@pytest.mark.parametrize("seconds", [0.05, 0.4, 1.5, 6.0])
def test_a_stopped_fit_ends_with_128_and_its_signal(
    data: Path, tmp_path: Path, number: int, seconds: float
) -> None:
    out = tmp_path / "out" / "model.tsenet"
    out.parent.mkdir()
    code, stderr = end(start(*command("fit", data, out)), seconds, number)
    # −number: before the program could say more; the other: before Python itself had started
    assert (
        code in (128 + number, -number)
        or "Fatal Python error: init_" in stderr
        or "runpy" in stderr
    ), stderr
    assert list(out.parent.iterdir()) == []


@pytest.mark.parametrize("verb", ["fit", "topics"])
def test_a_killed_command_leaves_nothing_half_written(
    data: Path, tmp_path: Path, verb: str
) -> None:
    folder = tmp_path / "out"
    folder.mkdir()
    out = folder / ("model.tsenet" if verb == "fit" else "topics")
    draw = random.Random(0)
    for _ in range(int(os.environ.get("TSENET_KILLS", "2"))):
        process = start(*command(verb, data, out), "--force")
        code, stderr = end(process, draw.uniform(0.5, 8.0), signal.SIGKILL)
        assert code in (0, -signal.SIGKILL), stderr
        if out.exists():  # a run came to its end: all of it is there
            load(out if verb == "fit" else out / "model.tsenet")
    last = [argument.replace("2000", "1") for argument in command(verb, data, out)]
    finished = start(*last, "--force")
    _, stderr = finished.communicate(timeout=300)
    assert finished.returncode == 0, stderr
    visible = [entry.name for entry in folder.iterdir() if not entry.name.endswith(".tmp")]
    assert visible == [out.name]
