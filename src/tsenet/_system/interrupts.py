"""Ctrl-C and SIGTERM of the command line: heard at any moment, imports included."""

from __future__ import annotations

import _thread
import os
import signal
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from types import FrameType
from typing import NoReturn

__all__ = ["leave_with_signal_code"]

_AGAIN_AFTER = 0.02  # seconds


@contextmanager
def leave_with_signal_code() -> Iterator[None]:
    """While the block runs, a signal leaves it by an exception: with 130 after Ctrl-C, with 143 after SIGTERM.

    Leaving by an exception lets every temporary file be removed. Python alone loses some signals: an exception in the
    initialisation of an extension module becomes an ImportError, one in a finalizer is only printed. So a signal
    during an import waits for its end, and one that was swallowed is sent again. The signals stay handled after the
    block: it is the last thing the program does.
    """
    stop = _Stop()
    signal.signal(signal.SIGINT, stop.on_signal)
    signal.signal(signal.SIGTERM, stop.on_signal)
    sys.unraisablehook = stop.on_unraisable
    try:
        yield
    except SystemExit as end:
        if stop.number is None or end.code == 0:  # 0: what was finished was kept, as the user asked
            raise
        _end(128 + stop.number)
    except BaseException:
        if stop.number is None:
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
        if _importing(frame):
            self._send_again(number)
            return
        self.number = number
        if number == signal.SIGINT:
            raise KeyboardInterrupt
        self.leave()

    def on_unraisable(self, unraisable: sys.UnraisableHookArgs) -> None:
        if self.number is not None and unraisable.exc_type in (KeyboardInterrupt, SystemExit):
            self._send_again(self.number)
        else:
            sys.__unraisablehook__(unraisable)

    def leave(self) -> NoReturn:
        assert self.number is not None
        raise SystemExit(128 + self.number) from None

    @staticmethod
    def _send_again(number: int) -> None:
        timer = threading.Timer(_AGAIN_AFTER, _thread.interrupt_main, [number])
        timer.daemon = True
        timer.start()


def _importing(frame: FrameType | None) -> bool:
    while frame is not None:
        if frame.f_code.co_filename.startswith("<frozen importlib"):
            return True
        frame = frame.f_back
    return False
