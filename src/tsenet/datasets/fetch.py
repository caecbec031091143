"""Download the files of a data set and compare them with their digests."""

from __future__ import annotations

import hashlib
import json
import logging
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from tsenet._system.atomic import atomic_write
from tsenet.data.files import OPENERS, report_damage
from tsenet.datasets.cache import cache_folder, sha256_of
from tsenet.datasets.catalog import Entry, Remote, entry_of
from tsenet.datasets.download import download, reason_of
from tsenet.datasets.places import Found, download_folder, find, where_to_put
from tsenet.errors import DataError
from tsenet.progress import Progress, ProgressCallback, as_progress

__all__ = ["Check", "fetch", "files_of", "verify"]

_logger = logging.getLogger("tsenet.datasets")


def fetch(name: str, *, progress: bool | Progress | ProgressCallback | None = None) -> list[Path]:
    """Download the official files of a data set into the cache.

    Files that are in the cache already are only checked. A damaged or incomplete download never replaces a file.

    Parameters
    ----------
    name : str
        One of :func:`tsenet.datasets.names`.
    progress : bool, Progress or callable, default=None
        True shows progress bars on stderr; a callable is called as ``progress(stage, done, total)``.

    Returns
    -------
    list of Path
        The files; empty for a data set that needs none.

    Raises
    ------
    DataError
        If a file cannot be downloaded, saying where to put it by hand; or if it does not have the published digest.

    Examples
    --------
    >>> from tsenet.datasets import fetch
    >>> fetch("digits")  # comes with scikit-learn
    []
    """
    entry = entry_of(name)
    shown = as_progress(progress)
    _logger.info("%s: licence: %s; source: %s", entry.title, entry.licence, entry.source)
    with shown:
        return [_fetch_one(entry, remote, shown) for remote in entry.remotes]


def _fetch_one(entry: Entry, remote: Remote, progress: Progress) -> Path:
    target = download_folder(entry) / remote.name
    # without a published digest, a second download must equal the first one
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
    """Find the files of a data set, and download them if they are missing and `fetch_missing` is True.

    Raises
    ------
    DataError
        If they are missing and not downloaded; says where to put them.
    """
    found = find(entry, home)
    if found is None and fetch_missing and entry.remotes:
        fetch(entry.name, progress=shown)
        found = find(entry, home)
    if found is None:
        urls = " and ".join(remote.url for remote in entry.remotes)
        raise DataError(
            f"the files of {entry.name} are missing: call datasets.fetch({entry.name!r}), or get {urls} and "
            f"{where_to_put(entry)}"
        )
    return found


# ---- checking


@dataclass(frozen=True)
class Check:
    """The result of checking one file; :func:`verify` returns one per file.

    Attributes
    ----------
    path : Path
        The file.
    status : {"official", "as recorded", "recorded", "differs", "changed", "damaged"}
        ``"official"``: it has the published digest. ``"differs"``: it has another digest than the published one.
        Without a published digest, ``"recorded"``: its digest was recorded now; ``"as recorded"``: it has the recorded
        digest; ``"changed"``: it has another one. ``"damaged"``: it cannot be decompressed.
    digest : str
        ``algorithm:hex`` of the file.

    Examples
    --------
    >>> from pathlib import Path
    >>> from tsenet.datasets import Check
    >>> Check(Path("train.csv"), "differs", "md5:00ff").good
    False
    """

    path: Path
    status: Literal["official", "as recorded", "recorded", "differs", "changed", "damaged"]
    digest: str

    @property
    def good(self) -> bool:
        """Whether the file has the published or recorded digest."""
        return self.status in ("official", "as recorded", "recorded")


def verify(name: str, *, home: str | Path | None = None) -> list[Check]:
    """Compare the files of a data set with their published digests.

    The digest of a file without a published one is recorded the first time, and compared from then on.

    Parameters
    ----------
    name : str
        One of :func:`tsenet.datasets.names`.
    home : str or Path, default=None
        Folder to search first, as in :func:`tsenet.datasets.load`.

    Returns
    -------
    list of Check
        One per file; empty if the files are missing or the data set needs none.

    Examples
    --------
    >>> from tsenet.datasets import verify
    >>> verify("digits")  # comes with scikit-learn
    []
    """
    entry = entry_of(name)
    found = find(entry, home)
    return [] if found is None else [_check(entry, path) for path in found.paths.values()]


def _check(entry: Entry, path: Path) -> Check:
    expected = entry.known_digest(path.name)
    if expected is not None and _digest(path, expected) == expected:
        return Check(path, "official", expected)
    plain = entry.known_digest(path.stem) if path.suffix in OPENERS else None
    if plain is not None:  # compressed by someone else: compare the content
        try:
            with report_damage(str(path)):
                actual = _digest(path, plain, OPENERS[path.suffix])
        except DataError:
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
    """Return the digest of a file, or of its uncompressed content, with the algorithm of `like`."""
    algorithm = like.partition(":")[0]
    digest = hashlib.new(algorithm, usedforsecurity=False)
    with opener(path, "rb") as file:
        while block := file.read(1 << 20):
            digest.update(block)
    return f"{algorithm}:{digest.hexdigest()}"


def _record_file() -> Path:
    return cache_folder() / "seen.json"


def _records() -> dict[str, str]:
    """Return the recorded digests of files without a published one."""
    try:
        read = json.loads(_record_file().read_text("utf-8"))
    except FileNotFoundError:
        return {}
    except ValueError as error:
        raise DataError(f"{_record_file()} is damaged ({error}): delete it") from error
    return {str(path): str(digest) for path, digest in dict(read).items()}


def _record(path: Path) -> None:
    """Record the digest of a file, unless one is recorded already."""
    records = _records()
    if str(path.resolve()) in records:
        return
    records[str(path.resolve())] = sha256_of(path)
    _record_file().parent.mkdir(parents=True, exist_ok=True)
    with atomic_write(_record_file(), "w") as file:
        json.dump(records, file, indent=1, sort_keys=True)
