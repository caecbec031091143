"""Amounts of memory, and the limit on the rows that are read from a file.

These may take four fifths of the machine's memory. The environment variable ``TSENET_MAX_MEMORY``, an amount such as
``20GB``, changes the limit.
"""

from __future__ import annotations

import os
import re
from contextlib import suppress
from pathlib import Path

from tsenet.errors import DataError, TooLargeError

__all__ = ["bytes_of", "check_size", "max_memory", "memory_here", "shown_bytes"]

_VARIABLE = "TSENET_MAX_MEMORY"


def max_memory() -> int:
    """Return the number of bytes that the rows of a file may take."""
    setting = os.environ.get(_VARIABLE)
    try:
        return bytes_of(setting) or int(0.8 * memory_here())
    except ValueError as error:
        raise DataError(f"{_VARIABLE} must be an amount such as 20GB, not {setting!r}") from error


def check_size(path: Path, n_bytes: float, limit: int) -> None:
    """Raise a TooLargeError if the rows of a file take more bytes than the limit."""
    if n_bytes > limit:
        raise TooLargeError(
            f"the rows of {path} take more than {shown_bytes(limit)} of memory: read fewer rows or columns, write them "
            f"with tsenet shard, or raise the limit ({_VARIABLE}={shown_bytes(2 * limit)})"
        )


def bytes_of(memory: int | str | None) -> int | None:
    """Read an amount of memory such as ``"2GB"`` or ``"500 MiB"``; numbers are bytes.

    Raises
    ------
    ValueError
        If it is no such amount.

    Examples
    --------
    >>> from tsenet.data.limits import bytes_of
    >>> bytes_of("2GB"), bytes_of("1.5 GiB"), bytes_of(1000)
    (2000000000, 1610612736, 1000)
    """
    if memory is None:
        return None
    match = re.fullmatch(r"\s*(\d+(?:\.\d+)?)\s*([KMGT]?)(i?)B?\s*", str(memory), re.IGNORECASE)
    if match is None:
        raise ValueError(f"an amount of memory must be written as '2GB', not {memory!r}")
    number, unit, binary = match.groups()
    n_bytes = int(float(number) * (1024 if binary else 1000) ** " KMGT".index(unit.upper() or " "))
    if n_bytes < 1:
        raise ValueError(f"an amount of memory must be above 0, not {memory!r}")
    return n_bytes


def shown_bytes(n_bytes: float) -> str:
    """An amount of memory as :func:`bytes_of` reads it, with three digits.

    Examples
    --------
    >>> from tsenet.data.limits import shown_bytes
    >>> shown_bytes(2_000_000_000), shown_bytes(1234)
    ('2GB', '1.23kB')
    """
    value = float(n_bytes)
    for unit in ("B", "kB", "MB", "GB"):
        if value < 999.5:
            return f"{value:.3g}{unit}"
        value /= 1000
    return f"{value:.3g}TB"


def memory_here() -> int:
    """Bytes of memory of this machine, or of the container that the process runs in."""
    try:
        total = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    except (AttributeError, ValueError):  # Windows does not say
        total = 16 << 30
    with suppress(OSError, ValueError):
        total = min(total, int(Path("/sys/fs/cgroup/memory.max").read_text()))
    return total
