"""Any table becomes a :class:`Table`, and its binary view for structure learning.

The names about text are loaded when first used.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tsenet.data.binary import BinaryRows, BinaryRule, constant_columns
from tsenet.data.table import Table

if TYPE_CHECKING:
    from tsenet.data.text import Documents, informative_words, read_documents, vectorize

__all__ = [
    "BinaryRows",
    "BinaryRule",
    "Documents",
    "Table",
    "constant_columns",
    "informative_words",
    "read_documents",
    "vectorize",
]


def __getattr__(name: str) -> Any:
    if name in __all__:
        from tsenet.data import text

        return getattr(text, name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
