"""Documents become a sparse table of word counts."""

from __future__ import annotations

import logging
import re
import unicodedata
from collections.abc import Collection, Iterable, Sequence
from typing import Literal

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from tsenet.data.columns import count_of
from tsenet.data.documents import Documents, read_documents
from tsenet.data.table import Table
from tsenet.errors import DataError

__all__ = [
    "Documents",
    "count_words",
    "informative_words",
    "read_documents",
    "vectorize",
    "words_of",
]

_logger = logging.getLogger("tsenet.data")

# Letters and digits of any script, at least two of them and not digits only: a bare number says
# nothing about a topic. The underscore parts words.
_WORD = re.compile(r"(?=\d*[^\W\d_])[^\W_]{2,}")

# What the apostrophe leaves of English contractions ("don't", "we'll"): stop words as the full
# forms are, but not in scikit-learn's list.
_ENGLISH_FRAGMENTS = frozenset(
    {"ain", "aren", "couldn", "didn", "doesn", "don", "hadn", "hasn", "haven", "isn", "ll"}
    | {"mightn", "mustn", "needn", "shan", "shouldn", "ve", "wasn", "weren", "wouldn"}
)


def words_of(document: str, *, lowercase: bool = True) -> list[str]:
    """Split a document into its words, in order.

    Compatible forms of a letter are made one (NFKC), so composed and decomposed accents agree.
    """
    text = unicodedata.normalize("NFKC", document)
    return _WORD.findall(text.lower() if lowercase else text)


def vectorize(
    documents: Documents | Iterable[str],
    *,
    n_words: int | None = 10_000,
    stop_words: Literal["english"] | Collection[str] | None = "english",
    min_documents: int = 2,
    lowercase: bool = True,
    select: Literal["frequency", "tfidf"] = "frequency",
) -> Table:
    """Count the words of documents.

    Parameters
    ----------
    documents : Documents or iterable of str
    n_words : int or None, default 10_000
        How many words to keep; None: all.
    stop_words : "english", collection of str, or None, default "english"
        Words to leave out.
    min_documents : int, default 2
        Words in fewer documents are left out: they cannot be seen to go with any other.
    lowercase : bool, default True
    select : {"frequency", "tfidf"}, default "frequency"
        Keep the words that are in most documents, or those of highest mean tf-idf
        (:func:`informative_words`). Equals are taken in alphabetical order.

    Returns
    -------
    Table
        Sparse int32 counts, shape (documents, words), words in alphabetical order. A document none
        of whose words remain is a row of zeros.

    Raises
    ------
    DataError
        If a document is not a string or no word remains.
    """
    if n_words is not None and n_words < 1:
        raise DataError(f"n_words must be at least 1 or None, got {n_words}")
    if select not in ("frequency", "tfidf"):
        raise DataError(f"select must be 'frequency' or 'tfidf', got {select!r}")
    texts = _texts_of(documents)
    stops = _stop_words(stop_words, lowercase)
    counts, words = _count_words(texts, lowercase)
    n_documents = np.bincount(counts.indices, minlength=len(words))
    kept = np.flatnonzero(
        (n_documents >= min_documents) & np.array([word not in stops for word in words], dtype=bool)
    )
    if kept.size == 0:
        raise DataError(
            f"no words remain of {count_of(len(texts), 'document')}: of {len(words)} different "
            f"words none is in at least {min_documents} documents (min_documents) without being "
            "a stop word (stop_words)"
        )
    table = Table.of(counts[:, kept], names=[words[k] for k in kept])
    if n_words is not None and n_words < kept.size:
        score = n_documents[kept] if select == "frequency" else _mean_tfidf(table)
        best = _highest(score, n_words)
        table = Table.of(table.values[:, best], names=[table.names[k] for k in best])
    n_empty = int(np.count_nonzero(np.diff(table.values.indptr) == 0))
    _logger.info("%r; %s without any of these words", table, count_of(n_empty, "document"))
    return table


