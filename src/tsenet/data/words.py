"""Split text of any script into words."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator
from functools import cache
from itertools import groupby, pairwise
from typing import Any

__all__ = ["words_of"]

# Two or more letters and digits; an underscore separates words.
_PLAIN_WORD = re.compile(r"[^\W_]{2,}")

# A character outside of Latin and Greek letters, European punctuation and common signs: a mark, a letter of a script
# with rules of its own, an emoji, or an invisible character. Text without one needs `_PLAIN_WORD` only.
_SPECIAL = re.compile(
    r"[^\0-\xac\xae-\xb6\xb8-\u02ff\u0370-\u03ff\u1e00-\u1fff\u2010-\u2027\u2030-\u205e\u20a0-\u20bf]"
)

# Signs of one meaning become one; invisible characters inside words (soft hyphen, direction of writing) go.
_SIGNS = str.maketrans(
    {
        **dict.fromkeys("\u2019\u05f3", "'"),
        **dict.fromkeys("\u201d\u05f4", '"'),
        **dict.fromkeys("\xad\u200e\u200f\u202a\u202b\u202c\u202d\u202e\u2060\ufeff"),
        **dict.fromkeys("\u2066\u2067\u2068\u2069\ufe0e\ufe0f"),
    }
)


def words_of(document: str, *, lowercase: bool = True) -> list[str]:
    """Split a document into its words, in order.

    A word is two or more letters and digits with at least one letter, in any script, together with their combining
    marks. Chinese characters, Hiragana, Thai, Lao, Khmer and Burmese are written without spaces: every two
    neighbouring characters are a word (bigrams). An emoji is a word. The text is first normalized (Unicode NFKC), so
    that composed and decomposed accents are the same.

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
    >>> words_of("भारत सरकार")
    ['भारत', 'सरकार']
    >>> words_of("人工智能 😀")
    ['人工', '工智', '智能', '😀']
    """
    text = unicodedata.normalize("NFKC", document)
    if lowercase:
        text = text.lower()
    if not _is_special(text):
        return _plain_words(text)
    words: list[str] = []
    for special, parts in groupby(text.split(), _is_special):
        words += (_words_of_any_script if special else _plain_words)(" ".join(parts))
    return words


def _is_special(text: str) -> bool:
    return not text.isascii() and _SPECIAL.search(text) is not None


def _plain_words(text: str) -> list[str]:
    # Numbers alone say nothing about a topic.
    return [word for word in _PLAIN_WORD.findall(text) if not word.isdecimal()]


def _words_of_any_script(text: str) -> Iterator[str]:
    """Yield the words of a text with marks, with scripts that have rules of their own, or with emoji."""
    # Lower case of the Turkish İ is an i with a dot as a mark.
    text = text.translate(_SIGNS).replace("i\u0307", "i")
    tokens, characters = _patterns()
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
def _patterns() -> tuple[Any, Any]:
    """Return the pattern of a token of any script, and that of a character with its marks."""
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
    return tokens, regex.compile(r"\X")
