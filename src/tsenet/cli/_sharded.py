"""Folders of shards on the command line."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from tsenet.data import Table
    from tsenet.estimators.topic_model import TopicModel
    from tsenet.scale import Shards

__all__ = ["fit_sharded", "is_folder_of_shards", "is_sharded", "opened", "tables_of"]


def is_sharded(data: Path) -> bool:
    """Whether a path is a finished folder of shards."""
    return (data / "shards.json").is_file()


def is_folder_of_shards(data: Path) -> bool:
    """Whether a path is a folder of shards, finished or not, rather than a file or a folder of texts."""
    if not data.is_dir() or is_sharded(data):
        return data.is_dir()
    return not any(
        ".txt" in (suffix.lower() for suffix in path.suffixes) for path in data.rglob("*")
    )


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


def fit_sharded(model: TopicModel, shards: Shards, described: Any, checkpoint: Path | None) -> None:
    """Learn the topics of all documents; describe them by those drawn."""
    model.word_counter_ = shards.word_counter()
    model.fit_counts(described, checkpoint=checkpoint, data=shards)


def tables_of(shards: Shards) -> Iterator[Table]:
    """The documents, a partition at a time."""
    return (block.table for block in shards.folder.blocks())
