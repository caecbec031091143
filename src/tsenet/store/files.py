"""Model files: one safetensors file with a JSON manifest and a SHA-256. Nothing in it is imported or executed.

``save_parts`` and ``load_parts`` write and read JSON fields and arrays, ``save`` and ``load`` the objects made of them.
What an object's fields and arrays are is the object's own matter: its ``to_parts`` and ``from_parts``.
``docs/file-format.md`` is the written specification.
"""

from __future__ import annotations

import hashlib
import importlib
import json
import os
import re
import stat
from collections.abc import Mapping
from io import BufferedReader
from math import prod
from pathlib import Path
from typing import Any, Protocol, runtime_checkable

import numpy as np
import numpy.typing as npt

from tsenet._system.atomic import atomic_write
from tsenet.errors import DataError, ModelFileError

#: The one format version that is written and read.
FORMAT_VERSION = 4
_FORMAT = "tsenet-model"

_MAX_BYTES = 16 * 2**30  # of a file
_MAX_HEADER = 100_000_000  # bytes; the safetensors library reads no longer header either
_MAX_DIMENSIONS = 8  # of an array; ours have at most 3
# Lists and objects in JSON: each takes 3 bytes of a file but 64 of memory.
_MAX_CONTAINERS = 500_000

#: The array types that a file may hold, by their safetensors names.
DTYPES: dict[str, np.dtype[Any]] = {
    "BOOL": np.dtype("?"),
    "I32": np.dtype("<i4"),
    "I64": np.dtype("<i8"),
    "F32": np.dtype("<f4"),
    "F64": np.dtype("<f8"),
}
_NAME_OF_DTYPE = {dtype: name for name, dtype in DTYPES.items()}

#: The class of each kind, as ``module:name``: a file can name no other, and none is imported before it is needed.
KINDS = {
    "LatentTree": "tsenet.skeleton.tree:LatentTree",
    "LatentTreeTransformer": "tsenet.estimators.tree_transformer:LatentTreeTransformer",
    "TSENetClassifier": "tsenet.estimators.classifier:TSENetClassifier",
    "TSENetRegressor": "tsenet.estimators.regressor:TSENetRegressor",
    "TopicModel": "tsenet.estimators.topic_model:TopicModel",
    "Wiring": "tsenet.expansion.wiring:Wiring",
}

_PART_NAME = re.compile(r"[A-Za-z0-9_]+([./-][A-Za-z0-9_]+)*")
_KIND = re.compile(r"[A-Za-z][A-Za-z0-9_]*")

Arrays = dict[str, npt.NDArray[Any]]


@runtime_checkable
class Storable(Protocol):
    """What a class needs to be saved: fields for JSON and arrays, both ways.

    It also needs a class method ``from_parts(meta, arrays)``, the inverse of ``to_parts``, and may have ``validate()``,
    which is called on every loaded object.

    Examples
    --------
    >>> from tsenet import LatentTree
    >>> from tsenet.store import Storable
    >>> issubclass(LatentTree, Storable)
    True
    """

    def to_parts(self) -> tuple[dict[str, Any], Arrays]:
        """Return the JSON fields and the arrays that make up the object."""


# ---- objects


def save(obj: Storable, path: str | os.PathLike[str]) -> None:
    """Write an object to a model file, atomically; equal objects give equal bytes.

    Parameters
    ----------
    obj : LatentTree, Wiring, LatentTreeTransformer, TopicModel, TSENetClassifier or TSENetRegressor
        What to save; an estimator has to be fitted.
    path : path
        File to write, usually ``something.tsenet``. An existing file is replaced at the end, in one step.

    Raises
    ------
    TypeError
        If the class has no file form.
    DataError
        If the object holds what :func:`load` would refuse: nothing is written then.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> from sklearn.datasets import load_digits
    >>> from tsenet import learn_tree, load, save
    >>> tree = learn_tree(load_digits().data[:300], random_state=0)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder, "digits.tsenet")
    ...     save(tree, path)
    ...     print(load(path) == tree)
    True
    """
    kind = type(obj).__name__
    if kind not in KINDS or not isinstance(obj, Storable):
        raise TypeError(f"a {kind} cannot be saved as a model file; these can: {', '.join(KINDS)}")
    meta, arrays = obj.to_parts()
    try:
        _rebuilt(kind, _as_read(meta), {name: array.view() for name, array in arrays.items()})
    except (MemoryError, ImportError):
        raise
    except Exception as error:
        raise DataError(
            f"this {kind} cannot be saved, because the file could not be loaded: {error}"
        ) from error
    save_parts(path, kind, meta, arrays)


