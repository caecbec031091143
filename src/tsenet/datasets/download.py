"""Downloading one file: goes on where a broken download stopped, and never leaves a wrong file behind."""

from __future__ import annotations

import http.client
import logging
import os
import socket
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tsenet.errors import DataError
from tsenet.progress import Progress

__all__ = ["Resuming", "download"]

_logger = logging.getLogger("tsenet.datasets")

_BLOCK = 1 << 18
_SECONDS = 30.0
# What passes by itself: a cut connection, a server that is busy. A missing page does not.
_PASSING = (408, 425, 429, 500, 502, 503, 504)


@dataclass
class Resuming:
    """A downloader for pooch that keeps what it has in ``<target>.part`` and asks only for the rest.

    What is there is only continued if the server says it is still the same file (its ETag or date, kept in
    ``<target>.part.tag``).

    Attributes
    ----------
    target : Path
        The file to make; the parts lie beside it.
    progress : Progress
    attempts : int
        Tries in a row that may bring nothing new.
    pause : float
        Seconds before the second try, doubled for each one after it.
    """

    target: Path
    progress: Progress = field(default_factory=Progress)
    attempts: int = 4
    pause: float = 1.0

    def __call__(self, url: str, output_file: str, pooch: Any) -> None:
        """Download `url` to `output_file`; pooch checks the digest afterwards and moves it into place."""
        part = self._beside(".part")
        failures = 0
        while True:
            before = _size(part)
            try:
                self._go_on(url, part)
                break
            except (OSError, http.client.HTTPException) as error:
                if not _passes(error):
                    raise
                failures = 1 if _size(part) > before else failures + 1
                if failures >= self.attempts:
                    raise
                _logger.info("%s: %s; trying again", url, error)
                time.sleep(self.pause * 2.0 ** (failures - 1))
        os.replace(part, output_file)
        self._beside(".part.tag").unlink(missing_ok=True)

    def _go_on(self, url: str, part: Path) -> None:
        """Ask for what is missing of the file and append it."""
        tag = self._beside(".part.tag")
        known = tag.read_text("utf-8") if tag.is_file() else ""
        have = _size(part) if known else 0
        headers = {"User-Agent": "tsenet", "Accept-Encoding": "identity"}
        if have:
            headers |= {"Range": f"bytes={have}-", "If-Range": known}
        request = urllib.request.Request(url, headers=headers)
        try:
            response = urllib.request.urlopen(request, timeout=_SECONDS)
        except urllib.error.HTTPError as error:
            if error.code == 416 and have:  # nothing after these bytes: they are all, or too many
                error.close()
                if error.headers.get("Content-Range", "") == f"bytes */{have}":
                    return
                tag.unlink(missing_ok=True)
                self._go_on(url, part)
                return
            raise
        with response:
            if response.status == 206:
                if not response.headers.get("Content-Range", "").startswith(f"bytes {have}-"):
                    tag.unlink(missing_ok=True)  # from the beginning the next time
                    raise ConnectionError("the server sent another part than the one asked for")
            else:  # the whole file: the server cannot resume, or it changed
                have = 0
                _remember(tag, response.headers)
            length = response.headers.get("Content-Length")
            total = have + int(length) if length is not None else None
            self.progress.start(f"downloading {self.target.name}", total)
            self.progress.advance(have)
            with open(part, "ab" if have else "wb") as file:
                while block := response.read(_BLOCK):
                    file.write(block)
                    self.progress.advance(len(block))
        if total is not None and _size(part) < total:
            raise ConnectionError(
                f"the connection was cut after {_size(part):,} of {total:,} bytes"
            )
        self.progress.finish()

    def _beside(self, suffix: str) -> Path:
        return self.target.with_name(self.target.name + suffix)


def download(
    url: str, target: Path, digest: str | None, progress: Progress, *, pause: float = 1.0
) -> None:
    """Download a file, unless it is there already with the right digest.

    Parameters
    ----------
    url : str
    target : Path
        Replaced only by a complete file with the right digest.
    digest : str or None
        ``algorithm:hex``; None: not checked.
    progress : Progress
    pause : float, default 1.0
        Seconds before trying again after a failure.

    Raises
    ------
    DataError
        If what came has another digest. It is deleted.
    OSError, http.client.HTTPException
        If it could not be had, after several tries. The part that came is kept for the next time.
    """
    import pooch

    target.parent.mkdir(parents=True, exist_ok=True)
    downloader = Resuming(target, progress, pause=pause)
    with _quiet(pooch.get_logger()):
        try:
            pooch.retrieve(
                url, digest, fname=target.name, path=target.parent, downloader=downloader
            )
        except ValueError as error:  # pooch's word for a wrong digest
            raise DataError(
                f"what came from {url} is not the expected file ({digest}): it was not kept. "
                "Try again, or fetch the file by other means"
            ) from error


def _passes(error: Exception) -> bool:
    """Whether trying again may help: not without a network, and not if there is no such page."""
    if isinstance(error, urllib.error.HTTPError):
        error.close()
        return error.code in _PASSING
    reason = error.reason if isinstance(error, urllib.error.URLError) else error
    return not isinstance(reason, socket.gaierror)


def _remember(tag: Path, headers: Any) -> None:
    """Keep what tells this version of the file from others; without it, it cannot be resumed."""
    etag = headers.get("ETag") or ""
    # a weak ETag may stand for other bytes
    mark = etag if etag and not etag.startswith("W/") else headers.get("Last-Modified") or ""
    if mark:
        tag.write_text(mark, "utf-8")
    else:
        tag.unlink(missing_ok=True)


def _size(path: Path) -> int:
    with suppress(FileNotFoundError):
        return path.stat().st_size
    return 0


@contextmanager
def _quiet(logger: logging.Logger) -> Iterator[None]:
    """Keep pooch from writing on stderr: libraries do not."""
    before = logger.level
    logger.setLevel(logging.ERROR)
    try:
        yield
    finally:
        logger.setLevel(before)
