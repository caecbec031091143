"""Options from a file: ``--config FILE`` reads the table of the command, ``[fit]`` for ``tsenet fit``."""

from __future__ import annotations

import difflib
import tomllib
from pathlib import Path
from typing import Any

import typer

from tsenet.errors import DataError

__all__ = ["read_config"]

# These say how to run a command, not what it does.
_NOT_IN_FILES = ("config", "debug", "help")


def read_config(ctx: typer.Context, path: Path | None) -> Path | None:
    """Take options that are not typed from a TOML file; the callback of ``--config``.

    Raises
    ------
    DataError
        If the file cannot be read, or has a table that is no command or a key that is no option.
    """
    if path is None:
        return path
    try:
        settings = tomllib.loads(path.read_text("utf-8-sig"))
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise DataError(f"{path} is not TOML: {error}") from error
    group: Any = ctx.parent.command if ctx.parent is not None else None
    commands = list(getattr(group, "commands", ())) or [str(ctx.info_name)]
    for name, table in settings.items():
        if name not in commands or not isinstance(table, dict):
            raise DataError(
                f"{path}: {name!r} is not a command{_meant(name, commands)}: write the options of tsenet "
                f"{ctx.info_name} below a line [{ctx.info_name}]"
            )
    ctx.default_map = _options_of(ctx, path, settings.get(str(ctx.info_name), {}))
    return path


def _options_of(ctx: typer.Context, path: Path, table: dict[str, Any]) -> dict[str, Any]:
    """Values by the names of the command's parameters; keys are spelled as on the command line."""
    known: dict[str, Any] = {
        max(option.opts, key=len).lstrip("-"): option
        for option in ctx.command.params
        if option.name not in _NOT_IN_FILES
    }
    found = {}
    for key, value in table.items():
        option = known.get(key.replace("_", "-"))
        if option is None:
            raise DataError(
                f"{path}: {key!r} is not an option of tsenet {ctx.info_name}{_meant(key, list(known))}"
            )
        several = bool(getattr(option, "multiple", False))
        if isinstance(value, dict) or (isinstance(value, list) and not several):
            raise DataError(f"{path}: {key!r} must be one value, not {value!r}")
        found[option.name] = [value] if several and not isinstance(value, list) else value
    return found


def _meant(name: str, known: list[str]) -> str:
    close = difflib.get_close_matches(name.replace("_", "-"), known, n=1)
    return f" (did you mean {close[0]!r}?)" if close else ""
