"""Tables, documents and files as input: :class:`Table`, its binary variables, scaling and readers."""

from __future__ import annotations

from tsenet.data.binary import BinaryRule
from tsenet.data.readers import DataFile, Documents, read_chunks, read_data, read_documents
from tsenet.data.rows import BinaryRows
from tsenet.data.scaling import Scaling
from tsenet.data.shards import (
    Partition,
    ShardFolder,
    ShardWriter,
    open_shards,
    shard_documents,
    write_shards,
)
from tsenet.data.table import Table
from tsenet.data.text import count_words, embed, vectorize, word_vectorizer, words_of

__all__ = [
    "BinaryRows",
    "BinaryRule",
    "DataFile",
    "Documents",
    "Partition",
    "Scaling",
    "ShardFolder",
    "ShardWriter",
    "Table",
    "count_words",
    "embed",
    "open_shards",
    "read_chunks",
    "read_data",
    "read_documents",
    "shard_documents",
    "vectorize",
    "word_vectorizer",
    "words_of",
    "write_shards",
]
