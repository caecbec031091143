"""Turn documents into a sparse table of word counts."""

from __future__ import annotations

import logging
import re
import sys
import unicodedata
import warnings
from array import array
from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from numbers import Integral
from pathlib import Path
from typing import Any, Literal, NamedTuple

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from tsenet.data.columns import count_of
from tsenet.data.documents import Documents, read_documents
from tsenet.data.stop_words import stop_words_of
from tsenet.data.table import Table
from tsenet.data.words import words_of
from tsenet.errors import DataError

__all__ = ["Documents", "WordCounter", "count_words", "read_documents", "vectorize", "words_of"]

_logger = logging.getLogger("tsenet.data")

# Half of a character, which no encoding can write.
_HALF = re.compile(r"[\ud800-\udfff]")

#: Splits a text into its words.
Tokenizer = Callable[[str], Iterable[str]]


def _chunks_of(document: str, *, lowercase: bool = True) -> list[str]:
    """Split a document at white space only."""
    text = unicodedata.normalize("NFKC", document)
    return (text.lower() if lowercase else text).split()


#: The tokenizers that a model file may name.
_TOKENIZERS: dict[str, Callable[..., list[str]]] = {"unicode": words_of, "whitespace": _chunks_of}


class DocumentCounts(NamedTuple):
    """Number of documents, and in how many of them each word is."""

    n_documents: int
    n_with: Counter[str]

    def __add__(self, other: Any) -> DocumentCounts:
        """Those of both parts; the first is changed, so that a sum of many copies nothing."""
        self.n_with.update(other.n_with)
        return DocumentCounts(self.n_documents + other.n_documents, self.n_with)


def document_counts(
    documents: Iterable[str],
    first: int = 0,
    tokenizer: str | Tokenizer = "unicode",
    lowercase: bool = True,
    ngrams: int = 1,
) -> DocumentCounts:
    """Count in how many documents each word is.

    Parameters
    ----------
    documents : iterable of str
        The texts.
    first : int, default=0
        Number of the first one, for error messages.
    tokenizer, lowercase, ngrams
        As for :class:`WordCounter`.

    Returns
    -------
    DocumentCounts

    Raises
    ------
    DataError
        If a document is no text.

    Examples
    --------
    >>> from tsenet.data.text import document_counts
    >>> document_counts(["a cat", "a cat and a dog"]).n_with["cat"]
    2
    """
    _check_splitting(tokenizer, lowercase, ngrams)
    found: Counter[str] = Counter()
    number = first - 1
    for number, text in enumerate(documents, start=first):
        _check_text(number, text)
        found.update(set(_split(text, tokenizer, lowercase, ngrams)))
    return DocumentCounts(number + 1 - first, found)


