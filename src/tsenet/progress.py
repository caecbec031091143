"""Progress reports of long computations: as log messages, progress bars or calls of a function.

Library code starts a stage with :meth:`Progress.start`, reports steps with :meth:`Progress.advance`
and ends it with :meth:`Progress.finish`. One stage is open at a time. The subclasses decide what is
shown.
"""

from __future__ import annotations

import logging
import sys
import time
from collections.abc import Callable
from importlib import import_module
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self

if TYPE_CHECKING:
    import rich.progress

__all__ = [
    "CallbackProgress",
    "LogProgress",
    "NotebookProgress",
    "Progress",
    "RichProgress",
    "as_progress",
]

_BAR = 20  # characters
_REFRESH = 0.2  # seconds between updates of a notebook's output

#: A function that is called as ``function(stage, done, total)``; `total` is None if unknown.
ProgressCallback = Callable[[str, int, "int | None"], None]


class Progress:
    """Base class of progress reports; it shows nothing. Subclass it to write your own.

    Use it as a context manager, so that an open display is closed after an error or Ctrl-C. Nested
    ``with`` blocks on the same object are allowed.

    Examples
    --------
    >>> from tsenet import Progress
    >>> class Stages(Progress):
    ...     def start(self, stage, total=None):
    ...         print(stage, total)
    >>> with Stages() as progress:
    ...     progress.start("counting words", 3)
    ...     progress.advance()
    ...     progress.finish()
    counting words 3
    """

    def start(self, stage: str, total: int | None = None) -> None:
        """Start a stage; a stage that is still open is finished first.

        Parameters
        ----------
        stage : str
            What is being done.
        total : int or None, default=None
            Number of steps; None if unknown.
        """

    def advance(self, steps: int = 1, note: str = "") -> None:
        """Report steps of the open stage.

        Parameters
        ----------
        steps : int, default=1
            How many steps were done since the last call.
        note : str, default=""
            The current state in a few words.
        """

    def finish(self, note: str = "") -> None:
        """End the open stage.

        Parameters
        ----------
        note : str, default=""
            The result in a few words.
        """

    def close(self) -> None:
        """Release the display; called at the end of the outermost ``with`` block."""

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
    """Log one line per finished stage at level INFO; the starts of stages and notes at level DEBUG.

    Parameters
    ----------
    logger : logging.Logger, default=None
        Where to log. None: the logger ``tsenet``, which is silent until logging is configured.

    Examples
    --------
    >>> import logging
    >>> from tsenet.progress import LogProgress
    >>> progress = LogProgress(logging.getLogger("my.program"))
    >>> progress.start("counting words", 3)
    >>> progress.finish()
    """

    def __init__(self, logger: logging.Logger | None = None) -> None:
        self._logger = logging.getLogger("tsenet") if logger is None else logger
        self._stage: str | None = None
        self._started = 0.0

    def start(self, stage: str, total: int | None = None) -> None:
        """Log the start of a stage and its number of steps."""
        self.finish()
        self._stage, self._started = stage, time.perf_counter()
        if total is None:
            self._logger.debug("%s: started", stage)
        else:
            self._logger.debug("%s: started, %d steps", stage, total)

    def advance(self, steps: int = 1, note: str = "") -> None:
        """Log the note, if there is one."""
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
    """Call a function at the start of each stage, after its steps and at its end.

    The last call of a stage has ``done == total``, also if the total was unknown or fewer steps
    were needed. Exceptions of the function are passed on, so it can cancel the computation.

    Parameters
    ----------
    function : callable
        Called as ``function(stage, done, total)``; `total` is None if unknown.

    Examples
    --------
    >>> from tsenet.progress import CallbackProgress
    >>> progress = CallbackProgress(lambda stage, done, total: print(stage, done, total))
    >>> progress.start("counting words", 3)
    counting words 0 3
    >>> progress.advance(2)
    counting words 2 3
    >>> progress.finish()
    counting words 3 3
    """

    def __init__(self, function: ProgressCallback) -> None:
        self._function = function
        self._stage: str | None = None
        self._done = 0
        self._total: int | None = None

    def start(self, stage: str, total: int | None = None) -> None:
        """Call the function with no steps done."""
        self.finish()
        self._stage, self._done, self._total = stage, 0, total
        self._function(stage, 0, total)

    def advance(self, steps: int = 1, note: str = "") -> None:
        """Call the function with the steps done so far."""
        if self._stage is not None:
            self._done += steps
            self._function(self._stage, self._done, self._total)

    def finish(self, note: str = "") -> None:
        """Call the function with all steps done."""
        if self._stage is None:
            return
        stage, self._stage = self._stage, None
        done = self._done if self._total is None else self._total
        self._function(stage, done, done)


