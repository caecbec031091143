"""Find the files of a data set: in a given folder, in ``TSENET_DATA``, or in the cache."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from tsenet.data.files import OPENERS
from tsenet.datasets.cache import cache_folder
from tsenet.datasets.catalog import Entry

__all__ = ["SUFFIXES", "Found", "download_folder", "find", "where_to_put"]

# What may follow a file name of the catalog.
SUFFIXES = ("", *OPENERS)


@dataclass(frozen=True)
class Found:
    """The files of one form of a data set, all in one folder.

    Attributes
    ----------
    paths : mapping of str to Path
        By their names in the catalog; the file itself may have a compression suffix.
    """

    paths: Mapping[str, Path]

    def __contains__(self, name: str) -> bool:
        return name in self.paths

    def __getitem__(self, name: str) -> Path:
        return self.paths[name]


def find(entry: Entry, home: str | Path | None = None) -> Found | None:
    """Search for the files of a data set.

    Parameters
    ----------
    entry : Entry
    home : path, optional
        Folder to search first: that of the data set, or its parent.

    Returns
    -------
    Found or None
        The first complete set of files in the first folder that has one.
    """
    for folder in _places(entry, home):
        for form in entry.forms:
            paths = {name: _variant(folder, name) for name in (*form, *entry.optional)}
            if all(paths[name] is not None for name in form):
                return Found({name: path for name, path in paths.items() if path is not None})
    return None


def download_folder(entry: Entry) -> Path:
    """Return the folder for the downloaded files of a data set."""
    return cache_folder() / "files" / entry.folder


def where_to_put(entry: Entry) -> str:
    """Say which files are needed and where they may be put."""
    forms = " or ".join(", ".join(form) for form in entry.forms)
    given = os.environ.get("TSENET_DATA")
    other = Path(given) / entry.folder if given else f"$TSENET_DATA/{entry.folder}"
    return f"put {forms} into {download_folder(entry)} or {other}"


def _places(entry: Entry, home: str | Path | None) -> Iterator[Path]:
    if home is not None:
        yield Path(home)
        yield from (Path(home) / folder for folder in entry.folders)
    given = os.environ.get("TSENET_DATA")
    if given:
        yield from (Path(given) / folder for folder in entry.folders)
    yield download_folder(entry)


def _variant(folder: Path, name: str) -> Path | None:
    """Return the path of a file, plain or compressed; None if there is none."""
    for suffix in SUFFIXES:
        path = folder / f"{name}{suffix}"
        if path.is_file():
            return path
    return None
