"""The program ``tsenet``, also as ``python -m tsenet``."""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from types import FrameType

__all__ = ["leave_with_signal_code", "main"]


def main() -> None:
    """Run the program; signals are handled before anything large is imported."""
    with leave_with_signal_code():
        from tsenet.cli.app import app

        app(prog_name="tsenet")


@contextmanager
def leave_with_signal_code() -> Iterator[None]:
    """While the block runs, a signal leaves it by an exception: with 130 after Ctrl-C, with 143 after SIGTERM.

    Leaving by an exception lets every temporary file be removed. The signals stay handled after the block: it is the
    last thing the program does.
    """
    received: list[int] = []

    def on_signal(number: int, frame: FrameType | None) -> None:
        received.append(number)
        raise KeyboardInterrupt if number == signal.SIGINT else SystemExit(128 + number)

    signal.signal(signal.SIGINT, on_signal)
    signal.signal(signal.SIGTERM, on_signal)
    try:
        yield
    except BaseException as error:
        kept = isinstance(error, SystemExit) and error.code == 0  # finished work was kept, as asked
        if not received or kept:
            raise
        for stream in (sys.stdout, sys.stderr):
            with suppress(OSError, ValueError):  # nobody reads it any more, or it is closed
                stream.flush()
        os._exit(128 + received[0])  # a compiler that was interrupted may crash while Python ends


if __name__ == "__main__":
    main()
