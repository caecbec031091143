"""Lists of stop words: English, other languages, and a user's own."""

from __future__ import annotations

from collections.abc import Collection
from pathlib import Path

from tsenet.errors import DataError, MissingDependencyError

__all__ = ["read_stop_words", "stop_words_of"]

# Parts of English contractions ("don't", "we'll") before and after the apostrophe. They are stop
# words too, but not in scikit-learn's list.
_ENGLISH_FRAGMENTS = frozenset(
    {"ain", "aren", "couldn", "didn", "doesn", "don", "hadn", "hasn", "haven", "isn", "ll"}
    | {"mightn", "mustn", "needn", "shan", "shouldn", "ve", "wasn", "weren", "wouldn"}
)

# Languages by name; all others by their ISO 639-1 code.
_CODES = {
    **{"arabic": "ar", "bengali": "bn", "bulgarian": "bg", "catalan": "ca", "chinese": "zh"},
    **{"croatian": "hr", "czech": "cs", "danish": "da", "dutch": "nl", "estonian": "et"},
    **{"finnish": "fi", "french": "fr", "german": "de", "greek": "el", "hebrew": "he"},
    **{"hindi": "hi", "hungarian": "hu", "indonesian": "id", "irish": "ga", "italian": "it"},
    **{"japanese": "ja", "korean": "ko", "latvian": "lv", "lithuanian": "lt", "norwegian": "no"},
    **{"persian": "fa", "polish": "pl", "portuguese": "pt", "romanian": "ro", "russian": "ru"},
    **{"slovak": "sk", "slovenian": "sl", "spanish": "es", "swahili": "sw", "swedish": "sv"},
    **{"thai": "th", "turkish": "tr", "ukrainian": "uk", "urdu": "ur", "vietnamese": "vi"},
}


def stop_words_of(given: str | Path | Collection[str] | None) -> Collection[str]:
    """Return the words that a user's choice stands for.

    Parameters
    ----------
    given : str, Path, collection of str, or None
        ``"english"``; another language by its name or ISO 639-1 code; a file; the words; ``"none"`` or None for none.

    Returns
    -------
    collection of str

    Raises
    ------
    DataError
        For an unknown language, and a file that is missing or not UTF-8.
    MissingDependencyError
        For a language other than English without stopwordsiso.

    Examples
    --------
    >>> from tsenet.data.stop_words import stop_words_of
    >>> "the" in stop_words_of("english"), "und" in stop_words_of("german")
    (True, True)
    """
    if given is None or (isinstance(given, str) and given == "none"):
        return ()
    if isinstance(given, Path):
        return read_stop_words(given)
    if not isinstance(given, str):
        return given
    if given == "english":
        from sklearn.feature_extraction.text import ENGLISH_STOP_WORDS

        return frozenset(ENGLISH_STOP_WORDS) | _ENGLISH_FRAGMENTS
    try:
        import stopwordsiso
    except ImportError as error:
        raise MissingDependencyError(
            f"stop words {given!r} need stopwordsiso: pip install tsenet[text]"
        ) from error
    code = _CODES.get(given.lower(), given.lower())
    if not stopwordsiso.has_lang(code):
        raise DataError(
            f"there are no stop words for the language {given!r}: give 'english', one of "
            f"{', '.join(_CODES)}, an ISO 639-1 code of {', '.join(sorted(stopwordsiso.langs()))}, "
            "a file of words, or the words themselves"
        )
    words: Collection[str] = stopwordsiso.stopwords(code)
    return words


def read_stop_words(path: Path) -> list[str]:
    r"""Read the words of a UTF-8 text file, separated by white space.

    Parameters
    ----------
    path : Path
        The file.

    Returns
    -------
    list of str

    Raises
    ------
    DataError
        If the file is missing or not UTF-8.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> from tsenet.data.stop_words import read_stop_words
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder) / "words.txt"
    ...     _ = path.write_text("der\ndie\n")
    ...     read_stop_words(path)
    ['der', 'die']
    """
    try:
        return path.read_text(encoding="utf-8-sig").split()
    except FileNotFoundError as error:
        raise DataError(f"there is no file of stop words {path}") from error
    except UnicodeDecodeError as error:
        raise DataError(f"the file of stop words {path} is not UTF-8 text") from error
