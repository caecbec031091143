"""Words of a document: splitting text of any script, removing HTML, stop words and their languages."""

from __future__ import annotations

import html
import logging
import re
import unicodedata
import warnings
from collections.abc import Callable, Collection, Iterator, Sequence
from functools import cache
from importlib.util import find_spec
from itertools import groupby, pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tsenet.errors import DataError, import_optional

if TYPE_CHECKING:
    from sklearn.feature_extraction.text import CountVectorizer

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

# A syllable of pinyin whose tone is a digit, after its vowel or at its end: "we4n", "wen4". The other syllables, which
# have no tone, are particles. And how much of texts shows that they are pinyin.
_SYLLABLE = re.compile(r"[a-zü]{0,4}[aeiouüvngr][1-5][a-zü]{0,3}")
_TOKEN = re.compile(r"\w+|[^\w\s]+")
_PINYIN_TEXTS, _PINYIN_LETTERS = 200, 500

# Two or more letters and digits; an underscore separates words.
_PLAIN_WORD = re.compile(r"[^\W_]{2,}")

# A character outside of Latin and Greek letters, European punctuation and common signs: a mark, a letter of a script
# with rules of its own, an emoji, or an invisible character. Text without one needs `_PLAIN_WORD` only.
_SPECIAL = re.compile(
    r"[^\0-\xac\xae-\xb6\xb8-\u02ff\u0370-\u03ff\u1e00-\u1fff\u2010-\u2027\u2030-\u205e\u20a0-\u20bf]"
)

# What joins letters of a word, without being one.
_JOINING = re.compile("['\"\xb7\u200c\u200d]")

# More marks in a row than any language has. Sorting them, a part of normalization, takes quadratic time.
_MAX_MARKS = 30
_LONG_RUN = re.compile(f"{_SPECIAL.pattern}{{{_MAX_MARKS}}}")

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
    "arabic": "ar",
    "bulgarian": "bg",
    "catalan": "ca",
    "croatian": "hr",
    "czech": "cs",
    "danish": "da",
    "dutch": "nl",
    "english": "en",
    "estonian": "et",
    "finnish": "fi",
    "french": "fr",
    "german": "de",
    "greek": "el",
    "hebrew": "he",
    "hindi": "hi",
    "hungarian": "hu",
    "indonesian": "id",
    "irish": "ga",
    "italian": "it",
    "japanese": "ja",
    "korean": "ko",
    "latin": "la",
    "latvian": "lv",
    "lithuanian": "lt",
    "norwegian": "no",
    "persian": "fa",
    "polish": "pl",
    "portuguese": "pt",
    "romanian": "ro",
    "russian": "ru",
    "slovak": "sk",
    "slovenian": "sl",
    "spanish": "es",
    "swedish": "sv",
    "turkish": "tr",
    "ukrainian": "uk",
    "vietnamese": "vi",
    "chinese": "zh",
}


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


def stands_between_spaces(word: str) -> bool:
    """Return whether a word is letters, digits and marks of a script with spaces between words, without apostrophes."""
    if not _is_special(word):
        return True
    token = _patterns()[0].fullmatch(word)
    return token is not None and token.lastgroup == "spaced" and _JOINING.search(word) is None


def without_html(text: str) -> str:
    """Return a text without the tags, comments and scripts of HTML, and with characters for its entities.

    A text without HTML is returned itself.

    Examples
    --------
    >>> from tsenet.data.words import without_html
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
    """Give a vectorizer of :func:`words_of` what splits Chinese, pinyin or Japanese, or warn that it is missing."""
    if vectorizer.tokenizer is not words_of:
        return
    if _are_pinyin(texts):
        vectorizer.set_params(tokenizer=pinyin_words)
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

    split = TOKENIZERS[language.lower()]
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


def pinyin_words(document: str) -> list[str]:
    """Split a document as :func:`words_of` does; of pinyin, every two neighbouring syllables are a word.

    Examples
    --------
    >>> from tsenet.data.words import pinyin_words
    >>> pinyin_words("za4i xi1ng qi1 yi1 de IBM")
    ['za4ixi1ng', 'xi1ngqi1', 'qi1yi1', 'de', 'ibm']
    """
    words: list[str] = []
    tokens = _TOKEN.findall(_normalized(document))
    for are_syllables, run in groupby(tokens, lambda token: _SYLLABLE.fullmatch(token) is not None):
        parts = list(run)
        if not are_syllables:
            words += words_of(" ".join(parts))
        elif len(parts) == 1:
            words += parts
        else:
            words += map("".join, pairwise(parts))
    return words


def _are_pinyin(texts: Sequence[str]) -> bool:
    """Whether most words of some of the texts are syllables of pinyin."""
    n_words = n_syllables = 0
    step = max(1, len(texts) // _PINYIN_TEXTS)
    for text in texts[::step]:
        words = re.findall(r"\w+", text[:_PINYIN_LETTERS].lower())
        n_words += len(words)
        n_syllables += sum(_SYLLABLE.fullmatch(word) is not None for word in words)
    return 2 * n_syllables > n_words


TOKENIZERS = {
    "unicode": words_of,
    "chinese": chinese_words,
    "japanese": japanese_words,
    "pinyin": pinyin_words,
}


def _segmented_words(document: str, load: Callable[[], Callable[[str], list[str]]]) -> list[str]:
    text = _normalized(document)
    words: list[str] = []
    runs = _patterns()[2].split(text)
    for k, run in enumerate(runs):
        is_east_asian = k % 2  # every second run is Chinese or Japanese
        words += load()(run) if is_east_asian else words_of(run)
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
            rf"([\p{{M}}\uff9e\uff9f]{{{_MAX_MARKS}}})[\p{{M}}\uff9e\uff9f]+", r"\1", document
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
        word = token.group()
        kind = token.lastgroup
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
    >>> from tsenet.data.words import stop_words_of
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
    >>> from tsenet.data.words import language_of
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
