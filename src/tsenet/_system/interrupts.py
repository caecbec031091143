"""Ctrl-C and SIGTERM of the command line: a signal leaves the program by an exception, and its number tells which."""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from types import FrameType
from typing import NoReturn

__all__ = ["leave_with_signal_code"]


@contextmanager
def leave_with_signal_code() -> Iterator[None]:
    """While the block runs, a signal leaves it by an exception: with 130 after Ctrl-C, with 143 after SIGTERM.

    Leaving by an exception lets every temporary file be removed. The signals stay handled after the block: it is the
    last thing the program does.
    """
    stop = _Stop()
    signal.signal(signal.SIGINT, stop.on_signal)
    signal.signal(signal.SIGTERM, stop.on_signal)
    try:
        yield
    except BaseException as error:
        kept = isinstance(error, SystemExit) and error.code == 0  # finished work was kept, as asked
        if stop.number is None or kept:
            raise
        _end(128 + stop.number)


def _end(code: int) -> NoReturn:
    """End the process at once: a compiler that was interrupted at its work may crash while Python ends."""
    for stream in (sys.stdout, sys.stderr):
        with suppress(OSError, ValueError):  # nobody reads it any more, or it is closed
            stream.flush()
    os._exit(code)


class _Stop:
    """Which signal came, if any."""

    def __init__(self) -> None:
        self.number: int | None = None

    def on_signal(self, number: int, frame: FrameType | None) -> None:
        self.number = number
        if number == signal.SIGINT:
            raise KeyboardInterrupt
        raise SystemExit(128 + number)
