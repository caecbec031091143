"""What killed writers leave behind goes with the next writer; what living ones write stays."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tsenet._system import atomic
from tsenet._system.atomic import atomic_folder, atomic_write

DIE = """
import os, signal, sys
from tsenet._system.atomic import atomic_folder, atomic_write
if sys.argv[1] == "folder":
    with atomic_folder(sys.argv[2]) as folder:
        (folder / "part").write_text("half")
        os.kill(os.getpid(), signal.SIGKILL)
with atomic_write(sys.argv[2], "w") as file:
    file.write("half")
    os.kill(os.getpid(), signal.SIGKILL)
"""


def write(kind: str, path: Path) -> None:
    if kind == "folder":
        with atomic_folder(path) as folder:
            (folder / "part").write_text("whole")
    else:
        with atomic_write(path, "w") as file:
            file.write("whole")


def names(folder: Path) -> list[str]:
    return sorted(os.listdir(folder))


def age(folder: Path) -> None:
    """Make everything in a folder a minute old."""
    for entry in folder.iterdir():
        os.utime(entry, (time.time() - 60,) * 2)


@pytest.mark.parametrize("kind", ["folder", "file"])
def test_the_next_writer_sweeps(tmp_path: Path, kind: str) -> None:
    path = tmp_path / "result"
    subprocess.run([sys.executable, "-c", DIE, kind, str(path)], check=False, timeout=60)
    (tmp_path / ".other.0123456789abcdef.tmp").write_text("of another destination")
    assert len(names(tmp_path)) == 2
    age(tmp_path)
    write(kind, path)
    assert names(tmp_path) == [".other.0123456789abcdef.tmp", "result"]


@pytest.mark.parametrize("kind", ["folder", "file"])
def test_what_is_being_written_stays(tmp_path: Path, kind: str) -> None:
    path = tmp_path / "result"
    inner = atomic_folder(path) if kind == "folder" else atomic_write(path, "w")
    with inner as unfinished:
        age(tmp_path)
        write("file", path) if kind == "file" else write("folder", path)
        assert len(names(tmp_path)) == 2
        if kind == "folder":
            for entry in path.iterdir():
                entry.unlink()
        else:
            unfinished.write("later")
    assert names(tmp_path) == ["result"]


@pytest.mark.parametrize("kind", ["folder", "file"])
def test_what_has_just_been_left_is_swept_too(tmp_path: Path, kind: str) -> None:
    path = tmp_path / "result"
    subprocess.run([sys.executable, "-c", DIE, kind, str(path)], check=False, timeout=60)
    assert len(names(tmp_path)) == 1
    write(kind, path)
    assert names(tmp_path) == ["result"]


def test_something_new_has_a_moment_to_be_locked(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its writer is between making and locking it, and goes on while the other waits."""
    fcntl = pytest.importorskip("fcntl", reason="Windows: nothing is swept")
    new = tmp_path / ".result.0123456789abcdef.tmp"
    with new.open("w") as file:
        waits = []

        def go_on(seconds: float) -> None:
            waits.append(seconds)
            fcntl.flock(file, fcntl.LOCK_EX)

        monkeypatch.setattr(atomic.time, "sleep", go_on)
        os.utime(new, (time.time() + 3600,) * 2)  # by a clock that is ahead
        write("file", tmp_path / "result")
    assert waits == [1.0]
    assert names(tmp_path) == [new.name, "result"]
