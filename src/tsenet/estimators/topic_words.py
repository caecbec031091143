"""How a topic model counts the words of documents, and what it finds out about texts."""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.base import clone

from tsenet.data.addresses import without_repeats
from tsenet.data.table import Table
from tsenet.data.text import are_texts, vectorize, word_vectorizer
from tsenet.data.words import language_of, stop_words_of
from tsenet.errors import DataError
from tsenet.topics.settings import SETTINGS
from tsenet.topics.titles import count_phrases

if TYPE_CHECKING:
    from sklearn.feature_extraction.text import CountVectorizer

_PHRASE_TEXTS = 5_000  # texts in which phrases are looked for: a second where all would take ten
_LANGUAGE_WORDS = 50  # the most frequent words, by which a language is recognised


def learn_words(
    texts: Any,
    given: CountVectorizer | None,
    *,
    stop_words: Any,
    progress: Any,
    **options: Any,
) -> tuple[CountVectorizer | None, Table]:
    """Choose the words of documents and count them; a table of counts stays as it is, without a vectorizer.

    A line that stands in several documents counts in the first four of them.

    Parameters
    ----------
    texts : sequence of str, or table of counts
        The documents.
    given : CountVectorizer or None
        The user's own choice of words; the options are then ignored.
    stop_words, **options
        Of :func:`tsenet.data.word_vectorizer`.
    progress : bool, callable, Progress or None
        Whether to show progress.
    """
    if not are_texts(texts):
        return None, _checked_counts(texts)

    # Signatures and footers are no subject, as many copies of a document are none.
    texts = texts if isinstance(texts, str) else without_repeats(texts, SETTINGS.copies)
    if given is not None:
        fitted = clone(given, safe=False)
        return fitted, vectorize(texts, fitted, progress=progress)

    fitted = word_vectorizer(stop_words=stop_words, **options)
    table = vectorize(texts, fitted, progress=progress)
    if not isinstance(stop_words, str) or stop_words != "english":
        return fitted, table

    language = _other_language(table)
    if language is None:
        return fitted, table

    warnings.warn(
        f"the texts look {language.capitalize()}: its stop words are left out too. Give "
        f"stop_words={language!r} to do without this warning, or a vectorizer to keep them",
        stacklevel=4,  # where fit() was called
    )
    both = {*stop_words_of("english"), *stop_words_of(language)}
    fitted = word_vectorizer(stop_words=both, **options)
    return fitted, vectorize(texts, fitted, progress=progress)


def _other_language(table: Table) -> str | None:
    """The language of texts that still have its stop words; without this, topics would be of function words."""
    count = np.asarray(table.values.sum(axis=0)).ravel()
    frequent = np.argsort(-count, kind="stable")[:_LANGUAGE_WORDS]
    return language_of([table.names[k] for k in frequent])


def _checked_counts(given: Any) -> Table:
    """A sparse table of word counts."""
    expected = "expected documents: a list of strings, or a sparse table of word counts"
    if isinstance(given, list | tuple):
        first = f"the first is {given[0]!r}" if given else "there is none"
        raise DataError(f"{expected}; {first}")

    table = Table.of(given)
    if not table.is_sparse:
        if hasattr(given, "columns"):
            expected += f"; of a data frame give one column, such as frame[{table.names[0]!r}]"
        raise DataError(expected)

    return table


def phrases_in(texts: Any, vectorizer: CountVectorizer | None) -> dict[tuple[int, int], int]:
    """Pairs of words that are phrases in texts, by their columns, and how often; none of a table of counts."""
    if not are_texts(texts) or vectorizer is None:
        return {}
    step = -(-len(texts) // _PHRASE_TEXTS)
    return count_phrases(split_words(list(texts)[::step], vectorizer), vectorizer.vocabulary_)


def split_words(texts: Iterable[Any], vectorizer: CountVectorizer) -> Iterator[list[str]]:
    """The words of texts, in order."""
    clean = vectorizer.build_preprocessor()
    split = vectorizer.build_tokenizer()
    return (split(clean(text if isinstance(text, str) else "")) for text in texts)
