"""The words of documents: counted for a topic model, and those that a user wants in one topic."""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.base import clone

from tsenet.data.table import Table
from tsenet.errors import DataError
from tsenet.estimators.texts import are_texts, fit_vectorizer
from tsenet.skeleton.tree import LatentTree

if TYPE_CHECKING:
    from sklearn.feature_extraction.text import CountVectorizer

__all__ = ["labels_of_seeds", "learn_words", "seed_groups"]


def learn_words(
    texts: Any, vectorizer: CountVectorizer, select: str, progress: Any
) -> tuple[CountVectorizer | None, Table]:
    """Choose and count the words of documents; a table of counts stays as it is and has no vectorizer."""
    if select not in ("frequency", "tfidf"):
        raise DataError(f"select must be 'frequency' or 'tfidf', got {select!r}")
    if are_texts(texts):
        if select == "frequency":
            return fit_vectorizer(texts, vectorizer, progress)
        every = clone(vectorizer).set_params(max_features=None)
        fitted, table = fit_vectorizer(texts, every, progress)
        return _with_highest_tfidf(fitted, table, vectorizer.max_features)
    expected = "expected documents: a list of strings, or a sparse table of word counts"
    if isinstance(texts, list | tuple):
        found = f"the first is {texts[0]!r}" if texts else "there is none"
        raise DataError(f"{expected}; {found}")
    table = Table.of(texts)
    if not table.is_sparse:
        if hasattr(texts, "columns"):
            expected += f"; of a data frame give one column, such as frame[{table.names[0]!r}]"
        raise DataError(expected)
    return None, table


def _with_highest_tfidf(
    vectorizer: CountVectorizer, table: Table, n_words: int | None
) -> tuple[CountVectorizer, Table]:
    """Keep the words with the highest mean of count · ln(documents / documents with the word); ties by alphabet."""
    counts = table.values
    n_with = np.bincount(counts.indices, minlength=table.n_columns)
    score = np.asarray(counts.sum(axis=0)).ravel() * np.log(table.n_rows / np.maximum(n_with, 1))
    best = np.sort(np.argsort(-score, kind="stable")[:n_words])
    names = [table.names[k] for k in best]
    vectorizer.vocabulary_ = {name: place for place, name in enumerate(names)}
    return vectorizer, Table.of(counts[:, best], names=names)


def seed_groups(
    seed_words: Mapping[str, Sequence[str]] | Sequence[Sequence[str]] | None, words: Sequence[str]
) -> list[tuple[str, list[str]]]:
    """Label and words of each group of two or more seed words that are in the vocabulary."""
    given = () if seed_words is None else seed_words
    pairs = list(given.items()) if isinstance(given, Mapping) else [("", group) for group in given]
    known = set(words)
    missing = [word for _, group in pairs for word in group if word not in known]
    if missing:
        warnings.warn(
            f"seed words that are not in the vocabulary are left out: {', '.join(missing)}",
            stacklevel=4,  # where fit() was called
        )
    kept = [(label, [word for word in group if word in known]) for label, group in pairs]
    return [(label, group) for label, group in kept if len(group) > 1]


def labels_of_seeds(
    tree: LatentTree, seeds: Sequence[tuple[str, Sequence[str]]], words: Sequence[str]
) -> dict[str, str]:
    """Labels of the topics that seed words came into, by their ids."""
    above = [(label, tree.parent[words.index(group[0])]) for label, group in seeds]
    return {tree.names[parent]: label for label, parent in above if label and parent >= 0}
