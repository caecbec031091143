"""Every ``tsenet`` command that a page or a tutorial shows has options that exist."""

from __future__ import annotations

import re
import shlex
from pathlib import Path
from typing import Any

import pytest
import typer

from tsenet.cli.app import app

ROOT = Path(__file__).parents[2]
SOURCES = [
    *(ROOT / name for name in ("README.md", "CONTRIBUTING.md", "RELEASING.md")),
    *sorted((ROOT / "docs").rglob("*.md")),
    *sorted((ROOT / "docs" / "tutorials").glob("*.py")),
    *sorted((ROOT / "examples").glob("*.py")),
]
# `tsenet …` as code within a text, and as a line of a block or of a tutorial.
SPAN = re.compile(r"`(tsenet [^`]+)`")
LINE = re.compile(r"^(?:\$ |# !|!)?(tsenet [a-z](?:[^\n]|(?<=\\)\n)*)$", re.MULTILINE)
PROGRAM = typer.main.get_command(app)


def commands_in(text: str) -> list[str]:
    blocks = "\n".join(re.findall(r"^```.*?^```$", text, re.MULTILINE | re.DOTALL))
    return [*SPAN.findall(text), *LINE.findall(text if "# %%" in text else blocks)]


def unknown_in(command: str) -> str | None:
    """The first word of a command that the program does not know, if any."""
    own = re.split(r"[|;]|&&", command.replace("\\\n", " "))[0]  # not what it is piped to
    words = shlex.split(own, comments=True)[1:]
    found: Any = PROGRAM
    while hasattr(found, "commands") and words and not words[0].startswith("-"):
        word = words.pop(0)
        if word.isupper() or word == "…":  # stands for a command
            return None
        if word not in found.commands:
            return word
        found = found.commands[word]
    known = {option for parameter in found.params for option in parameter.opts} | {"--help"}
    given = [re.split("[=/,]", word)[0] for word in words if re.match("--?[a-z]", word)]
    return next((option for option in given if option not in known), None)


@pytest.mark.parametrize("path", SOURCES, ids=lambda path: path.relative_to(ROOT).as_posix())
def test_the_commands_of_a_page_have_options_that_exist(path: Path) -> None:
    commands = commands_in(path.read_text("utf-8"))
    assert [(unknown_in(command), command) for command in commands if unknown_in(command)] == []
