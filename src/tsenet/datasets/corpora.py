"""Reading documents and their classes from the files they are distributed in."""

from __future__ import annotations

import re
import shutil
import tarfile
import tempfile
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

import numpy as np
from numpy.typing import NDArray

from tsenet.data.documents import read_documents
from tsenet.datasets.catalog import Entry
from tsenet.datasets.places import Found
from tsenet.errors import DataError

__all__ = ["Labelled", "body_of", "read_corpus"]


@dataclass(frozen=True, eq=False)
class Labelled:
    """Documents with their targets, in file order.

    Attributes
    ----------
    texts : list of str, length N
    y : ndarray
        As in :class:`tsenet.datasets.Part`.
    """

    texts: list[str]
    y: NDArray[Any]


def read_corpus(entry: Entry, found: Found) -> tuple[Labelled, Labelled]:
    """Read the training and the test documents of a data set of the catalog.

    Raises
    ------
    DataError
        If a file is damaged, or holds a class the data set does not have.
    """
    if "train.csv" in found:
        train = _read_csv(entry, found["train.csv"])
        test = _read_csv(entry, found["test.csv"])
    elif entry.folder == "20newsgroups":
        parts = ("20news-bydate-train", "20news-bydate-test")
        train, test = _read_folders(found, parts, entry.classes, "latin-1")
    elif entry.name == "imdb":
        parts = ("aclImdb/train", "aclImdb/test")
        train, test = _read_folders(found, parts, ("neg", "pos"), "utf-8")
    else:
        train, test = _read_archived_csv(entry, found)
    return (_bodies(train), _bodies(test)) if entry.bodies_only else (train, test)


def _bodies(posts: Labelled) -> Labelled:
    return Labelled([body_of(text) for text in posts.texts], posts.y)


def _read_csv(entry: Entry, path: Path) -> Labelled:
    """Read a csv without header: the class from 1 in the first column, then the columns of the text."""
    *others, last = map(str, entry.text_columns)
    read = read_documents(path, last, columns=["1", *others], header=False)
    columns = [read.columns[name] for name in others] + [read.texts]
    texts = [" ".join(filter(None, parts)) for parts in zip(*columns, strict=True)]
    if entry.escaped_lines:
        texts = [text.replace("\\n", "\n") for text in texts]
    classes = {str(number + 1): number for number in range(len(entry.classes))}
    try:
        y = np.array([classes[value.strip()] for value in read.columns["1"]], dtype=np.int64)
    except KeyError as error:
        raise DataError(
            f"{path}: the class {error} in column 1 is not one of 1 to {len(classes)}"
        ) from error
    return Labelled(texts, y)


def _read_archived_csv(entry: Entry, found: Found) -> tuple[Labelled, Labelled]:
    """Read train.csv and test.csv out of an archive, by way of a temporary folder."""
    path = next(iter(found.paths.values()))
    wanted = {f"{entry.name}_csv/train.csv": "train.csv", f"{entry.name}_csv/test.csv": "test.csv"}
    with tempfile.TemporaryDirectory(prefix="tsenet-") as folder:
        with _readable(path):
            for name, file in _members(path):
                target = wanted.pop(name, None)
                if target is not None:
                    with open(Path(folder) / target, "wb") as copy:
                        shutil.copyfileobj(file, copy)
        if wanted:
            raise DataError(f"{path} does not hold {' and '.join(wanted)}")
        train = _read_csv(entry, Path(folder) / "train.csv")
        return train, _read_csv(entry, Path(folder) / "test.csv")


def _read_folders(
    found: Found, parts: tuple[str, str], folders: tuple[str, ...], encoding: str
) -> tuple[Labelled, Labelled]:
    """Read an archive of one text file per document, in one folder per class, in the order of their names."""
    path = next(iter(found.paths.values()))
    classes = {folder: number for number, folder in enumerate(folders)}
    documents: dict[str, list[tuple[str, int, str]]] = {part: [] for part in parts}
    with _readable(path):
        for name, file in _members(path):
            part, _, folder = name.rpartition("/")[0].rpartition("/")
            if part in documents and folder in classes:
                text = file.read().decode(encoding, errors="replace")
                documents[part].append((name, classes[folder], text))
    read = []
    for part, rows in documents.items():
        if not rows:
            raise DataError(f"{path} holds no documents in {part}")
        rows.sort()
        y = np.array([number for _, number, _ in rows], dtype=np.int64)
        read.append(Labelled([text for _, _, text in rows], y))
    return read[0], read[1]


def _members(path: Path) -> Iterator[tuple[str, IO[bytes]]]:
    """Yield name and content of each file of a tar archive, in one pass, writing nothing."""
    with tarfile.open(path, "r|*") as archive:
        for member in archive:
            file = archive.extractfile(member) if member.isfile() else None
            if file is not None:
                yield member.name.removeprefix("./"), file


@contextmanager
def _readable(path: Path) -> Iterator[None]:
    """Say of a damaged archive that it is one."""
    try:
        yield
    except (tarfile.TarError, OSError, EOFError, zlib.error) as error:
        if isinstance(error, OSError) and error.errno is not None:
            raise  # the system's: no such file, not allowed. gzip's have no number.
        raise DataError(f"{path} is damaged or not a tar archive: {error}") from error


# ---- newsgroup posts

# Lines that introduce a quotation, or are quoted.
_QUOTED = re.compile(r"writes in|writes:|wrote:|says:|said:|^In article|^Quoted from|^\||^>")


def body_of(post: str) -> str:
    """A newsgroup post without its headers, footer and quotes, as scikit-learn strips them.

    Headers end at the first blank line. The footer is the last paragraph, set off by a blank line or one of dashes
    alone; a post of one paragraph has none.
    """
    _, _, body = post.partition("\n\n")
    lines = body.strip().split("\n")
    breaks = (k for k in range(len(lines) - 1, 0, -1) if not lines[k].strip().strip("-"))
    footer = next(breaks, 0)
    kept = lines[:footer] if footer else body.split("\n")
    return "\n".join(line for line in kept if not _QUOTED.search(line))
