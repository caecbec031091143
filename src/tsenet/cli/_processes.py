"""``--processes``: a command that runs itself in several processes, and what each of these needs to know."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

import typer

__all__ = [
    "arguments_of",
    "is_first_process",
    "is_restart",
    "leave_if_others_failed",
    "rank_and_size",
    "run_in_processes",
    "started_by_torchrun",
    "tell_starter",
]

_RESTARTS = 3
_LONGEST_END = 60  # seconds until processes that do not end are killed
_ERROR_FILE = "TSENET_ERROR_FILE"


# ---- the processes


def started_by_torchrun() -> bool:
    """Whether this process is one of several that work together."""
    return "TORCHELASTIC_RUN_ID" in os.environ


def rank_and_size() -> tuple[int, int]:
    """Number of this process, and how many there are."""
    if not started_by_torchrun():
        return 0, 1
    return int(os.environ["RANK"]), int(os.environ["WORLD_SIZE"])


def is_first_process() -> bool:
    """Whether this process writes and prints the result."""
    return rank_and_size()[0] == 0


def is_restart() -> bool:
    """Whether this process takes the place of one that was lost."""
    return started_by_torchrun() and int(os.environ["TORCHELASTIC_RESTART_COUNT"]) > 0


def tell_starter(message: str) -> bool:
    """Hand an error to the process that started this one and prints it once; False if there is none."""
    if _ERROR_FILE not in os.environ:
        return False
    try:
        with Path(os.environ[_ERROR_FILE]).open("x", encoding="utf-8") as file:
            file.write(message)
    except FileExistsError:  # another process was first
        pass
    return True


def leave_if_others_failed() -> None:
    """Leave at once if the processes before a restart ended with an error, which would only come again."""
    if is_restart() and Path(os.environ.get(_ERROR_FILE, "")).is_file():
        raise typer.Exit(1)


# ---- the process that starts them


def run_in_processes(context: typer.Context, n_processes: int, restarts: bool) -> None:
    """Run the present command in several processes, and print what the first of them prints.

    Parameters
    ----------
    context : typer.Context
        Of the command.
    n_processes : int
    restarts : bool
        Whether to start all again, at most three times, when one is lost.

    Raises
    ------
    typer.Exit
        With the code of the processes, if they failed.
    """
    command = [sys.executable, "-m", "tsenet.cli._launch", str(n_processes)]
    command += [str(_RESTARTS if restarts else 0), *arguments_of(context)]
    with tempfile.TemporaryDirectory(prefix="tsenet-") as folder:
        error = Path(folder) / "error"
        printed, code = _run(command, {**os.environ, _ERROR_FILE: str(error)})
        if error.exists():
            typer.echo(error.read_text("utf-8"), err=True)
    if code:
        raise typer.Exit(code)
    typer.echo(printed, nl=False)


def _run(command: list[str], environment: dict[str, str]) -> tuple[str, int]:
    """Run the launcher to its end; if this process is to end first, so is the launcher."""
    with subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=environment
    ) as child:
        assert child.stdout is not None
        try:
            printed = child.stdout.read()
            return printed, child.wait()
        except BaseException as error:
            is_ctrl_c = isinstance(error, KeyboardInterrupt)
            child.send_signal(signal.SIGINT if is_ctrl_c else signal.SIGTERM)
            try:
                child.wait(_LONGEST_END)
            except subprocess.TimeoutExpired:
                child.kill()
            raise


def arguments_of(context: typer.Context) -> list[str]:
    """The command and options that were given, or read from ``--config``, as a command line without --processes."""
    found: list[str] = []
    for parameter in context.command.params:
        value: Any = context.params.get(parameter.name or "")
        if parameter.name in ("processes", "config") or value is None or value == parameter.default:
            continue
        option = max(parameter.opts, key=len)
        if parameter.param_type_name == "argument":
            found.append(str(value))
        elif isinstance(value, bool):
            found += [option] if value else []
        else:
            for each in value if isinstance(value, list | tuple) else [value]:
                found += [option, str(each)]
    return [str(context.info_name), *found]