@dataclass(frozen=True, repr=False)
class WordCounter:
    """A vocabulary and how to split text into it; :meth:`learn` makes one from documents.

    Parameters
    ----------
    words : tuple of str
        The vocabulary; an n-gram is its words with a space between them.
    tokenizer : str or callable, default="unicode"
        ``"unicode"``, :func:`words_of`; ``"whitespace"``, for text that is already split into words; or a function
        from a text (Unicode NFKC) to its words. A model file keeps no
        code, only the function's name: whoever loads the file passes the function again
        (``tsenet.load(path, tokenizer=...)``, or :meth:`with_tokenizer`). Until then `tokenizer` is that name,
        ``"module:function"``.
    lowercase : bool, default=True
        Whether to lower-case the words.
    ngrams : int, default=1
        Longest n-gram: 2 also counts pairs of neighbouring words, 3 also triples.

    Examples
    --------
    >>> from tsenet.data import WordCounter
    >>> counter = WordCounter(("cat", "dog", "hot dog"), ngrams=2)
    >>> counter.split("A hot dog")
    ['hot', 'dog', 'hot dog']
    >>> counter.count(["a hot dog", "dogs and a cat"]).values.toarray().tolist()
    [[0, 1, 1], [1, 0, 0]]
    """

    words: tuple[str, ...]
    tokenizer: str | Tokenizer = "unicode"
    lowercase: bool = True
    ngrams: int = 1

    def __post_init__(self) -> None:
        object.__setattr__(self, "words", tuple(self.words))
        _check_splitting(self.tokenizer, self.lowercase, self.ngrams)
        if not self.words:
            raise DataError("the vocabulary has no words")
        for word in self.words:
            if not isinstance(word, str):
                raise DataError(f"the vocabulary holds a {type(word).__name__}, not a string")
        if _HALF.search("".join(self.words)):
            raise DataError("a word of the vocabulary holds half of a character (a lone surrogate)")
        if len(set(self.words)) < len(self.words):
            ((word, times),) = Counter(self.words).most_common(1)
            raise DataError(f"the vocabulary holds {word!r} {times} times")

    def __repr__(self) -> str:
        grams = f", n-grams up to {self.ngrams}" if self.ngrams > 1 else ""
        return f"WordCounter({len(self.words):,} words, {_name_of(self.tokenizer)}{grams})"

    @classmethod
    def learn(
        cls,
        documents: Documents | Iterable[str],
        *,
        n_words: int | None = 10_000,
        stop_words: str | Path | Collection[str] | None = "english",
        min_documents: int = 2,
        max_df: float = 1.0,
        tokenizer: str | Tokenizer = "unicode",
        ngrams: int = 1,
        lowercase: bool = True,
        select: Literal["frequency", "tfidf"] = "frequency",
    ) -> tuple[WordCounter, Table]:
        """Choose a vocabulary, and count its words in each document.

        Parameters
        ----------
        documents : Documents or iterable of str
            The texts.
        n_words, stop_words, min_documents, max_df, tokenizer, ngrams, lowercase, select
            As for :func:`vectorize`.

        Returns
        -------
        WordCounter
            Counts the same words in other documents.
        Table
            The counts in these documents.

        Raises
        ------
        DataError
            If a document is not a string, there are no documents, or no words remain.

        Examples
        --------
        >>> from tsenet.data import WordCounter
        >>> counter, table = WordCounter.learn(["the cat sat", "a cat and a dog", "the dog sat"])
        >>> counter
        WordCounter(3 words, unicode)
        >>> counter.words == table.names
        True
        """
        _check_choice(n_words, max_df)
        if select not in ("frequency", "tfidf"):
            raise DataError(f"select must be 'frequency' or 'tfidf', got {select!r}")
        _check_splitting(tokenizer, lowercase, ngrams)
        texts = _texts_of(documents)
        stops = _stop_words(stop_words, tokenizer, lowercase)
        counts, words = _count_all(texts, tokenizer, lowercase, ngrams)
        n_documents = np.bincount(counts.indices, minlength=len(words))
        stopped = [_is_stopped(word, stops, ngrams) for word in words]
        kept = _kept(n_documents, len(texts), stopped, min_documents, max_df)
        table = Table.of(counts[:, kept], names=[words[k] for k in kept])
        if n_words is not None and n_words < kept.size:
            score = n_documents[kept] if select == "frequency" else _mean_tfidf(table)
            best = _highest(score, n_words)
            table = Table.of(table.values[:, best], names=[table.names[k] for k in best])
        n_empty = int(np.count_nonzero(np.diff(table.values.indptr) == 0))
        _logger.info("%r; %s without any of these words", table, count_of(n_empty, "document"))
        return cls(table.names, tokenizer, lowercase, ngrams), table

    @classmethod
    def learn_stream(
        cls,
        documents: Iterable[str],
        *,
        n_words: int | None = 10_000,
        stop_words: str | Path | Collection[str] | None = "english",
        min_documents: int = 2,
        max_df: float = 1.0,
        tokenizer: str | Tokenizer = "unicode",
        ngrams: int = 1,
        lowercase: bool = True,
    ) -> WordCounter:
        """Choose the most frequent words of documents that are read one after the other.

        Only the distinct words and in how many documents each is are kept in memory.

        Parameters
        ----------
        documents : iterable of str
            The texts; they are taken once.
        n_words, stop_words, min_documents, max_df, tokenizer, ngrams, lowercase
            As for :func:`vectorize`.

        Returns
        -------
        WordCounter
            The same as :meth:`learn` gives with ``select="frequency"``.

        Raises
        ------
        DataError
            As for :meth:`learn`.

        Examples
        --------
        >>> from tsenet.data import WordCounter
        >>> WordCounter.learn_stream(iter(["the cat sat", "a cat and a dog", "a dog"])).words
        ('cat', 'dog')
        """
        _check_choice(n_words, max_df)
        counts = document_counts(documents, 0, tokenizer, lowercase, ngrams)
        return cls.choose(
            counts,
            n_words=n_words,
            stop_words=stop_words,
            min_documents=min_documents,
            max_df=max_df,
            tokenizer=tokenizer,
            ngrams=ngrams,
            lowercase=lowercase,
        )

    @classmethod
    def choose(
        cls,
        counts: DocumentCounts,
        *,
        n_words: int | None = 10_000,
        stop_words: str | Path | Collection[str] | None = "english",
        min_documents: int = 2,
        max_df: float = 1.0,
        tokenizer: str | Tokenizer = "unicode",
        ngrams: int = 1,
        lowercase: bool = True,
    ) -> WordCounter:
        """Choose the most frequent words, given in how many documents each is.

        Parameters
        ----------
        counts : DocumentCounts
            Those of :func:`document_counts`; those of several parts are added.
        n_words, stop_words, min_documents, max_df, tokenizer, ngrams, lowercase
            As for :meth:`learn_stream`.

        Returns
        -------
        WordCounter

        Raises
        ------
        DataError
            As for :meth:`learn`.

        Examples
        --------
        >>> from tsenet.data import WordCounter
        >>> from tsenet.data.text import document_counts
        >>> parts = [document_counts(part) for part in (["the cat", "a dog"], ["cat and dog"])]
        >>> WordCounter.choose(parts[0] + parts[1]).words
        ('cat', 'dog')
        """
        _check_choice(n_words, max_df)
        _check_splitting(tokenizer, lowercase, ngrams)
        stops = _stop_words(stop_words, tokenizer, lowercase)
        n_texts, found = counts
        if not n_texts:
            raise DataError("there are no documents")
        words = sorted(found)
        n_documents = np.array([found[word] for word in words], np.int64)
        stopped = [_is_stopped(word, stops, ngrams) for word in words]
        kept = _kept(n_documents, n_texts, stopped, min_documents, max_df)
        if n_words is not None and n_words < kept.size:
            kept = kept[_highest(n_documents[kept], n_words)]
        return cls(tuple(words[k] for k in kept), tokenizer, lowercase, ngrams)

    def split(self, text: str) -> list[str]:
        """Split a text into its words, in order, and after them its n-grams.

        Parameters
        ----------
        text : str
            The text.

        Returns
        -------
        list of str
            All words, also those outside the vocabulary.

        Raises
        ------
        DataError
            If the counter comes from a file and its tokenizer is still to be passed.

        Examples
        --------
        >>> from tsenet.data import WordCounter
        >>> WordCounter(("rose",), tokenizer=str.split).split("Oil-prices rose")
        ['oil-prices', 'rose']
        """
        return _split(text, self.tokenizer, self.lowercase, self.ngrams)

    def count(self, documents: Documents | Iterable[str]) -> Table:
        """Count the words of the vocabulary in documents.

        Parameters
        ----------
        documents : Documents or iterable of str
            The texts.

        Returns
        -------
        Table
            Sparse int32 counts, shape (documents, words), in the order of `words`.

        Raises
        ------
        DataError
            If a document is not a string, there are none, or the tokenizer is still to be passed.

        Examples
        --------
        >>> from tsenet.data import WordCounter
        >>> WordCounter(("cat", "dog")).count(["dog eats dog", "a cat"]).values.toarray().tolist()
        [[0, 2], [1, 0]]
        """
        known = self._places
        split = ([w for w in self.split(text) if w in known] for text in _texts_of(documents))
        counts = _csr(*_counts(split, known), len(self.words))
        return Table(counts, self.words, (None,) * len(self.words))

    def with_tokenizer(self, tokenizer: str | Tokenizer) -> WordCounter:
        """Return the same vocabulary with another tokenizer, such as the one that the model was fitted with.

        Parameters
        ----------
        tokenizer : str or callable
            As in the class.

        Returns
        -------
        WordCounter

        Examples
        --------
        >>> from tsenet.data import WordCounter
        >>> WordCounter(("cat", "dog")).with_tokenizer(str.split)
        WordCounter(2 words, builtins:str.split)
        """
        return replace(self, tokenizer=tokenizer)

    def to_dict(self) -> dict[str, Any]:
        """Return the counter as JSON holds it; of a function only the name.

        Returns
        -------
        dict

        Warns
        -----
        UserWarning
            If no import finds the function under its name, as for a lambda.

        Examples
        --------
        >>> from tsenet.data import WordCounter
        >>> WordCounter(("cat",), str.split).to_dict()
        {'words': ['cat'], 'tokenizer': 'builtins:str.split', 'lowercase': True, 'ngrams': 1}
        """
        name = _name_of(self.tokenizer)
        if callable(self.tokenizer) and not _is_found(name, self.tokenizer):
            warnings.warn(
                f"the tokenizer {name} cannot be imported by this name: whoever loads the model "
                "has to have the function, and pass it as tokenizer= to tsenet.load",
                stacklevel=2,
            )
        return {
            "words": list(self.words),
            "tokenizer": name,
            "lowercase": self.lowercase,
            "ngrams": self.ngrams,
        }

    @classmethod
    def from_dict(cls, fields: dict[str, Any]) -> WordCounter:
        """Rebuild a counter from :meth:`to_dict`; nothing is imported or run.

        Parameters
        ----------
        fields : dict
            What :meth:`to_dict` returned.

        Returns
        -------
        WordCounter

        Raises
        ------
        DataError
            If a field is missing, unknown or wrong.

        Examples
        --------
        >>> from tsenet.data import WordCounter
        >>> counter = WordCounter(("cat", "dog"), ngrams=2)
        >>> WordCounter.from_dict(counter.to_dict()) == counter
        True
        """
        if not isinstance(fields, dict) or set(fields) != {
            *("words", "tokenizer", "lowercase", "ngrams")
        }:
            raise DataError("a word counter has the fields words, tokenizer, lowercase and ngrams")
        if not isinstance(fields["words"], list) or not isinstance(fields["tokenizer"], str):
            raise DataError("words of a word counter must be a list, and tokenizer a name")
        return cls(**fields)

    @cached_property
    def _places(self) -> dict[str, int]:
        return {word: place for place, word in enumerate(self.words)}


