"""Running the program inside the test, and looking at what it wrote."""

from __future__ import annotations

from pathlib import Path

from typer.testing import CliRunner, Result

from tsenet.cli.app import app

SUBJECTS = (
    ("football", "goal", "referee", "stadium"),
    ("election", "senate", "ballot", "candidate"),
    ("galaxy", "telescope", "orbit", "comet"),
)
# Options that make `tsenet topics` quick on the documents of conftest.py.
QUICK_TOPICS = ("--refine-steps", "2", "--jobs", "1", "--quiet")


def run(*arguments: object) -> Result:
    return CliRunner().invoke(app, [str(argument) for argument in arguments])


def fine(*arguments: object) -> str:
    """What a command that has to succeed prints."""
    result = run(*arguments)
    assert result.exit_code == 0, result.output
    return result.stdout


def names(folder: Path) -> list[str]:
    return sorted(entry.name for entry in folder.iterdir())
