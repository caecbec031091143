"""Texts without what is no language: web and mail addresses, names of accounts, hashtags and the headers of mail."""

from __future__ import annotations

import re

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


def without_addresses(text: str) -> str:
    r"""Return a text in lower case, without addresses, names of accounts, hashtags and headers of mail.

    The subject of a mail stays.

    Examples
    --------
    >>> from tsenet.data.addresses import without_addresses
    >>> without_addresses("See http://a.org/b (or mail joe@b.com), @joe #fun").split()
    ['see', '(or', 'mail', '),']
    >>> without_addresses("From: joe@b.com\nSubject: Bikes\nLines: 3\n\nI ride.").split()
    ['bikes', 'i', 'ride.']
    """
    return _ADDRESS.sub(" ", _without_headers(text)).lower()


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
