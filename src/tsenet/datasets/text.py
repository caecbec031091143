"""Documents become a data set of words: those of the training rows, weighted by what the training rows tell."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Literal

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from tsenet.data.columns import count_of
from tsenet.data.text import count_words, vectorize
from tsenet.datasets.cache import Arrays, cached, pack_strings, sha256_of, unpack_strings
from tsenet.datasets.catalog import Entry
from tsenet.datasets.corpora import Labelled, read_corpus
from tsenet.datasets.dataset import DataCard, Dataset, Part, Task
from tsenet.datasets.places import Found
from tsenet.datasets.split import hold_out, occurs_in, text_keys
from tsenet.errors import DataError
from tsenet.progress import Progress

__all__ = [
    "VALIDATION_SHARE",
    "WEIGHTINGS",
    "StopWords",
    "Weighting",
    "check_options",
    "count_parts",
    "dataset_of",
    "digests_of",
    "load_documents",
    "options_of",
    "take",
    "weigh",
]

Weighting = Literal["tfidf", "counts", "binary"]
WEIGHTINGS = ("tfidf", "counts", "binary")

# Raised whenever the same files and options would give other arrays: it is part of the cache's key.
_RECIPE = 2
_PARTS = ("train", "validation", "test")
VALIDATION_SHARE = 0.1

StopWords = Literal["english"] | Sequence[str] | None


def load_documents(
    entry: Entry, found: Found, n_words: int, weighting: Weighting, progress: Progress
) -> Dataset:
    """Make the data set of a catalog entry from its files.

    The vocabulary is that of the training rows that remain once the validation rows are taken out.
    """

    def build() -> Arrays:
        progress.start("reading documents", None)
        train, test = read_corpus(entry, found)
        progress.finish(f"{len(train.texts):,} training, {len(test.texts):,} test")
        held = hold_out(train.y, _n_validation(entry, len(train.texts)))
        return count_parts(train, held, test, n_words, "english", progress)

    arrays = cached(entry.name, {"files": digests_of(found.paths), **options_of(n_words)}, build)
    n_rows = sum(len(arrays[f"{part}_y"]) for part in _PARTS[:2])
    notes = [] if n_rows == entry.n_train else [_partial(entry, n_rows)]
    if entry.n_validation is None:
        notes.append("The paper does not use this set: a tenth of its training rows validates.")
    return dataset_of(
        (entry.name, entry.title, "classes", entry.classes),
        arrays,
        weighting,
        (entry.source, entry.licence, entry.citation),
        notes,
    )


def weigh(counts: Sequence[Any], weighting: Weighting) -> list[Any]:
    """Turn word counts of several parts into features; what is learned is learned from the first part.

    Parameters
    ----------
    counts : sequence of csr_array, each of shape (N, V)
        The training part first.
    weighting : {"tfidf", "counts", "binary"}
        ``tfidf``: (1 + ln count) · (1 + ln((1 + N) / (1 + documents with the word))), rows of length 1.

    Returns
    -------
    list of csr_array, float32
    """
    idf = np.ones(counts[0].shape[1])
    if weighting == "tfidf":
        n_rows, n_words = counts[0].shape
        n_documents = np.bincount(counts[0].indices, minlength=n_words)
        idf = 1.0 + np.log((1.0 + n_rows) / (1.0 + n_documents))
    weighed = []
    for part in counts:
        data = part.data.astype(np.float64)
        if weighting == "binary":
            data = np.ones_like(data)
        elif weighting == "tfidf":
            data = (1.0 + np.log(data)) * idf[part.indices]
            row = np.repeat(np.arange(part.shape[0]), np.diff(part.indptr))
            length = np.sqrt(np.bincount(row, weights=data * data, minlength=part.shape[0]))
            data /= length[row]
        weighed.append(
            sp.csr_array((data.astype(np.float32), part.indices, part.indptr), shape=part.shape)
        )
    return weighed


def check_options(n_words: int, weighting: str) -> None:
    """Refuse options of words that mean nothing."""
    if n_words < 1:
        raise DataError(f"n_words must be at least 1, got {n_words}")
    if weighting not in WEIGHTINGS:
        raise DataError(f"weighting must be one of {', '.join(WEIGHTINGS)}, got {weighting!r}")


# ---- from documents to arrays


def count_parts(
    train: Labelled,
    held: NDArray[np.bool_],
    test: Labelled,
    n_words: int,
    stop_words: StopWords,
    progress: Progress,
) -> Arrays:
    """Count words, choosing them by the training rows alone, and pack everything into arrays."""
    parts = {"train": take(train, ~held), "validation": take(train, held), "test": test}
    progress.start("counting words", len(_PARTS))
    table = vectorize(parts["train"].texts, n_words=n_words, stop_words=stop_words)
    arrays = pack_strings("words", table.names)
    for name, part in parts.items():
        if name == "train":
            counts = table.values
        elif part.texts:
            counts = count_words(part.texts, table.names).values
        else:
            counts = sp.csr_array((0, table.n_columns), dtype=np.int32)
        arrays |= {
            f"{name}_counts": counts.data,
            f"{name}_indices": counts.indices,
            f"{name}_indptr": counts.indptr,
            f"{name}_y": part.y,
            **pack_strings(f"{name}_texts", part.texts),
        }
        progress.advance()
    arrays["in_training"] = occurs_in(text_keys(test.texts), text_keys(train.texts))
    progress.finish(f"{table.n_columns:,} words")
    return arrays


def dataset_of(
    names: tuple[str, str, Task, tuple[str, ...]],
    arrays: Mapping[str, NDArray[Any]],
    weighting: Weighting,
    origin: tuple[str, str, str],
    notes: list[str],
) -> Dataset:
    """Make the data set from the arrays of :func:`count_parts`.

    Parameters
    ----------
    names : tuple
        Name, title, task and class names.
    arrays : mapping of str to ndarray
    weighting : {"tfidf", "counts", "binary"}
    origin : tuple of str
        Source, licence and citation.
    notes : list of str
        For the card.
    """
    words = unpack_strings("words", arrays)
    counts = [
        sp.csr_array(
            tuple(arrays[f"{part}_{what}"] for what in ("counts", "indices", "indptr")),
            shape=(len(arrays[f"{part}_y"]), len(words)),
        )
        for part in _PARTS
    ]
    parts = [
        Part(values, arrays[f"{part}_y"], unpack_strings(f"{part}_texts", arrays))
        for part, values in zip(_PARTS, weigh(counts, weighting), strict=True)
    ]
    n_empty = [int(np.count_nonzero(np.diff(part.indptr) == 0)) for part in counts]
    if any(n_empty):
        notes = [*notes, f"{count_of(sum(n_empty), 'document')} without any of the words."]
    card = DataCard(
        *origin,
        recipe=(
            f"the {len(words):,} words in most training documents, stop words left out, "
            f"weighting {weighting}; words and weights from the training rows alone"
        ),
        n_train=len(parts[0]),
        n_validation=len(parts[1]),
        n_test=len(parts[2]),
        in_training=arrays["in_training"],
        notes=tuple(notes),
    )
    name, title, task, classes = names
    return Dataset(name, title, task, parts[0], parts[1], parts[2], words, classes, card)


def _n_validation(entry: Entry, n_rows: int) -> int:
    """The paper's number for the official file, a tenth for any other."""
    if entry.n_validation is not None and n_rows == entry.n_train:
        return entry.n_validation
    return max(1, round(VALIDATION_SHARE * n_rows))


def _partial(entry: Entry, n_rows: int) -> str:
    return (
        f"The training file holds {n_rows:,} rows, not the official {entry.n_train:,}: figures do not "
        "compare with published ones. A tenth of its rows validates."
    )


def take(documents: Labelled, chosen: NDArray[np.bool_]) -> Labelled:
    """The documents that a mask chooses."""
    places = np.flatnonzero(chosen)
    return Labelled([documents.texts[i] for i in places], documents.y[places])


def options_of(n_words: int) -> dict[str, Any]:
    """What the counts depend on besides the files: part of the cache's key."""
    import sklearn

    # scikit-learn brings the stop words
    return {"recipe": _RECIPE, "n_words": n_words, "sklearn": sklearn.__version__}


def digests_of(paths: Mapping[str, Path]) -> dict[str, str]:
    """Digests of files by name, for the cache's key."""
    return {name: sha256_of(path) for name, path in paths.items()}
