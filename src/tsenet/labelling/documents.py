"""The texts to label, each of them once, recognised by its content."""

from __future__ import annotations

import hashlib
import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

__all__ = ["Documents"]

_KEY_BYTES = 8  # of the hash: among a million texts two share a key with a chance of 1 : 40 million


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
    def folded(self) -> list[str]:
        """The texts without case, to search in."""
        return [text.casefold() for text in self.texts]

    @cached_property
    def order(self) -> NDArray[np.int64]:
        """The documents in an order that is random with respect to anything but their keys: (N,).

        It does not change when others are added, and the first n are a random sample: estimates rest on it.
        """
        shuffled = [hashlib.blake2b(key.encode(), digest_size=8).digest() for key in self.keys]
        return np.array(sorted(range(len(self)), key=shuffled.__getitem__), np.int64)


def key_of(text: str) -> str:
    """Return the key of a text; white space at its ends and the form of accents do not matter."""
    plain = unicodedata.normalize("NFC", text.strip())
    return hashlib.sha256(plain.encode("utf-8", "surrogatepass")).hexdigest()[: 2 * _KEY_BYTES]
