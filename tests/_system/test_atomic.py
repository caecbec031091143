"""Crashes at chosen points while writing: the old content or the new, never a mixture."""

from __future__ import annotations

import os
import signal
import stat
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

from tsenet._system.atomic import atomic_folder, atomic_write


def names(folder: Path) -> list[str]:
    return sorted(entry.name for entry in folder.iterdir())


def run_and_die(program: str, *arguments: Path) -> None:
    """Run a program that kills itself without warning, as a power cut would."""
    prelude = """
        import os, signal, sys
        from tsenet._system.atomic import atomic_folder, atomic_write
        def die(*args, **kwargs):
            os.kill(os.getpid(), signal.SIGKILL)
    """
    code = textwrap.dedent(prelude) + textwrap.dedent(program)
    command = [sys.executable, "-c", code, *map(str, arguments)]
    done = subprocess.run(command, check=False, timeout=60)
    assert done.returncode == -signal.SIGKILL


@pytest.mark.parametrize("name", ["model.tsenet", "topics/topics.json"])
def test_a_full_disk_is_reported_with_the_name(tmp_path: Path, name: str) -> None:
    resource = pytest.importorskip("resource")
    path = tmp_path / name
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (1000, hard))  # as a disk with that much room

    def write() -> None:
        if path.parent == tmp_path:
            with atomic_write(path) as file:
                file.write(b"x" * 100_000)
        else:
            with atomic_folder(path.parent) as folder:
                (folder / path.name).write_bytes(b"x" * 100_000)

    try:
        with pytest.raises(OSError, match=Path(name).parts[0]):
            write()
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    assert names(tmp_path) == []


class TestFile:
    def test_new_content_replaces_old(self, tmp_path: Path) -> None:
        path = tmp_path / "file"
        for content in (b"one", b"two"):
            with atomic_write(path) as file:
                file.write(content)
            assert path.read_bytes() == content
        assert names(tmp_path) == ["file"]

    @pytest.mark.parametrize("error", [RuntimeError, KeyboardInterrupt])
    @pytest.mark.parametrize("old", ["old", None])
    def test_an_error_leaves_all_as_it_was(
        self, tmp_path: Path, error: type[BaseException], old: str | None
    ) -> None:
        path = tmp_path / "file"
        if old is not None:
            path.write_text(old)
        before = names(tmp_path)

        def write_half() -> None:
            with atomic_write(path, "w") as file:
                file.write("half")
                raise error

        with pytest.raises(error):
            write_half()
        assert names(tmp_path) == before
        assert old is None or path.read_text() == old

    @pytest.mark.parametrize("call", ["fsync", "replace"])
    def test_a_failing_disk_leaves_all_as_it_was(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, call: str
    ) -> None:
        path = tmp_path / "file"
        path.write_text("old")

        def full(*args: object) -> None:
            raise OSError(28, "No space left on device")

        def write() -> None:
            with atomic_write(path, "w") as file:
                file.write("new")

        monkeypatch.setattr(os, call, full)
        with pytest.raises(OSError, match="No space"):
            write()
        assert path.read_text() == "old"
        assert names(tmp_path) == ["file"]

    @pytest.mark.parametrize("point", ["fsync", "replace"])
    def test_death_before_the_rename_keeps_the_old_file(self, tmp_path: Path, point: str) -> None:
        path = tmp_path / "file"
        path.write_text("old")
        run_and_die(
            f"""
            os.{point} = die
            with atomic_write(sys.argv[1], "w") as file:
                file.write("new")
            """,
            path,
        )
        assert path.read_text() == "old"
        left = [name for name in names(tmp_path) if name != "file"]
        assert all(name.startswith(".file.") and name.endswith(".tmp") for name in left)
        with atomic_write(path, "w") as file:  # what the dead one left is in nobody's way
            file.write("newer")
        assert path.read_text() == "newer"

    def test_death_after_the_rename_has_the_new_file(self, tmp_path: Path) -> None:
        path = tmp_path / "file"
        path.write_text("old")
        run_and_die(
            """
            replace = os.replace
            os.replace = lambda source, target: (replace(source, target), die())
            with atomic_write(sys.argv[1], "w") as file:
                file.write("new")
            """,
            path,
        )
        assert path.read_text() == "new"
        assert names(tmp_path) == ["file"]

    def test_a_link_stays_a_link(self, tmp_path: Path) -> None:
        (tmp_path / "real").write_text("old")
        (tmp_path / "link").symlink_to("real")
        with atomic_write(tmp_path / "link", "w") as file:
            file.write("new")
        assert (tmp_path / "link").is_symlink()
        assert (tmp_path / "real").read_text() == "new"

    def test_only_regular_files_are_replaced(self, tmp_path: Path) -> None:
        os.mkfifo(tmp_path / "pipe")
        with pytest.raises(OSError, match="not a regular file"), atomic_write(tmp_path / "pipe"):
            pass
        with pytest.raises(IsADirectoryError), atomic_write(tmp_path):
            pass
        assert stat.S_ISFIFO((tmp_path / "pipe").stat().st_mode)


class TestFolder:
    def test_appears_whole(self, tmp_path: Path) -> None:
        out = tmp_path / "a" / "b"
        with atomic_folder(out) as folder:
            (folder / "x").write_text("1")
            assert not out.exists()
        assert names(out) == ["x"]
        assert names(tmp_path / "a") == ["b"]

    def test_a_full_folder_is_refused_before_any_work(self, tmp_path: Path) -> None:
        (tmp_path / "mine").write_text("1")
        with pytest.raises(FileExistsError, match="not empty"), atomic_folder(tmp_path):
            raise AssertionError("the block ran")
        assert names(tmp_path) == ["mine"]

    def test_force_replaces_own_names_and_keeps_the_rest(self, tmp_path: Path) -> None:
        out = tmp_path / "out"
        out.mkdir()
        (out / "x").write_text("old")
        (out / "theirs").write_text("kept")
        with atomic_folder(out, force=True) as folder:
            (folder / "x").write_text("new")
        assert (out / "x").read_text() == "new"
        assert (out / "theirs").read_text() == "kept"
        assert names(tmp_path) == ["out"]

    @pytest.mark.parametrize("error", [RuntimeError, KeyboardInterrupt])
    def test_an_error_leaves_nothing(self, tmp_path: Path, error: type[BaseException]) -> None:
        def write_half() -> None:
            with atomic_folder(tmp_path / "out") as folder:
                (folder / "x").write_text("1")
                raise error

        with pytest.raises(error):
            write_half()
        assert names(tmp_path) == []

    @pytest.mark.parametrize("point", ["fsync", "replace"])
    def test_death_before_the_rename_shows_no_folder(self, tmp_path: Path, point: str) -> None:
        run_and_die(
            f"""
            os.{point} = die
            with atomic_folder(sys.argv[1]) as folder:
                (folder / "x").write_text("1")
            """,
            tmp_path / "out",
        )
        assert not (tmp_path / "out").exists()
