"""Texts without what is no language: addresses, headers of mail, encoded files; and without repeated lines."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from itertools import compress
from operator import and_
from typing import Any

# Each begins where the character before cannot belong to it and takes characters without going back (++), so that the
# time is linear, whatever the text. Addresses are ASCII: Chinese text may follow them without a space.
_URL = r"(?:https?|ftp|gopher|file)://[!-~]*+|(?<![A-Za-z0-9])www\.[!-~]++"
_MAIL = r"(?<![A-Za-z0-9_.+%-])[A-Za-z0-9_.+%-]++@[A-Za-z0-9.-]++"
_ACCOUNT_OR_HASHTAG = r"(?<![\w&])[@#]\w++"
_ADDRESS = re.compile(f"{_URL}|{_MAIL}|{_ACCOUNT_OR_HASHTAG}", re.IGNORECASE)

_HEADER = re.compile(r"([A-Za-z][A-Za-z0-9-]{1,40}):[ \t]*(\S.*)")
# Lines are headers of mail only if two stand together and one is of these: "Note: …" is text.
_OF_MAIL = frozenset({"from", "to", "date", "message-id", "received", "newsgroups", "subject"})
_FEWEST_HEADERS = 2

# A file in a text, as uuencode, base64 and BinHex write it, is lines of 60 to 76 characters with hardly a space, of
# which few are in runs of four letters of one case: of text, and of addresses and code, more than half are.
_LONG_TOKEN = re.compile(r"[!-~]{20}")
_LETTERS = re.compile(r"[a-z]{4,}|[A-Z]{4,}")
_ENCODED_LINE, _ENCODED_LETTERS = 40, 1 / 3

# Lines of fewer words, such as "Thanks" or "San Diego, CA", stand in many documents without being repeated.
_LINE_WORDS = 3
# A document of which less than this share is its own, in such lines, is a copy as a whole, and stays whole.
_OWN_SHARE = 0.1


def without_repeats(texts: Sequence[Any], most: int) -> list[Any]:
    r"""Return texts without the lines that stand in ``most`` texts before them, such as signatures and footers.

    Texts of hardly anything else are copies, and stay as they are, and so does what is no text.

    Examples
    --------
    >>> from tsenet.data.addresses import without_repeats
    >>> footer = "sent from my phone"
    >>> without_repeats([f"A day at sea is fine\n{footer}", f"Bikes need some oil\n{footer}"], 1)
    ['A day at sea is fine\nsent from my phone', 'Bikes need some oil']
    """
    n_texts: Counter[str] = Counter()
    kept = []
    for text in texts:
        if not isinstance(text, str) or "\n" not in text:
            kept.append(text)
            continue

        lines = text.split("\n")
        words = [" ".join(line.split()) for line in lines]
        is_long = [line.count(" ") >= _LINE_WORDS - 1 for line in words]
        is_own = [n_texts[line] < most for line in words]
        n_texts.update({line for line, long in zip(words, is_long, strict=True) if long})

        own = "\n".join(compress(lines, is_own))
        n_own = sum(map(len, compress(lines, map(and_, is_own, is_long))))
        kept.append(own if n_own >= _OWN_SHARE * len(text) else text)
    return kept


def without_addresses(text: str) -> str:
    r"""Return a text in lower case, without addresses, names of accounts, hashtags, headers of mail and encoded files.

    The subject of a mail stays.

    Examples
    --------
    >>> from tsenet.data.addresses import without_addresses
    >>> without_addresses("See http://a.org/b (or mail joe@b.com), @joe #fun").split()
    ['see', '(or', 'mail', '),']
    >>> without_addresses("From: joe@b.com\nSubject: Bikes\nLines: 3\n\nI ride.").split()
    ['bikes', 'i', 'ride.']
    """
    return _ADDRESS.sub(" ", _without_encoded(_without_headers(text))).lower()


def _without_encoded(text: str) -> str:
    """A text without lines of an encoded file."""
    if _LONG_TOKEN.search(text) is None:
        return text
    return "\n".join(line for line in text.split("\n") if not _is_encoded(line))


def _is_encoded(line: str) -> bool:
    """Whether a line is of an encoded file."""
    if len(line) < _ENCODED_LINE or _LONG_TOKEN.search(line) is None:
        return False
    n_letters = sum(map(len, _LETTERS.findall(line)))
    return n_letters < _ENCODED_LETTERS * len(line)


def _without_headers(text: str) -> str:
    """A text without lines that are headers of mail, at its beginning or of a mail in it, but with their subjects."""
    if "\n" not in text or ":" not in text:
        return text
    kept: list[str] = []
    block: list[str] = []  # lines that may be headers
    for line in text.split("\n"):
        is_header = _HEADER.fullmatch(line.rstrip("\r")) is not None
        goes_on = bool(block) and line.startswith((" ", "\t"))  # a long header
        if is_header or goes_on:
            block.append(line)
            continue
        kept += _without_block(block)
        kept.append(line)
        block = []
    return "\n".join([*kept, *_without_block(block)])


def _without_block(lines: list[str]) -> list[str]:
    """The subjects of lines that are headers of mail; other lines stay."""
    headers = [_HEADER.fullmatch(line.rstrip("\r")) for line in lines]
    value_of = {header[1].lower(): header[2] for header in headers if header is not None}
    if len(value_of) < _FEWEST_HEADERS or _OF_MAIL.isdisjoint(value_of):
        return lines
    return [value_of["subject"]] if "subject" in value_of else []


#: What a vectorizer may do to texts before they are split, by the name in a model file.
PREPROCESSORS = {"without addresses": without_addresses}
