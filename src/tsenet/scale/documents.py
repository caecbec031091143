"""Some documents of a folder in memory, from which topics are described."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp

from tsenet._system.seeds import seed_sequence
from tsenet.data.shards import ShardFolder
from tsenet.data.table import Table
from tsenet.errors import DataError
from tsenet.progress import Progress

__all__ = ["drawn_documents"]

# Documents from which topics are described: sizes, coherence, typical documents.
_DESCRIBED = 20_000


def drawn_documents(folder: ShardFolder, seed: Any, progress: Progress) -> Table:
    """Up to 20,000 documents of a folder, drawn at random.

    Raises
    ------
    DataError
        If the rows are no documents.
    """
    if not folder.is_sparse:
        raise DataError(f"{folder.place.url} holds a table of numbers, not documents")
    progress.start("reading documents", len(folder.partitions))
    chosen = np.arange(folder.n_rows)
    if folder.n_rows > _DESCRIBED:
        rng = np.random.default_rng(seed_sequence(seed))
        chosen = np.sort(rng.choice(folder.n_rows, _DESCRIBED, replace=False))
    parts = []
    for block in folder.blocks():
        first, last = np.searchsorted(chosen, [block.start, block.start + block.table.n_rows])
        parts.append(block.table.values[chosen[first:last] - block.start])
        progress.advance()
    progress.finish(f"{folder.n_rows:,} documents")
    return Table.of(sp.vstack(parts, format="csr"), names=folder.names)
