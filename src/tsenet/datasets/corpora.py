"""Read documents and their classes from the official files of the data sets."""

from __future__ import annotations

import re
import shutil
import tarfile
import tempfile
from collections.abc import Iterator
from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

import numpy as np
from numpy.typing import NDArray

from tsenet.data.files import read_documents, report_damage
from tsenet.datasets.catalog import Entry
from tsenet.datasets.places import Found
from tsenet.errors import DataError

__all__ = ["LabelledTexts", "body_of", "read_corpus"]


@dataclass(frozen=True, eq=False)
class LabelledTexts:
    """Documents with their targets, in file order.

    Attributes
    ----------
    texts : list of str, length N
    y : ndarray
        As in :class:`tsenet.datasets.Part`.
    """

    texts: list[str]
    y: NDArray[Any]


def read_corpus(entry: Entry, found: Found) -> tuple[LabelledTexts, LabelledTexts]:
    """Read the training and the test documents of a data set of the catalog.

    Raises
    ------
    DataError
        If a file is damaged, or has a class that the data set does not have.
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


def _bodies(posts: LabelledTexts) -> LabelledTexts:
    return LabelledTexts([body_of(text) for text in posts.texts], posts.y)


def _read_csv(entry: Entry, path: Path) -> LabelledTexts:
    """Read a csv without header: the class number, from 1, in the first column, then columns of text."""
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
    return LabelledTexts(texts, y)


def _read_archived_csv(entry: Entry, found: Found) -> tuple[LabelledTexts, LabelledTexts]:
    """Read train.csv and test.csv from an archive, through a temporary folder."""
    path = next(iter(found.paths.values()))
    wanted = {f"{entry.name}_csv/train.csv": "train.csv", f"{entry.name}_csv/test.csv": "test.csv"}
    with tempfile.TemporaryDirectory(prefix="tsenet-") as folder:
        with _archive_damage(path):
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
) -> tuple[LabelledTexts, LabelledTexts]:
    """Read an archive with one folder per class and one text file per document, sorted by file name."""
    path = next(iter(found.paths.values()))
    classes = {folder: number for number, folder in enumerate(folders)}
    documents: dict[str, list[tuple[str, int, str]]] = {part: [] for part in parts}
    with _archive_damage(path):
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
        read.append(LabelledTexts([text for _, _, text in rows], y))
    return read[0], read[1]


def _members(path: Path) -> Iterator[tuple[str, IO[bytes]]]:
    """Yield name and content of each file in a tar archive, in one pass and without unpacking it."""
    with tarfile.open(path, "r|*") as archive:
        for member in archive:
            file = archive.extractfile(member) if member.isfile() else None
            if file is not None:
                yield member.name.removeprefix("./"), file


def _archive_damage(path: Path) -> AbstractContextManager[None]:
    return report_damage(f"{path} is damaged or not a tar archive")


# ---- newsgroup posts

# Lines that introduce a quotation, or are quoted.
_QUOTED = re.compile(r"writes in|writes:|wrote:|says:|said:|^In article|^Quoted from|^\||^>")


def body_of(post: str) -> str:
    """Return a newsgroup post without headers, footer and quotes, as scikit-learn's loader removes them.

    Headers end at the first blank line. The footer is the last paragraph, after a line that is blank or all dashes; a
    post of one paragraph has none.
    """
    _, _, body = post.partition("\n\n")
    lines = body.strip().split("\n")
    breaks = (k for k in range(len(lines) - 1, 0, -1) if not lines[k].strip().strip("-"))
    footer = next(breaks, 0)
    kept = lines[:footer] if footer else body.split("\n")
    return "\n".join(line for line in kept if not _QUOTED.search(line))
