"""Download one file with pooch, check its digest and report progress."""

from __future__ import annotations

import logging
import socket
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from tsenet.errors import DataError
from tsenet.progress import Progress

__all__ = ["download", "reason_of"]

# A server that answers with one of these is busy or restarting: a later attempt may succeed.
_TRANSIENT = (408, 425, 429, 500, 502, 503, 504)
_RETRIES = 2
_CHUNK = 1 << 18
_SECONDS = 30.0


def download(url: str, target: Path, digest: str | None, progress: Progress) -> None:
    """Download a file, unless it is already there with the right digest.

    After a cut connection, an answer from a busy server or a wrong digest, it is tried again twice, after one and two
    seconds.

    Parameters
    ----------
    url : str
        Where the file is.
    target : Path
        Where to put it. It is replaced only by a complete file with the right digest.
    digest : str or None
        ``algorithm:hex``; None: not checked.
    progress : Progress
        Told about each block of bytes.

    Raises
    ------
    DataError
        If the downloaded file has another digest; it is deleted.
    OSError
        If the file cannot be downloaded; :func:`reason_of` says why in a few words.
    """
    import pooch

    store = pooch.create(
        path=target.parent,
        base_url="",
        registry={target.name: digest},
        urls={target.name: url},
        retry_if_failed=_RETRIES,
    )
    http = pooch.HTTPDownloader(
        progressbar=_ProgressBar(f"downloading {target.name}", progress),
        chunk_size=_CHUNK,
        timeout=_SECONDS,
        headers={"User-Agent": "tsenet", "Accept-Encoding": "identity"},
    )

    def download_once(url: str, output_file: str, store: Any) -> None:
        try:
            http(url, output_file, store)
        except OSError as error:
            if _is_transient(error):
                raise
            # pooch tries again after errors of requests only, so it stops at a plain OSError.
            raise OSError(reason_of(error)) from error

    with _silent(pooch.get_logger()):
        try:
            store.fetch(target.name, downloader=download_once)
        except ValueError as error:  # pooch's error for a wrong digest
            raise DataError(
                f"the download from {url} is not the expected file ({digest}): it was not kept. "
                "Try again, or get the file in another way"
            ) from error


def reason_of(error: BaseException) -> str:
    """Return the message of the first error in a chain, without what requests and urllib3 wrap around it."""
    return str(_first_cause(error))


def _first_cause(error: BaseException) -> BaseException:
    while (cause := error.__cause__ or error.__context__) is not None:
        error = cause
    return error


def _is_transient(error: OSError) -> bool:
    """Say whether another attempt may help: not without a network, and not for a missing page."""
    response = getattr(error, "response", None)
    if response is not None:
        return response.status_code in _TRANSIENT
    return not isinstance(_first_cause(error), socket.gaierror)


class _ProgressBar:
    """The methods that pooch calls on a progress bar, passed on to a :class:`Progress`."""

    def __init__(self, stage: str, progress: Progress) -> None:
        self._stage = stage
        self._progress = progress
        self._total = 0
        self._done = 0

    @property
    def total(self) -> int:
        """Size of the file in bytes; 0 if the server does not say."""
        return self._total

    @total.setter
    def total(self, total: int) -> None:
        # pooch sets it once per attempt, when the answer begins.
        self._total, self._done = total, 0
        self._progress.start(self._stage, total or None)

    def update(self, n_bytes: int) -> None:
        """Add bytes, up to the total: pooch counts every chunk as full, and at the end the whole file again."""
        if self._total:
            n_bytes = min(n_bytes, self._total - self._done)
        if n_bytes:
            self._done += n_bytes
            self._progress.advance(n_bytes)

    def reset(self) -> None:
        """Do nothing: :meth:`update` never exceeds the total."""

    def close(self) -> None:
        """Finish the stage."""
        self._progress.finish()


@contextmanager
def _silent(logger: logging.Logger) -> Iterator[None]:
    """Keep pooch from writing to stderr: libraries never print."""
    before = logger.level
    logger.setLevel(logging.ERROR)
    try:
        yield
    finally:
        logger.setLevel(before)
