"""Cache slow computations as npz files, named by a hash of everything they depend on."""

from __future__ import annotations

import hashlib
import json
import logging
import os
import zipfile
import zlib
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tsenet._system.atomic import atomic_write

__all__ = ["Arrays", "cache_folder", "cached", "pack_strings", "sha256_of", "unpack_strings"]

_logger = logging.getLogger("tsenet.datasets")

Arrays = dict[str, NDArray[Any]]

# Name of the array that holds the key, so that a wrongly named file is noticed.
_KEY = "made_from"


def cache_folder() -> Path:
    """Return the cache folder: ``TSENET_CACHE``, or the cache folder of the operating system."""
    given = os.environ.get("TSENET_CACHE")
    if given:
        return Path(given).expanduser()
    import pooch

    return Path(pooch.os_cache("tsenet"))


def sha256_of(path: Path) -> str:
    """Return the digest of a file as ``sha256:hex``."""
    with path.open("rb") as file:
        return f"sha256:{hashlib.file_digest(file, 'sha256').hexdigest()}"


def cached(kind: str, made_from: Mapping[str, Any], build: Callable[[], Arrays]) -> Arrays:
    """Return arrays from the cache, or build and store them.

    If the cache folder cannot be written, a warning is logged and the arrays are built each time.

    Parameters
    ----------
    kind : str
        Prefix of the file name.
    made_from : mapping
        Everything the arrays depend on, as JSON values: digests of the inputs, options, version of the recipe.
    build : callable
        Called without arguments if there is no such file or it is damaged. Returns arrays without Python objects.

    Returns
    -------
    dict of str to ndarray
    """
    key = json.dumps(made_from, sort_keys=True)
    name = f"{kind}-{hashlib.sha256(key.encode()).hexdigest()[:32]}.npz"
    path = cache_folder() / "made" / name
    found = _read(path, key)
    if found is not None:
        return found
    arrays = build()
    contents: dict[str, Any] = {**arrays, _KEY: np.frombuffer(key.encode(), np.uint8)}
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with atomic_write(path) as file:
            np.savez_compressed(file, **contents)
    except OSError as error:
        _logger.warning("cannot write to the cache %s: %s", path, error)
    return arrays


def _read(path: Path, key: str) -> Arrays | None:
    """Read a cache file; return None if it is missing, damaged or has another key."""
    try:
        # opened here because np.load does not close a file that is not npz
        with path.open("rb") as stream, np.load(stream, allow_pickle=False) as file:
            arrays: Arrays = {name: file[name] for name in file.files}
    except FileNotFoundError:
        return None
    except (OSError, ValueError, EOFError, zipfile.BadZipFile, zlib.error) as error:
        _logger.warning("%s is damaged (%s): building it again", path, error)
        return None
    stored = arrays.pop(_KEY, None)
    if stored is None or stored.tobytes() != key.encode():
        _logger.warning("%s has another key: building it again", path)
        return None
    return arrays


def pack_strings(name: str, strings: Iterable[str]) -> Arrays:
    """Return strings as two arrays: their concatenated UTF-8 bytes, and the position where each ends."""
    # JSON may contain single surrogates, which strict UTF-8 cannot encode
    encoded = [string.encode("utf-8", "surrogatepass") for string in strings]
    ends = np.cumsum([len(part) for part in encoded], dtype=np.int64)
    return {f"{name}_bytes": np.frombuffer(b"".join(encoded), np.uint8), f"{name}_ends": ends}


def unpack_strings(name: str, arrays: Mapping[str, NDArray[Any]]) -> tuple[str, ...]:
    """Return the strings that :func:`pack_strings` packed."""
    whole = arrays[f"{name}_bytes"].tobytes()
    ends: Sequence[int] = arrays[f"{name}_ends"].tolist()
    starts = [0, *ends][:-1]
    return tuple(
        whole[start:end].decode("utf-8", "surrogatepass")
        for start, end in zip(starts, ends, strict=True)
    )
