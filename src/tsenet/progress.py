"""Progress reports of long computations: as log messages, calls of a function or progress bars.

Library code starts a stage with :meth:`Progress.start`, reports steps with :meth:`Progress.advance`
and ends it with :meth:`Progress.finish`. One stage is open at a time.
"""

from __future__ import annotations

import logging
import shutil
import sys
import time
from collections.abc import Callable
from typing import Any, Self

__all__ = ["BarProgress", "Progress", "as_progress"]

#: A function that is called as ``function(stage, done, total)``; `total` is None if unknown.
ProgressCallback = Callable[[str, int, "int | None"], None]

logger = logging.getLogger("tsenet.progress")


class Progress:
    """Log one line per finished stage at level INFO, and call a function; subclass it to show stages in your own way.

    The starts of stages, and notes, are logged at level DEBUG. The logger ``tsenet.progress`` is silent until logging
    is configured. Use a progress as a context manager, so that an open display is closed after an error or Ctrl-C.
    Nested ``with`` blocks on the same object are allowed.

    Parameters
    ----------
    function : callable or None, default=None
        Called as ``function(stage, done, total)`` at the start of each stage, after its steps and at its end; `total`
        is None if unknown. The last call of a stage has ``done == total``, also if the total was unknown or fewer
        steps were needed. Its exceptions are passed on, so it can cancel the computation.

    Examples
    --------
    >>> from tsenet import Progress
    >>> progress = Progress(lambda stage, done, total: print(stage, done, total))
    >>> progress.start("counting words", 3)
    counting words 0 3
    >>> progress.advance(2)
    counting words 2 3
    >>> progress.finish()
    counting words 3 3
    """

    # On the class, so that a subclass with an __init__ of its own has them too.
    _function: ProgressCallback | None = None
    _stage: str | None = None
    _total: int | None = None
    _done = 0
    _started = 0.0

    def __init__(self, function: ProgressCallback | None = None) -> None:
        self._function = function

    def start(self, stage: str, total: int | None = None) -> None:
        """Start a stage; a stage that is still open is finished first.

        Parameters
        ----------
        stage : str
            What is being done.
        total : int or None, default=None
            Number of steps; None if unknown.
        """
        self.finish()
        self._stage = stage
        self._done = 0
        self._total = total
        self._started = time.perf_counter()
        logger.debug("%s: started%s", stage, "" if total is None else f", {total} steps")
        self._call(total)

    def advance(self, steps: int = 1, note: str = "") -> None:
        """Report steps of the open stage.

        Parameters
        ----------
        steps : int, default=1
            How many steps were done since the last call.
        note : str, default=""
            The current state in a few words.
        """
        if self._stage is None:
            return
        self._done += steps
        if note:
            logger.debug("%s: %s", self._stage, note)
        self._call(self._total)

    def finish(self, note: str = "") -> None:
        """End the open stage.

        Parameters
        ----------
        note : str, default=""
            The result in a few words.
        """
        if self._stage is None:
            return
        seconds = time.perf_counter() - self._started
        ending = f", {note}" if note else ""
        logger.info("%s: finished in %.2f s%s", self._stage, seconds, ending)
        if self._total is not None:
            self._done = self._total
        self._call(self._done)
        self._stage = None

    def _call(self, total: int | None) -> None:
        if self._function is not None and self._stage is not None:
            self._function(self._stage, self._done, total)

    def close(self) -> None:
        """Release the display; called at the end of the outermost ``with`` block."""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


class BarProgress(Progress):
    """Show a bar per stage on stderr, with tqdm; in a notebook the bars stay in the saved output.

    Examples
    --------
    >>> from tsenet.progress import BarProgress
    >>> with BarProgress() as progress:
    ...     progress.start("counting words", 3)
    ...     progress.advance()
    """

    def __init__(self) -> None:
        self._bar: Any = None

    def start(self, stage: str, total: int | None = None) -> None:
        """Open a bar; tqdm is imported for the first one."""
        from tqdm import tqdm

        self.finish()
        width, height = shutil.get_terminal_size((100, 24))  # also of terminals that say 0
        counted = "" if total is None else "  {bar:20}  {n_fmt}/{total_fmt}"
        self._bar = tqdm(
            desc=stage,
            total=total,
            file=sys.stderr,
            ncols=width,
            nrows=height,
            bar_format=f"{{desc}}{counted}  {{elapsed}}{{postfix}}",
        )

    def advance(self, steps: int = 1, note: str = "") -> None:
        """Advance the bar and show the note next to it."""
        if self._bar is not None:
            if note:
                self._bar.set_postfix_str(note, refresh=False)
            self._bar.update(steps)

    def finish(self, note: str = "") -> None:
        """Fill the bar and close it."""
        if self._bar is not None and self._bar.total is not None:
            self._bar.update(self._bar.total - self._bar.n)
        self._close(note)

    def close(self) -> None:
        """Leave the bar as it is, after an error."""
        self._close("")

    def _close(self, note: str) -> None:
        bar = self._bar
        self._bar = None
        if bar is not None:
            if note:
                bar.set_postfix_str(note)
            bar.close()


def as_progress(progress: bool | Progress | ProgressCallback | None) -> Progress:
    """Return the :class:`Progress` for the value of a ``progress`` parameter.

    Parameters
    ----------
    progress : None, bool, Progress or callable
        None or False: log messages only (logger ``tsenet.progress``). True: progress bars on stderr. A callable is
        called as ``progress(stage, done, total)``.

    Returns
    -------
    Progress

    Raises
    ------
    TypeError
        For any other value.

    Examples
    --------
    >>> from tsenet.progress import as_progress
    >>> type(as_progress(True)).__name__
    'BarProgress'
    """
    if progress is None or progress is False:
        return Progress()
    if progress is True:
        return BarProgress()
    if isinstance(progress, Progress):
        return progress
    if callable(progress) and not isinstance(progress, type):
        return Progress(progress)
    raise TypeError(
        "progress must be None, True, False, a tsenet Progress or a function "
        f"f(stage, done, total); got {progress!r}"
    )
