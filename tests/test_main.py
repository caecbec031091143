"""Signals leave the program with the code that shells expect, whatever became of their exception."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]

# What runs inside the block; {number} is the signal.
PROGRAMS = {
    "plain": "signal.raise_signal({number})",
    "swallowed by an ImportError": """
try:
    signal.raise_signal({number})
except BaseException as error:
    raise ImportError("initialization failed") from error
""",
}


def run(tmp_path: Path, program: str, number: int) -> subprocess.CompletedProcess[str]:
    lines = [
        "import signal, time",
        "from tsenet.__main__ import leave_with_signal_code",
        "with leave_with_signal_code():",
        *("    " + line for line in program.format(number=number).splitlines()),
        "    while True: time.sleep(0.005)",
    ]
    return subprocess.run(
        [sys.executable, "-c", "\n".join(lines)],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
        cwd=tmp_path,
        env={"PYTHONPATH": f"{ROOT / 'src'}:{tmp_path}"},
    )


@pytest.mark.parametrize("number", [2, 15])
@pytest.mark.parametrize("program", PROGRAMS.values(), ids=list(PROGRAMS))
def test_no_signal_is_lost(tmp_path: Path, program: str, number: int) -> None:
    ended = run(tmp_path, program, number)
    assert ended.returncode == 128 + number, ended.stderr
    assert ended.stderr == ""


def test_other_ends_stay_as_they_are(tmp_path: Path) -> None:
    assert run(tmp_path, "raise SystemExit(3)", 2).returncode == 3
    failed = run(tmp_path, "raise ValueError('of the program')", 2)
    assert failed.returncode == 1
    assert "of the program" in failed.stderr
