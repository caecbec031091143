"""The checkpoint file: named arrays and JSON fields in one file that cannot be misread.

The file is one line, ``tsenet-checkpoint 1 SHA256``, followed by a safetensors file with that SHA-256. The safetensors
metadata hold the fields as JSON. There is no pickle, and a file in which one bit has changed is refused. Writing
replaces the file atomically, so a crash leaves the old file or the new one.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tsenet._system.atomic import atomic_write
from tsenet.errors import ModelFileError

__all__ = ["digest_of", "read_checkpoint", "write_checkpoint"]

_HEAD = b"tsenet-checkpoint 1 "


def write_checkpoint(
    path: str | os.PathLike[str], fields: Mapping[str, Any], arrays: Mapping[str, NDArray[Any]]
) -> None:
    """Replace ``path`` by a checkpoint with these fields and arrays.

    Parameters
    ----------
    path : path
        The file; its folder must exist.
    fields : mapping of str to JSON-able value
        Everything that is not an array. Infinite numbers and NaN are refused.
    arrays : mapping of str to ndarray
        The arrays, in any memory order.
    """
    from safetensors.numpy import save as to_safetensors

    # safetensors writes an array's memory without looking at its strides: it must be in C order
    plain = {name: np.asarray(array, order="C") for name, array in arrays.items()}
    text = json.dumps(dict(fields), allow_nan=False, sort_keys=True)
    content = to_safetensors(plain, metadata={"tsenet": text})
    with atomic_write(path) as file:
        file.write(_HEAD + hashlib.sha256(content).hexdigest().encode() + b"\n")
        file.write(content)


def read_checkpoint(
    path: str | os.PathLike[str],
) -> tuple[dict[str, Any], dict[str, NDArray[Any]]] | None:
    """Read the fields and arrays of a checkpoint; None if there is no such file.

    Raises
    ------
    ModelFileError
        If the file is damaged or no checkpoint. The message says what is wrong with "it"; callers add which file
        it is and what to do.
    """
    from safetensors import SafetensorError
    from safetensors.numpy import load as from_safetensors

    try:
        content = Path(path).read_bytes()
    except FileNotFoundError:
        return None
    head, _, body = content.partition(b"\n")
    if not head.startswith(_HEAD):
        raise ModelFileError("it is no checkpoint that this version of tsenet can read")
    if head.removeprefix(_HEAD) != hashlib.sha256(body).hexdigest().encode():
        raise ModelFileError("it does not match its SHA-256: it was altered or cut off")
    try:
        arrays = from_safetensors(body)
        length = int.from_bytes(body[:8], "little")
        fields = json.loads(json.loads(body[8 : 8 + length])["__metadata__"]["tsenet"])
        return dict(fields), arrays
    except (SafetensorError, KeyError, TypeError, ValueError) as error:
        raise ModelFileError(f"its content cannot be read ({error})") from error


def digest_of(*arrays: NDArray[Any] | None) -> str:
    """SHA-256 of arrays, their types and shapes: equal digests mean equal data."""
    digest = hashlib.sha256()
    for array in arrays:
        if array is None:
            digest.update(b"None;")
        else:
            digest.update(f"{array.dtype.str} {array.shape};".encode())
            digest.update(np.asarray(array, order="C").data)
    return digest.hexdigest()
