"""Texts as rows: an estimator that is fitted on texts counts their words, and those of every later text alike."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tsenet.data.documents import are_texts
from tsenet.errors import DataError

if TYPE_CHECKING:
    from tsenet.data.text import WordCounter
    from tsenet.estimators.network_estimator import NetworkEstimator

__all__ = ["are_texts", "counter_fields", "counter_of_fields", "rows_of"]


def rows_of(estimator: NetworkEstimator, X: Any, *, reset: bool) -> Any:
    """Return the word counts of texts, and anything else as it is; with ``reset``, learn the vocabulary."""
    if not are_texts(X):
        if reset:
            estimator.word_counter_ = None
        return X
    from tsenet.data.text import WordCounter

    if reset:
        estimator.word_counter_, table = WordCounter.learn(X)
        return table
    if estimator.word_counter_ is None:
        raise DataError("got texts, but the model was fitted on a table: count their words first")
    return estimator.word_counter_.count(X)


def counter_fields(estimator: NetworkEstimator) -> dict[str, Any] | None:
    """How the estimator splits text, as a model file holds it; the words are the names of the columns."""
    counter = estimator.word_counter_
    if counter is None:
        return None
    if counter.words != tuple(estimator.binary_rule_.names_in):
        raise DataError(
            "the words of word_counter_ are not the columns that the model was fitted on"
        )
    fields = counter.to_dict()
    del fields["words"]
    return fields


def counter_of_fields(fields: Any, words: list[str]) -> WordCounter | None:
    """The counter of a model file; None if the model was not fitted on text."""
    if fields is None:
        return None
    from tsenet.data.text import WordCounter

    return WordCounter.from_dict({**fields, "words": words})
