"""Tables, documents and files as input: :class:`Table`, its binary variables, scaling and readers."""

from __future__ import annotations

from tsenet.data.binary import BinaryRows, BinaryRule
from tsenet.data.blocks import Blocks
from tsenet.data.docstrings import load_docstrings
from tsenet.data.readers import DataFile, read_chunks, read_data
from tsenet.data.scaling import Scaling
from tsenet.data.shards import (
    Shard,
    ShardFolder,
    open_shards,
    shard_documents,
    write_batches,
    write_shards,
)
from tsenet.data.table import Table
from tsenet.data.text import count_words, embed, vectorize, word_vectorizer
from tsenet.data.words import words_of

__all__ = [
    "BinaryRows",
    "BinaryRule",
    "Blocks",
    "DataFile",
    "Scaling",
    "Shard",
    "ShardFolder",
    "Table",
    "count_words",
    "embed",
    "load_docstrings",
    "open_shards",
    "read_chunks",
    "read_data",
    "shard_documents",
    "vectorize",
    "word_vectorizer",
    "words_of",
    "write_batches",
    "write_shards",
]