def load(path: str | os.PathLike[str], kind: str | None = None) -> Any:
    """Read an object from a model file and check it completely before returning it.

    Parameters
    ----------
    path : path
        File that ``save`` wrote.
    kind : str, optional
        Class name, such as ``"LatentTree"``; a file of another kind is refused.

    Returns
    -------
    LatentTree, Wiring or fitted estimator
        The object, as it was saved. A `TSENetClassifier` or `TSENetRegressor` predicts without torch, which is imported
        when it is trained further or explained.

    Raises
    ------
    ModelFileError
        If the file is missing, damaged, altered, not a model file, or describes an object that
        its own ``validate()`` refuses. The message says what is wrong and what to do.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> from sklearn.datasets import load_digits
    >>> from tsenet import learn_tree, load
    >>> tree = learn_tree(load_digits().data[:300], random_state=0)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder, "digits.tsenet")
    ...     tree.save(path)
    ...     print(load(path, kind="LatentTree").n_observed)
    64
    """
    stored_kind, meta, arrays = load_parts(path)
    name = os.fspath(path)
    if kind is not None and stored_kind != kind:
        raise ModelFileError(f"{name} holds a {stored_kind}, but a {kind} is needed here")
    if stored_kind not in KINDS:
        raise ModelFileError(
            f"{name} holds a {stored_kind}, which this tsenet does not know "
            f"(it knows {', '.join(KINDS)}): install a newer tsenet"
        )

    try:
        return _rebuilt(stored_kind, meta, arrays)
    except (MemoryError, ImportError):
        raise  # the machine's or the installation's trouble, not the file's
    except Exception as error:
        # from_parts meets whatever a forged file holds, so any error there is the file's fault
        raise ModelFileError(
            f"{name} does not describe a valid {stored_kind}: {error} ({type(error).__name__}). Save the model again"
        ) from error


def _rebuilt(kind: str, meta: dict[str, Any], arrays: Arrays) -> Any:
    """Make an object of its parts, and check it completely: what `load` accepts, and so what `save` writes."""
    module, _, class_name = KINDS[kind].partition(":")
    obj = getattr(importlib.import_module(module), class_name).from_parts(meta, arrays)
    if hasattr(obj, "validate"):
        obj.validate()
    _check_nothing_lost(obj, meta, arrays)
    return obj


def _check_nothing_lost(obj: Storable, meta: dict[str, Any], arrays: Arrays) -> None:
    """Reject parts that do not round-trip: the object, saved again, must hold the same.

    The object may have more fields, such as parameters of a later version.
    """
    kept_meta, kept_arrays = obj.to_parts()
    kept_meta = _as_read(kept_meta)
    for name, value in meta.items():
        if name not in kept_meta or not _holds(kept_meta[name], value):
            raise ValueError(f"the field {name!r} is unknown or not in its normal form")

    for name, array in arrays.items():
        kept = kept_arrays.get(name)
        if (
            kept is None
            or kept.dtype != array.dtype
            or kept.shape != array.shape
            or _bytes_of(kept) != _bytes_of(array)
        ):
            raise ValueError(f"the array {name!r} is unknown or has another type or shape")


def _as_read(meta: dict[str, Any]) -> Any:
    """JSON fields as a file gives them back."""
    return json.loads(_canonical(meta))


def _holds(saved: Any, stored: Any) -> bool:
    """Whether a field is as stored, to the type: 1, 1.0 and true are three values."""
    if type(saved) is not type(stored):
        return False
    if isinstance(saved, dict):
        return all(key in saved and _holds(saved[key], value) for key, value in stored.items())
    if isinstance(saved, list):
        return len(saved) == len(stored) and all(map(_holds, saved, stored))
    return bool(saved == stored)


def arrays_under(prefix: str, arrays: Arrays) -> Arrays:
    """The arrays whose names begin with ``prefix.``, without it."""
    start = f"{prefix}."
    return {
        name.removeprefix(start): array for name, array in arrays.items() if name.startswith(start)
    }


