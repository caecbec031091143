"""Dask arrays and dataframes as folders of shards: written once, a chunk at a time, then worked on like any folder."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import Any

import numpy as np
import scipy.sparse as sp

from tsenet.data.shards import ROWS_PER_GROUP, ShardFolder, ShardWriter
from tsenet.data.table import Table
from tsenet.errors import DataError

__all__ = ["is_collection", "write_collection"]

_VALUES_PER_GROUP = 1 << 22  # of dense rows


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
        Blocks of numbers or scipy CSR blocks of counts; or columns of numbers.
    folder : path
        The folder to make.
    client : distributed.Client or None
        Where to compute the chunks; None: where Dask does by default.

    Raises
    ------
    DataError
        If it is another kind of collection, or holds something else than numbers.
    """
    import dask

    is_frame = hasattr(collection, "columns") and hasattr(collection, "to_delayed")
    if not is_frame and getattr(collection, "ndim", 0) != 2:
        kind = type(collection).__name__
        raise DataError(f"expected a two-dimensional Dask array or a Dask dataframe, not a {kind}")
    writer: ShardWriter | None = None
    columns: tuple[str, ...] | None = None
    for chunks in collection.to_delayed():
        parts = [chunks] if is_frame else list(chunks)
        block = _joined(client.gather(client.compute(parts)) if client else dask.compute(*parts))
        if not block.shape[0] > 0:
            continue
        table = _table(block, collection, columns)
        columns = table.names  # of dates, too, all blocks have the columns of the first
        if writer is None:
            writer = _writer(folder, table)
        elif table.is_sparse != writer.sparse:
            raise DataError("some chunks are sparse and others are dense: make all of one kind")
        writer.write(table)
    if writer is None:
        raise DataError("the Dask collection has no rows")
    writer.finish()
    return writer.folder


def _joined(parts: Sequence[Any]) -> Any:
    """The chunks of some columns side by side."""
    if len(parts) == 1:
        return parts[0]
    if any(map(sp.issparse, parts)):
        return sp.hstack(parts, format="csr")
    return np.concatenate(parts, axis=1)


def _table(block: Any, collection: Any, columns: tuple[str, ...] | None) -> Table:
    """A block as a table of numbers, with the type that all blocks have."""
    table = Table.of(block, missing=True, columns=columns)
    for column, levels in enumerate(table.levels):
        if levels is not None:
            raise DataError(
                f"{table.label(column)} of the Dask dataframe holds categories: make numbers of them, or write "
                "shards of the frame with tsenet.data.write_shards"
            )
    if table.is_sparse:
        return table
    dtype = getattr(collection, "dtype", np.dtype(np.float64))
    if np.dtype(dtype).kind not in "fiu":
        dtype = table.values.dtype
    return Table(table.values.astype(dtype), table.names, table.levels, table.named)


def _writer(folder: str | os.PathLike[str], table: Table) -> ShardWriter:
    rows_per_group = ROWS_PER_GROUP
    if not table.is_sparse:
        rows_per_group = int(np.clip(_VALUES_PER_GROUP // table.n_columns, 64, ROWS_PER_GROUP))
    return ShardWriter(
        folder,
        names=table.names,
        sparse=table.is_sparse,
        named=table.named,
        rows_per_group=rows_per_group,
    )
