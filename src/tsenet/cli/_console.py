"""How the command line talks: one-line errors, progress as bars or as lines."""

from __future__ import annotations

import logging
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, NoReturn

import typer
from typer.core import TyperGroup

from tsenet.errors import TSENetError

if TYPE_CHECKING:
    from tsenet.progress import Progress

__all__ = ["PlainErrors", "remember_debug", "shown_progress"]

_DEBUG = "tsenet.debug"


class PlainErrors(TyperGroup):
    """Commands whose expected errors are one line on stderr instead of a traceback."""

    def invoke(self, ctx: Any) -> Any:
        """Run the command; leave with 1 after an expected error, with 130 after Ctrl-C."""
        try:
            return super().invoke(ctx)
        except KeyboardInterrupt:
            _stop(ctx, "interrupted, nothing written", 130)
        except TSENetError as error:
            _stop(ctx, f"error: {error}", 1)
        except OSError as error:
            named = error.filename is not None and error.strerror is not None
            message = f"{error.filename}: {error.strerror}" if named else str(error)
            _stop(ctx, f"error: {message}", 1)


def _stop(ctx: typer.Context, message: str, code: int) -> NoReturn:
    if ctx.meta.get(_DEBUG):
        import traceback

        traceback.print_exc()
    typer.echo(" ".join(message.split()), err=True)
    raise typer.Exit(code) from None


def remember_debug(ctx: typer.Context, value: bool) -> bool:
    """Take note that tracebacks are wanted; the callback of ``--debug``."""
    # meta is shared by the contexts of the program and of its commands
    if value:
        ctx.meta[_DEBUG] = True
    return value


@contextmanager
def shown_progress(quiet: bool) -> Iterator[Progress]:
    """Bars on a terminal; log lines where stderr goes to a file or another program."""
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
        level = logger.level
        logger.addHandler(handler)
        logger.setLevel(logging.INFO)
        try:
            yield LogProgress(logger)
        finally:
            logger.setLevel(level)
            logger.removeHandler(handler)
