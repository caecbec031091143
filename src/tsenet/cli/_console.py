"""What the commands share besides options: one-line errors, safe outputs, progress, results to read or as JSON."""

from __future__ import annotations

import json
import logging
import os
import sys
import warnings
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any, NoReturn

import typer
from typer.core import TyperGroup

from tsenet.errors import TSENetError

if TYPE_CHECKING:
    import pandas as pd

    from tsenet.progress import Progress

#: The output path that means standard output.
STDOUT = Path("-")
#: Key of ``ctx.meta``: parameters of an estimator that the configuration file or ``--set`` names.
SETTINGS = "tsenet.settings"
_DEBUG = "tsenet.debug"
# A spreadsheet takes a cell that begins with one of these for a formula.
_FORMULA = ("=", "+", "-", "@", "\t", "\r")


# ---- errors


class PlainErrors(TyperGroup):
    """Commands whose expected errors are one line on stderr instead of a traceback."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Take ``--debug`` wherever it stands, also behind the name of the command."""
        ctx.meta[_DEBUG] = "--debug" in args
        return super().parse_args(ctx, [argument for argument in args if argument != "--debug"])

    def invoke(self, ctx: Any) -> Any:
        """Run the command; exit with 1 after an expected error, with 130 after Ctrl-C."""
        try:
            with _plain_warnings():
                return super().invoke(ctx)
        except KeyboardInterrupt:
            _stop(ctx, "interrupted, nothing written", 130)
        except TSENetError as error:
            _stop(ctx, f"error: {error}", 1)
        except OSError as error:
            named = error.filename is not None and error.strerror is not None
            message = f"{error.filename}: {error.strerror}" if named else str(error)
            _stop(ctx, f"error: {message}", 1)
        except ValueError as error:  # the estimator refuses a value
            if not ctx.meta.get(SETTINGS):
                raise
            _stop(ctx, f"error: {error} (see --set, --help-all)", 1)


@contextmanager
def _plain_warnings() -> Iterator[None]:
    """Print warnings for the user as one line on stderr, without the source line."""

    def show(message: Warning | str, *_: Any, **__: Any) -> None:
        typer.echo(f"warning: {message}", err=True)

    with warnings.catch_warnings():
        warnings.simplefilter("default", UserWarning)
        warnings.showwarning = show
        yield


def _stop(ctx: typer.Context, message: str, code: int) -> NoReturn:
    if ctx.meta.get(_DEBUG):
        import traceback

        traceback.print_exc()
    typer.echo(" ".join(message.split()), err=True)
    raise typer.Exit(code) from None


# ---- inputs and outputs


def is_shard_folder(data: Path) -> bool:
    """Whether a path is a finished folder of shards rather than a file or a folder of texts."""
    return (data / "shards.json").is_file()


def check_output(path: Path, force: bool, *inputs: Path | str | None) -> None:
    """Raise an OSError, before any work, if the file cannot be written or is one of the inputs."""
    if path == STDOUT:
        raise OSError("only predictions can be written to standard output: give the name of a file")
    refuse_inputs(path, *inputs)
    if path.exists() and not force:
        raise FileExistsError(f"{path} exists: choose another name, or add --force to replace it")
    if path.is_dir():
        raise IsADirectoryError(f"{path} is a folder: give the name of a file")
    if not path.parent.is_dir():
        raise FileNotFoundError(f"there is no folder {path.parent} to write {path.name} to")
    if not os.access(path.parent, os.W_OK):
        raise PermissionError(f"{path.parent} cannot be written to")


def refuse_inputs(out: Path, *inputs: Path | str | None) -> None:
    """Raise FileExistsError if the output is one of the inputs, or a file of an input folder; links are followed."""
    if not out.exists():
        return
    for path in (Path(name) for name in inputs if name is not None and Path(name).exists()):
        belongs = is_shard_folder(path) or ".txt" in map(str.lower, out.suffixes)
        if out.samefile(path) or (belongs and path.resolve() in out.resolve().parents):
            raise FileExistsError(
                f"{out} would replace the input {path}: write to another file or folder "
                "(--force does not replace inputs)"
            )


def write_csv(frame: pd.DataFrame, stream: IO[str], *, header: bool = True) -> None:
    """Write a table as csv; texts that a spreadsheet would run as a formula get a leading ``'``."""
    frame = frame.rename(columns=_no_formula)
    texts = frame.select_dtypes(exclude="number").columns
    frame = frame.assign(**{name: frame[name].map(_no_formula) for name in texts})
    frame.to_csv(stream, index=False, header=header, lineterminator="\n")


def _no_formula(cell: Any) -> Any:
    if not isinstance(cell, str) or not cell.startswith(_FORMULA):
        return cell
    try:
        float(cell)  # -1.5 is a number
    except ValueError:
        return f"'{cell}"
    return cell


# ---- what is printed


def print_result(as_json: bool, fields: Mapping[str, Any], *lines: str) -> None:
    """Print a result: its fields as one JSON object, null where a number is not finite, or the lines."""
    if as_json:
        text = json.dumps(fields, default=lambda value: getattr(value, "item", value.__str__)())
        finite = json.loads(text, parse_constant=lambda _: None)
        lines = (json.dumps(finite, ensure_ascii=False),)
    typer.echo("\n".join(lines))


@contextmanager
def open_progress(quiet: bool) -> Iterator[Progress]:
    """Show bars on a terminal; a line per finished stage where stderr goes to a file or another program."""
    from tsenet.progress import BarProgress, LogProgress, Progress

    if quiet:
        yield Progress()
    elif sys.stderr.isatty():
        with BarProgress() as bars:
            yield bars
    else:
        logger = logging.getLogger("tsenet.cli")
        logger.handlers = [logging.StreamHandler(sys.stderr)]
        logger.propagate = False
        logger.setLevel(logging.INFO)
        yield LogProgress(logger)


def warm_up(progress: Progress, *, network: bool = True) -> None:
    """Compile the kernels, as a stage of its own; ``network``: those of networks too."""
    import tsenet

    progress.start("kernels (the first use on a machine compiles them)", None)
    tsenet.warmup(network=network)
    progress.finish()
