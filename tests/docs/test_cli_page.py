"""The page of commands says what the program prints."""

from __future__ import annotations

import html
import importlib.util
import re
import sys
from pathlib import Path
from types import ModuleType

import pytest
from typer.testing import CliRunner

from tsenet.cli.app import app

EXTENSIONS = Path(__file__).parents[2] / "docs" / "_extensions"
COMMANDS = ["topics", "fit", "predict", "evaluate", "suggest", "label", "report", "export", "shard"]


def extension(name: str) -> ModuleType:
    """A hook of the site, which is in no package."""
    spec = importlib.util.spec_from_file_location(name, EXTENSIONS / f"{name}.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    spec.loader.exec_module(module)
    return module


@pytest.fixture(scope="module")
def sections() -> dict[str, str]:
    """The page's sections by command, as a reader sees them: without marks of Markdown, white space as one space."""
    parts = re.split(r"^## tsenet(.*)$", extension("cli_reference").page(), flags=re.MULTILINE)
    return {name.strip(): plain(text) for name, text in zip(parts[1::2], parts[2::2], strict=True)}


def plain(text: str) -> str:
    """Text without Markdown's marks, line breaks and hyphens at their ends."""
    text = re.sub(r"\\(.)", r"\1", re.sub("</?code>", "", text))
    text = html.unescape(text).replace("`", "")
    return re.sub(r"[\s|]+", "", text)


def test_every_command_has_a_section(sections: dict[str, str]) -> None:
    assert set(sections) == {"", *COMMANDS}


@pytest.mark.parametrize("command", COMMANDS)
def test_a_section_says_what_help_says(command: str, sections: dict[str, str]) -> None:
    printed = CliRunner().invoke(app, [*command.split(), "--help"]).output
    body = printed.partition("\n\n")[2]
    section = sections[command]
    for line in body.splitlines():
        # A line of the help is a piece of an option's names or of its text, in two columns.
        for piece in re.split(r"\s{2,}", line.strip()):
            if piece not in ("", "Arguments:", "Options:"):
                assert plain(piece) in section, f"{command}: {piece}"
