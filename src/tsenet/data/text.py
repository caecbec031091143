"""Turn documents into a sparse table of word counts."""

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

__all__ = ["Documents", "count_words", "read_documents", "vectorize", "words_of"]

_logger = logging.getLogger("tsenet.data")

# Two or more letters and digits of any script, at least one of them a letter: numbers alone say
# nothing about a topic. An underscore separates words.
_WORD = re.compile(r"(?=\d*[^\W\d_])[^\W_]{2,}")

# Parts of English contractions ("don't", "we'll") before and after the apostrophe. They are stop
# words too, but not in scikit-learn's list.
_ENGLISH_FRAGMENTS = frozenset(
    {"ain", "aren", "couldn", "didn", "doesn", "don", "hadn", "hasn", "haven", "isn", "ll"}
    | {"mightn", "mustn", "needn", "shan", "shouldn", "ve", "wasn", "weren", "wouldn"}
)


def words_of(document: str, *, lowercase: bool = True) -> list[str]:
    """Split a document into its words, in order.

    A word is two or more letters and digits with at least one letter, in any script. The text is
    first normalized (Unicode NFKC), so that composed and decomposed accents are the same.

    Parameters
    ----------
    document : str
        The text.
    lowercase : bool, default=True
        Whether to lower-case the words; turn it off where case matters, such as for gene names.

    Returns
    -------
    list of str

    Examples
    --------
    >>> from tsenet.data import words_of
    >>> words_of("The cat's MP3, 42 of them")
    ['the', 'cat', 'mp3', 'of', 'them']
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
    """Choose a vocabulary and count its words in each document.

    Parameters
    ----------
    documents : Documents or iterable of str
        The texts.
    n_words : int or None, default=10_000
        Size of the vocabulary; None keeps all words. Fewer words make structure learning faster.
    stop_words : "english", collection of str, or None, default="english"
        Words to leave out. Give your own for other languages; None leaves out none.
    min_documents : int, default=2
        Leave out words that occur in fewer documents: their co-occurrence with other words cannot
        be estimated.
    lowercase : bool, default=True
        Whether to lower-case the words.
    select : {"frequency", "tfidf"}, default="frequency"
        Which `n_words` words to keep: those in most documents, or those with the highest mean
        tf-idf, as in the HLTA papers (arXiv 1605.06650). The latter drops words that are in nearly
        all documents. Ties are broken alphabetically.

    Returns
    -------
    Table
        Sparse int32 counts, shape (documents, words), words in alphabetical order. A document with
        no word of the vocabulary is a row of zeros.

    Raises
    ------
    DataError
        If a document is not a string, there are no documents, or no words remain.

    See Also
    --------
    count_words : Count a given vocabulary, such as that of a fitted model, in new documents.

    Examples
    --------
    >>> from tsenet.data import vectorize
    >>> table = vectorize(["the cat sat", "a cat and a dog", "the dog sat down"])
    >>> table.names
    ('cat', 'dog', 'sat')
    >>> table.values.toarray().tolist()
    [[1, 0, 1], [1, 1, 0], [0, 1, 1]]
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
            f"no words remain of {count_of(len(texts), 'document')}: of {len(words)} distinct "
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
    """Count given words in documents, for example the words that a model was fitted on.

    Parameters
    ----------
    documents : Documents or iterable of str
        The texts.
    words : sequence of str
        The vocabulary, as :func:`words_of` splits and lower-cases it.

    Returns
    -------
    Table
        Sparse int32 counts, shape (documents, words), in the order of `words`.

    Examples
    --------
    >>> from tsenet.data import count_words
    >>> count_words(["dog eats dog", "a cat"], ["cat", "dog"]).values.toarray().tolist()
    [[0, 2], [1, 0]]
    """
    from sklearn.feature_extraction.text import CountVectorizer

    vectorizer = CountVectorizer(analyzer=words_of, vocabulary=list(words), dtype=np.int32)
    return Table.of(sp.csr_array(vectorizer.transform(_texts_of(documents))), names=list(words))


def _mean_tfidf(counts: Table) -> npt.NDArray[np.float64]:
    """Return the mean over the documents of count · ln(documents / documents with the word): (words,)."""
    csr = counts.values
    n_documents = np.bincount(csr.indices, minlength=counts.n_columns)
    occurrences = np.bincount(csr.indices, weights=csr.data, minlength=counts.n_columns)
    rarity = np.log(counts.n_rows / np.maximum(n_documents, 1))
    mean: npt.NDArray[np.float64] = occurrences * rarity / counts.n_rows
    return mean


def _highest(score: npt.NDArray[np.number], n_best: int) -> npt.NDArray[np.int64]:
    """Return the positions of the `n_best` highest scores, ascending; ties go to the first."""
    order = np.argsort(-score, kind="stable")
    return np.sort(order[:n_best]).astype(np.int64)


def _texts_of(documents: Documents | Iterable[str]) -> list[str]:
    """Return the texts as a list; raise a DataError for anything but strings."""
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
    """Return the stop words, split and lower-cased like the documents."""
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
