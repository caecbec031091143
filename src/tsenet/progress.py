"""One small protocol through which every long stage says how far it is.

A stage is opened with :meth:`Progress.start`, moved on with :meth:`Progress.advance` and closed
with :meth:`Progress.finish`; one stage is open at a time. The library calls these three and never
prints: whether they draw bars, write log lines, call a user's function or do nothing is the
adapter's business.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable
from types import TracebackType
from typing import TYPE_CHECKING, Self

if TYPE_CHECKING:
    import rich.progress

__all__ = ["CallbackProgress", "LogProgress", "Progress", "RichProgress", "as_progress"]

ProgressCallback = Callable[[str, int, "int | None"], None]


class Progress:
    """The protocol, and at once the silent adapter: every hook is empty.

    Any adapter can be used as a context manager, which closes what is still open when an error
    or Ctrl-C ends the work early. Entering it again inside is allowed and changes nothing.
    """

    def start(self, stage: str, total: int | None = None) -> None:
        """Open a stage of `total` steps (None: unknown); a stage still open is finished first."""

    def advance(self, steps: int = 1, note: str = "") -> None:
        """Move the open stage on by `steps`; `note` says in a few words where it stands."""

    def finish(self, note: str = "") -> None:
        """Close the open stage; `note` says what came of it."""

    def close(self) -> None:
        """Release what the adapter holds; called when the outermost ``with`` block ends."""

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.close()


class LogProgress(Progress):
    """Log the start and the end of each stage at INFO, and notes in between at DEBUG.

    Parameters
    ----------
    logger : logging.Logger, optional
        Default: the logger named ``tsenet``, which is silent until logging is configured.
    """

    def __init__(self, logger: logging.Logger | None = None) -> None:
        self._logger = logging.getLogger("tsenet") if logger is None else logger
        self._stage: str | None = None
        self._started = 0.0

    def start(self, stage: str, total: int | None = None) -> None:
        """Log that the stage begins and of how many steps."""
        self.finish()
        self._stage, self._started = stage, time.perf_counter()
        if total is None:
            self._logger.info("%s: started", stage)
        else:
            self._logger.info("%s: started, %d steps", stage, total)

    def advance(self, steps: int = 1, note: str = "") -> None:
        """Log the note, if any, at DEBUG."""
        if note and self._stage is not None:
            self._logger.debug("%s: %s", self._stage, note)

    def finish(self, note: str = "") -> None:
        """Log how long the open stage took."""
        if self._stage is None:
            return
        seconds = time.perf_counter() - self._started
        ending = f", {note}" if note else ""
        self._logger.info("%s: finished in %.2f s%s", self._stage, seconds, ending)
        self._stage = None


class CallbackProgress(Progress):
    """Call ``function(stage, done, total)`` at a stage's start, at each advance and at its end.

    The last call of a stage has ``done == total``, also when the total was unknown or the stage
    converged early. What the function raises is passed on, so it can be used to cancel the work.
    """

    def __init__(self, function: ProgressCallback) -> None:
        self._function = function
        self._stage: str | None = None
        self._done = 0
        self._total: int | None = None

    def start(self, stage: str, total: int | None = None) -> None:
        """Report no step done."""
        self.finish()
        self._stage, self._done, self._total = stage, 0, total
        self._function(stage, 0, total)

    def advance(self, steps: int = 1, note: str = "") -> None:
        """Report the steps done so far."""
        if self._stage is not None:
            self._done += steps
            self._function(self._stage, self._done, self._total)

    def finish(self, note: str = "") -> None:
        """Report all steps done."""
        if self._stage is None:
            return
        stage, self._stage = self._stage, None
        done = self._done if self._total is None else self._total
        self._function(stage, done, done)


class RichProgress(Progress):
    """Show a bar per stage on stderr with rich.

    Used as a context manager it keeps one display with all stages; without, each stage opens and
    closes its own. rich is imported when the first stage starts.
    """

    def __init__(self) -> None:
        self._display: rich.progress.Progress | None = None
        self._task: rich.progress.TaskID | None = None
        self._depth = 0

    def __enter__(self) -> Self:
        self._depth += 1
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self._depth -= 1
        if self._depth == 0:
            self.close()

    def start(self, stage: str, total: int | None = None) -> None:
        """Add a bar, opening the display if none is open."""
        self.finish()
        if self._display is None:
            self._display = _rich_display()
            self._display.start()
        self._task = self._display.add_task(stage, total=total, note="")

    def advance(self, steps: int = 1, note: str = "") -> None:
        """Move the bar on and show the note beside it."""
        if self._display is None or self._task is None:
            return
        if note:
            self._display.update(self._task, advance=steps, note=note)
        else:
            self._display.update(self._task, advance=steps)

    def finish(self, note: str = "") -> None:
        """Fill the bar and, outside a ``with`` block, close the display."""
        if self._display is not None and self._task is not None:
            task = self._display.tasks[self._display.task_ids.index(self._task)]
            done = task.completed if task.total is None else task.total
            # Without a total the bar would pulse for ever: then the stage counts as one step.
            self._display.update(
                self._task, total=done or 1, completed=done or 1, note=note or task.fields["note"]
            )
            self._task = None
        if self._depth == 0:
            self.close()

    def close(self) -> None:
        """Stop the display, leaving its last state on the screen."""
        display, self._display, self._task = self._display, None, None
        if display is not None:
            display.stop()


def _rich_display() -> rich.progress.Progress:
    """Make the (not yet started) display: name, bar, count, time, note."""
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, TextColumn, TimeElapsedColumn
    from rich.progress import Progress as Display

    return Display(
        # Stage names and notes may hold words of the user's data: never read them as markup.
        TextColumn("{task.description}", markup=False),
        BarColumn(),
        MofNCompleteColumn(),
        TimeElapsedColumn(),
        TextColumn("{task.fields[note]}", markup=False),
        console=Console(stderr=True),
    )


def as_progress(value: bool | Progress | ProgressCallback | None) -> Progress:
    """Turn what a user passes as ``progress=`` into a :class:`Progress`.

    Parameters
    ----------
    value : None, bool, Progress or callable
        None or False: log only (logger ``tsenet``). True: bars on stderr. A callable is called as
        ``value(stage, done, total)``.

    Raises
    ------
    TypeError
        For anything else.
    """
    if value is None or value is False:
        return LogProgress()
    if value is True:
        return RichProgress()
    if isinstance(value, Progress):
        return value
    if callable(value) and not isinstance(value, type):
        return CallbackProgress(value)
    raise TypeError(
        "progress must be None, True, False, a tsenet Progress or a function "
        f"f(stage, done, total); got {value!r}"
    )