def vectorize(
    documents: Documents | Iterable[str],
    *,
    n_words: int | None = 10_000,
    stop_words: str | Path | Collection[str] | None = "english",
    min_documents: int = 2,
    max_df: float = 1.0,
    tokenizer: str | Tokenizer = "unicode",
    ngrams: int = 1,
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
    stop_words : str, Path, collection of str, or None, default="english"
        Words to leave out, and n-grams that begin or end with one: those of a language by its name or ISO 639-1 code
        (other than English with the extra ``text``), of a file, or your own. None leaves out none.
    min_documents : int, default=2
        Leave out words that occur in fewer documents: their co-occurrence with other words cannot
        be estimated.
    max_df : float, default=1.0
        Leave out words that occur in a larger share of the documents. A value such as 0.5 does without stop words in
        any language.
    tokenizer : str or callable, default="unicode"
        How to split text into words, as for :class:`WordCounter`.
    ngrams : int, default=1
        Longest n-gram: 2 also counts pairs of neighbouring words.
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
    WordCounter.learn : The same, and what counts the words in new documents.
    count_words : Count given words.

    Examples
    --------
    >>> from tsenet.data import vectorize
    >>> table = vectorize(["the cat sat", "a cat and a dog", "the dog sat down"])
    >>> table.names
    ('cat', 'dog', 'sat')
    >>> table.values.toarray().tolist()
    [[1, 0, 1], [1, 1, 0], [0, 1, 1]]
    """
    _, table = WordCounter.learn(
        documents,
        n_words=n_words,
        stop_words=stop_words,
        min_documents=min_documents,
        max_df=max_df,
        tokenizer=tokenizer,
        ngrams=ngrams,
        lowercase=lowercase,
        select=select,
    )
    return table


def count_words(documents: Documents | Iterable[str], words: Sequence[str]) -> Table:
    """Count given words in documents, for example the words that a model was fitted on.

    Parameters
    ----------
    documents : Documents or iterable of str
        The texts.
    words : sequence of str
        The vocabulary, as :func:`words_of` splits and lower-cases it; with a space inside, n-grams.

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
    ngrams = max((word.count(" ") + 1 for word in words), default=1)
    return WordCounter(tuple(words), ngrams=ngrams).count(documents)


# ---- splitting


def _split(text: str, tokenizer: str | Tokenizer, lowercase: bool, ngrams: int) -> list[str]:
    """Return the words of a text, and its n-grams up to `ngrams` words."""
    if callable(tokenizer):
        words = _words_by(tokenizer, unicodedata.normalize("NFKC", text), lowercase)
    elif tokenizer in _TOKENIZERS:
        words = _TOKENIZERS[tokenizer](text, lowercase=lowercase)
    else:
        raise DataError(
            f"the text has to be split by {tokenizer}, and a model file holds no code: pass the "
            "function, as in tsenet.load(path, tokenizer=function)"
        )
    grams = [
        " ".join(words[k : k + length])
        for length in range(2, ngrams + 1)
        for k in range(len(words) - length + 1)
    ]
    return words + grams


def _words_by(tokenizer: Tokenizer, text: str, lowercase: bool) -> list[str]:
    """Return the words that a user's function makes of a text, without blank ones."""
    found = tokenizer(text)
    try:
        words = [] if isinstance(found, str) else [word for word in found if word.strip()]
        if isinstance(found, str) or not all(isinstance(word, str) for word in words):
            raise TypeError
    except (TypeError, AttributeError) as error:
        raise DataError(
            f"the tokenizer {_name_of(tokenizer)} should return the words of a text, as a list of "
            f"strings, but returned {found!r:.60}"
        ) from error
    return [word.lower() for word in words] if lowercase else words


def _check_splitting(tokenizer: Any, lowercase: Any, ngrams: Any) -> None:
    """Raise a DataError for wrong options of splitting."""
    named = isinstance(tokenizer, str) and (tokenizer in _TOKENIZERS or ":" in tokenizer)
    if not named and not callable(tokenizer):
        known = ", ".join(repr(name) for name in _TOKENIZERS)
        raise DataError(f"tokenizer must be a function or one of {known}, got {tokenizer!r}")
    if not isinstance(lowercase, bool):
        raise DataError(f"lowercase must be True or False, got {lowercase!r}")
    if not isinstance(ngrams, int) or isinstance(ngrams, bool) or ngrams < 1:
        raise DataError(f"ngrams must be a whole number from 1 on, got {ngrams!r}")


def _name_of(tokenizer: str | Tokenizer) -> str:
    """Return how a model file names a tokenizer."""
    if isinstance(tokenizer, str):
        return tokenizer
    named = tokenizer if hasattr(tokenizer, "__qualname__") else type(tokenizer)
    module = getattr(named, "__module__", None) or getattr(
        getattr(named, "__objclass__", None), "__module__", "?"
    )
    return f"{module}:{named.__qualname__}"


def _is_found(name: str, tokenizer: Tokenizer) -> bool:
    """Whether an import by this name gives the tokenizer."""
    module, _, path = name.partition(":")
    found: Any = sys.modules.get(module)
    for part in path.split("."):
        found = getattr(found, part, None)
    return found is tokenizer and module != "__main__"


# ---- counting


def _count_all(
    texts: list[str], tokenizer: str | Tokenizer, lowercase: bool, ngrams: int
) -> tuple[sp.csr_array, list[str]]:
    """Count every word; columns in alphabetical order. Shape (documents, words)."""
    places: defaultdict[str, int] = defaultdict()
    places.default_factory = places.__len__  # a new word gets the next column
    counts = _counts((_split(text, tokenizer, lowercase, ngrams) for text in texts), places)
    if not places:
        raise DataError(
            f"no words remain of {count_of(len(texts), 'document')}: none holds a word of two or "
            "more letters"
        )
    words = sorted(places)
    column = np.empty(len(words), np.int32)
    column[[places[word] for word in words]] = np.arange(len(words))
    return _csr(*counts[:2], column[counts[2]], len(words)), words


def _counts(
    documents: Iterable[list[str]], places: Mapping[str, int]
) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int32], npt.NDArray[np.int32]]:
    """Count the words of each document: the row ends, and the counts and columns of a row after the other."""
    ends, data, columns = array("q", [0]), array("i"), array("i")
    for words in documents:
        counted = Counter(words)
        columns.extend(places[word] for word in counted)
        data.extend(counted.values())
        ends.append(len(columns))
    return np.array(ends, np.int64), np.array(data, np.int32), np.array(columns, np.int32)


