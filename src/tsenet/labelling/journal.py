"""The file of labels: a JSON object a line, to which lines are only ever added.

A line counts once it ends in a newline, and :meth:`Journal.append` returns when it is on the disk. So a process that is
killed at any moment loses nothing that was confirmed: the next one cuts off the half line that may be left.
"""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path
from typing import Any, TypeAlias

from tsenet.errors import DataError, quoted

__all__ = ["Event", "Journal"]

Event: TypeAlias = dict[str, Any]

#: The first line of every journal.
HEADER: Event = {"journal": "tsenet label", "version": 1}


class Journal:
    """An append-only file of events, open in one process at a time.

    Parameters
    ----------
    path : Path
        The file; it is made if it is missing.

    Attributes
    ----------
    events : list of dict
        What the file holds, in order, without its first line.

    Raises
    ------
    DataError
        If the file is open in another process, or is not a journal.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self._file = os.open(path, os.O_RDWR | os.O_CREAT | os.O_APPEND, 0o666)
        try:
            _lock(self._file, path)
            self.events = self._read()
        except BaseException:
            os.close(self._file)
            raise

    def append(self, event: Event) -> int:
        """Write an event to the disk; return its number.

        Raises
        ------
        OSError
            If the disk is full, for example; the file then holds what it held before.
        """
        self._write(event)
        self.events.append(event)
        return len(self.events) - 1

    def close(self) -> None:
        """Close the file, so that another process may open it."""
        if self._file >= 0:
            os.close(self._file)
            self._file = -1

    # ---- private

    def _read(self) -> list[Event]:
        """All events; what a killed process left of a line is cut off."""
        with open(self.path, "rb") as file:
            content = file.read()

        lines = content.split(b"\n")
        rest = lines.pop()  # what stands after the last newline
        if rest:
            whole = _object_of(rest) is not None
            if whole:  # only the newline is missing, as after some editors
                os.write(self._file, b"\n")
                lines.append(rest)
            else:
                os.ftruncate(self._file, len(content) - len(rest))
            os.fsync(self._file)

        if not lines:
            self._write(HEADER)
            _sync_folder(self.path.parent)
            return []

        first, *events = [self._event_of(line, number) for number, line in enumerate(lines, 1)]
        if first.get("journal") != HEADER["journal"]:
            raise DataError(f"{self.path} is not a file of labels: choose another with --labels")
        if first.get("version") != HEADER["version"]:
            shown = quoted(first.get("version"))
            raise DataError(
                f"{self.path} is of version {shown}, which this program does not know: update tsenet"
            )
        return events

    def _event_of(self, line: bytes, number: int) -> Event:
        event = _object_of(line)
        if event is None:
            shown = quoted(line.decode("utf-8", "replace"))
            raise DataError(
                f"{self.path}, line {number} is not a JSON object: {shown}. Correct or delete this line"
            )
        return event

    def _write(self, event: Event) -> None:
        """Add a whole line, or nothing."""
        line = json.dumps(event, ensure_ascii=False, separators=(",", ":"))
        encoded = line.encode("utf-8", "surrogatepass") + b"\n"

        start = os.fstat(self._file).st_size
        try:
            n_written = os.write(self._file, encoded)
            if n_written < len(encoded):
                raise OSError(f"{self.path}: the disk is full")
            os.fsync(self._file)
        except OSError:
            os.ftruncate(self._file, start)
            raise


def _object_of(line: bytes) -> Event | None:
    """The object of a line; None if it holds none."""
    try:
        content = json.loads(line.decode("utf-8", "surrogatepass"))
    except (ValueError, RecursionError):
        return None
    return content if isinstance(content, dict) else None


def _lock(file: int, path: Path) -> None:
    """Keep other processes out until the file is closed, also by a kill."""
    try:
        if sys.platform == "win32":
            import msvcrt

            os.lseek(file, 0, os.SEEK_SET)
            msvcrt.locking(file, msvcrt.LK_NBLCK, 1)
        else:
            import fcntl

            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError as error:
        raise DataError(
            f"{path} is open in another `tsenet label`: use that one's page, in as many windows as you like"
        ) from error


def _sync_folder(folder: Path) -> None:
    """Put the name of a new file on the disk, where the system can."""
    if sys.platform == "win32":
        return
    opened = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(opened)
    finally:
        os.close(opened)