def count_words(documents: Documents | Iterable[str], words: Sequence[str]) -> Table:
    """Count given words in documents, such as those a model was fitted on: sparse int32 (documents, words)."""
    from sklearn.feature_extraction.text import CountVectorizer

    vectorizer = CountVectorizer(analyzer=words_of, vocabulary=list(words), dtype=np.int32)
    return Table.of(sp.csr_array(vectorizer.transform(_texts_of(documents))), names=list(words))


def informative_words(counts: Table, n_words: int) -> npt.NDArray[np.int64]:
    """Choose the words of highest mean tf-idf, as the HLTA papers do.

    The score of a word is the mean over all documents of its count times
    ``ln(documents / documents with the word)`` (Chen et al., arXiv 1605.06650): words that are
    frequent, yet not everywhere.

    Parameters
    ----------
    counts : Table
        Sparse word counts, shape (documents, words).
    n_words : int

    Returns
    -------
    ndarray of int64
        At most `n_words` columns, ascending. Equals are taken in the order of the columns.
    """
    if not counts.is_sparse:
        raise DataError("informative_words takes the sparse table that vectorize makes")
    return _highest(_mean_tfidf(counts), n_words)


def _mean_tfidf(counts: Table) -> npt.NDArray[np.float64]:
    """Return the mean tf-idf of each word, shape (words,)."""
    csr = counts.values
    n_documents = np.bincount(csr.indices, minlength=counts.n_columns)
    occurrences = np.bincount(csr.indices, weights=csr.data, minlength=counts.n_columns)
    rarity = np.log(counts.n_rows / np.maximum(n_documents, 1))
    mean: npt.NDArray[np.float64] = occurrences * rarity / counts.n_rows
    return mean


def _highest(score: npt.NDArray[np.number], n_best: int) -> npt.NDArray[np.int64]:
    """Return the positions of the `n_best` highest scores, ascending; the first of equals win."""
    order = np.argsort(-score, kind="stable")
    return np.sort(order[:n_best]).astype(np.int64)


def _texts_of(documents: Documents | Iterable[str]) -> list[str]:
    """Return the texts as a list, refusing what is not text."""
    if isinstance(documents, str | bytes):
        raise DataError("expected many documents, got one string: give a list of strings")
    texts = documents.texts if isinstance(documents, Documents) else list(documents)
    for i, text in enumerate(texts):
        if not isinstance(text, str):
            raise DataError(f"document {i} is a {type(text).__name__}, not a string")
    if not texts:
        raise DataError("there are no documents")
    return texts


def _stop_words(given: str | Collection[str] | None, lowercase: bool) -> frozenset[str]:
    """Return the stop words, split and folded as the documents are."""
    if given is None:
        return frozenset()
    if isinstance(given, str):
        if given != "english":
            raise DataError(f"stop_words must be 'english', a collection or None, got {given!r}")
        from sklearn.feature_extraction.text import ENGLISH_STOP_WORDS

        return frozenset(ENGLISH_STOP_WORDS) | _ENGLISH_FRAGMENTS
    return frozenset(word for entry in given for word in words_of(entry, lowercase=lowercase))


def _count_words(texts: list[str], lowercase: bool) -> tuple[sp.csr_array, list[str]]:
    """Count every word; columns in alphabetical order. Shape (documents, words)."""
    from sklearn.feature_extraction.text import CountVectorizer

    vectorizer = CountVectorizer(
        analyzer=lambda text: words_of(text, lowercase=lowercase), dtype=np.int32
    )
    try:
        counts = sp.csr_array(vectorizer.fit_transform(texts))
    except ValueError as error:
        raise DataError(
            f"no words remain of {count_of(len(texts), 'document')}: none holds a word of two or "
            "more letters"
        ) from error
    return counts, vectorizer.get_feature_names_out().tolist()
