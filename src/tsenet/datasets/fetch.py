"""Getting the files of a data set, and checking that they are the right ones."""

from __future__ import annotations

import bz2
import gzip
import hashlib
import json
import logging
import lzma
import zlib
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from tsenet._system.atomic import atomic_write
from tsenet.datasets.cache import cache_folder, sha256_of
from tsenet.datasets.catalog import Entry, Remote, entry_of
from tsenet.datasets.download import download, reason_of
from tsenet.datasets.places import Found, download_folder, find, where_to_put
from tsenet.errors import DataError
from tsenet.progress import Progress, ProgressCallback, as_progress

__all__ = ["Check", "fetch", "files_of", "verify"]

_logger = logging.getLogger("tsenet.datasets")

_OPENERS: dict[str, Callable[..., Any]] = {
    ".gz": gzip.open,
    ".xz": lzma.open,
    ".bz2": bz2.open,
}


def fetch(name: str, *, progress: bool | Progress | ProgressCallback | None = None) -> list[Path]:
    """Download the official files of a data set into the cache, those that are not there already.

    Parameters
    ----------
    name : str
        As in :func:`tsenet.datasets.names`.
    progress : optional
        As in :func:`tsenet.learn_tree`.

    Returns
    -------
    list of Path
        The files; empty for a set that needs none.

    Raises
    ------
    DataError
        If a file cannot be had, with where to put it by hand, or is not the published one.
    """
    entry = entry_of(name)
    shown = as_progress(progress)
    _logger.info("%s: licence: %s; source: %s", entry.title, entry.licence, entry.source)
    with shown:
        return [_fetch_one(entry, remote, shown) for remote in entry.remotes]


def _fetch_one(entry: Entry, remote: Remote, progress: Progress) -> Path:
    target = download_folder(entry) / remote.name
    # without a published digest, a second download must be what the first one was
    digest = remote.digest or _records().get(str(target.resolve()))
    try:
        download(remote.url, target, digest, progress)
    except OSError as error:
        raise DataError(
            f"cannot download {remote.name} of {entry.name} from {remote.url} "
            f"({reason_of(error)}): {where_to_put(entry)}"
        ) from error
    if remote.digest is None:
        _record(target)
    return target


def files_of(entry: Entry, home: str | Path | None, fetch_missing: bool, shown: Progress) -> Found:
    """The files of a data set, downloaded if they are not at hand and may be.

    Raises
    ------
    DataError
        If they are not to be had; says where to put them.
    """
    found = find(entry, home)
    if found is None and fetch_missing and entry.remotes:
        fetch(entry.name, progress=shown)
        found = find(entry, home)
    if found is None:
        urls = " and ".join(remote.url for remote in entry.remotes)
        raise DataError(
            f"{entry.name} is not at hand: run `tsenet data fetch {entry.name}`, or get {urls} and "
            f"{where_to_put(entry)}"
        )
    return found


# ---- checking


@dataclass(frozen=True)
class Check:
    """What is known of one file.

    Attributes
    ----------
    path : Path
    status : {"official", "as recorded", "recorded", "differs", "changed", "damaged"}
        Has the published digest; has none, but is what it was when first seen; was first seen now; has another digest
        than the published one; is not what it was when first seen; cannot be read.
    digest : str
        ``algorithm:hex`` that was compared.
    """

    path: Path
    status: Literal["official", "as recorded", "recorded", "differs", "changed", "damaged"]
    digest: str

    @property
    def good(self) -> bool:
        """Whether the file is what it should be, as far as is known."""
        return self.status in ("official", "as recorded", "recorded")


def verify(name: str, *, home: str | Path | None = None) -> list[Check]:
    """Compare the files of a data set at hand with their published digests.

    A file without a published digest is compared with what it was when it was first seen.

    Parameters
    ----------
    name : str
    home : path, optional
        As in :func:`tsenet.datasets.load`.

    Returns
    -------
    list of Check
        One per file; empty if the set is not at hand or needs no files.
    """
    entry = entry_of(name)
    found = find(entry, home)
    return [] if found is None else [_check(entry, path) for path in found.paths.values()]


def _check(entry: Entry, path: Path) -> Check:
    expected = entry.known_digest(path.name)
    if expected is not None and _digest(path, expected) == expected:
        return Check(path, "official", expected)
    plain = entry.known_digest(path.stem) if path.suffix in _OPENERS else None
    if plain is not None:  # compressed by someone else: its content may still be the official one
        try:
            actual = _digest(path, plain, _OPENERS[path.suffix])
        except (OSError, EOFError, lzma.LZMAError, zlib.error):
            return Check(path, "damaged", plain)
        return Check(path, "official" if actual == plain else "differs", actual)
    if expected is not None:
        return Check(path, "differs", _digest(path, expected))
    actual = sha256_of(path)
    known = _records().get(str(path.resolve()))
    if known is None:
        _record(path)
        return Check(path, "recorded", actual)
    return Check(path, "as recorded" if actual == known else "changed", actual)


def _digest(path: Path, like: str, opener: Callable[..., Any] = open) -> str:
    """Digest of a file, or of its uncompressed content, by the algorithm of another digest."""
    algorithm = like.partition(":")[0]
    digest = hashlib.new(algorithm, usedforsecurity=False)
    with opener(path, "rb") as file:
        while block := file.read(1 << 20):
            digest.update(block)
    return f"{algorithm}:{digest.hexdigest()}"


def _record_file() -> Path:
    return cache_folder() / "seen.json"


def _records() -> dict[str, str]:
    """Digests of files without a published one, as they were when first seen."""
    try:
        read = json.loads(_record_file().read_text("utf-8"))
    except FileNotFoundError:
        return {}
    except ValueError as error:
        raise DataError(f"{_record_file()} is damaged ({error}): delete it") from error
    return {str(path): str(digest) for path, digest in dict(read).items()}


def _record(path: Path) -> None:
    """Remember the digest of a file; one that is remembered already stays as it was."""
    records = _records()
    if str(path.resolve()) in records:
        return
    records[str(path.resolve())] = sha256_of(path)
    _record_file().parent.mkdir(parents=True, exist_ok=True)
    with atomic_write(_record_file(), "w") as file:
        json.dump(records, file, indent=1, sort_keys=True)
