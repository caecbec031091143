"""Open plain and compressed files alike, and turn damage into a DataError."""

from __future__ import annotations

import bz2
import gzip
import lzma
import tarfile
import zipfile
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from tsenet.errors import DataError

__all__ = ["OPENERS", "opener_of", "report_damage"]

#: The function that opens a file with each compression suffix.
OPENERS: dict[str, Callable[..., Any]] = {".gz": gzip.open, ".xz": lzma.open, ".bz2": bz2.open}

_DAMAGE = (
    OSError,
    EOFError,
    lzma.LZMAError,
    zlib.error,
    zipfile.BadZipFile,
    tarfile.TarError,
)


def opener_of(path: Path) -> Callable[..., Any]:
    """Return the function that opens a file by its suffix, :func:`open` for a plain one."""
    return OPENERS.get(path.suffix.lower(), open)


@contextmanager
def report_damage(message: str) -> Iterator[None]:
    """Turn the errors of a damaged or wrongly named archive into a DataError.

    Errors of the operating system, such as a missing file, are passed on unchanged.

    Parameters
    ----------
    message : str
        What is damaged; the cause is added after a colon.
    """
    try:
        yield
    except _DAMAGE as error:
        # Errors of the operating system have a number; those of gzip and bz2 do not.
        if isinstance(error, OSError) and error.errno is not None:
            raise
        raise DataError(f"{message}: {error}") from error
