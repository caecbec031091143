"""Writing files and folders so that a crash or Ctrl-C never leaves half of one.

Everything is written next to its destination under a hidden temporary name, flushed to the disk, and only then renamed.
A rename on one file system is atomic, so other programs see the old content or the new, never a mixture. Only a power
cut or ``kill -9`` leaves a temporary file behind.
"""

from __future__ import annotations

import os
import secrets
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any, Literal

__all__ = ["atomic_folder", "atomic_write"]


@contextmanager
def atomic_write(
    path: str | os.PathLike[str], mode: Literal["wb", "w"] = "wb"
) -> Iterator[IO[Any]]:
    """Open a file that replaces ``path`` only when the block ends without an error.

    Parameters
    ----------
    path : path
        The file to write. A symbolic link is followed. An existing file keeps its permission bits.
    mode : {"wb", "w"}
        Bytes, or UTF-8 text whose line ends are a single LF on every platform.

    Yields
    ------
    file object
        The temporary file, in the same folder as ``path``, because a rename across file systems
        is not atomic.

    Raises
    ------
    OSError
        If the folder is missing or not writable, or ``path`` is something else than a regular file.
        Replacing a device such as ``/dev/null`` by a file would break the machine.
    """
    target = Path(os.path.realpath(path))
    if not target.parent.is_dir():
        raise FileNotFoundError(f"there is no folder {target.parent} to write {target.name} to")
    if target.is_dir():
        raise IsADirectoryError(f"{target} is a folder: give the name of a file")
    if target.exists() and not target.is_file():
        raise OSError(f"{target} is not a regular file (a device or a pipe): it cannot be replaced")
    temporary = _temporary_sibling(target)
    encoding, newline = (None, None) if mode == "wb" else ("utf-8", "\n")
    try:
        # "x" makes a new file whose permissions the umask decides, which mkstemp would not ask
        with open(temporary, mode.replace("w", "x"), encoding=encoding, newline=newline) as file:
            if target.exists():
                shutil.copymode(target, temporary)
            yield file
            file.flush()
            os.fsync(file.fileno())
        os.replace(temporary, target)
    except OSError as error:
        raise _naming(error, target) from error
    finally:  # Ctrl-C too: the temporary file must go whatever happened
        temporary.unlink(missing_ok=True)


@contextmanager
def atomic_folder(path: str | os.PathLike[str], *, force: bool = False) -> Iterator[Path]:
    """Give an empty folder that becomes ``path`` only when the block ends without an error.

    Parameters
    ----------
    path : path
        The folder to make. It may exist if it is empty.
    force : bool
        Allow ``path`` to hold files already. Those with the same names are replaced one by one,
        each atomically; all others stay: what we did not write is not ours to delete.

    Yields
    ------
    pathlib.Path
        A temporary folder next to ``path``; write flat files into it.

    Raises
    ------
    FileExistsError
        If ``path`` holds files and ``force`` is false; looked at before the block and again before
        the move.
    """
    target = Path(os.path.realpath(path))
    _refuse_occupied(target, force)
    staging = _temporary_sibling(target)
    try:
        staging.mkdir(parents=True)
        yield staging
        _refuse_occupied(target, force)
        for file in staging.iterdir():
            with open(file, "rb") as written:
                os.fsync(written.fileno())

        if target.exists() and any(target.iterdir()):
            for file in sorted(staging.iterdir()):
                os.replace(file, target / file.name)
        else:
            if target.exists():
                target.rmdir()  # empty; Windows cannot rename over an existing folder
            os.replace(staging, target)
    except OSError as error:
        raise _naming(error, target) from error
    finally:  # Ctrl-C too: the temporary folder must go whatever happened
        shutil.rmtree(staging, ignore_errors=True)


def _refuse_occupied(target: Path, force: bool) -> None:
    if target.exists() and not target.is_dir():
        raise NotADirectoryError(f"{target} exists and is not a folder: choose another name")
    if not force and target.is_dir() and any(target.iterdir()):
        raise FileExistsError(
            f"the folder {target} is not empty: choose another one, or use --force (force=True), "
            "which replaces the files of the same names"
        )


def _naming(error: OSError, target: Path) -> OSError:
    """Return an error that names the destination, if it names no file: such as that of a full disk."""
    if error.filename is not None:
        return error
    return type(error)(error.errno, error.strerror or str(error), str(target))


def _temporary_sibling(target: Path) -> Path:
    # Long names are cut so that the temporary one still fits the usual limit of 255 bytes.
    return target.with_name(f".{target.name[:50]}.{secrets.token_hex(8)}.tmp")
