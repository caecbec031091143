"""Texts without what is no language: web and mail addresses, names of accounts, hashtags and the headers of mail."""

from __future__ import annotations

import re

# Each begins where the character before cannot belong to it and takes characters without going back (++), so that the
# time is linear, whatever the text. Addresses are ASCII: Chinese goes on right after them.
_URL = r"(?:https?|ftp|gopher|file)://[!-~]*+|(?<![A-Za-z0-9])www\.[!-~]++"
_MAIL = r"(?<![A-Za-z0-9_.+%-])[A-Za-z0-9_.+%-]++@[A-Za-z0-9.-]++"
_ACCOUNT_OR_HASHTAG = r"(?<![\w&])[@#]\w++"
_ADDRESS = re.compile(f"{_URL}|{_MAIL}|{_ACCOUNT_OR_HASHTAG}", re.IGNORECASE)

_HEADER = re.compile(r"([A-Za-z][A-Za-z0-9-]{1,40}):[ \t]*(.*)")
# A text begins with the headers of mail only if it has one of these: "Note: …" alone is text.
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
    """The text of a mail without the lines of headers at its beginning, but with its subject."""
    if not _HEADER.match(text):
        return text
    lines = text.split("\n")
    names: list[str] = []
    subject = ""
    n_headers = 0
    for line in lines:
        header = _HEADER.fullmatch(line.rstrip("\r"))
        if header is not None:
            names.append(header[1].lower())
            if names[-1] == "subject":
                subject = header[2]
        elif not line.startswith((" ", "\t")):  # else a long header goes on
            break
        n_headers += 1
    if len(names) < _FEWEST_HEADERS or _OF_MAIL.isdisjoint(names):
        return text
    return "\n".join([subject, *lines[n_headers:]])


#: What a vectorizer may do to texts before they are split, by the name in a model file.
PREPROCESSORS = {"without addresses": without_addresses}
