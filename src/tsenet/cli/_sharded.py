"""Folders of shards on the command line."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from tsenet.data import Table
    from tsenet.estimators.topic_model import TopicModel
    from tsenet.progress import Progress
    from tsenet.scale import Shards

__all__ = ["drawn_rows", "fit_sharded", "is_sharded", "opened", "tables_of"]

# Documents from which topics are described: sizes, coherence, typical documents.
_DESCRIBED = 20_000


def is_sharded(data: Path) -> bool:
    """Whether a path is a finished folder of shards."""
    return (data / "shards.json").is_file()


def opened(
    data: Path, cluster: str | None, workers: int | None, memory: str | None, jobs: int | None
) -> Shards:
    """Open a folder of shards, and the cluster to work on."""
    import typer

    from tsenet.errors import DataError
    from tsenet.scale import Shards

    try:
        shards = Shards(data, client=cluster, n_workers=workers, memory_limit=memory, n_jobs=jobs)
    except ValueError as error:
        if isinstance(error, DataError):
            raise
        raise typer.BadParameter(str(error), param_hint="--memory") from error
    if not shards.is_sparse:
        shards.close()
        raise DataError(f"{data} holds a table of numbers, not documents")
    return shards


def drawn_rows(shards: Shards, seed: int, progress: Progress) -> Table:
    """Documents drawn at random, or all if there are few."""
    import numpy as np
    import scipy.sparse as sp

    from tsenet.data import Table

    folder = shards.folder
    progress.start("reading documents", len(folder.partitions))
    rng = np.random.default_rng(seed)
    chosen = np.arange(folder.n_rows)
    if folder.n_rows > _DESCRIBED:
        chosen = np.sort(rng.choice(folder.n_rows, _DESCRIBED, replace=False))
    parts = []
    for block in folder.blocks():
        first, last = np.searchsorted(chosen, [block.start, block.start + block.table.n_rows])
        parts.append(block.table.values[chosen[first:last] - block.start])
        progress.advance()
    progress.finish(f"{folder.n_rows:,} documents")
    return Table.of(sp.vstack(parts, format="csr"), names=folder.names)


def fit_sharded(model: TopicModel, shards: Shards, described: Any, checkpoint: Path | None) -> None:
    """Learn the topics of all documents; describe them by those drawn."""
    from tsenet.data.text import WordCounter

    facts = shards.folder.counter
    model.word_counter_ = None if facts is None else WordCounter(shards.folder.names, **facts)
    model.fit_counts(described, checkpoint=checkpoint, data=shards)


def tables_of(shards: Shards) -> Iterator[Table]:
    """The documents, a partition at a time."""
    return (block.table for block in shards.folder.blocks())
