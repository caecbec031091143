"""The texts to label, each of them once, recognised by its content, and those of them that a search finds."""

from __future__ import annotations

import hashlib
import re
import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from time import perf_counter

import numpy as np
import regex
from numpy.typing import NDArray

from tsenet.errors import DataError

__all__ = ["Documents"]

_KEY_BYTES = 8  # of the hash: among a million texts two share a key with a chance of 1 : 40 million
_MAX_QUERY = 200  # characters
# For all texts together: an expression can need time that grows exponentially with a text's length.
_SECONDS = 2.0
# A phrase in quotation marks, the last of which may be missing yet, or a word.
_PART = re.compile(r'-?"[^"]*"?|\S+')


@dataclass(frozen=True, eq=False)
class Documents:
    """The distinct texts of a file's rows.

    Rows with the same text are one document: it is shown and labelled once. A blank row is none.

    Attributes
    ----------
    texts : list of str, length N
        The distinct texts, in the order of their first rows.
    keys : list of str, length N
        What identifies each text in the journal; see :func:`key_of`.
    document : int64 (rows,)
        The document of each row of the file; −1 for a blank one.
    given : list of str, length N
        The label that the file has for each document; "" for none.
    """

    texts: list[str]
    keys: list[str]
    document: NDArray[np.int64]
    given: list[str]

    @classmethod
    def of(cls, rows: Sequence[str], labels: Sequence[str] | None = None) -> Documents:
        """Collect the distinct texts of rows, and the first label that each of them has.

        Parameters
        ----------
        rows : sequence of str
        labels : sequence of str, optional
            The labels of the rows, "" where there is none.
        """
        number: dict[str, int] = {}
        document = np.full(len(rows), -1)  # (rows,)
        texts: list[str] = []
        given: list[str] = []
        for row, text in enumerate(rows):
            if not text.strip():
                continue

            i = document[row] = number.setdefault(key_of(text), len(number))
            if i == len(texts):  # the first row with this text
                texts.append(text)
                given.append("")

            if labels is not None and not given[i]:
                given[i] = " ".join(labels[row].split())

        return cls(texts, list(number), document, given)

    def __len__(self) -> int:
        return len(self.texts)

    @cached_property
    def first_row(self) -> NDArray[np.int64]:
        """The first row of the file with each text: (N,)."""
        found, first = np.unique(self.document, return_index=True)
        return np.asarray(first[found >= 0])

    @cached_property
    def number(self) -> dict[str, int]:
        """The document of each key."""
        return {key: i for i, key in enumerate(self.keys)}

    @cached_property
    def lengths(self) -> NDArray[np.int64]:
        """The characters of each text: (N,)."""
        return np.array([len(text) for text in self.texts], np.int64)

    @cached_property
    def _folded(self) -> list[str]:
        """The texts without case."""
        return [text.casefold() for text in self.texts]

    @cached_property
    def order(self) -> NDArray[np.int64]:
        """The documents in an order that is random with respect to anything but their keys: (N,).

        It does not change when others are added, and the first n are a random sample: estimates rest on it.
        """
        shuffled = [hashlib.blake2b(key.encode(), digest_size=8).digest() for key in self.keys]
        return np.array(sorted(range(len(self)), key=shuffled.__getitem__), np.int64)

    def find(self, query: str) -> NDArray[np.bool_]:
        """Return which texts match a query: (N,).

        Parameters
        ----------
        query : str
            Words, all of which a text must contain, in any place and in upper or lower case; ``"two words"`` next to
            each other; ``-word`` not at all. ``/expression/`` is a regular expression.

        Raises
        ------
        DataError
            If the query is too long, or an expression is invalid or takes more than two seconds.
        """
        query = query.strip()
        if len(query) > _MAX_QUERY:
            raise DataError(f"a search has at most {_MAX_QUERY} characters")
        if len(query) > 2 and query.startswith("/") and query.endswith("/"):
            return _matching(query[1:-1], self.texts)

        matches = np.ones(len(self), bool)
        for word in _words_of(query):
            is_unwanted = word.startswith("-") and len(word) > 1
            sought = word[1:] if is_unwanted else word

            contains = np.fromiter((sought in text for text in self._folded), bool, len(self))
            matches &= ~contains if is_unwanted else contains
        return matches


def key_of(text: str) -> str:
    """Return the key of a text; white space at its ends and the form of accents do not matter."""
    plain = unicodedata.normalize("NFC", text.strip())
    return hashlib.sha256(plain.encode("utf-8", "surrogatepass")).hexdigest()[: 2 * _KEY_BYTES]


def _words_of(query: str) -> list[str]:
    """The words and quoted phrases of a query, without case."""
    parts = _PART.findall(query.casefold())
    return [word for part in parts if (word := part.replace('"', "").strip())]


def _matching(pattern: str, texts: Sequence[str]) -> NDArray[np.bool_]:
    """Which texts an expression matches; all of them in two seconds."""
    try:
        compiled = regex.compile(pattern, regex.IGNORECASE)
    except (regex.error, OverflowError, RecursionError) as error:
        raise DataError(f"this is no regular expression: {error}") from error

    end = perf_counter() + _SECONDS
    matches = np.zeros(len(texts), bool)
    for i, text in enumerate(texts):
        left = end - perf_counter()
        try:
            if left <= 0:
                raise TimeoutError
            # Other threads go on in the meantime.
            matches[i] = compiled.search(text, timeout=left, concurrent=True) is not None
        except TimeoutError:
            raise DataError(
                f"the expression takes more than {_SECONDS:g} s: make it simpler, or search for words"
            ) from None
    return matches
