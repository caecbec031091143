"""The errors tsenet raises on purpose.

Every one is a :class:`TSENetError`, so one ``except`` catches them all, and each also inherits the
built-in error a Python programmer would expect, so code that knows nothing of tsenet still works.
"""

from __future__ import annotations

__all__ = [
    "DataError",
    "DivergenceError",
    "MissingDependencyError",
    "ModelFileError",
    "NonNumericError",
    "TSENetError",
]


class TSENetError(Exception):
    """Root of all errors raised on purpose by tsenet."""


class DataError(TSENetError, ValueError):
    """The input data cannot be used; the message names the column and says what to do."""


class NonNumericError(DataError, TypeError):
    """A value that should be a number is something else, such as a dict."""


class ModelFileError(TSENetError, ValueError):
    """A model file is missing a part, damaged, or not a tsenet model file."""


class DivergenceError(TSENetError, ArithmeticError):
    """Training left the range of numbers: the loss became infinite or NaN."""


class MissingDependencyError(TSENetError, ImportError):
    """An optional package is needed; the message says which extra installs it."""
