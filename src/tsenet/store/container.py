"""Model files: one safetensors file whose metadata carry a manifest. No pickle anywhere.

Here only bytes, hashes and sizes matter; ``tsenet.store.objects`` turns objects into parts and
back. ``docs/file-format.md`` is the written specification.
"""

from __future__ import annotations

import hashlib
import os
import stat
from collections.abc import Mapping
from io import BufferedReader
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from tsenet._system.atomic import atomic_write
from tsenet.errors import ModelFileError
from tsenet.store.manifest import Manifest, StoredArray, damaged, strict_json

__all__ = ["MAX_BYTES", "bytes_of", "load_parts", "save_parts"]

#: Files larger than this are refused unless ``max_bytes`` says otherwise: 16 GiB.
MAX_BYTES = 16 * 2**30

# The safetensors library reads no longer header, so neither do we, nor write one.
_MAX_HEADER = 100_000_000
_METADATA_KEY = "tsenet"

_TYPES: dict[str, np.dtype[Any]] = {
    "BOOL": np.dtype("?"),
    "U8": np.dtype("u1"),
    "I8": np.dtype("i1"),
    "U16": np.dtype("<u2"),
    "I16": np.dtype("<i2"),
    "U32": np.dtype("<u4"),
    "I32": np.dtype("<i4"),
    "F32": np.dtype("<f4"),
    "U64": np.dtype("<u8"),
    "I64": np.dtype("<i8"),
    "F64": np.dtype("<f8"),
}
_NAME_OF_TYPE = {dtype: name for name, dtype in _TYPES.items()}


def save_parts(
    path: str | os.PathLike[str],
    kind: str,
    meta: Mapping[str, Any],
    arrays: Mapping[str, npt.NDArray[Any]],
) -> None:
    """Write JSON fields and arrays as one model file, atomically.

    Parameters
    ----------
    path : path
        File to write. An existing file is replaced at the end, in one step.
    kind : str
        What the parts make up: the name of a class.
    meta : mapping of str to JSON value
        Fields that JSON gives back unchanged: dicts with string keys, lists, strings, finite numbers, booleans, None.
    arrays : mapping of str to ndarray
        Integers, booleans, float32 or float64, any shape.

    Raises
    ------
    ValueError, TypeError
        If ``meta`` is not such JSON or an array has another type.
    ModelFileError
        If a part name is not allowed, or the fields exceed 100 MB.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> import numpy as np
    >>> from tsenet.store import load_parts, save_parts
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder, "parts.tsenet")
    ...     save_parts(path, "Example", {"title": "ones"}, {"values": np.ones(2)})
    ...     print(load_parts(path))
    ('Example', {'title': 'ones'}, {'values': array([1., 1.])})
    """
    from safetensors.numpy import save as to_safetensors

    from tsenet import __version__

    plain = {name: _little_endian(name, array) for name, array in sorted(arrays.items())}
    parts = {
        name: StoredArray(
            _NAME_OF_TYPE[array.dtype],
            array.shape,
            array.nbytes,
            hashlib.sha256(bytes_of(array).data).hexdigest(),
        )
        for name, array in plain.items()
    }
    sealed = Manifest(kind, dict(meta), parts, __version__).seal()
    # One metadata key only: the library writes several in random order.
    content = to_safetensors(plain, metadata={_METADATA_KEY: sealed})
    if int.from_bytes(content[:8], "little") > _MAX_HEADER:
        raise ModelFileError(
            f"the metadata of this {kind} exceed {_MAX_HEADER:,} bytes, more than a file can hold"
        )
    with atomic_write(path) as file:
        file.write(content)


def load_parts(
    path: str | os.PathLike[str], *, max_bytes: int = MAX_BYTES
) -> tuple[str, dict[str, Any], dict[str, npt.NDArray[Any]]]:
    """Read and verify a model file; return its kind, JSON fields and arrays.

    Nothing larger than the file itself is ever allocated, whatever the file claims.

    Parameters
    ----------
    path : path
        File that ``save_parts`` or ``save`` wrote.
    max_bytes : int, default=16 GiB
        Refuse a larger file before reading it. Raise it for a larger file that you trust.

    Returns
    -------
    kind : str
        What the parts make up: the name of a class.
    meta : dict
        The JSON fields.
    arrays : dict of str to ndarray
        The arrays by name.

    Raises
    ------
    ModelFileError
        If anything is missing, truncated, altered, too large or unknown.

    Examples
    --------
    >>> from tsenet.errors import ModelFileError
    >>> from tsenet.store import load_parts
    >>> try:
    ...     load_parts("missing.tsenet")
    ... except ModelFileError as error:
    ...     print(error)
    there is no file missing.tsenet: check the path
    """
    name = os.fspath(path)
    try:
        if not stat.S_ISREG(os.stat(path).st_mode):  # opening a pipe would wait for ever
            raise ModelFileError("it is not a regular file; give the path of a .tsenet file")
        with Path(path).open("rb") as file:
            return _read(file, os.fstat(file.fileno()).st_size, max_bytes)
    except FileNotFoundError as error:
        raise ModelFileError(f"there is no file {name}: check the path") from error
    except OSError as error:
        raise ModelFileError(f"{name} cannot be read: {error.strerror or error}") from error
    except ModelFileError as error:
        raise ModelFileError(f"{name} cannot be loaded: {error}") from error


