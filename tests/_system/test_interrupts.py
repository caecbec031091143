"""Signals during imports and in finalizers, where Python itself would lose them."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]

# What runs inside the block; {number} is the signal. Every program goes on for ever if its signal is lost.
PROGRAMS = {
    "plain": "signal.raise_signal({number})",
    "import": "import slow",
    "finalizer": """
class Ends:
    def __del__(self):
        signal.raise_signal({number})

Ends()
""",
    "swallowed by an ImportError": """
try:
    signal.raise_signal({number})
except BaseException as error:
    raise ImportError("initialization failed") from error
""",
}
SLOW = """
import signal, time
try:
    signal.raise_signal({number})
    for _ in range(20):
        time.sleep(0.005)
except BaseException:
    print("an import was interrupted")
print("imported")
"""


def run(tmp_path: Path, program: str, number: int) -> subprocess.CompletedProcess[str]:
    (tmp_path / "slow.py").write_text(SLOW.format(number=number))
    lines = [
        "import signal, time",
        "from tsenet._system.interrupts import leave_with_signal_code",
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


def test_an_import_ends_before_the_signal_acts(tmp_path: Path) -> None:
    assert run(tmp_path, "import slow", 2).stdout == "imported\n"


def test_other_ends_stay_as_they_are(tmp_path: Path) -> None:
    assert run(tmp_path, "raise SystemExit(3)", 2).returncode == 3
    failed = run(tmp_path, "raise ValueError('of the program')", 2)
    assert failed.returncode == 1
    assert "of the program" in failed.stderr


def test_what_was_kept_after_a_signal_is_a_success(tmp_path: Path) -> None:
    program = """
try:
    signal.raise_signal({number})
except KeyboardInterrupt:
    raise SystemExit(0)
"""
    assert run(tmp_path, program, 2).returncode == 0
