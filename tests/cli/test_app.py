"""The program as a whole: help, version, errors."""

from __future__ import annotations

import os
import re
import resource
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

import tsenet
from tests.cli.program import names, run

ROOT = Path(__file__).parents[2]


class TestErrors:
    @pytest.mark.parametrize("place", ["before", "after"])
    def test_debug_shows_the_traceback(self, place: str) -> None:
        command = ["export", "absent.tsenet", "--bif", "x.bif"]
        result = run(*(["--debug", *command] if place == "before" else [*command, "--debug"]))
        assert result.exit_code == 1
        assert "Traceback" in result.stderr
        assert "there is no file absent.tsenet" in result.stderr.splitlines()[-1]

    @pytest.mark.parametrize(
        "arguments",
        [
            ["topics", "docword.x.txt", "--out", "o", "--ngrams", "2"],
            ["topics", "x.txt", "--out", "o", "--format", "docword", "--text", "a"],
            ["topics", "x.txt", "--out", "o", "--format", "docword", "--words", "10"],
            ["topics", "x.csv", "--text", "a"],
            ["topics", "x.csv", "--text", "a", "--out", "o", "--words", "0"],
            ["export", "x.tsenet"],
            ["nonsense"],
        ],
        ids=range(7),
    )
    def test_wrong_usage(
        self, arguments: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.chdir(tmp_path)
        result = run(*arguments)
        assert result.exit_code == 2
        assert "Usage:" in result.stderr
        assert names(tmp_path) == []


class TestOutputThatIsAnInput:
    @pytest.fixture
    def folder(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
        """A csv with a symbolic and a hard link to it, and something that is called a model."""
        monkeypatch.chdir(tmp_path)
        csv = Path("in.csv")
        csv.write_text("text,kind\na,b\n")
        Path("soft.csv").symlink_to(csv)
        Path("hard.csv").hardlink_to(csv)
        Path("m").write_text("a model")
        Path("texts").mkdir()
        for name in ("a.txt", "documents.csv"):
            Path("texts", name).write_text("text\none\n")
        return tmp_path

    @pytest.mark.parametrize(
        "arguments",
        [
            *(("fit", "in.csv", "--target", "kind", "-o", f"{out}.csv") for out in ("in", "soft")),
            ("fit", "soft.csv", "--target", "kind", "-o", "in.csv"),
            ("fit", "texts", "--target", "folder", "--text", "text", "-o", "texts/a.txt"),
            *(("predict", "m", "in.csv", "-o", out) for out in ("./in.csv", "hard.csv", "m")),
            ("report", "m", "-o", "m"),
            ("report", "m", "--data", "in.csv", "-o", "in.csv"),
            ("export", "m", "--bif", "m"),
            ("export", "m", "--onnx", "m"),
            ("topics", "texts/documents.csv", "-o", "texts"),
            ("topics", "texts", "-o", "texts"),
        ],
        ids=" ".join,
    )
    def test_is_refused_even_if_forced(self, arguments: tuple[str, ...], folder: Path) -> None:
        def contents() -> dict[Path, str]:
            return {path: path.read_text() for path in folder.rglob("*") if path.is_file()}

        before = contents()
        result = run(*arguments, "--force")
        assert result.exit_code == 1
        assert "input" in result.stderr
        assert contents() == before


class TestVersion:
    def test_is_shown(self) -> None:
        assert run("--version").stdout == f"tsenet {tsenet.__version__}\n"

    def test_is_written_once(self) -> None:
        """The build reads it from the package, by the pattern of hatchling."""
        settings = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))
        assert "version" not in settings["project"]
        assert "version" in settings["project"]["dynamic"]
        source = ROOT / settings["tool"]["hatch"]["version"]["path"]
        assert source.samefile(str(tsenet.__file__))
        pattern = r"""^(?:__version__|VERSION)(?:: str)? *= *(['"])v?(?P<version>.+?)\1"""
        found = re.findall(pattern, source.read_text("utf-8"), re.MULTILINE)
        assert [version for _, version in found] == [tsenet.__version__]

    def test_the_citation_agrees(self) -> None:
        lines = (ROOT / "CITATION.cff").read_text("utf-8").splitlines()
        given = [line for line in lines if line.startswith("version:")]
        assert given == [f"version: {tsenet.__version__}"]


def test_openmp_is_told_not_to_spin(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("OMP_WAIT_POLICY", raising=False)
    run("export", "absent.tsenet", "--bif", "x.bif")
    assert os.environ["OMP_WAIT_POLICY"] == "PASSIVE"
    monkeypatch.setenv("OMP_WAIT_POLICY", "ACTIVE")
    run("export", "absent.tsenet", "--bif", "x.bif")
    assert os.environ["OMP_WAIT_POLICY"] == "ACTIVE"


COMMANDS = (
    "topics",
    "fit",
    "predict",
    "evaluate",
    "report",
    "export",
    "shard",
    "data",
)


def test_the_commands() -> None:
    shown = run("--help").stdout.split("Commands:")[1]
    assert [line.split()[0] for line in shown.splitlines() if line.strip()] == list(COMMANDS)


def test_help_loads_nothing_heavy() -> None:
    commands = ["", *COMMANDS, "data list", "data fetch", "data verify"]
    program = f"""
import sys
from typer.testing import CliRunner
from tsenet.cli.app import app
for command in {commands}:
    result = CliRunner().invoke(app, [*command.split(), "--help"])
    assert result.exit_code == 0, result.output
    assert "Usage: " in result.stdout
heavy = {{"numpy", "scipy", "numba", "sklearn", "pandas", "torch", "rich", "pooch", "matplotlib"}}
print(sorted(heavy & sys.modules.keys()))
"""
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    )
    assert done.stdout == "[]\n"


def test_help_answers_at_once() -> None:
    """Processor time of the whole program, the best of three: other work on the machine does not count."""
    seconds = []
    for _ in range(3):
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        subprocess.run([sys.executable, "-m", "tsenet", "--help"], capture_output=True, check=True)
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        seconds.append(after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime)
    assert min(seconds) < 0.5
