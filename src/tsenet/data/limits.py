"""Limits on what is read of a file, so that a small damaged or hostile one cannot fill the memory.

Rows that are kept in memory may take four fifths of the machine's memory, and a cell, a line or a text file 64 million
characters. The environment variables ``TSENET_MAX_MEMORY`` and ``TSENET_MAX_CELL``, amounts such as ``20GB``, change
the limits.
"""

from __future__ import annotations

import os
from pathlib import Path

from tsenet.errors import DataError, TooLargeError
from tsenet.memory import bytes_of, memory_here, shown_bytes

__all__ = ["check_size", "max_cell", "max_memory", "too_long"]

_MEMORY, _CELL = "TSENET_MAX_MEMORY", "TSENET_MAX_CELL"


def max_memory() -> int:
    """Return how many bytes of memory the rows of a file may take."""
    return _limit(_MEMORY, int(0.8 * memory_here()))


def max_cell() -> int:
    """Return how many characters a cell, a line or a text file may have."""
    return _limit(_CELL, 64_000_000)


def check_size(path: Path, n_bytes: float, limit: int | None = None) -> None:
    """Raise a TooLargeError if the rows of a file take more than `limit`, by default :func:`max_memory`."""
    limit = max_memory() if limit is None else limit
    if n_bytes > limit:
        raise TooLargeError(
            f"the rows of {path} take more than {shown_bytes(limit)} of memory once uncompressed: read fewer rows or "
            f"columns, write them with tsenet shard, or raise the limit ({_MEMORY}={shown_bytes(2 * limit)})"
        )


def too_long(where: str) -> DataError:
    """Return the error for a cell, line or text beyond :func:`max_cell`."""
    limit = max_cell()
    return DataError(
        f"{where}: longer than {limit:,} characters; if the file is not damaged (an unclosed quote?), raise the limit "
        f"({_CELL}={shown_bytes(16 * limit)})"
    )


def _limit(variable: str, default: int) -> int:
    given = os.environ.get(variable)
    try:
        return bytes_of(given) or default
    except ValueError as error:
        raise DataError(f"{variable} must be an amount such as 20GB, not {given!r}") from error
