"""``tsenet reproduce``: the experiments of a clone of the repository. They are no part of the installed package."""

from __future__ import annotations

import importlib
import sys
from pathlib import Path

import typer

from tsenet.errors import DataError

__all__ = ["reproduce"]


def reproduce(ctx: typer.Context) -> None:
    """Run the experiments of the paper and others, in a clone of the repository.

    --list names them, --help shows all options. The same as python -m reproduce.
    """
    folder = _clone()
    if folder is None:
        raise DataError(
            "the experiments are no part of the installed package: clone the repository, and give this command in "
            "its folder"
        )
    sys.path.insert(0, str(folder))
    program = importlib.import_module("reproduce.commands").app
    program(ctx.args, prog_name="tsenet reproduce")


def _clone() -> Path | None:
    """The folder with the experiments: the current one, or the clone that this package is installed from."""
    source = Path(__file__).resolve().parents[3]  # of src/tsenet/cli/reproduce.py
    for folder in (Path.cwd(), source):
        if (folder / "reproduce" / "commands.py").is_file():
            return folder
    return None
