"""Turn documents into word features; vocabulary and weights come from the training rows only."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Literal

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from tsenet.data.columns import count_of
from tsenet.data.text import count_words, vectorize, word_vectorizer
from tsenet.datasets.cache import Arrays, cached, pack_strings, sha256_of, unpack_strings
from tsenet.datasets.catalog import Entry
from tsenet.datasets.corpora import LabelledTexts, read_corpus
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

# Part of the cache key: increase it when the same files and options would give other arrays.
_RECIPE = 3
_PARTS = ("train", "validation", "test")
VALIDATION_SHARE = 0.1

StopWords = Literal["english"] | Sequence[str] | None


def load_documents(
    entry: Entry, found: Found, n_words: int, weighting: Weighting, progress: Progress
) -> Dataset:
    """Make the data set of a catalog entry from its files.

    The vocabulary is chosen after the validation rows are held out.
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
        notes.append(
            "The paper does not use this set: a tenth of its training rows is held out for validation."
        )
    return dataset_of(
        (entry.name, entry.title, "classes", entry.classes),
        arrays,
        weighting,
        (entry.source, entry.licence, entry.citation),
        notes,
    )


def weigh(counts: Sequence[Any], weighting: Weighting) -> list[Any]:
    """Turn the word counts of several parts into features.

    Parameters
    ----------
    counts : sequence of csr_array, each of shape (N, V)
        The training part first: the document frequencies are learned from it.
    weighting : {"tfidf", "counts", "binary"}
        ``tfidf``: (1 + ln count) · (1 + ln((1 + N) / (1 + documents with the word))), rows of length 1.

    Returns
    -------
    list of csr_array, float32

    Examples
    --------
    >>> import scipy.sparse as sp
    >>> from tsenet.datasets.word_features import weigh
    >>> weigh([sp.csr_array([[3, 0], [1, 1]])], "binary")[0].toarray().tolist()
    [[1.0, 0.0], [1.0, 1.0]]
    """
    if weighting == "tfidf":
        from sklearn.feature_extraction.text import TfidfTransformer

        tfidf = TfidfTransformer(sublinear_tf=True).fit(counts[0])
        # scikit-learn refuses parts without rows, such as missing test rows.
        parts = [tfidf.transform(part) if part.shape[0] else part for part in counts]
    elif weighting == "binary":
        parts = [part.astype(bool) for part in counts]
    else:
        parts = list(counts)
    return [sp.csr_array(part, dtype=np.float32) for part in parts]


def check_options(n_words: int, weighting: str) -> None:
    """Raise a DataError for invalid options."""
    if n_words < 1:
        raise DataError(f"n_words must be at least 1, got {n_words}")
    if weighting not in WEIGHTINGS:
        raise DataError(f"weighting must be one of {', '.join(WEIGHTINGS)}, got {weighting!r}")


# ---- from documents to arrays


def count_parts(
    train: LabelledTexts,
    held: NDArray[np.bool_],
    test: LabelledTexts,
    n_words: int,
    stop_words: StopWords,
    progress: Progress,
) -> Arrays:
    """Choose the vocabulary from the training rows, count its words, and pack everything into arrays."""
    parts = {"train": take(train, ~held), "validation": take(train, held), "test": test}
    progress.start("counting words", len(_PARTS))
    vectorizer = word_vectorizer(n_words=n_words, stop_words=stop_words, min_documents=2)
    table = vectorize(parts["train"].texts, vectorizer)
    arrays = pack_strings("words", table.names)
    for name, part in parts.items():
        if name == "train":
            counts = table.values
        elif part.texts:
            counts = count_words(part.texts, vectorizer).values
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
        The result of :func:`count_parts`.
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
    """Return the paper's number of validation rows for the official file, a tenth of the rows for any other."""
    if entry.n_validation is not None and n_rows == entry.n_train:
        return entry.n_validation
    return max(1, round(VALIDATION_SHARE * n_rows))


def _partial(entry: Entry, n_rows: int) -> str:
    return (
        f"The training file holds {n_rows:,} rows, not the official {entry.n_train:,}: results cannot be "
        "compared with published ones. A tenth of its rows is held out for validation."
    )


def take(documents: LabelledTexts, chosen: NDArray[np.bool_]) -> LabelledTexts:
    """Return the documents for which a mask is True."""
    places = np.flatnonzero(chosen)
    return LabelledTexts([documents.texts[i] for i in places], documents.y[places])


def options_of(n_words: int) -> dict[str, Any]:
    """Return what the counts depend on besides the files, for the cache key."""
    import sklearn

    # the stop words are scikit-learn's
    return {"recipe": _RECIPE, "n_words": n_words, "sklearn": sklearn.__version__}


def digests_of(paths: Mapping[str, Path]) -> dict[str, str]:
    """Return the digests of files by name, for the cache key."""
    return {name: sha256_of(path) for name, path in paths.items()}