def _csr(ends: Any, data: Any, columns: Any, n_words: int) -> sp.csr_array:
    counts = sp.csr_array((data, columns, ends), shape=(len(ends) - 1, n_words))
    counts.sort_indices()
    return counts


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
    if not isinstance(documents, Documents) and hasattr(documents, "columns"):
        raise DataError("expected documents, got a dataframe: give its column of texts")
    texts = documents.texts if isinstance(documents, Documents) else list(documents)
    for i, text in enumerate(texts):
        _check_text(i, text)
    if not texts:
        raise DataError("there are no documents")
    return texts


def _check_text(number: int, text: Any) -> None:
    if not isinstance(text, str):
        kind = type(text).__name__
        raise DataError(
            f"document {number} is a {kind}, not a string: give '' for a document without text"
        )
    if not text.isascii() and _HALF.search(text):
        raise DataError(f"document {number} holds half of a character (a lone surrogate)")


# ---- which words


def _check_choice(n_words: Any, max_df: float) -> None:
    if n_words is not None and (not isinstance(n_words, Integral) or n_words < 1):
        raise DataError(f"n_words must be a whole number from 1 on or None, got {n_words!r}")
    if not 0 < max_df <= 1:
        raise DataError(f"max_df must be a share above 0, at most 1, got {max_df}")


