"""Progress and errors of the command line."""

from __future__ import annotations

import logging
import sys
from collections.abc import Iterator
from contextlib import contextmanager

import typer

from tsenet.errors import TSENetError
from tsenet.progress import LogProgress, Progress, RichProgress

__all__ = ["plain_errors", "shown_progress"]


@contextmanager
def plain_errors(debug: bool) -> Iterator[None]:
    """Print an expected error as one line and exit with 1; ``debug`` lets the traceback through."""
    try:
        yield
    except (TSENetError, OSError) as error:
        if debug:
            raise
        message = str(error)
        if isinstance(error, OSError) and error.filename and error.strerror:
            message = f"{error.filename}: {error.strerror}"
        typer.echo(f"error: {' '.join(message.split())}", err=True)
        raise typer.Exit(1) from None


@contextmanager
def shown_progress(quiet: bool) -> Iterator[Progress]:
    """Bars on a terminal, log lines if stderr goes elsewhere, nothing if ``quiet``."""
    if quiet:
        yield Progress()
    elif sys.stderr.isatty():
        with RichProgress() as bars:
            yield bars
    else:
        logger = logging.getLogger("tsenet")
        handler, level = logging.StreamHandler(sys.stderr), logger.level
        logger.addHandler(handler)
        logger.setLevel(logging.INFO)
        try:
            yield LogProgress(logger)
        finally:
            logger.setLevel(level)
            logger.removeHandler(handler)
