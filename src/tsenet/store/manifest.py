"""The manifest: what a model file says about itself, and the strict JSON it is written in.

See ``docs/file-format.md`` for the written specification.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections import Counter
from dataclasses import dataclass
from math import isfinite, prod
from typing import Any, NoReturn, TypeGuard

from tsenet.errors import ModelFileError

__all__ = [
    "FORMAT",
    "FORMAT_VERSION",
    "SIZE_OF_TYPE",
    "Manifest",
    "StoredArray",
    "damaged",
    "strict_json",
]

FORMAT = "tsenet-model"
FORMAT_VERSION = 2

#: The array types a file may hold, by their safetensors names, and the bytes of one element.
SIZE_OF_TYPE = {
    "BOOL": 1,
    "U8": 1,
    "I8": 1,
    "U16": 2,
    "I16": 2,
    "U32": 4,
    "I32": 4,
    "F32": 4,
    "U64": 8,
    "I64": 8,
    "F64": 8,
}

#: Kinds that version 2 writes in another way; the others are the same in both.
_NEW_IN_2 = ("TSENetClassifier", "TSENetRegressor")

_PART_NAME = re.compile(r"[A-Za-z0-9_]+([./-][A-Za-z0-9_]+)*")
_KIND = re.compile(r"[A-Za-z][A-Za-z0-9_]*")
_DIGEST = re.compile(r"[0-9a-f]{64}")
_MAX_DIMENSIONS = 8
#: Lists and objects in JSON; a thousand are usual. Each takes three bytes of a file and 64 of memory.
_MAX_CONTAINERS = 500_000


@dataclass(frozen=True)
class StoredArray:
    """One array of a file: its type, shape, size in bytes and the SHA-256 of those bytes."""

    dtype: str
    shape: tuple[int, ...]
    size: int
    sha256: str


@dataclass(frozen=True)
class Manifest:
    """What the file holds.

    Attributes
    ----------
    kind : str
        The class of the object, such as ``"LatentTree"``.
    meta : dict
        The object's JSON fields.
    parts : dict of str to StoredArray
        Every array of the file, by name.
    tsenet_version : str
        The program that wrote it; information only, nothing depends on it.
    """

    kind: str
    meta: dict[str, Any]
    parts: dict[str, StoredArray]
    tsenet_version: str

    def seal(self) -> str:
        """Write the manifest as text: the SHA-256 of the JSON, a line end, the JSON.

        Keys are sorted and nothing depends on time or place, so equal objects give equal bytes.

        Raises
        ------
        ValueError, TypeError
            If ``meta`` is not JSON, or would not come back equal: NaN, infinity, keys that are no
            strings, tuples (JSON would turn them into lists).
        """
        check_part_names(self.parts)
        if not _KIND.fullmatch(self.kind):
            raise ValueError(f"the kind must be a class name, not {self.kind!r}")
        fields = {
            "format": FORMAT,
            "format_version": FORMAT_VERSION,
            "kind": self.kind,
            "meta": self.meta,
            "parts": {
                name: {
                    "dtype": part.dtype,
                    "sha256": part.sha256,
                    "shape": list(part.shape),
                    "size": part.size,
                }
                for name, part in self.parts.items()
            },
            "tsenet_version": self.tsenet_version,
        }
        # Pure ASCII, so that no string, not even a broken one, can fail to be written.
        text = json.dumps(fields, sort_keys=True, allow_nan=False, separators=(",", ":"))
        if json.loads(text) != fields:
            raise TypeError(
                "the metadata would not come back from JSON as they are: use only dicts with "
                "string keys, lists, strings, numbers, booleans and None"
            )
        return f"{hashlib.sha256(text.encode()).hexdigest()}\n{text}"

    @classmethod
    def unseal(cls, sealed: str) -> Manifest:
        """Read what ``seal`` wrote, trusting nothing.

        Raises
        ------
        ModelFileError
            Saying which field is wrong.
        """
        digest, _, text = sealed.partition("\n")
        if hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest() != digest:
            raise damaged("the manifest does not match its SHA-256: the file was altered")
        fields = strict_json(text, "the manifest")
        if fields.get("format") != FORMAT:
            raise damaged(f"its format is {fields.get('format')!r}, not {FORMAT!r}")
        version = fields.get("format_version")
        if not _is_count(version) or version < 1:
            raise damaged(f"its format version is {version!r}, not a number from 1 on")
        if version > FORMAT_VERSION:
            raise ModelFileError(
                f"it has format version {version}, but this tsenet reads up to {FORMAT_VERSION}: "
                "install a newer tsenet"
            )
        expected = {"format", "format_version", "kind", "meta", "parts", "tsenet_version"}
        if set(fields) != expected:
            wrong = ", ".join(sorted(expected ^ set(fields)))
            raise damaged(f"manifest fields missing or unknown: {wrong}")
        kind, meta, parts = fields["kind"], fields["meta"], fields["parts"]
        if not isinstance(kind, str) or not _KIND.fullmatch(kind):
            raise damaged(f"its kind is {kind!r}, not a class name")
        if version == 1 and kind in _NEW_IN_2:
            raise ModelFileError(
                f"it is a {kind} of format version 1, an older layout of networks that this tsenet "
                "does not read: fit the model again and save it"
            )
        if not isinstance(fields["tsenet_version"], str):
            raise damaged("tsenet_version in the manifest is not a string")
        if not isinstance(meta, dict) or not isinstance(parts, dict):
            raise damaged("meta and parts in the manifest must be JSON objects")
        check_part_names(parts)
        described = {name: _read_part(name, part) for name, part in parts.items()}
        return cls(kind, meta, described, fields["tsenet_version"])


def damaged(cause: str) -> ModelFileError:
    """Make the error for a file that is not as it was written."""
    return ModelFileError(f"{cause}. Copy or download the file again, or save the model again")


def check_part_names(parts: dict[str, Any]) -> None:
    """Refuse names that could be taken for a path out of a folder, or that safetensors reserves."""
    for name in parts:
        if not _PART_NAME.fullmatch(name) or name == "__metadata__":
            raise ModelFileError(
                f"{name!r} is not a part name: letters, digits and _, joined by single . / or -"
            )


def strict_json(text: str, what: str) -> dict[str, Any]:
    """Parse a JSON object; refuse duplicate keys, NaN and infinity, which Python would let pass."""

    def refuse_constant(name: str) -> NoReturn:
        raise damaged(f"{what} holds {name}, which is not JSON")

    def finite_float(digits: str) -> float:
        number = float(digits)
        if not isfinite(number):
            raise damaged(f"{what} holds {digits}, which no float64 can hold")
        return number

    def without_duplicates(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        result = dict(pairs)
        if len(result) != len(pairs):
            ((twice, _),) = Counter(name for name, _ in pairs).most_common(1)
            raise damaged(f"{what} holds the key {twice!r} twice")
        return result

    if text.count("[") + text.count("{") > _MAX_CONTAINERS:
        raise damaged(f"{what} holds more than {_MAX_CONTAINERS:,} lists and objects")
    try:
        value = json.loads(
            text,
            parse_constant=refuse_constant,
            parse_float=finite_float,
            object_pairs_hook=without_duplicates,
        )
    except ModelFileError:
        raise
    except (ValueError, RecursionError) as error:
        raise damaged(f"{what} is not valid JSON ({error})") from error
    if not isinstance(value, dict):
        raise damaged(f"{what} is not a JSON object")
    return value


def _read_part(name: str, fields: Any) -> StoredArray:
    if not isinstance(fields, dict) or set(fields) != {"dtype", "sha256", "shape", "size"}:
        raise damaged(f"part {name!r} must have exactly dtype, sha256, shape and size")
    dtype, shape, size = fields["dtype"], fields["shape"], fields["size"]
    if not isinstance(dtype, str) or dtype not in SIZE_OF_TYPE:
        raise damaged(f"part {name!r} has type {dtype!r}, not one of {list(SIZE_OF_TYPE)}")
    if (
        not isinstance(shape, list)
        or len(shape) > _MAX_DIMENSIONS
        or not all(_is_count(length) for length in shape)
    ):
        raise damaged(f"part {name!r} has shape {shape!r}, not a short list of lengths")
    if not _is_count(size) or size != SIZE_OF_TYPE[dtype] * prod(shape):
        raise damaged(f"part {name!r}: {size!r} bytes do not fit {dtype} {shape}")
    if not isinstance(fields["sha256"], str) or not _DIGEST.fullmatch(fields["sha256"]):
        raise damaged(f"part {name!r} has no SHA-256 in hexadecimal")
    return StoredArray(dtype, tuple(shape), size, fields["sha256"])


def _is_count(value: Any) -> TypeGuard[int]:
    """Whether a JSON value is a whole number from 0 to 2^63 - 1; ``True`` is one in Python only."""
    return isinstance(value, int) and not isinstance(value, bool) and 0 <= value < 2**63
