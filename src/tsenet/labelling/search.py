"""Documents that contain words, or match a regular expression within a limited time."""

from __future__ import annotations

import re
from collections.abc import Sequence
from time import perf_counter

import numpy as np
import regex
from numpy.typing import NDArray

from tsenet.errors import DataError

__all__ = ["find"]

MAX_QUERY = 200  # characters
# For all texts together: an expression can need time that grows exponentially with a text's length.
_SECONDS = 2.0
# A phrase in quotation marks, the last of which may be missing yet, or a word.
_PART = re.compile(r'-?"[^"]*"?|\S+')


def find(query: str, texts: Sequence[str], folded: Sequence[str]) -> NDArray[np.bool_]:
    """Return which texts match a query: (N,).

    Parameters
    ----------
    query : str
        Words, all of which a text must contain, in any place and in upper or lower case; ``"two words"`` next to each
        other; ``-word`` not at all. ``/expression/`` is a regular expression.
    texts : sequence of str
    folded : sequence of str
        The texts without case.

    Raises
    ------
    DataError
        If the query is too long, or an expression is invalid or takes more than two seconds.
    """
    query = query.strip()
    if len(query) > MAX_QUERY:
        raise DataError(f"a search has at most {MAX_QUERY} characters")
    if len(query) > 2 and query.startswith("/") and query.endswith("/"):
        return _matching(query[1:-1], texts)

    matches = np.ones(len(texts), bool)
    for word in _words_of(query):
        is_unwanted = word.startswith("-") and len(word) > 1
        sought = word[1:] if is_unwanted else word

        contains = np.fromiter((sought in text for text in folded), bool, len(folded))
        matches &= ~contains if is_unwanted else contains
    return matches


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
