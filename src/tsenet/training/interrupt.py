"""Ctrl-C at the border of a batch: never in the middle of a step, where half of the weights are new."""

from __future__ import annotations

import signal
import threading
from types import FrameType, TracebackType
from typing import Any, Self

from tsenet._system.interrupts import raises_keyboard_interrupt

__all__ = ["CtrlC"]


class CtrlC:
    """While the block runs, the first Ctrl-C only sets :attr:`pressed`; a second one acts as usual.

    Threads other than the main one receive no signals, and a program that handles Ctrl-C itself keeps doing so.
    """

    def __init__(self) -> None:
        self.pressed = False
        self._before: Any = None

    def __enter__(self) -> Self:
        if threading.current_thread() is threading.main_thread():
            before = signal.getsignal(signal.SIGINT)
            if raises_keyboard_interrupt(before):
                signal.signal(signal.SIGINT, self._note)
                self._before = before
        return self

    def _note(self, number: int, frame: FrameType | None) -> None:
        self.pressed = True
        self._uninstall()

    def _uninstall(self) -> None:
        if self._before is not None:
            signal.signal(signal.SIGINT, self._before)
            self._before = None

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> Any:
        self._uninstall()
