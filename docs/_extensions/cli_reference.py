"""An mkdocs hook: the page cli.md, written from the commands themselves while the site is built.

What it says of a command and its options is what ``tsenet COMMAND --help`` prints, so no copy becomes outdated.
"""

from __future__ import annotations

import html
import re
from collections.abc import Iterator
from typing import Any

import typer
from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files

from tsenet.cli.app import app

PAGE = "cli.md"
INTRODUCTION = """# Commands

This page is generated from the program: `tsenet COMMAND --help` prints the same, and `--help-all` lists the
parameters that `--set` takes. An error ends a command with exit code 1, a wrong option with 2, Ctrl-C with 130.
"""


def on_files(files: Files, *, config: MkDocsConfig) -> Files:
    """Add the page to the site's files."""
    files.append(File.generated(config, PAGE, content=page()))
    return files


def page() -> str:
    """The page, as Markdown."""
    program = typer.main.get_command(app)
    return "\n".join([INTRODUCTION, *sections(program, None)])


def sections(command: Any, above: Any) -> Iterator[str]:
    """The section of a command, then those of its subcommands.

    Parameters
    ----------
    command : click command
        What to describe.
    above : click context or None
        That of the group it belongs to.
    """
    context = command.make_context(command.name, [], parent=above, resilient_parsing=True)
    inner = getattr(command, "commands", {})
    yield f"## {context.command_path}\n"
    yield f"```text\n{' '.join(command.get_usage(context).split())}\n```\n"
    yield paragraphs(command.help or "")
    if inner:
        path = context.command_path
        for name, child in inner.items():
            anchor = f"{path} {name}".replace(" ", "-")
            yield f"- [`{path} {name}`](#{anchor}): {first_sentence(child)}"
        yield ""
    if described := list(records(command, context)):
        yield "| argument, option | what it is |\n|---|---|"
        yield from (f"| {cell(names)} | {escape(text)} |" for names, text in described)
        yield ""
    for child in inner.values():
        yield from sections(child, context)


def records(command: Any, context: Any) -> Iterator[tuple[str, str]]:
    """Names and help of each argument and option, as ``--help`` has them."""
    for parameter in command.get_params(context):
        record = parameter.get_help_record(context)
        if record is not None:
            yield record[0], record[1]


def cell(names: str) -> str:
    """Names of an option and its metavar as code; in HTML, as a bar ends a cell of Markdown's tables."""
    return f"<code>{html.escape(names).replace('|', '&#124;')}</code>"


def paragraphs(text: str) -> str:
    """Help text as Markdown: click's mark of a block that keeps its lines becomes a code block."""
    blocks = []
    for block in re.split(r"\n\s*\n", text.strip()):
        if block.lstrip().startswith("\b"):
            blocks.append(f"```text\n{block.lstrip().removeprefix(chr(8)).strip(chr(10))}\n```\n")
        else:
            blocks.append(f"{escape(' '.join(block.split()))}\n")
    return "\n".join(blocks)


def first_sentence(command: Any) -> str:
    """What a command does, in one sentence."""
    text = " ".join((command.help or "").partition("\n\n")[0].split())
    return escape(text)


def escape(text: str) -> str:
    """Text as Markdown shows it unchanged; options in it as code."""
    text = re.sub(r"([\\`*_{}\[\]|])", r"\\\1", " ".join(text.split())).replace("<", "&lt;")
    return re.sub(r"(?<![\w-])(--[a-z][a-z-]*)", r"`\1`", text)