class RichProgress(Progress):
    """Show a progress bar per stage on stderr, with rich.

    Inside a ``with`` block all stages share one display; outside, each stage has its own. rich is
    imported when the first stage starts.

    Examples
    --------
    >>> from tsenet.progress import RichProgress
    >>> with RichProgress() as progress:
    ...     progress.start("counting words", 3)
    ...     progress.advance()
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
        """Add a bar, and open the display if none is open."""
        self.finish()
        if self._display is None:
            self._display = _rich_display()
            self._display.start()
        self._task = self._display.add_task(stage, total=total, note="")

    def advance(self, steps: int = 1, note: str = "") -> None:
        """Advance the bar and show the note next to it."""
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
            # A bar without a total never stops moving: a stage of unknown length counts as one step.
            self._display.update(
                self._task, total=done or 1, completed=done or 1, note=note or task.fields["note"]
            )
            self._task = None
        if self._depth == 0:
            self.close()

    def close(self) -> None:
        """Stop the display and leave its last state on the screen."""
        display, self._display, self._task = self._display, None, None
        if display is not None:
            display.stop()


class NotebookProgress(Progress):
    """Show a line of text per stage in a notebook, in one output that is updated in place.

    It needs no widgets: a saved or executed notebook keeps the last state, which is one line per finished stage.

    Examples
    --------
    >>> from tsenet.progress import NotebookProgress
    >>> NotebookProgress().start("counting words", 3)  # outside a notebook it says nothing
    """

    def __init__(self) -> None:
        self._lines: list[str] = []
        self._stage: str | None = None
        self._note = ""
        self._done = 0
        self._total: int | None = None
        self._started = self._shown = 0.0
        self._depth = 0
        self._handle: Any = None

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
        """Add a line, and an output if none is open."""
        self.finish()
        self._stage, self._total, self._done, self._note = stage, total, 0, ""
        self._started = time.perf_counter()
        self._show(self._line())

    def advance(self, steps: int = 1, note: str = "") -> None:
        """Count the steps; the output is updated a few times a second."""
        self._done += steps
        self._note = note or self._note
        if self._stage is not None and time.perf_counter() - self._shown >= _REFRESH:
            self._show(self._line())

    def finish(self, note: str = "") -> None:
        """Write the stage's last line and, outside a ``with`` block, leave the output."""
        if self._stage is not None:
            self._note = note or self._note
            self._done = self._done if self._total is None else self._total
            self._lines.append(self._line())
            self._stage = None
            self._show()
        if self._depth == 0:
            self.close()

    def close(self) -> None:
        """Leave the output as it is; what comes next has an output of its own."""
        if self._stage is not None:  # left by an error
            self._lines.append(self._line())
            self._stage = None
            self._show()
        self._lines, self._handle = [], None

    def _line(self) -> str:
        """The open stage: bar, name, steps, time, note."""
        share = 0.0 if not self._total else min(1.0, self._done / self._total)
        bar = "█" * round(_BAR * share) + "░" * (_BAR - round(_BAR * share)) if self._total else ""
        steps = f"{self._done}/{self._total}" if self._total else f"{self._done}" * (self._done > 0)
        seconds = f"{time.perf_counter() - self._started:.1f} s"
        return "  ".join(filter(None, [self._stage, bar, steps, seconds, self._note]))

    def _show(self, *open_line: str) -> None:
        text = "\n".join([*self._lines, *open_line])
        self._shown = time.perf_counter()
        if self._handle is None:
            self._handle = _notebook_output(text)
        else:
            self._handle.update({"text/plain": text}, raw=True)


def in_notebook() -> bool:
    """Whether this program runs in the kernel of a notebook. IPython is not imported for the answer."""
    module = sys.modules.get("IPython")
    shell = None if module is None else module.get_ipython()
    return hasattr(shell, "kernel")


def _notebook_output(text: str) -> Any:
    """Show text as an output of the notebook; the handle updates it. None where there is no notebook."""
    if not in_notebook():
        return None
    show = import_module("IPython.display").display
    return show({"text/plain": text}, raw=True, display_id=True)


def _rich_display() -> rich.progress.Progress:
    """Make the (not yet started) display: name, bar, count, time, note."""
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, TextColumn, TimeElapsedColumn
    from rich.progress import Progress as Display

    return Display(
        # Stage names and notes may contain words of the user's data, which must not be read as markup.
        TextColumn("{task.description}", markup=False),
        BarColumn(),
        MofNCompleteColumn(),
        TimeElapsedColumn(),
        TextColumn("{task.fields[note]}", markup=False),
        console=Console(stderr=True),
    )


def as_progress(value: bool | Progress | ProgressCallback | None) -> Progress:
    """Return the :class:`Progress` for the value of a ``progress`` parameter.

    Parameters
    ----------
    value : None, bool, Progress or callable
        None or False: log messages only (logger ``tsenet``). True: progress bars on stderr, or in a notebook
        an output of text that stays in the saved notebook. A callable is called as ``value(stage, done, total)``.

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
    'RichProgress'
    """
    if value is None or value is False:
        return LogProgress()
    if value is True:
        return NotebookProgress() if in_notebook() else RichProgress()
    if isinstance(value, Progress):
        return value
    if callable(value) and not isinstance(value, type):
        return CallbackProgress(value)
    raise TypeError(
        "progress must be None, True, False, a tsenet Progress or a function "
        f"f(stage, done, total); got {value!r}"
    )
