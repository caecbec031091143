"""Texts as rows: an estimator that is fitted on texts counts their words, and those of every later text alike."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

from sklearn.base import clone

from tsenet.data.text import (
    are_texts,
    checked_vectorizer,
    rows_of_texts,
    vectorize,
    vectorizer_fields,
    vectorizer_of_fields,
    vocabulary_of,
    word_vectorizer,
)
from tsenet.errors import DataError

if TYPE_CHECKING:
    from sklearn.feature_extraction.text import CountVectorizer

    from tsenet.data.table import Table
    from tsenet.estimators.network_estimator import NetworkEstimator

__all__ = ["are_texts", "fill_vectorizer", "fit_vectorizer", "rows_of", "vectorizer_parts"]

_MANY_TEXTS = 10_000  # from so many on, a word that is in one of them alone is left out


def rows_of(estimator: NetworkEstimator, X: Any, *, reset: bool, progress: Any = None) -> Any:
    """Return the word counts of texts, and anything else as it is; with ``reset``, learn the vocabulary."""
    if not reset:
        return rows_of_texts(X, estimator.vectorizer_)
    X = list(X) if isinstance(X, Iterator) else X
    if isinstance(X, list | tuple) and not X:
        raise DataError("X is empty: there are no rows and no texts")
    estimator.vectorizer_ = None
    if not are_texts(X):
        return X
    chosen = getattr(estimator, "vectorizer", None)
    estimator.vectorizer_, table = fit_vectorizer(X, chosen, progress)
    return table


def fit_vectorizer(
    texts: Any, vectorizer: CountVectorizer | None, progress: Any = None
) -> tuple[CountVectorizer, Table]:
    """Fit a copy of a vectorizer, or the default one, to texts: the fitted copy, and the counts."""
    if vectorizer is not None:
        fitted = clone(checked_vectorizer(vectorizer))
    else:
        fitted = word_vectorizer(min_documents=1 if len(texts) < _MANY_TEXTS else 2)
    return fitted, vectorize(texts, fitted, progress=progress)


def vectorizer_parts(model: Any, words: Sequence[str]) -> dict[str, Any]:
    """What a model file holds of a model's vectorizer; the words are the names of its columns."""
    fitted = model.vectorizer_
    if fitted is None:
        return {"has_vectorizer": False, "words": None}
    if vocabulary_of(fitted) != tuple(words):
        raise DataError("the words of vectorizer_ are not the columns that the model was fitted on")
    return {
        "has_vectorizer": getattr(model, "vectorizer", None) is not None,
        "words": vectorizer_fields(fitted),
    }


def fill_vectorizer(model: Any, meta: dict[str, Any], words: Sequence[str]) -> None:
    """Give a model the vectorizer of its file."""
    model.vectorizer_ = None
    if meta["words"] is not None:
        model.vectorizer_ = vectorizer_of_fields(meta["words"], words)
        if meta["has_vectorizer"]:
            model.vectorizer = clone(model.vectorizer_)
