"""What the command line prints besides results: one-line errors, progress as bars or as lines."""

from __future__ import annotations

import logging
import shutil
import sys
import tempfile
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn

import typer
from typer.core import TyperGroup

from tsenet.errors import TSENetError

if TYPE_CHECKING:
    from tsenet.progress import Progress

__all__ = [
    "STDOUT",
    "PlainErrors",
    "check_output",
    "refuse_existing",
    "refuse_inputs",
    "remember_debug",
    "shown_progress",
    "warm_up",
    "written_to",
]

#: The output that stands for standard output.
STDOUT = Path("-")

# Keys of ctx.meta, which the contexts of the program and of its commands share.
_DEBUG = "tsenet.debug"


class PlainErrors(TyperGroup):
    """Commands whose expected errors are one line on stderr instead of a traceback."""

    def invoke(self, ctx: Any) -> Any:
        """Run the command; leave with 1 after an expected error, with 130 after Ctrl-C."""
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


@contextmanager
def _plain_warnings() -> Iterator[None]:
    """Warnings for the user are one line on stderr, without the place in the source."""

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


def remember_debug(ctx: typer.Context, value: bool) -> bool:
    """Note that tracebacks are wanted; the callback of ``--debug``."""
    if value:
        ctx.meta[_DEBUG] = True
    return value


def check_output(path: Path, force: bool, *inputs: Path | str | None) -> None:
    """Raise an OSError, before any work, if the file cannot be written or is one of the inputs."""
    if path == STDOUT:
        return
    refuse_inputs(path, *inputs)
    refuse_existing(path, force)
    if path.is_dir():
        raise IsADirectoryError(f"{path} is a folder: give the name of a file")
    if not path.parent.is_dir():
        raise FileNotFoundError(f"there is no folder {path.parent} to write {path.name} to")
    try:
        with tempfile.TemporaryFile(dir=path.parent):
            pass
    except OSError as error:
        raise PermissionError(f"{path.parent} cannot be written to: {error.strerror}") from error


@contextmanager
def written_to(out: Path) -> Iterator[Path]:
    """Yield the path of a file to write: the output itself, or a temporary file that goes to standard output."""
    if out != STDOUT:
        yield out
        return
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "output")
        yield path
        with path.open("rb") as file:
            shutil.copyfileobj(file, sys.stdout.buffer)
        sys.stdout.flush()


def refuse_inputs(out: Path, *inputs: Path | str | None) -> None:
    """Raise FileExistsError if the output is one of the inputs, or a file of an input folder; links are followed."""
    if not out.exists():
        return
    for path in (Path(given) for given in inputs if given is not None and Path(given).exists()):
        # a folder of shards, or of texts
        is_part = (path / "shards.json").is_file() or ".txt" in map(str.lower, out.suffixes)
        if out.samefile(path) or (is_part and path.resolve() in out.resolve().parents):
            raise FileExistsError(
                f"{out} would replace the input {path}: write to another file or folder "
                "(--force does not replace inputs)"
            )


def refuse_existing(path: Path, force: bool) -> None:
    """Raise FileExistsError if there is a file that ``--force`` does not allow to replace."""
    if path.exists() and not force:
        raise FileExistsError(f"{path} exists: choose another name, or add --force to replace it")


@contextmanager
def shown_progress(quiet: bool) -> Iterator[Progress]:
    """Bars on a terminal; a line per finished stage where stderr goes to a file or another program."""
    from tsenet.progress import LogProgress, Progress, RichProgress

    if quiet:
        yield Progress()
    elif sys.stderr.isatty():
        with RichProgress() as bars:
            yield bars
    else:
        logger = logging.getLogger("tsenet")
        handler = logging.StreamHandler(sys.stderr)
        handler.setFormatter(logging.Formatter("%(message)s"))
        stages = logger.getChild("progress")
        handler.addFilter(lambda line: line.name == stages.name or line.levelno > logging.INFO)
        level = logger.level
        logger.addHandler(handler)
        logger.setLevel(logging.INFO)
        try:
            yield LogProgress(stages)
        finally:
            logger.setLevel(level)
            logger.removeHandler(handler)


def warm_up(progress: Progress, *, network: bool = True) -> None:
    """Compile the kernels, as a stage of its own; ``network``: those of networks too."""
    import tsenet

    progress.start("kernels (the first use on a machine compiles them)", None)
    tsenet.warmup(network=network)
    progress.finish()
