"""Ctrl-C during an experiment: the run under way ends at once and does not count."""

from __future__ import annotations

import signal
import threading
from types import FrameType, TracebackType
from typing import Any, NoReturn, Self

__all__ = ["StopAtOnce"]


class StopAtOnce:
    """While the block runs, Ctrl-C raises KeyboardInterrupt, and :meth:`check` does so again.

    Training takes a KeyboardInterrupt as "keep the best weights so far" and returns a model as if all were well. So
    code that stores results has to call :meth:`check`. Threads other than the main one receive no signals, and a
    program that handles Ctrl-C itself keeps doing so.
    """

    def __init__(self) -> None:
        self._pressed = False
        self._before: Any = None

    def __enter__(self) -> Self:
        self._pressed = False
        main = threading.current_thread() is threading.main_thread()
        if main and signal.getsignal(signal.SIGINT) is signal.default_int_handler:
            self._before = signal.signal(signal.SIGINT, self._interrupt)
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        if self._before is not None:
            signal.signal(signal.SIGINT, self._before)
            self._before = None

    def check(self) -> None:
        """Raise KeyboardInterrupt if Ctrl-C was pressed, whoever has caught it since."""
        if self._pressed:
            raise KeyboardInterrupt

    def _interrupt(self, number: int, frame: FrameType | None) -> NoReturn:
        self._pressed = True
        raise KeyboardInterrupt
