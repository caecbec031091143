"""Known data sets, and your own documents, as training, validation and test rows.

The features (vocabulary, weights, scales) are learned from the training rows only.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from tsenet.datasets.catalog import Entry, entry_of, names
from tsenet.datasets.dataset import DataCard, Dataset, Part
from tsenet.datasets.document_files import from_documents
from tsenet.datasets.fetch import Check, fetch, files_of, verify
from tsenet.datasets.places import find
from tsenet.datasets.word_features import Weighting, check_options, load_documents
from tsenet.progress import Progress, ProgressCallback, as_progress

__all__ = [
    "Check",
    "DataCard",
    "Dataset",
    "Entry",
    "Part",
    "entry_of",
    "fetch",
    "from_documents",
    "is_available",
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

    Its files are searched for in `home`, then in the folder ``<name>`` in ``TSENET_DATA``, then in the cache
    (``TSENET_CACHE``, or the cache folder of the operating system). If they are in none of these, they are downloaded
    into the cache.

    Parameters
    ----------
    name : str
        One of :func:`names`: ``"ag_news"``, ``"tox21"``, ``"tox21/NR-AR"``, ``"digits"``, ...
    home : str or Path, default=None
        Folder with the files, or with a folder ``<name>`` that has them. Give it for files outside ``TSENET_DATA``.
    n_words : int, default=10_000
        For documents, the size of the vocabulary: the most frequent words of the training documents.
    weighting : {"tfidf", "counts", "binary"}, default="tfidf"
        For documents, how counts become features. ``"tfidf"`` is (1 + ln count) · idf with rows of length 1.
    progress : bool, Progress or callable, default=None
        True shows progress bars on stderr; a callable is called as ``progress(stage, done, total)``.
    download : bool, default=True
        Whether to download missing files. False raises a DataError that says which files to get.

    Returns
    -------
    Dataset

    Raises
    ------
    DataError
        For an unknown name, damaged files, and files that are missing and cannot be downloaded; the message then says
        where to put them.
    MissingDependencyError
        For ``tox21`` from chemical structures without RDKit.

    See Also
    --------
    from_documents : Make a data set from a file of your own.

    Examples
    --------
    >>> from tsenet.datasets import load
    >>> digits = load("digits")  # comes with scikit-learn, needs no download
    >>> digits
    Dataset('digits', 1,294 + 144 + 359 rows × 64 features, 10 classes)
    >>> digits.train.X.shape, digits.test.y[:3].tolist()
    ((1294, 64), [2, 7, 5])
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
        note = f"No published digest is known for {', '.join(unknown)}."
        card = replace(dataset.card, notes=(*dataset.card.notes, note))
        dataset = replace(dataset, card=card)
    return dataset


def _has_digest(entry: Entry, path: Path) -> bool:
    return any(entry.known_digest(name) is not None for name in (path.name, path.stem))


def is_available(name: str, *, home: str | Path | None = None) -> bool:
    """Say whether a data set can be loaded without a download.

    Parameters
    ----------
    name : str
        One of :func:`names`.
    home : str or Path, default=None
        Folder to search first, as in :func:`load`.

    Returns
    -------
    bool

    Raises
    ------
    DataError
        For an unknown name.

    Examples
    --------
    >>> from tsenet.datasets import is_available
    >>> is_available("digits")
    True
    """
    entry = entry_of(name)
    return entry.kind == "bundled" or find(entry, home) is not None
