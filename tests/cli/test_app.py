"""The program as a whole: help, options from --set and from files, errors, outputs that are inputs."""

from __future__ import annotations

import ast
import inspect
import re
import subprocess
import sys
from pathlib import Path

import pytest

import tsenet
from tests.cli.program import error_of, names, run

ROOT = Path(__file__).parents[2]
COMMANDS = ("topics", "fit", "predict", "evaluate", "suggest", "label", "report", "export", "shard")


class TestHelp:
    def test_lists_the_commands(self) -> None:
        shown = run("--help").stdout.split("Commands:")[1]
        assert [line.split()[0] for line in shown.splitlines() if line.strip()] == list(COMMANDS)

    def test_loads_nothing_heavy(self) -> None:
        program = f"""
import sys
from typer.testing import CliRunner
from tsenet.cli.app import app
for command in {["", *COMMANDS]}:
    result = CliRunner().invoke(app, [*command.split(), "--help"])
    assert result.exit_code == 0, result.output
    assert "Usage: " in result.stdout
heavy = {{"numpy", "scipy", "numba", "sklearn", "pandas", "torch", "rich", "matplotlib"}}
print(sorted(heavy & sys.modules.keys()))
"""
        done = subprocess.run(
            [sys.executable, "-c", program], capture_output=True, text=True, check=True
        )
        assert done.stdout == "[]\n"

    @pytest.mark.parametrize(
        ("command", "estimator"),
        [("topics", tsenet.TopicModel), ("fit", tsenet.TSENetClassifier)],
    )
    def test_all_lists_every_parameter_with_its_default(
        self, command: str, estimator: type
    ) -> None:
        shown = run(command, "--help-all").stdout
        for name, parameter in inspect.signature(estimator).parameters.items():
            line = re.search(rf"^{name} : (.+)", shown, re.M)
            assert line is not None, name
            default = re.search(r"default=(\S+)$", line[1])
            if default is None:
                assert parameter.default is None, name
                assert line[1].endswith("optional"), name
            else:
                assert ast.literal_eval(default[1]) == parameter.default, name


class TestVersion:
    def test_is_shown(self) -> None:
        assert run("--version").stdout == f"tsenet {tsenet.__version__}\n"


class TestSettings:
    """``--set NAME=VALUE`` and files of options; what reaches the estimators is tested with the commands."""

    @pytest.mark.parametrize(
        ("assignment", "hint"),
        [
            ("max_epoch=3", "max_epochs"),
            ("unlabeled=2", "unlabeled"),
            ("qqq=1", "--help-all"),
            ("vectorizer=1", "vectorizer"),
        ],
    )
    def test_unknown_names_are_refused(self, assignment: str, hint: str) -> None:
        result = run("fit", "d.csv", "--target", "y", "-o", "m", "--set", assignment)
        assert result.exit_code == 2
        assert hint in result.stderr

    @pytest.mark.parametrize(
        ("text", "message"),
        [
            ("seed = 3", "below a line [fit]"),
            ("[fit]\nconfig = 'x'", "'config' is not an option"),
            ("[fit", "is not TOML"),
        ],
    )
    def test_a_wrong_file_is_refused(self, text: str, message: str, tmp_path: Path) -> None:
        path = tmp_path / "run.toml"
        path.write_text(text, "utf-8")
        assert message in error_of("fit", "d.csv", "--target", "y", "-o", "m", "--config", path)

    @pytest.mark.parametrize(
        ("text", "message"),
        [("seed = 'many'", "Invalid value for '--seed'"), ("max-epoch = 3", "max_epochs")],
    )
    def test_a_wrong_value_or_key_in_a_file_is_refused(
        self, text: str, message: str, tmp_path: Path
    ) -> None:
        path = tmp_path / "run.toml"
        path.write_text(f"[fit]\n{text}\n", "utf-8")
        result = run("fit", "d.csv", "--target", "y", "-o", "m", "--config", path)
        assert result.exit_code == 2
        assert message in result.stderr


class TestErrors:
    @pytest.mark.parametrize("place", ["before", "after"])
    def test_debug_shows_the_traceback(self, place: str) -> None:
        command = ["export", "absent.tsenet", "--bif", "x.bif"]
        result = run(*(["--debug", *command] if place == "before" else [*command, "--debug"]))
        assert result.exit_code == 1
        assert "Traceback" in result.stderr
        assert "absent.tsenet" in result.stderr.splitlines()[-1]

    @pytest.mark.parametrize(
        "arguments",
        [
            ["topics", "x.csv", "--text", "a", "--out", "o", "--words", "0"],
            ["topics", "x.csv", "--out", "o", "--workers", "2"],
            ["topics", "x.csv", "--out", "o", "--no-explorer", "--along", "date"],
            ["report", "m.tsenet", "--out", "o", "--show", "a"],
            ["export", "x.tsenet"],
        ],
        ids=" ".join,
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
            ("fit", "in.csv", "--target", "kind", "-o", "soft.csv"),
            ("fit", "texts", "--target", "folder", "--text", "text", "-o", "texts/a.txt"),
            *(("predict", "m", "in.csv", "-o", out) for out in ("./in.csv", "hard.csv", "m")),
            ("report", "m", "--data", "in.csv", "-o", "in.csv"),
            ("export", "m", "--bif", "m"),
            ("topics", "texts/documents.csv", "-o", "texts"),
            ("topics", "texts", "-o", "texts"),
        ],
        ids=" ".join,
    )
    def test_is_refused_even_if_forced(self, arguments: tuple[str, ...], folder: Path) -> None:
        def contents() -> dict[Path, str]:
            return {path: path.read_text() for path in folder.rglob("*") if path.is_file()}

        before = contents()
        assert "input" in error_of(*arguments, "--force")
        assert contents() == before
