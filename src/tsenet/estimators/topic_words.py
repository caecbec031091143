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

__all__ = ["learn_words", "seed_groups", "topics_of_seeds"]


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
    """Label and words of each group of seed words, those that are in the vocabulary.

    Raises
    ------
    DataError
        If fewer than two words of a group are in the vocabulary: they are no topic.
    """
    given = () if seed_words is None else seed_words
    pairs = list(given.items()) if isinstance(given, Mapping) else [("", group) for group in given]
    known = set(words)
    missing = [word for _, group in pairs for word in group if word not in known]
    kept = [(label, [word for word in group if word in known]) for label, group in pairs]
    for (label, found), (_, group) in zip(kept, pairs, strict=True):
        if len(found) < 2:
            raise DataError(
                f"a topic cannot be learned from the seed words {', '.join(map(repr, group)) or '(none)'}"
                f"{f' ({label})' if label else ''}: it needs two that are in the vocabulary, which has "
                f"{'only ' + repr(found[0]) if found else 'none of them'}. Add more frequent words, or enlarge the "
                "vocabulary (n_words, min_documents)"
            )
    if missing:
        warnings.warn(
            f"seed words that are not in the vocabulary are left out: {', '.join(missing)}",
            stacklevel=4,  # where fit() was called
        )
    return kept


def topics_of_seeds(
    tree: LatentTree, seeds: Sequence[tuple[str, Sequence[str]]], words: Sequence[str]
) -> tuple[dict[str, str], tuple[str, ...]]:
    """Labels by the ids of the topics that seed words came into, and the ids of all these topics.

    Raises
    ------
    DataError
        If the words of a group are in no topic, because one of them occurs in no document or in every one.
    """
    labels, names = {}, []
    for label, group in seeds:
        above = {int(tree.parent[words.index(word)]) for word in group}
        if len(above) > 1 or -1 in above:
            raise DataError(
                f"the seed words {', '.join(map(repr, group))} cannot be in one topic: each has to occur in some "
                "documents, but not in all"
            )
        name = tree.names[above.pop()]
        names.append(name)
        if label:
            labels[name] = label
    return labels, tuple(names)