def _read(
    file: BufferedReader, size: int, max_bytes: int
) -> tuple[str, dict[str, Any], dict[str, npt.NDArray[Any]]]:
    if size > max_bytes:
        raise ModelFileError(
            f"it has {size:,} bytes, more than the {max_bytes:,} allowed; "
            "give a larger max_bytes if you trust it"
        )
    header, start = _read_header(file, size)
    manifest = _manifest_of(header)
    order = _parts_in_order(header, manifest, size - start)
    arrays = {name: _read_part(file, name, manifest.parts[name]) for name in order}
    return manifest.kind, manifest.meta, arrays


def _read_header(file: BufferedReader, size: int) -> tuple[dict[str, Any], int]:
    """Return the safetensors header and the position where the arrays begin."""
    if size < 8:
        raise damaged(f"it is truncated: {size} bytes are too few for any model file")
    length = int.from_bytes(file.read(8), "little")
    if length > _MAX_HEADER:
        raise damaged("it is not a safetensors file, or the length of its header was altered")
    if length > size - 8:
        raise damaged(f"it is truncated: its header should have {length:,} bytes")
    try:
        text = file.read(length).decode("utf-8")
    except UnicodeDecodeError as error:
        raise damaged("its header is not UTF-8 text, so it is no safetensors file") from error
    return strict_json(text, "the header"), 8 + length


def _manifest_of(header: dict[str, Any]) -> Manifest:
    metadata = header.get("__metadata__")
    if not isinstance(metadata, dict) or not isinstance(metadata.get(_METADATA_KEY), str):
        raise ModelFileError(
            "it is a safetensors file without the manifest of tsenet: it was not written by "
            "tsenet.store.save"
        )
    if len(metadata) > 1:
        raise damaged(f"its header holds unknown metadata: {sorted(set(metadata) - {'tsenet'})}")
    return Manifest.unseal(metadata[_METADATA_KEY])


def _parts_in_order(header: dict[str, Any], manifest: Manifest, n_bytes: int) -> list[str]:
    """Check the header's entries against the manifest; return the part names in file order."""
    entries = {name: entry for name, entry in header.items() if name != "__metadata__"}
    missing = sorted(manifest.parts.keys() - entries.keys())
    unknown = sorted(entries.keys() - manifest.parts.keys())
    if missing or unknown:
        raise damaged(f"parts missing: {missing or 'none'}; parts unknown: {unknown or 'none'}")
    begins: list[tuple[int, int, str]] = []
    for name, part in manifest.parts.items():
        entry = entries[name]
        begin = _begin_of(entry)
        if begin is None or entry != {
            "dtype": part.dtype,
            "shape": list(part.shape),
            "data_offsets": [begin, begin + part.size],
        }:
            raise damaged(f"the header describes part {name!r} otherwise than the manifest")
        begins.append((begin, begin + part.size, name))
    position = 0
    for begin, end, name in sorted(begins):
        if begin != position:
            raise damaged(f"part {name!r} does not begin where the one before it ends")
        position = end
    if position != n_bytes:
        state = "truncated" if position > n_bytes else "too long"
        raise damaged(f"it is {state}: the arrays should have {position:,} bytes, not {n_bytes:,}")
    return [name for _, _, name in sorted(begins)]


def _begin_of(entry: Any) -> int | None:
    """Return where an array begins according to its header entry; None if that makes no sense."""
    if isinstance(entry, dict):
        offsets = entry.get("data_offsets")
        if isinstance(offsets, list) and offsets and type(offsets[0]) is int:
            return offsets[0]
    return None


def _read_part(file: BufferedReader, name: str, part: StoredArray) -> npt.NDArray[Any]:
    content = bytearray(part.size)  # no more than the file has: sizes were compared before
    if file.readinto(content) != part.size or hashlib.sha256(content).hexdigest() != part.sha256:
        raise damaged(f"part {name!r} does not match its SHA-256: the file was altered or damaged")
    if part.dtype == "BOOL" and content.translate(None, b"\0\1"):
        raise damaged(f"part {name!r} holds booleans that are neither 0 nor 1")
    return np.frombuffer(content, dtype=_TYPES[part.dtype]).reshape(part.shape)


def _little_endian(name: str, array: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """Return the array contiguous and little-endian, as the file holds it."""
    plain = np.asarray(array)
    target = plain.dtype.newbyteorder("<")
    if target not in _NAME_OF_TYPE:
        raise TypeError(
            f"the array {name!r} has type {plain.dtype}; a model file holds {list(_TYPES)}"
        )
    return np.asarray(plain, dtype=target, order="C")


def bytes_of(array: npt.NDArray[Any]) -> npt.NDArray[np.uint8]:
    """Return the memory of an array as bytes, in C order: (nbytes,)."""
    return np.ascontiguousarray(array).reshape(-1).view(np.uint8)