# ---- writing


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
        Booleans, int32, int64, float32 or float64, any shape.

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
    from tsenet import __version__

    if not _KIND.fullmatch(kind):
        raise ValueError(f"the kind must be a class name, not {kind!r}")
    manifest = {
        "format": _FORMAT,
        "format_version": FORMAT_VERSION,
        "kind": kind,
        "meta": dict(meta),
        "tsenet_version": __version__,
    }
    text = _canonical(manifest)
    if json.loads(text) != manifest:
        raise TypeError(
            "the fields would not come back from JSON as they are: use only dicts with "
            "string keys, lists, strings, numbers, booleans and None"
        )

    plain = [(name, _little_endian(name, array)) for name, array in arrays.items()]
    plain.sort(key=lambda part: (-part[1].itemsize, part[0]))  # keeps every array aligned
    header: dict[str, Any] = {"__metadata__": {"tsenet": text}}
    position = 0
    for name, array in plain:
        if not _PART_NAME.fullmatch(name) or name == "__metadata__":
            raise ModelFileError(
                f"{name!r} is not a part name: letters, digits and _, joined by single . / or -"
            )
        header[name] = {
            "dtype": _NAME_OF_DTYPE[array.dtype],
            "shape": list(array.shape),
            "data_offsets": [position, position + array.nbytes],
        }
        position += array.nbytes

    digest = hashlib.sha256(_canonical(header).encode())
    for _, array in plain:
        digest.update(_bytes_of(array))

    header["__metadata__"]["sha256"] = digest.hexdigest()
    head = _canonical(header).encode()
    head += b" " * (-len(head) % 8)
    if len(head) > _MAX_HEADER or 8 + len(head) + position > _MAX_BYTES:
        raise ModelFileError(
            f"this {kind} takes more than a file can hold: {_MAX_HEADER:,} bytes of fields, {_MAX_BYTES:,} in all"
        )

    _checked_manifest(text)
    _checked_entries(header, position)
    with atomic_write(path) as file:
        file.write(len(head).to_bytes(8, "little") + head)
        for _, array in plain:
            file.write(_bytes_of(array))


def _canonical(value: Any) -> str:
    """JSON with sorted keys and without spaces, pure ASCII: equal values give equal text."""
    return json.dumps(value, sort_keys=True, allow_nan=False, separators=(",", ":"))


