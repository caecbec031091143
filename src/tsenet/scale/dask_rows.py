"""Dask arrays and dataframes as folders of shards: written once, a chunk at a time, then worked on like any folder."""

from __future__ import annotations

import os
from typing import Any

import scipy.sparse as sp

from tsenet.data.shards import ShardFolder, ShardWriter
from tsenet.data.table import Table
from tsenet.errors import DataError

__all__ = ["is_collection", "write_collection"]


def is_collection(X: Any) -> bool:
    """Whether ``X`` is a Dask array, dataframe or other collection."""
    return hasattr(X, "__dask_graph__")


def write_collection(
    collection: Any, folder: str | os.PathLike[str], client: Any = None
) -> ShardFolder:
    """Write a Dask array or dataframe as a folder of shards, which does not depend on the chunks.

    Parameters
    ----------
    collection : dask.array.Array (N, V) or dask.dataframe.DataFrame
        Word counts, in blocks of numbers or scipy CSR blocks, or in columns.
    folder : path
        The folder to make.
    client : distributed.Client or None
        Where to compute the chunks; None: where Dask does by default.

    Raises
    ------
    DataError
        If it is another kind of collection, or holds something else than counts.
    """
    import dask

    is_frame = hasattr(collection, "columns") and hasattr(collection, "to_delayed")
    if not is_frame and getattr(collection, "ndim", 0) != 2:
        kind = type(collection).__name__
        raise DataError(f"expected a two-dimensional Dask array or a Dask dataframe, not a {kind}")
    writer: ShardWriter | None = None
    for chunks in collection.to_delayed():
        parts = [chunks] if is_frame else list(chunks)
        read = client.gather(client.compute(parts)) if client else dask.compute(*parts)
        block = read[0] if is_frame else sp.hstack([*map(sp.csr_array, read)], format="csr")
        if not block.shape[0] > 0:
            continue
        table = Table.of(block)
        if table.levels.count(None) < table.n_columns:
            raise DataError("the Dask dataframe holds categories: only word counts can be written")
        if writer is None:
            writer = ShardWriter(folder, names=table.names, named=table.named)
        writer.write(table.values)
    if writer is None:
        raise DataError("the Dask collection has no rows")
    writer.finish()
    return writer.folder
