"""The exceptions that tsenet raises, and how messages write names and counts.

Every one is a :class:`TSENetError`, so one ``except`` clause catches them all. Each also inherits from the built-in
exception for its case, so code that does not know tsenet can handle it.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterable
from importlib import import_module
from importlib.util import find_spec
from typing import Any

__all__ = [
    "ClusterError",
    "DataError",
    "DivergenceError",
    "MissingDependencyError",
    "ModelFileError",
    "NonNumericError",
    "TSENetError",
    "TooLargeError",
]

_MAX_QUOTED = 60  # characters of a name or a cell in a message


class TSENetError(Exception):
    """Base class of the exceptions that tsenet raises.

    Examples
    --------
    >>> import tsenet
    >>> from tsenet.errors import TSENetError
    >>> try:
    ...     tsenet.Table.of([1, 2, 3])
    ... except TSENetError as error:
    ...     print(type(error).__name__)
    DataError
    """


class DataError(TSENetError, ValueError):
    """The input data cannot be used.

    The message names the column, row or file, and says what to do. It is a ``ValueError``.

    Examples
    --------
    >>> import tsenet
    >>> tsenet.Table.of([[1.0], [float("inf")]])
    Traceback (most recent call last):
        ...
    tsenet.errors.DataError: column 0 has 1 infinite value: correct these or drop ...
    """


class NonNumericError(DataError, TypeError):
    """A value that should be a number is something else, such as a dict.

    It is a ``ValueError`` and a ``TypeError``, because scikit-learn raises either.

    Examples
    --------
    >>> import tsenet
    >>> tsenet.Table.of([["a", {}]])
    Traceback (most recent call last):
        ...
    tsenet.errors.NonNumericError: column 0 has 1 value that cannot be read as a number, such as 'a': ...
    """


class ModelFileError(TSENetError, ValueError):
    """A model file is damaged, incomplete, or not a tsenet model file.

    It is a ``ValueError``.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> import tsenet
    >>> from tsenet.errors import ModelFileError
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder) / "model.tsenet"
    ...     _ = path.write_bytes(b"not a model")
    ...     try:
    ...         tsenet.load(path)
    ...     except ModelFileError:
    ...         print("damaged")
    damaged
    """


class DivergenceError(TSENetError, ArithmeticError):
    """Training diverged: the loss became infinite or NaN.

    It is an ``ArithmeticError``. A smaller learning rate usually helps.

    Examples
    --------
    >>> from tsenet.errors import DivergenceError
    >>> issubclass(DivergenceError, ArithmeticError)
    True
    """


class MissingDependencyError(TSENetError, ImportError):
    """An optional package is not installed; the message says which extra installs it.

    It is an ``ImportError``.

    Examples
    --------
    >>> from tsenet.errors import MissingDependencyError
    >>> issubclass(MissingDependencyError, ImportError)
    True
    """


class TooLargeError(TSENetError, MemoryError):
    """The work does not fit into the memory that it may use; the message says what would fit.

    It is a ``MemoryError``, raised before the work begins.

    Examples
    --------
    >>> from tsenet.errors import TooLargeError
    >>> issubclass(TooLargeError, MemoryError)
    True
    """


class ClusterError(TSENetError, RuntimeError):
    """The workers of a cluster cannot finish the work: they are lost, or die again and again.

    It is a ``RuntimeError``.

    Examples
    --------
    >>> from tsenet.errors import ClusterError
    >>> issubclass(ClusterError, RuntimeError)
    True
    """


def need_torch(what: str) -> None:
    """Raise a `MissingDependencyError` that begins with ``what`` unless torch is installed.

    Examples
    --------
    >>> from tsenet.errors import need_torch
    >>> need_torch("training")
    """
    if find_spec("torch") is None:
        raise MissingDependencyError(
            f"{what} needs torch: pip install torch. Saved classifiers and regressors predict without it: "
            "tsenet.load(path) or tsenet predict"
        )


def import_optional(module: str, why: str) -> Any:
    """Import a module that not everybody has installed; if it is missing, a MissingDependencyError says `why`."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of the package's own code
            return import_module(module)
    except ImportError as error:
        raise MissingDependencyError(why) from error


# ---- messages


def quoted(value: object) -> str:
    """Write a name or a cell for a message: its repr, cut after 60 characters."""
    if isinstance(value, str):
        return repr(_cut(value))
    return _cut(repr(value))


def _cut(text: str) -> str:
    return text if len(text) <= _MAX_QUOTED else f"{text[:_MAX_QUOTED]}…"


def listed(values: Iterable[object], most: int = 10) -> str:
    """Write the first names for a message, and how many more there are."""
    every = list(values)
    more = f" and {len(every) - most:,} more" if len(every) > most else ""
    return ", ".join(map(quoted, every[:most])) + more


def count_of(number: int, noun: str) -> str:
    """Write a count with its noun: ``1 row``, ``2 rows``."""
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"
