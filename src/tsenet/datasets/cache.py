"""Features that took long to make, kept as npz files named by the content they were made from."""

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

# Name of the array that holds the key: a file under a wrong name is not believed.
_KEY = "made_from"


def cache_folder() -> Path:
    """Where downloads and made features are kept: ``TSENET_CACHE``, or the system's place for caches."""
    given = os.environ.get("TSENET_CACHE")
    if given:
        return Path(given).expanduser()
    import pooch

    return Path(pooch.os_cache("tsenet"))


def sha256_of(path: Path) -> str:
    """``sha256:hex`` of a file's bytes."""
    with path.open("rb") as file:
        return f"sha256:{hashlib.file_digest(file, 'sha256').hexdigest()}"


def cached(kind: str, made_from: Mapping[str, Any], build: Callable[[], Arrays]) -> Arrays:
    """Return arrays from the cache, or build them and put them there.

    Parameters
    ----------
    kind : str
        Beginning of the file's name.
    made_from : mapping
        Everything the arrays depend on, as JSON values: digests of the inputs, options, version of the recipe.
    build : function
        Called without arguments if there is no such file, or it is damaged. Its arrays hold no objects.

    Notes
    -----
    A cache folder that cannot be written is no error: the arrays are then built every time.
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
        _logger.warning("cannot keep what was made in %s: %s", path, error)
    return arrays


def _read(path: Path, key: str) -> Arrays | None:
    """Read a file of the cache; None if there is none, or none that can be believed."""
    try:
        # opened here: numpy leaves a file open that turns out to be no npz
        with path.open("rb") as stream, np.load(stream, allow_pickle=False) as file:
            arrays: Arrays = {name: file[name] for name in file.files}
    except FileNotFoundError:
        return None
    except (OSError, ValueError, EOFError, zipfile.BadZipFile, zlib.error) as error:
        _logger.warning("%s is damaged (%s): making it again", path, error)
        return None
    stored = arrays.pop(_KEY, None)
    if stored is None or stored.tobytes() != key.encode():
        _logger.warning("%s was made from something else: making it again", path)
        return None
    return arrays


def pack_strings(name: str, strings: Iterable[str]) -> Arrays:
    """Strings as two arrays: their UTF-8 bytes one after another, and where each ends."""
    # JSON can spell half a surrogate pair, which strict UTF-8 refuses
    encoded = [string.encode("utf-8", "surrogatepass") for string in strings]
    ends = np.cumsum([len(part) for part in encoded], dtype=np.int64)
    return {f"{name}_bytes": np.frombuffer(b"".join(encoded), np.uint8), f"{name}_ends": ends}


def unpack_strings(name: str, arrays: Mapping[str, NDArray[Any]]) -> tuple[str, ...]:
    """The strings that :func:`pack_strings` packed."""
    whole = arrays[f"{name}_bytes"].tobytes()
    ends: Sequence[int] = arrays[f"{name}_ends"].tolist()
    starts = [0, *ends][:-1]
    return tuple(
        whole[start:end].decode("utf-8", "surrogatepass")
        for start, end in zip(starts, ends, strict=True)
    )
