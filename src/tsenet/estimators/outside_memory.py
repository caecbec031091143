"""Estimators and rows outside memory: folders of shards and Dask collections, here or on a cluster.

The structure is learned by the same functions as in memory, from :class:`tsenet.scale.Blocks`.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import scipy.sparse as sp
from sklearn.base import BaseEstimator

from tsenet._system.seeds import seed_sequence
from tsenet.data.shards import Partition, ShardFolder
from tsenet.data.table import Table
from tsenet.errors import DataError
from tsenet.scale.blocks import Blocks, in_blocks, is_outside_memory

if TYPE_CHECKING:
    from tsenet.progress import Progress

# Documents from which topics are described: sizes, coherence, typical documents.
_DESCRIBED = 20_000

__all__ = [
    "WithoutDisplay",
    "drawn_documents",
    "folder_of",
    "is_outside_memory",
    "partitions_of",
    "tables_of",
]


class WithoutDisplay(BaseEstimator):
    """An estimator whose pickles hold no progress display: workers of a cluster get copies of it."""

    def __getstate__(self) -> dict[str, Any]:
        state: dict[str, Any] = dict(super().__getstate__())
        if not isinstance(state.get("progress"), int | None):
            state["progress"] = None
        return state


def tables_of(X: Any, names: Sequence[str]) -> Iterator[Table]:
    """The rows with the columns ``names``, a partition at a time; words are matched by name."""
    with in_blocks(X) as blocks:
        for _, table in partitions_of(folder_of(blocks), names):
            yield table


def folder_of(blocks: Blocks) -> ShardFolder:
    """The folder that holds rows outside memory."""
    assert blocks.folder is not None
    return blocks.folder


def drawn_documents(blocks: Blocks, seed: Any, progress: Progress) -> Table:
    """The documents of a folder from which topics are described: at most 20,000, drawn at random."""
    table: Table = blocks.sample(_DESCRIBED, seed_sequence(seed), progress)
    return table


def partitions_of(folder: ShardFolder, words: Sequence[str]) -> Iterator[tuple[Partition, Table]]:
    """Each partition of a folder, and its documents with the model's columns; words are matched by name.

    Raises
    ------
    DataError
        If the folder has none of the model's words.
    """
    column = {word: j for j, word in enumerate(words)}
    known = [(j, column[word]) for j, word in enumerate(folder.names) if word in column]
    if not known:
        raise DataError(f"{folder.path} has none of the {len(words)} words of the model")
    ones, places = np.ones(len(known), np.int32), tuple(zip(*known, strict=True))
    of_model = sp.csr_array((ones, places), shape=(folder.n_columns, len(words)))
    for partition in folder.partitions:
        table = folder.read(partition)
        if folder.names != tuple(words):
            table = Table.of(table.values @ of_model, words)
        yield partition, table
