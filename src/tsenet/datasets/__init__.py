"""Known data sets, and documents of your own, as training, validation and test rows.

Whatever is learned to make the features (words, weights, scales) is learned from the training rows alone.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from tsenet.datasets.catalog import Entry, entry_of, names
from tsenet.datasets.dataset import DataCard, Dataset, Part
from tsenet.datasets.documents import from_documents
from tsenet.datasets.fetch import Check, fetch, files_of, verify
from tsenet.datasets.places import find
from tsenet.datasets.text import Weighting, check_options, load_documents
from tsenet.progress import Progress, ProgressCallback, as_progress

__all__ = [
    "Check",
    "DataCard",
    "Dataset",
    "Entry",
    "Part",
    "at_hand",
    "entry_of",
    "fetch",
    "from_documents",
    "load",
    "names",
    "verify",
]


def load(
    name: str,
    *,
    home: str | Path | None = None,
    n_words: int = 10_000,
    weighting: Weighting = "tfidf",
    progress: bool | Progress | ProgressCallback | None = None,
    download: bool = True,
) -> Dataset:
    """Load a data set by name.

    Its files are looked for in `home`, then in the folder ``<name>`` of ``TSENET_DATA``, then in the cache
    (``TSENET_CACHE``, or the system's place for caches). If they are in none of them, they are downloaded.

    Parameters
    ----------
    name : str
        One of :func:`names`: ``"ag_news"``, ``"tox21"``, ``"tox21/NR-AR"``, ``"digits"``, ...
    home : path, optional
        Folder with the files, or with a folder ``<name>`` that has them.
    n_words : int, default 10_000
        Of documents: how many words, those in most training documents; stop words are left out.
    weighting : {"tfidf", "counts", "binary"}, default "tfidf"
        Of documents. ``tfidf``: (1 + ln count) · idf, the idf from the training rows, rows of length 1.
    progress : optional
        As in :func:`tsenet.learn_tree`.
    download : bool, default True
        Whether to download files that are not at hand.

    Returns
    -------
    Dataset

    Raises
    ------
    DataError
        For an unknown name; files that are not at hand and cannot be had (says where to put them); damaged files.
    MissingDependencyError
        For ``tox21`` from structures without RDKit.
    """
    check_options(n_words, weighting)
    entry = entry_of(name)
    with as_progress(progress) as shown:
        dataset = _load(entry, home, n_words, weighting, shown, download)
        if "/" in name:
            from tsenet.datasets.tox21 import one_label

            dataset = one_label(dataset, name.partition("/")[2])
    dataset.validate()
    return dataset


def _load(
    entry: Entry,
    home: str | Path | None,
    n_words: int,
    weighting: Weighting,
    shown: Progress,
    download: bool,
) -> Dataset:
    if entry.kind == "bundled":
        from tsenet.datasets.images import load_digits

        return load_digits(entry)
    found = files_of(entry, home, download, shown)
    if entry.kind == "images":
        from tsenet.datasets.images import load_images

        dataset = load_images(entry, found, shown)
    elif entry.kind == "tox21":
        from tsenet.datasets.tox21 import load_tox21

        dataset = load_tox21(entry, found, shown)
    else:
        dataset = load_documents(entry, found, n_words, weighting, shown)
    unknown = [path.name for path in found.paths.values() if not _has_digest(entry, path)]
    if unknown:
        note = f"No published digest known of {', '.join(unknown)}."
        card = replace(dataset.card, notes=(*dataset.card.notes, note))
        dataset = replace(dataset, card=card)
    return dataset


def _has_digest(entry: Entry, path: Path) -> bool:
    return any(entry.known_digest(name) is not None for name in (path.name, path.stem))


def at_hand(name: str, *, home: str | Path | None = None) -> bool:
    """Whether a data set can be loaded without a download."""
    entry = entry_of(name)
    return entry.kind == "bundled" or find(entry, home) is not None
