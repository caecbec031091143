"""Training over several real processes on this machine: same result, killed processes, nothing left behind."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.reliability.shard_training import make_shards

pytestmark = pytest.mark.slow
ROOT = Path(__file__).parents[2]
MINUTES = 60.0


def environment() -> dict[str, str]:
    return {
        **os.environ,
        "PYTHONPATH": f"{ROOT / 'src'}{os.pathsep}{ROOT}",
        "OMP_NUM_THREADS": "1",
        "TORCH_DISABLE_SHARE_RDZV_TCP_STORE": "1",
    }


@pytest.fixture(scope="module")
def shards(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("data") / "shards"
    make_shards(folder)
    return folder


@pytest.fixture(scope="module")
def runs(shards: Path, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """Results of one, two and three processes, and of two of which one is killed."""
    folder = tmp_path_factory.mktemp("runs")
    found = {}
    for name, size, last in [("1", 1, 0), ("2", 2, 0), ("3", 3, 0), ("killed", 2, 21)]:
        program = ["-m", "tests.reliability.shard_training", str(shards)]
        program += [str(folder / f"{name}.json"), str(folder / f"{name}.run"), str(last)]
        torchrun = ["-m", "torch.distributed.run", "--standalone", f"--nproc-per-node={size}"]
        if last:
            torchrun.append("--max-restarts=1")
        command = [sys.executable, *(torchrun if size > 1 else []), *program]
        done = subprocess.run(
            command,
            capture_output=True,
            text=True,
            check=False,
            timeout=10 * MINUTES,
            env=environment(),
            cwd=ROOT,
        )
        assert done.returncode == 0, f"{name}: {done.stderr}"
        found[name] = json.loads((folder / f"{name}.json").read_text())
    return found


@pytest.mark.parametrize("size", ["2", "3"])
def test_the_loss_curve_is_that_of_one_process(runs: dict[str, Any], size: str) -> None:
    assert len(runs["1"]["loss"]) == 3
    for curve in ("loss", "validation"):
        np.testing.assert_allclose(runs[size][curve], runs["1"][curve], rtol=0, atol=1e-5)


def test_a_killed_process_changes_no_byte(runs: dict[str, Any]) -> None:
    """Also says that two runs of as many processes have the same bytes."""
    assert runs["killed"].pop("restarts") == 1
    assert runs["2"].pop("restarts") == 0
    assert runs["killed"] == runs["2"]


# ---- the command


def start(*arguments: str) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-m", "tsenet", *arguments],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env=environment(),
        preexec_fn=_hear_ctrl_c,  # noqa: PLW1509  # it takes no lock
    )


def _hear_ctrl_c() -> None:
    """A shell's background jobs ignore Ctrl-C, and so do the processes that they start."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)


def descendants(pid: int) -> set[int]:
    """All processes that a process started, and those that they started."""
    parent_of = {}
    for status in Path("/proc").glob("[0-9]*/stat"):
        try:
            text = status.read_text()
        except OSError:  # it has just ended
            continue
        parent_of[int(status.parent.name)] = int(text.rpartition(")")[2].split()[1])
    found: set[int] = set()
    new = {pid}
    while new:
        new = {child for child, parent in parent_of.items() if parent in new}
        found |= new
    return found


def is_alive(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


def wait_until(condition: Any, what: str) -> None:
    deadline = time.monotonic() + 5 * MINUTES
    while not condition():
        assert time.monotonic() < deadline, f"waited too long: {what}"
        time.sleep(0.05)


@pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="finds processes by /proc")
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGKILL])
def test_no_process_is_left_behind(shards: Path, tmp_path: Path, number: signal.Signals) -> None:
    long = ["--max-epochs", "100000", "--patience", "100000", "--quiet"]
    out = ["--out", str(tmp_path / "model.tsenet"), "--checkpoint", str(tmp_path / "run")]
    command = ["fit", str(shards), "--target", "subject", "--processes", "2", *long, *out]
    with start(*command) as process:
        checkpoint = tmp_path / "run" / "training-shards.checkpoint"
        started: set[int] = set()
        try:
            wait_until(
                lambda: checkpoint.exists() or process.poll() is not None, "training to begin"
            )
            assert process.poll() is None, process.communicate()
            started = descendants(process.pid)
            assert len(started) >= 3  # the launcher and two processes
            process.send_signal(number)
            process.communicate(timeout=5 * MINUTES)
            assert process.returncode == (130 if number == signal.SIGINT else -signal.SIGKILL)
            wait_until(lambda: not any(map(is_alive, started)), f"{started} to end")
        finally:
            for pid in {process.pid, *started}:
                if is_alive(pid):
                    os.kill(pid, signal.SIGKILL)
    assert not (tmp_path / "model.tsenet").exists()


def test_a_damaged_shard_is_named_once(tmp_path: Path) -> None:
    make_shards(tmp_path / "shards")
    damaged = tmp_path / "shards" / "part-00003.parquet"
    content = bytearray(damaged.read_bytes())
    content[50:60] = bytes(10)
    damaged.write_bytes(content)
    out = ["--out", str(tmp_path / "m.tsenet"), "--checkpoint", str(tmp_path / "run"), "--quiet"]
    process = start(
        "fit", str(tmp_path / "shards"), "--target", "subject", "--processes", "2", *out
    )
    _, stderr = process.communicate(timeout=10 * MINUTES)
    assert process.returncode == 1
    assert stderr.count("part-00003.parquet, row group 0") == 1, stderr
    assert stderr.splitlines()[-1].startswith("error: ")
    assert not (tmp_path / "m.tsenet").exists()