def _kept(
    n_documents: npt.NDArray[np.int64],
    n_texts: int,
    stopped: Sequence[bool],
    min_documents: int,
    max_df: float,
) -> npt.NDArray[np.intp]:
    """Return the words that are frequent enough, not too frequent and no stop words; at least one, or a DataError."""
    frequent = (n_documents >= min_documents) & (n_documents <= max_df * n_texts)
    kept = np.flatnonzero(frequent & ~np.array(stopped, dtype=bool))
    if kept.size == 0:
        most = f", in at most {max_df:.0%} of them (max_df)" if max_df < 1 else ""
        raise DataError(
            f"no words remain of {count_of(n_texts, 'document')}: of {n_documents.size} distinct "
            f"words none is in at least {min_documents} documents (min_documents){most} "
            "without being a stop word (stop_words)"
        )
    return kept


# ---- stop words


def _stop_words(
    given: str | Path | Collection[str] | None, tokenizer: str | Tokenizer, lowercase: bool
) -> frozenset[str]:
    """Return the stop words, split and lower-cased like the documents."""
    words = stop_words_of(given)
    if given == "english":
        return frozenset(words)
    return frozenset(word for entry in words for word in _split(entry, tokenizer, lowercase, 1))


def _is_stopped(word: str, stops: frozenset[str], ngrams: int) -> bool:
    """Whether a word is a stop word, or an n-gram begins or ends with one."""
    if ngrams == 1:
        return word in stops
    parts = word.split(" ")
    return parts[0] in stops or parts[-1] in stops
