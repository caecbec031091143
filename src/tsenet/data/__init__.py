"""Tables, documents and files as input: :class:`Table`, its binary variables, scaling and readers.

The names that read files and text are imported on first use.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

from tsenet.data.binary import BinaryRule
from tsenet.data.rows import BinaryRows, constant_columns
from tsenet.data.scaling import Scaling
from tsenet.data.table import Table

if TYPE_CHECKING:
    from tsenet.data.files import DataFile, Documents, read_chunks, read_data, read_documents
    from tsenet.data.shard_writer import ShardWriter, write_shards
    from tsenet.data.sharding import shard_documents, shard_table
    from tsenet.data.shards import Block, Partition, ShardFolder, open_shards
    from tsenet.data.text import count_words, vectorize, word_vectorizer, words_of

__all__ = [
    "BinaryRows",
    "BinaryRule",
    "Block",
    "DataFile",
    "Documents",
    "Partition",
    "Scaling",
    "ShardFolder",
    "ShardWriter",
    "Table",
    "constant_columns",
    "count_words",
    "open_shards",
    "read_chunks",
    "read_data",
    "read_documents",
    "shard_documents",
    "shard_table",
    "vectorize",
    "word_vectorizer",
    "words_of",
    "write_shards",
]

_LATER = {
    "Block": "shards",
    "DataFile": "files",
    "Documents": "files",
    "Partition": "shards",
    "ShardFolder": "shards",
    "ShardWriter": "shard_writer",
    "count_words": "text",
    "open_shards": "shards",
    "read_chunks": "files",
    "read_data": "files",
    "read_documents": "files",
    "shard_documents": "sharding",
    "shard_table": "sharding",
    "vectorize": "text",
    "word_vectorizer": "text",
    "words_of": "text",
    "write_shards": "shard_writer",
}


def __getattr__(name: str) -> Any:
    if name in _LATER:
        return getattr(importlib.import_module(f"tsenet.data.{_LATER[name]}"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