def _little_endian(name: str, array: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """Return the array contiguous and little-endian, as the file holds it."""
    plain = np.asarray(array)
    target = plain.dtype.newbyteorder("<")
    if target not in _NAME_OF_DTYPE:
        raise TypeError(
            f"the array {name!r} has type {plain.dtype}; a model file holds {list(DTYPES)}"
        )
    return np.asarray(plain, dtype=target, order="C")


def _bytes_of(array: npt.NDArray[Any]) -> memoryview:
    """The memory of an array, in C order."""
    return np.ascontiguousarray(array).reshape(-1).view(np.uint8).data


# ---- reading


def load_parts(path: str | os.PathLike[str]) -> tuple[str, dict[str, Any], Arrays]:
    """Read and verify a model file; return its kind, JSON fields and arrays.

    Nothing larger than the file itself is ever allocated, whatever the file claims.

    Parameters
    ----------
    path : path
        File that ``save_parts`` or ``save`` wrote.

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
            return _read(file, os.fstat(file.fileno()).st_size)
    except FileNotFoundError as error:
        raise ModelFileError(f"there is no file {name}: check the path") from error
    except OSError as error:
        raise ModelFileError(f"{name} cannot be read: {error.strerror or error}") from error
    except ModelFileError as error:
        raise ModelFileError(f"{name} cannot be loaded: {error}") from error


def _read(file: BufferedReader, size: int) -> tuple[str, dict[str, Any], Arrays]:
    if size > _MAX_BYTES:
        raise ModelFileError(f"it has {size:,} bytes, more than any model file: {_MAX_BYTES:,}")
    header, n_bytes = _read_header(file, size)
    metadata = header.get("__metadata__")
    if (
        not isinstance(metadata, dict)
        or metadata.keys() != {"sha256", "tsenet"}
        or not all(isinstance(value, str) for value in metadata.values())
    ):
        raise ModelFileError(
            f"it is a safetensors file without a manifest of format version {FORMAT_VERSION}: it was not written by "
            "tsenet, or by another version. Save the model again"
        )

    stored_digest = metadata.pop("sha256")
    digest = hashlib.sha256(_canonical(header).encode())
    arrays: Arrays = {}
    for name, dtype, shape in _checked_entries(header, n_bytes):
        content = bytearray(DTYPES[dtype].itemsize * prod(shape))  # all together: n_bytes
        if file.readinto(content) != len(content):
            raise _damaged("it became shorter while it was read")
        digest.update(content)
        if dtype == "BOOL" and content.translate(None, b"\0\1"):
            raise _damaged(f"part {name!r} holds booleans that are neither 0 nor 1")
        arrays[name] = np.frombuffer(content, dtype=DTYPES[dtype]).reshape(shape)

    if digest.hexdigest() != stored_digest:
        raise _damaged("it does not match its SHA-256: the file was altered or damaged")
    manifest = _checked_manifest(metadata["tsenet"])
    return manifest["kind"], manifest["meta"], arrays


def _read_header(file: BufferedReader, size: int) -> tuple[dict[str, Any], int]:
    """Return the safetensors header and how many bytes follow it."""
    if size < 8:
        raise _damaged(f"it is truncated: {size} bytes are too few for any model file")
    length = int.from_bytes(file.read(8), "little")
    if length > _MAX_HEADER:
        raise _damaged("it is not a safetensors file, or the length of its header was altered")
    if length > size - 8:
        raise _damaged(f"it is truncated: its header should have {length:,} bytes")
    try:
        text = file.read(length).decode("utf-8")
    except UnicodeDecodeError as error:
        raise _damaged("its header is not UTF-8 text, so it is no safetensors file") from error
    return _strict_json(text.rstrip(" "), "the header"), size - 8 - length


def _checked_entries(
    header: dict[str, Any], n_bytes: int
) -> list[tuple[str, str, tuple[int, ...]]]:
    """Name, type and shape of each array, in the order of the file; together they fill ``n_bytes``."""
    entries = []
    for name, entry in header.items():
        if name == "__metadata__":
            continue
        if not _PART_NAME.fullmatch(name):
            raise _damaged(f"{name!r} is not a part name")

        match entry:
            case {"dtype": str(dtype), "shape": list(shape), "data_offsets": [begin, end], **rest}:
                counts = [*shape, begin, end]
                if (
                    not rest
                    and dtype in DTYPES
                    and len(shape) <= _MAX_DIMENSIONS
                    and all(type(count) is int and 0 <= count < 2**63 for count in counts)
                    and end - begin == DTYPES[dtype].itemsize * prod(shape)
                ):
                    entries.append((begin, end, name, dtype, tuple(shape)))
                    continue

        raise _damaged(f"the header's entry of part {name!r} is not valid")

    entries.sort()
    position = 0
    for begin, end, name, *_ in entries:
        if begin != position:
            raise _damaged(f"part {name!r} does not begin where the one before it ends")
        position = end

    if position != n_bytes:
        state = "truncated" if position > n_bytes else "too long"
        raise _damaged(f"it is {state}: the arrays should have {position:,} bytes, not {n_bytes:,}")

    return [(name, dtype, shape) for _, _, name, dtype, shape in entries]


def _checked_manifest(text: str) -> dict[str, Any]:
    fields = _strict_json(text, "the manifest")
    if fields.get("format") != _FORMAT:
        raise _damaged(f"its format is {fields.get('format')!r}, not {_FORMAT!r}")
    version = fields.get("format_version")
    if type(version) is not int or version != FORMAT_VERSION:
        raise ModelFileError(
            f"it has format version {version!r}, but this tsenet reads version {FORMAT_VERSION}: "
            "save the model again, or install the tsenet that wrote it"
        )

    types = {"format": str, "format_version": int, "kind": str, "meta": dict, "tsenet_version": str}
    for name in sorted(fields.keys() | types.keys()):
        if not isinstance(fields.get(name), types.get(name, ())):
            raise _damaged(f"{name} in the manifest is missing, unknown or not of its type")

    if not _KIND.fullmatch(fields["kind"]):
        raise _damaged(f"its kind is {fields['kind']!r}, not a class name")
    return fields


def _strict_json(text: str, what: str) -> dict[str, Any]:
    """Parse a JSON object that is written as :func:`_canonical` writes it: no key twice, no NaN, no infinity."""
    if text.count("[") + text.count("{") > _MAX_CONTAINERS:
        raise _damaged(f"{what} holds more than {_MAX_CONTAINERS:,} lists and objects")
    try:
        value = json.loads(text)
        if isinstance(value, dict) and _canonical(value) == text:
            return value
    except (ValueError, RecursionError) as error:
        raise _damaged(f"{what} is not valid JSON ({error})") from error
    raise _damaged(f"{what} is not a JSON object in its normal form")


def _damaged(cause: str) -> ModelFileError:
    """Make the error for a file that is not as it was written."""
    return ModelFileError(f"{cause}. Copy or download the file again, or save the model again")
