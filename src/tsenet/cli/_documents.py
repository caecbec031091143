"""The documents of ``tsenet topics``: from a file, or from a folder of shards."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import typer

from tsenet.cli._options import given
from tsenet.errors import DataError

if TYPE_CHECKING:
    from tsenet.data import Table
    from tsenet.data.text import Documents
    from tsenet.progress import Progress
    from tsenet.scale import Blocks

__all__ = ["is_folder_of_shards", "is_sharded", "opened_shards", "read"]


def read(
    path: Path,
    data_format: str,
    text: str,
    columns: Sequence[str],
    no_header: bool,
    encoding: str | None,
    progress: Progress,
) -> Documents | Table:
    """Read texts, with other columns; or word counts."""
    from tsenet.data.text import read_documents

    if data_format != "auto":
        raise DataError("docword files are no longer read: see the guide on text")
    progress.start("reading documents", None)
    documents = read_documents(
        path, text, columns=columns, header=not no_header, **given(encoding=encoding)
    )
    progress.finish(documents.report())
    return documents


# ---- folders of shards


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


@contextmanager
def opened_shards(
    data: Path, cluster: str | None, workers: int | None, memory: str | None
) -> Iterator[Blocks | None]:
    """A folder of shards, and the cluster to work on, until the end; None if the data are no such folder."""
    if not is_sharded(data):
        yield None
        return
    from tsenet.scale import Blocks

    try:
        blocks = Blocks(data, client=cluster, n_workers=workers, memory_limit=memory)
    except ValueError as error:
        if isinstance(error, DataError):
            raise
        hint = "--memory" if cluster is None else "--cluster or --memory"
        raise typer.BadParameter(str(error), param_hint=hint) from error
    with blocks:
        if not blocks.is_sparse:
            raise DataError(f"{data} holds a table of numbers, not documents")
        yield blocks
